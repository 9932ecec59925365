"""From data to facts: drivers, CUDA, GPUs, network firmware, and the tags that exist.

Law of this file: NVIDIA's own word wins over a third party's. Tests: tests/core/compat/test_facts.py
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from typing import Final

from seatrial.core.compat.facts.knowledge import Facts
from seatrial.core.compat.facts.rows import (
    Architecture,
    Cite,
    ContainerKernels,
    DriverBranch,
    DriverNeed,
    FirmwarePair,
    GpuProduct,
    KernelSeen,
    MinKernel,
    OldestPart,
    Precompiled,
    Product,
    Said,
    Toolkit,
    Unsupported,
)
from seatrial.core.compat.facts.sections import reads
from seatrial.core.compat.facts.spots import Spot, day_at, entries_of, evidence_of, parsed, rows_of, text_at
from seatrial.core.compat.matrix import Component
from seatrial.core.compat.versions import (
    CudaVersion,
    DcgmExporterVersion,
    DriverVersion,
    FirmwareVersion,
    Line,
    NcclVersion,
    OfedVersion,
    OperandVersion,
    PartVersion,
    SystemVersion,
    Version,
)


@reads(
    "driver.known_versions",
    "driver.lifecycle",
    "driver.nvidia_lifecycle_table_2026",
    "driver.min_kernel_by_branch",
    "driver.seen_on_kernel",
    "driver.precompiled",
    "driver.container_kernels",
    "driver.module_type_auto",
    "driver.cuda_reported_by_branch",
    "driver.documented_product_minimums",
    "driver.product_first_listed_in_open_module_readme",
    "driver.product_first_listed_in_release_notes",
    "driver.redistributed",
)
def drivers(whole: Spot, facts: Facts) -> Facts:
    """Drivers that exist, their branches, and what each needs."""
    section = whole.maybe("driver")
    if section is None:
        return facts
    auto = section.maybe("module_type_auto")
    return replace(
        facts,
        drivers={**_known_drivers(section), **facts.drivers},
        branches={row.branch: row for row in _branches(section)},
        min_kernels={
            spot.key_number(): MinKernel(kernel=spot.version(Line), cite=cite)
            for spot, cite in rows_of(section, "min_kernel_by_branch")
        },
        kernels_seen=tuple(
            KernelSeen(branch=spot.at("branch").number(), kernel=spot.at("kernel").text(), cite=spot.cite())
            for spot in section.each("seen_on_kernel")
        ),
        precompiled=tuple(_precompiled(spot) for spot in section.each("precompiled")),
        container_kernels=tuple(_container_kernels(spot) for spot in section.each("container_kernels")),
        auto_modules=_need(auto.at("min_driver"), auto.cite()) if auto else None,
        cuda_reported={
            spot.key_number(): Said(text=spot.version(CudaVersion).text, cite=cite)
            for spot, cite in rows_of(section, "cuda_reported_by_branch")
        },
        products=tuple(_products(section)),
    )


def _precompiled(spot: Spot) -> Precompiled:
    return Precompiled(
        operator_line=spot.at("gpu_operator").version(Line).line,
        system=spot.at("os").text(),
        kernel=spot.at("kernel").version(Line),
        flavours=frozenset(each.text() for each in spot.each("flavours")),
        branches=frozenset(each.number() for each in spot.each("branches")),
        cite=spot.cite(),
    )


def _container_kernels(spot: Spot) -> ContainerKernels:
    return ContainerKernels(
        operator_line=spot.at("gpu_operator").version(Line).line,
        system=spot.at("os").version(SystemVersion),
        kernels=tuple(each.version(Line) for each in spot.each("kernels")),
        cite=spot.cite(),
    )


def _need(spot: Spot, cite: Cite) -> DriverNeed:
    return DriverNeed(driver=spot.version(DriverVersion), cite=cite)


def _known_drivers(section: Spot) -> dict[DriverVersion, Cite]:
    found: dict[DriverVersion, Cite] = {}
    for _, spot in entries_of(section, "lifecycle"):
        latest = spot.maybe("latest_known")
        if latest is not None:
            found[latest.version(DriverVersion)] = spot.cite()
    apart = section.maybe("redistributed")
    if apart is not None:
        elsewhere = apart.cite()
        found |= {each.version(DriverVersion): elsewhere for each in apart.each("values")}
    known = section.maybe("known_versions")
    if known is None:
        return found
    cite = known.cite()
    for _, branch in entries_of(known, "from_open_gpu_kernel_modules"):
        found |= {each.version(DriverVersion): cite for each in branch.each()}
    return found | {each.version(DriverVersion): cite for each in known.each("from_gpu_operator_docs")}


def _branches(section: Spot) -> Iterator[DriverBranch]:
    """NVIDIA's own table comes last, so that it wins over the third party's."""
    released = {}
    for _, spot in entries_of(section, "lifecycle"):
        released[spot.key_number()] = day_at(spot, "first_release")
        yield _branch(spot, spot.cite(), released, is_listed=False)
    for spot, cite in rows_of(section, "nvidia_lifecycle_table_2026"):
        yield _branch(spot, cite, released, is_listed=True)


def _branch(spot: Spot, cite: Cite, released: Mapping[int, date | None], *, is_listed: bool) -> DriverBranch:
    return DriverBranch(
        branch=spot.key_number(),
        kind=spot.at("kind").text(),
        end_of_life=spot.at("end_of_life").day(),
        is_listed=is_listed,
        released=released.get(spot.key_number()),
        cite=cite,
    )


def _products(section: Spot) -> Iterator[Product]:
    for spot in section.each("documented_product_minimums"):
        least = spot.maybe("min_driver")
        yield Product(
            name=spot.at("product").text(),
            min_driver=least.version(DriverVersion) if least else None,
            is_documented=True,
            needs_open_modules="open" in text_at(spot, "requires"),
            cite=spot.cite(),
        )
    listed = {
        str(spot.path[-1]): (spot.version(DriverVersion), cite)
        for table in ("product_first_listed_in_open_module_readme", "product_first_listed_in_release_notes")
        for spot, cite in rows_of(section, table)
    }
    for name, (driver, cite) in listed.items():
        yield Product(name=name, min_driver=driver, is_documented=False, needs_open_modules=False, cite=cite)


@reads(
    "cuda.toolkit",
    "cuda.toolkit_newer",
    "cuda.toolkit_older",
    "cuda.numbered",
    "cuda.never_released",
    "cuda.minor_version_floor",
)
def cuda(whole: Spot, facts: Facts) -> Facts:
    """CUDA toolkits, and the oldest driver of each."""
    section = whole.maybe("cuda")
    if section is None:
        return facts
    toolkits: dict[CudaVersion, Toolkit] = {}
    for name in ("toolkit_older", "toolkit_newer", "toolkit"):
        for spot, cite in rows_of(section, name, "linux_x86_64_min_driver"):
            version = parsed(CudaVersion, str(spot.path[-1]), spot.path)
            toolkits[version] = Toolkit(driver=spot.version(DriverVersion), cite=cite)
    numbered = [
        (spot.at("version").version(CudaVersion), Said(text=spot.at("is").text(), cite=spot.cite()), "is_first" in spot)
        for spot in section.each("numbered")
    ]
    return replace(
        facts,
        toolkits=toolkits,
        toolkits_numbered={version: said for version, said, _ in numbered},
        toolkits_first={version.line: version for version, _, is_first in numbered if is_first},
        toolkits_never={
            spot.at("version").version(Line).line: evidence_of(spot) for spot in section.each("never_released")
        },
        cuda_floors={spot.key_number(): _need(spot, cite) for spot, cite in rows_of(section, "minor_version_floor")},
        drivers={**{row.driver: row.cite for row in toolkits.values()}, **facts.drivers},
    )


@reads("gpu_architecture")
def architectures(whole: Spot, facts: Facts) -> Facts:
    """GPU architectures, oldest first."""
    rows = [
        Architecture(
            name=spot.at("arch").text(),
            age=age,
            open_modules=text_at(spot, "open_modules"),
            modules_cite=_own_cite(spot, "open_modules"),
            first_branch=spot.at("min_driver_branch").number() if "min_driver_branch" in spot else None,
            first_branch_cite=_own_cite(spot, "min_driver_branch"),
            last_branch=spot.at("last_driver_branch").number() if "last_driver_branch" in spot else None,
            first_cuda={key: each.version(CudaVersion) for key, each in entries_of(spot, "first_cuda")},
            last_cuda_major=spot.at("last_cuda_major").number() if "last_cuda_major" in spot else None,
            cite=spot.cite(),
        )
        for age, spot in enumerate(whole.each("gpu_architecture"))
    ]
    return replace(facts, architectures={row.name: row for row in rows}) if rows else facts


def _own_cite(spot: Spot, key: str) -> Cite:
    """The source of one value of a row, where it is not the row's."""
    if f"{key}_source" not in spot:
        return spot.cite()
    told = {"source": spot.at(f"{key}_source").text(), "confidence": spot.at(f"{key}_confidence").text()}
    return Spot(told, spot.path).cite()


