"""A matrix inside a ConfigMap, in every way YAML and JSON write a text: read, with places in the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.adapters.files.matrix_edit import EditRefused, promote, set_value
from seatrial.adapters.files.matrix_yaml import read_matrix
from seatrial.adapters.files.yaml_text import text_layer
from seatrial.adapters.files.yaml_tree import MappingNode, outer_layer, parse
from seatrial.core.compat import moves
from seatrial.core.compat.matrix import Component, Matrix, Note, Role, Span

MATRICES = Path(__file__).parents[2] / "data" / "matrices"
INNER = yaml.safe_load((MATRICES / "configmap.yaml").read_text())["data"]["matrix.yaml"]
SMALL = "current:\n  driver: '565.77'\n  notes: it's \"fine\" \\ here\n  kernel: 6.x TBD\n"

FETCHED = """\
apiVersion: v1
data:
  matrix.yaml: "current:\\n  driver: '565.77'\\n  notes: \\"a	tab keeps kubectl from writing a
    block\\"\\n  kernel: 6.x TBD\\n"
kind: ConfigMap
metadata:
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: |
      {"apiVersion":"v1","data":{"matrix.yaml":"current:\\n"},"kind":"ConfigMap"}
  creationTimestamp: "2026-10-01T08:00:00Z"
  managedFields:
  - apiVersion: v1
    fieldsType: FieldsV1
    fieldsV1:
      f:data:
        .: {}
        f:matrix.yaml: {}
    manager: kubectl
    operation: Update
    time: "2026-10-01T08:00:00Z"
  name: gpu-version-matrix
  resourceVersion: "4711"
  uid: 6d2c4a4e-0000-0000-0000-000000000000
