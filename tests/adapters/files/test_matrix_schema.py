"""The published schema: current, and of one mind with the reader about the shape of a file."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import yaml

from seatrial.adapters.files import matrix_schema
from seatrial.adapters.files.matrix_yaml import read_matrix

ROOT = Path(__file__).parents[3]
MATRICES = ROOT / "tests" / "data" / "matrices"
SCHEMA = matrix_schema.matrix_schema()
GOOD = "versions:\n  current:\n    driver: '565.77'\n"


def accepts(schema: Any, value: Any) -> bool:
    """As much of JSON Schema as our schema uses; an unknown word in it is an error."""
    if "$ref" in schema:
        return accepts(SCHEMA["definitions"][schema["$ref"].rpartition("/")[2]], value)
    checks: dict[str, Callable[[Any], bool]] = {
        "type": lambda kind: isinstance(value, {"object": dict, "string": str, "array": list}[kind]),
        "properties": lambda known: all(
            accepts(inner, value[name]) for name, inner in known.items() if isinstance(value, dict) and name in value
        ),
        "additionalProperties": lambda rest: all(
            rest is not False and accepts(rest, inner)
            for name, inner in value.items()
            if name not in schema["properties"]
        ),
        "required": lambda names: all(name in value for name in names),
        "items": lambda inner: all(accepts(inner, item) for item in value),
        "allOf": lambda all_of: all(accepts(inner, value) for inner in all_of),
        "anyOf": lambda any_of: any(accepts(inner, value) for inner in any_of),
        "not": lambda inner: not accepts(inner, value),
        "const": lambda wanted: value == wanted,
        "enum": lambda allowed: value in allowed,
        "pattern": lambda pattern: re.search(pattern, value) is not None,
        "minLength": lambda length: len(value) >= length,
        "if": lambda question: accepts(schema["then" if accepts(question, value) else "else"], value),
    }
    silent = {"$schema", "title", "description", "definitions", "then", "else", "format"}
    return all(checks[word](told) for word, told in schema.items() if word not in silent)


def test_the_published_schema_is_current() -> None:
    published = ROOT / "docs" / "reference" / matrix_schema.FILE_NAME

    assert published.read_text(encoding="utf-8") == matrix_schema.matrix_schema_text(), (
        "run `seatrial matrix schema > docs/reference/matrix.schema.json`"
    )


def test_no_pattern_is_one_that_only_python_understands() -> None:
    assert "(?P" not in matrix_schema.matrix_schema_text()


@pytest.mark.parametrize("name", ["plain.yaml", "configmap.yaml"])
def test_the_examples_are_valid(name: str) -> None:
    example = yaml.safe_load((MATRICES / name).read_text())

    assert accepts(SCHEMA, example)
    inner = example.get("data", {}).get("matrix.yaml")
    assert inner is None or accepts(SCHEMA, yaml.safe_load(inner))


def test_what_init_writes_is_valid_and_points_at_the_schema() -> None:
    template = resources.files("seatrial.adapters.files").joinpath("matrix_template.yaml").read_text(encoding="utf-8")

    assert template.startswith(f"# yaml-language-server: $schema={matrix_schema.FILE_NAME}\n")
    assert accepts(SCHEMA, yaml.safe_load(template))
    assert read_matrix(template, "m.yaml").findings == ()


@pytest.mark.parametrize(
    "text",
    [
        "versions: 3\n",
        "versions: {canary: {driver: '565.77'}}\n",
        "versions: {current: {driver: 565.77}}\n",
        "kind: Deployment\n",
        "kind: ConfigMap\ndata: {a: b}\n",
        "version: {current: {}}\n",
        GOOD + "    gpu_driver: '565.77'\n",
        GOOD + "    gpu_drivr: '565.77'\n",
        GOOD + "    kernel: 6.x TBD\n",
        GOOD + "    accept: [lifecycle]\n",
        GOOD + "    accept: [{rule: lifecycle}]\n",
        GOOD + "    hardware: {rdma: tcp}\n",
        GOOD + "    deployed: 'tomorrow'\n",
        GOOD + "  production: {driver: '565.77'}\n",
        GOOD + "ruls: []\n",
        GOOD + "rules: none\n",
        GOOD + "rules: [{nam: x}]\n",
        GOOD + "  rules: []\n",
    ],
)
def test_schema_and_reader_refuse_the_same_files(text: str) -> None:
    assert not accepts(SCHEMA, yaml.safe_load(text))
    assert read_matrix(text, "m.yaml").findings


def test_schema_and_reader_accept_the_same_extras() -> None:
    text = (
        GOOD + "    hardware: {arch: hopper}\n    accept: [{rule: x, reason: y, until: '2027-01-31'}]\n    bad: slow\n"
    )

    assert accepts(SCHEMA, yaml.safe_load(text))
    assert [finding.rule for finding in read_matrix(text, "m.yaml").findings] == ["production-bad"]


@pytest.mark.parametrize("text", [GOOD, "current:\n  driver: '565.77'\n"])
def test_schema_and_reader_accept_the_same_rules_in_words(text: str) -> None:
    text += "rules:\n- {name: a, rule: b, check: c, rationale: d}\n- in one sentence\n"

    assert accepts(SCHEMA, yaml.safe_load(text))
    assert read_matrix(text, "m.yaml").findings == ()
