"""From plain data (mappings, lists, texts) to Facts. Nothing is skipped or guessed: what does not fit is FactInvalid.

The same reader takes the knowledge base and the files users lay over it, so that both obey one schema: every version
parses by its scheme, every fact has a source and a confidence, every range is in order, every key is known. Sections
may be absent. Whether the whole is complete is asked by data/build_facts.py, which knows that it has the whole.

    SeatrialError
    └── FactInvalid      a fact is not what the schema says; `path` leads to it

Tests: tests/core/test_facts.py
"""

from __future__ import annotations

import difflib
import re
from calendar import monthrange
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final, TypeVar

from seatrial.core.compat.facts.knowledge import Facts
from seatrial.core.compat.facts.rows import (
    Architecture,
    BadOpenShift,
    Bound,
    Cite,
    DriverBranch,
    DriverNeed,
    FirmwarePair,
    GpuOperatorRelease,
    Issue,
    KernelSeen,
    Lines,
    MinKernel,
    NetworkOperatorRelease,
    OpenShiftRelease,
    Product,
    RhelSupport,
    Said,
    Support,
    Toolkit,
    ValidatedKernel,
)
from seatrial.core.compat.findings import Confidence
from seatrial.core.compat.matrix import ALIASES, SCHEMES, Component
from seatrial.core.compat.versions import (
    VALUES,
    CudaVersion,
    DriverVersion,
    FirmwareVersion,
    KernelVersion,
    Line,
    NcclVersion,
    OfedVersion,
    OpenShiftVersion,
    OperandVersion,
    OperatorVersion,
    RangeInvalid,
    Version,
    VersionInvalid,
    VersionRange,
)
from seatrial.core.compat.versions.nvidia import DcgmExporterVersion
from seatrial.core.errors import SeatrialError

Path = tuple[str | int, ...]
_V = TypeVar("_V", bound=Version)

SCHEMA_VERSION: Final = 1

SECTIONS: Final[Mapping[str, frozenset[str]]] = {
    "schema_version": frozenset(),
    "generated": frozenset(),
    "gpu_operator": frozenset({"versioning", "release_line", "never_released", "releases", "source_disagreements"}),
    "network_operator": frozenset({"versioning", "release_line", "releases"}),
    "openshift": frozenset(
        {"releases", "upgrade_path", "kernel_6x_starts_at", "known_bad_z_streams", "z_stream_kernel"},
    ),
    "rhel_kernel_streams": frozenset(),
    "driver": frozenset(
        {
            "known_versions",
            "min_kernel_by_branch",
            "lifecycle",
            "product_first_listed_in_open_module_readme",
            "cuda_reported_by_branch",
            "documented_product_minimums",
            "module_type_auto",
            "image_tag",
            "cluster_policy_scope",
            "policy_any_active_production_driver",
            "nvidia_lifecycle_table_2026",
            "seen_on_kernel",
        }
    ),
    "cuda": frozenset(
        {
            "toolkit",
            "toolkit_newer",
            "never_released",
            "minor_version_floor",
            "backward",
            "max_major_without_forward_package",
        }
    ),
    "gpu_architecture": frozenset(),
    "nic_firmware": frozenset(
        {"family_by_leading_number", "release_train", "bundled", "window", "oem_caveat", "cx6_frozen", "tested_pairs"}
    ),
    "ci_results": frozenset({"source", "confidence", "meaning", "by_openshift_minor", "ci_notes"}),
    "known_good_combinations": frozenset(),
    "existing_tags": frozenset({"dcgm_exporter", "device_plugin", "nccl"}),
    "mofed_kernel": frozenset(
        {
            "container_build",
            "precompiled",
            "validated_upper_kernel",
            "min_ofed",
            "stale_inventory",
            "rhel_added_by_release",
        }
    ),
    "gpudirect_rdma": frozenset({"dma_buf", "peermem", "gds_needs_open"}),
    "dcgm": frozenset({"driver_floor", "exporter_tag", "exporter_prefix_equals_dcgm"}),
    "nccl": frozenset({"packaging", "release_dates", "blackwell"}),
    "known_issues": frozenset(),
}
"""Every section and, where they are fixed, its keys: a misspelt one must not be read as "nothing known"."""

