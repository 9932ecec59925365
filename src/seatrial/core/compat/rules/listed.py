"""What the GPU Operator's page lists beside platforms: GPUs, CPUs, systems of one part.

What the Network Operator's lists is in network.py.

A list is read as complete: what it leaves out is unknown, never right by default; what a page says no to fails.

Tests: tests/core/compat/test_rules_listed.py, and test_rules_verdicts.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from seatrial.core.compat.facts import RefusedSystem, SystemList
from seatrial.core.compat.matrix import Component
from seatrial.core.compat.rules.architectures import hardware_span
from seatrial.core.compat.rules.cases import Answer, Case, Rule, fail, nothing_known, ok, unknown, warn
from seatrial.core.compat.rules.openshift import no_gpu_release
from seatrial.core.compat.rules.systems import covers, named, system_of
from seatrial.core.compat.versions import Line, SystemVersion
from seatrial.core.text.names import a_few

ARM, X86 = "arm64", "amd64"
CPUS: Final = {"aarch64": ARM, "x86_64": X86}
"""CPU architectures as kernels call them, and as images do."""
_DIST: Final = re.compile(r"el(?P<major>[0-9]+)(?:_[0-9]+)?")

# ── gpuop-gpu ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_gpuop_gpu(case: Case) -> Iterator[Answer]:
    """Do the documents of this line of the GPU Operator list the GPUs?"""
    release, product = case.gpu_release, case.hardware.product
    if release is None:
        yield no_gpu_release(case)
        return
    who, spans = f"GPU Operator {release.version}", (*case.spans(Component.GPU_OPERATOR), *hardware_span(case.hardware))
    embedded = _embedded(case, who)
    if embedded is not None:
        yield embedded
        return
    row = next((each for each in case.facts.operator_products if each.line == release.line), None)
    if row is None:
        newest = "".join([each.line for each in case.facts.operator_products][-1:])
        yield nothing_known(f"the GPUs of GPU Operator {release.line}", newest, case.facts, spans)
    elif case.facts.is_named(product, row.names):
        yield ok(f"{who} lists {product}.", row.cite)
    else:
        yield unknown(
            f"{who} does not list {product} among the GPUs that it supports.",
            "Take a listed GPU, or accept the rule with what was seen.",
            row.cite,
            spans=spans,
        )


def _embedded(case: Case, who: str) -> Answer | None:
    """What is said of products with an integrated GPU; one that may have a discrete one too has to say which."""
    row, product = case.facts.embedded, case.hardware.product
    if row is None or not case.facts.is_named(product, row.names):
        return None
    spans, words = (*case.spans(Component.GPU_OPERATOR), *hardware_span(case.hardware)), product.casefold()
    is_either = case.facts.is_named(product, row.with_discrete)
    if is_either and ("dgpu" in words or "discrete" in words):
        return ok(f"{who} supports {product}: {row.said}.", row.cite)
    if is_either and not ("igpu" in words or "integrated" in words):
        return warn(
            f"{who} supports {product} only where a discrete GPU is the device in use: {row.said}.",
            "Accept the rule where it is.",
            row.cite,
            spans=spans,
        )
    return fail(
        f"{who} does not support {product}: {row.said}.",
        "Leave such nodes out of what the GPU Operator manages; they have drivers of their own.",
        row.cite,
        spans=spans,
    )


GPUOP_GPU: Final = Rule(
    id="gpuop-gpu",
    title="The GPU Operator supports the GPUs",
    meaning="""\
