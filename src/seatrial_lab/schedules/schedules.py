"""A schedule: a random fleet, limits and ways, and a bad week for it, all drawn from one seed; played until it rests.

    ending = run_schedule(7, begin)
    assert ending.broken is None, str(ending)

The controller is whatever `begin` starts: given ports and the time, it returns a function that makes one pass. The
storm ends after a while, and from then on the world is fair; what people did stays done. A schedule has to come to rest
with every node done, or held with a reason. Promises are checked in every pass on what the controller saw, and the
truth by itself (Judge) whenever a node changes or an act arrives.

Tests: tests/sim/test_faults.py
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Final, Protocol, TypeAlias

from seatrial.core.actions.action import Action
from seatrial.core.decision.decide import Decision
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.pods import DriverRevision
from seatrial.core.model.target import Target
from seatrial.core.node import closing, phases
from seatrial.core.promises.breach import Breach
from seatrial.core.words.acts import told
from seatrial.ports import Outcome, Ports
from seatrial.sim.nodes import rebooted
from seatrial.sim.reactions import CORDON_NOTE
from seatrial.sim.world import World
from seatrial_lab.schedules.behaviours import BEHAVIOURS, Kind, fate_of, named
from seatrial_lab.schedules.drawing import (
    BADNESSES,
    KINDS,
    NEW,
    NODE_COUNT,
    OLD,
    THIRD,
    draw_fleet,
    draw_intent,
    draw_manager,
    instead,
    lowered,
    merged,
)
from seatrial_lab.schedules.faults import Listing, Seat, Stream, WatchCache, Weather
from seatrial_lab.schedules.judging import Judge, how, is_idle, why_unsettled

PASSES_MAX: Final = 4000
STORM_SECONDS: Final = (600.0, 6000.0)
BREATHS_SECONDS: Final = (0.3, 3.0, *(10.0, 30.0) * 2, *(60.0, 120.0) * 7)
"""How slowly a controller looks after something happened: what happens meanwhile is seen at once. Quick ones see more
states and slow ones more mixtures, and are quicker to play."""
CALM_BREATH_SECONDS: Final = 120.0
STORY_MAX: Final = 80


class Looked(Protocol):
    """What a pass tells of itself; `run.loop.Report` does."""

    @property
    def decision(self) -> Decision | None: ...
    @property
    def breaches(self) -> tuple[Breach, ...]: ...
    @property
    def wake_at(self) -> Instant | None: ...


Begin: TypeAlias = Callable[[Ports, Instant], Callable[[], Looked]]
"""Starts a life of a controller, and returns what makes one pass of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a schedule ended, and the tail of its story."""

    seed: int
    how: str
    """Done, reverted or held; empty where a promise was broken."""
    broken: str | None
    pass_count: int
    act_count: int
    fault_count: int
    seconds: float
    phases: Mapping[str, int]
    holds: Mapping[str, int]
    story: tuple[str, ...] = ()

    def __str__(self) -> str:
        head = f"seed {self.seed}: {self.broken or self.how} after {self.pass_count} passes, {self.seconds:.0f} s"
        return "\n".join([*self.story, head, f"phases {dict(self.phases)}", f"holds {dict(self.holds)}"])


class Unfit(Exception):  # noqa: N818  the end of a play, not an error of ours
    """A promise was broken, or the schedule does not end."""


def run_schedule(seed: int, begin: Begin, *, node_count: int = NODE_COUNT) -> Ending:
    """Play one schedule to its end."""
    return Play(seed, begin, node_count).run()


class NoJournal:
    """For whoever plays and keeps no journal."""

    def append(self, at: Instant, kind: str, fields: Mapping[str, object]) -> None:
        """Forget."""


@dataclass(slots=True)
class _Life:
    """A seat, and when it looks next."""

    seat: Seat
    look: Callable[[], Looked]
    wake_at: Instant | None = 0.0
    """On the world's clock."""
    ends_at: Instant | None = None


