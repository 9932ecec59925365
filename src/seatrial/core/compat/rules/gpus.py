"""The driver of the GPUs, and what workloads bring along: CUDA, NCCL, DCGM, GPUDirect RDMA.

What follows from the GPUs themselves is in architectures.py.

Tests: tests/core/compat/test_rules_verdicts.py and test_rules_edges.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from seatrial.core.compat.facts import Said, Toolkit
from seatrial.core.compat.matrix import Component
from seatrial.core.compat.rules.architectures import architecture_of, by_default, hardware_span
from seatrial.core.compat.rules.cases import Answer, Case, Rule, fail, nothing_known, ok, unknown, warn
from seatrial.core.compat.rules.systems import covers, named
from seatrial.core.compat.versions import CudaVersion, DriverVersion, Line, SystemVersion

_CUDA_SUFFIX: Final = re.compile(r"\+cuda(?P<major>[0-9]+)\.")
DMABUF, PEERMEM = "dmabuf", "peermem"
CONSUMER: Final = "geforce"
"""How products are called that are no data-center GPUs, whatever else their names say."""


# ── driver-cuda ───────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_driver_cuda(case: Case) -> Iterator[Answer]:
    """Is the driver new enough for the newest toolkit in use?"""
    driver, cuda = case.driver, case.cuda
    if driver is not None and cuda is not None:
        yield _cuda_on(case, driver, cuda)


def _cuda_on(case: Case, driver: DriverVersion, cuda: CudaVersion) -> Answer:
    row, floor = case.facts.toolkit(_meant(case, cuda)), case.facts.cuda_floors.get(cuda.major)
    spans = case.spans(Component.GPU_DRIVER, Component.CUDA)
    if floor is not None and driver < floor.driver and case.has(Component.CUDA_COMPAT):
        return _forward(case, driver, cuda)
    if floor is not None and driver < floor.driver:
        return fail(
            f"CUDA {cuda} needs driver {floor.driver} or newer, as all of CUDA {cuda.major} does; found {driver}.",
            f"Take a driver of branch {floor.driver.branch} or newer, or an older toolkit.",
            floor.cite,
            spans=spans,
        )
    if row is None:
        return nothing_known(f"the driver of CUDA {cuda}", str(max(case.facts.toolkits, default="")), case.facts, spans)
    if driver >= row.driver:
        return ok(f"CUDA {cuda} comes with driver {row.driver}, and {driver} is not older.", row.cite)
    if floor is None:
        return unknown(
            f"CUDA {cuda} comes with driver {row.driver}, and no fact says whether {driver} is enough.",
            f"Take driver {row.driver} or newer.",
            row.cite,
            spans=spans,
        )
    reported = case.facts.cuda_reported.get(driver.branch)
    level = f" Branch {driver.branch} reports CUDA {reported.text}." if reported else ""
    return warn(
        f"CUDA {cuda} comes with driver {row.driver}; on {driver} it runs by minor-version compatibility only, without "
        "JIT "
        f"of newer PTX.{level}",
        f"Take driver {row.driver} or newer, or accept the rule if no workload compiles PTX at run time.",
        row.cite,
        floor.cite,
        spans=spans,
    )


def _meant(case: Case, cuda: CudaVersion) -> CudaVersion:
    """Two fields mean the first release of a minor, which is not always numbered 0."""
    return case.facts.toolkits_first.get(cuda.line, cuda) if str(cuda) == cuda.line else cuda


def _forward(case: Case, driver: DriverVersion, cuda: CudaVersion) -> Answer:
    """Below the floor of its major, with the compat package declared."""
    compat, cite = case.cuda_compat, case.facts.cite("cuda.forward_package")
    spans = case.spans(Component.GPU_DRIVER, Component.CUDA, Component.CUDA_COMPAT)
    if compat is None or (compat.major, compat.minor) < (cuda.major, cuda.minor):
        return fail(
            f"CUDA {cuda} on driver {driver} needs the package cuda-compat-{cuda.major}-{cuda.minor}, found {compat}.",
            f"Take cuda-compat-{cuda.major}-{cuda.minor} into the images, or a newer driver.",
            cite,
            spans=spans,
        )
    consumer = [pool.product for pool in case.hardware.pools if CONSUMER in pool.product.casefold()]
    if consumer:
        return fail(
            f"CUDA {cuda} on driver {driver} needs forward compatibility, which is for data-center GPUs and some RTX "
            f"cards of servers, and not for {consumer[0]}.",
            "Take a driver of CUDA's own major.",
            cite,
            spans=(*spans, *hardware_span(case.hardware)),
        )
    return warn(
        f"CUDA {cuda} runs on driver {driver} by forward compatibility (cuda-compat {compat}): on data-center GPUs "
        "only, and only where the image carries the package.",
        "Take a driver of CUDA's own major, or accept the rule with a reason.",
        cite,
        spans=spans,
    )


DRIVER_CUDA: Final = Rule(
    id="driver-cuda",
    title="The driver runs the CUDA toolkit of the workloads",
    meaning="""\
