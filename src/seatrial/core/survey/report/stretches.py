"""Phases, waves and nodes as stretches of time, and where a closer look is worth it.

    Proposed │ Canary │ Gating │ Baking ──────────────────────────── │ wave 1 │ wave 2 │ Promoting │ Done
    └──────────── closer ──────┘                                     └───────────── closer ─────────────┘

Law of this file: everything is to scale. Where one stretch leaves the others no room, they are shown a second time, by
themselves and to a scale of their own. Tests: tests/core/survey/test_report_stretches.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import Final

from seatrial.core.base.values import dataclass, replace
from seatrial.core.model.campaign import RolloutPhase, Turn
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.nodes import NodePhase, NodeRecord, NodeSeen
from seatrial.core.node.phases import is_under_way

LONG: Final = 0.5
"""The share of all the time from which on one stretch leaves the others too little room."""
NEAR: Final = 0.03
"""How much of the long stretch is seen at the edge of a closer look."""


class Work(StrEnum):
    """What is done to a node, coarsely: what a person asks who looks at hundreds of them."""

    EMPTYING = "emptying"
    DRIVER = "driver"
    PROVING = "proving"
    DONE = "done"
    FAILED = "failed"


WORKS: Final[Mapping[str, Work]] = {
    NodePhase.CORDON_REQUIRED: Work.EMPTYING,
    NodePhase.WAIT_FOR_JOBS_REQUIRED: Work.EMPTYING,
    NodePhase.POD_DELETION_REQUIRED: Work.EMPTYING,
    NodePhase.DRAIN_REQUIRED: Work.EMPTYING,
    NodePhase.NODE_MAINTENANCE_REQUIRED: Work.EMPTYING,
    NodePhase.POD_RESTART_REQUIRED: Work.DRIVER,
    NodePhase.VALIDATION_REQUIRED: Work.PROVING,
    NodePhase.UNCORDON_REQUIRED: Work.PROVING,
    NodePhase.UPGRADE_DONE: Work.DONE,
    NodePhase.UPGRADE_FAILED: Work.FAILED,
}
"""The work of each state; a node that waits for its turn (upgrade-required) has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Something that lasted: a phase, a wave, the work on a node."""

    what: str
    at: Instant
    until: Instant
    why: str = ""
    is_over: bool = True

    @property
    def seconds(self) -> float:
        return max(0.0, self.until - self.at)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTimes:
    """What is known of the times of one node, oldest first; done and failed are moments, and last no time."""

    name: str
    works: tuple[Stretch, ...] = ()


def phases(turns: Sequence[Turn], end: Instant, *, is_over: bool) -> tuple[Stretch, ...]:
    """Every turn as a stretch, up to the next; the last of a rollout that has ended lasts no time."""
    ends = [*(turn.at for turn in turns[1:]), end] if turns else []
    last = len(turns) - 1
    return tuple(
        Stretch(
            what=_phase(turn, is_first=_is_first_wave(turns, number)),
            at=turn.at,
            until=turn.at if is_over and number == last else max(turn.at, until),
            why=turn.why,
            is_over=is_over or number < last,
        )
        for number, (turn, until) in enumerate(zip(turns, ends, strict=True))
    )


def _is_first_wave(turns: Sequence[Turn], number: int) -> bool:
    return not any(turn.phase is RolloutPhase.WAVING for turn in turns[:number])


def _phase(turn: Turn, *, is_first: bool) -> str:
    """The name of a phase; of the waves, which one."""
    if turn.phase is not RolloutPhase.WAVING:
        return turn.phase.value
    if turn.why.startswith("wave "):
        return turn.why.partition(" of ")[0]
    return "wave 1" if is_first else turn.phase.value


def closer(found: Sequence[Stretch]) -> tuple[tuple[Instant, Instant], ...]:
    """Where a closer look is worth it: before and after the one stretch that leaves the others no room."""
    if len(found) < 2:
        return ()
    begin, end = found[0].at, max(each.until for each in found)
    runs = _runs(found)
    at, until = max(runs, key=lambda each: each[1] - each[0])
    if until - at < LONG * (end - begin) or end <= begin:
        return ()
    before, after = at - begin, end - until
    looks = []
    if before > 0:
        looks.append((begin, min(until, at + max(NEAR * before, 1.0))))
    if after > 0:
        looks.append((max(at, until - max(NEAR * after, 1.0)), end))
    return tuple(looks)


def _runs(found: Sequence[Stretch]) -> list[tuple[Instant, Instant]]:
    """Stretches of one name that follow each other are one: a bake that was told of twice is one bake."""
    runs = [(found[0].at, found[0].until)]
    for one, other in pairwise(found):
        if one.what == other.what:
            runs[-1] = (runs[-1][0], other.until)
        else:
            runs.append((other.at, other.until))
    return runs


# ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def by_their_records(nodes: Mapping[str, NodeSeen], since: Instant, now: Instant) -> tuple[NodeTimes, ...]:
    """What the nodes' own records know: since when each is where it is, and since when it was closed."""
    found = (_by_its_record(name, node.record, since, now) for name, node in sorted(nodes.items()))
    return tuple(each for each in found if each.works)


def together(recorded: Sequence[NodeTimes], known: Sequence[NodeTimes]) -> tuple[NodeTimes, ...]:
    """What a journal tells, and where a node has come to since its last line."""
    now = {each.name: each.works for each in known}
    found = [NodeTimes(name=each.name, works=_later(each.works, now.pop(each.name, ()))) for each in recorded]
    found += [each for each in known if each.name in now]
    return tuple(sorted(found, key=lambda each: each.name))


def _later(told: tuple[Stretch, ...], now: tuple[Stretch, ...]) -> tuple[Stretch, ...]:
    new = now[-1] if now else None
    last = told[-1] if told else None
    if new is None or last is None or new.at <= last.at:
        return told or now
    # What the journal left open ended when the node came to where it is.
    ended = replace(last, until=new.at, is_over=True) if not last.is_over else last
    return (*told[:-1], ended, new)


def within(found: Iterable[NodeTimes], begin: Instant, end: Instant) -> tuple[NodeTimes, ...]:
    """What belongs to a rollout: what began while it was; the rest is another's."""
    times = (
        NodeTimes(name=each.name, works=tuple(work for work in each.works if begin <= work.at <= end)) for each in found
    )
    return tuple(each for each in times if each.works)


def _by_its_record(name: str, record: NodeRecord | None, since: Instant, now: Instant) -> NodeTimes:
    work = WORKS.get(record.phase) if record is not None else None
    if record is None or work is None or record.entered_at < since:
        return NodeTimes(name=name)  # it waits for its turn, or was there before this rollout began
    entered = record.entered_at
    works: list[Stretch] = []
    if record.closed_at is not None and since <= record.closed_at < entered:
        works.append(Stretch(what=Work.EMPTYING, at=record.closed_at, until=entered))
    until = now if is_under_way(record) else entered
    works.append(Stretch(what=work, at=entered, until=max(entered, until), why=record.reason, is_over=until == entered))
    return NodeTimes(name=name, works=tuple(works))