SENTENCES: Final = (
    ("gpu_operator", "versioning"),
    ("network_operator", "versioning"),
    ("openshift", "upgrade_path"),
    ("driver", "cluster_policy_scope"),
    ("driver", "policy_any_active_production_driver"),
    ("cuda", "backward"),
    ("nic_firmware", "family_by_leading_number"),
    ("nic_firmware", "release_train"),
    ("nic_firmware", "window"),
    ("mofed_kernel", "container_build"),
    ("mofed_kernel", "rhel_added_by_release"),
    ("gpudirect_rdma", "dma_buf"),
    ("gpudirect_rdma", "peermem"),
    ("dcgm", "driver_floor"),
    ("nccl", "packaging"),
)
"""Facts that rules quote as they stand."""

_GPU_ROW: Final = frozenset(
    {
        "released", "major", "operands", "kernel_module_default", "cdi_enabled_default", "source", "confidence",
        "olm_bundle", "documented", "ci_passed_on_openshift", "note",
    }
)  # fmt: skip
_NETWORK_ROW: Final = frozenset(
    {
        "released", "major", "driver_container", "ofed", "doca", "build", "sriov_network_operator", "file_says_version",
        "nic_configuration_operator", "source", "confidence", "note", "chart_kube_version", "olm_openshift_versions",
        "documented",
    }
)  # fmt: skip
_OPERANDS: Final[Mapping[str, Component]] = {
    "device_plugin": Component.DEVICE_PLUGIN,
    "container_toolkit": Component.CONTAINER_TOOLKIT,
    "dcgm_exporter": Component.DCGM,
}
_LEVELS: Final = frozenset(Confidence)
_BOUND: Final = re.compile(r"(?P<sign>>=|>|<|)(?P<version>.+)")
_OLM_RANGE: Final = re.compile(r"v?(?P<min>[0-9]+\.[0-9]+)-v?(?P<max>[0-9]+\.[0-9]+)")
_CHART_RANGE: Final = re.compile(r">= (?P<min>[0-9]+\.[0-9]+)\.[0-9]+(?:-0)?")


class FactInvalid(SeatrialError):  # noqa: N818 — the tree above says it is an error
    """A fact that does not fit the schema."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{'.'.join(map(str, path)) or 'the file'}: {problem}")
        self.path = path
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in the data, and the path that led there."""

    value: Any
    path: Path = ()

    def __contains__(self, key: str) -> bool:
        return isinstance(self.value, Mapping) and self.value.get(key) is not None

    def at(self, key: str) -> Spot:
        if key not in self:
            raise FactInvalid(self.path, f"needs {key!r}. Add it.")
        return Spot(self.value[key], (*self.path, key))

    def maybe(self, key: str) -> Spot | None:
        return self.at(key) if key in self else None

    def items(self) -> Iterator[tuple[str, Spot]]:
        if not isinstance(self.value, Mapping):
            raise FactInvalid(self.path, f"expected a mapping, found {type(self.value).__name__}.")
        for key, value in self.value.items():
            yield str(key), Spot(value, (*self.path, key))

    def each(self, key: str | None = None) -> Iterator[Spot]:
        """The elements of the list here, or of the list under a key, where it exists."""
        if key is not None:
            below = self.maybe(key)
            yield from below.each() if below else ()
            return
        if not isinstance(self.value, list):
            raise FactInvalid(self.path, f"expected a list, found {type(self.value).__name__}.")
        for index, value in enumerate(self.value):
            yield Spot(value, (*self.path, index))

    def only(self, known: Collection[str]) -> Spot:
        for key, spot in self.items():
            if key not in known:
                near = difflib.get_close_matches(key, sorted(known), n=1)
                raise FactInvalid(
                    spot.path, f"there is no such key. {f'Did you mean {near[0]!r}?' if near else 'Remove it.'}"
                )
        return self

    def text(self) -> str:
        if not isinstance(self.value, str) or not self.value.strip():
            raise FactInvalid(self.path, f"expected a text, found {self.value!r}. Put it in quotes.")
        return self.value

    def number(self) -> int:
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            raise FactInvalid(self.path, f"expected a whole number, found {self.value!r}.")
        return self.value

    def key_number(self) -> int:
        key = self.path[-1]
        if not str(key).isdigit():
            raise FactInvalid(self.path, f"expected a key that is a number, found {key!r}.")
        return int(key)

    def version(self, kind: type[_V]) -> _V:
        return _parsed(kind, self.text(), self.path)

    def day(self) -> date:
        """A day; of a month alone, its last day."""
        if isinstance(self.value, date):
            return self.value
        text = self.text()
        try:
            if len(text) == len("2026-06"):
                year, month = map(int, text.split("-"))
                return date(year, month, monthrange(year, month)[1])
            return date.fromisoformat(text)
        except ValueError:
            raise FactInvalid(self.path, f"expected a day like 2026-06-01, found {text!r}.") from None

    def cite(self) -> Cite:
        confidence = self.at("confidence")
        if confidence.value not in _LEVELS:
            raise FactInvalid(
                confidence.path, f"expected one of {', '.join(sorted(_LEVELS))}, found {confidence.value!r}."
            )
        return Cite(source=self.at("source").text(), confidence=Confidence(confidence.value))


