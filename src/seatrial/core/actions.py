"""Everything seatrial can ever do to a cluster: a closed union of frozen values. Executing them is elsewhere.

An action says what it believed (`expect`, a resourceVersion; or a pod's uid) so that the executor can refuse it when
the world has moved on, and has a deterministic id, so that doing it twice is doing it once and an audit entry finds its
act.

    WriteNodeRecord     open the next phase of a node: its label and annotation, in one PATCH
    Cordon              the same PATCH, and the node takes no new pods
    Uncordon            the same PATCH, and the node takes pods again
    PauseClients        the same PATCH, and DaemonSets that hold GPUs and can be asked by a node label to leave, leave
    AskCheckpoint       ask jobs that offer it to save their work, by annotation or through a webhook
    EvictPods           ask the eviction API to move pods away; budgets of the users are honoured
    RestartPod          delete an operand's pod (driver, validator, DRA plugin), so that its DaemonSet starts a new one
    RequestMaintenance  ask the maintenance operator to empty a node
    ReleaseMaintenance  tell it that the node is no longer needed
    WriteRolloutRecord  the ledger and the summary, by compare-and-set

Tests: tests/core/test_actions.py
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from seatrial.core.policy import Policy
from seatrial.core.snapshot import NodeRecord, Pod, RolloutRecord


class Request(StrEnum):
    """What others ask of us by an annotation on the node; a write that answers one takes it away."""

    UPGRADE = "upgrade-requested"
    SAFE_LOAD = "wait-for-safe-load"
    ACCEPT_LOSS = "accept-loss"


class Operand(StrEnum):
    """Whose pod is restarted."""

    DRIVER = "driver"
    VALIDATOR = "validator"
    DRA_PLUGIN = "dra-plugin"


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteNodeRecord:
    """Open a phase of a node."""

    node: str
    record: NodeRecord
    expect: str
    labels: tuple[tuple[str, str], ...] = ()
    """Deploy labels set in the same write."""
    answers: tuple[Request, ...] = ()
    """Annotations removed in the same write."""

    @property
    def id(self) -> str:
        # The version tells a phase opened twice in one attempt (validated, changed again, validated again) apart.
        return f"{self.node}/{self.record.phase}/{self.record.attempt}@{self.expect}"

    @property
    def subject(self) -> str:
        return self.node

    @property
    def attempt(self) -> int:
        return self.record.attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class Cordon(WriteNodeRecord):
    """Open a phase of a node and cordon it, atomically."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncordon(WriteNodeRecord):
    """Open a phase of a node and take our cordon away, atomically."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseClients(WriteNodeRecord):
    """Pause deploy labels of a node and remember that we did, atomically."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskCheckpoint:
    """Ask jobs on one node to save their work."""

    node: str
    attempt: int
    pods: tuple[Pod, ...]
    token: str
    """What the answer has to repeat, so that an old answer is not taken for one to this question."""
    webhook: str = ""

    @property
    def id(self) -> str:
        return f"{self.node}/checkpoint/{self.attempt}/" + "+".join(sorted(pod.uid for pod in self.pods))

    @property
    def subject(self) -> str:
        return self.node


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictPods:
    """Ask for the eviction of pods of one node."""

    node: str
    attempt: int
    pods: tuple[Pod, ...]

    @property
    def id(self) -> str:
        return f"{self.node}/evict/{self.attempt}/" + "+".join(sorted(pod.uid for pod in self.pods))

    @property
    def subject(self) -> str:
        return self.node


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPod:
    """Delete the pod of an operand on one node, if it still is the pod we looked at."""

    node: str
    attempt: int
    operand: Operand
    namespace: str
    pod: str
    uid: str

    @property
    def id(self) -> str:
        return f"{self.node}/restart-{self.operand}/{self.attempt}/{self.uid}"

    @property
    def subject(self) -> str:
        return self.node


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestMaintenance:
    """Ask the maintenance operator to empty one node: by an object of our own, or by joining somebody else's."""

    node: str
    attempt: int
    namespace: str
    name: str
    requestor: str
    policy: Policy
    joins: str = ""
    """The resource version of the object to join; empty to make one."""

    @property
    def id(self) -> str:
        return f"{self.node}/request-maintenance/{self.attempt}@{self.joins or 'new'}"

    @property
    def subject(self) -> str:
        return self.node


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseMaintenance:
    """Tell the maintenance operator that we are through: our object goes, or our name in somebody else's."""

    node: str
    attempt: int
    namespace: str
    name: str
    requestor: str
    uid: str
    resource_version: str
    is_ours: bool
    stay: tuple[str, ...] = ()
    """The other requestors, who stay in it."""

    @property
    def id(self) -> str:
        return f"{self.node}/release-maintenance/{self.attempt}/{self.uid}@{self.resource_version}"

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


NodeAct: TypeAlias = (
    WriteNodeRecord
    | Cordon
    | Uncordon
    | PauseClients
    | AskCheckpoint
    | EvictPods
    | RestartPod
    | RequestMaintenance
    | ReleaseMaintenance
)
Action: TypeAlias = NodeAct | WriteRolloutRecord


def rollout_subject(name: str) -> str:
    """The subject of writes to a rollout; a node's name cannot contain a slash, so the two never meet."""
    return f"rollout/{name}"


def is_disruptive(action: Action) -> bool:
    """Whether the act itself takes something away from the users of the cluster.

    Restarting a validator or a DRA plugin takes nothing from running pods; asking the maintenance operator empties the
    node as our own evictions would.
    """
    if isinstance(action, RestartPod):
        return action.operand is Operand.DRIVER
    return isinstance(action, Cordon | PauseClients | EvictPods | RequestMaintenance)
