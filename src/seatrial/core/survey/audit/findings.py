"""What an audit can find: a closed list of kinds, each with its weight, its meaning, and what it is called.

Law of this file: a finding names its evidence, its nodes and the next command; unknown has a weight of its own.
Tests: tests/core/survey/test_audit_findings.py
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.compat.matrix import Component
from seatrial.core.model.instants import ApiInstant


class Weight(StrEnum):
    """How much a finding counts."""

    DRIFT = "drift"
    """The cluster is not what it is said to be, or not the same everywhere."""
    WRONG = "wrong"
    """Something is wrong, or will go wrong by itself."""
    UNKNOWN = "unknown"
    """Nobody can say that it is right, or nobody has accepted what speaks against it."""


class FindingKind(StrEnum):
    """Everything that an audit can find."""

    DRIFT = "drift"
    MIXED = "mixed"
    INCOMPATIBLE = "incompatible"
    NOT_RUNNING = "not-running"
    HALF_DONE = "half-done"
    LEAKED_DRIVER = "leaked-driver"
    STALE_LABEL = "stale-label"
    STALE_BUILD = "stale-build"
    FOREIGN_CORDON = "foreign-cordon"
    PAUSED_POOL = "paused-pool"
    PENDING = "pending"
    SELF_ROLLING = "self-rolling"
    MOVING_CHANNEL = "moving-channel"
    NOT_OBSERVABLE = "not-observable"
    EXPIRED_SUPPORT = "expired-support"
    WARNED = "warned"
    UNPROVEN = "unproven"


WEIGHTS: Final[Mapping[FindingKind, Weight]] = {
    FindingKind.DRIFT: Weight.DRIFT,
    FindingKind.MIXED: Weight.DRIFT,
    FindingKind.INCOMPATIBLE: Weight.WRONG,
    FindingKind.NOT_RUNNING: Weight.WRONG,
    FindingKind.HALF_DONE: Weight.WRONG,
    FindingKind.LEAKED_DRIVER: Weight.WRONG,
    FindingKind.STALE_LABEL: Weight.WRONG,
    FindingKind.STALE_BUILD: Weight.WRONG,
    FindingKind.FOREIGN_CORDON: Weight.WRONG,
    FindingKind.PAUSED_POOL: Weight.WRONG,
    FindingKind.PENDING: Weight.WRONG,
    FindingKind.SELF_ROLLING: Weight.WRONG,
    FindingKind.MOVING_CHANNEL: Weight.WRONG,
    FindingKind.NOT_OBSERVABLE: Weight.UNKNOWN,
    FindingKind.EXPIRED_SUPPORT: Weight.UNKNOWN,
    FindingKind.WARNED: Weight.UNKNOWN,
    FindingKind.UNPROVEN: Weight.UNKNOWN,
}

MEANINGS: Final[Mapping[FindingKind, str]] = {
    FindingKind.DRIFT: "a component is not the version that the entry of the matrix names, or is not there",
    FindingKind.MIXED: "nodes with the same GPU and system run different versions",
    FindingKind.INCOMPATIBLE: "a rule says that these versions do not work together",
    FindingKind.NOT_RUNNING: "a driver pod is there and not Ready, so its driver does not run",
    FindingKind.HALF_DONE: "a driver upgrade of the node has started and not ended, or has failed",
    FindingKind.LEAKED_DRIVER: "the driver that is loaded is not the one that the driver pod brings",
    FindingKind.STALE_LABEL: "the driver label is older than the driver, and the driver pod contradicts it",
    FindingKind.STALE_BUILD: "the network driver was built for another kernel than the node runs",
    FindingKind.FOREIGN_CORDON: "the node is cordoned, and not by an upgrade",
    FindingKind.PAUSED_POOL: "a MachineConfigPool is paused: its nodes get no new kernel, and no new certificates",
    FindingKind.PENDING: "a DaemonSet asks for another image than its pods have: the change waits for their restart",
    FindingKind.SELF_ROLLING: "a driver's DaemonSet replaces its pods as soon as its template changes",
    FindingKind.MOVING_CHANNEL: "OLM upgrades an operator automatically, across major versions",
    FindingKind.NOT_OBSERVABLE: "the version that runs is unknown: a right or an object is missing",
    FindingKind.EXPIRED_SUPPORT: "what runs is out of support by its vendor's dates, or soon will be",
    FindingKind.WARNED: "a rule warns of what runs: it is vulnerable, or known to be bad",
    FindingKind.UNPROVEN: "no fact says that these versions work together",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFinding:
    """One thing that is wrong, or not known."""

    kind: FindingKind
    message: str
    """What, and why that matters: a sentence with the versions in it."""
    next_step: str
    """The next command."""
    nodes: tuple[str, ...] = ()
    """All of them, in the order of their names; empty where it is about the cluster."""
    evidence: tuple[str, ...] = ()
    component: Component | None = None
    since: ApiInstant | None = None
    """From when on, where an object tells: of several nodes, the first."""

    @property
    def weight(self) -> Weight:
        return WEIGHTS[self.kind]
