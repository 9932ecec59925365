"""The rules as a whole: whole matrices and acceptances, the examples of the data, and what each rule says."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from seatrial.core.compat.findings import Confidence, Finding, Verdict, worst
from seatrial.core.compat.matrix import Accept, Component, Entry, Hardware, Matrix, Role, Span, Stack, Value
from seatrial.core.compat.rules import RULES, STACK_RULES, Rule, check_change, check_stack, judge_entries
from seatrial.core.compat.rules.cases import Case
from seatrial.core.compat.versions import DriverVersion, LinedVersion
from tests.core.compat.knowledge import ON, examples, facts, judged, stack
from tests.core.compat.test_rules_verdicts import OK, STACKS

DAY = date(2025, 1, 10)
GOOD = next(each for each in examples()["compatible"] if each["id"].startswith("ok-1"))["components"]
WARNED = {**GOOD, "device_plugin": "v0.16.2"}


def entry(role: Role, texts: dict[str, str], *accept: Accept, arch: str = "") -> Entry:
    stack = Stack.of(texts, Hardware(arch=arch))
    return Entry(role=role, key=role.value, stack=stack, accept=accept, span=Span(file="m.yaml", line=3, column=1))


def matrix(*entries: Entry) -> Matrix:
    return Matrix(entries={each.role: each for each in entries}, file="m.yaml")


def check_matrix(*args: Any, **more: Any) -> tuple[Finding, ...]:
    """Everything found about every entry, in the order of the entries."""
    return tuple(finding for each in judge_entries(*args, **more) for finding in each.findings)


def rules_of(found: tuple[Finding, ...]) -> set[str]:
    return {finding.rule for finding in found}


def test_a_good_matrix_is_ok() -> None:
    assert worst(check_matrix(matrix(entry(Role.PRODUCTION, GOOD)), facts(), DAY)) is Verdict.OK


def test_every_finding_has_a_place_and_without_a_better_one_it_is_the_entry() -> None:
    found = check_matrix(matrix(entry(Role.PRODUCTION, WARNED)), facts(), DAY)
    assert {finding.spans for finding in found} == {(Span(file="m.yaml", line=3, column=1),)}


def open_findings(*entries: Entry, base: Matrix | None = None) -> list[tuple[str, Verdict]]:
    found = check_matrix(matrix(*entries), facts(), DAY, base)
    return [(finding.rule, finding.verdict) for finding in found if finding.verdict is not Verdict.OK]


@pytest.mark.parametrize(
    "wrong", [{"gpu_operator": "v24.12.0"}, {"gpu_operator": "6.x TBD"}, {"gpu_driver": "560.x"}, {"openshift": "four"}]
)
def test_a_wrong_value_is_told_once_in_a_whole_matrix(wrong: dict[str, str]) -> None:
    entries = [entry(Role.PRODUCTION, {**GOOD, **wrong}, arch="Hopper"), entry(Role.ROLLBACK, GOOD, arch="Hopper")]
    assert [verdict for _, verdict in open_findings(*entries)] == [Verdict.FAIL]


def test_a_value_that_does_not_exist_points_at_itself_and_nowhere_else() -> None:
    stack = Stack.of(GOOD)
    here = Value.read(Component.GPU_OPERATOR, "v24.12.0", Span(file="m.yaml", line=11, column=19))
    production = replace(
        entry(Role.PRODUCTION, {}), stack=replace(stack, values={**stack.values, Component.GPU_OPERATOR: here})
    )
    found = check_matrix(matrix(production, entry(Role.ROLLBACK, GOOD)), facts(), DAY)
    assert [(each.rule, each.spans) for each in found if each.verdict is not Verdict.OK] == [("exists", (here.span,))]


def test_a_step_from_what_does_not_exist_stays_unknown_where_nobody_else_says_so() -> None:
    base = matrix(entry(Role.PRODUCTION, {**GOOD, "gpu_operator": "v24.12.0"}))
    assert open_findings(entry(Role.PRODUCTION, GOOD), base=base) == [("upgrade-path", Verdict.UNKNOWN)]


def test_groups_that_move_at_once_fail_whatever_does_not_exist() -> None:
    production = entry(Role.PRODUCTION, {**GOOD, "gpu_operator": "v24.12.0"})
    canary = entry(Role.CANARY, {**GOOD, "openshift": "4.17.9"})
    assert ("one-at-a-time", Verdict.FAIL) in open_findings(production, canary)


def test_an_acceptance_covers_a_warning_of_its_rule() -> None:
    accept = Accept(rule="gpuop-operands", reason="we pin it")
    found = check_matrix(matrix(entry(Role.PRODUCTION, WARNED, accept)), facts(), DAY)
    assert [finding.rule for finding in found if finding.is_accepted] == ["gpuop-operands"]
    assert all(finding.verdict is Verdict.OK for finding in found if not finding.is_accepted)


@pytest.mark.parametrize(("until", "is_accepted"), [(date(2025, 1, 10), True), (date(2025, 1, 9), False)])
def test_an_acceptance_holds_until_the_end_of_its_day(until: date, is_accepted: bool) -> None:
    accept = Accept(rule="gpuop-operands", reason="we pin it", until=until)
    found = check_matrix(matrix(entry(Role.PRODUCTION, WARNED, accept)), facts(), DAY)
    assert any(finding.is_accepted for finding in found) is is_accepted
    assert ("accept-expired" in rules_of(found)) is not is_accepted


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("gpuop-driver", "finds nothing to accept"),
        ("gpuop-drivers", "there is no rule"),
        ("driver-cuda", "what fails cannot be accepted"),
    ],
)
def test_an_acceptance_that_covers_nothing_is_a_finding(rule: str, why: str) -> None:
    accept = Accept(rule=rule, reason="just in case", span=Span(file="m.yaml", line=9, column=5))
    found = check_matrix(matrix(entry(Role.PRODUCTION, {**GOOD, "cuda": "13.0"}, accept)), facts(), DAY)
    unused = next(finding for finding in found if finding.rule == "accept-unused")
    assert (unused.verdict, unused.spans[0].line) == (Verdict.WARN, 9)
    assert why in unused.message


def test_a_fail_is_never_accepted() -> None:
    accept = Accept(rule="driver-cuda", reason="trust me")
    found = check_matrix(matrix(entry(Role.PRODUCTION, {**GOOD, "cuda": "13.0"}, accept)), facts(), DAY)
    assert not any(finding.is_accepted for finding in found)


def test_production_is_compared_with_the_base_and_the_canary_with_production() -> None:
    before = matrix(entry(Role.PRODUCTION, {**GOOD, "gpu_operator": "v24.3.0", "openshift": "4.15.1"}))
    now = matrix(entry(Role.PRODUCTION, GOOD), entry(Role.CANARY, {"gpu_operator": "v25.10.1"}))
    judged = {
        each.entry.role: {finding.rule: finding for finding in each.findings}
        for each in judge_entries(now, facts(), DAY, before)
    }
    assert judged[Role.PRODUCTION]["one-at-a-time"].verdict is Verdict.FAIL
    assert "24.9 → 25.3 → 25.10" in judged[Role.CANARY]["upgrade-path"].next_step


def test_without_a_base_production_has_no_change() -> None:
    assert "one-at-a-time" not in rules_of(check_matrix(matrix(entry(Role.PRODUCTION, GOOD)), facts(), DAY))


def test_a_canary_without_production_is_compared_with_the_base() -> None:
    before, now = (matrix(entry(Role.CANARY, {"gpu_operator": text})) for text in ("v24.6.2", "v25.3.4"))
    found = check_matrix(now, facts(), DAY, before)
    assert next(finding for finding in found if finding.rule == "upgrade-path").verdict is Verdict.FAIL


def test_what_a_canary_does_not_name_is_judged_with_production() -> None:
    found = check_matrix(matrix(entry(Role.PRODUCTION, GOOD), entry(Role.CANARY, {"cuda": "13.0"})), facts(), DAY)
    assert {finding.rule for finding in found if finding.verdict is Verdict.FAIL} == {"driver-cuda"}


def test_entries_without_hardware_have_that_of_production() -> None:
    now = matrix(
        entry(Role.PRODUCTION, GOOD, arch="Hopper"),
        entry(Role.ROLLBACK, {"gpu_driver": "550.54.15"}),
        entry(Role.PLANNED, GOOD),
    )
    judged = {each.entry.role: rules_of(each.findings) for each in judge_entries(now, facts(), DAY)}
    assert all("arch-driver" in found for found in judged.values())


def test_a_rollback_is_judged_by_its_way_and_a_plan_by_nothing() -> None:
    other = {**GOOD, "gpu_operator": "v24.6.2", "network_operator": "v24.7.0", "openshift": "4.15.1"}
    now = matrix(entry(Role.PRODUCTION, GOOD), entry(Role.ROLLBACK, other), entry(Role.PLANNED, other))
    judged = {each.entry.role: rules_of(each.findings) for each in judge_entries(now, facts(), DAY)}
    on_change = {"one-at-a-time", "upgrade-path", "bridge", "order", "preconditions"}
    assert judged[Role.ROLLBACK] & on_change == {"upgrade-path"}
    assert judged[Role.PLANNED] & on_change == set()


def test_rules_of_others_are_judged_and_accepted_like_our_own() -> None:
    mine = Finding(rule="mine", verdict=Verdict.WARN, message="No.", next_step="Yes.")
    now = matrix(entry(Role.PRODUCTION, GOOD, Accept(rule="mine", reason="so be it")))
    found = check_matrix(now, facts(), DAY, more=lambda _: [mine])
    assert [finding.is_accepted for finding in found if finding.rule == "mine"] == [True]
    assert "accept-unused" not in rules_of(found)


def test_every_rule_says_what_it_means_reads_and_rests_on() -> None:
    for rule in RULES:
        assert rule.title
        assert rule.meaning.endswith(".")
        assert rule.inputs
        assert rule.sources


BY_RULE = {rule.id: rule for rule in STACK_RULES}


def names(message: str, component: str, text: str) -> bool:
    """Whether a message names a value: as it is written, or by its release line."""
    version = Value.read(Component(component), text).version
    line = version.line if isinstance(version, LinedVersion) else text
    if isinstance(version, DriverVersion):
        line = f"branch {version.branch}"
    return any(word in message for word in (text, text.removeprefix("v"), line))


@pytest.mark.parametrize("rule", STACK_RULES, ids=lambda rule: rule.id)
def test_an_ok_names_every_value_it_needs(rule: Rule) -> None:
    texts, hardware = STACKS[rule.id][OK]
    found = judged(rule.id, texts, hardware)
    assert found is not None
    needed = [part.value for part in rule.needs] or [part.value for part in rule.inputs if part.value in texts]
    unnamed = [part for part in needed if part in texts and not names(found.message, part, texts[part])]
    assert unnamed == []


def test_what_no_rule_can_look_up_is_not_called_ok_by_any() -> None:
    for component in Component:
        text = {"kernel": "6.99.1-custom", "os": "templeos5.3", "dra_driver": "99.9.9", "dcgm": "99.9.9-99.9.9"}.get(
            component.value, ""
        )
        for rule in STACK_RULES:
            if rule.id == "known-bad":
                continue  # it compares with ranges, also a version that nobody knows, and says no more than that
            found = judged(rule.id, {component.value: text}) if text else None
            assert found is None or found.verdict.value != "ok", (rule.id, component, found)


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
