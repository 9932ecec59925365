"""The fields that an audit reads: of nodes, of what runs on them, and of what OLM and OpenShift say.

As in models.py, what is not named here is dropped while decoding. Tests: tests/adapters/kube/test_auditing.py
"""

from __future__ import annotations

import msgspec

from seatrial.adapters.kube.shapes import keys
from seatrial.adapters.kube.shapes.kinds import ContainerStatus
from seatrial.adapters.kube.shapes.models import Model, OwnerReference, Quantities

# ── metadata ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class Meta(Model, frozen=True):
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] = {}


class SpecFields(msgspec.Struct, frozen=True, gc=False):
    unschedulable: dict[str, object] | None = msgspec.field(default=None, name="f:unschedulable")


class Fields(msgspec.Struct, frozen=True, gc=False):
    spec: SpecFields | None = msgspec.field(default=None, name="f:spec")


class Manager(Model, frozen=True):
    """Who wrote the cordon, and nothing else of what somebody wrote: that is half of a node."""

    manager: str = ""
    time: str = ""
    fields: Fields = msgspec.field(default=Fields(), name="fieldsV1")


# ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class NodeMeta(Model, frozen=True):
    name: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    managed_fields: tuple[Manager, ...] = ()


class NodeSpec(Model, frozen=True):
    unschedulable: bool = False


class NodeInfo(Model, frozen=True):
    kernel_version: str = ""
    kubelet_version: str = ""
    os_image: str = ""
    container_runtime_version: str = ""


class NodeStatus(Model, frozen=True):
    node_info: NodeInfo = NodeInfo()
    allocatable: Quantities = {}


class AuditedNode(Model, frozen=True):
    metadata: NodeMeta = NodeMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


# ── what runs ────────────────────────────────────────────────────────────────────────────────────────────────────────


class Container(Model, frozen=True):
    name: str = ""
    image: str = ""


class PodMeta(Meta, frozen=True):
    deletion_timestamp: str | None = None
    owner_references: tuple[OwnerReference, ...] = ()


class PodSpec(Model, frozen=True):
    node_name: str = ""
    containers: tuple[Container, ...] = ()


class PodStatus(Model, frozen=True):
    phase: str = ""
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class AuditedPod(Model, frozen=True):
    metadata: PodMeta = PodMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class TemplateMeta(Model, frozen=True):
    labels: dict[str, str] = {}


class Template(Model, frozen=True):
    metadata: TemplateMeta = TemplateMeta()
    spec: PodSpec = PodSpec()


class Strategy(Model, frozen=True):
    type: str = "RollingUpdate"


class WorkloadSpec(Model, frozen=True):
    template: Template = Template()
    update_strategy: Strategy = Strategy()


class Workload(Model, frozen=True):
    """A DaemonSet or a Deployment."""

    metadata: Meta = Meta()
    spec: WorkloadSpec = WorkloadSpec()


# ── dynamic resources ────────────────────────────────────────────────────────────────────────────────────────────────


class Attribute(Model, frozen=True):
    version: str | None = None
    string: str | None = None

    @property
    def text(self) -> str:
        return self.version or self.string or ""


class Attributes(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """An attribute without a domain belongs to the slice's driver, which may spell the domain out all the same."""

    driver: Attribute | None = msgspec.field(default=None, name=keys.DRIVER_VERSION_ATTRIBUTE)
    full_driver: Attribute | None = msgspec.field(
        default=None, name=f"{keys.GPU_DRIVER}/{keys.DRIVER_VERSION_ATTRIBUTE}"
    )
    product: Attribute | None = msgspec.field(default=None, name="productName")
    full_product: Attribute | None = msgspec.field(default=None, name=f"{keys.GPU_DRIVER}/productName")


class Basic(Model, frozen=True):
    attributes: Attributes = Attributes()


class Device(Model, frozen=True):
    attributes: Attributes = Attributes()
    basic: Basic | None = None
    """Where v1beta1 has the attributes."""


class SliceSpec(Model, frozen=True):
    driver: str = ""
    node_name: str | None = None
    devices: tuple[Device, ...] = ()


class Slice(Model, frozen=True):
    spec: SliceSpec = SliceSpec()


# ── the GPU Operator's resources ─────────────────────────────────────────────────────────────────────────────────────


class DriverSpec(Model, frozen=True):
    enabled: bool | None = None
    version: str = ""
    kernel_module_type: str = ""
    use_open_kernel_modules: bool | None = None
    use_nvidia_driver_crd: bool | None = msgspec.field(default=None, name="useNvidiaDriverCRD")


class PolicySpec(Model, frozen=True):
    driver: DriverSpec = DriverSpec()


class Policy(Model, frozen=True):
    metadata: Meta = Meta()
    spec: PolicySpec = PolicySpec()


class NvidiaDriver(Model, frozen=True):
    metadata: Meta = Meta()
    spec: DriverSpec = DriverSpec()


# ── network adapters ─────────────────────────────────────────────────────────────────────────────────────────────────


class NicStatus(Model, frozen=True):
    node: str = ""
    firmware_version: str = ""


class NicDevice(Model, frozen=True):
    status: NicStatus = NicStatus()


# ── OLM and OpenShift ────────────────────────────────────────────────────────────────────────────────────────────────


class CsvSpec(Model, frozen=True):
    version: str = ""


class CsvStatus(Model, frozen=True):
    phase: str = ""
    reason: str = ""


class Csv(Model, frozen=True):
    metadata: Meta = Meta()
    spec: CsvSpec = CsvSpec()
    status: CsvStatus = CsvStatus()


class SubscriptionSpec(Model, frozen=True):
    name: str = ""
    """The package."""
    channel: str = ""
    install_plan_approval: str = "Automatic"


class Subscription(Model, frozen=True):
    metadata: Meta = Meta()
    spec: SubscriptionSpec = SubscriptionSpec()


class Update(Model, frozen=True):
    state: str = ""
    version: str = ""


class ClusterVersionStatus(Model, frozen=True):
    desired: Update = Update()
    history: tuple[Update, ...] = ()


class ClusterVersion(Model, frozen=True):
    status: ClusterVersionStatus = ClusterVersionStatus()
