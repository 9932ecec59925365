"""A promise, and what is broken about it.

Law of this file: what every promise needs, and no promise.

Tests: tests/core/promises/test_invariants.py, tests/core/promises/test_promises_alone.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from seatrial.core.actions.of_campaigns import CampaignAct
from seatrial.core.actions.on_nodes import Cordon, NodeAct, WriteNodeRecord
from seatrial.core.base.values import dataclass
from seatrial.core.decision.decide import Decision
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.model.windows import Stretches
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
    if node.record is None or closed_at is None or not is_exposed(node):
        return False
    return action.record == closing.closed_again(node.record, closed_at)


_REPLACING: Final = frozenset(
    {NodePhase.POD_RESTART_REQUIRED, NodePhase.VALIDATION_REQUIRED, NodePhase.UNCORDON_REQUIRED}
)


def is_bare(node: NodeSeen) -> bool:
    """Whether the driver that a node ran was taken away and none is proven since.

    By the pods that are seen and the one on record, and not by the rules of closing.py.
    """
    record, driver = node.record, node.facts.driver
    if record is None or record.phase is NodePhase.UPGRADE_DONE:
        return False
    is_gone = driver is None or driver.is_terminating or driver.uid != record.old_pod
    return record.has_lost_driver or (record.phase in _REPLACING and bool(record.old_pod) and is_gone)


def is_exposed(node: NodeSeen) -> bool:
    """Whether a node takes work after its driver was taken away and before the next one is proven."""
    record, facts, network = node.record, node.facts, node.facts.network
    is_left_open = facts.is_skipped and not facts.skipped_by and not is_under_way(record)  # as a person wants it
    if record is None or facts.is_cordoned or is_left_open:
        return False
    is_network_gone = network is not None and not network.is_old and not network.is_up and record.moves_network
    return is_bare(node) or (is_network_gone and record.phase in _REPLACING and record.closed_at is not None)


def is_within(openings: Stretches | None, at: Instant, margin_seconds: float = 0.0) -> bool:
    """Whether an instant lies in a window that does not close too soon; without windows, always."""
    return openings is None or any(
        opens <= at < closes - min(margin_seconds, (closes - opens) / 2) for opens, closes in openings
    )


def is_start(seen: Snapshot, action: WriteNodeRecord) -> bool:
    """Whether the record that is written begins the upgrade of its node."""
    before = seen.nodes[action.node].record
    return is_under_way(action.record) and not is_under_way(before)


def breach(promise: str, subject: str, detail: str) -> Breach:
    """What is broken, of which promise, about whom."""
    return Breach(promise=promise, subject=subject, detail=detail)
