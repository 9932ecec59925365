"""A rule of a user's own has a budget: one without an end is a finding, and the check comes to its own end."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.files.rules import asking
from seatrial.adapters.files.rules.asking import Worker
from seatrial.adapters.files.rules.cel_rules import load_rules
from seatrial.cli.main import main
from seatrial.core.compat.findings import Verdict
from tests.adapters.expressions.test_measurer import an_interpreter
from tests.adapters.files.test_cel_rules import ENTRY, ON

TEN = "[0,1,2,3,4,5,6,7,8,9]"


def endless(depth: int = 12) -> str:
    """An expression that looks at ten to the power of its depth."""
    text = "true"
    for number in range(depth):
        text = f"{TEN}.all(x{number}, {text})"
    return text


def rule(name: str, expression: str) -> str:
    return f"- id: {name}\n  expression: '{expression}'\n  message: We do not do that.\n"


def test_a_rule_without_an_end_is_a_finding_and_the_others_are_judged(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("rules:\n" + rule("long", endless()) + rule("short", "false"))
    loaded = load_rules([file])
    began_at = time.monotonic()
    long, short = loaded.judge(ENTRY, ON)
    assert time.monotonic() - began_at < 60
    assert (long.verdict, short.verdict) == (Verdict.FAIL, Verdict.FAIL)
    assert "cannot be judged for canary_testing: it takes more than a rule is given (2 s of CPU" in long.message
    assert short.message == "We do not do that."


@pytest.mark.parametrize(
    "expression",
    [
        "(" * 100_000 + "true" + ")" * 100_000,
        '"' + "a" * 4096 + '".matches("(((a{1,1000}){1,1000}){1,1000}){1,1000}")',
        '"' + "a" * 2000 + '!".matches("(a+)+$")',
    ],
    ids=["deeper than any stack", "an expression of expressions", "a regular expression that backtracks elsewhere"],
)
def test_an_expression_that_is_made_to_break_breaks_nobody(tmp_path: Path, expression: str) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("rules:\n" + rule("wild", expression) + rule("short", "false"))
    loaded = load_rules([file])
    found = [*loaded.findings, *loaded.judge(ENTRY, ON)]
    assert [each.verdict for each in found] == [Verdict.FAIL, Verdict.FAIL]
    assert found[-1].message == "We do not do that."


def test_no_rule_is_answered_by_what_was_said_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where starting took longer than a rule is given, the first rule got its answer: that it concerns nobody."""
    about: dict[str, Any] = {"expression": "false", "when": "", "about": {"stack": {}}}
    assert Worker().ask(about) == (False, "")
    monkeypatch.setattr(asking, "START_SECONDS", 0.0)
    worker = Worker()
    for _ in range(2):
        answer, why = worker.ask(about)
        assert (answer, "did not start" in why) == (None, True)


def test_the_process_knows_nothing_of_our_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBECONFIG", "/secret")
    listing = (
        "import json, os, sys\nfor _ in sys.stdin: print(json.dumps({'trouble': ' '.join(os.environ)}), flush=True)"
    )
    monkeypatch.setattr(sys, "executable", an_interpreter(tmp_path, f"import json, os, sys\n{listing}"))
    answer, known = Worker().ask({"expression": "true"})
    assert answer is None
    assert "KUBECONFIG" not in known


def test_a_thousand_rules_without_an_end_take_no_longer_than_a_few() -> None:
    worker = Worker(seconds_max=0.3, slow_seconds_max=1.0)
    about: dict[str, Any] = {"expression": endless(), "when": "", "about": {"stack": {}}}
    began_at = time.monotonic()
    answers = [worker.ask(about) for _ in range(1000)]
    assert time.monotonic() - began_at < 60
    assert all(answer is None and why for answer, why in answers)
    assert "nothing more is worked out" in answers[-1][1]


def test_check_ends_with_8_and_says_which_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file of rules beside the matrix, as a pull request would bring it."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gpu-version-matrix.yaml").write_text('versions:\n  current:\n    gpu_driver: "550.127.05"\n')
    (tmp_path / "seatrial-rules.yaml").write_text("rules:\n" + rule("long", endless()))
    began_at = time.monotonic()
    assert main(["check", "--full", "--on", "2025-01-10"]) == 8
    assert time.monotonic() - began_at < 60
    assert "it takes more than a rule is given" in " ".join(capsys.readouterr().out.split())


def test_a_process_that_was_killed_between_two_rules_costs_the_next_and_no_other() -> None:
    about: dict[str, Any] = {"expression": "true", "when": "", "about": {"stack": {}}}
    worker = Worker()
    assert worker.ask(about) == (True, "")
    assert worker._process is not None
    worker._process.kill()
    worker._process.wait()
    answer, why = worker.ask(about)
    assert (answer, "more than a rule is given" in why) == (None, True)
    assert worker.ask(about) == (True, "")
