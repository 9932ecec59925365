"""The table of the node machine: which phase may follow which, and why a node is given up. Code may only walk along it.

The phases are NVIDIA's. docs/reference/node-states.md and its diagram are drawn from this table.

    upgrade-required ─ admitted ─▶ cordon-required ─ cordon ─▶ wait-for-jobs-required ─▶ pod-deletion-required
           │  └─ the digest is the same: restart only ─────────────────────┐     drain-required ◀─┤ they do not go
           └─ a maintenance operator empties nodes ─▶ node-maintenance-required ─┐       │        │ no GPU pod left
                                                                                 ▼       ▼        ▼
    upgrade-done ◀─ uncordon ─ uncordon-required ◀─ proven ─ validation-required ◀─ Ready ─ pod-restart-required

Tests: tests/core/node/test_phases.py
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from seatrial.core.model.seen.nodes import NodePhase, NodeRecord, NodeSeen

TRANSITIONS: Final[Mapping[NodePhase | None, frozenset[NodePhase]]] = {
    None: frozenset({NodePhase.UPGRADE_REQUIRED, NodePhase.UPGRADE_DONE}),
    NodePhase.UPGRADE_DONE: frozenset({NodePhase.UPGRADE_REQUIRED}),
    NodePhase.UPGRADE_REQUIRED: frozenset(
        {
            NodePhase.CORDON_REQUIRED,
            NodePhase.NODE_MAINTENANCE_REQUIRED,  # a maintenance operator empties the node for us
            NodePhase.POD_RESTART_REQUIRED,  # nothing that is loaded changes: cordon and restart under the users
            NodePhase.UPGRADE_DONE,  # the version was reverted before the node started: let it go
            NodePhase.UPGRADE_REQUIRED,  # a new attempt: the admission is handed back
        }
    ),
    NodePhase.CORDON_REQUIRED: frozenset(
        {
            NodePhase.WAIT_FOR_JOBS_REQUIRED,
            NodePhase.UPGRADE_DONE,  # reverted before the cordon: let it go
            NodePhase.UPGRADE_REQUIRED,  # the node, or the fleet, is no longer fit for it: the admission is handed back
        }
    ),
    NodePhase.WAIT_FOR_JOBS_REQUIRED: frozenset(
        {
            NodePhase.POD_DELETION_REQUIRED,
            NodePhase.DRAIN_REQUIRED,  # the network driver alone moves: whoever a drain takes leaves
            NodePhase.UPGRADE_REQUIRED,  # given back by attrition; the SR-IOV operator is at work; a reboot opened it
            NodePhase.UNCORDON_REQUIRED,  # reverted: nothing was taken from anybody yet
        }
    ),
    NodePhase.POD_DELETION_REQUIRED: frozenset(
        {
            NodePhase.POD_RESTART_REQUIRED,
            NodePhase.DRAIN_REQUIRED,  # the GPU pods would not go, and a drain is allowed; or the network driver moves
            NodePhase.UNCORDON_REQUIRED,
            NodePhase.UPGRADE_REQUIRED,  # the SR-IOV operator is at work here; or a reboot opened the node
            NodePhase.UPGRADE_FAILED,
        }
    ),
    NodePhase.DRAIN_REQUIRED: frozenset(
        {
            NodePhase.POD_RESTART_REQUIRED,
            NodePhase.UNCORDON_REQUIRED,
            NodePhase.UPGRADE_REQUIRED,  # the SR-IOV operator is at work here; or a reboot opened the node
            NodePhase.UPGRADE_FAILED,
        }
    ),
    NodePhase.NODE_MAINTENANCE_REQUIRED: frozenset(
        {
            NodePhase.POD_RESTART_REQUIRED,
            NodePhase.UPGRADE_REQUIRED,  # nobody was asked yet, and the node is no longer fit for it
            NodePhase.UNCORDON_REQUIRED,  # reverted
            NodePhase.UPGRADE_FAILED,
        }
    ),
    NodePhase.POD_RESTART_REQUIRED: frozenset(
        {
            NodePhase.VALIDATION_REQUIRED,
            NodePhase.WAIT_FOR_JOBS_REQUIRED,  # a restart is not enough any more: the users have to leave after all
            NodePhase.UPGRADE_REQUIRED,  # the same, as long as nothing was taken away
            NodePhase.UPGRADE_FAILED,
        }
    ),
    NodePhase.VALIDATION_REQUIRED: frozenset(
        {
            NodePhase.UNCORDON_REQUIRED,
            NodePhase.POD_RESTART_REQUIRED,  # the version changed again meanwhile
            NodePhase.UPGRADE_FAILED,
        }
    ),
    NodePhase.UNCORDON_REQUIRED: frozenset(
        {
            NodePhase.UPGRADE_DONE,
            NodePhase.VALIDATION_REQUIRED,  # what was proven is no longer so
        }
    ),
    NodePhase.UPGRADE_FAILED: frozenset(
        {
            NodePhase.UPGRADE_REQUIRED,  # retried, or another version is wanted
            NodePhase.UPGRADE_DONE,  # the driver is proven after all
        }
    ),
}

NOT_STARTED: Final = frozenset({None, NodePhase.UPGRADE_REQUIRED, NodePhase.UPGRADE_DONE})
ENDED: Final = frozenset({NodePhase.UPGRADE_DONE, NodePhase.UPGRADE_FAILED})
UNDER_WAY: Final = frozenset(NodePhase) - NOT_STARTED - ENDED
"""Phases, whoever wrote them, in which somebody is at work on the node."""
CLOSING: Final = frozenset({NodePhase.CORDON_REQUIRED, NodePhase.WAIT_FOR_JOBS_REQUIRED})
"""Phases in which a node is closed, and nobody is asked to leave."""
RESUMING: Final = frozenset({NodePhase.VALIDATION_REQUIRED, NodePhase.UNCORDON_REQUIRED, NodePhase.UPGRADE_DONE})
"""Phases in which the driver is there to be used, so that clients we paused come back with them."""


class FailureCode(StrEnum):
    """Why a node was given up."""

    EVICTION_TIMEOUT = "eviction-timeout"
    DRAIN_TIMEOUT = "drain-timeout"
    MAINTENANCE_TIMEOUT = "maintenance-timeout"
    CORDON_LOST = "cordon-lost"
    DRIVER_CRASH_LOOP = "driver-crash-loop"
    DRIVER_TIMEOUT = "driver-timeout"
    OPERAND_TIMEOUT = "operand-timeout"
    VALIDATION_TIMEOUT = "validation-timeout"


BEFORE_THE_DRIVER: Final = frozenset(
    {
        FailureCode.EVICTION_TIMEOUT,
        FailureCode.DRAIN_TIMEOUT,
        FailureCode.MAINTENANCE_TIMEOUT,
        FailureCode.CORDON_LOST,
    }
)
"""Why nodes were given up whose driver nobody had touched: that says nothing about the version."""


def phase_of(node: NodeSeen) -> NodePhase | None:
    """The phase on record; None without one."""
    return node.record.phase if node.record is not None else None


def is_under_way(record: NodeRecord | None) -> bool:
    """Whether the node has started and not ended."""
    return record is not None and record.phase in UNDER_WAY