"""


def in_a_configmap(written: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x}}\ndata:\n  matrix.yaml: {written}\n"


def as_json(text: str, indent: int | None = 4) -> str:
    return json.dumps({"apiVersion": "v1", "data": {"matrix.yaml": text}, "kind": "ConfigMap"}, indent=indent)


def folded(text: str) -> str:
    """Every line break of the text is an empty line in a folded block, except around indented lines."""
    dumped = yaml.dump({"matrix.yaml": text}, default_style=">", width=10_000)
    return dumped.partition(": ")[2].replace("\n", "\n  ").rstrip(" ")


WRITTEN = {
    "double": in_a_configmap(json.dumps(SMALL)),
    "double, folded": in_a_configmap(yaml.dump(SMALL, default_style='"', width=30).replace("\n", "\n    ")),
    "single": in_a_configmap(
        '\'{current: {driver: "565.77",\n\n    notes: "it\'\'s \\"fine\\" \\\\ here", kernel: 6.x TBD}}\''
    ),
    "on the next line": in_a_configmap("# ours\n    " + json.dumps(SMALL)),
    "folded": in_a_configmap(folded(SMALL)),
    "json": as_json(SMALL),
    "json on one line": as_json(SMALL, None),
    "braces": f"kind: ConfigMap\ndata: {{matrix.yaml: {json.dumps(SMALL)}}}\n",
    "crlf": in_a_configmap(json.dumps(SMALL)).replace("\n", "\r\n"),
    "bom": "\ufeff" + as_json(SMALL),
}


def matrix_of(text: str) -> Matrix:
    matrix = read_matrix(text, "m.yaml").matrix
    assert matrix is not None
    return matrix


def pointed_at(text: str, span: Span) -> str:
    return text.removeprefix("\ufeff").splitlines()[span.line - 1][span.column - 1 :]


# ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_however_the_text_is_written_every_value_has_its_place(text: str) -> None:
    reading = read_matrix(text, "m.yaml")
    entry = matrix_of(text).entries[Role.PRODUCTION]

    assert [finding.rule for finding in reading.findings] == ["version-unreadable"]
    assert pointed_at(text, reading.findings[0].spans[0]).startswith("6.x TBD")
    assert pointed_at(text, entry.span).startswith("current:")
    assert pointed_at(text, entry.stack.values[Component.GPU_DRIVER].span).lstrip("'\"").startswith("565.77")
    assert entry.notes == 'it\'s "fine" \\ here'


def test_what_kubectl_gives_back_is_read_with_its_metadata() -> None:
    reading = read_matrix(FETCHED, "m.yaml")

    assert [(each.rule, each.spans[0].line) for each in reading.findings] == [("version-unreadable", 4)]
    assert matrix_of(FETCHED).entries[Role.PRODUCTION].stack.values[Component.GPU_DRIVER].text == "565.77"


@pytest.mark.parametrize("write", [as_json, lambda text: in_a_configmap(json.dumps(text))], ids=["json", "quoted"])
def test_the_whole_example_means_the_same_in_any_writing(write: object) -> None:
    assert callable(write)

    assert moves.meaning(matrix_of(write(INNER))) == moves.meaning(matrix_of(INNER))


def test_a_syntax_mistake_inside_a_quoted_text_is_found_at_its_place() -> None:
    text = in_a_configmap('"current:\\n  driver: [\\n"')

    (finding,) = read_matrix(text, "m.yaml").findings
    assert finding.rule == "yaml-syntax"
    assert pointed_at(text, finding.spans[0]).startswith("[")


@given(st.text(st.sampled_from("ab '\"\\\n\t:#é🙂-"), max_size=30), st.sampled_from(["'", '"', ">", None]))
@settings(max_examples=100, deadline=None)
def test_the_text_of_a_layer_is_what_the_parser_reads_and_each_letter_is_where_it_says(text: str, style: str) -> None:
    written = yaml.dump({"k": text}, default_style=style, allow_unicode=True, width=12)
    root = parse(outer_layer(written)).root
    assert isinstance(root, MappingNode)
    layer = text_layer(outer_layer(written), root.pairs[0])

    assert layer.text == text
    places = [layer.at(offset) for offset in range(len(text) + 1)]
    assert places == sorted(places)
    for offset, letter in enumerate(text):
        if letter in "abé🙂:#-" and places.count(places[offset]) == 1:
            assert written[places[offset]] in (letter, "\\")


def test_every_escape_of_yaml_is_one_letter_at_its_place() -> None:
    escapes = [*"0abtnvfre", " ", '"', "/", "\\", *"N_LP", "x41", "u00e9", "U0001f642"]
    written = 'k: "' + "".join(f"\\{each}." for each in escapes) + '"\n'
    root = parse(outer_layer(written)).root
    assert isinstance(root, MappingNode)
    layer = text_layer(outer_layer(written), root.pairs[0])

    assert layer.text == yaml.safe_load(written)["k"]
    assert [written[layer.at(offset)] for offset in range(len(layer.text))] == ["\\", "."] * len(escapes)


def test_the_break_between_two_paragraphs_is_at_the_end_of_the_first() -> None:
    written = "k: >\n  one\n\n  two\n"
    root = parse(outer_layer(written)).root
    assert isinstance(root, MappingNode)
    layer = text_layer(outer_layer(written), root.pairs[0])

    assert layer.text == "one\ntwo\n"
    assert layer.at(layer.text.index("\n")) == written.index("one") + len("one")


# ── editing ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_an_edit_of_anything_but_a_literal_block_says_how_to_get_one(text: str) -> None:
    with pytest.raises(EditRefused) as refused:
        set_value(text, Role.PRODUCTION, Component.GPU_DRIVER, "580.82.07", file="m.yaml")

    assert refused.value.finding.rule == "not-a-literal-block"
    assert "`seatrial matrix fmt m.yaml`" in refused.value.finding.next_step
    assert refused.value.finding.spans[0].line > 1 or "\n" not in text


# ── rules in words ────────────────────────────────────────────────────────────────────────────────────────────────────


RULES = (
    "rules:\n- name: CUDA\n  rule: driver ≥ 12.6\n  check: nvidia-smi\n  rationale: libraries\n- one thing at a time\n"
)


@pytest.mark.parametrize("text", ["versions:\n  current: {driver: '565.77'}\n", "current: {driver: '565.77'}\n"])
def test_rules_in_words_are_kept_as_notes(text: str) -> None:
    reading = read_matrix(text + RULES, "m.yaml")
    line = text.count("\n") + 2

    assert reading.findings == ()
    assert matrix_of(text + RULES).notes == (
        Note(
            name="CUDA",
            rule="driver ≥ 12.6",
            check="nvidia-smi",
            rationale="libraries",
            span=Span(file="m.yaml", line=line, column=3),
        ),
        Note(rule="one thing at a time", span=Span(file="m.yaml", line=line + 4, column=3)),
    )


def test_a_promotion_leaves_rules_in_words_alone() -> None:
    text = "current:\n  driver: '565.77'\n" + RULES.replace("\n- one", "\n\n- one") + "canary:\n  driver: '570.26'\n"

    after = promote(text, file="m.yaml")

    assert RULES.replace("\n- one", "\n\n- one") in after
    assert matrix_of(after).entries[Role.ROLLBACK].stack.values[Component.GPU_DRIVER].text == "565.77"


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        ("rules: words\n", [("wrong-type", 2, 8)]),
        ("rules:\n- {nam: x}\n", [("unknown-key", 3, 4)]),
        ("rules:\n- {rule: [x]}\n", [("wrong-type", 3, 10)]),
        ("rules:\n", []),
    ],
)
def test_rules_that_are_no_list_of_words_are_found(rules: str, found: list[tuple[str, int, int]]) -> None:
    findings = read_matrix("current: {driver: '565.77'}\n" + rules, "m.yaml").findings

    assert [(each.rule, each.spans[0].line, each.spans[0].column) for each in findings] == found


# ── indentation that was lost ─────────────────────────────────────────────────────────────────────────────────────────


def flat(text: str) -> str:
    return "".join(f"{line.lstrip()}\n" for line in text.splitlines())


PASTED = {
    "a ConfigMap": (flat((MATRICES / "configmap.yaml").read_text()), "matrix.yaml"),
    "a plain file": (flat((MATRICES / "plain.yaml").read_text()), "versions"),
    "entries": (flat(INNER), "current_production"),
    "entries below their cover": ("versions:\n  current:\n  driver: '565.77'\n  canary:\n  driver: '1'\n", "current"),
    "a matrix below its block": ("kind: ConfigMap\ndata:\n  matrix.yaml: |\n" + INNER, "current_production"),
    "a matrix beside its block": (
        "kind: ConfigMap\ndata:\n  matrix.yaml: |\n  current:\n    driver: '565.77'\n  canary: {}\n",
        "current",
    ),
}


@pytest.mark.parametrize(("text", "key"), PASTED.values(), ids=PASTED)
def test_a_text_pasted_without_its_indentation_gets_one_message(text: str, key: str) -> None:
    (finding,) = read_matrix(text, "m.yaml").findings

    assert finding.rule == "indentation-lost"
    assert pointed_at(text, finding.spans[0]).startswith(f"{key}:")
    assert "two spaces" in finding.next_step


def test_an_empty_entry_beside_full_ones_has_not_lost_its_lines() -> None:
    findings = read_matrix("current:\n  driver: '565.77'\ncanary:\n", "m.yaml").findings

    assert [finding.rule for finding in findings] == ["entry-empty"]
