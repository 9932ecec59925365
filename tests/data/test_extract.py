"""Facts that programs derive: the parsers on small texts of the same shape, and every row with somebody behind it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from data.extract import __main__ as deriving
from data.extract import endoflife, gpu_operator, network_operator
from data.extract.checkouts import Checkouts
from data.extract.rows import BY_HAND, DOUBTED, EXTRACTORS, Row, extractor_of, is_by_hand, rows

DATA = Path(__file__).parents[2] / "data" / "compat-facts.yaml"

VALUES = """\
cdi: {enabled: true}
driver:
  kernelModuleType: auto
  version: "580.1.2"
  manager: {version: v0.9.0}
toolkit: {version: v1.2.3}
devicePlugin: {version: v0.4.0}
dcgm: {version: 4.5.6-1-distro}
dcgmExporter: {version: 4.5.6-7.8.9-distro}
gfd: {version: v0.4.0}
migManager: {version: v0.5.0}
gds: {version: "2.3.4"}
"""
CHART = "dependencies:\n- {name: node-feature-discovery, version: 0.1.2}\n- {name: another, version: 9.9.9}\n"
ANNOTATIONS = "annotations:\n  com.redhat.openshift.versions: v4.14-v4.21\n"
CSV = """\
metadata: {annotations: {olm.skipRange: '>=1.9.0 <30.1.0'}}
spec:
  version: 30.1.0
  replaces: an-operator.v29.9.0
  relatedImages:
  - {name: driver-image, image: registry.example/driver@sha256:aa}
  - {name: driver-image-570, image: registry.example/driver@sha256:bb}
  - {name: dcgm-image, image: 'registry.example/dcgm:4.5.6@sha256:cc'}
  - {name: mig-manager-image, image: 'registry.example/mig:1@sha256:dd'}
  - {name: device-plugin-image, image: registry.example/plugin:not-by-digest}
"""
RELEASE = """\
NetworkOperator: {version: v30.1.0}
SriovNetworkOperator: {version: network-operator-v30.1.0}
Mofed: {version: doca3.9.0-30.01-0.1.2.0-3}
"""
PAGE = """\
---
title: A product
releases:
  - releaseCycle: "1.50"
    releaseDate: 2030-01-02
    eol: 2031-03-04
  - releaseCycle: "r700-linux"
    releaseLabel: "R700-Linux (PB)"
    releaseDate: 2030-01-02
    eol: false
    latest: "700.1.2"
  - releaseCycle: "4.50"
    releaseDate: 2030-01-02
    eol: 2031-03-04
    eoes: 2032-05-06
---
Words.
"""


def shipped() -> list[Row]:
    return list(rows(yaml.load(DATA.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)))


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A folder with a repository of each vendor, with one tag."""
    for name, files in {
        "NVIDIA/gpu-operator": {
            gpu_operator.VALUES: VALUES,
            gpu_operator.CHART: CHART,
            gpu_operator.ANNOTATIONS: ANNOTATIONS,
            gpu_operator.CSV: CSV,
        },
        "Mellanox/network-operator": {
            network_operator.RELEASE: RELEASE,
            network_operator.CHART: "kubeVersion: '>= 1.30'",
        },
    }.items():
        folder = tmp_path / name
        for file, text in files.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text)
        identity = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
        for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "x"], ["tag", "v30.1.0"]):
            subprocess.run(["git", "-C", str(folder), *words], check=True)
    return tmp_path


# ── the parsers ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_operands_of_a_gpu_operator_are_in_its_chart() -> None:
    assert gpu_operator.of_values(VALUES, CHART) == {
        "operands": {
            "driver": "580.1.2",
            "driver_manager": "v0.9.0",
            "container_toolkit": "v1.2.3",
            "device_plugin": "v0.4.0",
            "dcgm": "4.5.6-1-distro",
            "dcgm_exporter": "4.5.6-7.8.9-distro",
            "gfd": "v0.4.0",
            "mig_manager": "v0.5.0",
            "gds": "2.3.4",
            "nfd_chart": "0.1.2",
        },
        "kernel_module_default": "auto",
        "cdi_enabled_default": True,
    }


@pytest.mark.parametrize(
    ("driver", "modules"), [("{}", "proprietary"), ("{useOpenKernelModules: true}", "open"), ("", "proprietary")]
)
def test_modules_had_another_field_once(driver: str, modules: str) -> None:
    assert gpu_operator.of_values(f"driver: {driver}\n", "{}")["kernel_module_default"] == modules


def test_a_bundle_says_where_it_may_go_and_which_images_it_has() -> None:
    assert gpu_operator.of_bundle(ANNOTATIONS, CSV) == {
        "openshift": {"min": "4.14", "max": "4.21"},
        "skip_range": ">=1.9.0 <30.1.0",
        "replaces": "an-operator.v29.9.0",
        "csv_version": "30.1.0",
        "image_digests": {"driver-image": "sha256:aa", "driver-image-570": "sha256:bb", "dcgm-image": "sha256:cc"},
    }


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("v4.9-v4.13", {"min": "4.9", "max": "4.13"}),
        ("v4.12", {"min": "4.12"}),
        ("4.10-4.14", {"min": "4.10", "max": "4.14"}),
    ],
)
def test_a_range_of_openshift_is_read_as_it_is_written(text: str, found: dict[str, str]) -> None:
    assert gpu_operator.openshift_range(f"annotations: {{com.redhat.openshift.versions: {text}}}") == found


