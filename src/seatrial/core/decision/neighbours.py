"""When a node is marked for its neighbours, and when the marks go: with the writes that begin and end its visit.

    the visit begins      the write that opens it sets what is not there, and the record says what is ours
    it is done            the write that says so takes off what is ours
    it has failed         they stay: the node is closed and waits for a retry, or for somebody to give it up
    given up, or over     a write of its own: opened or skipped by a person, rolled back, or its rollout leaves
    a mark's time is up   likewise

Law of this file: a mark is set and taken off in the same PATCH as the record that says whose it is, so a crash between
any two writes loses none. What somebody else put there stays. Tests: tests/core/decision/test_neighbours.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from seatrial.core.actions.on_nodes import WriteNodeRecord
from seatrial.core.base.values import dataclass, replace
from seatrial.core.campaign import leaving
from seatrial.core.decision.remembered import Chosen
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen import marks
from seatrial.core.model.seen.marks import BY_KEY, NEIGHBOURS, Mark
from seatrial.core.model.seen.nodes import NodePhase, NodeRecord, NodeSeen
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.node.writing import Step, record_of, retry_at

_LAST: Final = NodePhase.UNCORDON_REQUIRED
"""The last phase of a visit, which goes on should its proof be gone."""
_WAITING: Final = frozenset({NodePhase.UPGRADE_FAILED, NodePhase.UPGRADE_REQUIRED})
"""Phases of a node that has failed, and on which nobody is at work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visits:
    """In whose name nodes are visited, and whether anybody is visited any more."""

    rollout: str
    is_over: bool = False
    """The rollout was rolled back: whoever has failed waits for nothing any more."""
    is_frozen: bool = False
    """Nothing is written to any node just now."""

    @classmethod
    def of(cls, seen: Snapshot, intent: Intent, *, is_frozen: bool) -> Visits:
        """As a rollout stands."""
        record = seen.rollout.campaign
        is_over = record is not None and record.phase is RolloutPhase.REVERTED
        return cls(rollout=intent.rollout, is_over=is_over or leaving.is_leaving(seen, intent), is_frozen=is_frozen)


def beside(chosen: Chosen, node: NodeSeen, seen: Snapshot, visits: Visits, now: Instant) -> Chosen:
    """The step that was chosen for a node, with its marks, and how long that counts."""
    step, own = chosen
    if isinstance(step.action, WriteNodeRecord):
        return replace(step, action=_amended(step.action, node, visits, now)), own
    record = node.record
    if record is None or not record.marks or step.action is not None:
        return chosen
    gone = frozenset(_due(step, node, visits, now))
    if not gone:
        ends = (BY_KEY[key].ends_at(since) for key, since in record.marks if key in BY_KEY)
        return step, _until(own, min((end for end in ends if end is not None), default=None))
    rebuff = seen.rebuffs.get(node.name)
    if rebuff is not None and now < retry_at(rebuff):
        return step, _until(own, retry_at(rebuff))
    if visits.is_frozen or node.fault is not None or node.name in seen.busy:
        return chosen
    write = Step(action=without(node, gone), beside=step.hold)
    return write, write


def _until(own: Step, until: Instant | None) -> Step:
    """A node's own step, which counts no longer than that."""
    if until is None or own.action is not None or own.hold is None:
        return own
    return replace(own, hold=replace(own.hold, until=until if own.hold.until is None else min(until, own.hold.until)))


# ── with a write that is made anyway ─────────────────────────────────────────────────────────────────────────────────


def _amended(action: WriteNodeRecord, node: NodeSeen, visits: Visits, now: Instant) -> WriteNodeRecord:
    """A write of a node's record, with the marks that begin or end with it."""
    before, record = node.record, action.record
    if record.phase is NodePhase.UPGRADE_DONE:
        return replace(action, record=replace(record, marks=(), marked_by=""), lifted=marks.ours(node.facts, before))
    left = before.phase if before is not None else None
    entered = [each for each in NEIGHBOURS if record.phase in each.phases and left not in (*each.phases, _LAST)]
    if not entered:
        return action
    there, kept = dict(node.facts.marks), dict(record.marks)
    set_: list[Mark] = []
    for each in entered:
        key, value = each.mark.key, each.mark.value
        if key not in there and each.is_there(node.facts):
            set_.append(each.mark)
            kept[key] = now
        elif key in kept and there.get(key) == value:
            kept[key] = now  # ours from an attempt that failed: its time begins anew
        else:
            kept.pop(key, None)  # somebody's by now, or its neighbour is gone
    if not kept:
        return replace(action, record=replace(record, marks=(), marked_by=""))
    written = replace(record, marks=tuple(sorted(kept.items())), marked_by=visits.rollout)
    return replace(action, record=written, marks=tuple(set_))


# ── with a write of their own ────────────────────────────────────────────────────────────────────────────────────────


def _due(step: Step, node: NodeSeen, visits: Visits, now: Instant) -> Iterator[str]:
    """The keys of the marks that go without a phase being opened."""
    record = record_of(node)
    is_left = step.hold is not None and step.hold.code is HoldCode.LEAVING and visits.is_over
    is_ours = record.marked_by == visits.rollout
    is_ended = visits.is_over and is_ours and (is_left or record.phase in _WAITING)
    # The last is for what was put on record as done by other means than a visit: `rollout adopt`.
    is_through = is_ended or _is_given_up(node, record) or record.phase is NodePhase.UPGRADE_DONE
    for key, since in record.marks:
        neighbour = BY_KEY.get(key)
        end = neighbour.ends_at(since) if neighbour is not None else None
        if is_through or (end is not None and now >= end):
            yield key


def _is_given_up(node: NodeSeen, record: NodeRecord) -> bool:
    """Whether a person has taken a node back that failed: it is open, or marked skip."""
    is_skipped = node.facts.is_skipped and not node.facts.skipped_by
    return record.phase in _WAITING and (is_skipped or not node.facts.is_cordoned)


def without(node: NodeSeen, gone: frozenset[str] | None = None) -> WriteNodeRecord:
    """The write that takes marks off a node and nothing else; all of them where none is named."""
    record = record_of(node)
    kept = tuple((key, since) for key, since in record.marks if gone is not None and key not in gone)
    lifted = tuple(mark for mark in marks.ours(node.facts, record) if gone is None or mark.key in gone)
    written = replace(record, marks=kept, marked_by=record.marked_by if kept else "")
    return WriteNodeRecord(node=node.name, record=written, expect=node.facts.resource_version, lifted=lifted)
