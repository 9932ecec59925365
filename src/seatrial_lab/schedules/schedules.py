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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Final, Protocol, TypeAlias

from seatrial.core import actions as acts
from seatrial.core.actions import Action, Cordon, NodeAct, RequestMaintenance, WriteNodeRecord
from seatrial.core.compat.versions import DriverVersion
from seatrial.core.decide import Decision
from seatrial.core.holds import HoldCode
from seatrial.core.invariants import Breach
from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Checkpoint, Domain, Intent, Order, Requestor, Retries
from seatrial.core.model.policy import Drain, Eviction, JobWait, Limits, Policy, Share
from seatrial.core.model.selectors import Selector
from seatrial.core.model.snapshot import Admission, DriverRevision, Keeper, NodePhase, NodeSeen, Pod
from seatrial.core.movers import driver_manager
from seatrial.core.node import clearing, closing
from seatrial.core.node.phases import is_under_way
from seatrial.ports import Outcome, Ports, Result
from seatrial.sim.reactions import CORDON_NOTE, HEALTHY, JOB_LABEL, MANAGED_NOTE, Fate, new_node, rebooted
from seatrial.sim.world import World
from seatrial_lab.explore.explore import told, why_exposed, why_overspent
from seatrial_lab.schedules.behaviours import BEHAVIOURS, Kind, fate_of, named
from seatrial_lab.schedules.faults import Listing, Seat, Stream, View, Weather

NODE_COUNT: Final = 30
PASSES_MAX: Final = 4000
STORM_SECONDS: Final = (600.0, 6000.0)
SEEN_SECONDS: Final = 400.0
"""By then everybody has seen what happened, or knows that they see nothing: the longest lag, a stream that may be
silent for 150 s before it is mistrusted, and an act that was under way meanwhile."""
BREATHS_SECONDS: Final = (0.3, 3.0, *(10.0, 30.0) * 2, *(60.0, 120.0) * 7)
"""How slowly a controller looks after something happened: what happens meanwhile is seen at once. Quick ones see more
states and slow ones more mixtures, and are quicker to play."""
BADNESSES: Final = (1.0, 1.0, 0.4, 0.1)
"""How bad a week is for nodes and people; the API server's own is always bad."""
CALM_BREATH_SECONDS: Final = 120.0
STORY_MAX: Final = 80

OLD: Final = DriverRevision(hash="old", version="570.124.06", digest="same")
NEW: Final = DriverRevision(hash="new", version="580.105.08", digest="same")
THIRD: Final = DriverRevision(hash="third", version="590.44.01", digest="same")
"""A member whose running driver has the same digest needs a restart and no more."""
RACK, CLIQUE = "rack", "nvidia.com/gpu.clique"

TRANSIENT: Final = frozenset(
    {
        HoldCode.WRITE_IN_FLIGHT,
        HoldCode.WRITE_REFUSED,
        HoldCode.LEDGER_PENDING,
        HoldCode.PASS_FULL,
        HoldCode.UNIT_INCOMPLETE,
        HoldCode.STALE_VIEW,
        HoldCode.PARALLEL_LIMIT,
    }
)
"""What nobody may wait for in a world that has come to rest. The last one means that somebody is under way for ever."""


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


# ── what is drawn ────────────────────────────────────────────────────────────────────────────────────────────────────

_USER: Final = Pod(namespace="jobs", name="user", uid="user", gpu=GpuUse.RESOURCE)
PODS: Final[Mapping[str, Pod]] = {
    "plain": _USER,
    "bare": replace(_USER, keeper=Keeper.NOBODY),
    "scratch": replace(_USER, has_empty_dir=True),
    "job": replace(_USER, labels=((JOB_LABEL, "train"),)),
    "saving": replace(_USER, offers_checkpoint=True),
    "claiming": replace(_USER, gpu=GpuUse.CLAIM, holds_claim=True),
    "agent": replace(_USER, keeper=Keeper.DAEMON_SET),
    "web": replace(_USER, gpu=None),
}
_POD_WEIGHTS: Final = (12, 1, 1, 4, 3, 2, 1, 4)


