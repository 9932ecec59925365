"""Matrices judged by a person from the vendors' pages, before the rules were asked: are the rules of the same opinion?

`judged/matrices.yaml` has the matrices and the verdicts, `judged/first-result.yaml` what the rules said the first time,
kept as it was. Whoever changes a rule looks here for what it did to matrices it was not written for.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import yaml

from seatrial.core.compat.findings import worst
from seatrial.core.compat.matrix import component_of
from seatrial.core.compat.rules import check_change, check_stack
from tests.core.knowledge import facts, stack

JUDGED = Path(__file__).parent / "judged"
CORPUS: dict[str, Any] = yaml.safe_load((JUDGED / "matrices.yaml").read_text(encoding="utf-8"))
FIRST: dict[str, str] = yaml.safe_load((JUDGED / "first-result.yaml").read_text(encoding="utf-8"))
INEXPRESSIBLE = "inexpressible"
RIGHT_AT_LEAST = 0.95


def said(case: dict[str, Any]) -> str:
    """What the rules say about one matrix as a whole."""
    texts = [*case["components"], *case.get("from", {})]
    if any(component_of(key) is None for key in texts):
        return INEXPRESSIBLE
    on, after = date.fromisoformat(CORPUS["day"]), stack(case["components"], case.get("hardware"))
    found = list(check_stack(after, facts(), on))
    if "from" in case:
        found += check_change(stack(case["from"], case.get("hardware")), after, facts(), on)
    return worst(found).value


def test_every_matrix_has_a_verdict_and_the_page_it_was_read_on() -> None:
    assert len(CORPUS["matrices"]) >= 40
    assert {case["page"] for case in CORPUS["matrices"]} <= set(CORPUS["pages"])
    assert {case["verdict"] for case in CORPUS["matrices"]} == {"ok", "warn", "unknown", "fail"}


def test_the_first_result_is_kept() -> None:
    assert list(FIRST) == [case["id"] for case in CORPUS["matrices"]]


def test_the_first_result_had_false_oks_and_two_thirds_wrong() -> None:
    wanted = {case["id"]: case["verdict"] for case in CORPUS["matrices"]}
    assert sum(verdict == FIRST[name] for name, verdict in wanted.items()) == 17
    assert sum(verdict != "ok" and FIRST[name] == "ok" for name, verdict in wanted.items()) == 7


def test_what_a_person_does_not_call_ok_the_rules_do_not_call_ok() -> None:
    assert [case["id"] for case in CORPUS["matrices"] if case["verdict"] != "ok" and said(case) == "ok"] == []


def test_nearly_all_verdicts_are_those_of_a_person() -> None:
    wrong = [case["id"] for case in CORPUS["matrices"] if case["verdict"] != said(case)]
    assert 1 - len(wrong) / len(CORPUS["matrices"]) >= RIGHT_AT_LEAST, wrong
