"""Matrices judged from the vendors' pages, before the rules were asked: are the rules of the same opinion?

    matrices.yaml   fifty, by which the rules were mended once; first-result.yaml is what they said before
    unseen.yaml     forty, judged after that and without a look at the rules; unseen-first-result.yaml is what they said
    unseen-two.yaml forty more, in the same way after those; unseen-two-first-result.yaml is what they said
    unseen-three.yaml thirty more, in the same way after those; unseen-three-first-result.yaml is what they said
    unseen-four.yaml forty more, of a day three months later; unseen-four-first-result.yaml is what they said

The first results are kept as they were. A verdict that was wrong has `corrected:` with the page that says so;
the first results count by the verdict as it was. Whoever changes a rule looks here for what it did to matrices it was
not written for.

The day of the fourth set is later than the last on which a page shows which major of the two operators is the newest.
Whether the major before it is still supported is unknown on that day, although it was judged ok by pages without a day:
those nine are named here, and counted as if somebody had looked on that day and found no newer major.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from seatrial.core.compat.facts import Facts
from seatrial.core.compat.findings import Finding, Verdict, worst
from seatrial.core.compat.matrix import component_of
from seatrial.core.compat.rules import check_change, check_stack
from tests.core.compat.knowledge import facts, stack

JUDGED = Path(__file__).parent / "judged"


def read(name: str) -> Any:
    return yaml.safe_load((JUDGED / name).read_text(encoding="utf-8"))


CORPUS: dict[str, Any] = read("matrices.yaml")
UNSEEN: dict[str, Any] = read("unseen.yaml")
UNSEEN_TWO: dict[str, Any] = read("unseen-two.yaml")
UNSEEN_THREE: dict[str, Any] = read("unseen-three.yaml")
UNSEEN_FOUR: dict[str, Any] = read("unseen-four.yaml")
FIRST: dict[str, str] = read("first-result.yaml")
UNSEEN_FIRST: dict[str, Any] = read("unseen-first-result.yaml")
UNSEEN_TWO_FIRST: dict[str, Any] = read("unseen-two-first-result.yaml")
UNSEEN_THREE_FIRST: dict[str, Any] = read("unseen-three-first-result.yaml")
UNSEEN_FOUR_FIRST: dict[str, Any] = read("unseen-four-first-result.yaml")
NOBODY_LOOKED = [
    "hgx-b300-with-both-operators",
    "v100-on-its-last-branch",
    "sles-15-sp7-on-rke2-for-the-network",
    "gb200-nvl72-with-gpucluster",
    "eks-1-32-in-extended-support-under-26-3",
    "openshift-4-21-with-hgx-b200",
    "back-from-r595-under-cuda-13-2",
    "vgpu-19-5-after-september",
    "network-operator-to-the-next-major-release",
]
NO_TABLE_YET = "kubernetes-1-37-ahead-of-26-7"
"""Which containerd is for Kubernetes 1.37 was not read."""
NEWEST = facts().newest_lines
INEXPRESSIBLE = "inexpressible"
RIGHT_AT_LEAST = 0.95
every = pytest.mark.parametrize(
    "corpus",
    [CORPUS, UNSEEN, UNSEEN_TWO, UNSEEN_THREE, UNSEEN_FOUR],
    ids=["matrices", "unseen", "unseen-two", "unseen-three", "unseen-four"],
)


def said(case: dict[str, Any], day: str = CORPUS["day"], known: Facts | None = None) -> str:
    """What the rules say about one matrix as a whole."""
    texts = [*case["components"], *case.get("from", {})]
    if any(component_of(key) is None for key in texts):
        return INEXPRESSIBLE
    return worst(findings(case, day, known or facts())).value


def findings(case: dict[str, Any], day: str, known: Facts) -> list[Finding]:
    """Everything that the rules say about it."""
    on, after = date.fromisoformat(day), stack(case["components"], case.get("hardware"))
    found = list(check_stack(after, known, on))
    if "from" in case:
        found += check_change(stack(case["from"], case.get("hardware")), after, known, on)
    return found


def looked_on(day: str) -> Facts:
    """Our facts, as if somebody had looked for newer majors of the operators on that day and found none."""
    rows = {part: replace(row, as_of=max(row.as_of, date.fromisoformat(day))) for part, row in NEWEST.items()}
    return replace(facts(), newest_lines=rows)


@every
def test_every_matrix_has_a_verdict_and_the_page_it_was_read_on(corpus: dict[str, Any]) -> None:
    assert len(corpus["matrices"]) >= 30
    assert {case["page"] for case in corpus["matrices"]} <= set(corpus["pages"])
    assert {case["verdict"] for case in corpus["matrices"]} == {"ok", "warn", "unknown", "fail"}


@every
def test_a_corrected_verdict_names_the_page_that_says_so(corpus: dict[str, Any]) -> None:
    told = [case["corrected"] for case in corpus["matrices"] if "corrected" in case]
    assert bool(told) == (corpus not in (UNSEEN_TWO, UNSEEN_THREE))  # of those, no page says something else
    assert all("it was judged" in why and (".md" in why or ".rst" in why) for why in told)


def test_the_first_results_are_kept() -> None:
    assert list(FIRST) == [case["id"] for case in CORPUS["matrices"]]
    assert list(UNSEEN_FIRST["said"]) == [case["id"] for case in UNSEEN["matrices"]]
    assert list(UNSEEN_TWO_FIRST["said"]) == [case["id"] for case in UNSEEN_TWO["matrices"]]
    assert list(UNSEEN_THREE_FIRST["said"]) == [case["id"] for case in UNSEEN_THREE["matrices"]]
    assert list(UNSEEN_FOUR_FIRST["said"]) == [case["id"] for case in UNSEEN_FOUR["matrices"]]


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


def test_the_fifth_first_result_had_one_false_ok() -> None:
    wanted = {case["id"]: as_judged_first(case) for case in UNSEEN_FOUR["matrices"]}
    first = UNSEEN_FOUR_FIRST["said"]
    right = sum(verdict == first[name] for name, verdict in wanted.items())
    assert right == UNSEEN_FOUR_FIRST["counted"]["right"] == 27
    assert sum(verdict != "ok" and first[name] == "ok" for name, verdict in wanted.items()) == 1


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
    day = corpus["day"]
    known = looked_on(day) if corpus is UNSEEN_FOUR else facts()
    wrong = [case["id"] for case in corpus["matrices"] if case["verdict"] != said(case, day, known)]
    assert 1 - len(wrong) / len(corpus["matrices"]) >= RIGHT_AT_LEAST, wrong


def test_a_day_after_the_sources_end_leaves_only_what_nobody_read_unknown() -> None:
    day = UNSEEN_FOUR["day"]
    wrong = [case for case in UNSEEN_FOUR["matrices"] if case["verdict"] != said(case, day)]
    assert {case["id"] for case in wrong} == {*NOBODY_LOOKED, NO_TABLE_YET}
    for case in wrong:
        unknown = [each for each in findings(case, day, facts()) if each.verdict is Verdict.UNKNOWN]
        is_lifecycle = case["id"] != NO_TABLE_YET
        assert [each.rule for each in unknown] == ["lifecycle" if is_lifecycle else "runtime-kubernetes"], case["id"]
        assert ("nobody looked" if is_lifecycle else "the newest known is 1.36") in unknown[0].message