def read(data: Any) -> Facts:
    """Read facts, or raise FactInvalid at the first that does not fit."""
    whole = Spot(data)
    whole.only(SECTIONS)
    for name, known in SECTIONS.items():
        section = whole.maybe(name)
        if section is not None and known:
            section.only(known)
    schema = whole.maybe("schema_version")
    if schema is not None and schema.number() != SCHEMA_VERSION:
        raise FactInvalid(schema.path, f"expected {SCHEMA_VERSION}, found {schema.value}. Update seatrial.")
    facts = _dated(whole)
    for take in _READERS:
        facts = take(whole, facts)
    return facts


def _dated(whole: Spot) -> Facts:
    made = whole.maybe("generated")
    if made is None:
        return Facts(built_on=date.min, known_until=date.min)
    heads = [spot.at("head_date").day() for _, spot in made.at("repos").items()] if "repos" in made else []
    built = made.at("on").day()
    return Facts(built_on=built, known_until=max(heads, default=built))


# ── operators ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _gpu_operators(whole: Spot, facts: Facts) -> Facts:
    section = whole.maybe("gpu_operator")
    if section is None:
        return facts
    results = whole.maybe("ci_results")
    rows = [
        _gpu_release(key, spot.only(_GPU_ROW), results.cite() if results else None)
        for key, spot in _entries(section, "releases")
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
    version, cite = _parsed(OperatorVersion, key, spot.path), spot.cite()
    operands, documented = spot.maybe("operands"), spot.maybe("documented")
    parts: dict[Component, Version] = {}
    for name, component in _OPERANDS.items():
        operand = operands.maybe(name) if operands else None
        if operand is not None:
            parts[component] = operand.version(_kind(component))
    support = _support(documented) if documented else None
    listed = documented.each("drivers") if documented else ()
    default = operands.maybe("driver") if operands else None
    return GpuOperatorRelease(
        version=version,
        cite=cite,
        released=_day(spot, "released"),
        driver=default.version(DriverVersion) if default else None,
        operands=parts,
        kernel_module=spot.at("kernel_module_default").text() if "kernel_module_default" in spot else "",
        drivers={row.at("version").version(DriverVersion): support.cite for row in listed} if support else {},
        documented=support,
        bundle=_support(spot.at("olm_bundle")) if "olm_bundle" in spot else None,
        tested=frozenset(each.version(Line) for each in spot.each("ci_passed_on_openshift")),
        tested_cite=tested_cite or cite,
    )


def _network_operators(whole: Spot, facts: Facts) -> Facts:
    section = whole.maybe("network_operator")
    if section is None:
        return facts
    rows = [_network_release(key, spot.only(_NETWORK_ROW)) for key, spot in _entries(section, "releases")]
    return replace(
        facts,
        network_operators={row.version: row for row in rows},
        release_lines={**facts.release_lines, Component.NETWORK_OPERATOR: _lines(section, {row.line for row in rows})},
    )


def _network_release(key: str, spot: Spot) -> NetworkOperatorRelease:
    version, cite, documented = _parsed(OperatorVersion, key, spot.path), spot.cite(), spot.maybe("documented")
    containers = [spot.maybe(name) for name in ("ofed", "driver_container")]
    if documented is not None:
        containers += [documented.maybe(name) for name in ("driver_container", "driver_container_lts")]
    ofeds = dict.fromkeys(found.version(OfedVersion) for found in containers if found is not None)
    chart, olm = spot.maybe("chart_kube_version"), spot.maybe("olm_openshift_versions")
    least = documented.maybe("gpu_operator_min") if documented else None
    return NetworkOperatorRelease(
        version=version,
        cite=cite,
        released=_day(spot, "released"),
        is_tagged=cite.source.startswith(f"github:Mellanox/network-operator@{version}:"),
        ofeds=tuple(ofeds),
        documented=_support(documented) if documented else None,
        bundle=Support(cite=cite, openshift=_olm_range(olm)) if olm else None,
        chart_kubernetes_min=_matched(chart, _CHART_RANGE, ">= 1.21.0") if chart else None,
        gpu_operator_min=least.version(Line) if least else None,
    )


def _support(spot: Spot) -> Support:
    openshift, kubernetes = spot.maybe("openshift"), spot.maybe("kubernetes")
    return Support(
        cite=spot.cite(),
        openshift=_supported(openshift) if openshift else None,
        kubernetes=_supported(kubernetes) if kubernetes else None,
    )


def _supported(spot: Spot) -> Lines:
    spot.only({"min", "max", "list"})
    if "list" in spot:
        listed = tuple(each.version(Line) for each in spot.each("list"))
        if not listed:
            raise FactInvalid(spot.path, "the list is empty. Leave it out where nothing is known.")
        return Lines(listed=listed)
    ends = [_line(end) if end is not None else None for end in (spot.maybe("min"), spot.maybe("max"))]
    try:
        return Lines(range=VersionRange(min=ends[0], max=ends[1]))
    except RangeInvalid as err:
        raise FactInvalid(spot.path, str(err)) from None


def _line(spot: Spot) -> Line:
    """A line; documents print a patch now and then (1.30.4) and mean the line."""
    text = spot.text()
    return _parsed(Line, ".".join(text.split(".")[:2]), spot.path)


def _olm_range(spot: Spot) -> Lines:
    match = _OLM_RANGE.fullmatch(spot.text())
    if match is None:
        raise FactInvalid(spot.path, f"expected a range like v4.14-v4.16, found {spot.value!r}.")
    return _supported(Spot({"min": match["min"], "max": match["max"]}, spot.path))


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
        for component in (*_OPERANDS.values(), *(part for part in tags if part not in _OPERANDS.values()))
    }


