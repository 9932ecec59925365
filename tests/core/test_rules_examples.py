"""The ten example matrices and five transitions of the data give exactly the verdicts written beside them."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.core.compat.findings import Confidence, Verdict
from seatrial.core.compat.rules import STACK_RULES, check_change, check_stack
from seatrial.core.compat.rules.cases import Case
from tests.core.knowledge import ON, examples, facts, stack

MATRICES = [*examples()["compatible"], *examples()["broken"]]
TRANSITIONS = examples()["transitions"]


def test_there_are_ten_matrices_and_five_transitions() -> None:
    assert (len(MATRICES), len(TRANSITIONS)) == (10, 5)


@pytest.mark.parametrize("example", MATRICES, ids=lambda example: example["id"])
def test_a_matrix_gives_the_expected_verdict_for_every_rule(example: dict[str, Any]) -> None:
    case = Case(stack=stack(example["components"], example.get("hardware")), facts=facts(), on=ON)
    found = [finding for rule in STACK_RULES if (finding := rule.on_stack(case)) is not None]
    # The examples fix no day, and by their own note support dates are then not judged.
    told = {finding.rule: finding.verdict.value for finding in found if finding.rule != "lifecycle"}
    assert {rule: verdict for rule, verdict in told.items() if verdict != "ok"} == example["expect"]
    assert len(told.keys() - {"netop-nic", "netop-server"}) == 20, "every rule whose inputs are written has answered"


@pytest.mark.parametrize("example", MATRICES, ids=lambda example: example["id"])
def test_every_answer_about_the_examples_says_who_says_so(example: dict[str, Any]) -> None:
    found = check_stack(stack(example["components"], example.get("hardware")), facts(), ON)
    silent = {finding.rule for finding in found if not finding.sources and finding.verdict is not Verdict.UNKNOWN}
    assert silent <= {"known-bad"}, "only 'nothing is known to be bad' has no source"


@pytest.mark.parametrize("example", TRANSITIONS, ids=lambda example: example["id"])
def test_a_transition_gives_the_expected_verdicts(example: dict[str, Any]) -> None:
    found = check_change(stack(example["from"]), stack(example["to"]), facts(), ON)
    told = {finding.rule: finding.verdict.value for finding in found}
    assert {rule: told[rule] for rule in example["expect"]} == example["expect"]
    assert "fail" not in {verdict for rule, verdict in told.items() if rule not in example["expect"]}


def test_nothing_that_is_not_verified_blocks() -> None:
    for example in MATRICES:
        found = check_stack(stack(example["components"], example.get("hardware")), facts(), ON)
        assert all(finding.confidence is Confidence.VERIFIED for finding in found if finding.verdict is Verdict.FAIL)
