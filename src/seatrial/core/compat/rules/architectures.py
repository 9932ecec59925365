"""What follows from the GPUs: which drivers, which kernel modules and which CUDA they take.

The architecture follows from the product (a B200 is Blackwell), so nobody has to write it, and one that contradicts its
product fails. What is below the first CUDA of a GPU runs only where images carry PTX; above the last one, nothing runs.

Tests: tests/core/compat/test_rules_architectures.py, and test_rules_verdicts.py and test_rules_edges.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from seatrial.core.compat.facts import Architecture, GpuProduct, Product
from seatrial.core.compat.matrix import NOWHERE, Component, Hardware, Span
from seatrial.core.compat.rules.cases import Answer, Case, Rule, fail, nothing_known, ok, unknown, warn
from seatrial.core.compat.versions import CudaVersion, DriverVersion

REQUIRED, UNSUPPORTED = "required", "unsupported"


def hardware_span(hardware: Hardware) -> tuple[Span, ...]:
    """Where the hardware is written."""
    return (hardware.span,) if hardware.span != NOWHERE else ()


def architecture_of(case: Case) -> Architecture | None:
    """The architecture of the GPUs: that of the product, else the one that is written."""
    hardware, product = case.hardware, _product_of(case)
    of_product = case.facts.architecture(product.arch) if product else None
    return of_product or (case.facts.architecture(hardware.arch) if hardware.arch else None)


def _product_of(case: Case) -> GpuProduct | None:
    return case.facts.gpu_product(case.hardware.product) if case.hardware.product else None


def _says_gpus(case: Case) -> bool:
    return bool(case.hardware.arch or case.hardware.product)


def _unnamed(case: Case) -> Iterator[Answer]:
    """What keeps us from knowing the architecture, or contradicts it."""
    hardware, spans, product = case.hardware, hardware_span(case.hardware), _product_of(case)
    written = case.facts.architecture(hardware.arch) if hardware.arch else None
    if hardware.arch and written is None:
        newest = "".join(list(case.facts.architectures)[-1:])
        yield nothing_known(f"GPU architecture {hardware.arch!r}", newest, case.facts, spans)
    elif architecture_of(case) is None:
        yield unknown(
            f"There is no fact about GPU product {hardware.product!r}, and the matrix does not name its architecture.",
            "Write hardware.arch.",
            spans=spans,
        )
    elif written is not None and product is not None and not _is_same(case, written, product):
        yield fail(
            f"{product.name} is {product.arch}, and the matrix says {written.name}.",
            f"Write arch: {product.arch}, or leave it out: it follows from the product.",
            product.cite,
            spans=spans,
        )


def _is_same(case: Case, written: Architecture, product: GpuProduct) -> bool:
    """Grace-Hopper is Hopper too: what counts is the compute capability."""
    own = case.facts.architecture(product.arch)
    return own is None or not written.first_cuda or not set(written.first_cuda).isdisjoint(own.first_cuda)


# ── arch-driver ───────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_arch_driver(case: Case) -> Iterator[Answer]:
    """Do the GPUs take this driver and these kernel modules?"""
    driver = case.driver
    if driver is None:
        return
    yield from _unnamed(case)
    arch = architecture_of(case)
    if arch is not None:
        yield _branch(case, arch, driver)
        yield from _modules(case, arch)
    for product in case.facts.products_named(case.hardware.product) if case.hardware.product else ():
        yield from _minimum(case, product, driver)


def _branch(case: Case, arch: Architecture, driver: DriverVersion) -> Answer:
    spans = (*case.spans(Component.GPU_DRIVER), *hardware_span(case.hardware))
    if arch.first_branch is not None and driver.branch < arch.first_branch:
        return fail(
            f"{arch.name} GPUs need driver branch {arch.first_branch} or newer, found {driver}.",
            f"Take branch {arch.first_branch} or newer.",
            arch.first_branch_cite,
            spans=spans,
        )
    if arch.last_branch is not None and driver.branch > arch.last_branch:
        return fail(
            f"{arch.name} GPUs are dropped after driver branch {arch.last_branch}, found {driver}.",
            f"Stay on branch {arch.last_branch}.",
            arch.cite,
            spans=spans,
        )
    return ok(f"{arch.name} GPUs take driver {driver}.", arch.cite)


def _modules(case: Case, arch: Architecture) -> Iterator[Answer]:
    spans = (*case.spans(Component.GPU_DRIVER), *hardware_span(case.hardware))
    if arch.open_modules == REQUIRED and case.module == "proprietary":
        yield fail(
            f"{arch.name} GPUs need the open kernel modules, and these are proprietary{by_default(case)}.",
            "Write kernel_module: open.",
            arch.modules_cite,
            spans=spans,
        )
    if arch.open_modules == UNSUPPORTED and case.module == "open":
        yield fail(
            f"{arch.name} GPUs do not work with the open kernel modules{by_default(case)}.",
            "Write kernel_module: proprietary.",
            arch.modules_cite,
            spans=spans,
        )


def by_default(case: Case) -> str:
    """Says where the kernel modules come from, where the matrix does not."""
    release = case.gpu_release
    return "" if case.hardware.kernel_module or release is None else f", the default of GPU Operator {release.version}"


def _minimum(case: Case, product: Product, driver: DriverVersion) -> Iterator[Answer]:
    spans = (*case.spans(Component.GPU_DRIVER), *hardware_span(case.hardware))
    if product.needs_open_modules and case.module == "proprietary":
        yield fail(
            f"{product.name} needs the open kernel modules, and these are proprietary{by_default(case)}.",
            "Write kernel_module: open.",
            product.cite,
            spans=spans,
        )
    least = product.min_driver
    if least is None:
        return
    if driver >= least:
        yield ok(f"{product.name} takes driver {driver}: it needs {least} or newer.", product.cite)
    elif product.is_documented:
        yield fail(
            f"{product.name} needs driver {least} or newer, found {driver}.",
            f"Take {least} or newer.",
            product.cite,
            spans=spans,
        )
    elif least == case.facts.oldest_readme:
        # Older lists were not read: the product may well be in them, and its architecture says the rest.
        yield unknown(
            f"No list of products older than that of driver {least} was read, so nothing says whether {driver} "
            f"knows {product.name}.",
            f"Take {least} or newer.",
            product.cite,
            spans=spans,
        )
    elif driver.branch == least.branch:
        yield warn(
            f"{product.name} is first named by driver {least}, and {driver} is a little older.",
            f"Take {least} or newer.",
            product.cite,
            spans=spans,
        )
    else:
        yield fail(
            f"No driver before {least} names {product.name}, found {driver}.",
            f"Take {least} or newer.",
            product.cite,
            spans=spans,
        )


ARCH_DRIVER: Final = Rule(
    id="arch-driver",
    title="The GPUs take this driver and these kernel modules",
    meaning="""\