# ── platform ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _openshift(whole: Spot, facts: Facts) -> Facts:
    section = whole.maybe("openshift")
    if section is None:
        return facts
    bad = [
        BadOpenShift(
            version=spot.at("openshift").version(OpenShiftVersion),
            breaks=spot.at("breaks").text(),
            reference=_text(spot, "ref"),
            cite=spot.cite(),
        )
        for spot in section.each("known_bad_z_streams")
    ]
    rows = [_openshift_release(key, spot) for key, spot in _entries(section, "releases")]
    return replace(facts, openshifts={row.line.line: row for row in rows}, bad_openshifts=tuple(bad))


def _openshift_release(key: str, spot: Spot) -> OpenShiftRelease:
    row, life = _kernel_cite(spot), spot.maybe("lifecycle")
    sriov = spot.maybe("sriov_operator_csv")
    return OpenShiftRelease(
        line=_parsed(Line, key, spot.path),
        rhel=spot.at("rhel").version(Line),
        rhel_cite=_stated(_text(spot, "rhel_source") or spot.at("rhcos_build_source").text(), row),
        kernel_stream=spot.at("kernel_stream").text(),
        kernel_dist=spot.at("kernel_dist").text(),
        kernel_cite=row,
        sriov=_line(sriov) if sriov else None,
        sriov_cite=_stated(spot.at("sriov_source").text(), row) if sriov else None,
        maintenance_ends=_day(life, "maintenance_ends") if life else None,
        extended_ends=_day(life, "eus_ends") if life else None,
        lifecycle_cite=life.cite() if life else None,
    )


def _kernel_cite(spot: Spot) -> Cite:
    return Spot({**spot.value, "source": spot.at("kernel_source").text()}, spot.path).cite()


def _stated(source: str, row: Cite) -> Cite:
    """A row's confidence is that of its weakest part, the kernel; what OpenShift's own repositories say is sure."""
    own = source.startswith("github:openshift/")
    return Cite(source=source, confidence=Confidence.VERIFIED if own else row.confidence)


def _mofed_kernel(whole: Spot, facts: Facts) -> Facts:
    section = whole.maybe("mofed_kernel")
    if section is None:
        return facts
    upper, stale = section.maybe("validated_upper_kernel"), section.maybe("stale_inventory")
    rows = [
        RhelSupport(
            since=_parsed(OperatorVersion, str(spot.path[-1]), spot.path),
            minors=tuple(each.version(Line) for each in spot.each()),
            cite=cite,
        )
        for spot, cite in _values(section, "rhel_added_by_release")
    ]
    validated = []
    if upper is not None:
        validated.append(
            ValidatedKernel(
                operator_line=upper.at("network_operator_line").version(Line).line,
                kernel=upper.at("max_kernel").version(KernelVersion),
                cite=upper.cite(),
            )
        )
    lines = {stale.at("network_operator_line").version(Line).line: stale.cite()} if stale else {}
    return replace(facts, rhel_support=tuple(rows), validated_kernels=tuple(validated), stale_inventory=lines)