@reads("gpu_products.compute_capability", "gpu_products.listed")
def gpu_products(whole: Spot, facts: Facts) -> Facts:
    """GPU products, each with its architecture."""
    section = whole.maybe("gpu_products")
    if section is None:
        return facts
    rows = [
        GpuProduct(
            name=str(spot.path[-1]),
            arch=spot.only({"arch", "compute"}).at("arch").text(),
            compute=text_at(spot, "compute"),
            cite=cite,
        )
        for table in ("compute_capability", "listed")
        for spot, cite in rows_of(section, table)
    ]
    return replace(facts, gpu_products={row.name: row for row in rows})


@reads(
    "nic_firmware.bundled",
    "nic_firmware.tested_pairs",
    "nic_firmware.release_train",
    "nic_firmware.window",
    "nic_firmware.not_supported",
)
def firmware(whole: Spot, facts: Facts) -> Facts:
    """Which network firmware goes with which driver."""
    section = whole.maybe("nic_firmware")
    if section is None:
        return facts
    pairs = [
        FirmwarePair(
            ofed=spot.at("ofed").version(OfedVersion),
            firmware={family: each.version(FirmwareVersion) for family, each in spot.at(within).items()},
            cite=spot.cite(),
        )
        for rows, within in (("bundled", "firmware"), ("tested_pairs", "tested_firmware"))
        for spot in section.each(rows)
        if "ofed" in spot
    ]
    return replace(
        facts,
        firmware_pairs=tuple(pairs),
        firmware_trains={
            spot.key_number(): Said(text=spot.text(), cite=cite) for spot, cite in rows_of(section, "release_train")
        },
        firmware_windows={
            parsed(FirmwareVersion, str(spot.path[-1]), spot.path): tuple(
                each.version(FirmwareVersion) for each in spot.each()
            )
            for spot, _ in rows_of(section, "window")
        },
        unsupported_nics=tuple(_unsupported(spot) for spot in section.each("not_supported")),
    )


