"""Parts beside the operators: DRA driver, Fabric Manager, GPUDirect Storage, vGPU.

Tests: tests/core/compat/test_rules_parts.py, and test_rules_verdicts.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from seatrial.core.compat.facts import Cite, DraChart, VgpuRelease
from seatrial.core.compat.matrix import Component
from seatrial.core.compat.rules.architectures import UNSUPPORTED, architecture_of, hardware_span
from seatrial.core.compat.rules.cases import Answer, Case, Rule, fail, nothing_known, ok, unknown, warn
from seatrial.core.compat.rules.distributions import GKE, distribution_of
from seatrial.core.compat.versions import DriverVersion, OperatorVersion, PartVersion

# ── dra-driver ────────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_dra_driver(case: Case) -> Iterator[Answer]:
    """Is there all that the DRA driver needs?"""
    driver, managed = case.dra_driver, case.facts.managed_dra
    if driver is None:
        return
    chart = case.facts.dra_charts.get(driver)
    row = managed if driver.is_managed else chart
    if row is None:
        newest = str(max(case.facts.dra_charts, default="", key=lambda each: each.rank if each else ()))
        what = f"what a DRA driver with a chart of its own ({driver}) needs"
        yield nothing_known(what, newest, case.facts, case.spans(Component.DRA_DRIVER))
        return
    yield from case.unreadable(Component.GPU_OPERATOR, Component.KUBERNETES, Component.GPU_DRIVER)
    who = f"DRA driver {driver}" if row is chart else "A managed DRA driver (GPUCluster)"
    operator, kubernetes, branch = case.gpu_operator, case.kubernetes, case.driver.branch if case.driver else None
    if managed is not None and row is managed:
        is_new = None if operator is None else operator >= managed.operator
        yield _needed(case, who, Component.GPU_OPERATOR, f"GPU Operator {managed.operator}", row.cite, is_new)
    elif chart is not None and operator is not None:
        yield _documented(case, chart, operator)
    is_new = None if kubernetes is None else kubernetes >= row.kubernetes
    yield _needed(case, who, Component.KUBERNETES, f"Kubernetes {row.kubernetes}", row.cite, is_new)
    is_new = None if branch is None else branch >= row.branch
    yield _needed(case, who, Component.GPU_DRIVER, f"driver branch {row.branch}", row.cite, is_new)
    if row is managed:
        yield from _beside_gpucluster(case, who)


def _beside_gpucluster(case: Case, who: str) -> Iterator[Answer]:
    """What a cluster with GPUCluster cannot have, and where no page says how to install one."""
    plugin, cite = case.stack[Component.DEVICE_PLUGIN], case.facts.cite("dra_driver.not_both")
    if plugin is not None:
        yield fail(
            f"{who} and device_plugin {plugin.text} cannot be in one cluster: the device plugin is ClusterPolicy's, "
            "and a cluster has either that or GPUCluster.",
            "Leave one of the two out.",
            cite,
            spans=case.spans(Component.DRA_DRIVER, Component.DEVICE_PLUGIN),
        )
    if distribution_of(case.kubernetes) == GKE:
        yield unknown(
            f"{who} on GKE: NVIDIA describes no installation of it there, since GPUCluster does not offer what the "
            "chart on GKE used.",
            "Take the chart of its own, or rehearse it on another cluster.",
            case.facts.cite("dra_driver.gke"),
            spans=case.spans(Component.DRA_DRIVER, Component.KUBERNETES),
        )


def _documented(case: Case, chart: DraChart, operator: OperatorVersion) -> Answer:
    if operator.line == chart.operator_line:
        return ok(f"GPU Operator {operator.line} documents DRA driver {chart.version}.", chart.cite)
    return unknown(
        f"DRA driver {chart.version} is documented with GPU Operator {chart.operator_line}, and nobody says whether it "
        f"goes with {operator}.",
        f"Take GPU Operator {chart.operator_line}, or the DRA driver that the documents of {operator.line} name.",
        chart.cite,
        spans=case.spans(Component.DRA_DRIVER, Component.GPU_OPERATOR),
    )


def _needed(case: Case, who: str, part: Component, needed: str, cite: Cite, is_new: bool | None) -> Answer:
    value, spans = case.stack[part], case.spans(Component.DRA_DRIVER, part)
    if is_new is None:
        return unknown(
            f"{who} needs {needed}, and the matrix does not say it.", f"Write {part.value}.", cite, spans=spans
        )
    found = value.text if value is not None else ""
    if is_new:
        return ok(f"{who} needs {needed} or newer, and {part.value} is {found}.", cite)
    return fail(f"{who} needs {needed} or newer, found {found}.", f"Upgrade {part.value} first.", cite, spans=spans)


DRA_DRIVER: Final = Rule(
    id="dra-driver",
    title="The DRA driver has what it needs",
    meaning="""\
