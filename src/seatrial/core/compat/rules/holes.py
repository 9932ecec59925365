"""Holes that stay: what is wanted is as vulnerable as what runs, so a step makes nothing worse.

A check fails such a stack, and goes on failing it. Whoever plans or starts a rollout is not kept from it: the way out
leads over releases with the same hole, and a driver may move while an operator waits for its own turn. A stack that
opens a hole is refused. Why: docs/decisions/0031-vulnerabilities.md.

Tests: tests/core/compat/test_rules_security.py
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from seatrial.core.compat.facts import Facts
from seatrial.core.compat.findings import Finding, Verdict
from seatrial.core.compat.matrix import Stack
from seatrial.core.compat.rules.cases import Case
from seatrial.core.compat.rules.existence import KNOWN_BAD
from seatrial.core.compat.rules.security import Exposure, exposures


def kept_holes(running: Stack, wanted: Stack, facts: Facts, on: date) -> Finding | None:
    """A warning in place of the failure, where what is wanted has only holes that run already; None otherwise."""
    here, there = (Case(stack=stack, facts=facts, on=on) for stack in (running, wanted))
    found = KNOWN_BAD.on_stack(there)
    if found is None or found.verdict is not Verdict.FAIL:
        return None
    apart = KNOWN_BAD.on_stack(replace(there, facts=replace(facts, vulnerabilities=())))
    holes = [each for each in exposures(there) if each.is_open]
    if (apart is not None and apart.verdict is Verdict.FAIL) or not _ways_out(there) <= _ways_out(here):
        return None
    told = "; ".join(map(_told, holes))
    fixed = " and ".join(f"{each.component.value} {each.last.fixed_in}" for each in holes)
    return replace(
        found,
        verdict=Verdict.WARN,
        message=f"What is wanted has the hole that runs already, and does not close it: {told}.",
        next_step=f"Take {fixed} or newer next.",
    )


def _told(each: Exposure) -> str:
    ids = dict.fromkeys(row.id for row in each.rows if row.breaks_out)
    return f"{each.component.value} {each.version} ({', '.join(ids)})"


def _ways_out(case: Case) -> frozenset[tuple[str, str]]:
    """The ways out of a container that a stack leaves open."""
    found = [each for each in exposures(case) if each.is_open]
    return frozenset((row.id, row.only_in) for each in found for row in each.rows if row.breaks_out)
