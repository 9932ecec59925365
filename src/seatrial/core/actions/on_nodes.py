"""What is done to one node, in one attempt.

    WriteNodeRecord     open the next phase of a node: its label and annotation, in one PATCH
    Cordon              the same PATCH, and the node takes no new pods
    Uncordon            the same PATCH, and the node takes pods again
    PauseClients        the same PATCH, and DaemonSets that hold GPUs and can be asked by a node label to leave, leave
    AskCheckpoint       ask jobs that offer it to save their work, by annotation or through a webhook
    EvictPods           ask the eviction API to move pods away; budgets of the users are honoured
    RestartPod          delete an operand's pod (driver, toolkit, … validator), so that its DaemonSet starts a new one
    RequestMaintenance  ask the maintenance operator to empty a node
    ReleaseMaintenance  tell it that the node is no longer needed

Law of this file: a phase is opened by a write of the node's record, and whatever else that write does rides in the same
PATCH. Tests: tests/core/actions/test_actions.py
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, TypeAlias

from seatrial.core.base.values import dataclass
from seatrial.core.model.policy import Policy
from seatrial.core.model.seen.marks import Mark
from seatrial.core.model.seen.nodes import NodeRecord
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.pods import Pod


class Request(StrEnum):
    """What others ask of us by an annotation on the node; a write that answers one takes it away."""

    UPGRADE = "upgrade-requested"
    SAFE_LOAD = "wait-for-safe-load"
    NETWORK_SAFE_LOAD = "network-wait-for-safe-load"
    ACCEPT_LOSS = "accept-loss"


KUEUE: Final = "kueue"
"""In the place of a webhook: Kueue ends the pods, since their Workload is switched off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfAttempt:
    """What is done to one node in one attempt."""

    node: str
    attempt: int

    @property
    def subject(self) -> str:
        return self.node


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
    marks: tuple[Mark, ...] = ()
    """What is set for neighbours in the same write."""
    lifted: tuple[Mark, ...] = ()
    """What is taken off of that in the same write."""

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
class AskCheckpoint(_OfAttempt):
    """Ask jobs on one node to save their work."""

    pods: tuple[Pod, ...]
    token: str
    """What the answer has to repeat, so that an old answer is not taken for one to this question."""
    webhook: str = ""
    """Who is asked; empty for the pods themselves, KUEUE for their Workloads, which are switched off."""

    @property
    def id(self) -> str:
        return f"{self.node}/checkpoint/{self.attempt}/" + "+".join(sorted(pod.uid for pod in self.pods))


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictPods(_OfAttempt):
    """Ask for the eviction of pods of one node."""

    pods: tuple[Pod, ...]

    @property
    def id(self) -> str:
        return f"{self.node}/evict/{self.attempt}/" + "+".join(sorted(pod.uid for pod in self.pods))


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPod(_OfAttempt):
    """Delete the pod of an operand on one node, if it still is the pod we looked at."""

    operand: Operand
    namespace: str
    pod: str
    uid: str

    @property
    def id(self) -> str:
        return f"{self.node}/restart-{self.operand}/{self.attempt}/{self.uid}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestMaintenance(_OfAttempt):
    """Ask the maintenance operator to empty one node: by an object of our own, or by joining somebody else's."""

    namespace: str
    name: str
    requestor: str
    policy: Policy
    joins: str = ""
    """The resource version of the object to join; empty to make one."""

    @property
    def id(self) -> str:
        return f"{self.node}/request-maintenance/{self.attempt}@{self.joins or 'new'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseMaintenance(_OfAttempt):
    """Tell the maintenance operator that we are through: our object goes, or our name in somebody else's."""

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
Disruptive: TypeAlias = Cordon | PauseClients | EvictPods | RequestMaintenance
"""What takes something away from the users of the cluster; of the restarts, the driver's does so too."""
