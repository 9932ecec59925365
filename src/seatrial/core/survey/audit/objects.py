"""What is kept of the objects that an audit reads: a few texts each, so that ten thousand nodes are a small thing.

Law of this file: values as they were read, and nothing concluded from them; what was not read is a Gap. Tests:
tests/adapters/kube/test_auditing.py
"""

from __future__ import annotations

from collections.abc import Mapping

from seatrial.core.base.values import dataclass, field
from seatrial.core.compat.matrix import Component
from seatrial.core.model.instants import ApiInstant
from seatrial.core.model.seen.nodes import Loaded, NodeSeen
from seatrial.core.survey.adoption.traces import Traces
from seatrial.core.survey.sources import Gap, Source

Images = tuple[tuple[str, str], ...]
"""Containers with their images, in the order of the pod."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeObject:
    """A node: what it tells of itself, by its status, by labels, and by what people noted on it."""

    name: str
    shows_gpu: bool = False
    """A label or a resource says that it has an NVIDIA GPU."""
    kernel: str = ""
    kubelet: str = ""
    runtime: str = ""
    os_image: str = ""
    os_id: str = ""
    os_version: str = ""
    """The last two as node feature discovery read them from /etc/os-release."""
    product: str = ""
    loaded: Loaded | None = None
    """The driver that feature discovery saw, and when it looked."""
    cuda_level: str = ""
    """The newest CUDA that the loaded driver supports; what images carry is another thing."""
    mofed: str = ""
    told: Mapping[Component, str] = field(default_factory=dict)
    """What people noted about components that nothing else shows."""
    seen: NodeSeen
    """Its cordon, its upgrade state and our record."""
    cordoned_at: ApiInstant | None = None
    """When the cordon was written, as the API server keeps it."""
    canary_of: str = ""
    """The rollout whose canary it is marked as."""
    our_state: str = ""
    """Our own state label as it stands."""
    traces: Traces = field(default_factory=Traces)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodObject:
    """A pod of a DaemonSet that brings something to its node."""

    node: str
    namespace: str
    images: Images
    owner: str = ""
    """Its DaemonSet."""
    started_at: ApiInstant | None = None
    """When its first main container started; None while it does not run."""
    is_ready: bool = False
    """Whether that container is Ready: until then it may never have brought anything."""
    trouble: str = ""
    """Why that container waits, in the kubelet's word."""
    kernel: str = ""
    """The kernel it was built for, where a label says so."""
    chart: str = ""
    is_dra: bool = False
    is_operators: bool = False
    """The DRA plugin that the GPU Operator runs itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonSetObject:
    """A DaemonSet that brings something to nodes."""

    namespace: str
    name: str
    images: Images
    strategy: str = "RollingUpdate"
    """Kubernetes' own default, where the object does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentObject:
    """A Deployment that may be an operator."""

    namespace: str
    name: str
    images: Images
    version: str = ""
    chart: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseObject:
    """What Helm deployed, as its release's Secret says: the chart, and nothing of what it was installed with."""

    namespace: str
    name: str
    chart: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceObject:
    """What the DRA driver published about the GPUs of a node."""

    node: str
    drivers: tuple[str, ...] = ()
    products: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverResource:
    """A ClusterPolicy or an NVIDIADriver: which kernel modules are wanted of its drivers."""

    name: str
    modules: str = ""
    """open, proprietary or auto; empty where it does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NicObject:
    """A network adapter, as the NIC configuration operator found it."""

    node: str
    firmware: str
    """Empty while it has not been read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvObject:
    """What OLM installed; copies into other namespaces are not among them."""

    namespace: str
    name: str
    version: str
    phase: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionObject:
    """What OLM follows."""

    namespace: str
    name: str
    package: str
    channel: str
    is_automatic: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenShiftObject:
    """The ClusterVersion: what was completed last, and what is wanted."""

    completed: str
    desired: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolObject:
    """A MachineConfigPool."""

    name: str
    is_paused: bool
    paused_by: str = ""
    """The rollout of ours that paused it."""
    machine_count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Objects:
    """Everything that was read, and what was not."""

    nodes: tuple[NodeObject, ...] = ()
    daemon_sets: tuple[DaemonSetObject, ...] = ()
    pods: tuple[PodObject, ...] = ()
    deployments: tuple[DeploymentObject, ...] = ()
    slices: tuple[SliceObject, ...] = ()
    driver_resources: tuple[DriverResource, ...] = ()
    nics: tuple[NicObject, ...] = ()
    releases: tuple[ReleaseObject, ...] = ()
    unreleased: str = "Helm's releases may show it (--helm-secrets reads them)"
    """Why Helm's releases do not tell what is looked for in them."""
    csvs: tuple[CsvObject, ...] = ()
    subscriptions: tuple[SubscriptionObject, ...] = ()
    openshift: tuple[OpenShiftObject, ...] = ()
    pools: tuple[PoolObject, ...] = ()
    gaps: Mapping[Source, Gap] = field(default_factory=dict)

    def blind(self, *sources: Source) -> tuple[Gap, ...]:
        """Those of the kinds that may have objects which we have not seen."""
        return tuple(gap for each in sources if (gap := self.gaps.get(each)) is not None and gap.is_blind)

    def is_served(self, source: Source) -> bool:
        """Whether the cluster has the kind, as far as we know."""
        gap = self.gaps.get(source)
        return gap is None or gap.is_blind
