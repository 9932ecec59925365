"""One node: what is observed of it, and what we wrote down about it.

Law of this file: what can be observed is a fact, and only what cannot is in the record.
Tests: tests/core/model/test_snapshot.py
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from seatrial.core.base.values import dataclass, field, replace
from seatrial.core.model.fields import kept
from seatrial.core.model.gates.gate import is_by_claim
from seatrial.core.model.instants import ApiInstant, Instant
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.seen.operands import Operand, OperandSeen
from seatrial.core.model.seen.pods import DraPlugin, DriverPod, DriverRevision, Pod, ValidatorPod
from seatrial.core.model.seen.problems import Problem, UnreadableObject
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


NOT_BEGUN: Final = "not begun"
"""What people read of a node without a state."""


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
    is_network_skipped: bool = False
    """It is left out by the network driver's own label, where the rollout moves that driver."""
    skipped_by: str = ""
    """The rollout whose skip label it is; empty when a person set it, or there is none."""
    canary_of: str = ""
    """The rollout whose canary the node is marked as."""
    is_requested: bool = False
    """Somebody asked for an upgrade of this node by annotation, needed or not."""
    awaits_safe_load: bool = False
    """The driver's init container waits for us to say that the node is safe to load on."""
    awaits_network_load: bool = False
    """The same of the network driver's, where the rollout moves it."""
    is_loss_accepted: bool = False
    """Somebody accepts that the node offers less than before, and what is reported on it."""
    nvidia_state: str = ""
    """The value under NVIDIA's own key; ours only where no GPU Operator runs."""
    network_state: str = ""
    """What our label says of the network driver's upgrade."""
    owner: str = ""
    """The NVIDIADriver that owns the node's driver; empty where there is none."""
    owner_conflict: str = ""
    """Why it cannot be told who owns the node's driver."""
    wanted: DriverRevision | None = None
    driver: DriverPod | None = None
    validator: ValidatorPod | None = None
    dra: DraPlugin | None = None
    operands: tuple[OperandSeen, ...] = ()
    """The operands that the rollout moves besides, in the order in which they are restarted."""
    published: tuple[str, ...] = ()
    """The driver versions that the node's ResourceSlices carry."""
    claimable: int = 0
    """The GPUs that its ResourceSlices list, each once in whatever form."""
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
    marks: tuple[tuple[str, str], ...] = ()
    """What stands under the keys that keep neighbours off (marks.py), whoever put it there."""
    sriov: str = ""
    """What the SR-IOV operator is at on the node, in its own word (sriov.py); empty where it is idle, or not there."""
    problems: tuple[Problem, ...] = ()
    """What detectors report on the node beside its kubelet, by type."""
    unreadable: tuple[UnreadableObject, ...] = ()
    """The Node itself, where it cannot be read, and what else is about the node and cannot be."""

    @property
    def network(self) -> OperandSeen | None:
        """The network driver, where the rollout moves it and its DaemonSet wants it here."""
        return next((each for each in self.operands if each.operand is Operand.NETWORK_DRIVER), None)

    @property
    def is_network_due(self) -> bool:
        """Whether the network driver has to be loaded anew, or waits for us to be loaded at all."""
        return self.network is not None and (self.network.is_old or self.awaits_network_load)

    @property
    def gpu_pods(self) -> tuple[Pod, ...]:
        """The pods that hold a GPU of the node."""
        return tuple(pod for pod in self.pods if pod.gpu is not None)

    @property
    def gives_by_claim(self) -> bool:
        """Whether who wants one of its GPUs has to claim it."""
        return is_by_claim((name for name, count in self.offer.resources if count), has_slices=bool(self.published))

    @property
    def is_unavailable(self) -> bool:
        """Whether the node takes no new work, for whatever reason."""
        return self.is_cordoned or not self.is_ready

    @property
    def is_in_sync(self) -> bool:
        """Whether the driver, and every operand that the rollout moves, is of the revision its DaemonSet wants."""
        return self.is_driver_in_sync and not self.has_waiting_operands

    @property
    def has_waiting_operands(self) -> bool:
        """Whether an operand that a rollout moves is of an older template still, on this node."""
        return any(operand.is_old for operand in self.operands)

    @property
    def running_driver(self) -> str:
        """The driver version that runs: a Ready pod's, unless another was seen loaded since; empty for none known."""
        driver, loaded = self.driver, self.loaded
        if driver is None or not driver.is_ready:
            return ""
        looked_at, since = loaded.seen_at if loaded is not None else None, driver.loaded_at
        if loaded is not None and looked_at is not None and since is not None and looked_at >= since:
            return loaded.version
        return driver.version

    @property
    def driver_standing(self) -> str:
        """The driver that runs, for people, or why none does: `580.105.08 not running (ImagePullBackOff)`."""
        driver = self.driver
        if driver is None:
            return "no driver pod"
        if driver.is_ready:
            return self.running_driver or "unknown version"
        why = driver.trouble or ("starting" if self.is_ready else "node not Ready")
        return f"{driver.version or 'unknown version'} not running ({why})"

    @property
    def is_driver_in_sync(self) -> bool:
        """Whether the running driver pod is of the revision its DaemonSet wants."""
        return self.wanted is not None and self.driver is not None and self.driver.revision == self.wanted.hash

    @property
    def wanted_revision(self) -> str:
        """What is wanted of the node, as one text: another one is worth a new attempt. Empty where nobody knows."""
        if self.wanted is None:
            return ""
        return "+".join((self.wanted.hash, *(f"{each.operand}:{each.wanted}" for each in self.operands)))

    @property
    def is_restart_enough(self) -> bool:
        """Whether the wanted driver differs from the running one in nothing that is loaded."""
        if self.driver is None or self.wanted is None or self.driver.is_orphaned:
            return False
        return bool(self.driver.digest) and self.driver.digest == self.wanted.digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Why a node that was closed for its jobs to end is emptied now, and what either way costs."""

    why: str
    """The text of a Reason of attrition."""
    waiting_gpu_hours: float = 0.0
    """What to wait on was expected to cost."""
    evicting_gpu_hours: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRecord:
    """What we wrote down about a node; kept in one annotation, its phase mirrored in a label."""

    phase: NodePhase
    attempt: int
    entered_at: Instant
    is_cordon_ours: bool = field(default=False, metadata=kept(name="cordon", yes="ours"))
    is_cordon_theirs: bool = field(default=False, metadata=kept(name="othersCordon"))
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
    moves_network: bool = field(default=False, metadata=kept(name="network"))
    """The network driver is loaded anew in this attempt: its own label tells of the phases as well."""
    is_saving: bool = False
    """Somebody on the node offered to save their work, so evictions get that much longer."""
    before: GpuOffer | None = None
    """What the node offered when we cordoned it."""
    waived: GpuOffer | None = None
    """What it offered before a loss that a person accepted."""
    closed_at: Instant | None = None
    """When this attempt last cordoned it, or found it cordoned; None where somebody else did that for us."""
    boot_id: str = ""
    """The boot of the machine in which this attempt cordoned it; after a reboot a driver manager may have opened it."""
    has_lost_driver: bool = False
    """The driver it ran was taken away, in this attempt or one that failed, and none is proven since."""
    reopened_count: int = field(default=0, metadata=kept(name="reopened"))
    """How often the node was found open since then, and was closed again."""
    paused: tuple[tuple[str, str], ...] = ()
    """Deploy labels we paused in this attempt, with the values to give back, and back again should it come to that."""
    taken: Taken | None = None
    """By attrition: why its users are asked to leave; None where nobody is, or its turn alone is the reason."""
    returned_at: Instant | None = None
    """By attrition: when it was last given back to its users; None where it never was."""
    marks: tuple[tuple[str, Instant], ...] = ()
    """The keys of the marks for neighbours (marks.py) that are ours, with when each was set."""
    marked_by: str = ""
    """The rollout that set them."""


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

    def unreadable(self, found: tuple[UnreadableObject, ...]) -> NodeSeen:
        """The same node where these objects cannot be read: unavailable, unless they only say who works on it."""
        is_trusted = all(each.is_tenants for each in found)
        return replace(self, facts=replace(self.facts, unreadable=found, is_ready=self.facts.is_ready and is_trusted))
