"""Rules of the user's own: what they see, and that an error in one is a finding, never a pass."""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path

import pytest

from seatrial.adapters.files.rules.cel_rules import UserRules, load_rules
from seatrial.core.compat.findings import Finding, Verdict
from seatrial.core.compat.matrix import Entry, Hardware, Role, Span, Stack

ON = date(2026, 3, 1)
STACK = {"gpu_operator": "v24.10.1", "gpu_driver": "560.35.03", "kernel": "6.x TBD", "mofed": "24.10-0.7.0.0"}
ENTRY = Entry(
    role=Role.CANARY,
    key="canary_testing",
    status="testing",
    stack=Stack.of(STACK, Hardware(arch="Hopper")),
    span=Span(file="m.yaml", line=7, column=3),
)


def rules(tmp_path: Path, *expressions: str, when: str = "", more: str = "") -> UserRules:
    file = tmp_path / "rules.yaml"
    rows = [
        f"- id: mine-{number}\n  expression: '{text}'\n  message: We do not do that.\n"
        + (f"  when: '{when}'\n" if when else "")
        + more
        for number, text in enumerate(expressions)
    ]
    file.write_text("rules:\n" + "".join(rows))
    return load_rules([file])


def only(found: UserRules) -> Finding:
    assert found.findings == ()
    (finding,) = found.judge(ENTRY, ON)
    return finding


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        ('at_least("gpu_operator", "v24.9.0")', True),
        ('older("gpu_operator", "24.9.0")', False),
        ('older("driver", "560.35.04")', True),
        ('same("gpu_operator", "24.10.1")', True),
        ('line("gpu_operator") == "24.10"', True),
        ('stack.gpu_driver.startsWith("560.")', True),
        ('has(stack.cuda) || hardware.arch == "Hopper"', True),
        ('hardware.rdma == "dmabuf"', False),
        ('entry.role == "canary" && entry.key == "canary_testing" && entry.status == "testing"', True),
        ('on < "2026-06-01"', True),
    ],
)
def test_what_an_expression_sees(tmp_path: Path, expression: str, holds: bool) -> None:
    found = only(rules(tmp_path, expression))
    assert found.verdict is (Verdict.OK if holds else Verdict.FAIL)


def test_a_rule_that_does_not_hold_says_its_own_words_at_both_places(tmp_path: Path) -> None:
    more = "  severity: warn\n  next_step: Take another.\n  source: our policy, page 12\n"
    found = only(rules(tmp_path, "false", more=more))
    assert found == Finding(
        rule="mine-0",
        verdict=Verdict.WARN,
        message="We do not do that.",
        next_step="Take another.",
        spans=(Span(file="m.yaml", line=7, column=3), Span(file=str(tmp_path / "rules.yaml"), line=2, column=3)),
        sources=("our policy, page 12",),
    )


def test_a_rule_is_skipped_where_its_condition_is_false(tmp_path: Path) -> None:
    assert rules(tmp_path, "stack.cuda == 1", when="has(stack.cuda)").judge(ENTRY, ON) == ()


@pytest.mark.parametrize(
    ("expression", "word"),
    [
        ('stack.cuda == "12.6"', "cuda"),
        ("nonsense(1)", "nonsense"),
        ("stack.gpu_driver", "not true or false"),
        ('at_least("gpu_drivr", "1")', "no component 'gpu_drivr'"),
        ('at_least("cuda", "12.6")', "names no cuda"),
        ('at_least("kernel", "5.14.0-427.1.1.el9_4.x86_64")', "unreadable"),
        ('at_least("gpu_driver", "new")', "unreadable"),
        ('line("mofed") == "24.10"', "no release lines"),
        ("1 / 0 == 1", "cannot be judged"),
    ],
)
def test_what_cannot_be_judged_fails(tmp_path: Path, expression: str, word: str) -> None:
    found = only(rules(tmp_path, expression))
    assert found.verdict is Verdict.FAIL
    assert word in found.message
    assert found.next_step


def test_a_condition_that_cannot_be_judged_fails_too(tmp_path: Path) -> None:
    assert only(rules(tmp_path, "true", when="stack.nothing == 1")).verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("rules:\n- id: a\n  expression: 1 +\n  message: x\n", 3, "not CEL"),
        ("rules:\n- id: a\n  expression: 'true'\n  message: x\n  when: '('\n", 5, "not CEL"),
        ("rules:\n- id: a\n  expression: 'true'\n", 2, "needs 'message'"),
        ("rules:\n- id: a\n  expresion: 'true'\n  message: x\n", 3, "did you mean 'expression'"),
        ("rules:\n- id: a\n  zzz: 'true'\n", 3, "there are id"),
        ("rules:\n- id: a\n  expression: true\n  message: x\n", 3, "must be a text"),
        ("rules:\n- id: exists\n  expression: 'true'\n  message: x\n", 2, "already"),
        ("rules:\n- id: a\n  expression: 'true'\n  message: x\n  severity: ok\n", 5, "one of warn, unknown, fail"),
        ("rules:\n- just text\n", 2, "is a mapping"),
        ("rule: []\n", 1, "one key"),
        ("rules: [\n", 2, "not YAML"),
    ],
)
def test_a_broken_file_is_a_finding_with_its_place(tmp_path: Path, text: str, line: int, word: str) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(text)
    (found,) = load_rules([file]).findings
    assert (found.verdict, found.spans[0].line) == (Verdict.FAIL, line)
    assert word in found.message


def test_a_broken_rule_does_not_hide_the_others(tmp_path: Path) -> None:
    loaded = rules(tmp_path, "1 +", "false")
    assert len(loaded.findings) == 1
    assert [found.rule for found in loaded.judge(ENTRY, ON)] == ["mine-1"]


def test_the_librarys_own_command_line_is_never_imported(tmp_path: Path) -> None:
    only(rules(tmp_path, "true"))
    assert "cel.cli" not in sys.modules