`cuda` is the newest toolkit in workload images, not the level a driver reports (R565 reports 12.7, a toolkit that
does not exist). A driver at least as new as the toolkit's own is ok. Older but above the floor of the CUDA major
works with limits (minor-version compatibility) and warns. Below the floor fails, unless cuda_compat says that images
carry the forward-compatibility package of this CUDA: then it warns, and fails on GeForce, for which the package is not.
A newer driver never breaks an older toolkit.""",
    inputs=(Component.GPU_DRIVER, Component.CUDA, Component.CUDA_COMPAT),
    needs=(Component.GPU_DRIVER, Component.CUDA),
    sources=(
        "cuda.toolkit",
        "cuda.toolkit_newer",
        "cuda.toolkit_older",
        "cuda.minor_version_floor",
        "cuda.forward_package",
        "driver.cuda_reported_by_branch",
    ),
    judge=judge_driver_cuda,
)


# ── rdma ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_rdma(case: Case) -> Iterator[Answer]:
    """Is there all that GPUDirect RDMA needs?"""
    if case.hardware.rdma == PEERMEM:
        yield from _peermem(case)
    elif case.hardware.rdma == DMABUF:
        yield _dmabuf_kernel(case)
        yield _dmabuf_modules(case)
        yield _dmabuf_cuda(case)
        yield _dmabuf_arch(case)
    else:
        yield fail(
            f"hardware.rdma is {case.hardware.rdma!r}, and only {DMABUF} and {PEERMEM} exist.",
            f"Write {DMABUF} or {PEERMEM}.",
            spans=hardware_span(case.hardware),
        )


def _peermem(case: Case) -> Iterator[Answer]:
    cite = case.facts.cite("gpudirect_rdma.peermem")
    yield from case.unreadable(Component.MOFED)
    if case.ofed is not None:
        yield ok(f"nvidia-peermem needs MOFED, and it is {case.ofed}.", cite)
    elif not case.has(Component.MOFED):
        yield fail(
            "nvidia-peermem needs MOFED, and this stack has none.",
            f"Add mofed, or use {DMABUF}.",
            cite,
            spans=hardware_span(case.hardware),
        )


def _dmabuf_kernel(case: Case) -> Answer:
    need, platform = case.facts.dmabuf.get("kernel"), case.openshift_release
    unreadable = case.unreadable(Component.KERNEL)
    if unreadable:
        return unreadable[0]
    line = Line.of(case.kernel) if case.kernel else _upstream(platform.kernel_stream) if platform else None
    if need is not None and line is None and case.system is not None:
        return _dmabuf_system(case, need, case.system)
    if need is None or line is None:
        return _unsaid(case, "the kernel", "Write kernel.")
    if line >= Line.parse(need.text):
        of = f", that of OpenShift {platform.line}" if case.kernel is None and platform is not None else ""
        return ok(f"DMA-BUF needs kernel {need.text} or newer, and this is {line}{of}.", need.cite)
    return fail(
        f"DMA-BUF needs kernel {need.text} or newer, found {line}.",
        f"Use {PEERMEM}, or a newer kernel.",
        need.cite,
        spans=case.spans(Component.KERNEL, Component.OPENSHIFT),
    )


def _dmabuf_system(case: Case, need: Said, system: SystemVersion) -> Answer:
    """Without a kernel, the oldest one of the system is enough where it is new enough, and never too old."""
    row = next((each for each in case.facts.oldest_kernels if covers(each.system, system)), None)
    if row is None or row.kernel < Line.parse(need.text):
        return _unsaid(case, "the kernel", "Write kernel.")
    return ok(
        f"DMA-BUF needs kernel {need.text} or newer, and the oldest of {named(system)} (os {system}) is {row.kernel}.",
        need.cite,
        row.cite,
    )


def _upstream(stream: str) -> Line:
    return Line.parse(".".join(stream.split(".")[:2]))


def _dmabuf_modules(case: Case) -> Answer:
    cite = case.facts.cite("gpudirect_rdma.dma_buf")
    if case.module in ("open", "auto"):
        return ok(f"DMA-BUF needs the open kernel modules, and kernel_module is {case.module}.", cite)
    if case.module == "proprietary":
        return fail(
            f"DMA-BUF needs the open kernel modules, and these are proprietary{by_default(case)}.",
            "Write kernel_module: open.",
            cite,
            spans=hardware_span(case.hardware),
        )
    return _unsaid(case, "the kind of kernel modules", "Write hardware.kernel_module.")


def _dmabuf_cuda(case: Case) -> Answer:
    need = case.facts.dmabuf.get("cuda")
    unreadable = case.unreadable(Component.CUDA)
    if unreadable:
        return unreadable[0]
    if need is not None and not case.has(Component.CUDA) and case.driver is not None:
        row = _first_toolkit(case, CudaVersion.parse(need.text))
        if row is not None and case.driver >= row.driver:
            return ok(
                f"DMA-BUF needs CUDA {need.text} or newer, which images bring: driver {case.driver} runs such.",
                need.cite,
                row.cite,
            )
    if need is None or case.cuda is None:
        return _unsaid(case, "the CUDA toolkit", "Write cuda.")
    if case.cuda >= CudaVersion.parse(need.text):
        return ok(f"DMA-BUF needs CUDA {need.text} or newer, and this is {case.cuda}.", need.cite)
    return fail(
        f"DMA-BUF needs CUDA {need.text} or newer, found {case.cuda}.",
        "Take a newer toolkit.",
        need.cite,
        spans=case.spans(Component.CUDA),
    )


def _first_toolkit(case: Case, least: CudaVersion) -> Toolkit | None:
    """The oldest toolkit known that is new enough; a driver that is as new as its own runs it."""
    known = [version for version in case.facts.toolkits if version >= least]
    return case.facts.toolkits[min(known)] if known else None


def _dmabuf_arch(case: Case) -> Answer:
    need = case.facts.dmabuf.get("arch")
    least = case.facts.architecture(need.text) if need else None
    arch = architecture_of(case)
    if need is None or least is None or arch is None:
        return _unsaid(case, "the GPU architecture", "Write hardware.product, or hardware.arch.")
    if arch.age >= least.age:
        return ok(f"DMA-BUF needs {least.name} or newer, and this is {arch.name}.", need.cite)
    return fail(
        f"DMA-BUF needs {least.name} or newer, found {arch.name}.",
        f"Use {PEERMEM}.",
        need.cite,
        spans=hardware_span(case.hardware),
    )


def _unsaid(case: Case, what: str, next_step: str) -> Answer:
    return unknown(
        f"DMA-BUF depends on {what}, and the matrix does not say it.",
        next_step,
        case.facts.cite("gpudirect_rdma.dma_buf"),
        spans=hardware_span(case.hardware),
    )


RDMA: Final = Rule(
    id="rdma",
    title="GPUDirect RDMA has what it needs",
    meaning="""\
