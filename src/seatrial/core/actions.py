"""Everything seatrial can ever do to a cluster: a closed union of frozen values. Executing them is elsewhere.

An action says what it believed (`expect`, a resourceVersion; or a pod's uid) so that the executor can refuse it when
the world has moved on, and has a deterministic id, so that doing it twice is doing it once and an audit entry finds its
act.

    WriteNodeRecord    open the next phase of a node: its label and annotation, in one PATCH
    Cordon             the same PATCH, and the node takes no new pods
    Uncordon           the same PATCH, and the node takes pods again
    EvictPods          ask the eviction API to move GPU pods away; budgets of the users are honoured
    RestartDriverPod   delete the driver pod, so that its DaemonSet starts the new one
    WriteRolloutRecord the ledger and the summary, by compare-and-set

Tests: tests/core/test_actions.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from seatrial.core.snapshot import GpuPod, NodeRecord, RolloutRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteNodeRecord:
    """Open a phase of a node."""

    node: str
    record: NodeRecord
    expect: str

    @property
    def id(self) -> str:
        # The version tells a phase opened twice in one attempt (validated, changed again, validated again) apart.
        return f"{self.node}/{self.record.phase}/{self.record.attempt}@{self.expect}"

    @property
    def subject(self) -> str:
        return self.node


@dataclass(frozen=True, slots=True, kw_only=True)
class Cordon(WriteNodeRecord):
    """Open a phase of a node and cordon it, atomically."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncordon(WriteNodeRecord):
    """Open a phase of a node and take our cordon away, atomically."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictPods:
    """Ask for the eviction of GPU pods of one node."""

    node: str
    attempt: int
    pods: tuple[GpuPod, ...]

    @property
    def id(self) -> str:
        return f"{self.node}/evict/{self.attempt}/" + "+".join(sorted(pod.uid for pod in self.pods))

    @property
    def subject(self) -> str:
        return self.node


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartDriverPod:
    """Delete the driver pod of one node, if it still is the pod we looked at."""

    node: str
    attempt: int
    namespace: str
    pod: str
    uid: str

    @property
    def id(self) -> str:
        return f"{self.node}/restart-driver/{self.attempt}/{self.uid}"

    @property
    def subject(self) -> str:
        return self.node


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRolloutRecord:
    """Write the ledger and the summary, if nobody else did since `record.resource_version`."""

    record: RolloutRecord

    @property
    def id(self) -> str:
        return f"{self.record.name}/ledger/{self.record.resource_version}"

    @property
    def subject(self) -> str:
        return rollout_subject(self.record.name)


Action: TypeAlias = WriteNodeRecord | Cordon | Uncordon | EvictPods | RestartDriverPod | WriteRolloutRecord


def rollout_subject(name: str) -> str:
    """The subject of writes to a rollout; a node's name cannot contain a slash, so the two never meet."""
    return f"rollout/{name}"


def is_disruptive(action: Action) -> bool:
    """Whether the act itself takes something away from the users of the cluster."""
    return isinstance(action, Cordon | EvictPods | RestartDriverPod)
