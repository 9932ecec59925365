"""A ConfigMap formatted: its matrix is a literal block, says the same, and a second run changes nothing."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.adapters.files.matrix_edit import EditRefused, set_value
from seatrial.adapters.files.matrix_fmt import formatted
from seatrial.adapters.files.matrix_yaml import read_matrix
from seatrial.core.compat import moves
from seatrial.core.compat.matrix import Component, Role
from tests.adapters.files.layouts import Layout, layouts
from tests.adapters.files.test_matrix_in_text import FETCHED, INNER, WRITTEN, as_json, in_a_configmap


@pytest.mark.parametrize("text", [*WRITTEN.values(), FETCHED, as_json(INNER)], ids=[*WRITTEN, "fetched", "whole"])
def test_after_formatting_the_file_says_the_same_and_can_be_edited(text: str) -> None:
    after = formatted(text, file="m.yaml")

    assert yaml.safe_load(after) == yaml.safe_load(text)
    before, read = read_matrix(text, "m.yaml").matrix, read_matrix(after, "m.yaml").matrix
    assert before is not None
    assert read is not None
    assert moves.meaning(read) == moves.meaning(before)
    assert formatted(after) == after
    assert "580.82.07" in set_value(after, Role.PRODUCTION, Component.GPU_DRIVER, "580.82.07")


def test_a_quoted_text_becomes_a_block_and_comments_stay() -> None:
    text = (
        "# above\nkind: ConfigMap\ndata:\n  # ours\n"
        "  matrix.yaml: \"current:\\n  # inside\\n  driver: '565.77'\\n\"   # behind\n  other: x  # theirs\n"
    )

    assert formatted(text) == (
        "# above\nkind: ConfigMap\ndata:\n  # ours\n"
        "  matrix.yaml: |   # behind\n    current:\n      # inside\n      driver: '565.77'\n  other: x  # theirs\n"
    )


def test_comments_around_a_text_on_a_line_of_its_own_go_to_the_header() -> None:
    text = "kind: ConfigMap\ndata:\n  matrix.yaml:  # one\n    # two\n    'current: {}'  # three\n  other: x\n"

    assert formatted(text) == (
        "kind: ConfigMap\ndata:\n  matrix.yaml: |-  # one  # two  # three\n    current: {}\n  other: x\n"
    )


def test_a_folded_block_becomes_a_literal_one_and_what_follows_stays() -> None:
    text = (
        "kind: ConfigMap\ndata:\n  matrix.yaml: >-  # ours\n"
        "    current: {driver:\n    '565.77'}\n\n  # below\n  other: x\n"
    )

    assert formatted(text) == (
        "kind: ConfigMap\ndata:\n  matrix.yaml: |-  # ours\n    current: {driver: '565.77'}\n\n  # below\n  other: x\n"
    )


def test_json_is_opened_into_lines() -> None:
    text = (
        '{\n    "apiVersion": "v1",\n    "data": {\n        "matrix.yaml": "current:\\n  driver: \'565.77\'\\n",\n'
        '        "port": "80"\n    },\n    "kind": "ConfigMap",\n    "metadata": {\n        "finalizers": [],\n'
        '        "labels": {\n            "a/b": "true"\n        },\n        "owners": [{"uid": "1"}, "x"],\n'
        '        "managed": {".": {}},\n        "generation": 2\n    }\n}\n'
    )

    assert formatted(text) == (
        "apiVersion: v1\ndata:\n  matrix.yaml: |\n    current:\n      driver: '565.77'\n"
        '  port: "80"\nkind: ConfigMap\nmetadata:\n  finalizers: []\n  labels:\n    a/b: "true"\n'
        '  owners:\n    -\n      uid: "1"\n    - x\n'
        '  managed:\n    ".": {}\n  generation: 2\n'
    )


def test_braces_around_the_text_are_opened_and_their_comments_put_above() -> None:
    text = (
        "kind: ConfigMap\n# mine\ndata: {other: x, # one\n"
        '  matrix.yaml: "current: {}\\n" # two\n  }  # three\nimmutable: true\n'
    )

    assert formatted(text) == (
        "kind: ConfigMap\n# mine\n# one\n# two\n# three\ndata:\n  other: x\n  matrix.yaml: |\n    current: {}\n"
        "immutable: true\n"
    )


@given(layouts())
@settings(max_examples=60, deadline=None)
def test_a_file_that_can_be_edited_is_left_as_it_is(layout: Layout) -> None:
    assert formatted(layout.text) == layout.text


@given(
    st.lists(st.text(st.sampled_from("ab '\"\\\t:#é-{"), max_size=8), max_size=5).map("\n".join),
    st.sampled_from(["'", '"', ">", None]),
    st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_any_text_is_written_as_a_block_that_says_the_same_or_not_at_all(text: str, style: str, is_flow: bool) -> None:
    whole = {"kind": "ConfigMap", "data": {"a": "b", "matrix.yaml": text, "z": "y\n"}, "metadata": {"name": "n"}}
    written = yaml.dump(whole, default_style=style, default_flow_style=is_flow, allow_unicode=True, width=15)
    try:
        after = formatted(written)
    except EditRefused:
        return

    assert yaml.safe_load(after) == whole
    assert formatted(after) == after


@pytest.mark.parametrize(
    "text", ["", "- a\n", "kind: ConfigMap\n", in_a_configmap("[a]"), "{", "kind: [a]\ndata: {}\n"]
)
def test_what_has_no_text_to_format_comes_back_as_it_is(text: str) -> None:
    assert formatted(text) == text
