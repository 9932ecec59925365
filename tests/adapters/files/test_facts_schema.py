"""The published schema of facts: current, true of what we ship, and of one mind with the reader."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.files.facts import schema as facts_schema
from seatrial.adapters.files.facts.knowledge import FactsFileInvalid, load_own, load_user_facts
from seatrial.core.compat import facts
from seatrial.core.compat.facts.reading import READERS
from seatrial.core.compat.facts.sections import SENTENCES
from tests.adapters.files.json_schema import problems

ROOT = Path(__file__).parents[3]
SCHEMA = facts_schema.facts_schema()


def found(data: Any) -> list[str]:
    return list(problems(SCHEMA, data, SCHEMA))


def test_the_published_schema_is_current() -> None:
    published = ROOT / "docs" / "reference" / "facts.schema.json"
    assert published.read_text(encoding="utf-8") == facts_schema.facts_schema_text(), "run `make docs`"


def test_the_shipped_facts_are_valid() -> None:
    assert found(load_own()) == []


def test_every_place_that_a_reader_reads_is_described() -> None:
    """Describe a new one in PLACES of adapters/files/facts/schema.py."""
    read = {place for reader in READERS for place in reader.places}
    assert read - set(facts_schema.PLACES) - set(SENTENCES) == set()
    assert set(facts_schema.PLACES) <= read


def test_no_pattern_is_one_that_only_python_understands() -> None:
    assert "(?P" not in facts_schema.facts_schema_text()


ROW = {"source": "our lab", "confidence": "memory"}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"drivers": {}}, ".drivers: unknown"),
        ({"driver": {"livecycle": {}}}, ".driver.livecycle: unknown"),
        ({"schema_version": 2}, ".schema_version: const"),
        ({"generated": {"repos": {}}}, ".generated.on: required"),
        ({"generated": {"on": "soon"}}, ".generated.on: pattern"),
        ({"sources": {"x": {"red": "2026-11-15"}}}, ".sources.x.red: unknown"),
        (
            {"gpu_operator": {"releases": {"v1.2.3": {"source": "x"}}}},
            ".gpu_operator.releases.v1.2.3.confidence: required",
        ),
        (
            {"gpu_operator": {"releases": {"v1.2.3": {**ROW, "confidence": "sure"}}}},
            ".gpu_operator.releases.v1.2.3.confidence: enum",
        ),
        (
            {"gpu_operator": {"releases": {"v1.2.3": {**ROW, "relased": "x"}}}},
            ".gpu_operator.releases.v1.2.3.relased: unknown",
        ),
        ({"driver": {"redistributed": {**ROW, "values": [580]}}}, ".driver.redistributed.values.0: type"),
        ({"driver": {"redistributed": {**ROW, "values": ["v580"]}}}, ".driver.redistributed.values.0: pattern"),
        (
            {"driver": {"min_kernel_by_branch": {**ROW, "values": {"R580": "4.18"}}}},
            ".driver.min_kernel_by_branch.values.R580: pattern",
        ),
        ({"vulnerabilities": [{**ROW}]}, ".vulnerabilities.0.component: required"),
        ({"known_issues": {}}, ".known_issues: type"),
    ],
)
def test_what_the_schema_refuses_the_reader_refuses(data: dict[str, Any], problem: str) -> None:
    assert problem in found(data)
    with pytest.raises(facts.FactInvalid):
        facts.read(data)


def ways(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to everything in a value."""
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [way] * bool(way) + [each for key, inner in below for each in ways(inner, (*way, key))]


def test_what_the_reader_refuses_of_a_damaged_row_the_schema_refuses_too() -> None:
    """Each value of a small file that uses many places is replaced by a list of nonsense, one at a time."""
    whole = load_own()
    small = {
        "gpu_operator": {"releases": {"v24.9.0": whole["gpu_operator"]["releases"]["v24.9.0"]}},
        "openshift": {"releases": {"4.16": whole["openshift"]["releases"]["4.16"]}},
        "driver": {
            key: whole["driver"][key] for key in ("lifecycle", "module_type_auto", "precompiled", "redistributed")
        },
        "gpu_architecture": whole["gpu_architecture"][:1],
        "vulnerabilities": whole["vulnerabilities"][:1],
        "dra_driver": whole["dra_driver"],
    }
    small["driver"]["lifecycle"] = dict(list(small["driver"]["lifecycle"].items())[:1])
    small["driver"]["precompiled"] = small["driver"]["precompiled"][:1]
    assert found(small) == []
    refused, missed = 0, []
    for way in ways(small):
        damaged = copy.deepcopy(small)
        place: Any = damaged
        for step in way[:-1]:
            place = place[step]
        place[way[-1]] = [{}]
        try:
            facts.read(damaged)
        except facts.FactInvalid:
            refused += 1
            missed += [] if found(damaged) else [way]
    assert refused > 50
    assert missed == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "gpu_operator: {releases: {v26.10.0: {source: x}}}",
            ("v26.10.0: needs 'confidence'", "confidence: secondary"),
        ),
        ("gpu_operator: {releases: {v26.10.0: {confidence: memory}}}", ("needs 'source'", "source: https://")),
        ("driver: {redistributed: {source: x, confidence: memory, values: [580]}}", ("values.0", 'e.g. "560.35.03"')),
        (
            "driver: {redistributed: {source: x, confidence: memory, values: 580}}",
            ("values: expected a list", "e.g. [a, b]"),
        ),
        (
            "dcgm: {driver_floor: {source: x, confidence: memory, min_driver_branch: R580}}",
            ("min_driver_branch", "e.g. 580"),
        ),
        ("generated: {on: soon}", ("generated.on", "2026-06-01")),
        ("gpu_operator: 5", ("gpu_operator: expected a mapping", "e.g. {key: value}")),
    ],
)
def test_an_error_names_the_field_and_gives_an_example(tmp_path: Path, text: str, words: tuple[str, ...]) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(FactsFileInvalid) as refused:
        load_user_facts(file)
    for word in words:
        assert word in str(refused.value)