Needs hardware.rdma. DMA-BUF needs kernel 5.12 or newer, the open kernel modules, CUDA 11.7 and Turing or newer: no
RHEL 9 is too old for it. nvidia-peermem needs MOFED. What the matrix does not say is unknown; but `os` is enough where
the oldest kernel of the system is new enough, and a toolkit that is not written is not asked for where the driver runs
one that is: images bring it.""",
    inputs=(
        Component.KERNEL,
        Component.OS,
        Component.OPENSHIFT,
        Component.CUDA,
        Component.GPU_DRIVER,
        Component.MOFED,
        Component.NETWORK_OPERATOR,
    ),
    applies=lambda case: bool(case.hardware.rdma),
    sources=("gpudirect_rdma.dma_buf", "gpudirect_rdma.peermem", "operating_systems.oldest_kernel", "cuda.toolkit"),
    is_by_pool=True,
    judge=judge_rdma,
)


# ── dcgm-driver, nccl ─────────────────────────────────────────────────────────────────────────────────────────────────


def judge_dcgm_driver(case: Case) -> Iterator[Answer]:
    """Is the driver new enough for DCGM?"""
    driver, least, cite = case.driver, case.facts.dcgm_branch_min, case.facts.cite("dcgm.driver_floor")
    if driver is None:
        return
    if least is None:
        yield nothing_known("the drivers DCGM supports", "", case.facts, case.spans(Component.DCGM))
    elif driver.branch >= least:
        value = case.stack[Component.DCGM]
        yield ok(
            f"DCGM {value.text if value else ''} needs driver branch {least} or newer, as every DCGM does, and this is "
            f"{driver}.",
            cite,
        )
    else:
        yield fail(
            f"DCGM needs driver branch {least} or newer, found {driver}.",
            f"Take branch {least} or newer.",
            cite,
            spans=case.spans(Component.GPU_DRIVER),
        )


DCGM_DRIVER: Final = Rule(
    id="dcgm-driver",
    title="DCGM supports the driver",
    meaning="""\