`dra_driver: managed` means that a GPUCluster of the GPU Operator deploys it: that needs v26.7.0, Kubernetes 1.34.2 and
driver branch 580; less fails. A chart of its own has needs of its own: of 0.4.1 the documents of GPU Operator 26.3 say
Kubernetes 1.34.2 and driver branch 580. With another line of the operator, and for a chart that no document read here
names, it is unknown. A managed one and a device plugin exclude each other and fail; on GKE no page says how a managed
one is installed, which is unknown.""",
    inputs=(
        Component.DRA_DRIVER,
        Component.GPU_OPERATOR,
        Component.KUBERNETES,
        Component.GPU_DRIVER,
        Component.DEVICE_PLUGIN,
    ),
    needs=(Component.DRA_DRIVER,),
    sources=("dra_driver.managed", "dra_driver.chart", "dra_driver.not_both", "dra_driver.gke"),
    judge=judge_dra_driver,
)


# ── fabric-manager ────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_fabric_manager(case: Case) -> Iterator[Answer]:
    """Is Fabric Manager of the driver's own version?"""
    manager, driver, cite = case.fabric_manager, case.driver, case.facts.cite("fabric_manager.equals_driver")
    if manager is None or driver is None:
        return
    if manager == driver:
        yield ok(f"Fabric Manager {manager} is of the driver's version.", cite)
    else:
        yield fail(
            f"Fabric Manager {manager} has to be of the driver's version, {driver}.",
            f"Take Fabric Manager {driver}.",
            cite,
            spans=case.spans(Component.FABRIC_MANAGER, Component.GPU_DRIVER),
        )


FABRIC_MANAGER: Final = Rule(
    id="fabric-manager",
    title="Fabric Manager is of the driver's version",
    meaning="""\
On NVSwitch systems Fabric Manager and the driver are of one version, by NVIDIA's own packages; the same branch is not
enough, so a difference fails. It is never unknown.""",
    inputs=(Component.FABRIC_MANAGER, Component.GPU_DRIVER),
    needs=(Component.FABRIC_MANAGER, Component.GPU_DRIVER),
    sources=("fabric_manager.equals_driver",),
    judge=judge_fabric_manager,
)


# ── gds-modules ───────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_gds_modules(case: Case) -> Iterator[Answer]:
    """Does GPUDirect Storage find the kernel modules it needs?"""
    value, need, module = case.stack[Component.GDS], case.facts.gds_open, case.module
    if value is None or need is None or not isinstance(value.version, PartVersion):
        return
    spans, name = case.spans(Component.GDS), f"GPUDirect Storage {value.text}"
    auto, arch = case.facts.auto_modules, architecture_of(case)
    if value.version < need.version:
        yield ok(f"{name} takes either kernel modules; from {need.version} on it needs the open ones.", need.cite)
    elif module == "open" and not (arch is not None and arch.open_modules == UNSUPPORTED):
        yield ok(f"{name} needs the open kernel modules, and they are.", need.cite)
    elif module == "proprietary" or (arch is not None and arch.open_modules == UNSUPPORTED):
        whose = (
            "they are proprietary" if module == "proprietary" or arch is None else f"{arch.name} GPUs cannot use them"
        )
        yield fail(
            f"{name} needs the open kernel modules, and {whose}.",
            "Take the open modules (driver.kernelModuleType), where the GPUs can: not before Turing.",
            need.cite,
            spans=spans,
        )
    elif module == "auto" and case.driver is not None and auto is not None and case.driver >= auto.driver:
        yield ok(
            f"{name} needs the open kernel modules, and driver {case.driver} uses them automatically (auto) on "
            "every GPU "
            "that can.",
            need.cite,
            auto.cite,
        )
    else:
        yield unknown(
            f"{name} needs the open kernel modules, and the matrix does not say which there are.",
            "Write hardware.kernel_module.",
            need.cite,
            spans=spans,
        )


