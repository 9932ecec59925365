"""What is odd about a matrix as a whole, whatever the versions in it are: chiefly a way back that leads nowhere.

Whether versions go together is a rule, not a matter of coherence.

Tests: tests/core/compat/test_matrix.py
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from shlex import quote
from typing import Final

from seatrial.core.compat import versions
from seatrial.core.compat.findings import Finding, Verdict
from seatrial.core.compat.matrix import Component, Entry, Matrix, Role, Span, Value

_MARKED: Final[Mapping[Role, tuple[str, str]]] = {
    Role.PRODUCTION: ("yet it is what the fleet should run", "Promote a better set"),
    Role.CANARY: ("no rollout starts with it", "Put another set there"),
    Role.PLANNED: ("no rollout starts with it", "Plan another set"),
    Role.ROLLBACK: ("there is no way back", "Put the last set known to be good there"),
}
"""By role: what a mark means there, and what to do instead."""


def oddities(matrix: Matrix) -> tuple[Finding, ...]:
    """Everything odd, worst places first named by the file's own keys."""
    production, rollback = matrix.entries.get(Role.PRODUCTION), matrix.entries.get(Role.ROLLBACK)
    return (
        *_missing_production(matrix),
        *(found for entry in matrix.entries.values() for found in _empty(entry)),
        *(found for entry in matrix.entries.values() for found in _bad(entry)),
        *(_way_back(production, rollback) if production and rollback else ()),
    )


def _missing_production(matrix: Matrix) -> Iterator[Finding]:
    if Role.PRODUCTION not in matrix.entries:
        yield Finding(
            rule="entry-missing",
            verdict=Verdict.FAIL,
            message="The matrix has no production entry, so nothing says what the fleet runs.",
            next_step="Add `current` (or `current_production`) with the versions that run today.",
            spans=(Span(file=matrix.file, line=1, column=1),),
        )


def _empty(entry: Entry) -> Iterator[Finding]:
    if not entry.stack.values:
        yield Finding(
            rule="entry-empty",
            verdict=Verdict.FAIL if entry.role is Role.PRODUCTION else Verdict.WARN,
            message=f"{entry.key} names no version.",
            next_step="Write its versions, or remove the entry.",
            spans=(entry.span,),
        )


def _bad(entry: Entry) -> Iterator[Finding]:
    """A mark on what somebody is to use. Without a way back nothing may begin; the others are known when they do."""
    if entry.bad:
        means, instead = _MARKED[entry.role]
        yield Finding(
            rule=f"{entry.role.value}-bad",
            verdict=Verdict.FAIL if entry.role is Role.ROLLBACK else Verdict.WARN,
            message=f"{entry.key} is marked bad ({entry.bad}): {means}.",
            next_step=f"{instead}; or, if the mark is wrong, take it off with "
            f"`seatrial matrix unmark {quote(entry.key)}`.",
            spans=(entry.span,),
        )


def _way_back(production: Entry, rollback: Entry) -> Iterator[Finding]:
    if not production.stack.values or not rollback.stack.values:
        return
    differing = production.stack.differing(rollback.stack)
    if not any(part in rollback.stack.values for part in differing):
        yield Finding(
            rule="rollback-equals-production",
            verdict=Verdict.WARN,
            message=f"{rollback.key} names the same versions as {production.key}: going back would change nothing.",
            next_step=f"Put the set before {production.key} there.",
            spans=(rollback.span, production.span),
        )
    for part in differing:
        here, there = production.stack[part], rollback.stack[part]
        if here is not None and there is not None and _is_newer(there, here):
            yield _newer_way_back(part, production, here, rollback, there)


def _newer_way_back(part: Component, production: Entry, here: Value, rollback: Entry, there: Value) -> Finding:
    return Finding(
        rule="rollback-newer",
        verdict=Verdict.WARN,
        message=f"{rollback.key} names {part.value} {there.text}, newer than {here.text} in {production.key}: "
        "that is no way back.",
        next_step="Swap them, or write the version that ran before.",
        spans=(there.span, here.span),
    )


def _is_newer(one: Value, other: Value) -> bool:
    if one.version is None or other.version is None:
        return False
    try:
        return one.version > other.version
    except versions.NotComparable:  # firmware of another device, a kernel of another stream: other rules speak of it
        return False
