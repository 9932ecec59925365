"""The API server between a controller and the world, on a bad day; and what a controller then sees, does and believes.

    World ──▶ WatchCache ──▶ Seat ──▶ one life of a controller   each object is seen late, by itself, stream by stream
      ▲                       │
      └─────── Weather ◀──────┘                            acts are refused, lost, late, or done without an answer

A Seat implements the ports around a World. What one object looks like never goes backwards within a life; between two
objects, or two streams of one node, any mix of ages can be seen. A list that is read anew shows only what has been read
of it, and says so. All chance comes from the weather's own seed.

Tests: tests/sim/test_faults.py
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import Final

from seatrial.core.actions.action import Action
from seatrial.core.actions.of_campaigns import MarkNode
from seatrial.core.actions.on_nodes import EvictPods, NodeAct, ReleaseMaintenance, RequestMaintenance, WriteNodeRecord
from seatrial.core.actions.on_rollouts import GuardRollout, ReleaseRollout, WriteRolloutRecord
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.pods import DriverRevision
from seatrial.core.model.seen.rollouts import RolloutRecord
from seatrial.core.model.seen.snapshot import PODS_STREAM, Freshness, Snapshot
from seatrial.core.model.seen.work import WorkSeen
from seatrial.ports import Outcome, Result, Sight
from seatrial.sim import outside as outer
from seatrial.sim.outside import Outside
from seatrial.sim.world import World
from seatrial_lab.schedules.behaviours import BEHAVIOURS, Kind, named

FAULTS: Final = named(Kind.FAULT)
LATENCY_SECONDS: Final = 0.3
"""What an act takes on a good day, at most."""
ANSWER_SECONDS_MAX: Final = 60.0
"""The API server gives up on a request after a minute: later than this, nothing is done any more."""
_CONDITIONAL: Final = (
    WriteNodeRecord,
    WriteRolloutRecord,
    RequestMaintenance,
    ReleaseMaintenance,
    GuardRollout,
    ReleaseRollout,
    MarkNode,
)
"""Acts bound to a version: a conflict means that it is another one by now."""


class Stream(StrEnum):
    """What is watched, each by itself."""

    NODES = "nodes"
    PODS = PODS_STREAM
    CLAIMS = "claims"
    """Resource slices and maintenance objects."""
    DRIVERS = "drivers"
    """Which revision the driver's DaemonSets want."""
    ROLLOUTS = "rollouts"


@dataclass(slots=True, kw_only=True)
class Weather:
    """How bad things are at the moment, for everybody."""

    chance: random.Random
    faults: Mapping[str, float] = field(default_factory=lambda: {name: each.chance for name, each in FAULTS.items()})
    lag_seconds: float = 0.0
    """How late an object may be seen."""
    forbidden: dict[str, Instant] = field(default_factory=dict)
    """Kinds of act, by the name of their type, that are refused until then."""
    is_calm: bool = False
    fault_count: int = 0

    def clear_up(self) -> None:
        """From now on everything works."""
        self.is_calm, self.lag_seconds = True, 0.0
        self.forbidden.clear()

    def fault(self) -> str:
        """What goes wrong with an act; empty when nothing does."""
        if self.is_calm:
            return ""
        draw = self.chance.random()
        for name, likelihood in self.faults.items():
            draw -= likelihood
            if draw < 0:
                self.fault_count += 1
                return name
        return ""

    def lag(self) -> float:
        """How late one change of one object is seen."""
        if not self.lag_seconds:
            return 0.0
        draw = self.chance.random()
        return draw * self.lag_seconds if draw < 0.2 else draw


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Everything as it was at one moment: what a consistent list shows."""

    nodes: Mapping[str, NodeSeen]
    rollout: RolloutRecord
    wanted: Mapping[str, DriverRevision | None]
    """By the owner of a node's driver: what its DaemonSet wants."""
    outside: Outside

    @classmethod
    def of(cls, world: World) -> Listing:
        """As it is now."""
        return cls(nodes=dict(world.nodes), rollout=world.rollout, wanted=wanted_by_owner(world), outside=world.outside)