DCGM needs driver branch 450 or newer, which today every driver is. It is never unknown: a driver that can be read has
a branch.""",
    inputs=(Component.DCGM, Component.GPU_DRIVER),
    needs=(Component.DCGM, Component.GPU_DRIVER),
    sources=("dcgm.driver_floor",),
    judge=judge_dcgm_driver,
)


def judge_nccl(case: Case) -> Iterator[Answer]:
    """Does this NCCL exist, and is it built for the CUDA in use?"""
    nccl = case.nccl
    if nccl is None:
        return
    known, spans = case.facts.tags.get(Component.NCCL, {}), case.spans(Component.NCCL, Component.CUDA)
    cite = known.get(nccl)
    if cite is None:
        newest = str(max(known, key=lambda each: each.rank, default=""))
        yield nothing_known(f"NCCL {nccl}", newest, case.facts, case.spans(Component.NCCL))
    else:
        yield ok(f"NCCL {nccl} exists.", cite)
    built = _CUDA_SUFFIX.search(nccl.text)
    if built is not None and case.cuda is not None and int(built["major"]) != case.cuda.major:
        yield fail(
            f"NCCL {nccl} is built for CUDA {built['major']}, and workloads use CUDA {case.cuda}.",
            f"Take the build for CUDA {case.cuda.major}.",
            case.facts.cite("nccl.packaging"),
            spans=spans,
        )


NCCL: Final = Rule(
    id="nccl",
    title="NCCL exists and is built for this CUDA",
    meaning="""\
NCCL lives in workload images and is packaged per CUDA major. The version must exist; where it is written with its
build (2.22.3+cuda12.6), the CUDA major must be that of the workloads. That packages are per major is a second-hand
fact, so a mismatch warns and never fails.""",
    inputs=(Component.NCCL, Component.CUDA),
    needs=(Component.NCCL,),
    sources=("existing_tags.nccl", "nccl.packaging"),
    judge=judge_nccl,
)