class Play:
    """One schedule; a campaign of its own kind is drawn, judged and planned otherwise, and played alike."""

    title: ClassVar[str] = "schedule"

    def _draw(self, chance: random.Random, node_count: int) -> tuple[World, dict[str, list[str]]]:
        """The world, and the names of what is in store for each node."""
        nodes, fates = draw_fleet(chance, node_count, self._badness)
        intent = draw_intent(chance)
        made = {name: merged(fate_of(what, NEW.version) for what in whats) for name, whats in fates.items()}
        return World(nodes, intent, fates=made, everybody=draw_manager(self._seed), seed=self._seed), fates

    def _judge(self) -> Judge:
        theirs = {node.name for node in self.world.nodes.values() if node.facts.is_cordoned}
        return Judge(self.world, theirs=theirs, down_since=dict.fromkeys(theirs, float("-inf")))

    def _why_unsettled(self, decision: Decision) -> str | None:
        return why_unsettled(self.world, decision, self.judge.theirs)

    def _ended(self, decision: Decision, /) -> str:
        """How it ended, in a word."""
        return how(self.world, decision)

    def __init__(self, seed: int, begin: Begin, node_count: int) -> None:
        self._seed, self._begin = seed, begin
        # Each its own chance, so that one more draw here does not make another schedule there.
        chance = random.Random(f"{self.title} {seed}")  # noqa: S311  a simulation, not a secret
        self._badness = chance.choice(BADNESSES)
        self.world, fates = self._draw(chance, node_count)
        self.judge = self._judge()
        self.world.watchers.append(self.judge.on_change)
        self.weather = Weather(chance=random.Random(f"weather {seed}"))  # noqa: S311  a simulation, not a secret
        self._chance = chance
        self._breath_seconds = chance.choice(BREATHS_SECONDS)
        self._storm_ends_at = chance.uniform(*STORM_SECONDS)
        self._lives: list[_Life] = []
        self._life_count = self._act_count = self._pass_count = 0
        self._is_idle = False
        self._story: deque[tuple[Instant, Callable[[], str]]] = deque(maxlen=STORY_MAX)
        self._past: deque[tuple[Instant, Listing]] = deque(maxlen=40)
        self._plan(fates)
        self._start_life(Listing.of(self.world))

    def run(self) -> Ending:
        """To the end, or to the first broken promise."""
        decision, broken = None, None
        try:
            decision = self._run()
            self.judge.find(self._why_unsettled(decision))
        except Unfit as found:
            broken = str(found)
        broken = broken or self.judge.broken
        nodes = self.world.nodes.values()
        return Ending(
            seed=self._seed,
            how="" if broken or decision is None else self._ended(decision),
            broken=broken,
            pass_count=self._pass_count,
            act_count=self._act_count,
            fault_count=self.weather.fault_count,
            seconds=self.world.time,
            phases=Counter(str(node.record.phase) if node.record else "unrecorded" for node in nodes),
            holds=Counter(str(hold.code) for hold in decision.holds) if decision else {},
            story=tuple(f"{at:9.1f} {line()}" for at, line in self._story) if broken else (),
        )

    def _run(self) -> Decision:
        report: Looked | None = None
        while self._pass_count < PASSES_MAX:
            due = [(at, place) for place, life in enumerate(self._lives) if (at := self._due(life)) is not None]
            if not due:
                decision = report.decision if report is not None else None
                if decision is None:
                    raise Unfit("at rest without ever having seen anything")
                return decision
            at, place = min(due)
            life = self._lives[place]
            self.world.tick_to(max(at, self.world.time))
            if life not in self._lives:
                continue  # it died meanwhile
            if life.ends_at is not None and self.world.time >= life.ends_at:
                self._end_life(life)
                continue
            report = self._look(life)
            if report.decision is not None and self._is_over(report.decision):
                return report.decision
        raise Unfit(f"no rest after {PASSES_MAX} passes: {report.decision.holds if report and report.decision else ''}")

    def _due(self, life: _Life) -> Instant | None:
        """When a life looks next: something happens, more is to be seen, or it meant to."""
        time = self.world.time
        if life.seat.has_answers:
            return time + self._breath_seconds
        happening = [at for at in (self.world.next_at, life.seat.view.next_at) if at is not None]
        if self._is_idle and not happening:
            return None
        if life.wake_at is not None:
            happening.append(life.wake_at)
        return max(min(happening), time) + self._breath_seconds if happening else None

    def _look(self, life: _Life) -> Looked:
        self._pass_count += 1
        self._past.append((self.world.time, Listing.of(self.world)))
        report = life.look()
        if report.breaches:
            raise Unfit(f"{life.seat.name}: {report.breaches[0]}")
        if self.judge.broken is not None:
            raise Unfit(self.judge.broken)
        life.wake_at = None
        if report.wake_at is not None:
            life.wake_at = life.seat.world_time(report.wake_at)
        self._is_idle = report.decision is not None and is_idle(report.decision)
        self._on_looked()
        return report

    def _is_over(self, _decision: Decision, /) -> bool:
        """Whether enough was seen of a world that never comes to rest by itself."""
        return False

    def _on_looked(self) -> None:
        """Somebody has made a pass; what must not last is looked for here."""

    # ── lives ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _start_life(self, listing: Listing) -> _Life:
        self._life_count += 1
        view = WatchCache(listing)
        seat = Seat(self.world, self.weather, view, name=f"life {self._life_count}", on_landing=self._on_landing)
        ports = Ports(observer=seat, executor=seat, journal=NoJournal(), clock=seat)
        life = _Life(seat, self._begin(ports, seat.now()), wake_at=self.world.time)
        self._lives.append(life)
        self._is_idle = False  # nobody has looked with these eyes
        return life

    def _end_life(self, life: _Life) -> None:
        life.seat.is_dead = True
        self._lives.remove(life)
        self._note(lambda: f"{life.seat.name} is over")

    def _on_landing(self, action: Action, before: NodeSeen | None, outcome: Outcome) -> None:
        self._act_count += 1
        self._note(lambda: f"{told(action)}: {outcome.result} {outcome.detail}")
        self.judge.on_landing(action, before, outcome)

    def _note(self, line: Callable[[], str]) -> None:
        self._story.append((self.world.time, line))

    # ── the plan ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _plan(self, fates: Mapping[str, list[str]], /) -> None:
        chance, world, end = self._chance, self.world, self._storm_ends_at
        for name, whats in fates.items():
            lasting = [what for what in whats if not BEHAVIOURS[what].delay.seconds]
            ends_at = [BEHAVIOURS[what].seconds(chance) for what in whats if BEHAVIOURS[what].delay.seconds]
            if ends_at:
                after = merged(fate_of(what, NEW.version) for what in lasting)
                self._at(max(ends_at), partial(world.befall, name, partial(instead, after)))
        for name in world.nodes:
            for what, behaviour in named(Kind.HAPPENING).items():
                if chance.random() < behaviour.chance * self._badness:
                    self._happen_at(chance.uniform(0, end), what, name, behaviour.seconds(chance))
        for what, behaviour in named(Kind.ECLIPSE).items():
            for _ in range(2):
                if chance.random() < behaviour.chance:
                    self._eclipse_at(chance.uniform(0, end), what, behaviour.seconds(chance))
        self._at(end, self._clear_up)

    def _at(self, instant: Instant, happening: Callable[[], None]) -> None:
        self.world.at(instant, lambda _: happening())

    def _happen_at(self, at: Instant, what: str, name: str, seconds: float) -> None:
        begin, end = self._happening(what, name)

        def begins() -> None:
            if name not in self.world.nodes:
                return
            self._note(lambda: f"{name}: {what} for {seconds:.0f} s")
            begin()
            if end is not None:
                self._at(self.world.time + seconds, end)

        self._at(at, begins)

    def _happening(self, what: str, name: str) -> tuple[Callable[[], None], Callable[[], None] | None]:
        """What begins, and what ends it."""
        world, judge = self.world, self.judge
        match what:
            case "node lost for a while":
                return (lambda: self._fall_silent(name)), (lambda: self._come_back(name))
            case "node lost for good":
                return (lambda: self._fall_silent(name)), None
            case "node reboots":
                return (lambda: self._fall_silent(name)), (lambda: self._reboot(name))
            case "admin cordons":
                return (lambda: self._admin_cordons(name)), None
            case "admin uncordons":
                return (lambda: self._admin_uncordons(name)), None
            case "admin marks skip":
                return (lambda: self._touch(name, is_skipped=True)), (lambda: self._touch(name, is_skipped=False))
            case "admin marks skip for good":
                return (lambda: self._touch(name, is_skipped=True)), None
            case "admin asks for a retry":
                return (lambda: self._retry(name)), None
            case "admin asks for an upgrade":
                return (lambda: self._touch(name, is_requested=True)), None
            case "admin accepts a loss":
                return (lambda: self._touch(name, is_loss_accepted=True)), None
            case "label removed":
                return (lambda: self._lose_label(name)), None
            case "version reverted":
                return (lambda: self._want(OLD)), None
            case "version reverted by mistake":
                return (lambda: self._want(OLD)), (lambda: self._want(NEW))
            case "version published without us":
                return (lambda: world.publish(OLD)), (lambda: self._want(NEW))
            case "third version published":
                return (lambda: world.publish(THIRD)), (lambda: self._want(NEW))
            case "limits lowered":
                return (lambda: judge.change(lowered(world.intent))), None
            case "paused":
                return (lambda: self._pause(is_paused=True)), (lambda: self._pause(is_paused=False))
            case "paused for good":
                return (lambda: self._pause(is_paused=True)), None
            case _:
                raise KeyError(what)

    def _touch(self, name: str, **changes: Any) -> None:
        if name not in self.world.nodes:
            return
        self.world.change(name, lambda node: replace(node, facts=replace(node.facts, **changes)))

    def _fall_silent(self, name: str) -> None:
        self._touch(name, is_ready=False, ready_at=self.world.time)

    def _come_back(self, name: str) -> None:
        self._touch(name, is_ready=True, ready_at=self.world.time)

    def _reboot(self, name: str) -> None:
        if name not in self.world.nodes:
            return
        self.judge.shaken[name] = self.world.time
        self.world.change(name, lambda node: replace(node, facts=rebooted(node.facts, self.world.time)))

    def _admin_cordons(self, name: str) -> None:
        node = self.world.nodes[name]
        # Where our record still claims the cordon, or the maintenance operator's note does, theirs cannot be told from
        # it: nobody can see who set it.
        is_claimed = node.record is not None and node.record.is_cordon_ours
        if not node.facts.is_cordoned and not is_claimed and node.facts.labels.get(CORDON_NOTE) != "true":
            self.judge.theirs.add(name)
        self._touch(name, is_cordoned=True)

    def _admin_uncordons(self, name: str) -> None:
        if not closing.has_lost_driver(self.world.nodes[name]):  # there it is put back, and stays theirs
            self.judge.theirs.discard(name)
        self.judge.shaken[name] = self.world.time
        self._touch(name, is_cordoned=False)

    def _retry(self, name: str) -> None:
        node = self.world.nodes[name]
        if node.record is not None and node.record.phase in phases.ENDED:
            self.world.change(name, lambda ended: replace(ended, is_retry_asked=True))

    def _lose_label(self, name: str) -> None:
        if self.world.nodes[name].record is not None:
            self.world.change(name, lambda node: replace(node, is_label_lost=True))

    def _want(self, revision: DriverRevision) -> None:
        self.world.publish(revision)
        self.judge.change(replace(self.world.intent, target=Target.of(revision.version)))

    def _pause(self, *, is_paused: bool) -> None:
        self.judge.change(replace(self.world.intent, is_paused=is_paused))

    # ── eclipses ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _eclipse_at(self, at: Instant, what: str, seconds: float) -> None:
        def begins() -> None:
            if self.weather.is_calm:
                return
            self._note(lambda: f"{what}, {seconds:.0f} s")
            self._eclipse(what, seconds)

        self._at(at, begins)

    def _eclipse(self, what: str, seconds: float) -> None:
        chance, time = self.weather.chance, self.world.time
        current = self._lives[-1].seat
        match what:
            case "forbidden":
                kind = chance.choice([cls.__name__ for cls in KINDS])
                self.weather.forbidden[kind] = time + seconds
            case "view lags":
                self.weather.lag_seconds = seconds
            case "stream silent":
                current.view.fall_silent(chance.choice(list(Stream)), time + seconds, current.now())
            case "watch expired":
                self._list_anew(current.view, chance.choice(list(Stream)), seconds)
            case "leader lost":
                self._end_life(self._lives[-1])
                self._succeed(seconds)
            case "two leaders":
                self._lives[-1].ends_at = time + seconds
                if chance.random() < 0.5:
                    for stream in Stream:  # what it saw is all it will ever see
                        current.view.fall_silent(stream, time + seconds, current.now())
                self._succeed(seconds)
            case "clock ahead":
                current.step_clock(seconds)
            case "clock behind":
                current.step_clock(-seconds)
            case _:
                raise KeyError(what)

    def _succeed(self, seconds: float) -> None:
        """The next life: its list may be old, but is of one moment; or it has not been read to its end yet."""
        chance, time = self.weather.chance, self.world.time
        old = [listing for at, listing in self._past if at >= time - seconds]
        life = self._start_life(chance.choice(old) if old else Listing.of(self.world))
        life.seat.step_clock(chance.uniform(-2, 2))
        for stream in Stream:
            if chance.random() < 0.2:
                self._list_anew(life.seat.view, stream, min(seconds, 20))

    def _list_anew(self, view: WatchCache, stream: Stream, seconds: float) -> None:
        chance = self.weather.chance
        missing = [name for name in self.world.nodes if chance.random() < 0.5]
        view.list_anew(stream, self.world.time + seconds, missing)

    def _clear_up(self) -> None:
        self._note(lambda: "the storm is over")
        self.weather.clear_up()
        for life in self._lives[:-1]:
            self._end_life(life)
        self._lives[-1].seat.view.clear_up()
        self._lives[-1].ends_at = None
        self._breath_seconds = max(self._breath_seconds, CALM_BREATH_SECONDS)
