"""All rules in their order, and the two questions: what about this stack, what about this change?

Tests: tests/core/test_rules_examples.py
"""

from __future__ import annotations

from datetime import date
from typing import Final

from seatrial.core.compat.facts import Facts
from seatrial.core.compat.findings import Finding
from seatrial.core.compat.matrix import Stack
from seatrial.core.compat.rules import (
    architectures,
    change,
    container_runtimes,
    existence,
    firmware,
    gpus,
    parts,
    platform,
)
from seatrial.core.compat.rules.cases import Case, Rule, Step
from seatrial.core.compat.rules.operators import kubernetes, listed, network, openshift, runtimes, ships, systems
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
    """One finding for each rule that has something to judge, the ok ones included."""
    case = Case(stack=stack, facts=facts, on=on)
    return tuple(found for rule in STACK_RULES if (found := rule.on_stack(case)) is not None)


def check_change(before: Stack, after: Stack, facts: Facts, on: date) -> tuple[Finding, ...]:
    """One finding for each rule on changes that has something to judge, the ok ones included."""
    step = Step(before=Case(stack=before, facts=facts, on=on), after=Case(stack=after, facts=facts, on=on))
    return tuple(found for rule in CHANGE_RULES if (found := rule.on_change(step)) is not None)


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
