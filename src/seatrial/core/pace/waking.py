"""When to wake NVIDIA's upgrade controller, and for whom. It moves the nodes; we say that there is something to see.

    a driver or validator pod becomes Ready, the last job ends
        ─▶ the node lacks nothing but a look of its controller       WaitCode.LOOK
        ─▶ one flip of one label somewhere (pace_ways.py)            it looks at all nodes
        ─▶ the node moves on; or it does not, and is woken for again, later each time
    nobody moves, although somebody could begin or take a step       its controller looked too early, and sleeps
        ─▶ the same, after STILL_SECONDS, and again, later each time

One look serves every node, so wakes are gathered for a moment and never closer than GAP_SECONDS. Its controller looks
by itself after each of its own writes: a node that lacks nothing when it enters a state is left to it. While a deleted
driver pod has no successor on its node yet, a wake waits for that a little: its controller leaves such a node out of
its count, and would let one more begin than it should.

The traces of a wake are at most one label on one node for RAISED_SECONDS. What is left by somebody killed is taken away
on sight. Nothing here writes: the caller does, and says with `noted` how it went. What is told is in pace_told.py. A
clock that was put back is gone along with: what we remember is never later than now.

Tests: tests/core/test_pace.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import ceil
from typing import Final, TypeAlias

from seatrial.core.compat.versions import OperatorVersion
from seatrial.core.model.instants import Instant
from seatrial.core.model.policy import PolicyWish
from seatrial.core.model.selectors import Selector
from seatrial.core.model.snapshot import NodeFacts, NodePhase, OperatorFacts
from seatrial.core.pace import ways as pace_ways
from seatrial.core.pace.ways import Way

POLL_SECONDS: Final = 120.0
"""After this long its controller looks without being woken."""
GATHER_SECONDS: Final = 0.5
"""Pods that become Ready together are served by one wake."""
GAP_SECONDS: Final = 1.0
"""Between two writes of ours."""
RETRY_SECONDS: Final = (0.2, 0.4, 1.0, 2.0, 5.0, 10.0)
"""A write that was turned down, because the node had changed or nobody answered, is tried again after these."""
RAISED_SECONDS: Final = 2.0
"""So long our label stays where nothing else takes it away."""
OWN_LOOK_SECONDS: Final = 5.0
"""So long its controller has to see by itself what lacks nothing from the start."""
SETTLE_SECONDS: Final = 2.0
"""So long a wake waits for deleted driver pods to have successors."""
AGAIN_SECONDS: Final = (5.0, 10.0, 20.0, 40.0, 60.0)
"""A wake that moved nobody is repeated after these."""
STILL_SECONDS: Final = (10.0, 20.0, 40.0, 60.0)
"""When nobody has moved for so long although somebody could, its controller is woken for those; then again after these.
It looks by itself after each of its own writes, but a busy API server may show it a node as it was before the write."""
DEAF_COUNT: Final = 3
"""A node woken for so often without effect is told as such."""

UNDER_WAY: Final = frozenset(
    {
        NodePhase.CORDON_REQUIRED,
        NodePhase.WAIT_FOR_JOBS_REQUIRED,
        NodePhase.POD_DELETION_REQUIRED,
        NodePhase.DRAIN_REQUIRED,
        NodePhase.NODE_MAINTENANCE_REQUIRED,
        NodePhase.POD_RESTART_REQUIRED,
        NodePhase.VALIDATION_REQUIRED,
        NodePhase.UNCORDON_REQUIRED,
    }
)


class WaitCode(StrEnum):
    """What a node waits for."""

    TURN = "turn"
    SKIPPED = "skipped"
    STEP = "step"
    """The next step of its controller, which comes by itself."""
    JOBS = "jobs"
    PODS = "pods"
    MAINTENANCE = "maintenance"
    DRIVER_STOPPING = "driver-stopping"
    DRIVER_STARTING = "driver-starting"
    VALIDATOR_MISSING = "validator-missing"
    VALIDATOR_STARTING = "validator-starting"
    LOOK = "look"
    """Nothing but a look of its controller: this is what we wake it for."""
    FAILED = "failed"
    STATE_UNKNOWN = "state-unknown"


class HoldCode(StrEnum):
    """Why nobody is woken."""

    CONTROLLER_OFF = "controller-off"
    RELEASE_DEAF = "release-deaf"
    NO_CARRIER = "no-carrier"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """One node, what it waits for, and since when it has been in its state (as far as we saw)."""

    node: str
    state: str
    code: WaitCode
    what: str = ""
    """Names or counts for the sentence: the jobs, the trouble, how often it was woken for."""
    since: Instant
    wake_count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Raise:
    """Put our label on a node that has none, as long as nobody has written to the node since."""

    node: str
    resource_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lower:
    """Take our label away, as long as it is ours."""

    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    """Take its state away from a done node, as long as it is done."""

    node: str


Act: TypeAlias = Raise | Lower | Reset


@dataclass(frozen=True, slots=True, kw_only=True)
class Stay:
    """A node's time in one state."""

    state: str
    since: Instant
    ready_at: Instant | None = None
    """Since when it has lacked nothing but a look."""
    is_own: bool = False
    """It lacked nothing from the start, so its controller looks without us."""
    woken_at: Instant | None = None
    wake_count: int = 0
    lag_seconds: float = 0.0
    """How much later it would have come into this state by polling alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """A wait for a look that has ended: what it took, and what polling would have taken."""

    node: str
    state: str
    waited_seconds: float
    polled_seconds: float
    wake_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What is remembered from look to look; nothing of it needs to outlive us."""

    stays: Mapping[str, Stay] = field(default_factory=dict)
    gains: tuple[Gain, ...] = ()
    wake_count: int = 0
    carrier: str = ""
    """The node that our label stands on by our own doing."""
    raised_at: Instant = 0.0
    written_at: Instant | None = None
    refused_at: Instant | None = None
    refusal_count: int = 0
    under_way_most: int = 0
    moved_at: Instant = 0.0
    """When a node was last seen to change its state."""
    is_begun: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a decision rests on."""

    nodes: Mapping[str, NodeFacts]
    operator: OperatorFacts
    release: OperatorVersion | None = None
    may_reset: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pacing:
    """What to do now, what everybody waits for, and when to look again at the latest."""

    memory: Memory
    act: Act | None = None
    woken_for: tuple[str, ...] = ()
    """The nodes the act is for; none when it only takes a label away."""
    waits: tuple[Wait, ...] = ()
    hold: HoldCode | None = None
    wake_at: Instant | None = None
    gains: tuple[Gain, ...] = ()
    """Those that ended with this look."""

    @property
    def is_over(self) -> bool:
        """Whether its controller has nothing left to move by itself."""
        still = (WaitCode.FAILED, WaitCode.SKIPPED, WaitCode.STATE_UNKNOWN)
        return all(wait.code in still for wait in self.waits)

    @property
    def is_in_vain(self) -> bool:
        """Whether nobody can be woken until somebody changes what is asked for."""
        return self.hold in (HoldCode.CONTROLLER_OFF, HoldCode.RELEASE_DEAF)


def decide_pace(seen: Seen, memory: Memory, now: Instant) -> Pacing:
    """Look once: who moved, who waits for what, and whether to wake its controller now."""
    lacks = _lacks(seen)
    gain_count = len(memory.gains)
    memory = _remember(seen, lacks, _no_later(memory, now), now)
    told = Pacing(memory=memory, waits=tuple(_waits(lacks, memory.stays)), gains=memory.gains[gain_count:])
    free_at = _free_at(memory)
    traces = sorted(name for name, node in seen.nodes.items() if pace_ways.is_trace(node.labels))
    strays = [name for name in traces if name != memory.carrier]
    if strays:
        return _at(told, free_at, now, Lower(node=strays[0]))
    hold = _hold(seen)
    due_at = _due_at(seen, lacks, memory) if hold is None else None
    if due_at is not None and max(due_at, free_at) <= now:
        act = Lower(node=memory.carrier) if memory.carrier else _wake(seen)
        if act is not None:
            return replace(told, act=act, woken_for=_ready(seen, memory) or _idle(seen, lacks))
        return replace(told, hold=HoldCode.NO_CARRIER)  # whoever makes one possible changes a node, and we look
    lower_at = memory.raised_at + RAISED_SECONDS if memory.carrier else None
    if lower_at is not None and max(lower_at, free_at) <= now:
        return replace(told, act=Lower(node=memory.carrier), hold=hold)
    next_at = min((max(at, free_at) for at in (due_at, lower_at) if at is not None), default=None)
    return replace(told, hold=hold, wake_at=next_at)


def noted(pacing: Pacing, now: Instant, *, is_done: bool) -> Memory:
    """The memory after the act was answered: done, or turned down because the node was no longer as it was seen."""
    memory, act = pacing.memory, pacing.act
    if act is None:
        return memory
    if not is_done:
        return replace(memory, refused_at=now, refusal_count=memory.refusal_count + 1)
    stays = {
        name: replace(stay, woken_at=now, wake_count=stay.wake_count + 1) if name in pacing.woken_for else stay
        for name, stay in memory.stays.items()
    }
    return replace(
        memory,
        stays=stays,
        wake_count=memory.wake_count + bool(pacing.woken_for),
        carrier=act.node if isinstance(act, Raise) else "" if isinstance(act, Lower) else memory.carrier,
        raised_at=now if isinstance(act, Raise) else memory.raised_at,
        written_at=now,
        refused_at=None,
        refusal_count=0,
    )


def polled_at(entered_at: Instant, ready_at: Instant) -> Instant:
    """When a controller that polls sees that a node is ready: it looks when it writes its state, then now and then."""
    return entered_at + max(0, ceil((ready_at - entered_at) / POLL_SECONDS)) * POLL_SECONDS


# ── what everybody waits for ─────────────────────────────────────────────────────────────────────────────────────────


def _lacks(seen: Seen) -> dict[str, tuple[WaitCode, str]]:
    """What each node lacks that is neither done nor unknown to its controller, by name."""
    waiting = (node for node in seen.nodes.values() if node.nvidia_state not in ("", NodePhase.UPGRADE_DONE))
    return {node.name: _lack(node, seen.operator) for node in waiting}


def _waits(lacks: Mapping[str, tuple[WaitCode, str]], stays: Mapping[str, Stay]) -> Iterable[Wait]:
    for name, (code, what) in sorted(lacks.items()):
        stay = stays[name]
        yield Wait(node=name, state=stay.state, code=code, what=what, since=stay.since, wake_count=stay.wake_count)


def _lack(node: NodeFacts, operator: OperatorFacts) -> tuple[WaitCode, str]:
    match node.nvidia_state:
        case NodePhase.UPGRADE_REQUIRED:
            return (WaitCode.SKIPPED if node.is_skipped else WaitCode.TURN), ""
        case NodePhase.WAIT_FOR_JOBS_REQUIRED:
            return _lack_of_jobs(node, operator)
        case NodePhase.POD_DELETION_REQUIRED | NodePhase.DRAIN_REQUIRED:
            return WaitCode.PODS, _names(pod.full_name for pod in node.gpu_pods)
        case NodePhase.NODE_MAINTENANCE_REQUIRED:
            return WaitCode.MAINTENANCE, ""
        case NodePhase.POD_RESTART_REQUIRED:
            return _lack_of_driver(node)
        case NodePhase.VALIDATION_REQUIRED:
            return _lack_of_validator(node)
        case NodePhase.CORDON_REQUIRED | NodePhase.UNCORDON_REQUIRED:
            return WaitCode.STEP, ""
        case NodePhase.UPGRADE_FAILED:
            return WaitCode.FAILED, ""
    return WaitCode.STATE_UNKNOWN, ""


def _lack_of_jobs(node: NodeFacts, operator: OperatorFacts) -> tuple[WaitCode, str]:
    try:
        selector = Selector.parse(_policy(node, operator).jobs_selector or "")
    except ValueError:
        return WaitCode.STEP, ""  # its controller cannot read it either, and says so
    if selector.is_empty:
        return WaitCode.STEP, ""
    running = [pod.full_name for pod in node.pods if selector.matches(dict(pod.labels))]
    return (WaitCode.JOBS, _names(running)) if running else (WaitCode.LOOK, "")


def _policy(node: NodeFacts, operator: OperatorFacts) -> PolicyWish:
    return next((pool.policy for pool in operator.pools if pool.name == node.owner), operator.policy)


def _lack_of_driver(node: NodeFacts) -> tuple[WaitCode, str]:
    driver = node.driver
    if driver is None or driver.is_terminating or not node.is_in_sync:
        return WaitCode.DRIVER_STOPPING, driver.name if driver else ""
    return (WaitCode.LOOK, "") if driver.is_ready else (WaitCode.DRIVER_STARTING, driver.trouble)


def _lack_of_validator(node: NodeFacts) -> tuple[WaitCode, str]:
    if node.validator is None or node.validator.is_terminating:
        return WaitCode.VALIDATOR_MISSING, ""
    return (WaitCode.LOOK if node.validator.is_ready else WaitCode.VALIDATOR_STARTING), node.validator.name


def _names(names: Iterable[str]) -> str:
    first, *rest = [*names, ""]
    return f"{first} and {len(rest) - 1} more" if len(rest) > 1 else first


# ── remembering ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _remember(seen: Seen, lacks: Mapping[str, tuple[WaitCode, str]], memory: Memory, now: Instant) -> Memory:
    stays = {name: _stay(seen.nodes[name], code, memory, now) for name, (code, _) in lacks.items()}
    has_moved = {name: stay.state for name, stay in stays.items()} != _states(memory)
    if has_moved:  # whoever could not be moved before may be now
        stays = {name: stay if stay.ready_at is not None else _unwoken(stay) for name, stay in stays.items()}
    ended = [_gain(name, stay, now) for name, stay in memory.stays.items() if _is_ended(stay, stays.get(name))]
    carrier = seen.nodes.get(memory.carrier)
    under_way = sum(node.nvidia_state in UNDER_WAY for node in seen.nodes.values())
    return replace(
        memory,
        stays=stays,
        gains=(*memory.gains, *(gain for gain in ended if gain is not None)),
        carrier=memory.carrier if carrier is not None and pace_ways.is_trace(carrier.labels) else "",
        under_way_most=max(memory.under_way_most, under_way),
        moved_at=now if has_moved else memory.moved_at,
        is_begun=True,
    )


def _states(memory: Memory) -> dict[str, str]:
    return {name: stay.state for name, stay in memory.stays.items()}


def _unwoken(stay: Stay) -> Stay:
    return stay if stay.woken_at is None else replace(stay, woken_at=None, wake_count=0)


def _no_later(memory: Memory, now: Instant) -> Memory:
    """The memory with nothing in it later than now: a clock that was put back must not make us wait for its time."""
    marks = [memory.raised_at, memory.written_at or 0.0, memory.refused_at or 0.0, memory.moved_at]
    marks += [max(stay.since, stay.ready_at or 0.0, stay.woken_at or 0.0) for stay in memory.stays.values()]
    if max(marks) <= now:
        return memory
    return replace(
        memory,
        stays={
            name: replace(
                stay,
                since=min(stay.since, now),
                ready_at=_earlier(stay.ready_at, now),
                woken_at=_earlier(stay.woken_at, now),
            )
            for name, stay in memory.stays.items()
        },
        raised_at=min(memory.raised_at, now),
        written_at=_earlier(memory.written_at, now),
        refused_at=_earlier(memory.refused_at, now),
        moved_at=min(memory.moved_at, now),
    )


def _earlier(instant: Instant | None, now: Instant) -> Instant | None:
    return None if instant is None else min(instant, now)


def _stay(node: NodeFacts, code: WaitCode, memory: Memory, now: Instant) -> Stay:
    is_ready = code is WaitCode.LOOK
    before = memory.stays.get(node.name)
    if before is None or before.state != node.nvidia_state:
        # What we find when we begin may have waited for long; what comes later was written a moment ago.
        is_own = is_ready and memory.is_begun
        lag_seconds = _lag_seconds(before, now) if before else 0.0
        return Stay(
            state=node.nvidia_state,
            since=now,
            ready_at=now if is_ready else None,
            is_own=is_own,
            lag_seconds=lag_seconds,
        )
    if is_ready is (before.ready_at is not None):
        return before
    return replace(before, ready_at=now if is_ready else None, is_own=False, woken_at=None, wake_count=0)


def _is_ended(before: Stay, after: Stay | None) -> bool:
    return after is None or after.state != before.state


def _lag_seconds(before: Stay, now: Instant) -> float:
    """How much later a node would have left a state by polling alone; pods become Ready whatever its state."""
    if before.ready_at is None:
        return before.lag_seconds
    return max(0.0, polled_at(before.since + before.lag_seconds, before.ready_at) - now)


def _gain(name: str, stay: Stay, now: Instant) -> Gain | None:
    if stay.ready_at is None or stay.is_own:
        return None
    entered_at = stay.since + stay.lag_seconds
    return Gain(
        node=name,
        state=stay.state,
        waited_seconds=now - stay.ready_at,
        polled_seconds=polled_at(entered_at, stay.ready_at) - max(entered_at, stay.ready_at),
        wake_count=stay.wake_count,
    )


# ── waking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _hold(seen: Seen) -> HoldCode | None:
    if not seen.operator.is_auto_upgrading:
        return HoldCode.CONTROLLER_OFF
    if pace_ways.way_of(seen.release, may_reset=seen.may_reset) is Way.NONE:
        return HoldCode.RELEASE_DEAF
    return None


def _due_at(seen: Seen, lacks: Mapping[str, tuple[WaitCode, str]], memory: Memory) -> Instant | None:
    ready = [_due_of(memory.stays[name]) for name in _ready(seen, memory)]
    still = [_due_of_idle(memory.stays[name], memory) for name in _idle(seen, lacks)]
    first = min((*ready, *still), default=None)
    return first + SETTLE_SECONDS if first is not None and _is_unsettled(seen) else first


def _due_of(stay: Stay) -> Instant:
    if stay.woken_at is not None:
        return stay.woken_at + AGAIN_SECONDS[min(stay.wake_count, len(AGAIN_SECONDS)) - 1]
    return (stay.ready_at or 0.0) + (OWN_LOOK_SECONDS if stay.is_own else GATHER_SECONDS)


def _due_of_idle(stay: Stay, memory: Memory) -> Instant:
    since = max(memory.moved_at, stay.woken_at or 0.0)
    return since + STILL_SECONDS[min(stay.wake_count, len(STILL_SECONDS) - 1)]


def _idle(seen: Seen, lacks: Mapping[str, tuple[WaitCode, str]]) -> tuple[str, ...]:
    """Who could begin or take its next step by a look alone, as far as can be told from here."""
    used = Counter(node.owner for node in seen.nodes.values() if node.nvidia_state in UNDER_WAY)

    def has_room(node: NodeFacts) -> bool:
        limit = _policy(node, seen.operator).parallel_max
        count = used[node.owner] if seen.operator.pools else used.total()
        return limit == 0 or count < (1 if limit is None else limit)

    return tuple(
        name
        for name, (code, what) in sorted(lacks.items())
        if code is WaitCode.STEP
        or (code is WaitCode.PODS and not what)
        or (code is WaitCode.TURN and has_room(seen.nodes[name]))
    )


def _is_unsettled(seen: Seen) -> bool:
    """Whether a deleted driver pod has no successor on its node yet; its controller does not count such a node."""
    return any(
        node.nvidia_state == NodePhase.POD_RESTART_REQUIRED and node.driver is None for node in seen.nodes.values()
    )


def _ready(seen: Seen, memory: Memory) -> tuple[str, ...]:
    """Who lacks nothing but a look; nobody is woken for a node that somebody wants left alone."""
    ready = (name for name, stay in memory.stays.items() if stay.ready_at is not None)
    return tuple(sorted(name for name in ready if not seen.nodes[name].is_skipped))


def _wake(seen: Seen) -> Act | None:
    """The act that wakes, on a node of its controller that is at rest where there is one; None when no node will do."""
    free = [node for node in seen.nodes.values() if node.nvidia_state and pace_ways.WAKE_LABEL not in node.labels]
    if pace_ways.way_of(seen.release, may_reset=seen.may_reset) is Way.RESET:
        done = [node.name for node in free if node.nvidia_state == NodePhase.UPGRADE_DONE and node.is_in_sync]
        return Reset(node=min(done)) if done else None
    if not free:
        return None
    chosen = min(free, key=lambda node: (node.nvidia_state in UNDER_WAY, node.name))
    return Raise(node=chosen.name, resource_version=chosen.resource_version)


def _free_at(memory: Memory) -> Instant:
    """From when on we may write again."""
    after_write = memory.written_at + GAP_SECONDS if memory.written_at is not None else 0.0
    pause = RETRY_SECONDS[min(memory.refusal_count, len(RETRY_SECONDS)) - 1]
    after_refusal = memory.refused_at + pause if memory.refused_at is not None else 0.0
    return max(after_write, after_refusal)


def _at(told: Pacing, at: Instant, now: Instant, act: Act) -> Pacing:
    return replace(told, act=act) if at <= now else replace(told, wake_at=at)
