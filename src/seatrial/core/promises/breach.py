"""A promise, and what is broken about it.

Law of this file: what every promise needs, and no promise. Tests: tests/core/test_invariants.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from seatrial.core.actions.of_campaigns import CampaignAct
from seatrial.core.actions.on_nodes import Cordon, NodeAct, WriteNodeRecord
from seatrial.core.decide import Decision
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.node import closing
from seatrial.core.node.phases import is_under_way


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """A promise about to be broken, and by what."""

    promise: str
    subject: str
    detail: str

    def __str__(self) -> str:
        return f"{self.promise} broken at {self.subject}: {self.detail}"


Promise: TypeAlias = Callable[[Snapshot, Intent, Decision], Iterator[Breach]]


def closes_again(seen: Snapshot, action: CampaignAct | NodeAct) -> bool:
    """Whether an act puts a cordon back that was there when the driver was deleted, and does nothing else."""
    if not isinstance(action, Cordon):
        return False
    node, closed_at = seen.nodes[action.node], action.record.closed_at
    if node.record is None or closed_at is None or not closing.is_opened(node):
        return False
    return action.record == closing.closed_again(node.record, closed_at)


def is_start(seen: Snapshot, action: WriteNodeRecord) -> bool:
    """Whether the record that is written begins the upgrade of its node."""
    before = seen.nodes[action.node].record
    return is_under_way(action.record) and not is_under_way(before)


def breach(promise: str, subject: str, detail: str) -> Breach:
    """What is broken, of which promise, about whom."""
    return Breach(promise=promise, subject=subject, detail=detail)
