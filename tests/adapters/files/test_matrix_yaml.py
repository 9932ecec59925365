"""Reading a matrix: both shapes, every value with its place, every mistake with a line and an advice."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings

from seatrial.adapters.files.matrix_findings import FINDINGS_MAX
from seatrial.adapters.files.matrix_yaml import Reading, read_matrix
from seatrial.core.compat.findings import Verdict
from seatrial.core.compat.matrix import Accept, Component, Hardware, Matrix, Role, Span
from tests.adapters.files.layouts import Layout, layouts

MATRICES = Path(__file__).parents[2] / "data" / "matrices"
GOOD = "versions:\n  current:\n    driver: '565.77'\n"


def found_in(text: str) -> list[tuple[str, int, int]]:
    return [
        (finding.rule, finding.spans[0].line, finding.spans[0].column)
        for finding in read_matrix(text, "m.yaml").findings
    ]


def matrix_of(reading: Reading) -> Matrix:
    assert reading.matrix is not None
    return reading.matrix


def in_a_configmap(text: str) -> str:
    body = "".join(f"    {line}" if line.strip() else line for line in text.splitlines(keepends=True))
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x}}\ndata:\n  matrix.yaml: |\n{body}"


# ── what is right ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_plain_file_is_read_with_its_aliases() -> None:
    reading = read_matrix((MATRICES / "plain.yaml").read_text(), "m.yaml")
    matrix = matrix_of(reading)

    assert reading.findings == ()
    assert [(entry.role, entry.key, entry.status) for entry in matrix.entries.values()] == [
        (Role.PRODUCTION, "current", "production"),
        (Role.CANARY, "canary", "testing"),
    ]
    stack = matrix.entries[Role.PRODUCTION].stack
    assert {part.value: value.text for part, value in stack.values.items()} == {
        "gpu_operator": "v24.9.0",
        "network_operator": "v24.7.0",
        "gpu_driver": "560.35.03",
        "cuda": "12.6",
        "firmware_cx7": "28.42.1000",
        "sriov_operator": "4.16.0",
        "openshift": "4.16.23",
    }


def test_a_value_inside_a_configmap_knows_its_place_in_the_file() -> None:
    text = (MATRICES / "configmap.yaml").read_text()
    reading = read_matrix(text, "m.yaml")
    matrix = matrix_of(reading)

    assert reading.findings == ()
    assert list(matrix.entries) == list(Role)
    for entry in matrix.entries.values():
        assert text.splitlines()[entry.span.line - 1][entry.span.column - 1 :].startswith(f"{entry.key}:")
        for value in entry.stack.values.values():
            assert text.splitlines()[value.span.line - 1][value.span.column - 1 :].startswith(f'"{value.text}"')
    assert matrix.entries[Role.CANARY].canary_node == "gpu-worker-4"
    assert matrix.entries[Role.PLANNED].target_date == "2026-03-15"
    assert matrix.entries[Role.ROLLBACK].notes.startswith("Previous known-good.")


@given(layouts())
@settings(max_examples=80, deadline=None)
def test_every_layout_is_read_with_the_place_of_every_value(layout: Layout) -> None:
    matrix = matrix_of(read_matrix(layout.text, "m.yaml"))

    lines = layout.text.removeprefix("\ufeff").splitlines()
    for role, stack in layout.stacks.items():
        values = matrix.entries[role].stack.values
        assert {part: value.text for part, value in values.items()} == stack
        for value in values.values():
            assert lines[value.span.line - 1][value.span.column - 1 :].lstrip("'\"").startswith(value.text)


def test_hardware_accepted_warnings_and_a_rejection_are_read() -> None:
    text = GOOD + (
        "    hardware: {arch: hopper, product: H100, kernel_module: open, rdma: dmabuf}\n"
        "    accept:\n"
        "      - rule: lifecycle\n"
        "        reason: extended support\n"
        "        until: 2027-01-31\n"
        "      - {rule: driver-cuda, reason: no PTX here}\n"
        "    bad: loses 3 % of throughput\n"
    )
    entry = matrix_of(read_matrix(text, "m.yaml")).entries[Role.PRODUCTION]

    assert entry.stack.hardware == Hardware(
        arch="hopper", product="H100", kernel_module="open", rdma="dmabuf", span=Span(file="m.yaml", line=4, column=5)
    )
    assert entry.accept == (
        Accept(
            rule="lifecycle",
            reason="extended support",
            until=date(2027, 1, 31),
            span=Span(file="m.yaml", line=6, column=9),
        ),
        Accept(rule="driver-cuda", reason="no PTX here", span=Span(file="m.yaml", line=9, column=9)),
    )
    assert entry.bad == "loses 3 % of throughput"


def test_a_number_keeps_the_text_it_was_written_with() -> None:
    reading = read_matrix("versions: {current: {cuda: 12.10, mofed: 24.07-0.6.1.0}}", "m.yaml")
    value = matrix_of(reading).entries[Role.PRODUCTION].stack[Component.CUDA]

    assert value is not None
    assert value.text == "12.10"
    (finding,) = reading.findings
    assert (finding.rule, finding.verdict) == ("quote-versions", Verdict.FAIL)
    assert finding.message == "`cuda: 12.10` is the number 12.1 to YAML."
    assert finding.next_step == 'Quote it: `cuda: "12.10"`.'


def test_a_number_that_yaml_keeps_as_it_is_only_warns() -> None:
    (finding,) = read_matrix("versions: {current: {cuda: 12.6}}", "m.yaml").findings

    assert (finding.rule, finding.verdict) == ("quote-versions", Verdict.WARN)


@pytest.mark.parametrize("text", ["012", "1:30", "0x1F", "true", "2026-01-01", ".inf", "1_0"])
def test_what_yaml_takes_for_something_else_is_to_be_quoted(text: str) -> None:
    assert "quote-versions" in [rule for rule, _, _ in found_in(f"versions: {{current: {{cuda: {text}}}}}")]


@pytest.mark.parametrize("text", ["=", "<<", "v24", "1.2.3"])
def test_what_yaml_takes_for_a_text_needs_no_quotes(text: str) -> None:
    assert "quote-versions" not in [rule for rule, _, _ in found_in(f"versions: {{current: {{cuda: {text}}}}}")]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_line_ends_and_a_byte_order_mark_change_no_place(newline: str, bom: str) -> None:
    text = bom + in_a_configmap("current:\n  kernel: 6.x TBD\n").replace("\n", newline)

    assert found_in(text) == [("version-unreadable", 7, 15)]
    assert found_in(bom + "currnt: 1" + newline + "canary: {cuda: x}") == [
        ("unknown-key", 1, 1),
        ("entry-missing", 1, 1),
        ("version-unreadable", 2, 16),
    ]


def test_what_is_not_a_matrix_beside_the_matrix_is_left_alone() -> None:
    text = in_a_configmap(GOOD).replace("  matrix.yaml", "  other: [not, ours]\n  matrix.yaml")

    assert found_in(text) == []


# ── what is wrong ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("", [("not-a-matrix", 1, 1)], id="empty"),
        pytest.param("# only a comment\n", [("not-a-matrix", 1, 1)], id="comment"),
        pytest.param("- a\n", [("not-a-matrix", 1, 1)], id="list"),
        pytest.param("just words\n", [("not-a-matrix", 1, 1)], id="text"),
        pytest.param("version:\n  current: {}\n", [("not-a-matrix", 1, 1)], id="misspelt cover"),
        pytest.param("versions: 3\n", [("wrong-type", 1, 11)], id="cover is a number"),
        pytest.param("versions: {current: [", [("yaml-syntax", 1, 21)], id="open bracket"),
        pytest.param(GOOD + "    cuda: 'open\n", [("yaml-syntax", 4, 11)], id="open quote"),
        pytest.param(GOOD + "   cuda: '12.6'\n", [("yaml-syntax", 4, 4)], id="indentation"),
        pytest.param(GOOD + "    notes: a: b\n", [("yaml-syntax", 4, 13)], id="colon in a value"),
        pytest.param(GOOD + "    notes: @b\n", [("yaml-syntax", 4, 12)], id="reserved character"),
        pytest.param(GOOD + "\tcuda: '12.6'\n", [("tab-indentation", 4, 1)], id="tab"),
        pytest.param(GOOD + "    cuda: '12.6\0'\n", [("control-character", 4, 16)], id="NUL"),
        pytest.param(GOOD + "    cuda: \ud800\n", [("control-character", 4, 11)], id="surrogate"),
        pytest.param(GOOD + "  canary: &a {cuda: '12.6'}\n", [("yaml-anchor", 4, 11)], id="anchor"),
        pytest.param(GOOD + "  canary: *a\n", [("yaml-alias", 4, 11)], id="alias"),
        pytest.param(GOOD + "    <<: {cuda: '12.6'}\n", [("merge-key", 4, 5)], id="merge"),
        pytest.param(GOOD + "    cuda: !!str 12.6\n", [("yaml-tag", 4, 11)], id="tag"),
        pytest.param(GOOD + "---\na: 1\n", [("multiple-documents", 4, 1)], id="documents"),
        pytest.param("x: " + "[" * 100_000, [("too-deep", 1, 20)], id="deep"),
        pytest.param("a" * 10_000_000, [("file-too-large", 1, 1)], id="large"),
        pytest.param(GOOD + "    driver: '565.77'\n", [("duplicate-key", 4, 5)], id="duplicate"),
        pytest.param(GOOD + "    gpu_driver: '565.77'\n", [("duplicate-key", 4, 5)], id="alias of a key"),
        pytest.param(GOOD + "  production: {cuda: '12.6'}\n", [("duplicate-key", 4, 3)], id="two productions"),
        pytest.param(GOOD + "    ? [a]\n    : b\n", [("wrong-type", 4, 7)], id="list as a key"),
        pytest.param(GOOD + "  canary: soon\n", [("wrong-type", 4, 11)], id="entry is a text"),
        pytest.param(GOOD + "  canary:\n", [("entry-empty", 4, 3)], id="entry is empty"),
        pytest.param(GOOD + "    cuda: [12, 6]\n", [("wrong-type", 4, 11)], id="version is a list"),
        pytest.param(GOOD + "    cuda:\n", [("value-missing", 4, 5)], id="no version"),
        pytest.param(GOOD + "    kernel: 6.x TBD\n", [("version-unreadable", 4, 13)], id="TBD"),
        pytest.param(GOOD + "    gpu_drivr: '1'\n", [("unknown-key", 4, 5)], id="unknown component"),
        pytest.param(GOOD + "  staging: {}\n", [("unknown-key", 4, 3)], id="unknown role"),
        pytest.param(GOOD + "ruls: []\n", [("unknown-key", 4, 1)], id="unknown beside versions"),
        pytest.param("versions: {canary: {cuda: '12.6'}}", [("entry-missing", 1, 1)], id="no production"),
        pytest.param(GOOD + "    notes: [a]\n", [("wrong-type", 4, 12)], id="notes is a list"),
        pytest.param(GOOD + "    bad: true\n", [("wrong-type", 4, 10)], id="bad without a reason"),
        pytest.param(GOOD + "    deployed: 2026-02-30\n", [("date-unreadable", 4, 15)], id="no such day"),
        pytest.param(GOOD + "    hardware: H100\n", [("wrong-type", 4, 15)], id="hardware is a text"),
        pytest.param(GOOD + "    hardware: {gpu: H100}\n", [("unknown-key", 4, 16)], id="unknown hardware"),
        pytest.param(GOOD + "    hardware: {rdma: dma-buf}\n", [("wrong-value", 4, 22)], id="unknown rdma"),
        pytest.param(GOOD + "    accept: lifecycle\n", [("wrong-type", 4, 13)], id="accept is a text"),
        pytest.param(GOOD + "    accept: [lifecycle]\n", [("wrong-type", 4, 14)], id="accept without a reason"),
        pytest.param(GOOD + "    accept: [{rule: x}]\n", [("accept-incomplete", 4, 14)], id="accept incomplete"),
        pytest.param(
            GOOD + "    accept: [{rule: x, why: y}]\n", [("unknown-key", 4, 24), ("accept-incomplete", 4, 14)]
        ),
        pytest.param(
            GOOD + "    accept: [{rule: x, reason: y, until: soon}]\n", [("date-unreadable", 4, 42)], id="until soon"
        ),
        pytest.param(GOOD + "  rollback: {driver: '565.77'}\n", [("rollback-equals-production", 4, 3)], id="same"),
        pytest.param(GOOD + "  rollback: {driver: '570.26'}\n", [("rollback-newer", 4, 22)], id="newer"),
        pytest.param("kind: Deployment\n", [("not-a-matrix", 1, 7)], id="another kind"),
        pytest.param("apiVersion: v1\n", [("not-a-matrix", 1, 1)], id="no kind"),
        pytest.param("kind: ConfigMap\n", [("configmap-key-missing", 1, 7)], id="no data"),
        pytest.param("kind: ConfigMap\ndata: x\n", [("configmap-key-missing", 2, 1)], id="data is a text"),
        pytest.param("kind: ConfigMap\ndata: {a.yaml: x}\n", [("configmap-key-missing", 2, 1)], id="no key"),
        pytest.param("kind: ConfigMap\ndata:\n  matrix.yaml: {a: b}\n", [("wrong-type", 3, 16)], id="no text"),
        pytest.param('kind: ConfigMap\ndata:\n  matrix.yaml: "a"\n', [("not-a-matrix", 3, 17)], id="quoted"),
        pytest.param("kind: ConfigMap\ndata:\n  matrix.yaml: >\n    a\n", [("not-a-matrix", 4, 5)], id="folded"),
        pytest.param("kind: ConfigMap\ndata:\n  matrix.yaml: |\n", [("not-a-matrix", 4, 1)], id="empty block"),
        pytest.param("kind: ConfigMap\ndata:\n  matrix.yaml: |\n    - a\n", [("not-a-matrix", 4, 5)], id="list inside"),
        pytest.param(
            "kind: ConfigMap\ndata:\n  matrix.yaml: |\n    current: [\n", [("yaml-syntax", 4, 14)], id="syntax inside"
        ),
    ],
)
def test_a_mistake_is_found_at_its_place_with_an_advice(text: str, found: list[tuple[str, int, int]]) -> None:
    reading = read_matrix(text, "m.yaml")

    assert sorted(found_in(text)) == sorted(found)
    assert all(finding.next_step and finding.message for finding in reading.findings)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        (GOOD + "    gpu_drivr: '1'\n", "Did you mean `gpu_driver`?"),
        (GOOD + "    gpu-operator: 'v24.9.0'\n", "Did you mean `gpu_operator`?"),
        (GOOD + "  rolback: {}\n", "Did you mean `rollback`?"),
        ("version:\n  current: {}\n", "Did you mean `versions` instead of `version`?"),
        ("kind: ConfigMap\ndata:\n  matrix.yml: x\n", "Rename `matrix.yml` to `matrix.yaml`."),
        (GOOD + "    hardware: {rdma: dma_buf}\n", "Did you mean `dmabuf`?"),
    ],
)
def test_what_was_probably_meant_is_said(text: str, advice: str) -> None:
    assert advice in [finding.next_step for finding in read_matrix(text, "m.yaml").findings]


def test_a_key_given_twice_is_shown_at_both_places_and_the_first_counts() -> None:
    reading = read_matrix(GOOD + "    driver: '570.26'\n", "m.yaml")

    (finding,) = reading.findings
    assert [(span.line, span.column) for span in finding.spans] == [(4, 5), (3, 5)]
    assert matrix_of(reading).entries[Role.PRODUCTION].stack.values[Component.GPU_DRIVER].text == "565.77"


def test_everything_wrong_is_said_in_one_go_and_the_rest_is_still_read() -> None:
    text = GOOD + "    cuda: 12.10\n    kernel: 6.x TBD\n    gpu_drivr: '1'\n    nccl: '2.22.3'\n"

    assert [rule for rule, _, _ in found_in(text)] == ["quote-versions", "version-unreadable", "unknown-key"]
    stack = matrix_of(read_matrix(text, "m.yaml")).entries[Role.PRODUCTION].stack
    assert set(stack.values) == {Component.GPU_DRIVER, Component.CUDA, Component.KERNEL, Component.NCCL}


def test_no_more_is_said_than_anybody_can_read() -> None:
    text = GOOD + "".join(f"    key{number}: '1'\n" for number in range(10_000))
    findings = read_matrix(text, "m.yaml").findings

    assert len(findings) == FINDINGS_MAX + 1
    assert findings[-1].rule == "too-many-findings"


def test_a_block_with_its_indentation_given_is_followed_too() -> None:
    text = "kind: ConfigMap\ndata:\n  matrix.yaml: |2\n    current:\n      kernel: 6.x TBD\n"

    assert found_in(text) == [("version-unreadable", 5, 15)]


@pytest.mark.parametrize("beside", ['driver: "570.124.06"', "status: production", "hardware: []"])
def test_an_entry_that_lost_its_indentation_is_told_by_whatever_stands_beside_it(beside: str) -> None:
    for text in (f"versions:\n  current:\n  {beside}\n", f"current:\n{beside}\n"):
        (finding,) = read_matrix(text, "m.yaml").findings
        assert (finding.rule, finding.verdict) == ("indentation-lost", Verdict.FAIL), text
