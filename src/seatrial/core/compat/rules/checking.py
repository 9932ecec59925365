"""A whole matrix: every entry's stack, the changes between entries and since the last commit, and what was accepted.

Which stack does an entry come from?

    production   the production entry of the base (the last commit): what ran before this edit
    canary       production: what the canary node ran before; without one, the canary entry of the base
    rollback     production, by upgrade-path alone: a way back is not a step that bakes
    planned      nothing: `seatrial plan` cuts it into steps and judges those

A component the canary does not name stays what it is in production, so its stack is judged with production's values
below its own. Nodes are the same everywhere: an entry without a hardware block has production's.

An acceptance covers warnings and unknowns of one rule in its own entry until its day; it never covers a fail. One that
covers nothing, or no longer, is a finding itself: a forgotten acceptance would hide the next real warning.

Tests: tests/core/compat/test_rules_checking.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import date
from typing import Final

from seatrial.core.base.values import dataclass, replace
from seatrial.core.compat.facts import Facts
from seatrial.core.compat.findings import Finding, Verdict
from seatrial.core.compat.matrix import NOWHERE, Accept, Entry, Hardware, Matrix, Role, Span, Stack
from seatrial.core.compat.rules.rulebook import RULES, check_change, check_stack, wrong_values

EXPIRED: Final = "accept-expired"
UNUSED: Final = "accept-unused"
PATH_ONLY: Final = frozenset({"upgrade-path"})
_OURS: Final = frozenset(rule.id for rule in RULES)
_ACCEPTABLE: Final = frozenset({Verdict.WARN, Verdict.UNKNOWN})

MoreRules = Callable[[Entry], Iterable[Finding]]
"""Judges an entry by rules that are not built in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One entry and everything found about it."""

    entry: Entry
    findings: tuple[Finding, ...]


def owned(found: Iterable[Finding], without: Iterable[Finding], own: tuple[str, ...]) -> list[Finding]:
    """Findings of our rules that would be others without the user's own facts rest on these, quoted or not."""
    same = {_said(each) for each in without}
    return [
        each if each.own or each.rule not in _OURS or _said(each) in same else replace(each, own=own) for each in found
    ]


def _said(finding: Finding) -> Finding:
    """What a finding says, wherever that is written and whoever has accepted it."""
    return replace(finding, spans=(), is_accepted=False)


def judge_entries(
    matrix: Matrix, facts: Facts, on: date, base: Matrix | None = None, *, more: MoreRules | None = None
) -> tuple[Judged, ...]:
    """Everything found, entry by entry."""
    return tuple(
        Judged(entry=entry, findings=tuple(_judge(entry, matrix, facts, on, base, more)))
        for entry in matrix.entries.values()
    )


def _judge(
    entry: Entry, matrix: Matrix, facts: Facts, on: date, base: Matrix | None, more: MoreRules | None
) -> Iterator[Finding]:
    stack = whole(entry, matrix)
    found = [
        *check_stack(stack, facts, on),
        *_changes(entry, stack, matrix, facts, on, base),
        *(more(entry) if more is not None else ()),
    ]
    valid = [accept for accept in entry.accept if accept.until is None or on <= accept.until]
    accepted = {accept.rule for accept in valid}
    for finding in found:
        placed = finding if finding.spans else replace(finding, spans=_place(entry))
        is_accepted = placed.rule in accepted and placed.verdict in _ACCEPTABLE
        yield replace(placed, is_accepted=is_accepted) if is_accepted else placed
    for accept in entry.accept:
        yield from _expired(accept, entry, on) if accept not in valid else _unused(accept, entry, found)


def whole(entry: Entry, matrix: Matrix) -> Stack:
    """The stack of an entry with what it leaves to production."""
    production = matrix.entries.get(Role.PRODUCTION)
    if production is None or entry.role is Role.PRODUCTION:
        return entry.stack
    own, below = entry.stack.hardware, production.stack.hardware
    values = {**production.stack.values, **entry.stack.values} if entry.role is Role.CANARY else entry.stack.values
    return Stack(values=values, hardware=below if replace(own, span=NOWHERE) == Hardware() else own)


def _changes(
    entry: Entry, stack: Stack, matrix: Matrix, facts: Facts, on: date, base: Matrix | None
) -> Iterator[Finding]:
    before = _before(entry, matrix, base)
    if before is None or not before.differing(stack):
        return
    production = matrix.entries.get(Role.PRODUCTION)
    told = wrong_values(stack, facts, on)
    if production is not None and before is production.stack:
        told |= wrong_values(before, facts, on)
    found = check_change(before, stack, facts, on, told)
    yield from (finding for finding in found if entry.role is not Role.ROLLBACK or finding.rule in PATH_ONLY)


def _before(entry: Entry, matrix: Matrix, base: Matrix | None) -> Stack | None:
    production = matrix.entries.get(Role.PRODUCTION)
    earlier = base.entries.get(entry.role) if base is not None else None
    match entry.role:
        case Role.PRODUCTION:
            return earlier.stack if earlier else None
        case Role.CANARY:
            source = production or earlier
            return source.stack if source else None
        case Role.ROLLBACK:
            return production.stack if production else None
        case Role.PLANNED:
            return None


def _expired(accept: Accept, entry: Entry, on: date) -> Iterator[Finding]:
    yield Finding(
        rule=EXPIRED,
        verdict=Verdict.WARN,
        message=f"The acceptance of {accept.rule} in {entry.key} ended on {accept.until}; today is {on}.",
        next_step="Look at the finding again: fix it, or accept it again with a reason and a date.",
        spans=(accept.span,) if accept.span != NOWHERE else _place(entry),
    )


def _unused(accept: Accept, entry: Entry, found: list[Finding]) -> Iterator[Finding]:
    verdicts = {finding.verdict for finding in found if finding.rule == accept.rule}
    if verdicts & _ACCEPTABLE:
        return
    known = {rule.id for rule in RULES} | {finding.rule for finding in found}
    if accept.rule not in known:
        why = f"there is no rule {accept.rule!r}"
    elif Verdict.FAIL in verdicts:
        why = "what fails cannot be accepted"
    else:
        why = "the rule finds nothing to accept"
    yield Finding(
        rule=UNUSED,
        verdict=Verdict.WARN,
        message=f"The acceptance of {accept.rule} in {entry.key} covers nothing: {why}.",
        next_step="Remove it, so that it does not hide the next warning.",
        spans=(accept.span,) if accept.span != NOWHERE else _place(entry),
    )


def _place(entry: Entry) -> tuple[Span, ...]:
    return (entry.span,) if entry.span != NOWHERE else ()
