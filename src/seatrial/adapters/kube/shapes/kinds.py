"""The fields we read of Kubernetes' own kinds: nodes, pods, revisions, dynamic resources, maintenances, events.

As in models.py, what is not named here is dropped while decoding. Tests: tests/adapters/kube/test_models.py
"""

from __future__ import annotations

import msgspec

from seatrial.adapters.kube.shapes import keys
from seatrial.adapters.kube.shapes.models import BareMeta, Condition, Model, ObjectMeta, OwnerReference, Quantities
from seatrial.core.model.seen import jobs

# ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class NodeSpec(Model, frozen=True):
    unschedulable: bool = False


class RuntimeHandler(Model, frozen=True):
    name: str = ""


class NodeInfo(Model, frozen=True):
    kernel_version: str = ""
    kubelet_version: str = ""
    boot_id: str = msgspec.field(default="", name="bootID")


class NodeStatus(Model, frozen=True):
    node_info: NodeInfo = NodeInfo()
    conditions: tuple[Condition, ...] = ()
    allocatable: Quantities = {}
    runtime_handlers: tuple[RuntimeHandler, ...] = ()


class Node(Model, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


# ── pods ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


class PodAnnotations(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Exactly those we read: annotations are the largest part of a pod's metadata."""

    checkpoint: str = msgspec.field(default="", name=keys.CHECKPOINT_ANNOTATION)
    checkpoint_requested: str = msgspec.field(default="", name=keys.CHECKPOINT_REQUESTED_ANNOTATION)
    checkpoint_saved: str = msgspec.field(default="", name=keys.CHECKPOINT_SAVED_ANNOTATION)
    checkpoint_saved_at: str = msgspec.field(default="", name=keys.CHECKPOINT_SAVED_AT_ANNOTATION)
    mirror: str = msgspec.field(default="", name=keys.MIRROR_ANNOTATION)
    volcano_group: str = msgspec.field(default="", name=jobs.VOLCANO_GROUP)
    kai_group: str = msgspec.field(default="", name=jobs.KAI_GROUP)
    slurm_time_limit: str = msgspec.field(default="", name=jobs.SLURM_TIME_LIMITS[0])
    slurm_time_limit_before: str = msgspec.field(default="", name=jobs.SLURM_TIME_LIMITS[1])


class PodMeta(Model, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    annotations: PodAnnotations = PodAnnotations()
    owner_references: tuple[OwnerReference, ...] = ()


class Resources(Model, frozen=True):
    limits: Quantities = {}
    requests: Quantities = {}


class Variable(Model, frozen=True):
    name: str = ""
    value: str = ""


class Container(Model, frozen=True):
    name: str = ""
    image: str = ""
    args: tuple[str, ...] = ()
    env: tuple[Variable, ...] = ()
    resources: Resources = Resources()


class EmptyDir(Model, frozen=True):
    """It is there, and nothing of it is read."""


class Volume(Model, frozen=True):
    empty_dir: EmptyDir | None = None


class PodClaim(Model, frozen=True):
    """An entry of spec.resourceClaims or of status.resourceClaimStatuses; both name a claim, or do not yet."""

    name: str = ""
    resource_claim_name: str | None = None


class ExtendedClaim(Model, frozen=True):
    """The claim behind an extended resource."""

    resource_claim_name: str = ""


class PodSpec(Model, frozen=True):
    node_name: str = ""
    node_selector: dict[str, str] = {}
    runtime_class_name: str | None = None
    active_deadline_seconds: int | None = None
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    resource_claims: tuple[PodClaim, ...] = ()


class Waiting(Model, frozen=True):
    reason: str = ""
    message: str = ""


class Running(Model, frozen=True):
    started_at: str | None = None


class Terminated(Model, frozen=True):
    reason: str = ""
    message: str = ""
    exit_code: int = 0
    finished_at: str | None = None


class ContainerState(Model, frozen=True):
    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(Model, frozen=True):
    name: str = ""
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class PodStatus(Model, frozen=True):
    phase: str = ""
    reason: str = ""
    start_time: str | None = None
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resource_claim_statuses: tuple[PodClaim, ...] = ()
    extended_resource_claim_status: ExtendedClaim | None = None


class Pod(Model, frozen=True):
    metadata: PodMeta = PodMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


# ── revisions of DaemonSets ──────────────────────────────────────────────────────────────────────────────────────────


class TemplateMeta(Model, frozen=True):
    labels: dict[str, str] = {}


class Template(Model, frozen=True):
    metadata: TemplateMeta = TemplateMeta()
    spec: PodSpec = PodSpec()


class RevisionSpec(Model, frozen=True):
    template: Template = Template()


class RevisionData(Model, frozen=True):
    spec: RevisionSpec = RevisionSpec()


class ControllerRevision(Model, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    revision: int = 0
    data: RevisionData = RevisionData()


class WorkloadSpec(Model, frozen=True):
    active: bool | None = None
    maximum_execution_time_seconds: int | None = None


class Workload(Model, frozen=True):
    """Of Kueue: what it queues, admits and ends as one."""

    metadata: ObjectMeta = ObjectMeta()
    spec: WorkloadSpec = WorkloadSpec()


class JobSpec(Model, frozen=True):
    active_deadline_seconds: int | None = None


class JobStatus(Model, frozen=True):
    start_time: str | None = None


class TimedJob(Model, frozen=True):
    """Of a Job, how long it may run: Kubernetes ends it then, and does not put that on its pods."""

    metadata: BareMeta = BareMeta()
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class Requirement(Model, frozen=True):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(Model, frozen=True):
    match_labels: dict[str, str] = {}
    match_expressions: tuple[Requirement, ...] = ()


class BudgetSpec(Model, frozen=True):
    selector: LabelSelector | None = None


class BudgetStatus(Model, frozen=True):
    disruptions_allowed: int = 0
    observed_generation: int = 0


class PodDisruptionBudget(Model, frozen=True):
    """How many pods of a service may be disrupted at once."""

    metadata: ObjectMeta = ObjectMeta()
    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()


class UpdateStrategy(Model, frozen=True):
    type: str = "RollingUpdate"


class DaemonSetTemplate(Model, frozen=True):
    metadata: TemplateMeta = TemplateMeta()


class DaemonSetSpec(Model, frozen=True):
    update_strategy: UpdateStrategy = UpdateStrategy()
    template: DaemonSetTemplate = DaemonSetTemplate()


class DaemonSet(Model, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: DaemonSetSpec = DaemonSetSpec()


# ── dynamic resources ────────────────────────────────────────────────────────────────────────────────────────────────


class DeviceResult(Model, frozen=True):
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None


class DeviceAllocation(Model, frozen=True):
    results: tuple[DeviceResult, ...] = ()


class Allocation(Model, frozen=True):
    devices: DeviceAllocation = DeviceAllocation()


class ClaimStatus(Model, frozen=True):
    allocation: Allocation | None = None


class ResourceClaim(Model, frozen=True):
    metadata: BareMeta = BareMeta()
    status: ClaimStatus = ClaimStatus()


class DeviceAttribute(Model, frozen=True):
    version: str | None = None


class DeviceAttributes(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """An attribute without a domain belongs to the slice's driver, which may spell the domain out all the same."""

    plain: DeviceAttribute | None = msgspec.field(default=None, name=keys.DRIVER_VERSION_ATTRIBUTE)
    full: DeviceAttribute | None = msgspec.field(
        default=None, name=f"{keys.GPU_DRIVER}/{keys.DRIVER_VERSION_ATTRIBUTE}"
    )


class BasicDevice(Model, frozen=True):
    attributes: DeviceAttributes = DeviceAttributes()


class Device(Model, frozen=True):
    name: str = ""
    attributes: DeviceAttributes = DeviceAttributes()
    basic: BasicDevice | None = None
    """Where v1beta1 has the attributes."""


class SliceSpec(Model, frozen=True):
    driver: str = ""
    node_name: str | None = None
    devices: tuple[Device, ...] = ()


class ResourceSlice(Model, frozen=True):
    metadata: BareMeta = BareMeta()
    spec: SliceSpec = SliceSpec()


# ── maintenance ──────────────────────────────────────────────────────────────────────────────────────────────────────


class NodeMaintenanceSpec(Model, frozen=True):
    requestor_id: str = msgspec.field(default="", name="requestorID")
    additional_requestors: tuple[str, ...] = ()
    node_name: str = ""


class NodeMaintenanceStatus(Model, frozen=True):
    conditions: tuple[Condition, ...] = ()


class NodeMaintenance(Model, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: NodeMaintenanceSpec = NodeMaintenanceSpec()
    status: NodeMaintenanceStatus = NodeMaintenanceStatus()


# ── events ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class ObjectReference(Model, frozen=True):
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class Event(Model, frozen=True):
    metadata: BareMeta = BareMeta()
    involved_object: ObjectReference = ObjectReference()
    type: str = ""
    reason: str = ""
    message: str = ""
