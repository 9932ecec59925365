"""Whatever is written in a matrix, the rules answer: no exception, one finding per rule, and never a silent pass."""

from __future__ import annotations

from datetime import date

from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.core.compat.findings import Finding, Verdict, worst
from seatrial.core.compat.matrix import Component, Hardware, Stack
from seatrial.core.compat.rules import STACK_RULES, check_change, check_stack
from seatrial.core.compat.rules.cases import Case
from tests.core.compat.knowledge import examples, facts

WRITTEN: dict[str, set[str]] = {part.value: {"", "6.x TBD", "v0.0.0", "99.99.99"} for part in Component}
for each in [*examples()["compatible"], *examples()["broken"]]:
    for name, text in each["components"].items():
        WRITTEN[name].add(text)
WRITTEN["kubernetes"] |= {"v1.20.1", "v1.31.5", "v1.99.0"}
WRITTEN["kernel"] |= {"6.8.0-101-generic", "4.18.0-372.1.1.el8_6.x86_64", "5.14.0-427.40.1.el9_4.x86_64+rt"}
WRITTEN["gpu_operator"] |= {"v22.1.0", "v99.1.0", "v25.3.0-rc.1", "v24.6.2"}
WRITTEN["network_operator"] |= {"v23.10.0", "v24.1.0", "v26.4.1", "v26.7.0", "v24.4.9"}
WRITTEN["gpu_driver"] |= {"470.223.02", "570.123.06", "610.57.04", "999.1"}
WRITTEN["cuda"] |= {"10.2", "12.7", "12.8.1", "14.0"}
WRITTEN["openshift"] |= {"4.9.1", "4.12.3", "4.22.0-rc.1", "5.0.1"}
WRITTEN["nccl"] |= {"2.22.3+cuda12.6"}
WRITTEN["firmware_cx6"] |= {"20.43.2566", "36.1.1"}

HARDWARE = st.builds(
    Hardware,
    arch=st.sampled_from(["", "Volta", "Hopper", "Grace-Hopper", "Blackwell", "Rubin"]),
    product=st.sampled_from(["", "H100", "B200", "GB300", "GH200", "Voodoo"]),
    kernel_module=st.sampled_from(["", "auto", "open", "proprietary"]),
    rdma=st.sampled_from(["", "dmabuf", "peermem", "magic"]),
)
TEXTS = st.fixed_dictionaries({}, optional={name: st.sampled_from(sorted(texts)) for name, texts in WRITTEN.items()})
STACKS = st.builds(Stack.of, TEXTS, HARDWARE)
DAYS = st.dates(min_value=date(2023, 1, 1), max_value=date(2030, 1, 1))


def is_sound(found: tuple[Finding, ...]) -> bool:
    rules = [finding.rule for finding in found]
    return len(rules) == len(set(rules)) and all(
        finding.message and bool(finding.next_step) == (finding.verdict is not Verdict.OK) for finding in found
    )


@settings(max_examples=300, deadline=None)
@given(STACKS, DAYS)
def test_any_stack_is_answered(stack: Stack, on: date) -> None:
    found = check_stack(stack, facts(), on)
    assert is_sound(found)
    readable = {part for part, value in stack.values.items() if value.version is not None}
    judged = {Component.OPENSHIFT, Component.KUBERNETES, Component.KERNEL, Component.MOFED, Component.SRIOV_OPERATOR}
    if any(part not in readable and part not in judged for part in stack.values):
        assert any(finding.verdict is Verdict.FAIL for finding in found), "what cannot be read fails somewhere"


@settings(max_examples=200, deadline=None)
@given(STACKS, DAYS)
def test_a_wrong_value_is_told_once_and_makes_no_stack_better(stack: Stack, on: date) -> None:
    case, found = Case(stack=stack, facts=facts(), on=on), check_stack(stack, facts(), on)
    alone = [finding for rule in STACK_RULES if (finding := rule.on_stack(case)) is not None]
    assert worst(found) is worst(alone)
    for value in stack.values.values():
        assert not value.problem or sum(value.problem in finding.message for finding in found) <= 1


@settings(max_examples=200, deadline=None)
@given(STACKS, STACKS, DAYS)
def test_any_change_is_answered(before: Stack, after: Stack, on: date) -> None:
    assert is_sound(check_change(before, after, facts(), on))


@settings(max_examples=100, deadline=None)
@given(STACKS, DAYS)
def test_the_same_question_has_the_same_answer(stack: Stack, on: date) -> None:
    assert check_stack(stack, facts(), on) == check_stack(stack, facts(), on)
