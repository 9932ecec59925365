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
    WriteRolloutRecord  the ledger, the campaign and the summary, by compare-and-set

    GuardRollout        put our finalizer on the rollout, before anything else is written for it
    ReleaseRollout      take it away again: the rollout was deleted, and nothing of ours is left that is not told

    MarkNode            set or take away a campaign's marks on a node: the canary's label, our skip label
    Publish             have resources carry a version, by a commit or by writing them
    RevertCommits       take our commits back, and nobody else's
    MarkBad             write into the matrix that an entry was rejected
    Promote             move the entries of the matrix, and tag it
    StartProbe          have a gate measured on a node
    SetAutoUpgrade      switch NVIDIA's own upgrade controller on or off
    MakePool            make the canary's MachineConfigPool
    RemovePool          remove it again
    PausePool           keep a MachineConfigPool still, or let it go again

Tests: tests/core/test_actions.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias

from seatrial.core.model.campaign import PublishStep, Switch, Via
from seatrial.core.model.gates import Gate
from seatrial.core.model.policy import Policy
from seatrial.core.model.snapshot import NodeRecord, Pod, RolloutRecord


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
class Message:
    """The words of a commit, for people: an act with better ones is the same act, so they are not compared."""

    subject: str = ""
    """Empty is the one that `git revert` gives."""
    body: str = ""


UNSAID: Final = Message()


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


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardRollout:
    """Put our finalizer on the rollout, if it still is as it was seen."""

    rollout: str
    expect: str

    @property
    def id(self) -> str:
        return f"{self.rollout}/guard@{self.expect}"

    @property
    def subject(self) -> str:
        return guard_subject(self.rollout)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRollout:
    """Take our finalizer from a rollout that was deleted, if it still is as it was seen; what stays is told before."""

    rollout: str
    expect: str
    left: tuple[str, ...] = ()
    """What of the rollout stays in the cluster, one sentence each."""

    @property
    def id(self) -> str:
        return f"{self.rollout}/release@{self.expect}"

    @property
    def subject(self) -> str:
        return guard_subject(self.rollout)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkNode:
    """Set or take away the marks of a campaign on one node, in one PATCH: its canary label, our skip label."""

    node: str
    rollout: str
    expect: str
    canary: bool | None = None
    """True sets the mark, False takes it away, None leaves it."""
    skip: bool | None = None
    is_retry: bool = False
    """Whether NVIDIA's controller is asked to try a failed node again: the one value of its label that is ours too."""
    is_handed_over: bool = False
    """Our skip label stays and our name on it goes: from then on it is a person's."""

    @property
    def id(self) -> str:
        return f"{self.node}/mark@{self.expect}"

    @property
    def subject(self) -> str:
        return self.node


@dataclass(frozen=True, slots=True, kw_only=True)
class Publish:
    """Have resources that own drivers carry a version: by a commit, or by writing them."""

    rollout: str
    step: PublishStep
    versions: tuple[tuple[str, str], ...]
    """Each resource, such as `ClusterPolicy/cluster-policy`, and the version it is to carry."""
    via: Via
    expects: tuple[tuple[str, str], ...] = ()
    """The resource version of each as it was seen; for a commit there is none."""
    note: str = ""
    """Left on each resource with the version, so that a write which comes too late finds it changed."""
    switches: tuple[Switch, ...] = ()
    """What the driver manager of these resources is told in the same write; its other settings stay."""
    message: Message = field(default=UNSAID, compare=False)

    @property
    def id(self) -> str:
        return f"{self.rollout}/publish-{self.step}/" + "+".join(f"{name}={text}" for name, text in self.versions)

    @property
    def subject(self) -> str:
        return f"{rollout_subject(self.rollout)}/{self.step}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RevertCommits:
    """Take back the commits of a campaign, and no others, by one commit."""

    rollout: str
    commits: tuple[str, ...]
    """The newest first."""
    driver: str
    """Where there are no commits, the version whose promotion is taken back."""
    message: Message = field(default=UNSAID, compare=False)

    @property
    def id(self) -> str:
        return f"{self.rollout}/revert/" + "+".join(self.commits)

    @property
    def subject(self) -> str:
        return f"{rollout_subject(self.rollout)}/{self.step}"

    @property
    def step(self) -> PublishStep:
        return PublishStep.REVERT


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkBad:
    """Write into the matrix that the entry was rejected, and why."""

    rollout: str
    driver: str
    """The version the entry has to name: another one, put there meanwhile, is not rejected."""
    why: str
    message: Message = field(default=UNSAID, compare=False)

    @property
    def id(self) -> str:
        return f"{self.rollout}/bad"

    @property
    def subject(self) -> str:
        return f"{rollout_subject(self.rollout)}/{self.step}"

    @property
    def step(self) -> PublishStep:
        return PublishStep.BAD


