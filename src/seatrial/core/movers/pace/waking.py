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

Tests: tests/core/movers/test_pace.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase
from seatrial.core.movers.pace import ways as pace_ways
from seatrial.core.movers.pace.remembering import no_later, remember
from seatrial.core.movers.pace.values import (
    Act,
    Lower,
    PaceMemory,
    Pacing,
    Raise,
    Reset,
    Seen,
    Stay,
    WaitCode,
    WakeHold,
)
from seatrial.core.movers.pace.waits import lacks_of, waits_of
from seatrial.core.movers.pace.ways import Way
from seatrial.core.movers.slots import policy_of
from seatrial.core.node.phases import UNDER_WAY

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


def decide_pace(seen: Seen, memory: PaceMemory, now: Instant) -> Pacing:
    """Look once: who moved, who waits for what, and whether to wake its controller now."""
    lacks = lacks_of(seen)
    gain_count = len(memory.gains)
    memory = remember(seen, lacks, no_later(memory, now), now)
    told = Pacing(memory=memory, waits=tuple(waits_of(lacks, memory.stays)), gains=memory.gains[gain_count:])
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
        return replace(told, hold=WakeHold.NO_CARRIER)  # whoever makes one possible changes a node, and we look
    lower_at = memory.raised_at + RAISED_SECONDS if memory.carrier else None
    if lower_at is not None and max(lower_at, free_at) <= now:
        return replace(told, act=Lower(node=memory.carrier), hold=hold)
    next_at = min((max(at, free_at) for at in (due_at, lower_at) if at is not None), default=None)
    return replace(told, hold=hold, wake_at=next_at)


def noted(pacing: Pacing, now: Instant, *, is_done: bool) -> PaceMemory:
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


# ── waking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _hold(seen: Seen) -> WakeHold | None:
    if not seen.operator.is_auto_upgrading:
        return WakeHold.CONTROLLER_OFF
    if pace_ways.way_of(seen.release, may_reset=seen.may_reset) is Way.NONE:
        return WakeHold.RELEASE_DEAF
    return None


def _due_at(seen: Seen, lacks: Mapping[str, tuple[WaitCode, str]], memory: PaceMemory) -> Instant | None:
    ready = [_due_of(memory.stays[name]) for name in _ready(seen, memory)]
    still = [_due_of_idle(memory.stays[name], memory) for name in _idle(seen, lacks)]
    first = min((*ready, *still), default=None)
    return first + SETTLE_SECONDS if first is not None and _is_unsettled(seen) else first


def _due_of(stay: Stay) -> Instant:
    if stay.woken_at is not None:
        return stay.woken_at + AGAIN_SECONDS[min(stay.wake_count, len(AGAIN_SECONDS)) - 1]
    return (stay.ready_at or 0.0) + (OWN_LOOK_SECONDS if stay.is_own else GATHER_SECONDS)


def _due_of_idle(stay: Stay, memory: PaceMemory) -> Instant:
    since = max(memory.moved_at, stay.woken_at or 0.0)
    return since + STILL_SECONDS[min(stay.wake_count, len(STILL_SECONDS) - 1)]


def _idle(seen: Seen, lacks: Mapping[str, tuple[WaitCode, str]]) -> tuple[str, ...]:
    """Who could begin or take its next step by a look alone, as far as can be told from here."""
    used = Counter(node.owner for node in seen.nodes.values() if node.nvidia_state in UNDER_WAY)

    def has_room(node: NodeFacts) -> bool:
        limit = policy_of(node, seen.operator).parallel_max
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


def _ready(seen: Seen, memory: PaceMemory) -> tuple[str, ...]:
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


def _free_at(memory: PaceMemory) -> Instant:
    """From when on we may write again."""
    after_write = memory.written_at + GAP_SECONDS if memory.written_at is not None else 0.0
    pause = RETRY_SECONDS[min(memory.refusal_count, len(RETRY_SECONDS)) - 1]
    after_refusal = memory.refused_at + pause if memory.refused_at is not None else 0.0
    return max(after_write, after_refusal)


def _at(told: Pacing, at: Instant, now: Instant, act: Act) -> Pacing:
    return replace(told, act=act) if at <= now else replace(told, wake_at=at)