def draw_intent(chance: random.Random) -> Intent:
    """Limits and ways."""
    requestor = Requestor(id="seatrial", timeout_seconds=1200) if chance.random() < 0.15 else None
    return Intent(
        rollout="r",
        target=DriverVersion.parse(NEW.version),
        policy=_draw_policy(chance, chance.choice([3, 6, 10, 15, 0, 0]), ["10%", "25%", "34%", "50%", 8, 15]),
        pools=chance.choice([{}, {}, {"a100": _draw_policy(chance, 3, ["34%"]), "h100": _draw_policy(chance, 5, [5])}]),
        failed_max=chance.choice([0, 1, 3, NODE_COUNT, NODE_COUNT, NODE_COUNT]),
        domains=chance.choice(
            [
                (),
                (),
                (Domain(label=RACK, unavailable_max=Share(amount=2)),),
                (Domain(label=CLIQUE, is_unit=True),),
                (Domain(label=RACK, unavailable_max=Share.parse("50%")), Domain(label=CLIQUE, is_unit=True)),
            ]
        ),
        order=chance.choice(list(Order)),
        retries=Retries(count_max=chance.choice([0, 0, 1, 2])),
        checkpoint=Checkpoint(webhook=chance.choice(["", "", "https://saver"])),
        requestor=requestor,
    )


def _draw_policy(chance: random.Random, parallel_max: int, unavailable: list[int | str]) -> Policy:
    jobs = JobWait(selector=Selector.parse(JOB_LABEL), timeout_seconds=chance.choice([600, 3600]))
    return Policy(
        limits=Limits(parallel_max=parallel_max, unavailable_max=Share.parse(chance.choice(unavailable))),
        jobs=chance.choice([JobWait(), jobs]),
        eviction=Eviction(force=chance.choice([False, True]), delete_empty_dir=chance.choice([False, True])),
        drain=chance.choice([Drain(), Drain(is_enabled=True, rules=Eviction(force=True, delete_empty_dir=True))]),
    )


def draw_manager(seed: int) -> Fate:
    """What all driver managers of a fleet are told: there are none, they are as shipped, or both switches are off.

    By a chance of its own, so that the schedules that were played before there were any stay as they are.
    """
    chance = random.Random(f"driver manager {seed}")  # noqa: S311  a simulation, not a secret
    off = tuple((name, driver_manager.OFF) for name in driver_manager.SWITCHES)
    env = chance.choice([None, (), (), off])
    return Fate(manager_env=env, is_work_waiting=env is not None and chance.random() < 0.5)


def draw_fleet(chance: random.Random, node_count: int, badness: float) -> tuple[list[NodeSeen], dict[str, list[str]]]:
    """Nodes, and the names of what is in store for each."""
    has_dra, has_features, gpu_count = chance.random() < 0.3, chance.random() < 0.5, chance.choice([0, 8])
    clients = chance.choice([(), ("dcgm",), ("dcgm", "device-plugin")])
    digest = chance.choice(["", "", "", "", "same"])
    nodes, fates = [], {}
    for number in range(node_count):
        name = f"n{number:02}"
        kinds = chance.choices(list(PODS), _POD_WEIGHTS, k=chance.choice([0, 1, 1, 2]))
        node = new_node(
            name,
            running=replace(OLD, digest=digest),
            wanted=NEW,
            is_cordoned=chance.random() < 0.02,
            pods=[replace(PODS[kind], name=f"{kind}-{n}", uid=f"{kind}-{name}-{n}") for n, kind in enumerate(kinds)],
            clients=clients,
            gpu_count=gpu_count,
            has_features=has_features,
            has_dra=has_dra or any(PODS[kind].holds_claim for kind in kinds),
            labels={RACK: f"r{number % 5}", CLIQUE: f"c{number // 2}"},
        )
        nodes.append(replace(node, facts=replace(node.facts, owner=chance.choice(["", "a100", "h100"]))))
        drawn = [what for what, behaviour in named(Kind.FATE).items() if chance.random() < behaviour.chance * badness]
        if drawn:
            fates[name] = drawn
    return nodes, fates