# ── driver, CUDA, GPUs ────────────────────────────────────────────────────────────────────────────────────────────────


def _driver(whole: Spot, facts: Facts) -> Facts:
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
            for spot, cite in _values(section, "min_kernel_by_branch")
        },
        kernels_seen=tuple(
            KernelSeen(branch=spot.at("branch").number(), kernel=spot.at("kernel").text(), cite=spot.cite())
            for spot in section.each("seen_on_kernel")
        ),
        auto_modules=_need(auto.at("min_driver"), auto.cite()) if auto else None,
        cuda_reported={
            spot.key_number(): Said(text=spot.version(CudaVersion).text, cite=cite)
            for spot, cite in _values(section, "cuda_reported_by_branch")
        },
        products=tuple(_products(section)),
    )


def _need(spot: Spot, cite: Cite) -> DriverNeed:
    return DriverNeed(driver=spot.version(DriverVersion), cite=cite)


def _known_drivers(section: Spot) -> dict[DriverVersion, Cite]:
    found: dict[DriverVersion, Cite] = {}
    for _, spot in _entries(section, "lifecycle"):
        latest = spot.maybe("latest_known")
        if latest is not None:
            found[latest.version(DriverVersion)] = spot.cite()
    known = section.maybe("known_versions")
    if known is None:
        return found
    cite = known.cite()
    for _, branch in _entries(known, "from_open_gpu_kernel_modules"):
        found |= {each.version(DriverVersion): cite for each in branch.each()}
    return found | {each.version(DriverVersion): cite for each in known.each("from_gpu_operator_docs")}


def _branches(section: Spot) -> Iterator[DriverBranch]:
    """NVIDIA's own table comes last, so that it wins over the third party's."""
    for _, spot in _entries(section, "lifecycle"):
        yield _branch(spot, spot.cite())
    for spot, cite in _values(section, "nvidia_lifecycle_table_2026"):
        yield _branch(spot, cite)


def _branch(spot: Spot, cite: Cite) -> DriverBranch:
    return DriverBranch(
        branch=spot.key_number(), kind=spot.at("kind").text(), end_of_life=spot.at("end_of_life").day(), cite=cite
    )


def _products(section: Spot) -> Iterator[Product]:
    for spot in section.each("documented_product_minimums"):
        least = spot.maybe("min_driver")
        yield Product(
            name=spot.at("product").text(),
            min_driver=least.version(DriverVersion) if least else None,
            is_documented=True,
            needs_open_modules="open" in _text(spot, "requires"),
            cite=spot.cite(),
        )
    for spot, cite in _values(section, "product_first_listed_in_open_module_readme"):
        yield Product(
            name=str(spot.path[-1]),
            min_driver=spot.version(DriverVersion),
            is_documented=False,
            needs_open_modules=False,
            cite=cite,
        )


def _cuda(whole: Spot, facts: Facts) -> Facts:
    section = whole.maybe("cuda")
    if section is None:
        return facts
    toolkits: dict[CudaVersion, Toolkit] = {}
    for name in ("toolkit_newer", "toolkit"):
        for spot, cite in _values(section, name, "linux_x86_64_min_driver"):
            version = _parsed(CudaVersion, str(spot.path[-1]), spot.path)
            toolkits[version] = Toolkit(version=version, driver=spot.version(DriverVersion), cite=cite)
    return replace(
        facts,
        toolkits=toolkits,
        toolkits_never={
            spot.at("version").version(Line).line: _evidence(spot) for spot in section.each("never_released")
        },
        cuda_floors={spot.key_number(): _need(spot, cite) for spot, cite in _values(section, "minor_version_floor")},
        drivers={**{row.driver: row.cite for row in toolkits.values()}, **facts.drivers},
    )


def _architectures(whole: Spot, facts: Facts) -> Facts:
    rows = [
        Architecture(
            name=spot.at("arch").text(),
            age=age,
            open_modules=_text(spot, "open_modules"),
            first_branch=spot.at("min_driver_branch").number() if "min_driver_branch" in spot else None,
            last_branch=spot.at("last_driver_branch").number() if "last_driver_branch" in spot else None,
            cite=spot.cite(),
        )
        for age, spot in enumerate(whole.each("gpu_architecture"))
    ]
    return replace(facts, architectures={row.name: row for row in rows}) if rows else facts


