"""The fields of Kubernetes objects that we read, and no others: what is not named here is dropped while decoding.

Structs for decoding only; what is kept in memory are the slim items of project.py.
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import msgspec

from seatrial.adapters.kube.shapes import keys


class Model(msgspec.Struct, frozen=True, gc=False, rename="camel", kw_only=True):
    """Base of everything decoded: immutable, unknown fields dropped, camelCase outside and snake_case inside."""


class OwnerReference(Model, frozen=True):
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ManagedFields(Model, frozen=True):
    manager: str = ""
    operation: str = ""
    time: str = ""
    subresource: str = ""
    fields: dict[str, Any] = msgspec.field(default={}, name="fieldsV1")


class ObjectMeta(Model, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None
    finalizers: tuple[str, ...] = ()
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()


class Condition(Model, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    observed_generation: int | None = None


Quantities: TypeAlias = dict[str, str | int | float]
"""Quantities are strings, yet a client may have stored a bare number."""


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
    mirror: str = msgspec.field(default="", name=keys.MIRROR_ANNOTATION)


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
    env: tuple[Variable, ...] = ()
    resources: Resources = Resources()


class Volume(Model, frozen=True):
    empty_dir: dict[str, Any] | None = None


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


class Template(Model, frozen=True):
    spec: PodSpec = PodSpec()


class RevisionSpec(Model, frozen=True):
    template: Template = Template()


class RevisionData(Model, frozen=True):
    spec: RevisionSpec = RevisionSpec()


class ControllerRevision(Model, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    revision: int = 0
    data: RevisionData = RevisionData()


# ── dynamic resources ────────────────────────────────────────────────────────────────────────────────────────────────


class BareMeta(Model, frozen=True):
    """Without labels and annotations: nobody here reads them."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class DeviceResult(Model, frozen=True):
    driver: str = ""
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


class Device(Model, frozen=True):
    attributes: DeviceAttributes = DeviceAttributes()


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


# ── our own resource ─────────────────────────────────────────────────────────────────────────────────────────────────


class Target(Model, frozen=True):
    driver: str = ""


class RolloutLimits(Model, frozen=True):
    """What is not said here, the operator's policy says."""

    max_parallel_upgrades: int | None = None
    max_unavailable: int | str | None = None
    max_failed: int | None = None


class WaitForCompletion(Model, frozen=True):
    pod_selector: str | None = None
    timeout_seconds: int | None = None


class PodDeletion(Model, frozen=True):
    force: bool | None = None
    delete_empty_dir: bool | None = None
    timeout_seconds: int | None = None


class Drain(Model, frozen=True):
    enable: bool | None = None
    force: bool | None = None
    delete_empty_dir: bool | None = None
    pod_selector: str | None = None
    timeout_seconds: int | None = None


class RolloutDomain(Model, frozen=True):
    label: str
    max_unavailable: int | str | None = None
    unit: bool = False


class RolloutRetries(Model, frozen=True):
    max: int = 0
    pause_seconds: int = 300


class RolloutCheckpoint(Model, frozen=True):
    timeout_seconds: int = 600
    webhook: str = ""


class RolloutMaintenance(Model, frozen=True):
    requestor_id: str = msgspec.field(name="requestorID")
    namespace: str = "default"
    prefix: str = "nvidia-operator"
    timeout_seconds: int = 3600


class RolloutGit(Model, frozen=True):
    """A file of a Git repository."""

    url: str = ""
    branch: str = "main"
    path: str = "gpu-version-matrix.yaml"
    commit: str = ""


class RolloutConfigMap(Model, frozen=True):
    namespace: str
    name: str
    key: str = "matrix.yaml"


class RolloutMatrix(Model, frozen=True):
    git: RolloutGit | None = None
    config_map: RolloutConfigMap | None = None
    entry: str = "canary"


class RolloutPublishGit(Model, frozen=True):
    """What is empty here is the matrix's."""

    path: str
    url: str = ""
    branch: str = ""
    pull_requests: bool = False


class RolloutPublish(Model, frozen=True):
    via: str = "direct"
    git: RolloutPublishGit | None = None


class RolloutCanary(Model, frozen=True):
    count: int = 1
    nodes: tuple[str, ...] = ()
    selector: dict[str, str] = {}
    machine_config_pool: str = ""
    pause_pools: tuple[str, ...] = ()