@pytest.mark.parametrize(
    ("container", "parts"),
    [
        ("doca3.9.0-30.01-0.1.2.0-3", {"doca": "3.9.0", "ofed": "30.01-0.1.2.0", "build": "3"}),
        ("24.01-0.3.3.1-0", {"ofed": "24.01-0.3.3.1", "build": "0"}),
        ("23.10-0.5.5.0", {"ofed": "23.10-0.5.5.0"}),
    ],
)
def test_a_driver_container_is_taken_apart(container: str, parts: dict[str, str]) -> None:
    assert network_operator.of_release(f"Mofed: {{version: {container}}}", "", "") == {
        "driver_container": container,
        **parts,
    }


@pytest.mark.parametrize("named", ["mofed-version", "doca-driver-version"])
@pytest.mark.parametrize(
    "least", ["NVIDIA GPU Operator Version 30.1.x or newer", "**NVIDIA GPU Operator v30.1.x or newer**"]
)
def test_documents_name_kubernetes_the_gpu_operator_and_the_drivers(named: str, least: str) -> None:
    support = f"   * - Kubernetes\n     - >=1.30 and <=1.34.2\n     -\n* {least} (for GPUs)\n"
    variables = f".. |{named}| replace:: 30.01-0.1.2.0-3\n.. |{named}-lts| replace:: 29.10-0.1.2.0-0\n"

    assert network_operator.of_documents(support, variables) == {
        "kubernetes": {"min": "1.30", "max": "1.34.2"},
        "gpu_operator_min": "30.1",
        "driver_container": "30.01-0.1.2.0-3",
        "driver_container_lts": "29.10-0.1.2.0-0",
    }
    assert network_operator.of_documents("", "") == {}


def test_days_are_taken_from_a_page_where_they_are_days() -> None:
    assert endoflife.of_kubernetes(PAGE, "1.50") == {"released": "2030-01-02", "end_of_life": "2031-03-04"}
    assert endoflife.of_driver(PAGE, "700") == {"kind": "PB", "first_release": "2030-01-02", "latest_known": "700.1.2"}
    assert endoflife.of_openshift(PAGE, "4.50") == {
        "released": "2030-01-02",
        "maintenance_ends": "2031-03-04",
        "eus_ends": "2032-05-06",
    }
    assert endoflife.of_eks(PAGE, "4.50") == {
        "released": "2030-01-02",
        "end_of_life": "2031-03-04",
        "extended_ends": "2032-05-06",
    }
    assert endoflife.of_kubernetes(PAGE, "1.51") == {}


# ── rows ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_shipped_row_is_derived_by_a_program_or_said_to_be_read_by_hand() -> None:
    unexplained = [(".".join(row.path), row.source) for row in shipped() if not (extractor_of(row) or is_by_hand(row))]

    assert unexplained == []


def test_nobody_is_named_who_has_no_row() -> None:
    found = shipped()

    assert {each.name for each in EXTRACTORS} == {each.name for row in found if (each := extractor_of(row))}
    assert [pattern.pattern for pattern in BY_HAND if not any(pattern.search(row.source) for row in found)] == []
    assert set(DOUBTED) <= {".".join(row.path) for row in found}


def test_a_row_that_a_program_derives_was_not_also_read_by_hand() -> None:
    assert [row.path for row in shipped() if extractor_of(row) and is_by_hand(row)] == []


# ── comparing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def release_row(**fields: Any) -> dict[str, Any]:
    return {
        "driver_container": "doca3.9.0-30.01-0.1.2.0-3",
        "source": "github:Mellanox/network-operator@v30.1.0:hack/release.yaml",
        "confidence": "verified-in-source",
        **fields,
    }


def outcome_of(row: dict[str, Any], sources: Path) -> deriving.Outcome:
    (found,) = rows({"network_operator": {"releases": {"v30.1.0": row}}})
    return deriving.outcome(found, Checkouts(folder=sources))


def derived_day(sources: Path) -> str:
    checkout = Checkouts(folder=sources).of("Mellanox/network-operator")
    assert checkout is not None
    return checkout.day("v30.1.0")


def test_a_row_equal_to_what_its_source_says_is_equal(sources: Path) -> None:
    row = release_row(
        released=derived_day(sources),
        doca="3.9.0",
        ofed="30.01-0.1.2.0",
        build="3",
        sriov_network_operator="network-operator-v30.1.0",
        file_says_version="v30.1.0",
        chart_kube_version=">= 1.30",
        note="what no program derives is left alone",
    )

    assert outcome_of(row, sources).state == deriving.EQUAL


def test_a_row_that_differs_says_in_which_field(sources: Path) -> None:
    found = outcome_of(release_row(ofed="30.01-9.9.9.0"), sources)

    assert found.state == deriving.DIFFERENT
    assert "ofed is '30.01-9.9.9.0', derived is '30.01-0.1.2.0'" in found.differences


def test_a_source_that_nobody_fetched_is_told_apart_from_a_difference(sources: Path, tmp_path: Path) -> None:
    gone = release_row(source="github:Mellanox/network-operator@v99.9.9:hack/release.yaml")

    assert outcome_of(gone, sources).state == deriving.ABSENT
    assert outcome_of(release_row(), tmp_path / "nothing").state == deriving.ABSENT


def test_a_page_read_by_a_person_is_said_to_be(sources: Path) -> None:
    assert outcome_of(release_row(source="docs.nvidia.com/a/page"), sources).state == deriving.BY_HAND


def test_a_release_that_is_not_in_the_data_is_proposed_with_its_source(sources: Path) -> None:
    data = {"gpu_operator": {"releases": {"v30.1.0": {}}}, "network_operator": {"releases": {}}}

    ((path, row),) = deriving.proposals(data, Checkouts(folder=sources))

    assert path == ("network_operator", "releases", "v30.1.0")
    assert row["ofed"] == "30.01-0.1.2.0"
    assert row["released"] == derived_day(sources)
    assert row["source"] == "github:Mellanox/network-operator@v30.1.0:hack/release.yaml"
    assert row["confidence"] == "verified-in-source"
