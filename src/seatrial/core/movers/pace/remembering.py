"""Since when each node stands where it stands, which wakes it had, and what they were worth.

Law of this file: no instant it remembers lies in the future, whatever the clock does.
Tests: tests/core/movers/test_pace.py
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import ceil

from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.nodes import NodeFacts
from seatrial.core.movers.pace import ways as pace_ways
from seatrial.core.movers.pace.values import POLL_SECONDS, Gain, PaceMemory, Seen, Stay, WaitCode
from seatrial.core.node.phases import UNDER_WAY


def polled_at(entered_at: Instant, ready_at: Instant) -> Instant:
    """When a controller that polls sees that a node is ready: it looks when it writes its state, then now and then."""
    return entered_at + max(0, ceil((ready_at - entered_at) / POLL_SECONDS)) * POLL_SECONDS


def remember(seen: Seen, lacks: Mapping[str, tuple[WaitCode, str]], memory: PaceMemory, now: Instant) -> PaceMemory:
    """The memory after one more look."""
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


def _states(memory: PaceMemory) -> dict[str, str]:
    return {name: stay.state for name, stay in memory.stays.items()}


def _unwoken(stay: Stay) -> Stay:
    return stay if stay.woken_at is None else replace(stay, woken_at=None, wake_count=0)


def no_later(memory: PaceMemory, now: Instant) -> PaceMemory:
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


def _stay(node: NodeFacts, code: WaitCode, memory: PaceMemory, now: Instant) -> Stay:
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
    )