def wanted_by_owner(world: World) -> dict[str, DriverRevision | None]:
    """What the DaemonSets of each owner want."""
    return {node.facts.owner: node.facts.wanted for node in world.nodes.values()}


class WatchCache:
    """What one controller sees, stream by stream."""

    def __init__(self, listing: Listing) -> None:
        self._seen = {stream: dict(listing.nodes) for stream in (Stream.NODES, Stream.PODS, Stream.CLAIMS)}
        self._rollout, self._wanted, self._outside = listing.rollout, listing.wanted, listing.outside
        self._work = WorkSeen()
        self._due: dict[tuple[Stream, str], Instant] = {}
        self._silent: dict[Stream, tuple[Instant, Instant]] = {}
        """Until when nothing is heard of a stream, and when it was last heard of, on the controller's own clock."""
        self._unlisted: dict[Stream, tuple[Instant, frozenset[str]]] = {}
        """Until when a stream is being listed anew, and what has not been read yet."""
        self._joined: dict[str, tuple[tuple[object, ...], NodeSeen]] = {}

    def fall_silent(self, stream: Stream, until: Instant, heard_at: Instant) -> None:
        """Nothing is heard of a stream for a while."""
        self._silent.setdefault(stream, (until, heard_at))

    def list_anew(self, stream: Stream, until: Instant, missing: Iterable[str]) -> None:
        """A stream has to be listed from its beginning, which takes until then."""
        self._unlisted.setdefault(stream, (until, frozenset(missing)))

    def clear_up(self) -> None:
        """Everything is heard of again."""
        self._silent.clear()
        self._unlisted.clear()
        self._due.clear()

    @property
    def next_at(self) -> Instant | None:
        """When more is seen than now, if nothing else happens."""
        ends = [until for until, _ in (*self._silent.values(), *self._unlisted.values())]
        return min(
            [*ends, *(due for (stream, _), due in self._due.items() if stream not in self._silent)], default=None
        )

    def catch_up(self, world: World, weather: Weather) -> None:
        """See what is due to be seen."""
        time = world.time
        self._silent = {stream: found for stream, found in self._silent.items() if time < found[0]}
        for stream in [stream for stream, (until, _) in self._unlisted.items() if time >= until]:
            del self._unlisted[stream]
            self._due = {key: due for key, due in self._due.items() if key[0] is not stream}
            self._read(stream, world)
        for stream, seen in self._seen.items():
            if stream in self._silent or stream in self._unlisted:
                continue
            for name, node in world.nodes.items():
                if seen.get(name) is not node and self._is_due(stream, name, time, weather):
                    seen[name] = node
            for name in sorted(seen.keys() - world.nodes.keys()) if stream is Stream.NODES else ():
                if self._is_due(stream, name, time, weather):
                    del seen[name]
        if self._hears(Stream.PODS):
            self._work = world.work
        wanted = wanted_by_owner(world)
        if wanted == self._wanted:
            self._due.pop((Stream.DRIVERS, ""), None)  # changed and changed back before anybody saw it
        elif self._hears(Stream.DRIVERS) and self._is_due(Stream.DRIVERS, "", time, weather):
            self._wanted = wanted
        is_changed = self._outside != world.outside
        if is_changed and self._hears(Stream.DRIVERS) and self._is_due(Stream.DRIVERS, "outside", time, weather):
            self._outside = world.outside
        is_news = self._rollout is not world.rollout
        if is_news and self._hears(Stream.ROLLOUTS) and self._is_due(Stream.ROLLOUTS, "", time, weather):
            self._rollout = world.rollout

    def snapshot(self, now: Instant) -> Snapshot | None:
        """What is seen; None while the rollout itself has not been listed."""
        if Stream.ROLLOUTS in self._unlisted:
            return None
        _, missing = self._unlisted.get(Stream.NODES, (0.0, frozenset()))
        freshness = tuple(
            Freshness(
                source=stream,
                is_synced=stream not in self._unlisted,
                heard_at=self._silent[stream][1] if stream in self._silent else now,
            )
            for stream in Stream
        )
        nodes = {name: self._join(name) for name in self._seen[Stream.NODES] if name not in missing}
        seen = Snapshot(nodes=nodes, rollout=self._rollout, freshness=freshness, work=self._work)
        return outer.seen_with(seen, self._outside)

    def _hears(self, stream: Stream) -> bool:
        return stream not in self._silent and stream not in self._unlisted

    def _is_due(self, stream: Stream, name: str, time: Instant, weather: Weather) -> bool:
        due = self._due.get((stream, name))
        if due is None:
            due = time + weather.lag()
        if time < due:
            self._due[stream, name] = due
            return False
        self._due.pop((stream, name), None)
        return True

    def _read(self, stream: Stream, world: World) -> None:
        """A stream has been listed to its end."""
        if stream in self._seen:
            # What was on a node that is gone is shown as long as the node is.
            before = {} if stream is Stream.NODES else self._seen[stream]
            self._seen[stream] = {**before, **world.nodes}
        elif stream is Stream.DRIVERS:
            self._wanted, self._outside = Listing.of(world).wanted, world.outside
        else:
            self._rollout = world.rollout

    def _join(self, name: str) -> NodeSeen:
        node, pods, claims = (self._seen[stream][name] for stream in self._seen)
        is_hidden = name in self._unlisted.get(Stream.PODS, (0.0, frozenset()))[1]
        wanted = self._wanted.get(node.facts.owner)
        if node is pods and node is claims and not is_hidden and node.facts.wanted == wanted:
            return node
        # The same parts give the same object, so that whoever compares by identity sees that nothing changed.
        key = (node, pods, claims, wanted, is_hidden)
        known = self._joined.get(name)
        if known is not None and all(one is other for one, other in zip(known[0], key, strict=True)):
            return known[1]
        facts = replace(
            node.facts,
            wanted=wanted,
            driver=None if is_hidden else pods.facts.driver,
            validator=None if is_hidden else pods.facts.validator,
            dra=None if is_hidden else pods.facts.dra,
            pods=() if is_hidden else pods.facts.pods,
            published=claims.facts.published,
            maintenance=claims.facts.maintenance,
        )
        joined = replace(node, facts=facts)
        self._joined[name] = (key, joined)
        return joined


