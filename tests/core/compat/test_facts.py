"""The knowledge base: the committed file is what the data gives, and every question has an answer with its source."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from dataclasses import fields
from datetime import date
from types import ModuleType
from typing import Any

import pytest

from seatrial.core.compat import facts as knowledge
from seatrial.core.compat.facts import Cite, Existence, FactInvalid, Facts, read
from seatrial.core.compat.facts.reading import READERS
from seatrial.core.compat.facts.sections import FOR_PEOPLE, Reader, reads
from seatrial.core.compat.facts.spots import Spot
from seatrial.core.compat.findings import Confidence
from seatrial.core.compat.matrix import Component
from seatrial.core.compat.versions import (
    CudaVersion,
    DriverVersion,
    KernelVersion,
    Line,
    OfedVersion,
    OpenShiftVersion,
    OperatorVersion,
)
from tests.core.compat.knowledge import ROOT, facts

MINE = {"source": "our lab", "confidence": "verified-in-source"}


def builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_facts", ROOT / "data" / "build_facts.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def whole() -> dict[str, Any]:
    made = builder()
    data: dict[str, Any] = made.whole(made.load(made.DATA), made.load(made.SUPPLEMENT))
    return data


def operator(text: str) -> OperatorVersion:
    return OperatorVersion.parse(text)


# ── the data and the committed file ───────────────────────────────────────────────────────────────────────────────────


def test_the_committed_file_is_what_the_script_writes() -> None:
    """Run `make facts` when this fails."""
    made = builder()
    assert made.WRITTEN.read_text(encoding="utf-8") == made.text_of(whole())


def test_the_data_has_no_problem() -> None:
    assert list(builder().check(whole())) == []


def test_holes_and_false_references_are_found() -> None:
    data = whole()
    data["gpu_operator"] = {
        **data["gpu_operator"],
        "release_line": ["24.3", "23.9"],
        "source_disagreements": [{"release": "v1.2.3"}],
        "never_released": [{"version": "v24.9.0", "evidence": "x", "confidence": "memory"}],
    }
    data["mofed_kernel"]["rhel_added_by_release"]["values"] = {"v99.1.0": ["9.9"]}
    data["openshift"]["releases"]["4.16"]["rhel"] = "9.6"
    data["dcgm"]["exporter_tag"] = {"fact": "x", "source": "find_string id 1"}
    problems = " ".join(builder().check(data))
    for word in (
        "not in order",
        "differ",
        "v1.2.3",
        "v24.9.0",
        "v99.1.0",
        "RHEL 9.6",
        "go together",
        "reader can find",
    ):
        assert word in problems


def test_what_the_reader_refuses_the_script_refuses() -> None:
    data = {**whole(), "drivers": {}}
    assert list(builder().check(data)) == ["drivers: there is no such key. Did you mean 'driver'?"]


def without(data: dict[str, Any], places: Iterable[str]) -> dict[str, Any]:
    """The data with these places taken out."""
    left = {name: dict(each) if isinstance(each, dict) else each for name, each in data.items()}
    for place in places:
        section, _, key = place.partition(".")
        if key:
            left.get(section, {}).pop(key, None)
        else:
            left.pop(section, None)
    return left


def spoiled(data: dict[str, Any], place: str) -> dict[str, Any]:
    """The data with something at a place that is no fact."""
    section, _, key = place.partition(".")
    return {**data, section: {**data[section], key: 17} if key else 17}


def taken(reader: Reader, data: dict[str, Any]) -> dict[str, Any]:
    """What one reader makes of data, field by field."""
    found = reader(Spot(data), Facts(built_on=date.min, known_until=date.min))
    return {each.name: getattr(found, each.name) for each in fields(Facts)}


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.take.__name__)
def test_a_reader_looks_where_it_says_and_nowhere_else(reader: Reader) -> None:
    data, other = whole(), [place for each in READERS if each is not reader for place in each.places]
    elsewhere = {*other, *FOR_PEOPLE} - set(reader.places)
    assert taken(reader, without(data, elsewhere)) == taken(reader, data)
    for place in reader.places:
        with pytest.raises(FactInvalid):
            taken(reader, spoiled(data, place))


def test_what_is_there_for_people_is_read_by_nobody_and_is_there() -> None:
    data = whole()
    assert set(FOR_PEOPLE) & {place for reader in READERS for place in reader.places} == set()
    assert without(data, FOR_PEOPLE) != data
    assert [place for place in FOR_PEOPLE if without(data, [place]) == data] == []


def test_a_reader_has_a_place() -> None:
    with pytest.raises(TypeError, match="place"):
        reads()(lambda _whole, known: known)  # type: ignore[call-arg]


# ── questions ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_it_knows_its_day_and_the_end_of_its_sources() -> None:
    assert (facts().built_on, facts().known_until) == (date(2026, 11, 16), date(2026, 8, 22))


def test_questions_about_operators() -> None:
    known = facts()
    release = known.gpu_operator(operator("24.9.0"))
    assert release is not None
    assert release.driver == DriverVersion.parse("550.127.05")
    assert known.lines_between(Component.GPU_OPERATOR, "24.6", "25.3") == ("24.6", "24.9", "25.3")
    assert known.lines_between(Component.GPU_OPERATOR, "24.6", "24.12") == ()
    assert known.network_operator(operator("v25.2.0")) is None


@pytest.mark.parametrize(
    ("text", "existence"),
    [
        ("v24.9.0", Existence.RELEASED),
        ("v24.12.0", Existence.NEVER),
        ("v26.3.9", Existence.NEWER),
        ("v27.1.0", Existence.NEWER),
        ("v20.1.0", Existence.UNLISTED),
    ],
)
def test_a_hole_in_a_complete_list_is_a_release_that_never_was(text: str, existence: Existence) -> None:
    assert facts().existence(Component.GPU_OPERATOR, operator(text)) is existence


def test_questions_about_platform_and_driver() -> None:
    known = facts()
    minor = known.openshift(OpenShiftVersion.parse("4.17.5"))
    assert minor is not None
    assert (minor.kernel_stream, minor.kernel_dist, minor.rhel.text) == ("5.14.0-427", "el9_4", "9.4")
    assert known.openshift("4.99") is None
    branch, floor = known.driver_branch(535), known.min_kernel(555)
    assert branch is not None
    assert (branch.end_of_life, branch.cite.confidence) == (date(2026, 6, 30), Confidence.VERIFIED), (
        "NVIDIA's table wins"
    )
    assert floor is not None
    assert floor.kernel == Line.parse("4.15")
    toolkit = known.toolkit(CudaVersion.parse("12.8"))
    assert toolkit is not None
    assert toolkit.driver == DriverVersion.parse("570.26")
    assert known.driver(DriverVersion.parse("999.1")) is None


def test_confidence_belongs_to_the_part_of_a_row_it_is_about() -> None:
    minor = facts().openshift("4.22")
    assert minor is not None
    assert minor.kernel_cite.confidence is Confidence.SECONDARY
    assert minor.rhel_cite.confidence is Confidence.VERIFIED


def test_firmware_is_found_by_mofed_and_family() -> None:
    pair = facts().firmware_pair(OfedVersion.parse("26.01-1.0.0.0"), "ConnectX-7")
    assert pair is not None
    assert pair.firmware["ConnectX-7"].text == "28.48.1000"


def test_a_sentence_nobody_said_is_nobodys_word() -> None:
    assert facts().cite("no.such.path") == Cite(source="no.such.path", confidence=Confidence.MEMORY)


# ── facts of a user's own ─────────────────────────────────────────────────────────────────────────────────────────────


def over(data: dict[str, Any]) -> Facts:
    return facts().under(read(data))


def test_a_release_of_the_users_own_extends_the_line_and_keeps_its_source() -> None:
    known = over({"gpu_operator": {"releases": {"v26.10.0": MINE}}})
    row = known.gpu_operator(operator("v26.10.0"))
    assert row is not None
    assert row.cite == Cite(source="our lab", confidence=Confidence.VERIFIED)
    assert known.lines_between(Component.GPU_OPERATOR, "26.7", "26.10") == ("26.7", "26.10")


def test_a_driver_is_added_to_a_known_release_without_losing_the_rest() -> None:
    listed = {**MINE, "documented": {**MINE, "drivers": [{"version": "580.105.08"}]}}
    row = over({"gpu_operator": {"releases": {"v24.9.0": listed}}}).gpu_operator(operator("v24.9.0"))
    assert row is not None
    assert row.drivers[DriverVersion.parse("580.105.08")].source == "our lab"
    assert DriverVersion.parse("565.57.01") in row.drivers
    assert row.operands
    assert row.bundle is not None


def test_a_kernel_somebody_saw_working_is_known_from_then_on() -> None:
    kernel = KernelVersion.parse("6.14.0-100-generic")
    assert facts().kernel_seen(580, kernel) is None
    seen = over({"driver": {"seen_on_kernel": [{"branch": 580, "kernel": "6.14.0 generic", **MINE}]}})
    assert seen.kernel_seen(580, kernel) == Cite(source="our lab", confidence=Confidence.VERIFIED)
    assert seen.kernel_seen(570, kernel) is None


def test_an_architecture_somebody_added_is_the_newest() -> None:
    known = over({"gpu_architecture": [{"arch": "Rubin", "open_modules": "required", **MINE}]})
    rubin, blackwell = known.architecture("rubin"), known.architecture("Blackwell")
    assert rubin is not None
    assert blackwell is not None
    assert rubin.age > blackwell.age


@pytest.mark.parametrize(
    ("data", "path", "word"),
    [
        ({"gpu_operater": {}}, ("gpu_operater",), "Did you mean 'gpu_operator'"),
        ({"driver": {"livecycle": {}}}, ("driver", "livecycle"), "Did you mean 'lifecycle'"),
        ({"gpu_operator": {"releases": {"24.9": MINE}}}, ("gpu_operator", "releases", "24.9"), "unreadable"),
        ({"gpu_operator": {"releases": {"v24.9.0": {}}}}, ("gpu_operator", "releases", "v24.9.0"), "confidence"),
        (
            {"gpu_operator": {"releases": {"v24.9.0": {"source": "x", "confidence": "sure"}}}},
            ("gpu_operator", "releases", "v24.9.0", "confidence"),
            "expected one of",
        ),
        (
            {
                "gpu_operator": {
                    "releases": {"v24.9.0": {**MINE, "documented": {**MINE, "openshift": {"min": "4.9", "max": "4.8"}}}}
                }
            },
            ("gpu_operator", "releases", "v24.9.0", "documented", "openshift"),
            "min is above max",
        ),
        (
            {"gpu_operator": {"releases": {"v24.9.0": {**MINE, "documented": {**MINE, "openshift": {"list": []}}}}}},
            ("gpu_operator", "releases", "v24.9.0", "documented", "openshift"),
            "empty",
        ),
        (
            {"driver": {"lifecycle": {"x": {"kind": "PB", "end_of_life": "2026", **MINE}}}},
            ("driver", "lifecycle", "x"),
            "a number",
        ),
        (
            {"driver": {"lifecycle": {"580": {"kind": "PB", "end_of_life": "soon", **MINE}}}},
            ("driver", "lifecycle", "580", "end_of_life"),
            "a day",
        ),
        (
            {"known_issues": [{"when": {"gpu_driver": 5}, "effect": "x", **MINE}]},
            ("known_issues", 0, "when", "gpu_driver"),
            "a text",
        ),
        ({"known_issues": {}}, ("known_issues",), "a list"),
        (
            {"gpu_architecture": [{"arch": "X", "min_driver_branch": "570", **MINE}]},
            ("gpu_architecture", 0, "min_driver_branch"),
            "whole",
        ),
        ({"schema_version": 2}, ("schema_version",), "Update seatrial"),
        (
            {"network_operator": {"releases": {"v26.1.0": {**MINE, "olm_openshift_versions": "all"}}}},
            ("network_operator", "releases", "v26.1.0", "olm_openshift_versions"),
            "v4.14-v4.16",
        ),
        (
            {"network_operator": {"releases": {"v26.1.0": {**MINE, "chart_kube_version": "any"}}}},
            ("network_operator", "releases", "v26.1.0", "chart_kube_version"),
            ">= 1.21.0",
        ),
        ([], (), "a mapping"),
    ],
)
def test_a_fact_that_does_not_fit_is_refused_with_its_path(data: Any, path: tuple[Any, ...], word: str) -> None:
    with pytest.raises(FactInvalid, match=word) as refused:
        knowledge.read(data)
    assert refused.value.path == path
