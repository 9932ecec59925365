"""The rows of the knowledge base as values; each says who says so and how sure we are. Questions are in knowledge.py.

A row holds what its document states, in the document's own terms: a supported set is a range or a list, an end of life
is a day, and what a document does not say is None.

Tests: tests/core/compat/test_facts.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date

from seatrial.core.base.values import dataclass, field
from seatrial.core.compat.findings import Confidence
from seatrial.core.compat.matrix import Component
from seatrial.core.compat.ranges import VersionRange
from seatrial.core.compat.versions import (
    CudaVersion,
    DraDriverVersion,
    DriverVersion,
    FirmwareVersion,
    KernelVersion,
    KubernetesVersion,
    Line,
    LinedVersion,
    OfedVersion,
    OpenShiftVersion,
    OperatorVersion,
    PartVersion,
    SystemVersion,
    Version,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cite:
    """Who says so, and how sure we are that they do."""

    source: str
    confidence: Confidence
    origin: str = ""
    """The user's file or bundle that has it; empty for what we ship."""


_DOUBT = {Confidence.VERIFIED: 0, Confidence.SECONDARY: 1, Confidence.MEMORY: 2}


def weakest(cites: Iterable[Cite]) -> Confidence:
    """The confidence of a conclusion that needs all of these."""
    return max((cite.confidence for cite in cites), key=_DOUBT.__getitem__, default=Confidence.VERIFIED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """The release lines a document supports: a range, or a list where the document has holes."""

    range: VersionRange | None = None
    listed: tuple[Line, ...] = ()

    def contains(self, version: LinedVersion) -> bool:
        """Whether the version's line is among them."""
        return Line.of(version) in self.listed if self.range is None else self.range.contains(version)

    @property
    def newest(self) -> Version | None:
        """The last of them; None where they have no end."""
        return self.range.max if self.range is not None else max(self.listed)

    def is_below(self, version: LinedVersion) -> bool:
        """Whether the version's line is newer than all of them."""
        return self.newest is not None and Line.of(version) > self.newest

    def __str__(self) -> str:
        return ", ".join(map(str, self.listed)) if self.range is None else str(self.range)


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """What one document says a release runs on."""

    cite: Cite
    openshift: Lines | None = None
    kubernetes: Lines | None = None
    kubernetes_by_platform: Mapping[str, Lines] = field(default_factory=dict)
    """Where the document differs by system or cloud, their own ranges."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuOperatorRelease:
    """One release of the GPU Operator: what it ships, and where documents, catalogue and tests say it runs."""

    version: OperatorVersion
    cite: Cite
    released: date | None = None
    driver: DriverVersion | None = None
    """The chart's default: what installs, whatever the documentation calls the default."""
    operands: Mapping[Component, Version]
    driver_manager: str = ""
    """The tag of its driver manager; empty where we do not know it."""
    kernel_module: str = ""
    drivers: Mapping[DriverVersion, Cite]
    """The drivers its documentation lists."""
    documented: Support | None = None
    bundle: Support | None = None
    tested: frozenset[Line] = frozenset()
    """The OpenShift minors on which its end-to-end tests passed."""
    tested_cite: Cite | None = None
    images: Mapping[str, str] = field(default_factory=dict)
    """The digests by which its bundle pins images, by what the bundle calls them: `driver-image`, `dcgm-image`, …"""

    @property
    def line(self) -> str:
        return self.version.line


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkOperatorRelease:
    """One release of the Network Operator: the driver it ships, and where documents and catalogue say it runs."""

    version: OperatorVersion
    cite: Cite
    released: date | None = None
    is_tagged: bool = False
    """Whether it was read from its own Git tag; where tags are missing, the list of its line may have holes."""
    ofeds: tuple[OfedVersion, ...] = ()
    """Its own driver first, then the long-term alternative."""
    documented: Support | None = None
    bundle: Support | None = None
    chart_kubernetes_min: Line | None = None
    gpu_operator_min: Line | None = None

    @property
    def line(self) -> str:
        return self.version.line


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestLine:
    """The newest major of an operator, and the last day on which somebody's page shows that it was the newest."""

    line: Line
    as_of: date
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenShiftRelease:
    """One minor of OpenShift: what it is built on, and until when it is maintained."""

    line: Line
    rhel: Line
    rhel_cite: Cite
    kernel_stream: str
    kernel_dist: str
    kernel_cite: Cite
    kubernetes: Line | None = None
    kubernetes_cite: Cite | None = None
    sriov: Line | None = None
    sriov_cite: Cite | None = None
    maintenance_ends: date | None = None
    extended_ends: date | None = None
    lifecycle_cite: Cite | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesRelease:
    """One minor of Kubernetes and the day its upstream maintenance ends."""

    line: Line
    end_of_life: date
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class BadOpenShift:
    """One z-stream that is known to break something."""

    version: OpenShiftVersion
    breaks: str
    reference: str
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverBranch:
    """One branch of the driver and the day its support ends."""

    branch: int
    kind: str
    end_of_life: date
    is_listed: bool
    """Whether NVIDIA's own table has it; a third party's does not say that NVIDIA still supports it."""
    released: date | None
    """The day of its first release, where somebody says it."""
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class MinKernel:
    """The oldest kernel a driver branch builds on."""

    kernel: Line
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverNeed:
    """The oldest driver something runs with."""

    driver: DriverVersion
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolkit:
    """One CUDA toolkit and the driver it comes with."""

    driver: DriverVersion
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A short text a document states, such as the CUDA level a branch reports."""

    text: str
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """One GPU architecture: which drivers, which CUDA and which kernel modules it takes."""

    name: str
    age: int
    """Its place in the order of architectures, oldest first."""
    open_modules: str
    modules_cite: Cite
    first_branch: int | None
    first_branch_cite: Cite
    last_branch: int | None
    first_cuda: Mapping[str, CudaVersion]
    """The first toolkit that makes code for it, by compute capability."""
    last_cuda_major: int | None
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuProduct:
    """One GPU product and the architecture it is of."""

    name: str
    arch: str
    compute: str
    """Its compute capability; empty where its page does not say which of the architecture's it has."""
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """What one GPU product needs of the driver."""

    name: str
    min_driver: DriverVersion | None
    is_documented: bool
    """Whether a document states the minimum; else it is the first driver whose notes name the product."""
    needs_open_modules: bool
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class FirmwarePair:
    """A network driver and the firmware it was bundled or tested with, by NIC family."""

    ofed: OfedVersion
    firmware: Mapping[str, FirmwareVersion]
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class RhelSupport:
    """The minors of RHEL that a release of the Network Operator added to its driver container."""

    since: OperatorVersion
    minors: tuple[Line, ...]
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatedKernel:
    """The newest kernel on which the driver container of a Network Operator line was validated."""

    operator_line: str
    kernel: KernelVersion
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSeen:
    """A kernel stream on which somebody saw a driver branch work."""

    branch: int
    kernel: str
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class Precompiled:
    """Kernels for which a line of the GPU Operator was validated with precompiled drivers."""

    operator_line: str
    system: str
    kernel: Line
    flavours: frozenset[str]
    branches: frozenset[int]
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeRange:
    """The containerd releases with which a line of the GPU Operator was validated."""

    operator_line: str
    lines: Lines
    note: str
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeSystems:
    """The systems on which a line of an operator was validated with each container runtime."""

    operator: Component
    line: str
    systems: Mapping[Component, tuple[SystemVersion, ...]]
    """By runtime; a system with a major alone stands for all its minors."""
    refused: Mapping[Component, tuple[SystemVersion, ...]]
    """By runtime, the systems for which the document says No."""
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemList:
    """The operating systems that the documents of a line of an operator list."""

    operator: Component
    line: str
    listed: tuple[SystemVersion, ...]
    by_partner: tuple[SystemVersion, ...]
    """Validated and supported by a partner, with driver images of his own."""
    google_installs: frozenset[str]
    """Systems on which Google's installer brings the driver, on GKE."""
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedSystem:
    """An operating system that an operator is said not to support, from one of its lines on."""

    operator: Component
    system: SystemVersion
    since: Line
    cpu: str = ""
    """The CPU architecture for which there is nothing; empty where the system is refused altogether."""
    said: str
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class OldestKernel:
    """The oldest kernel that an operating system has."""

    system: SystemVersion
    kernel: Line
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerKernels:
    """The kernels of one system that the driver containers of a line of the GPU Operator support."""

    operator_line: str
    system: SystemVersion
    kernels: tuple[Line, ...]
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class OldestPart:
    """The oldest version of a part that something needs or works with."""

    version: PartVersion
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class VgpuRelease:
    """One release of vGPU and its Linux guest driver."""

    version: PartVersion
    guest: DriverVersion
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsupported:
    """A NIC family that the network driver of one release train does not support."""

    family: str
    train: str
    only_in: str
    """The packaging of the driver that is meant, where another of the same number does support it."""
    said: str
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedDra:
    """What the DRA driver needs where the GPU Operator manages it."""

    operator: OperatorVersion
    kubernetes: KubernetesVersion
    branch: int
    cite: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class DraChart:
    """What a DRA driver with a chart of its own needs, and the line of the GPU Operator whose documents say so."""

    version: DraDriverVersion
    operator_line: str
    kubernetes: KubernetesVersion
    branch: int
    cite: Cite
