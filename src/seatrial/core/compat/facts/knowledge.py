"""Facts: the questions rules and plans may ask of the knowledge base. Every answer is a row that carries its Cite.

Absent is not the same everywhere, and Facts says which it is: the lists of operator releases are complete, so a hole in
them is a version that never was; the lists of drivers, toolkits and tags are not, so absence there means nothing known.

Rows are in rows.py, reading them from data is in reading.py. No rule lives here.

Tests: tests/core/compat/test_facts.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date
from enum import StrEnum
from functools import cached_property
from typing import Any, TypeVar

from seatrial.core.compat.facts.known_bad import Issue, Vulnerability
from seatrial.core.compat.facts.listed import (
    AdapterList,
    Distribution,
    Embedded,
    Lives,
    OldestOfed,
    PartRange,
    ProductList,
    RuntimePair,
    ServerSystems,
)
from seatrial.core.compat.facts.rows import (
    Architecture,
    BadOpenShift,
    Cite,
    ContainerKernels,
    DraChart,
    DriverBranch,
    DriverNeed,
    FirmwarePair,
    GpuOperatorRelease,
    GpuProduct,
    KernelSeen,
    KubernetesRelease,
    ManagedDra,
    MinKernel,
    NetworkOperatorRelease,
    NewestLine,
    OldestKernel,
    OldestPart,
    OpenShiftRelease,
    Precompiled,
    Product,
    RefusedSystem,
    RhelSupport,
    RuntimeRange,
    RuntimeSystems,
    Said,
    SystemList,
    Toolkit,
    Unsupported,
    ValidatedKernel,
    VgpuRelease,
)
from seatrial.core.compat.findings import Confidence
from seatrial.core.compat.matrix import Component
from seatrial.core.compat.versions import (
    CudaVersion,
    DraDriverVersion,
    DriverVersion,
    FirmwareVersion,
    KernelVersion,
    Line,
    OfedVersion,
    OpenShiftVersion,
    OperatorVersion,
    PartVersion,
    Version,
)

Release = GpuOperatorRelease | NetworkOperatorRelease
_Row = TypeVar("_Row")


class Existence(StrEnum):
    """What a release list says about a version."""

    RELEASED = "released"
    NEVER = "never released"
    NEWER = "newer than the knowledge base"
    UNLISTED = "not in the knowledge base"


@dataclass(frozen=True, kw_only=True, eq=False)  # one knowledge base is one object: it can be a key, cheaply
class Facts:
    """What is known about versions and about what goes with what."""

    built_on: date
    known_until: date
    """The newest day its sources were read for; the world went on between this day and `built_on`."""
    reads: Mapping[str, date] = field(default_factory=dict)
    """The day up to which each repository was read."""
    own: tuple[str, ...] = ()
    """The user's files and bundles that were laid over, the lowest first."""
    beneath: Facts | None = None
    """What there was before anything was laid over."""
    release_lines: Mapping[Component, tuple[str, ...]] = field(default_factory=dict)
    newest_lines: Mapping[Component, NewestLine] = field(default_factory=dict)
    """What was the newest major of an operator on a day after the repositories were read."""
    gpu_operators: Mapping[OperatorVersion, GpuOperatorRelease] = field(default_factory=dict)
    network_operators: Mapping[OperatorVersion, NetworkOperatorRelease] = field(default_factory=dict)
    openshifts: Mapping[str, OpenShiftRelease] = field(default_factory=dict)
    bad_openshifts: tuple[BadOpenShift, ...] = ()
    kubernetes: Mapping[str, KubernetesRelease] = field(default_factory=dict)
    distributions: tuple[Distribution, ...] = ()
    lives: Lives = field(default_factory=dict)
    """The ends of what has an end of its own: Kubernetes as Amazon and Google build it, and containerd."""
    drivers: Mapping[DriverVersion, Cite] = field(default_factory=dict)
    branches: Mapping[int, DriverBranch] = field(default_factory=dict)
    min_kernels: Mapping[int, MinKernel] = field(default_factory=dict)
    kernels_seen: tuple[KernelSeen, ...] = ()
    precompiled: tuple[Precompiled, ...] = ()
    container_kernels: tuple[ContainerKernels, ...] = ()
    auto_modules: DriverNeed | None = None
    """The first driver whose container understands kernelModuleType: auto."""
    toolkits: Mapping[CudaVersion, Toolkit] = field(default_factory=dict)
    toolkits_numbered: Mapping[CudaVersion, Said] = field(default_factory=dict)
    """Toolkits of which only the number is known, and what it means; the driver they come with is not."""
    toolkits_first: Mapping[str, CudaVersion] = field(default_factory=dict)
    """The number of a minor's first release, where it does not end with 0."""
    toolkits_never: Mapping[str, Cite] = field(default_factory=dict)
    cuda_floors: Mapping[int, DriverNeed] = field(default_factory=dict)
    cuda_reported: Mapping[int, Said] = field(default_factory=dict)
    architectures: Mapping[str, Architecture] = field(default_factory=dict)
    gpu_products: Mapping[str, GpuProduct] = field(default_factory=dict)
    products: tuple[Product, ...] = ()
    operator_products: tuple[ProductList, ...] = ()
    embedded: Embedded | None = None
    product_cpus: Mapping[str, Said] = field(default_factory=dict)
    """The CPU architecture of products that have a CPU of their own."""
    firmware_pairs: tuple[FirmwarePair, ...] = ()
    firmware_trains: Mapping[int, Said] = field(default_factory=dict)
    firmware_windows: Mapping[FirmwareVersion, tuple[FirmwareVersion, ...]] = field(default_factory=dict)
    """The releases that were tested moving from and to, by the release whose page lists them."""
    unsupported_nics: tuple[Unsupported, ...] = ()
    adapters: tuple[AdapterList, ...] = ()
    servers: tuple[ServerSystems, ...] = ()
    oldest_ofed: OldestOfed | None = None
    nfd_ranges: tuple[PartRange, ...] = ()
    """The releases of Node Feature Discovery that lines of the Network Operator work with."""
    rhel_support: tuple[RhelSupport, ...] = ()
    validated_kernels: tuple[ValidatedKernel, ...] = ()
    stale_inventory: Mapping[str, Cite] = field(default_factory=dict)
    """Network Operator lines whose driver container does not start after a kernel change until a folder is removed."""
    dmabuf: Mapping[str, Said] = field(default_factory=dict)
    dcgm_branch_min: int | None = None
    tags: Mapping[Component, Mapping[Version, Cite]] = field(default_factory=dict)
    runtimes: tuple[RuntimeRange, ...] = ()
    runtime_systems: tuple[RuntimeSystems, ...] = ()
    runtime_pairs: Mapping[str, RuntimePair] = field(default_factory=dict)
    last_for_containerd_1: Said | None = None
    """The last minor of Kubernetes that runs on containerd 1.x."""
    storage_systems: tuple[SystemList, ...] = ()
    """The systems for which lines of the GPU Operator support GPUDirect Storage."""
    systems: tuple[SystemList, ...] = ()
    refused_systems: tuple[RefusedSystem, ...] = ()
    oldest_kernels: tuple[OldestKernel, ...] = ()
    gds_open: OldestPart | None = None
    """The first GPUDirect Storage driver that needs the open kernel modules."""
    oldest_vgpu: OldestPart | None = None
    vgpus: Mapping[PartVersion, VgpuRelease] = field(default_factory=dict)
    vgpu_arch: Said | None = None
    """The oldest architecture on which the GPU Operator supports vGPU."""
    managed_dra: ManagedDra | None = None
    dra_charts: Mapping[DraDriverVersion, DraChart] = field(default_factory=dict)
    issues: tuple[Issue, ...] = ()
    vulnerabilities: tuple[Vulnerability, ...] = ()
    cites: Mapping[str, Cite] = field(default_factory=dict)
    """Facts that are only sentences, by their path in the data."""

    # ── operators ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def gpu_operator(self, version: OperatorVersion) -> GpuOperatorRelease | None:
        """The release, where we know it."""
        return self.gpu_operators.get(version)

    def network_operator(self, version: OperatorVersion) -> NetworkOperatorRelease | None:
        """The release, where we know it."""
        return self.network_operators.get(version)

    def operators(self, component: Component) -> Mapping[OperatorVersion, Release]:
        """All known releases of one of the two operators."""
        known: Mapping[Component, Mapping[OperatorVersion, Release]] = {
            Component.GPU_OPERATOR: self.gpu_operators,
            Component.NETWORK_OPERATOR: self.network_operators,
        }
        return known[component]

    def lines_between(self, component: Component, before: str, after: str) -> tuple[str, ...]:
        """The release lines from one to a later one, both included; empty where either never was."""
        lines = self.release_lines.get(component, ())
        if before not in lines or after not in lines:
            return ()
        return lines[lines.index(before) : lines.index(after) + 1]

    def lines_released_by(self, component: Component, on: date) -> tuple[str, ...]:
        """The lines that had a release on a day, oldest first; candidates do not count."""
        out = {
            row.line
            for row in self.operators(component).values()
            if row.released is not None and row.released <= on and row.version.pre_release is None
        }
        return tuple(line for line in self.release_lines.get(component, ()) if line in out)

    def newest_line(self, component: Component) -> NewestLine | None:
        """The newest major that is known, where a page shows that it still was; a newer one takes the word from it."""
        row, lines = self.newest_lines.get(component), self.release_lines.get(component, ())
        return row if row is not None and lines and row.line == Line.parse(lines[-1]) else None

    def existence(self, component: Component, version: OperatorVersion) -> Existence:
        """What the complete list of an operator's releases says about a version.

            oldest ─────── a line long closed ─────── the last two lines ─────── newest
            UNLISTED │ RELEASED, a hole is NEVER │ above a line's last patch: NEWER │ NEWER

        Patches of the last two lines were still being released when the knowledge base was built.
        """
        known = self.operators(component)
        if version in known:
            return Existence.RELEASED
        if not known or version < min(known) or version.pre_release is not None:
            return Existence.UNLISTED
        if version > max(known):
            return Existence.NEWER
        siblings = [row for row in known.values() if row.line == version.line]
        if siblings and version.line in self._open_lines(component) and version > max(row.version for row in siblings):
            return Existence.NEWER
        if any(isinstance(row, NetworkOperatorRelease) and not row.is_tagged for row in siblings):
            return Existence.UNLISTED
        return Existence.NEVER

    def _open_lines(self, component: Component) -> tuple[str, ...]:
        return self.lines_released_by(component, self.known_until)[-2:]

    def gpu_operator_min(self, release: NetworkOperatorRelease) -> tuple[Line, Cite] | None:
        """The oldest GPU Operator line a Network Operator works with.

        Where its own documents say nothing, the newest older release that does speaks for it, as an inference.
        """
        if release.gpu_operator_min is not None and release.documented is not None:
            return release.gpu_operator_min, release.documented.cite
        for row in self._documented_needs:
            if row.version < release.version and row.gpu_operator_min is not None and row.documented is not None:
                source = f"{row.documented.cite.source} (of {row.version}, carried on)"
                origin = row.documented.cite.origin
                return row.gpu_operator_min, Cite(source=source, confidence=Confidence.SECONDARY, origin=origin)
        return None

    @cached_property
    def _documented_needs(self) -> tuple[NetworkOperatorRelease, ...]:
        rows = [row for row in self.network_operators.values() if row.gpu_operator_min is not None]
        return tuple(sorted(rows, key=lambda row: row.version.rank, reverse=True))

    # ── platform ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def openshift(self, version: OpenShiftVersion | Line | str) -> OpenShiftRelease | None:
        """The minor a version belongs to, where we know it."""
        return self.openshifts.get(version if isinstance(version, str) else version.line)

    @cached_property
    def newest_openshift(self) -> str:
        """The newest minor we know; empty where we know none."""
        return max(self.openshifts, key=lambda line: Line.parse(line).rank, default="")

    def bad_openshift(self, version: OpenShiftVersion) -> BadOpenShift | None:
        """What is known to break on exactly this z-stream."""
        return next((row for row in self.bad_openshifts if row.version == version), None)

    def rhel_added(self, minor: Line) -> RhelSupport | None:
        """The Network Operator release that added a RHEL minor to its driver container."""
        return next((row for row in self.rhel_support if minor in row.minors), None)

    def kernel_seen(self, branch: int, kernel: KernelVersion) -> Cite | None:
        """Who documents, or saw, a driver branch on a kernel stream; flavours are builds of their own."""
        key = (branch, kernel.stream, kernel.dist, kernel.flavour)
        if key not in self._seen:
            self._seen[key] = self._look_for(branch, kernel)
        return self._seen[key]

    @cached_property
    def _seen(self) -> dict[tuple[int, str, str | None, str | None], Cite | None]:
        return {}

    def _look_for(self, branch: int, kernel: KernelVersion) -> Cite | None:
        told = [kernel.lineage, kernel.stream] if kernel.flavour is None else [kernel.lineage]
        for row in self.kernels_seen:
            if row.branch == branch and row.kernel in told:
                return row.cite
        for table in self.precompiled:
            if branch in table.branches and kernel.flavour in table.flavours and table.kernel == Line.of(kernel):
                return table.cite
        if kernel.dist is None or kernel.flavour is not None:
            return None
        carriers = [
            row.line
            for row in self.openshifts.values()
            if (row.kernel_stream, row.kernel_dist) == (kernel.stream, kernel.dist)
        ]
        for release in self.gpu_operators.values():
            support = release.documented
            if support is None or support.openshift is None:
                continue
            is_listed = any(driver.branch == branch for driver in release.drivers)
            if is_listed and any(support.openshift.contains(line) for line in carriers):
                return support.cite
        return None

    # ── driver and CUDA ───────────────────────────────────────────────────────────────────────────────────────────────

    def driver(self, version: DriverVersion) -> Cite | None:
        """Who names this driver; None proves nothing, the list is not complete."""
        return self.drivers.get(version)

    def driver_branch(self, branch: int) -> DriverBranch | None:
        """Kind and end of life of a branch."""
        return self.branches.get(branch)

    @cached_property
    def listed_branches(self) -> tuple[DriverBranch, ...]:
        """The branches of NVIDIA's own table, oldest first; one that is older than its last and not there has left."""
        rows = [row for row in self.branches.values() if row.is_listed]
        return tuple(sorted(rows, key=lambda row: row.branch))

    def min_kernel(self, branch: int) -> MinKernel | None:
        """The oldest kernel a branch builds on; nobody publishes an upper bound."""
        return self.min_kernels.get(branch)

    def toolkit(self, version: CudaVersion) -> Toolkit | None:
        """The toolkit with the driver it comes with."""
        return self.toolkits.get(version)

    def architecture(self, name: str) -> Architecture | None:
        """The architecture of that name, however it is spelt (`Ada`, `ada-lovelace`, `Grace Hopper`)."""
        return self._architectures_by_letters.get(_letters(name).removesuffix("lovelace"))

    @cached_property
    def _architectures_by_letters(self) -> Mapping[str, Architecture]:
        return {_letters(key): row for key, row in self.architectures.items()}

    def gpu_product(self, name: str) -> GpuProduct | None:
        """The product of that name, the most exactly named first: an `RTX PRO 6000` is no `RTX 6000`."""
        words = _words(name)
        rows = [row for row in self.gpu_products.values() if _words(row.name) - _BOARDS <= words]
        return max(rows, key=lambda row: len(_words(row.name)), default=None)

    def products_named(self, name: str) -> tuple[Product, ...]:
        """The rows about a product; `NVIDIA-H100-80GB-HBM3` is an H100, and a B200 is found under `HGX B200`.

        A name without an edition is that of the server's card, which is the one that the operator's tables list.
        """
        words = _words(name)
        exact = tuple(row for row in self.products if _words(row.name) - _BOARDS <= words)
        if exact or words & _EDITIONS:
            return exact
        of_servers = [(row, _words(row.name)) for row in self.products]
        return tuple(row for row, named in of_servers if "server" in named and named - _SERVERS - _BOARDS <= words)

    def is_named(self, name: str, among: Iterable[str]) -> bool:
        """Whether a product is one of these; `NVIDIA-A100-SXM4-80GB` is an A100, and an edition of its own is not."""
        words = _words(name)
        return any(
            (listed := _words(each) - _BOARDS) and listed <= words and not (words - listed) & _EDITIONS
            for each in among
        )

    def cpu_of(self, product: str) -> Said | None:
        """The CPU architecture of a product that has a CPU of its own."""
        words = _words(product)
        rows = [(name, row) for name, row in self.product_cpus.items() if _words(name) <= words]
        return max(rows, key=lambda pair: len(pair[0]), default=("", None))[1]

    @cached_property
    def oldest_readme(self) -> DriverVersion | None:
        """The oldest driver whose list of products was read: what it names may be older still."""
        named = [row.min_driver for row in self.products if row.min_driver is not None and not row.is_documented]
        return min(named, default=None)

    # ── network ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def firmware_pair(self, ofed: OfedVersion, family: str) -> FirmwarePair | None:
        """The firmware of a NIC family that was bundled or tested with a network driver."""
        return next((row for row in self.firmware_pairs if row.ofed == ofed and family in row.firmware), None)

    def ofed_named(self, ofed: OfedVersion) -> Cite | None:
        """Who names this network driver; None proves nothing, no list of them is complete."""
        shipped = {each: row.cite for row in self.network_operators.values() for each in row.ofeds}
        paired = {row.ofed: row.cite for row in self.firmware_pairs}
        fixed = {row.fixed_in: row.cite for row in self.vulnerabilities if row.component is Component.MOFED}
        return paired.get(ofed) or shipped.get(ofed) or fixed.get(ofed)

    def firmware_named(self, firmware: FirmwareVersion) -> Cite | None:
        """Who names this firmware; None proves nothing, no list of them is complete."""
        bundled = next((row.cite for row in self.firmware_pairs if firmware in row.firmware.values()), None)
        listed = next((each for each in self.firmware_windows if firmware in self.firmware_windows[each]), None)
        fixed = next((row.cite for row in self.vulnerabilities if row.fixed_in == firmware), None)
        return bundled or fixed or (self.cite("nic_firmware.window") if listed is not None else None)

    # ── all of it ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def cite(self, path: str) -> Cite:
        """Who says a sentence of the knowledge base; an unknown path is nobody's word."""
        return self.cites.get(path) or Cite(source=path, confidence=Confidence.MEMORY)

    def under(self, extra: Facts) -> Facts:
        """These facts with others laid over them; every row keeps its own source, and theirs wins.

        Knowledge reaches no further with them, unless they have read anew everything that was read for these: what is
        newest of one operator says nothing about the other.
        """
        changed = {
            name: _laid(getattr(self, name), getattr(extra, name))
            for name in (each.name for each in fields(self))
            if name not in ("built_on", "known_until", "own", "beneath")
        }
        changed["architectures"] = {**self.architectures, **self._aged(extra.architectures)}
        changed["reads"] = {**extra.reads, **{name: self._last_read(name, extra) for name in self.reads}}
        if self.reads and all(extra.reads.get(name, date.min) >= day for name, day in self.reads.items()):
            changed["built_on"] = max(self.built_on, extra.built_on)
            changed["known_until"] = max(self.known_until, extra.known_until)
        return replace(self, **changed, own=(*self.own, *extra.own), beneath=self.beneath or self)

    def _last_read(self, name: str, extra: Facts) -> date:
        return max(self.reads[name], extra.reads.get(name, date.min))

    def _aged(self, added: Mapping[str, Architecture]) -> Mapping[str, Architecture]:
        """Architectures somebody added are the newest ones."""
        known, newest = self.architectures, len(self.architectures)
        return {
            name: replace(row, age=known[name].age if name in known else newest + row.age)
            for name, row in added.items()
        }


