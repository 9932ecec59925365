"""The JSON Schema of a file of facts, so that an editor knows what the reader (core/compat/facts) will take.

It says what a file may look like, not whether a fact is true. Which sections and keys there are comes from the reader;
a row is closed where the reader closes it. docs/reference/facts.schema.json is made from it.

    PLACES    what may stand at each place that a reader reads; what is only for people may be anything

Tests: tests/adapters/files/test_facts_schema.py
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from seatrial.core.compat.facts import reading, reading_operators
from seatrial.core.compat.facts.sections import SCHEMA_VERSION, SENTENCES
from seatrial.core.compat.facts.spots import kind_of
from seatrial.core.compat.findings import Confidence
from seatrial.core.compat.matrix import ALIASES, Component
from seatrial.core.compat.versions import (
    CudaVersion,
    DcgmExporterVersion,
    DraDriverVersion,
    DriverVersion,
    FirmwareVersion,
    KernelVersion,
    KubernetesVersion,
    Line,
    NcclVersion,
    OfedVersion,
    OpenShiftVersion,
    OperandVersion,
    OperatorVersion,
    PartVersion,
    SystemVersion,
    Version,
)

Schema = Mapping[str, Any]

_NAMED_GROUP: Final = re.compile(r"\(\?P<[a-z_]+>")
_VERSIONS: Final[Mapping[str, type[Version]]] = {
    "operator": OperatorVersion,
    "driver": DriverVersion,
    "cuda": CudaVersion,
    "ofed": OfedVersion,
    "firmware": FirmwareVersion,
    "kernel": KernelVersion,
    "openshift": OpenShiftVersion,
    "kubernetes": KubernetesVersion,
    "line": Line,
    "operand": OperandVersion,
    "nccl": NcclVersion,
    "dcgm_exporter": DcgmExporterVersion,
    "part": PartVersion,
    "system": SystemVersion,
    "dra_driver": DraDriverVersion,
}


def _named(name: str) -> Schema:
    return {"$ref": f"#/definitions/{name}"}


def _all_of(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _mapping(values: Schema, keys: str = "") -> Schema:
    """A mapping with free keys, or with keys of a pattern."""
    names = {"propertyNames": {"pattern": keys}} if keys else {}
    return {"type": "object", **names, "additionalProperties": values}


def _row(
    fields: Mapping[str, Schema],
    *,
    required: Collection[str] = (),
    only: Collection[str] | None = None,
    cited: str = "source",
) -> Schema:
    """A row with a source and a confidence; what is not needed may be null, and `only` closes it."""
    needed = (*((cited, "confidence") if cited else ()), *required)
    told: dict[str, Schema] = {"source": TEXT, "confidence": _named("confidence"), **fields}
    known = told if only is None else {key: told.get(key, ANYTHING) for key in sorted(only)}
    return {
        "type": "object",
        "required": sorted(needed),
        "properties": {
            key: each if key in needed or each is ANYTHING else {"anyOf": [each, {"type": "null"}]}
            for key, each in known.items()
        },
        **({"additionalProperties": False} if only is not None else {}),
    }


def _table(values: Schema, keys: str = "", within: str = "values") -> Schema:
    """Rows that share one source."""
    return _row({within: _mapping(values, keys)}, required=(within,))


ANYTHING: Final[Schema] = {}
TEXT: Final = _named("text")
NUMBER: Final[Schema] = {"type": "integer"}
DAY: Final = _named("day")
LINE, DRIVER, CUDA, OPERATOR, OFED = map(_named, ("line", "driver", "cuda", "operator", "ofed"))
LINES: Final = _named("lines")
MINOR: Final = _named("minor")
"""A line; documents print a patch now and then."""
SYSTEM: Final = _named("system")
BRANCH_KEYS: Final = "^[0-9]+$"
_NAMED: Final = {kind: _named(name) for name, kind in _VERSIONS.items()}

_PLATFORMS: Final[Mapping[str, Schema]] = {
    "openshift": LINES,
    "kubernetes": LINES,
    "kubernetes_by_platform": _mapping(LINES),
}
_GPU_RELEASE: Final = _row(
    {
        "released": DAY,
        "operands": {
            "type": "object",
            "properties": {
                "driver": DRIVER,
                "driver_manager": TEXT,
                **{name: _NAMED[kind_of(component)] for name, component in reading_operators.OPERANDS.items()},
            },
        },
        "kernel_module_default": TEXT,
        "documented": _row(
            {**_PLATFORMS, "drivers": _all_of(_row({"version": DRIVER}, required=("version",), cited=""))}
        ),
        "olm_bundle": _row({**_PLATFORMS, "image_digests": _mapping(TEXT)}),
        "ci_passed_on_openshift": _all_of(LINE),
    },
    only=reading_operators.GPU_ROW,
)
_NETWORK_RELEASE: Final = _row(
    {
        "released": DAY,
        "ofed": OFED,
        "driver_container": OFED,
        "chart_kube_version": TEXT,
        "olm_openshift_versions": TEXT,
        "documented": _row(
            {**_PLATFORMS, "gpu_operator_min": LINE, "driver_container": OFED, "driver_container_lts": OFED}
        ),
    },
    only=reading_operators.NETWORK_ROW,
)
_OPENSHIFT_RELEASE: Final = _row(
    {
        "rhel": LINE,
        "rhel_source": TEXT,
        "rhcos_build_source": TEXT,
        "kernel_stream": TEXT,
        "kernel_dist": TEXT,
        "kernel_source": TEXT,
        "kubernetes": LINE,
        "kubernetes_source": TEXT,
        "sriov_operator_csv": MINOR,
        "sriov_source": TEXT,
        "lifecycle": _row({"maintenance_ends": DAY, "eus_ends": DAY}),
    },
    required=("rhel", "kernel_stream", "kernel_dist"),
    cited="kernel_source",
)
_BRANCH: Final[Mapping[str, Schema]] = {"kind": TEXT, "end_of_life": DAY, "first_release": DAY, "latest_known": DRIVER}
_ARCHITECTURE: Final = _row(
    {
        "arch": TEXT,
        "open_modules": TEXT,
        "first_cuda": _mapping(CUDA),
        "last_cuda_major": NUMBER,
        "min_driver_branch": NUMBER,
        "last_driver_branch": NUMBER,
        **{f"{key}_source": TEXT for key in ("open_modules", "min_driver_branch")},
        **{f"{key}_confidence": _named("confidence") for key in ("open_modules", "min_driver_branch")},
    },
    required=("arch",),
)
_GPU_PRODUCT: Final = _row({"arch": TEXT, "compute": TEXT}, required=("arch",), only=("arch", "compute"), cited="")
_ISSUE: Final = _row(
    {
        "when": {"type": "object", "properties": dict.fromkeys((*Component, *ALIASES), _named("bounds"))},
        "effect": TEXT,
        "advice": TEXT,
        "ref": TEXT,
    },
    required=("when",),
)
_VULNERABILITY: Final = _row(
    {
        "id": TEXT,
        "published": DAY,
        "component": {"enum": sorted(Component)},
        "since": TEXT,
        "fixed_in": TEXT,
        "only_in": TEXT,
        "branch": TEXT,
        "breaks_out": {"enum": [False, True]},
        "effect": TEXT,
    },
    required=("id", "published", "component", "fixed_in", "effect"),
    only=reading.VULNERABILITY_ROW,
)
_PRECOMPILED: Final = _row(
    {"gpu_operator": LINE, "os": TEXT, "kernel": LINE, "flavours": _all_of(TEXT), "branches": _all_of(NUMBER)},
    required=("gpu_operator", "os", "kernel"),
)
_SYSTEMS: Final = _row(
    {"line": LINE, "listed": _all_of(SYSTEM), "by_partner": _all_of(SYSTEM), "google_installs": _all_of(TEXT)},
    required=("line",),
)
_LIVES: Final = _mapping(_row({"end_of_life": DAY, "extended_ends": DAY}, required=("end_of_life",)))
_DISTRIBUTIONS: Final = _row(
    {"line": LINE, "distribution": TEXT, "systems": _all_of(SYSTEM), "min": MINOR, "max": MINOR},
    required=("line", "distribution", "systems"),
)
_NEWEST_LINE: Final = _row({"line": LINE, "as_of": DAY, "note": TEXT}, required=("line", "as_of"))
_TAGS: Final = {"dcgm_exporter": "dcgm_exporter", "device_plugin": "operand", "nccl": "nccl"}

PLACES: Final[Mapping[str, Schema]] = {
    "gpu_operator.release_line": _all_of(LINE),
    "gpu_operator.releases": _mapping(_GPU_RELEASE),
    "gpu_operator.newest_line": _NEWEST_LINE,
    "network_operator.newest_line": _NEWEST_LINE,
    "network_operator.release_line": _all_of(LINE),
    "network_operator.releases": _mapping(_NETWORK_RELEASE),
    "container_runtimes.containerd": _all_of(
        _row({"gpu_operator": LINE, "min": MINOR, "max": MINOR, "note": TEXT}, required=("gpu_operator", "min", "max"))
    ),
    "container_runtimes.systems": _all_of(
        _row(
            {
                "gpu_operator": LINE,
                "network_operator": LINE,
                **{key: _all_of(SYSTEM) for key in ("containerd", "cri_o", "no_containerd", "no_cri_o")},
            }
        )
    ),
    "container_runtimes.containerd_life": _LIVES,
    "kubernetes_distributions.gpu_operator": _all_of(_DISTRIBUTIONS),
    "kubernetes_distributions.network_operator": _all_of(_DISTRIBUTIONS),
    "container_runtimes.kubernetes": _table(_all_of(_named("part"))),
    "container_runtimes.containerd_1": _row({"last_kubernetes": LINE}, required=("last_kubernetes",)),
    "network_servers.network_operator": _all_of(
        _row(
            {"line": LINE, "product": TEXT, "systems": _all_of(SYSTEM), "gpudirect_rdma": {"enum": [False, True]}},
            required=("line", "product", "systems"),
        )
    ),
    "network_adapters.network_operator": _all_of(
        _row({"line": LINE, "listed": _all_of(TEXT)}, required=("line", "listed"))
    ),
    "node_feature_discovery.network_operator": _all_of(
        _row({"line": LINE, "min": _named("part"), "max": _named("part")}, required=("line", "min", "max"))
    ),
    "gpudirect_storage.gpu_operator": _all_of(_row({"line": LINE, "listed": _all_of(SYSTEM)}, required=("line",))),
    "operating_systems.gpu_operator": _all_of(_SYSTEMS),
    "operating_systems.network_operator": _all_of(_SYSTEMS),
    "operating_systems.not_supported": _all_of(
        _row(
            {
                "operator": {"enum": [Component.GPU_OPERATOR, Component.NETWORK_OPERATOR]},
                "system": SYSTEM,
                "since": LINE,
                "cpu": TEXT,
                "fact": TEXT,
            },
            required=("operator", "system", "since", "fact"),
        )
    ),
    "operating_systems.oldest_kernel": _table(LINE),
    "vgpu.releases": _table(DRIVER),
    "vgpu.gpu_operator_min_arch": _row({"min_arch": TEXT}, required=("min_arch",)),
    "vgpu.gpu_operator_min": _row({"min": _named("part")}, required=("min",)),
    "dra_driver.chart": _all_of(
        _row(
            {
                "version": _named("dra_driver"),
                "gpu_operator": LINE,
                "min_kubernetes": _named("kubernetes"),
                "min_driver_branch": NUMBER,
            },
            required=("version", "gpu_operator", "min_kubernetes", "min_driver_branch"),
        )
    ),
    "dra_driver.managed": _row(
        {"gpu_operator": OPERATOR, "min_kubernetes": _named("kubernetes"), "min_driver_branch": NUMBER},
        required=("gpu_operator", "min_kubernetes", "min_driver_branch"),
    ),
    "ci_results.source": TEXT,
    "ci_results.confidence": _named("confidence"),
    "openshift.releases": _mapping(_OPENSHIFT_RELEASE),
    "openshift.known_bad_z_streams": _all_of(
        _row({"openshift": _named("openshift"), "breaks": TEXT, "ref": TEXT}, required=("openshift", "breaks"))
    ),
    "kubernetes.releases": _mapping(_row({"end_of_life": DAY}, required=("end_of_life",))),
    "kubernetes.amazon_eks": _LIVES,
    "kubernetes.google_gke": _LIVES,
    "mofed_kernel.min_ofed": _row({"since": LINE, "min": OFED}, required=("since", "min")),
    "mofed_kernel.validated_upper_kernel": _row(
        {"network_operator_line": LINE, "max_kernel": _named("kernel")},
        required=("network_operator_line", "max_kernel"),
    ),
    "mofed_kernel.stale_inventory": _row({"network_operator_line": LINE}, required=("network_operator_line",)),
    "mofed_kernel.rhel_added_by_release": _table(_all_of(LINE)),
    "driver.known_versions": _row(
        {"from_open_gpu_kernel_modules": _mapping(_all_of(DRIVER)), "from_gpu_operator_docs": _all_of(DRIVER)}
    ),
    "driver.lifecycle": _mapping(_row(_BRANCH, required=("kind", "end_of_life")), BRANCH_KEYS),
    "driver.nvidia_lifecycle_table_2026": _table(
        _row(_BRANCH, required=("kind", "end_of_life"), cited=""), BRANCH_KEYS
    ),
    "driver.min_kernel_by_branch": _table(LINE, BRANCH_KEYS),
    "driver.seen_on_kernel": _all_of(_row({"branch": NUMBER, "kernel": TEXT}, required=("branch", "kernel"))),
    "driver.precompiled": _all_of(_PRECOMPILED),
    "driver.container_kernels": _all_of(
        _row({"gpu_operator": LINE, "os": SYSTEM, "kernels": _all_of(LINE)}, required=("gpu_operator", "os"))
    ),
    "driver.module_type_auto": _row({"min_driver": DRIVER}, required=("min_driver",)),
    "driver.cuda_reported_by_branch": _table(CUDA, BRANCH_KEYS),
    "driver.documented_product_minimums": _all_of(
        _row({"product": TEXT, "min_driver": DRIVER, "requires": TEXT}, required=("product",))
    ),
    "driver.product_first_listed_in_open_module_readme": _table(DRIVER),
    "driver.product_first_listed_in_release_notes": _table(DRIVER),
    "driver.redistributed": _row({"values": _all_of(DRIVER)}),
    "cuda.toolkit": _table(DRIVER, within="linux_x86_64_min_driver"),
    "cuda.toolkit_newer": _table(DRIVER, within="linux_x86_64_min_driver"),
    "cuda.toolkit_older": _table(DRIVER, within="linux_x86_64_min_driver"),
    "cuda.numbered": _all_of(_row({"version": CUDA, "is": TEXT, "is_first": ANYTHING}, required=("version", "is"))),
    "cuda.never_released": _all_of(_row({"version": LINE, "evidence": TEXT}, required=("version",), cited="evidence")),
    "cuda.minor_version_floor": _table(DRIVER, BRANCH_KEYS),
    "gpu_architecture": _all_of(_ARCHITECTURE),
    "gpu_products.compute_capability": _table(_GPU_PRODUCT),
    "gpu_products.listed": _table(_GPU_PRODUCT),
    "gpu_products.gpu_operator": _all_of(_row({"line": LINE, "listed": _all_of(TEXT)}, required=("line", "listed"))),
    "gpu_products.embedded": _row(
        {"names": _all_of(TEXT), "with_discrete": _all_of(TEXT), "fact": TEXT}, required=("names", "fact")
    ),
    "gpu_products.cpu": _table(TEXT),
    "nic_firmware.bundled": _all_of(_row({"ofed": OFED, "firmware": _mapping(_named("firmware"))})),
    "nic_firmware.tested_pairs": _all_of(_row({"ofed": OFED, "tested_firmware": _mapping(_named("firmware"))})),
    "nic_firmware.release_train": _table(TEXT, BRANCH_KEYS),
    "nic_firmware.window": _table(_all_of(_named("firmware"))),
    "nic_firmware.not_supported": _all_of(
        _row(
            {"family": TEXT, "ofed_train": TEXT, "only_in": TEXT, "fact": TEXT},
            required=("family", "ofed_train", "fact"),
        )
    ),
    **{f"existing_tags.{name}": _row({"values": _all_of(_named(kind))}) for name, kind in _TAGS.items()},
    "gpudirect_rdma.dma_buf": _row(
        {"min_kernel": LINE, "min_cuda": CUDA, "min_arch": TEXT}, required=("min_kernel", "min_cuda", "min_arch")
    ),
    "gpudirect_rdma.gds_needs_open": _row({"min_gds": _named("part")}, required=("min_gds",)),
    "dcgm.driver_floor": _row({"min_driver_branch": NUMBER}, required=("min_driver_branch",)),
    "known_issues": _all_of(_ISSUE),
    "vulnerabilities": _all_of(_VULNERABILITY),
}
_SENTENCE: Final = _row({})
_HEAD: Final[Mapping[str, Schema]] = {
    "schema_version": {"description": "The version of this form.", "const": SCHEMA_VERSION},
    "generated": {
        "description": "The day of this file, and up to which day each repository was read.",
        **_row(
            {"on": DAY, "repos": _mapping(_row({"head": TEXT, "head_date": DAY}, required=("head_date",), cited=""))},
            required=("on",),
            cited="",
        ),
    },
    "sources": {
        "description": "The day on which a source was read, by its address.",
        **_mapping(_row({"read": DAY, "newest": DAY}, required=("read",), only=("read", "newest"), cited="")),
    },
}


def facts_schema() -> dict[str, Any]:
    """The schema of a file of facts: the package's own, a team's, or one of a bundle."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Compatibility facts",
        "description": "What goes with what, each with its source and how sure somebody is of it. Read by seatrial.",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            name: {"anyOf": [_HEAD.get(name) or _section(name, keys), {"type": "null"}]}
            for name, keys in reading.SECTIONS.items()
        },
        "definitions": {
            "text": {"type": "string", "pattern": r"\S"},
            "day": {
                "description": "A day, or a month, which means its last day.",
                **_pattern(r"[0-9]{4}-[0-9]{2}(-[0-9]{2})?"),
            },
            "confidence": {
                "description": "How sure it is. Only what was verified in its source can make a check fail.",
                "enum": [each.value for each in Confidence],
            },
            "minor": _pattern(r"[0-9]+\.[0-9]+(\.[0-9]+)*"),
            "bounds": {
                "description": "A version, or a bound such as >=v25.3.1; of a list, any of them.",
                "anyOf": [TEXT, _all_of(TEXT)],
            },
            "lines": {
                "description": "Release lines: from min to max, or a list where there are holes.",
                **_row({"min": MINOR, "max": MINOR, "list": _all_of(LINE)}, only=("min", "max", "list"), cited=""),
            },
            **{name: _version(kind) for name, kind in _VERSIONS.items()},
        },
    }


def facts_schema_text() -> str:
    """The schema as the published file holds it."""
    return json.dumps(facts_schema(), indent=2, ensure_ascii=False) + "\n"


def _section(name: str, keys: Collection[str]) -> Schema:
    if not keys:
        return PLACES.get(name, ANYTHING)
    properties = {key: {"anyOf": [place_of(f"{name}.{key}"), {"type": "null"}]} for key in sorted(keys)}
    return {"type": "object", "additionalProperties": False, "properties": properties}


def place_of(place: str) -> Schema:
    """What may stand at a place."""
    return PLACES.get(place) or (_SENTENCE if place in SENTENCES else ANYTHING)


def _version(kind: type[Version]) -> Schema:
    form = kind.form
    # A named group is the one thing in these patterns that JavaScript writes differently; editors need no names.
    return {
        "description": f"{form.shape}, e.g. {form.example}. {form.advice}",
        **_pattern(_NAMED_GROUP.sub("(", form.pattern.pattern)),
    }


def _pattern(pattern: str) -> Schema:
    return {"type": "string", "pattern": f"^(?:{pattern})$"}
