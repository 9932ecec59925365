"""Matrices judged from the vendors' pages, before the rules were asked: are the rules of the same opinion?

    matrices.yaml   fifty, by which the rules were mended once; first-result.yaml is what they said before
    unseen.yaml     forty, judged after that and without a look at the rules; unseen-first-result.yaml is what they said
    unseen-two.yaml forty more, in the same way after those; unseen-two-first-result.yaml is what they said
    unseen-three.yaml thirty more, in the same way after those; unseen-three-first-result.yaml is what they said

The first results are kept as they were. A verdict that was wrong has `corrected:` with the page that says so;
the first results count by the verdict as it was. Whoever changes a rule looks here for what it did to matrices it was
not written for.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from seatrial.core.compat.findings import worst
from seatrial.core.compat.matrix import component_of
from seatrial.core.compat.rules import check_change, check_stack
from tests.core.knowledge import facts, stack

JUDGED = Path(__file__).parent / "judged"


def read(name: str) -> Any:
    return yaml.safe_load((JUDGED / name).read_text(encoding="utf-8"))


CORPUS: dict[str, Any] = read("matrices.yaml")
UNSEEN: dict[str, Any] = read("unseen.yaml")
UNSEEN_TWO: dict[str, Any] = read("unseen-two.yaml")
UNSEEN_THREE: dict[str, Any] = read("unseen-three.yaml")
FIRST: dict[str, str] = read("first-result.yaml")
UNSEEN_FIRST: dict[str, Any] = read("unseen-first-result.yaml")
UNSEEN_TWO_FIRST: dict[str, Any] = read("unseen-two-first-result.yaml")
UNSEEN_THREE_FIRST: dict[str, Any] = read("unseen-three-first-result.yaml")
INEXPRESSIBLE = "inexpressible"
RIGHT_AT_LEAST = 0.95
every = pytest.mark.parametrize(
    "corpus", [CORPUS, UNSEEN, UNSEEN_TWO, UNSEEN_THREE], ids=["matrices", "unseen", "unseen-two", "unseen-three"]
)


def said(case: dict[str, Any], day: str = CORPUS["day"]) -> str:
    """What the rules say about one matrix as a whole."""
    texts = [*case["components"], *case.get("from", {})]
    if any(component_of(key) is None for key in texts):
        return INEXPRESSIBLE
    on, after = date.fromisoformat(day), stack(case["components"], case.get("hardware"))
    found = list(check_stack(after, facts(), on))
    if "from" in case:
        found += check_change(stack(case["from"], case.get("hardware")), after, facts(), on)
    return worst(found).value


@every
def test_every_matrix_has_a_verdict_and_the_page_it_was_read_on(corpus: dict[str, Any]) -> None:
    assert len(corpus["matrices"]) >= 30
    assert {case["page"] for case in corpus["matrices"]} <= set(corpus["pages"])
    assert {case["verdict"] for case in corpus["matrices"]} == {"ok", "warn", "unknown", "fail"}


@every
def test_a_corrected_verdict_names_the_page_that_says_so(corpus: dict[str, Any]) -> None:
    told = [case["corrected"] for case in corpus["matrices"] if "corrected" in case]
    assert bool(told) == (corpus is CORPUS or corpus is UNSEEN)  # of the others, no page says something else
    assert all("it was judged" in why and (".md" in why or ".rst" in why) for why in told)


def test_the_first_results_are_kept() -> None:
    assert list(FIRST) == [case["id"] for case in CORPUS["matrices"]]
    assert list(UNSEEN_FIRST["said"]) == [case["id"] for case in UNSEEN["matrices"]]
    assert list(UNSEEN_TWO_FIRST["said"]) == [case["id"] for case in UNSEEN_TWO["matrices"]]
    assert list(UNSEEN_THREE_FIRST["said"]) == [case["id"] for case in UNSEEN_THREE["matrices"]]


def test_the_first_result_had_false_oks_and_two_thirds_wrong() -> None:
    wanted = {case["id"]: as_judged_first(case) for case in CORPUS["matrices"]}
    assert sum(verdict == FIRST[name] for name, verdict in wanted.items()) == 17
    assert sum(verdict != "ok" and FIRST[name] == "ok" for name, verdict in wanted.items()) == 7


def test_the_second_first_result_had_five_false_oks() -> None:
    wanted = {case["id"]: as_judged_first(case) for case in UNSEEN["matrices"]}
    first = UNSEEN_FIRST["said"]
    assert sum(verdict == first[name] for name, verdict in wanted.items()) == UNSEEN_FIRST["counted"]["right"] == 29
    assert sum(verdict != "ok" and first[name] == "ok" for name, verdict in wanted.items()) == 5


def test_the_third_first_result_had_two_false_oks() -> None:
    wanted = {case["id"]: as_judged_first(case) for case in UNSEEN_TWO["matrices"]}
    first = UNSEEN_TWO_FIRST["said"]
    assert sum(verdict == first[name] for name, verdict in wanted.items()) == UNSEEN_TWO_FIRST["counted"]["right"] == 23
    assert sum(verdict != "ok" and first[name] == "ok" for name, verdict in wanted.items()) == 2


def test_the_fourth_first_result_had_two_false_oks() -> None:
    wanted = {case["id"]: as_judged_first(case) for case in UNSEEN_THREE["matrices"]}
    first = UNSEEN_THREE_FIRST["said"]
    right = sum(verdict == first[name] for name, verdict in wanted.items())
    assert right == UNSEEN_THREE_FIRST["counted"]["right"] == 22
    assert sum(verdict != "ok" and first[name] == "ok" for name, verdict in wanted.items()) == 2


def as_judged_first(case: dict[str, Any]) -> str:
    """The verdict before it was corrected."""
    was = case.get("corrected", "").partition("it was judged ")[2].split(maxsplit=1)
    return was[0].rstrip(";,") if was else str(case["verdict"])


@every
def test_what_is_not_judged_ok_the_rules_do_not_call_ok(corpus: dict[str, Any]) -> None:
    false = [case["id"] for case in corpus["matrices"] if case["verdict"] != "ok" and said(case, corpus["day"]) == "ok"]
    assert false == []


@every
def test_nearly_all_verdicts_are_those_that_were_judged(corpus: dict[str, Any]) -> None:
    wrong = [case["id"] for case in corpus["matrices"] if case["verdict"] != said(case, corpus["day"])]
    assert 1 - len(wrong) / len(corpus["matrices"]) >= RIGHT_AT_LEAST, wrong