class RolloutGate(Model, frozen=True):
    name: str
    image: str
    command: tuple[str, ...] = ()
    gpus: int = 1
    timeout_seconds: int = 600


class RolloutBake(Model, frozen=True):
    duration_seconds: int = 172800
    every_seconds: int = 3600


class RolloutWaves(Model, frozen=True):
    growth: str = "exponential"
    first: int | str = "5%"
    step: int | str = "5%"
    factor: int = 2
    percentages: tuple[int, ...] = ()
    pause_seconds: int = 0


class RolloutWindow(Model, frozen=True):
    start: str
    minutes: int
    days: tuple[str, ...] = ()


class RolloutWindows(Model, frozen=True):
    time_zone: str = "UTC"
    open: tuple[RolloutWindow, ...] = ()


class RolloutApprovals(Model, frozen=True):
    manual: tuple[str, ...] = ()
    approved: tuple[str, ...] = ()


class RolloutNotifications(Model, frozen=True):
    webhook: str
    format: str = "plain"


class RolloutByHand(Model, frozen=True):
    component: str
    version: str
    before: str = ""
    instructions: str = ""
    one_way: bool = False


class RolloutSpec(Model, frozen=True):
    target: Target = Target()
    node_selector: dict[str, str] = {}
    limits: RolloutLimits | None = None
    wait_for_completion: WaitForCompletion | None = None
    pod_deletion: PodDeletion | None = None
    drain: Drain | None = None
    domains: tuple[RolloutDomain, ...] = ()
    order: str = "name"
    retries: RolloutRetries = RolloutRetries()
    checkpoint: RolloutCheckpoint = RolloutCheckpoint()
    maintenance: RolloutMaintenance | None = None
    driver_timeout_seconds: int = 1800
    validation_timeout_seconds: int = 600
    paused: bool = False
    on_delete: str = "leave"
    mode: str = "auto"
    matrix: RolloutMatrix | None = None
    publish: RolloutPublish = RolloutPublish()
    canary: RolloutCanary | None = None
    gates: tuple[RolloutGate, ...] = ()
    bake: RolloutBake = RolloutBake()
    waves: RolloutWaves = RolloutWaves()
    windows: RolloutWindows | None = None
    approvals: RolloutApprovals = RolloutApprovals()
    abort: str = ""
    prepull: bool = True
    notifications: RolloutNotifications | None = None
    by_hand: RolloutByHand | None = None
    after: str = ""


class AdmissionEntry(Model, frozen=True):
    node: str
    attempt: int


class TurnedDown(Model, frozen=True):
    subject: str
    at: str
    count: int = 1
    code: str = ""
    detail: str = ""


class BaselineEntry(Model, frozen=True):
    resource: str
    version: str


class Offer(Model, frozen=True, omit_defaults=True):
    """What a node offered, as it is written."""

    resources: dict[str, int] = {}
    mig_config: str = ""
    runtime_handlers: tuple[str, ...] = ()
    dra_plugin: bool = False
    slices: bool = False


class WatchedEntry(Model, frozen=True, omit_defaults=True):
    node: str
    before: Offer = Offer()
    boot_id: str = ""
    ready_at: str = ""
    driver: str = ""
    started_at: str = ""
    loaded_at: str = ""
    lack: str = ""


class PlaceEntry(Model, frozen=True):
    url: str
    branch: str
    path: str


class PlacesEntry(Model, frozen=True, omit_defaults=True):
    matrix: PlaceEntry | None = None
    published: PlaceEntry | None = None


class SwitchEntry(Model, frozen=True, omit_defaults=True):
    resource: str
    name: str
    value: str | None = None


class GateEntry(Model, frozen=True, omit_defaults=True):
    gate: str
    node: str
    round: int
    verdict: str
    detail: str = ""
    at: str = ""
    asked: str = ""


class TurnEntry(Model, frozen=True, omit_defaults=True):
    phase: str
    at: str
    why: str = ""