GDS_MODULES: Final = Rule(
    id="gds-modules",
    title="GPUDirect Storage has the open kernel modules",
    meaning="""\
From 2.17.5 on, the driver of GPUDirect Storage (nvidia-fs) needs the open kernel modules of the GPU driver: with
proprietary ones it fails. Where nobody says which they are, the operator's default counts, and without one it is
unknown.""",
    inputs=(Component.GDS, Component.GPU_DRIVER, Component.GPU_OPERATOR),
    needs=(Component.GDS,),
    is_by_pool=True,
    sources=("gpudirect_rdma.gds_needs_open", "driver.module_type_auto"),
    judge=judge_gds_modules,
)


# ── gpuop-vgpu ────────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_gpuop_vgpu(case: Case) -> Iterator[Answer]:
    """Is vGPU new enough for the GPU Operator, on GPUs that it supports, with its own guest driver?"""
    value, need = case.stack[Component.VGPU], case.facts.oldest_vgpu
    if value is None or need is None or not isinstance(value.version, PartVersion):
        return
    if value.version >= need.version:
        yield ok(
            f"GPU Operator {case.gpu_operator} is supported with vGPU {need.version} or newer, and {value.text} is.",
            need.cite,
        )
    else:
        yield fail(
            f"The GPU Operator is supported with vGPU {need.version} or newer, found {value.text}.",
            f"Take vGPU {need.version} or newer.",
            need.cite,
            spans=case.spans(Component.VGPU, Component.GPU_OPERATOR),
        )
    yield from _vgpu_arch(case)
    release = case.facts.vgpus.get(value.version)
    if release is not None and case.driver is not None:
        yield _guest(case, release, case.driver)


def _vgpu_arch(case: Case) -> Iterator[Answer]:
    need, arch = case.facts.vgpu_arch, architecture_of(case)
    least = case.facts.architecture(need.text) if need is not None else None
    if need is None or least is None or arch is None:
        return
    if arch.age >= least.age:
        yield ok(f"The GPU Operator supports vGPU on {least.name} and newer, and this is {arch.name}.", need.cite)
    else:
        yield fail(
            f"The GPU Operator does not support vGPU on architectures before {least.name}, found {arch.name}.",
            "Pass the GPUs through, or install the guest driver without the operator.",
            need.cite,
            spans=(*case.spans(Component.VGPU), *hardware_span(case.hardware)),
        )


def _guest(case: Case, release: VgpuRelease, driver: DriverVersion) -> Answer:
    if driver == release.guest:
        return ok(f"Driver {driver} is the Linux guest driver of vGPU {release.version}.", release.cite)
    return warn(
        f"The Linux guest driver of vGPU {release.version} is {release.guest}, found {driver}.",
        f"Take {release.guest}; or accept the rule where vgpu is that of the host, and the guest is of its branch.",
        release.cite,
        spans=case.spans(Component.VGPU, Component.GPU_DRIVER),
    )


GPUOP_VGPU: Final = Rule(
    id="gpuop-vgpu",
    title="vGPU goes with the GPU Operator, the GPUs and the guest driver",
    meaning="""\
NVIDIA supports the GPU Operator with vGPU 12.0 and newer, and not on architectures before Turing: both fail. Each
release of vGPU has its Linux guest driver; another one warns, since it may be that of a guest whose host is newer.
Which releases of vGPU there are, see `exists`. It is never unknown.""",
    inputs=(Component.VGPU, Component.GPU_OPERATOR, Component.GPU_DRIVER),
    needs=(Component.VGPU, Component.GPU_OPERATOR),
    is_by_pool=True,
    sources=("vgpu.gpu_operator_min", "vgpu.gpu_operator_min_arch", "vgpu.releases"),
    judge=judge_gpuop_vgpu,
)