# ── network, tags, issues, sentences ──────────────────────────────────────────────────────────────────────────────────


def _firmware(whole: Spot, facts: Facts) -> Facts:
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
            spot.key_number(): Said(text=spot.text(), cite=cite) for spot, cite in _values(section, "release_train")
        },
    )


def _tags(whole: Spot, facts: Facts) -> Facts:
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


def _rdma_and_dcgm(whole: Spot, facts: Facts) -> Facts:
    rdma, dcgm = whole.maybe("gpudirect_rdma"), whole.maybe("dcgm")
    dmabuf, floor = (rdma.maybe("dma_buf") if rdma else None), (dcgm.maybe("driver_floor") if dcgm else None)
    needs = {}
    if dmabuf is not None:
        needs = {
            "kernel": Said(text=dmabuf.at("min_kernel").version(Line).line, cite=dmabuf.cite()),
            "cuda": Said(text=dmabuf.at("min_cuda").version(CudaVersion).text, cite=dmabuf.cite()),
            "arch": Said(text=dmabuf.at("min_arch").text(), cite=dmabuf.cite()),
        }
    return replace(facts, dmabuf=needs, dcgm_branch_min=floor.at("min_driver_branch").number() if floor else None)


def _issues(whole: Spot, facts: Facts) -> Facts:
    """Issues about things a matrix does not name (IPAM, vGPU, …) stay in the data for people to read."""
    rows = []
    for spot in whole.each("known_issues"):
        cite, conditions = spot.cite(), dict(spot.at("when").items())
        components = {key: ALIASES.get(key) or _component(key) for key in conditions}
        if all(components.values()):
            rows.append(
                Issue(
                    when={part: _bounds(part, conditions[key]) for key, part in components.items() if part is not None},
                    effect=spot.at("effect").text(),
                    advice=_text(spot, "advice"),
                    reference=_text(spot, "ref"),
                    cite=cite,
                )
            )
    return replace(facts, issues=tuple(rows)) if rows else facts


def _bounds(component: Component, spot: Spot) -> tuple[Bound, ...]:
    return tuple(_bound(component, each) for each in (spot.each() if isinstance(spot.value, list) else [spot]))


def _bound(component: Component, spot: Spot) -> Bound:
    match = _BOUND.fullmatch(spot.text())
    if match is None:
        raise FactInvalid(spot.path, f"expected a version or a bound like >=v25.3.1, found {spot.value!r}.")
    is_line = component is Component.OPENSHIFT and match["version"].count(".") == 1
    kind: type[Version] = Line if is_line else _kind(component)
    return Bound(sign=match["sign"], version=_parsed(kind, match["version"], spot.path))


def _sentences(whole: Spot, facts: Facts) -> Facts:
    found = {}
    for section, key in SENTENCES:
        spot = whole.maybe(section)
        sentence = spot.maybe(key) if spot else None
        if sentence is not None:
            found[f"{section}.{key}"] = sentence.cite()
    return replace(facts, cites=found) if found else facts


_READERS: Final[tuple[Callable[[Spot, Facts], Facts], ...]] = (
    _tags,
    _driver,
    _gpu_operators,
    _network_operators,
    _openshift,
    _mofed_kernel,
    _cuda,
    _architectures,
    _firmware,
    _rdma_and_dcgm,
    _issues,
    _sentences,
)


def _entries(spot: Spot, key: str) -> Iterator[tuple[str, Spot]]:
    below = spot.maybe(key)
    return below.items() if below else iter(())


def _values(section: Spot, key: str, within: str = "values") -> Iterator[tuple[Spot, Cite]]:
    """The rows of a table, each with the table's own source."""
    table = section.maybe(key)
    if table is not None:
        cite = table.cite()
        yield from ((spot, cite) for _, spot in table.at(within).items())


def _evidence(spot: Spot) -> Cite:
    return Spot({**spot.value, "source": spot.at("evidence").text()}, spot.path).cite()


def _text(spot: Spot, key: str) -> str:
    return spot.at(key).text() if key in spot else ""


def _day(spot: Spot, key: str) -> date | None:
    return spot.at(key).day() if key in spot else None


def _kind(component: Component) -> type[Version]:
    return VALUES[SCHEMES[component]]


def _component(key: str) -> Component | None:
    return Component(key) if key in frozenset(Component) else None


def _parsed(kind: type[_V], text: str, path: Path) -> _V:
    try:
        return kind.parse(text)
    except VersionInvalid as err:
        raise FactInvalid(path, str(err)) from None