Landing = Callable[[Action, NodeSeen | None, Outcome], None]
"""Told of every act that reaches the world: the node before it, and how it ended."""


class Seat:
    """One life of a controller: its view, its clock, its acts under way. Implements the ports."""

    def __init__(self, world: World, weather: Weather, view: WatchCache, *, name: str, on_landing: Landing) -> None:
        self.name = name
        self.view = view
        self.is_dead = False
        self._world, self._weather, self._on_landing = world, weather, on_landing
        self._skew_seconds = 0.0
        self._flying: dict[int, str] = {}
        self._outcomes: list[Outcome] = []
        self._act_count = 0

    # ── the ports ────────────────────────────────────────────────────────────────────────────────────────────────────

    def observe(self) -> Sight | None:
        """What is seen by now."""
        self.view.catch_up(self._world, self._weather)
        seen = self.view.snapshot(self.now())
        return Sight(seen=seen, intent=self._world.intent) if seen is not None else None

    async def wait(self, until: Instant | None) -> bool:
        """Never asked for: whoever plays a schedule says who looks when."""
        raise NotImplementedError

    async def sleep(self, seconds: float) -> None:
        """A pause of the loop costs no virtual time."""

    def now(self) -> Instant:
        """The time on our own clock."""
        return self._world.time + self._skew_seconds

    def submit(self, action: Action) -> None:
        """Send an act; what becomes of it is the weather's."""
        self._act_count += 1
        number = self._act_count
        self._flying[number] = action.subject
        if self._weather.forbidden.get(type(action).__name__, 0.0) > self._world.time:
            self._answer_in(LATENCY_SECONDS, number, _failed(action, "403: forbidden"))
            return
        fault = self._weather.fault()
        seconds = BEHAVIOURS[fault].seconds(self._weather.chance) if fault else 0.0
        soon = self._weather.chance.random() * LATENCY_SECONDS
        match fault:
            case "":
                self._land_in(soon, number, action, is_answered=True)
            case "slow":
                self._land_in(seconds, number, action, is_answered=True)
            case "conflict":
                self._answer_in(soon, number, _conflict(action))
            case "throttled":
                self._answer_in(soon, number, _throttled(action))
            case "server error":
                self._answer_in(soon, number, _failed(action, "500: etcdserver: request timed out"))
            case "timeout, not done":
                self._answer_in(seconds, number, _failed(action, "timed out"))
            case "timeout, done":
                self._land_in(soon, number, action, is_answered=False)
                self._answer_in(seconds, number, _failed(action, "timed out"))
            case "timeout, done late":
                self._answer_in(seconds, number, _failed(action, "timed out"))
                later = seconds + self._weather.chance.random() * (ANSWER_SECONDS_MAX - seconds)
                self._land_in(later, number, action, is_answered=False)
            case _:
                raise KeyError(fault)

    def in_flight(self) -> frozenset[str]:
        """Whose acts have not been answered."""
        return frozenset(self._flying.values())

    def collect(self) -> tuple[Outcome, ...]:
        """What was answered since the last call."""
        outcomes, self._outcomes = tuple(self._outcomes), []
        return outcomes

    # ── what happens to it ───────────────────────────────────────────────────────────────────────────────────────────

    @property
    def has_answers(self) -> bool:
        return bool(self._outcomes)

    def world_time(self, instant: Instant) -> Instant:
        """An instant on our clock, as the world counts."""
        return instant - self._skew_seconds

    def step_clock(self, seconds: float) -> None:
        """Our clock jumps."""
        self._skew_seconds += seconds

    def _land_in(self, seconds: float, number: int, action: Action, *, is_answered: bool) -> None:
        self._world.at(self._world.time + seconds, partial(self._land, number, action, is_answered))

    def _land(self, number: int, action: Action, is_answered: bool, world: World) -> None:
        if self.is_dead and self._weather.chance.random() < 0.5:
            return  # it went down with its process
        before = world.nodes.get(action.node) if isinstance(action, NodeAct | MarkNode) else None
        outcome = world.execute(action)
        self._on_landing(action, before, outcome)
        if is_answered:
            self._answer(number, outcome, world)

    def _answer_in(self, seconds: float, number: int, outcome: Outcome) -> None:
        self._world.at(self._world.time + seconds, partial(self._answer, number, outcome))

    def _answer(self, number: int, outcome: Outcome, _world: World) -> None:
        self._flying.pop(number, None)
        self._outcomes.append(outcome)


def _failed(action: Action, why: str) -> Outcome:
    return Outcome(action=action, result=Result.FAILED, detail=why)


def _conflict(action: Action) -> Outcome:
    if isinstance(action, _CONDITIONAL):
        return Outcome(action=action, result=Result.STALE, detail="409: the object has been modified")
    return _failed(action, "409: conflict")


def _throttled(action: Action) -> Outcome:
    """Where evictions are concerned, the API server says the same of a budget that allows nothing."""
    why = "429: too many requests"
    if isinstance(action, EvictPods):
        blocked = tuple((pod.uid, why) for pod in action.pods)
        return Outcome(action=action, result=Result.BLOCKED, detail=why, blocked=blocked)
    return _failed(action, why)