@dataclass(frozen=True, slots=True, kw_only=True)
class Promote:
    """Move the entries of the matrix (canary to production, production to rollback), and tag it."""

    rollout: str
    date: str
    tag_base: str
    message: Message = field(default=UNSAID, compare=False)
    tag_message: str = field(default="", compare=False)

    @property
    def id(self) -> str:
        return f"{self.rollout}/promotion/{self.tag_base}"

    @property
    def subject(self) -> str:
        return f"{rollout_subject(self.rollout)}/{self.step}"

    @property
    def step(self) -> PublishStep:
        return PublishStep.PROMOTION


@dataclass(frozen=True, slots=True, kw_only=True)
class StartProbe:
    """Have a gate measured on one node."""

    rollout: str
    gate: Gate
    node: str
    round: int
    attempt: int

    @property
    def id(self) -> str:
        return f"{self.rollout}/gate/{self.gate.name}/{self.node}/{self.round}.{self.attempt}"

    @property
    def subject(self) -> str:
        return f"{rollout_subject(self.rollout)}/gate/{self.gate.name}/{self.node}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAutoUpgrade:
    """Switch NVIDIA's own upgrade controller on or off for a resource; off makes it forget the states it wrote."""

    rollout: str
    resource: str
    value: bool
    expect: str = ""

    @property
    def id(self) -> str:
        return f"{self.rollout}/auto-upgrade/{self.resource}={self.value}@{self.expect}"

    @property
    def subject(self) -> str:
        return f"{rollout_subject(self.rollout)}/auto-upgrade/{self.resource}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MakePool:
    """Make the canary's MachineConfigPool."""

    rollout: str
    name: str

    @property
    def id(self) -> str:
        return f"{self.rollout}/make-pool/{self.name}"

    @property
    def subject(self) -> str:
        return f"{rollout_subject(self.rollout)}/pool/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovePool:
    """Remove the MachineConfigPool we made, when nobody is in it any more."""

    rollout: str
    name: str
    expect: str

    @property
    def id(self) -> str:
        return f"{self.rollout}/remove-pool/{self.name}@{self.expect}"

    @property
    def subject(self) -> str:
        return f"{rollout_subject(self.rollout)}/pool/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PausePool:
    """Keep a MachineConfigPool still and leave our name on it, or let it go and take the name away."""

    rollout: str
    name: str
    value: bool
    expect: str
    """The pool's version; a person's decision in between is not overwritten."""

    @property
    def id(self) -> str:
        return f"{self.rollout}/pause-pool/{self.name}={self.value}@{self.expect}"

    @property
    def subject(self) -> str:
        return f"{rollout_subject(self.rollout)}/pool/{self.name}"


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
HomeAct: TypeAlias = Publish | RevertCommits | MarkBad | Promote
"""What a campaign does to the home of the matrix; each step of it at most once."""
OuterAct: TypeAlias = HomeAct | StartProbe | SetAutoUpgrade | MakePool | RemovePool | PausePool
"""What a campaign does outside of the nodes."""
CampaignAct: TypeAlias = MarkNode | OuterAct
Keeping: TypeAlias = GuardRollout | ReleaseRollout
"""What is done to the rollout itself, so that it does not go unnoticed."""
Action: TypeAlias = NodeAct | CampaignAct | WriteRolloutRecord | Keeping


def rollout_subject(name: str) -> str:
    """The subject of writes to a rollout; a node's name cannot contain a slash, so the two never meet."""
    return f"rollout/{name}"


def guard_subject(name: str) -> str:
    """The subject of our finalizer on a rollout: where it is refused, the ledger is written all the same."""
    return f"{rollout_subject(name)}/guard"


def is_disruptive(action: Action) -> bool:
    """Whether the act itself takes something away from the users of the cluster.

    Restarting a validator or a DRA plugin takes nothing from running pods; asking the maintenance operator empties the
    node as our own evictions would.
    """
    if isinstance(action, RestartPod):
        return action.operand is Operand.DRIVER
    return isinstance(action, Cordon | PauseClients | EvictPods | RequestMaintenance)
