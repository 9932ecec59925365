"""Workloads of Kueue that we switched off: for which node, and when they are switched on again.

    off   spec.active: false, and the annotations that say whose doing it is, are one write: it always has an owner
    on    spec.active: true, and they go, in one write, once the node is through, has failed, is gone or was given up

Law of this file: what is due follows from the mark and the nodes alone, so whoever looks next after a crash knows it.
What somebody else switched off bears no mark, and stays off. Tests: tests/core/model/test_workloads.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen

_VISITED: Final = frozenset(
    {
        NodePhase.WAIT_FOR_JOBS_REQUIRED,
        NodePhase.POD_DELETION_REQUIRED,
        NodePhase.DRAIN_REQUIRED,
        NodePhase.POD_RESTART_REQUIRED,
        NodePhase.VALIDATION_REQUIRED,
        NodePhase.UNCORDON_REQUIRED,
    }
)
"""The phases of a visit in which nobody is to come back to a node that was emptied for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspended:
    """A Workload that we switched off."""

    namespace: str
    name: str
    node: str
    """The node whose visit it makes room for."""
    token: str
    """For which rollout, node and attempt."""

    @property
    def full_name(self) -> str:
        return f"{self.namespace}/{self.name}"


def due(suspended: Iterable[Suspended], nodes: Mapping[str, NodeSeen]) -> tuple[Suspended, ...]:
    """Those whose visit is over; one whose node has a record that cannot be read waits for it."""
    return tuple(each for each in suspended if not _is_kept_off(nodes.get(each.node), each))


def _is_kept_off(node: NodeSeen | None, suspended: Suspended) -> bool:
    if node is None:
        return False
    if node.fault is not None:
        return True
    record = node.record
    is_same_visit = record is not None and suspended.token.endswith(f".{suspended.node}.{record.attempt}")
    return record is not None and is_same_visit and record.phase in _VISITED
