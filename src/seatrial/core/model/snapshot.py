"""What is seen: facts (observed), records (written by us), and how fresh both are. Values only, hardly any behaviour.

    the cluster ──watch──▶ NodeFacts    cordoned? driver revision running? GPU pods present?     facts
                           NodeRecord   phase, attempt, since when, whose cordon                  records
                           RolloutRecord  the ledger: who was admitted to disruption              records

A record is the little that cannot be observed. A label is a bookmark for people, not the truth: when facts and records
disagree, facts win, and the disagreement is a Hold or a repair. Several streams feed one Snapshot, each with its own
delay, so every reader must be safe under any mix of ages.

Tests: tests/core/test_snapshot.py
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from seatrial.core.model.campaign import CampaignRecord, Mode, RolloutPhase, SourceFacts
from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.gates import Measurement
from seatrial.core.model.instants import ApiInstant, Instant
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.owners import DriverClaim
from seatrial.core.model.policy import PolicyWish
from seatrial.core.model.troubles import Symptom


class NodePhase(StrEnum):
    """Where a node stands, in NVIDIA's own words; the text is the label's value."""

    UPGRADE_REQUIRED = "upgrade-required"
    CORDON_REQUIRED = "cordon-required"
    WAIT_FOR_JOBS_REQUIRED = "wait-for-jobs-required"
    POD_DELETION_REQUIRED = "pod-deletion-required"
    DRAIN_REQUIRED = "drain-required"
    NODE_MAINTENANCE_REQUIRED = "node-maintenance-required"
    POD_RESTART_REQUIRED = "pod-restart-required"
    VALIDATION_REQUIRED = "validation-required"
    UNCORDON_REQUIRED = "uncordon-required"
    UPGRADE_DONE = "upgrade-done"
    UPGRADE_FAILED = "upgrade-failed"


class Keeper(StrEnum):
    """Who puts a pod back when it goes."""

    CONTROLLER = "controller"
    """A ReplicaSet, a Job and their like: somewhere, when there is room."""
    DAEMON_SET = "daemon-set"
    """On the same node, at once."""
    KUBELET = "kubelet"
    """A static pod: what the API server shows is a mirror, and evicting it moves nothing."""
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod on a node that is no operand of the driver: perhaps a user of its GPUs, perhaps a job to wait for."""

    namespace: str
    name: str
    uid: str
    labels: tuple[tuple[str, str], ...] = ()
    gpu: GpuUse | None = None
    """How it holds a GPU, if it does; then it has to leave before the driver does."""
    holds_claim: bool = False
    """Whether the kubelet needs the DRA plugin to let it go, be it only a monitor."""
    is_terminating: bool = False
    keeper: Keeper = Keeper.CONTROLLER
    has_empty_dir: bool = False
    deploy_label: str = ""
    """For a DaemonSet's pod: the node label (nvidia.com/gpu.deploy.…) by which its DaemonSet chooses nodes."""
    offers_checkpoint: bool = False
    checkpoint_asked: str = ""
    """Which attempt has asked it to save its work, and which one it has saved it for."""
    checkpoint_saved: str = ""

    @property
    def full_name(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverRevision:
    """What a driver DaemonSet wants to run: the newest revision of its template."""

    hash: str
    version: str
    """Driver version read from the image tag; empty when the tag does not say (a digest, a precompiled image)."""
    digest: str = ""
    """DRIVER_CONFIG_DIGEST: equal digests mean that the loaded modules may stay as they are."""
    image: str = ""
    """The driver container's image, as the template names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverPod:
    """The driver pod of a node."""

    namespace: str
    name: str
    uid: str
    revision: str
    version: str = ""
    digest: str = ""
    is_orphaned: bool = False
    """Nobody owns it any more: its DaemonSet was taken away from over it."""
    is_ready: bool = False
    ready_since: ApiInstant | None = None
    started_at: ApiInstant | None = None
    """When the driver's container started, which a restart in place moves without a new pod."""
    is_terminating: bool = False
    restart_count: int = 0
    trouble: str = ""
    """Why a container waits, in the kubelet's word (ImagePullBackOff, CrashLoopBackOff); empty when none says so."""
    symptoms: tuple[Symptom, ...] = ()

    @property
    def loaded_at(self) -> ApiInstant | None:
        """Since when the driver that runs now has been usable; None while it is not known to be."""
        if self.ready_since is None:
            return None
        return max(self.ready_since, self.started_at or self.ready_since)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatorPod:
    """The validator pod of a node; its checks run when it starts, so *when* it became ready is what counts."""

    name: str
    namespace: str = ""
    uid: str = ""
    is_ready: bool = False
    ready_since: ApiInstant | None = None
    is_terminating: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DraPlugin:
    """The DRA kubelet plugin of a node: it keeps the driver's library open, so it must be younger than the driver."""

    namespace: str
    name: str
    uid: str
    is_ready: bool = False
    started_at: ApiInstant | None = None
    """When the first of its containers started; None while none runs."""
    is_terminating: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The driver version a node says it has loaded (feature discovery's label), and when it looked."""

    version: str
    seen_at: ApiInstant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance:
    """A NodeMaintenance of the maintenance operator: who asked for it, and whether the node is free for the work."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    requestor: str
    others: tuple[str, ...] = ()
    is_ready: bool = False
    is_deleting: bool = False

    def is_wanted_by(self, requestor: str) -> bool:
        return requestor == self.requestor or requestor in self.others


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """What can be observed of one node, joined from nodes, pods, revisions, claims and the operator's resources."""

    name: str
    resource_version: str = ""
    labels: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False)
    """Not compared: whoever changes a label changes the resource version."""
    is_cordoned: bool = False
    is_ready: bool = True
    ready_at: ApiInstant | None = None
    """When it last became Ready or ceased to be; None where nobody says."""
    boot_id: str = ""
    """Which boot of the machine this is, in the kubelet's word; another one after every reboot."""
    is_skipped: bool = False
    skipped_by: str = ""
    """The rollout whose skip label it is; empty when a person set it, or there is none."""
    canary_of: str = ""
    """The rollout whose canary the node is marked as."""
    is_requested: bool = False
    """Somebody asked for an upgrade of this node by annotation, needed or not."""
    awaits_safe_load: bool = False
    """The driver's init container waits for us to say that the node is safe to load on."""
    is_loss_accepted: bool = False
    """Somebody accepts that the node offers less than before."""
    nvidia_state: str = ""
    """The value under NVIDIA's own key; ours only where no GPU Operator runs."""
    owner: str = ""
    """The NVIDIADriver that owns the node's driver; empty where there is none."""
    owner_conflict: str = ""
    """Why it cannot be told who owns the node's driver."""
    wanted: DriverRevision | None = None
    driver: DriverPod | None = None
    validator: ValidatorPod | None = None
    dra: DraPlugin | None = None
    published: tuple[str, ...] = ()
    """The driver versions that the node's ResourceSlices carry."""
    loaded: Loaded | None = None
    pods: tuple[Pod, ...] = ()
    offer: GpuOffer = field(default_factory=GpuOffer)
    mig_state: str = ""
    """How the MIG manager fares: success, pending, failed, …; empty where there is none."""
    paused_labels: tuple[str, ...] = ()
    """Deploy labels that say paused: somebody is at work on the driver, or left them so."""
    maintenance: Maintenance | None = None
    symptoms: tuple[Symptom, ...] = ()
    """What the node's own conditions complain of."""
    components: tuple[tuple[str, str], ...] = ()
    """Versions of what else makes up the node, by the matrix's key: seen by its kubelet, or told by people."""

    @property
    def gpu_pods(self) -> tuple[Pod, ...]:
        """The pods that hold a GPU of the node."""
        return tuple(pod for pod in self.pods if pod.gpu is not None)

    @property
    def is_unavailable(self) -> bool:
        """Whether the node takes no new work, for whatever reason."""
        return self.is_cordoned or not self.is_ready

    @property
    def is_in_sync(self) -> bool:
        """Whether the running driver pod is of the revision its DaemonSet wants."""
        return self.wanted is not None and self.driver is not None and self.driver.revision == self.wanted.hash

    @property
    def is_restart_enough(self) -> bool:
        """Whether the wanted driver differs from the running one in nothing that is loaded."""
        if self.driver is None or self.wanted is None or self.driver.is_orphaned:
            return False
        return bool(self.driver.digest) and self.driver.digest == self.wanted.digest


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRecord:
    """What we wrote down about a node; kept in one annotation, its phase mirrored in a label."""

    phase: NodePhase
    attempt: int
    entered_at: Instant
    is_cordon_ours: bool = False
    is_cordon_theirs: bool = False
    """Somebody else's cordon was on the node when its driver was taken away: put back or not, it stays at the end."""
    reason: str = ""
    """Why the node failed: a FailureCode's text; empty otherwise."""
    trouble: str = ""
    """Which of the known troubles it had then, where one was recognised."""
    failed_revision: str = ""
    """The revision wanted when the node last failed: another one is worth a new attempt by itself."""
    failures: int = 0
    """How often the node has failed on its way to this revision."""
    old_pod: str = ""
    """The uid of a driver pod that must not outlive this attempt, whatever its revision: the one the node last failed
    with, or the one it ran when somebody asked for the upgrade."""
    is_requested: bool = False
    """The attempt was asked for by annotation, so running the wanted revision already is no reason to stop."""
    is_restart_only: bool = False
    """Nothing that is loaded changes: the driver pod is restarted under its users."""
    is_saving: bool = False
    """Somebody on the node offered to save their work, so evictions get that much longer."""
    before: GpuOffer | None = None
    """What the node offered when we cordoned it."""
    has_lost_driver: bool = False
    """The driver it ran was taken away, in this attempt or one that failed, and none is proven since."""
    reopened_count: int = 0
    """How often the node was found open since then, and was closed again."""
    paused: tuple[tuple[str, str], ...] = ()
    """Deploy labels we paused in this attempt, with the values to give back, and back again should it come to that."""


class RecordFault(StrEnum):
    """How a node's record can contradict itself."""

    UNREADABLE = "unreadable"
    """The annotation cannot be read."""
    EDITED = "edited"
    """The label was changed by somebody to a value other than a retry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSeen:
    """One node: what is observed and what we wrote."""

    facts: NodeFacts
    record: NodeRecord | None = None
    is_retry_asked: bool = False
    """Somebody set the label to upgrade-required by hand."""
    is_label_lost: bool = False
    """The record is there but its label is not; the label is written again."""
    fault: RecordFault | None = None
    fault_text: str = ""

    @property
    def name(self) -> str:
        return self.facts.name


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Admission:
    """A node's right to be disrupted, for one attempt."""

    node: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Why somebody waits, in words: the reason, the next step, since when, and until when at the latest."""

    code: str
    why: str
    next_step: str
    since: Instant | None = None
    until: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting(Told):
    """Nodes that wait for one reason; the words are those of the first."""

    nodes: tuple[str, ...]
    """The first of them by name: a status has to stay small."""
    count: int
    """All of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a rollout's status tells people: counts by phase, holds by code, why it waits itself, which nodes do."""

    state: str
    counts: tuple[tuple[str, int], ...] = ()
    holds: tuple[tuple[str, int], ...] = ()
    told: tuple[Told, ...] = ()
    waiting: tuple[Waiting, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuff:
    """A write of ours the cluster turned down; remembered by the driver so that core can back off."""

    at: Instant
    count: int
    code: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutRecord:
    """The status of the GPURollout. `admitted` is the ledger: changed by compare-and-set only."""

    name: str
    resource_version: str = ""
    admitted: tuple[Admission, ...] = ()
    summary: Summary | None = None
    summarised_at: Instant = 0.0
    """When it was written."""
    lost_gpu_seconds: float = 0.0
    """What the rollout had cost by then; losses.py has the rule."""
    rebuffs: tuple[tuple[str, Rebuff], ...] = ()
    """Writes that were turned down, by subject: so that `seatrial why` knows what the controller knows."""
    attentive_since: Instant = 0.0
    """Since when the controller has been free to act: deadlines count from there."""
    campaign: CampaignRecord | None = None
    """Where the campaign stands; None before it began, and where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """When a stream was last heard of; a stream not yet listed is not synced."""

    source: str
    is_synced: bool
    heard_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """One NVIDIADriver: the nodes it claims, and what it says about their upgrade."""

    name: str
    claim: DriverClaim
    is_auto_upgrading: bool = True
    driver_version: str = ""
    policy: PolicyWish = field(default_factory=PolicyWish)


@dataclass(frozen=True, slots=True, kw_only=True)
class Carrier:
    """A resource that says which driver nodes run: a ClusterPolicy, or an NVIDIADriver."""

    name: str
    """Its kind and name, such as `ClusterPolicy/cluster-policy`."""
    version: str = ""
    writer: str = ""
    """Who wrote the version last, by the name it gave to the API server."""
    resource_version: str = ""
    note: str = ""
    """What a campaign of ours noted on it when it last wrote a version there."""
    switches: tuple[tuple[str, str], ...] = ()
    """What it says about the driver manager's two switches (driver_manager.py), by name; one not said is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorFacts:
    """What is seen of NVIDIA's GPU Operator."""

    kind: str = ""
    """The resource that owns the drivers, e.g. `ClusterPolicy/cluster-policy`; empty when there is none."""
    is_auto_upgrading: bool = False
    is_sandboxed: bool = False
    """Its controller is switched on, and moves nobody because sandbox workloads are enabled."""
    driver_version: str = ""
    state: str = ""
    policy: PolicyWish = field(default_factory=PolicyWish)
    """What its ClusterPolicy says about upgrades; each NVIDIADriver has its own, see `pools`."""
    pools: tuple[Pool, ...] = ()
    carriers: tuple[Carrier, ...] = ()

    @property
    def mode(self) -> Mode:
        """Who moves the nodes, as the cluster itself has it."""
        return Mode.DELEGATED if self.is_auto_upgrading else Mode.DIRECT


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinePool:
    """A MachineConfigPool of OpenShift, as far as it concerns a rollout."""

    name: str
    resource_version: str = ""
    is_paused: bool = False
    paused_by: str = ""
    """The rollout that paused it; it stays here when somebody else ends the pause."""
    is_ours: bool = False
    """Whether this rollout made it."""
    machine_count: int = 0
    """How many nodes are in it."""
    certificate_at: ApiInstant | None = None
    """When the kubelets' certificate authority ends that a paused pool does not renew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything `decide` may look at."""

    nodes: Mapping[str, NodeSeen]
    rollout: RolloutRecord
    freshness: tuple[Freshness, ...] = ()
    operator: OperatorFacts = field(default_factory=OperatorFacts)
    rebuffs: Mapping[str, Rebuff] = field(default_factory=dict)
    """By subject: a pod's uid for an eviction, a node's name for its record, the rollout's name for the ledger."""
    busy: Mapping[str, Instant | None] = field(default_factory=dict)
    """Subjects with a write of ours under way: unanswered (None), or answered but not to be seen here yet, and until
    when we wait to see it."""
    attentive_since: Instant = 0.0
    """Since when we have been looking and free to act; deadlines count from here, so an outage of ours fails nobody."""
    source: SourceFacts | None = None
    """What the home of the matrix shows; None where there is none, or before it was looked at."""
    measurements: tuple[Measurement, ...] = ()
    """What gates have measured."""
    others: tuple[str, ...] = ()
    """Other campaigns over the same component that have begun and not ended."""
    denied: tuple[str, ...] | None = ()
    """What we would have to do and may not, by the API server's own word; None while it was not asked yet."""
    machine_pools: tuple[MachinePool, ...] = ()
    """MachineConfigPools; none outside of OpenShift."""
    is_guarded: bool = True
    """Whether the rollout carries our finalizer, so that it cannot go before we have tidied up after it."""
    is_deleting: bool = False
    """Somebody has deleted the rollout, and it goes as soon as nobody's finalizer is on it any more."""
    predecessor: RolloutPhase | None = None
    """Where the rollout stands that this one comes after; None where it is not there, or it comes after none."""
    unreadable: tuple[tuple[str, str], ...] = ()
    """Other rollouts that cannot be read, and why: nothing is done for them, and nothing is written to them."""