def _unsupported(spot: Spot) -> Unsupported:
    return Unsupported(
        family=spot.at("family").text(),
        train=spot.at("ofed_train").text(),
        only_in=text_at(spot, "only_in"),
        said=spot.at("fact").text(),
        cite=spot.cite(),
    )


@reads("existing_tags.dcgm_exporter", "existing_tags.device_plugin", "existing_tags.nccl")
def tags(whole: Spot, facts: Facts) -> Facts:
    """Image tags that exist."""
    section = whole.maybe("existing_tags")
    kinds: Mapping[str, tuple[Component, type[Version]]] = {
        "dcgm_exporter": (Component.DCGM, DcgmExporterVersion),
        "device_plugin": (Component.DEVICE_PLUGIN, OperandVersion),
        "nccl": (Component.NCCL, NcclVersion),
    }
    found = {}
    for name, spot in section.items() if section else ():
        component, kind = kinds[name]
        cite = spot.cite()
        found[component] = {each.version(kind): cite for each in spot.each("values")}
    return replace(facts, tags=found) if found else facts


@reads("gpudirect_rdma.dma_buf", "gpudirect_rdma.gds_needs_open", "dcgm.driver_floor")
def rdma_and_dcgm(whole: Spot, facts: Facts) -> Facts:
    """What GPUDirect RDMA and DCGM ask of a driver."""
    rdma, dcgm = whole.maybe("gpudirect_rdma"), whole.maybe("dcgm")
    dmabuf, floor = (rdma.maybe("dma_buf") if rdma else None), (dcgm.maybe("driver_floor") if dcgm else None)
    needs = {}
    if dmabuf is not None:
        needs = {
            "kernel": Said(text=dmabuf.at("min_kernel").version(Line).line, cite=dmabuf.cite()),
            "cuda": Said(text=dmabuf.at("min_cuda").version(CudaVersion).text, cite=dmabuf.cite()),
            "arch": Said(text=dmabuf.at("min_arch").text(), cite=dmabuf.cite()),
        }
    gds = rdma.maybe("gds_needs_open") if rdma else None
    return replace(
        facts,
        dmabuf=needs,
        gds_open=OldestPart(version=gds.at("min_gds").version(PartVersion), cite=gds.cite()) if gds else None,
        dcgm_branch_min=floor.at("min_driver_branch").number() if floor else None,
    )


FIRST: Final = (tags, drivers)
"""Before the operators: what is listed wins over what a release is known to ship."""
LAST: Final = (cuda, architectures, gpu_products, firmware, rdma_and_dcgm)