# ── the truth ────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Judge:
    """Looks at the world itself, whatever the controller believes."""

    world: World
    theirs: set[str] = field(default_factory=set)
    """Nodes that an admin cordoned."""
    shaken: dict[str, Instant] = field(default_factory=dict)
    """Nodes that others put into a state we would not: rebooted, or uncordoned on the way. Since when; it counts until
    everybody has seen it and their driver is up."""
    down_since: dict[str, Instant] = field(default_factory=dict)
    former: list[tuple[Instant, Intent]] = field(default_factory=list)
    """Intents that were in force, and until when they may still be acted on."""
    broken: str | None = None

    def change(self, intent: Intent) -> None:
        """Somebody wants something else from now on."""
        self.former.append((self.world.time + SEEN_SECONDS, self.world.intent))
        self.world.intent = intent

    def on_change(self, before: NodeSeen, after: NodeSeen) -> None:
        """A node changed, by whomever."""
        if before is after:
            return
        name, driver = after.name, after.facts.driver
        if after.facts.is_unavailable:
            self.down_since.setdefault(name, self.world.time)
        else:
            self.down_since.pop(name, None)
        if name in self.shaken:
            is_up = driver is not None and driver.is_ready and not driver.is_terminating
            if is_up and self.world.time > self.shaken[name] + SEEN_SECONDS:
                del self.shaken[name]
        elif not after.facts.is_unavailable or _is_stopping(before, after):
            # Later, a driver that stops on a lost node may outlive the phase it was stopped in.
            self.find(None if _is_given_up(after) else why_exposed(after))
        if name in self.theirs and not after.facts.is_cordoned:
            self._on_opened(before, after)

    def _on_opened(self, before: NodeSeen, after: NodeSeen) -> None:
        """A cordon of an admin is gone. While a driver is replaced it is put back; else a driver manager may do so."""
        name = after.name
        is_managed = before.facts.labels.get(MANAGED_NOTE) != after.facts.labels.get(MANAGED_NOTE)
        if closing.has_lost_driver(after):
            return
        if is_managed:
            self.theirs.discard(name)
        else:
            self.find(f"{name} was cordoned by an admin, and the cordon is gone")

    def on_landing(self, action: Action, before: NodeSeen | None, outcome: Outcome) -> None:
        """An act of ours arrived."""
        if outcome.result is not Result.DONE or before is None or not isinstance(action, NodeAct):
            return
        starts = isinstance(action, WriteNodeRecord) and is_under_way(action.record) and not is_under_way(before.record)
        if starts and Admission(node=action.node, attempt=action.attempt) not in self.world.rollout.admitted:
            self.find(f"{action.node} starts attempt {action.attempt} without an admission")
        is_gone = before.facts.is_unavailable or closing.has_lost_driver(before)  # the second is closed again
        takes = isinstance(action, Cordon | RequestMaintenance) and not is_gone
        if starts or takes:
            self.find(self._why_overspent(action.node, is_taking=takes))

    def find(self, why: str | None) -> None:
        """Keep the first thing that is wrong."""
        if why is not None and self.broken is None:
            self.broken = why

    def _why_overspent(self, name: str, *, is_taking: bool) -> str | None:
        nodes, time = tuple(self.world.nodes.values()), self.world.time
        external = frozenset(node.name for node in nodes if not is_taking or self._is_news(node))
        intents = [self.world.intent, *(intent for until, intent in self.former if time < until)]
        whys = [why_overspent(nodes, intent, external, around=name) for intent in intents]
        return whys[0] if all(whys) else None

    def _is_news(self, node: NodeSeen) -> bool:
        """Whether somebody else made the node unavailable so lately that we may not have seen it."""
        is_cordon_ours = node.record is not None and node.record.is_cordon_ours
        is_ours = is_cordon_ours or node.facts.maintenance is not None
        return not is_ours and self.down_since.get(node.name, float("-inf")) > self.world.time - SEEN_SECONDS


def _is_stopping(before: NodeSeen, after: NodeSeen) -> bool:
    """Whether a driver pod has just been deleted."""
    was_stopping = before.facts.driver is not None and before.facts.driver.is_terminating
    return after.facts.driver is not None and after.facts.driver.is_terminating and not was_stopping


def _is_given_up(node: NodeSeen) -> bool:
    """Whether nobody is hurt by the end of a driver: the node has failed, is out of service and has no users."""
    has_failed = node.record is not None and node.record.phase is NodePhase.UPGRADE_FAILED
    return has_failed and node.facts.is_unavailable and not clearing.users(node.facts)


def why_unsettled(world: World, decision: Decision, theirs: set[str]) -> str | None:
    """What is wrong with a world that has come to rest; None when every node is done or held with a reason."""
    return next(_unsettled(world, decision, theirs), None)


def _unsettled(world: World, decision: Decision, theirs: set[str]) -> Iterator[str]:
    if decision.actions:
        yield f"at rest with acts to do: {decision.actions[0].id}"
    held = {hold.subject for hold in decision.holds}
    for hold in decision.holds:
        if hold.code in TRANSIENT:
            yield f"{hold.subject} waits for ever: {hold.code}"
    for name, node in world.nodes.items():
        facts, phase = node.facts, node.record.phase if node.record else None
        if phase is not NodePhase.UPGRADE_DONE and name not in held:
            yield f"{name} is {phase}, and nobody says why"
        if decision.stop is not None:
            continue
        if is_under_way(node.record):
            yield f"{name} is {phase} for ever"
        if phase is NodePhase.UPGRADE_DONE and name not in held:
            if not facts.is_in_sync:
                yield f"{name} is done on {facts.driver}"
            if facts.is_cordoned and name not in theirs:
                yield f"{name} is done, and still cordoned by us"
            if facts.paused_labels or facts.maintenance is not None or facts.is_requested or facts.awaits_safe_load:
                yield f"{name} is done, and something that was asked of it or of others is not given back"
    if decision.stop is None:
        for admission in world.rollout.admitted:
            node = world.nodes[admission.node]
            if not (node.record is not None and node.record.is_cordon_ours) and node.facts.maintenance is None:
                yield f"{admission.node} is in the ledger for nothing"


