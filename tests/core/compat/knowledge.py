"""What tests of rules share: the knowledge base, and stacks in one line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from seatrial.adapters.files.facts.knowledge import load_knowledge
from seatrial.core.compat.facts import Facts
from seatrial.core.compat.findings import Finding
from seatrial.core.compat.matrix import Hardware, Stack
from seatrial.core.compat.rules import STACK_RULES, check_change
from seatrial.core.compat.rules.cases import Case

ROOT = Path(__file__).parents[3]
ON = date(2026, 9, 1)


@cache
def facts() -> Facts:
    return load_knowledge()


@cache
def examples() -> Any:
    """The examples that come with the data."""
    return yaml.safe_load((ROOT / "data" / "compat-facts.yaml").read_text(encoding="utf-8"))["example_matrices"]


def stack(texts: Mapping[str, str], hardware: Mapping[str, str] | list[dict[str, str]] | None = None) -> Stack:
    pools = hardware if isinstance(hardware, list) else [hardware or {}]
    first, *others = (
        Hardware(
            pool=said.get("pool", ""),
            arch=said.get("arch", ""),
            product=said.get("product", ""),
            kernel_module=said.get("kernel_module", ""),
            rdma=said.get("rdma", ""),
        )
        for said in pools
    )
    return Stack.of(texts, replace(first, others=tuple(others)))


def judged(
    rule: str,
    texts: Mapping[str, str],
    hardware: Mapping[str, str] | list[dict[str, str]] | None = None,
    on: date = ON,
) -> Finding | None:
    """What one rule says about a stack, asked by itself."""
    asked = next(each for each in STACK_RULES if each.id == rule)
    return asked.on_stack(Case(stack=stack(texts, hardware), facts=facts(), on=on))


def judged_change(rule: str, before: dict[str, str], after: dict[str, str], on: date = ON) -> Finding | None:
    """What one rule says about a change."""
    found = check_change(stack(before), stack(after), facts(), on)
    return next((finding for finding in found if finding.rule == rule), None)
