"""From data to facts: releases of the GPU Operator and the Network Operator, and what they are said to support.

Law of this file: a release that is written down exists, and so does what it ships.
Tests: tests/core/compat/test_facts.py
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from seatrial.core.compat.facts.knowledge import Facts
from seatrial.core.compat.facts.rows import (
    Cite,
    DraChart,
    GpuOperatorRelease,
    Lines,
    ManagedDra,
    NetworkOperatorRelease,
    NewestLine,
    OldestKernel,
    OldestPart,
    RefusedSystem,
    RuntimeRange,
    RuntimeSystems,
    Said,
    Support,
    SystemList,
    VgpuRelease,
)
from seatrial.core.compat.facts.sections import reads
from seatrial.core.compat.facts.spots import FactInvalid, Spot, day_at, entries_of, kind_of, parsed, rows_of, text_at
from seatrial.core.compat.matrix import Component
from seatrial.core.compat.ranges import RangeInvalid, VersionRange
from seatrial.core.compat.versions import (
    DraDriverVersion,
    DriverVersion,
    KubernetesVersion,
    Line,
    OfedVersion,
    OperatorVersion,
    PartVersion,
    SystemVersion,
    Version,
)

GPU_ROW: Final = frozenset(
    {
        "released", "major", "operands", "kernel_module_default", "cdi_enabled_default", "source", "confidence",
        "olm_bundle", "documented", "ci_passed_on_openshift", "note",
    }
)  # fmt: skip
NETWORK_ROW: Final = frozenset(
    {
        "released", "major", "driver_container", "ofed", "doca", "build", "sriov_network_operator", "file_says_version",
        "nic_configuration_operator", "source", "confidence", "note", "chart_kube_version", "olm_openshift_versions",
        "documented",
    }
)  # fmt: skip
RUNTIMES: Final = (Component.CONTAINERD, Component.CRI_O)
OPERANDS: Final[Mapping[str, Component]] = {
    "device_plugin": Component.DEVICE_PLUGIN,
    "container_toolkit": Component.CONTAINER_TOOLKIT,
    "dcgm_exporter": Component.DCGM,
    "nfd_chart": Component.NFD,
    "gds": Component.GDS,
    "gdrcopy": Component.GDRCOPY,
}
_OLM_RANGE: Final = re.compile(r"v?(?P<min>[0-9]+\.[0-9]+)-v?(?P<max>[0-9]+\.[0-9]+)")
_CHART_RANGE: Final = re.compile(r">= (?P<min>[0-9]+\.[0-9]+)\.[0-9]+(?:-0)?")


@reads("gpu_operator.release_line", "gpu_operator.releases", "ci_results.source", "ci_results.confidence")
def gpu_operators(whole: Spot, facts: Facts) -> Facts:
    """Releases of the GPU Operator, the drivers they name and the parts they ship."""
    section = whole.maybe("gpu_operator")
    if section is None:
        return facts
    results = whole.maybe("ci_results")
    rows = [
        _gpu_release(key, spot.only(GPU_ROW), results.cite() if results else None)
        for key, spot in entries_of(section, "releases")
    ]
    return replace(
        facts,
        gpu_operators={row.version: row for row in rows},
        release_lines={**facts.release_lines, Component.GPU_OPERATOR: _lines(section, {row.line for row in rows})},
        drivers={
            **{version: cite for row in rows for version, cite in row.drivers.items()},
            **{row.driver: row.cite for row in rows if row.driver is not None},
            **facts.drivers,
        },
        tags=_with_operands(facts.tags, rows),
    )


def _gpu_release(key: str, spot: Spot, tested_cite: Cite | None) -> GpuOperatorRelease:
    version, cite = parsed(OperatorVersion, key, spot.path), spot.cite()
    operands, documented = spot.maybe("operands"), spot.maybe("documented")
    parts: dict[Component, Version] = {}
    for name, component in OPERANDS.items():
        operand = operands.maybe(name) if operands else None
        if operand is not None:
            parts[component] = operand.version(kind_of(component))
    support = _support(documented) if documented else None
    listed = documented.each("drivers") if documented else ()
    default = operands.maybe("driver") if operands else None
    return GpuOperatorRelease(
        version=version,
        cite=cite,
        released=day_at(spot, "released"),
        driver=default.version(DriverVersion) if default else None,
        operands=parts,
        driver_manager=text_at(operands, "driver_manager") if operands else "",
        kernel_module=spot.at("kernel_module_default").text() if "kernel_module_default" in spot else "",
        drivers={row.at("version").version(DriverVersion): support.cite for row in listed} if support else {},
        documented=support,
        bundle=_support(spot.at("olm_bundle")) if "olm_bundle" in spot else None,
        tested=frozenset(each.version(Line) for each in spot.each("ci_passed_on_openshift")),
        tested_cite=tested_cite or cite,
        images=_pinned(spot.at("olm_bundle")) if "olm_bundle" in spot else {},
    )


def _pinned(bundle: Spot) -> dict[str, str]:
    return {name: each.text() for name, each in entries_of(bundle, "image_digests")}


@reads("network_operator.release_line", "network_operator.releases")
def network_operators(whole: Spot, facts: Facts) -> Facts:
    """Releases of the Network Operator."""
    section = whole.maybe("network_operator")
    if section is None:
        return facts
    rows = [_network_release(key, spot.only(NETWORK_ROW)) for key, spot in entries_of(section, "releases")]
    return replace(
        facts,
        network_operators={row.version: row for row in rows},
        release_lines={**facts.release_lines, Component.NETWORK_OPERATOR: _lines(section, {row.line for row in rows})},
    )


def _network_release(key: str, spot: Spot) -> NetworkOperatorRelease:
    version, cite, documented = parsed(OperatorVersion, key, spot.path), spot.cite(), spot.maybe("documented")
    containers = [spot.maybe(name) for name in ("ofed", "driver_container")]
    if documented is not None:
        containers += [documented.maybe(name) for name in ("driver_container", "driver_container_lts")]
    ofeds = dict.fromkeys(found.version(OfedVersion) for found in containers if found is not None)
    chart, olm = spot.maybe("chart_kube_version"), spot.maybe("olm_openshift_versions")
    least = documented.maybe("gpu_operator_min") if documented else None
    return NetworkOperatorRelease(
        version=version,
        cite=cite,
        released=day_at(spot, "released"),
        is_tagged=cite.source.startswith(f"github:Mellanox/network-operator@{version}:"),
        ofeds=tuple(ofeds),
        documented=_support(documented) if documented else None,
        bundle=Support(cite=cite, openshift=_olm_range(olm)) if olm else None,
        chart_kubernetes_min=_matched(chart, _CHART_RANGE, ">= 1.21.0") if chart else None,
        gpu_operator_min=least.version(Line) if least else None,
    )


@reads("gpu_operator.newest_line", "network_operator.newest_line")
def newest_lines(whole: Spot, facts: Facts) -> Facts:
    """Until when the newest major of an operator is known to have been the newest."""
    found = {}
    for component in (Component.GPU_OPERATOR, Component.NETWORK_OPERATOR):
        section = whole.maybe(component.value)
        spot = section.maybe("newest_line") if section else None
        if spot is not None:
            spot.only({"line", "as_of", "note", "source", "confidence"})
            found[component] = NewestLine(
                line=spot.at("line").version(Line), as_of=spot.at("as_of").day(), cite=spot.cite()
            )
    return replace(facts, newest_lines=found) if found else facts


def _support(spot: Spot) -> Support:
    openshift, kubernetes = spot.maybe("openshift"), spot.maybe("kubernetes")
    platforms = entries_of(spot, "kubernetes_by_platform")
    return Support(
        cite=spot.cite(),
        openshift=supported(openshift) if openshift else None,
        kubernetes=supported(kubernetes) if kubernetes else None,
        kubernetes_by_platform={name: supported(each) for name, each in platforms},
    )


def supported(spot: Spot) -> Lines:
    """A range, or a list where the document has holes."""
    spot.only({"min", "max", "list"})
    if "list" in spot:
        listed = tuple(each.version(Line) for each in spot.each("list"))
        if not listed:
            raise FactInvalid(spot.path, "the list is empty. Leave it out where nothing is known.")
        return Lines(listed=listed)
    ends = [line_of(end) if end is not None else None for end in (spot.maybe("min"), spot.maybe("max"))]
    try:
        return Lines(range=VersionRange(min=ends[0], max=ends[1]))
    except RangeInvalid as err:
        raise FactInvalid(spot.path, str(err)) from None


def line_of(spot: Spot) -> Line:
    """A line; documents print a patch now and then (1.30.4) and mean the line."""
    text = spot.text()
    return parsed(Line, ".".join(text.split(".")[:2]), spot.path)


def _olm_range(spot: Spot) -> Lines:
    match = _OLM_RANGE.fullmatch(spot.text())
    if match is None:
        raise FactInvalid(spot.path, f"expected a range like v4.14-v4.16, found {spot.value!r}.")
    return supported(Spot({"min": match["min"], "max": match["max"]}, spot.path))


def _matched(spot: Spot, pattern: re.Pattern[str], example: str) -> Line:
    match = pattern.fullmatch(spot.text())
    if match is None:
        raise FactInvalid(spot.path, f"expected a bound like {example}, found {spot.value!r}.")
    return Line.parse(match["min"])


def _lines(section: Spot, of_rows: set[str]) -> tuple[str, ...]:
    stated = {each.version(Line) for each in section.each("release_line")}
    known = stated | {Line.parse(text) for text in of_rows}
    return tuple(line.line for line in sorted(known, key=lambda line: line.rank))


def _with_operands(
    tags: Mapping[Component, Mapping[Version, Cite]], rows: list[GpuOperatorRelease]
) -> Mapping[Component, Mapping[Version, Cite]]:
    """What a release ships exists, also where the list of tags does not have it."""
    return {
        component: {
            **{row.operands[component]: row.cite for row in rows if component in row.operands},
            **tags.get(component, {}),
        }
        for component in (*OPERANDS.values(), *(part for part in tags if part not in OPERANDS.values()))
    }


@reads("container_runtimes.containerd")
def runtimes(whole: Spot, facts: Facts) -> Facts:
    """The container runtimes that operators were validated with."""
    section = whole.maybe("container_runtimes")
    rows = [
        RuntimeRange(
            operator_line=spot.at("gpu_operator").version(Line).line,
            lines=supported(Spot({"min": spot.at("min").text(), "max": spot.at("max").text()}, spot.path)),
            note=text_at(spot, "note"),
            cite=spot.cite(),
        )
        for spot in (section.each("containerd") if section else ())
    ]
    return replace(facts, runtimes=tuple(rows)) if rows else facts


@reads("container_runtimes.systems")
def runtime_systems(whole: Spot, facts: Facts) -> Facts:
    """The systems on which operators were validated with each container runtime."""
    section = whole.maybe("container_runtimes")
    rows = [_runtimesystems_at(spot) for spot in (section.each("systems") if section else ())]
    return replace(facts, runtime_systems=tuple(rows)) if rows else facts


def _runtimesystems_at(spot: Spot) -> RuntimeSystems:
    operator = Component.GPU_OPERATOR if "gpu_operator" in spot else Component.NETWORK_OPERATOR
    return RuntimeSystems(
        operator=operator,
        line=spot.at(operator.value).version(Line).line,
        systems={part: systems_at(spot, part.value) for part in RUNTIMES},
        refused={part: systems_at(spot, f"no_{part.value}") for part in RUNTIMES},
        cite=spot.cite(),
    )


@reads("operating_systems.gpu_operator", "operating_systems.network_operator")
def systems(whole: Spot, facts: Facts) -> Facts:
    """The operating systems that the documents of the operators list, line by line."""
    section = whole.maybe("operating_systems")
    rows = [
        SystemList(
            operator=operator,
            line=spot.at("line").version(Line).line,
            listed=systems_at(spot, "listed"),
            by_partner=systems_at(spot, "by_partner"),
            google_installs=frozenset(each.text() for each in spot.each("google_installs")),
            cite=spot.cite(),
        )
        for operator in (Component.GPU_OPERATOR, Component.NETWORK_OPERATOR)
        for spot in (section.each(operator.value) if section else ())
    ]
    return replace(facts, systems=tuple(rows)) if rows else facts


@reads("operating_systems.not_supported", "operating_systems.oldest_kernel")
def more_on_systems(whole: Spot, facts: Facts) -> Facts:
    """The systems that operators refuse, and the oldest kernels of some."""
    section = whole.maybe("operating_systems")
    if section is None:
        return facts
    refused = [
        RefusedSystem(
            operator=_operator_at(spot.at("operator")),
            system=spot.at("system").version(SystemVersion),
            since=spot.at("since").version(Line),
            cpu=text_at(spot, "cpu"),
            said=spot.at("fact").text(),
            cite=spot.cite(),
        )
        for spot in section.each("not_supported")
    ]
    kernels = [
        OldestKernel(system=parsed(SystemVersion, str(spot.path[-1]), spot.path), kernel=spot.version(Line), cite=cite)
        for spot, cite in rows_of(section, "oldest_kernel")
    ]
    return replace(facts, refused_systems=tuple(refused), oldest_kernels=tuple(kernels))


def _operator_at(spot: Spot) -> Component:
    named = {part.value: part for part in (Component.GPU_OPERATOR, Component.NETWORK_OPERATOR)}.get(spot.text())
    if named is None:
        raise FactInvalid(spot.path, f"expected gpu_operator or network_operator, found {spot.value!r}.")
    return named


def systems_at(spot: Spot, key: str) -> tuple[SystemVersion, ...]:
    """The operating systems in the list under a key."""
    return tuple(each.version(SystemVersion) for each in spot.each(key))


@reads("vgpu.releases", "vgpu.gpu_operator_min", "vgpu.gpu_operator_min_arch")
def vgpu(whole: Spot, facts: Facts) -> Facts:
    """The releases of vGPU with their guest drivers, and what the GPU Operator wants of them."""
    section = whole.maybe("vgpu")
    if section is None:
        return facts
    least, arch = section.maybe("gpu_operator_min"), section.maybe("gpu_operator_min_arch")
    rows = [
        VgpuRelease(
            version=parsed(PartVersion, str(spot.path[-1]), spot.path), guest=spot.version(DriverVersion), cite=cite
        )
        for spot, cite in rows_of(section, "releases")
    ]
    return replace(
        facts,
        oldest_vgpu=OldestPart(version=least.at("min").version(PartVersion), cite=least.cite()) if least else None,
        vgpus={row.version: row for row in rows},
        vgpu_arch=Said(text=arch.at("min_arch").text(), cite=arch.cite()) if arch else None,
    )


@reads("dra_driver.managed", "dra_driver.chart")
def dra(whole: Spot, facts: Facts) -> Facts:
    """What a DRA driver needs, managed by the GPU Operator or with a chart of its own."""
    section = whole.maybe("dra_driver")
    if section is None:
        return facts
    spot = section.maybe("managed")
    charts = [
        DraChart(
            version=each.at("version").version(DraDriverVersion),
            operator_line=each.at("gpu_operator").version(Line).line,
            kubernetes=each.at("min_kubernetes").version(KubernetesVersion),
            branch=each.at("min_driver_branch").number(),
            cite=each.cite(),
        )
        for each in section.each("chart")
    ]
    managed = None
    if spot is not None:
        managed = ManagedDra(
            operator=spot.at("gpu_operator").version(OperatorVersion),
            kubernetes=spot.at("min_kubernetes").version(KubernetesVersion),
            branch=spot.at("min_driver_branch").number(),
            cite=spot.cite(),
        )
    return replace(facts, managed_dra=managed, dra_charts={row.version: row for row in charts})


READERS: Final = (
    gpu_operators,
    network_operators,
    newest_lines,
    runtimes,
    runtime_systems,
    systems,
    more_on_systems,
    vgpu,
    dra,
)
