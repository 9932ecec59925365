"""All rules in their order, and the two questions: what about this stack, what about this change?

Law of this file: one wrong value is told once. What cannot be read is told by the first rule that needs it; what does
not exist fails `exists`, and no other rule goes on to say that it knows nothing of it.

Tests: tests/core/compat/test_rules_checking.py
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from typing import Final

from seatrial.core.compat.facts import Facts
from seatrial.core.compat.findings import Finding, Verdict
from seatrial.core.compat.matrix import Component, Stack
from seatrial.core.compat.rules import (
    architectures,
    change,
    container_runtimes,
    existence,
    firmware,
    gpus,
    kubernetes,
    listed,
    network,
    openshift,
    parts,
    platform,
    runtimes,
    ships,
    systems,
)
from seatrial.core.compat.rules.cases import Answer, Case, Rule, Step, apart
from seatrial.core.errors import SeatrialError

STACK_RULES: Final[tuple[Rule, ...]] = (
    existence.EXISTS,
    ships.GPUOP_DRIVER,
    openshift.GPUOP_OPENSHIFT,
    kubernetes.GPUOP_KUBERNETES,
    ships.GPUOP_OPERANDS,
    systems.GPUOP_OS,
    listed.GPUOP_GPU,
    listed.GPUOP_CPU,
    runtimes.GPUOP_RUNTIME,
    parts.GPUOP_VGPU,
    parts.DRA_DRIVER,
    parts.FABRIC_MANAGER,
    parts.GDS_MODULES,
    listed.GDS_OS,
    systems.OS_KERNEL,
    platform.DRIVER_KERNEL,
    platform.OPENSHIFT_KERNEL,
    platform.OPENSHIFT_KUBERNETES,
    container_runtimes.RUNTIME_KUBERNETES,
    platform.MOFED_KERNEL,
    openshift.NETOP_OPENSHIFT,
    kubernetes.NETOP_KUBERNETES,
    systems.NETOP_OS,
    runtimes.NETOP_RUNTIME,
    ships.NETOP_MOFED,
    ships.NETOP_GPUOP,
    network.NETOP_SERVER,
    network.NETOP_NFD,
    network.NETOP_NIC,
    firmware.FIRMWARE_FAMILY,
    firmware.FIRMWARE_MOFED,
    gpus.DRIVER_CUDA,
    architectures.ARCH_DRIVER,
    architectures.ARCH_CUDA,
    gpus.RDMA,
    platform.SRIOV_OPENSHIFT,
    gpus.DCGM_DRIVER,
    gpus.NCCL,
    existence.KNOWN_BAD,
    existence.LIFECYCLE,
)

CHANGE_RULES: Final[tuple[Rule, ...]] = (
    change.ONE_AT_A_TIME,
    change.UPGRADE_PATH,
    change.BRIDGE,
    change.ORDER,
    change.PRECONDITIONS,
)

RULES: Final[tuple[Rule, ...]] = (*STACK_RULES, *CHANGE_RULES)


class RuleUnknown(SeatrialError):  # noqa: N818 — a refusal about a name
    """There is no rule of that id."""


def check_stack(stack: Stack, facts: Facts, on: date) -> tuple[Finding, ...]:
    """Findings of each rule that has something to judge, the ok ones included; a wrong value is reported once."""
    case = Case(stack=stack, facts=facts, on=on)
    missing = _missing(case)
    without = _without(case, missing)
    found, told = list[Finding](), frozenset[Answer]()
    for rule in STACK_RULES:
        answers = rule.answers(case)
        vain = _vain(answers, rule.answers(without)) if missing and rule is not existence.EXISTS else frozenset()
        found += apart(rule.id, _left(answers, told | vain))
        told |= frozenset(answers) & frozenset(case.unreadable(*stack.values))
    return tuple(found)


def check_change(
    before: Stack, after: Stack, facts: Facts, on: date, told: frozenset[Component] = frozenset()
) -> tuple[Finding, ...]:
    """Findings of each rule on changes that has something to judge, the ok ones included.

    `told` are the components whose wrong value somebody has told already.
    """
    sides = [Case(stack=stack, facts=facts, on=on) for stack in (before, after)]
    step, without = (Step(before=each[0], after=each[1]) for each in (sides, [_without(side, told) for side in sides]))
    unread = frozenset(answer for side in sides for answer in side.unreadable(*told))
    found: list[Finding] = []
    for rule in CHANGE_RULES:
        answers = rule.answers_on_change(step)
        vain = _vain(answers, rule.answers_on_change(without)) if told else frozenset()
        found += apart(rule.id, _left(answers, unread | vain))
    return tuple(found)


def wrong_values(stack: Stack, facts: Facts, on: date) -> frozenset[Component]:
    """What is written and cannot be read, or does not exist: one answer says so, and nothing else is known of it."""
    case = Case(stack=stack, facts=facts, on=on)
    return _missing(case) | {part for part, value in stack.values.items() if value.version is None}


def _missing(case: Case) -> frozenset[Component]:
    """What can be read and does not exist, each looked up by itself."""
    alone = {
        part: replace(case, stack=replace(case.stack, values={part: value}))
        for part, value in case.stack.values.items()
        if value.version is not None
    }
    return frozenset(
        part
        for part, each in alone.items()
        if any(answer.verdict is Verdict.FAIL for answer in existence.EXISTS.answers(each))
    )


def _without(case: Case, parts: frozenset[Component]) -> Case:
    values = {part: value for part, value in case.stack.values.items() if part not in parts}
    return replace(case, stack=replace(case.stack, values=values))


def _vain(answers: Iterable[Answer], without: Iterable[Answer]) -> frozenset[Answer]:
    """What is said only because of a value that does not exist. A failure has more to it, and stays."""
    return frozenset(answer for answer in answers if answer.verdict is not Verdict.FAIL) - frozenset(without)


def _left(answers: tuple[Answer, ...], said: frozenset[Answer]) -> tuple[Answer, ...]:
    """What is left to say; a rule that keeps something to itself does not call the rest ok."""
    left = tuple(answer for answer in answers if answer not in said)
    return left if left == answers else tuple(answer for answer in left if answer.verdict is not Verdict.OK)


def explain(rule_id: str) -> str:
    """What a rule means, what it reads and where its facts come from."""
    rule = next((rule for rule in RULES if rule.id == rule_id), None)
    if rule is None:
        near = [rule.id for rule in RULES if rule_id and (rule_id in rule.id or rule.id.startswith(rule_id[:4]))]
        hint = f"Did you mean {' or '.join(near)}?" if near else f"There are: {', '.join(rule.id for rule in RULES)}."
        raise RuleUnknown(f"there is no rule {rule_id!r}. {hint}")
    about = "a change" if rule.is_on_change else "one stack"
    return (
        f"{rule.id}: {rule.title} (about {about})\n\n{rule.meaning}\n\n"
        f"Reads:   {', '.join(part.value for part in rule.inputs)}\n"
        f"Sources: {', '.join(rule.sources)}\n"
    )