class CampaignStatus(Model, frozen=True, omit_defaults=True):
    """The record of a campaign as it is written; what has its default is left out."""

    phase: str
    schema: int = 0
    entered_at: str = ""
    paused_in: str = ""
    mode: str = ""
    canaries: tuple[str, ...] = ()
    baseline: tuple[BaselineEntry, ...] = ()
    places: PlacesEntry | None = None
    switches: tuple[SwitchEntry, ...] = ()
    wave: int = 0
    settled_at: str = ""
    pull_round: int = 0
    unpulled_at: str = ""
    forgetting: bool = False
    gates: tuple[GateEntry, ...] = ()
    round: int = 0
    round_at: str = ""
    baked_seconds: float = 0.0
    baked_until: str = ""
    watched: tuple[WatchedEntry, ...] = ()
    well_since: str = ""
    unwell_since: str = ""
    setback: str = ""
    bake_asked_seconds: float | None = None
    tag_base: str = ""
    date: str = ""
    why: str = ""
    history: tuple[TurnEntry, ...] = ()


class Wait(Model, frozen=True):
    code: str = ""
    why: str = ""
    next: str = ""
    until: str = ""


class RolloutStatus(Model, frozen=True):
    state: str = ""
    waits: tuple[Wait, ...] = ()
    conditions: tuple[Condition, ...] = ()
    campaign: CampaignStatus | None = None
    admitted: tuple[AdmissionEntry, ...] = ()
    counts: dict[str, int] = {}
    holds: dict[str, int] = {}
    summarised_at: str = ""
    lost_gpu_seconds: float = 0.0
    attentive_since: str = ""
    turned_down: tuple[TurnedDown, ...] = ()


class Rollout(Model, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: RolloutSpec = RolloutSpec()
    status: RolloutStatus = RolloutStatus()


ModelT = TypeVar("ModelT", bound=Model)


class RolloutText(Model, frozen=True):
    """A rollout whose parts are not read yet: one that cannot be must not keep the others from being listed."""

    metadata: ObjectMeta = ObjectMeta()
    spec: msgspec.Raw = msgspec.Raw(b"{}")
    status: msgspec.Raw = msgspec.Raw(b"{}")


class CampaignHint(Model, frozen=True):
    phase: str = ""


class StatusHint(Model, frozen=True):
    """As much of a status as says whether a campaign has begun."""

    campaign: CampaignHint | None = None


# ── the GPU Operator's resources ─────────────────────────────────────────────────────────────────────────────────────


class UpgradePolicy(Model, frozen=True):
    auto_upgrade: bool | None = None
    max_parallel_upgrades: int | None = None
    max_unavailable: int | str | None = None
    wait_for_completion: WaitForCompletion | None = None
    pod_deletion: PodDeletion | None = None
    drain: Drain | None = None


class DriverManager(Model, frozen=True):
    env: tuple[dict[str, Any], ...] | None = None
    """As it is: what else stands in an entry goes back as it came."""


class PolicyDriver(Model, frozen=True):
    enabled: bool | None = None
    version: str = ""
    manager: DriverManager | None = None
    use_nvidia_driver_crd: bool | None = msgspec.field(default=None, name="useNvidiaDriverCRD")
    upgrade_policy: UpgradePolicy | None = None


class SandboxWorkloads(Model, frozen=True):
    enabled: bool | None = None


class ClusterPolicySpec(Model, frozen=True):
    driver: PolicyDriver = PolicyDriver()
    sandbox_workloads: SandboxWorkloads = SandboxWorkloads()


class StateStatus(Model, frozen=True):
    state: str = ""


class ManagedMeta(ObjectMeta, frozen=True):
    """With who wrote which field; elsewhere nobody reads it, and it is half of an object."""

    managed_fields: tuple[ManagedFields, ...] = ()


class ClusterPolicy(Model, frozen=True):
    metadata: ManagedMeta = ManagedMeta()
    spec: ClusterPolicySpec = ClusterPolicySpec()
    status: StateStatus = StateStatus()


class NvidiaDriverSpec(Model, frozen=True):
    # Absent and empty are not the same: nodes with a GPU, and every node.
    node_selector: dict[str, str] | None = None
    default: bool = False
    version: str = ""
    manager: DriverManager | None = None
    upgrade_policy: UpgradePolicy | None = None


class NvidiaDriver(Model, frozen=True):
    metadata: ManagedMeta = ManagedMeta()
    spec: NvidiaDriverSpec = NvidiaDriverSpec()
    status: StateStatus = StateStatus()