def _is_idle(decision: Decision) -> bool:
    """Whether looking again changes nothing unless something happens: stopped as a whole, nobody is kept to a deadline.

    A write that is still to be answered, or was turned down a moment ago, is looked at again by itself.
    """
    is_waiting = any(held.code in TRANSIENT for held in decision.holds)
    return decision.stop is not None and not decision.actions and not is_waiting


# ── playing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class _NoJournal:
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
        made = {name: _merged(fate_of(what, NEW.version) for what in whats) for name, whats in fates.items()}
        return World(nodes, intent, fates=made, everybody=draw_manager(self._seed), seed=self._seed), fates

    def _judge(self) -> Judge:
        theirs = {node.name for node in self.world.nodes.values() if node.facts.is_cordoned}
        return Judge(self.world, theirs=theirs, down_since=dict.fromkeys(theirs, float("-inf")))

    def _why_unsettled(self, decision: Decision) -> str | None:
        return why_unsettled(self.world, decision, self.judge.theirs)

    def _ended(self, decision: Decision, /) -> str:
        """How it ended, in a word."""
        return _how(self.world, decision)

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
        self._is_idle = report.decision is not None and _is_idle(report.decision)
        return report

    # ── lives ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _start_life(self, listing: Listing) -> _Life:
        self._life_count += 1
        view = View(listing)
        seat = Seat(self.world, self.weather, view, name=f"life {self._life_count}", on_landing=self._on_landing)
        ports = Ports(observer=seat, executor=seat, journal=_NoJournal(), clock=seat)
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
                after = _merged(fate_of(what, NEW.version) for what in lasting)
                self._at(max(ends_at), partial(world.befall, name, partial(_instead, after)))
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
                return (lambda: judge.change(_lowered(world.intent))), None
            case "paused":
                return (lambda: self._pause(is_paused=True)), (lambda: self._pause(is_paused=False))
            case "paused for good":
                return (lambda: self._pause(is_paused=True)), None
            case _:
                raise KeyError(what)

    def _touch(self, name: str, **changes: Any) -> None:
        self.world.change(name, lambda node: replace(node, facts=replace(node.facts, **changes)))

    def _fall_silent(self, name: str) -> None:
        self._touch(name, is_ready=False, ready_at=self.world.time)

    def _come_back(self, name: str) -> None:
        self._touch(name, is_ready=True, ready_at=self.world.time)

    def _reboot(self, name: str) -> None:
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
        if node.record is not None and node.record.phase in (NodePhase.UPGRADE_FAILED, NodePhase.UPGRADE_DONE):
            self.world.change(name, lambda ended: replace(ended, is_retry_asked=True))

    def _lose_label(self, name: str) -> None:
        if self.world.nodes[name].record is not None:
            self.world.change(name, lambda node: replace(node, is_label_lost=True))

    def _want(self, revision: DriverRevision) -> None:
        self.world.publish(revision)
        self.judge.change(replace(self.world.intent, target=DriverVersion.parse(revision.version)))

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
                kind = chance.choice([cls.__name__ for cls in _KINDS])
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

    def _list_anew(self, view: View, stream: Stream, seconds: float) -> None:
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


_KINDS: Final = (
    acts.WriteNodeRecord,
    acts.Cordon,
    acts.Uncordon,
    acts.PauseClients,
    acts.AskCheckpoint,
    acts.EvictPods,
    acts.RestartPod,
    acts.RequestMaintenance,
    acts.ReleaseMaintenance,
    acts.WriteRolloutRecord,
)


def _merged(fates: Iterator[Fate]) -> Fate:
    """All that is in store for one node, in one."""
    merged = HEALTHY
    for fate in fates:
        changes = {name: getattr(fate, name) for name in Fate.__slots__ if getattr(fate, name)}
        merged = replace(merged, **changes)
    return merged


def _instead(after: Fate, _before: Fate) -> Fate:
    return after


def _lowered(intent: Intent) -> Intent:
    limits = intent.limits
    lower = Limits(
        parallel_max=max(limits.parallel_max // 2, 1),
        unavailable_max=replace(limits.unavailable_max, amount=max(limits.unavailable_max.amount // 2, 1)),
    )
    return replace(intent, policy=replace(intent.policy, limits=lower))


def _how(world: World, decision: Decision) -> str:
    is_done = all(node.record and node.record.phase is NodePhase.UPGRADE_DONE for node in world.nodes.values())
    if not is_done or decision.holds or decision.stop is not None:
        return "held"
    return "done" if str(world.intent.target) == NEW.version else "reverted"