Needs hardware.product. NVIDIA's page lists the GPUs and systems of each line of the GPU Operator: listed is ok, and
what is not listed is unknown. Jetson and other embedded products with an integrated GPU fail, since the page says that
they are not supported; an IGX Orin is, where a discrete GPU is the device in use, and warns where nobody says so.""",
    inputs=(Component.GPU_OPERATOR,),
    needs=(Component.GPU_OPERATOR,),
    applies=lambda case: bool(case.hardware.product),
    is_by_pool=True,
    sources=("gpu_products.gpu_operator", "gpu_products.embedded"),
    judge=judge_gpuop_gpu,
)


# ── gpuop-cpu ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def cpu_of(case: Case) -> str:
    """The CPU architecture of the nodes: of the kernel, else of a product that has its own CPU; empty where neither."""
    kernel, product = case.kernel, case.hardware.product
    if kernel is not None and kernel.arch is not None:
        return CPUS.get(kernel.arch, kernel.arch)
    if kernel is not None and (kernel.flavour or "").endswith("64k"):
        return ARM  # pages of 64k are built for no other
    said = case.facts.cpu_of(product) if product else None
    return said.text if said is not None else ""


def judge_gpuop_cpu(case: Case) -> Iterator[Answer]:
    """Are there driver images of this system for these CPUs?"""
    release, cpu, system = case.gpu_release, cpu_of(case), system_of(case)
    yield from case.unreadable(Component.OS, Component.KERNEL)
    if release is None:
        yield no_gpu_release(case)
        return
    who = f"GPU Operator {release.version}"
    spans = (*case.spans(Component.GPU_OPERATOR, Component.OS, Component.KERNEL), *hardware_span(case.hardware))
    refused = _refused(case, cpu, system, Line.parse(release.line))
    if system is not None and refused is not None:
        yield fail(
            f"{who} has no driver containers for {named(system)} (os {system}) on {cpu}: {refused.said}.",
            "Take a system that has them, such as Ubuntu 24.04.",
            refused.cite,
            spans=spans,
        )
        return
    table = _table(case.facts.systems, release.line)
    if system is not None and table is not None and any(covers(row, system) for row in table.listed):
        yield ok(f"{who} lists {named(system)}, and {cpu} nodes with GPUs on the PCI bus are supported.", table.cite)
        return
    guess = _of_kernel(case)
    told = _refused(case, cpu, guess, Line.parse(release.line)) if guess is not None and system is None else None
    if told is not None:
        yield unknown(
            f"Kernel {case.kernel} is of RHEL or a rebuild of it on {cpu}, and of RHEL {who} says: {told.said}.",
            "Write os.",
            told.cite,
            spans=spans,
        )


def _refused(case: Case, cpu: str, system: SystemVersion | None, line: Line) -> RefusedSystem | None:
    return next(
        (
            row
            for row in case.facts.refused_systems
            if row.operator is Component.GPU_OPERATOR and row.cpu == cpu and line >= row.since
            if system is not None and covers(row.system, system)
        ),
        None,
    )


def _of_kernel(case: Case) -> SystemVersion | None:
    """RHEL of the major that the kernel tells, which may also be a rebuild's."""
    match = _DIST.fullmatch((case.kernel.dist or "") if case.kernel is not None else "")
    return SystemVersion.parse(f"rhel{match['major']}") if match is not None else None


def _table(tables: tuple[SystemList, ...], line: str) -> SystemList | None:
    wanted = (Component.GPU_OPERATOR, line)
    return next((row for row in tables if (row.operator, row.line) == wanted), None)


GPUOP_CPU: Final = Rule(
    id="gpuop-cpu",
    title="There are driver containers for the nodes' CPUs",
    meaning="""\
Asked about Arm only, which a kernel tells (aarch64, 64k) or a product that has a CPU of its own (GH200, GB200, GB300,
DGX Spark). NVIDIA supports Arm on the systems that it lists; but the driver containers of RHEL 9 are for x86 alone,
and that fails. What an unlisted system does, see gpuop-os.""",
    inputs=(Component.GPU_OPERATOR, Component.OS, Component.KERNEL, Component.OPENSHIFT),
    needs=(Component.GPU_OPERATOR,),
    applies=lambda case: cpu_of(case) == ARM,
    is_by_pool=True,
    sources=("operating_systems.not_supported", "operating_systems.gpu_operator", "gpu_products.cpu"),
    judge=judge_gpuop_cpu,
)


# ── gds-os ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_gds_os(case: Case) -> Iterator[Answer]:
    """Is GPUDirect Storage supported on this system?"""
    release, system, value = case.gpu_release, system_of(case), case.stack[Component.GDS]
    yield from case.unreadable(Component.OS)
    if release is None:
        yield no_gpu_release(case)
        return
    if system is None or value is None:
        return
    table, spans = _table(case.facts.storage_systems, release.line), case.spans(Component.GDS, Component.OS)
    if table is None:
        newest = "".join([row.line for row in case.facts.storage_systems][-1:])
        what = f"the systems of GPUDirect Storage under GPU Operator {release.line}"
        yield nothing_known(what, newest, case.facts, spans)
    elif any(covers(row, system) for row in table.listed):
        yield ok(
            f"GPU Operator {release.version} supports GPUDirect Storage ({value.text}) on {named(system)}.", table.cite
        )
    else:
        yield unknown(
            f"GPU Operator {release.version} lists GPUDirect Storage ({value.text}) on "
            f"{a_few([named(row) for row in table.listed], 8)}, and not on {named(system)}.",
            "Take a listed system, or accept the rule with what was seen.",
            table.cite,
            spans=spans,
        )


GDS_OS: Final = Rule(
    id="gds-os",
    title="GPUDirect Storage is supported on the operating system",
    meaning="""\
NVIDIA's page lists the systems on which the GPU Operator supports GPUDirect Storage, fewer than those on which it runs:
listed is ok, any other is unknown. Without `os` or OpenShift it says nothing.""",
    inputs=(Component.GPU_OPERATOR, Component.GDS, Component.OS, Component.OPENSHIFT),
    needs=(Component.GPU_OPERATOR, Component.GDS),
    applies=lambda case: case.has(Component.OS) or case.has(Component.OPENSHIFT),
    sources=("gpudirect_storage.gpu_operator",),
    judge=judge_gds_os,
)
