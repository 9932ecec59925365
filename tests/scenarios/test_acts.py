"""The table of acts is complete: every class, every field, and every part of what they say has a case or a reason."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.core.actions.of_campaigns import MarkNode
from seatrial.core.base.values import dataclass, fields, replace
from tests.scenarios.acts import CASES, LEDGER, RECORD, SAID, SILENT, classes, covered, unsaid

FIELDS = {(kind.__name__, each.name) for kind in classes() for each in fields(kind)}


def missing(wanted: set[tuple[str, str]]) -> set[tuple[str, str]]:
    return wanted - covered(CASES) - set(SILENT)


def test_every_field_of_every_act_has_a_case_or_a_reason_why_it_needs_none() -> None:
    assert missing(FIELDS) == set()


def test_a_field_that_somebody_adds_is_missed() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class MarkNodeSomeDay(MarkNode):
        is_urgent: bool = False

    told = {("MarkNode", each.name) for each in fields(MarkNodeSomeDay)}
    assert missing(told) == {("MarkNode", "is_urgent")}


def test_an_act_that_somebody_adds_is_missed() -> None:
    assert missing({("SwallowNode", "node")}) == {("SwallowNode", "node")}


def test_no_reason_outlives_its_field_and_no_field_has_both() -> None:
    assert set(SILENT) <= FIELDS
    assert set(SILENT) & covered(CASES) == set()


def test_no_case_names_a_field_that_is_not_there() -> None:
    assert covered(CASES) <= FIELDS


def test_names_of_cases_are_different() -> None:
    names = [case.name for case in CASES]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", SAID)
def test_a_value_of_many_fields_says_something_in_each(name: str) -> None:
    allowed = ["resource_version"] if SAID[name] is LEDGER else []
    assert unsaid(SAID[name]) == allowed


@pytest.mark.parametrize("changes", [{"is_saving": False}, {"before": None}])
def test_a_field_that_says_nothing_is_noticed(changes: dict[str, Any]) -> None:
    assert unsaid(replace(RECORD, **changes)) == list(changes)