_BOARDS = frozenset({"hgx", "dgx", "nvidia"})
_EDITIONS = frozenset({"workstation", "laptop", "mobile"})
"""Words that make another product of a name, where a list does not have them."""
_SERVERS = frozenset({"blackwell", "server", "edition"})
"""Words that are left out where the server's card is meant."""


def _words(text: str) -> frozenset[str]:
    return frozenset("".join(letter if letter.isalnum() else " " for letter in text.casefold()).split())


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _laid(old: Any, new: Any) -> Any:
    """Rows of `new` first or instead; a row known to both keeps what the new one does not say."""
    if isinstance(old, Mapping):
        return {**old, **{key: _merged(old.get(key), row) for key, row in new.items()}}
    if isinstance(old, tuple):
        return (*new, *old)
    return old if new is None else new


def _merged(old: Any, new: Any) -> Any:
    if isinstance(new, Mapping):
        return {**(old or {}), **new}
    if isinstance(old, GpuOperatorRelease | NetworkOperatorRelease) and type(old) is type(new):
        said = {each.name: getattr(new, each.name) for each in fields(new) if getattr(new, each.name)}
        if isinstance(old, GpuOperatorRelease) and isinstance(new, GpuOperatorRelease):
            said["drivers"] = {**old.drivers, **new.drivers}
            said["operands"] = {**old.operands, **new.operands}
        return replace(old, **said)
    return _longer(old, new) if isinstance(new, tuple) else new


def _longer(old: Iterable[str] | None, new: tuple[str, ...]) -> tuple[str, ...]:
    """A release line list with lines added in their order."""
    return tuple(sorted({*(old or ()), *new}, key=lambda line: Line.parse(line).rank))