Needs the hardware block (product or arch, kernel_module); the architecture follows from the product. Each architecture
has a first driver branch, the older ones a last one (Maxwell to Volta end with 580); Maxwell to Volta take the
proprietary kernel modules only, Grace Hopper and Blackwell the open ones only. Products have a documented minimum, or
else the first driver whose list names them: an older branch fails, an older driver of the same branch warns. Where
kernel_module is not written, the operator's default counts.""",
    inputs=(Component.GPU_DRIVER, Component.GPU_OPERATOR),
    needs=(Component.GPU_DRIVER,),
    applies=_says_gpus,
    sources=(
        "gpu_architecture",
        "gpu_products",
        "driver.documented_product_minimums",
        "driver.product_first_listed_in_open_module_readme",
        "driver.product_first_listed_in_release_notes",
    ),
    is_by_pool=True,
    judge=judge_arch_driver,
)


# ── arch-cuda ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_arch_cuda(case: Case) -> Iterator[Answer]:
    """Does this CUDA make code that the GPUs run?"""
    cuda, arch = case.cuda, architecture_of(case)
    if cuda is None:
        return
    yield from _unnamed(case)
    if arch is not None:
        yield _last_cuda(case, arch, cuda) or _first_cuda(case, arch, cuda)


def _last_cuda(case: Case, arch: Architecture, cuda: CudaVersion) -> Answer | None:
    if arch.last_cuda_major is None or cuda.major <= arch.last_cuda_major:
        return None
    return fail(
        f"The last CUDA for {arch.name} GPUs is {arch.last_cuda_major}.x, found {cuda}: later toolkits make no code "
        "for them.",
        f"Stay on CUDA {arch.last_cuda_major}.x for these nodes.",
        arch.cite,
        spans=(*case.spans(Component.CUDA), *hardware_span(case.hardware)),
    )


def _first_cuda(case: Case, arch: Architecture, cuda: CudaVersion) -> Answer:
    spans = (*case.spans(Component.CUDA), *hardware_span(case.hardware))
    product = _product_of(case)
    firsts = arch.first_cuda
    if product is not None and product.compute in firsts:
        firsts = {product.compute: firsts[product.compute]}
    name = f"{product.name} ({arch.name})" if product is not None else f"{arch.name} GPUs"
    if not firsts:
        return nothing_known(f"the CUDA of {arch.name} GPUs", "", case.facts, spans)
    least, most = min(firsts.values()), max(firsts.values())
    if cuda >= most:
        return ok(f"CUDA {cuda} makes code for {name}: the first that does is {most}.", arch.cite)
    if cuda < least:
        return warn(
            f"The first CUDA for {name} is {least}, found {cuda}: images run only where they carry PTX.",
            f"Take images of CUDA {least} or newer, or accept the rule once CUDA_FORCE_PTX_JIT=1 has shown that they "
            "run.",
            arch.cite,
            spans=spans,
        )
    kinds = ", ".join(f"{first} for compute capability {compute}" for compute, first in firsts.items())
    return unknown(
        f"Whether CUDA {cuda} makes code for {name} depends on which they are: {kinds}.",
        "Write hardware.product.",
        arch.cite,
        spans=spans,
    )


ARCH_CUDA: Final = Rule(
    id="arch-cuda",
    title="The CUDA of the workloads makes code for the GPUs",
    meaning="""\
Needs the hardware block (product or arch). Every architecture has a first CUDA toolkit, by compute capability: 12.8 for
Blackwell 10.0 and 12.0, 12.9 for 10.3 (B300, GB300) and 12.1. Images of an older one run only where they carry PTX,
which the driver compiles at run time: a warning. Maxwell, Pascal and Volta have a last one, 12.x: images of a later
one fail there.""",
    inputs=(Component.CUDA,),
    needs=(Component.CUDA,),
    applies=_says_gpus,
    sources=("gpu_architecture", "gpu_products"),
    is_by_pool=True,
    judge=judge_arch_cuda,
)
