"""The way from one entry of a matrix to another, or which rules fight.

Law of this file: a matrix that cannot be read, and an answer that there is no way, are values. Tests:
tests/app/matrix/test_planning.py
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from seatrial.core.base.values import dataclass, replace
from seatrial.core.errors import SeatrialError

if TYPE_CHECKING:
    from seatrial.adapters.files.rules.cel_rules import UserRule
    from seatrial.core.compat.facts import Facts
    from seatrial.core.compat.findings import Finding
    from seatrial.core.compat.matrix import Entry, Matrix, Stack
    from seatrial.core.compat.plan import Plan, Refusal
    from seatrial.core.compat.plan.memory import Rule


class EntryMissing(SeatrialError):  # noqa: N818  the message says what to do
    """The matrix has no entry of that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """From which entry to which, as of which day, by which facts and rules besides our own."""

    start: str | None = None
    """The entry that runs; None is production."""
    goal: str | None = None
    """The entry that is wanted; None is the canary's, else the planned one."""
    on: date
    facts: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    beside: Path | None = None
    """The folder of the matrix, with facts of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """The steps, or why there are none."""

    start: Entry
    goal: Entry
    on: date
    facts: Facts
    answer: Plan | Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A matrix that nobody can plan with."""

    findings: tuple[Finding, ...]


def plan_file(file: str | None, way: PlanOptions) -> Planned | Unreadable:
    """The way between two entries of a file, by the facts and rules beside it too."""
    from seatrial.adapters.files import matrix_file

    path = matrix_file.find_matrix(file, Path.cwd())
    reading = matrix_file.load_matrix(path).reading
    if reading.matrix is None:
        return Unreadable(findings=tuple(reading.findings))
    stopping = _stopping(reading.matrix, reading.findings, way)
    if stopping:
        return Unreadable(findings=stopping)
    return plan(reading.matrix, with_beside(path, way))


def with_beside(path: Path, way: PlanOptions) -> PlanOptions:
    """The same wish, with the facts and rules that lie beside a matrix."""
    from seatrial.app.matrix.judging import rules_beside

    return replace(way, beside=path.parent, rules=(*rules_beside(path), *way.rules))


def _stopping(matrix: Matrix, findings: Sequence[Finding], way: PlanOptions) -> tuple[Finding, ...]:
    """What fails in an entry the plan is about, or in none; what is wrong with another entry is not its business."""
    from seatrial.core.compat.findings import Verdict

    ends: tuple[Entry, ...]
    try:
        ends = ends_of(matrix, way.start, way.goal)
    except EntryMissing:  # perhaps because it cannot be read, so all that cannot is told first
        ends = tuple(matrix.entries.values())
    entries = sorted(matrix.entries.values(), key=lambda entry: entry.span)
    stopping: list[Finding] = []
    for finding in findings:
        owners = [entry for entry in entries if finding.spans and entry.span.line <= finding.spans[0].line]
        if finding.verdict is Verdict.FAIL and (not owners or owners[-1] in ends):
            stopping.append(finding)
    return tuple(stopping)


def plan(matrix: Matrix, way: PlanOptions) -> Planned | Unreadable:
    """The way between two entries of a matrix that was read."""
    from seatrial.app.matrix import knowing
    from seatrial.core.compat import plan as plans

    start, goal = ends_of(matrix, way.start, way.goal)
    facts, unread = knowing.known(way.facts, way.beside)
    own, broken = _own_rules(start, goal, way)
    if unread or broken:
        return Unreadable(findings=(*unread, *broken))
    accept = (*start.accept, *goal.accept)
    answer = plans.make_plan(start.stack, goal.stack, facts, way.on, accept=accept, more_rules=own)
    if isinstance(answer, plans.Plan) and facts.beneath is not None:
        answer = _owned(answer, facts, facts.beneath, way.on)
    return Planned(start=start, goal=goal, on=way.on, facts=facts, answer=answer)


def _own_rules(start: Entry, goal: Entry, way: PlanOptions) -> tuple[list[Rule], tuple[Finding, ...]]:
    """The user's own rules, each before any stack as if it were the entry that is wanted; and what is wrong with them.

    A rule is shown only the components it names, so that a plan need not ask it about every stack anew. A planner also
    looks at parts of a stack: where one of these components is left out, the rule has nothing to say yet.
    """
    if not way.rules:
        return [], ()
    from seatrial.adapters.files.rules.cel_rules import load_rules
    from seatrial.core.compat.matrix import Component, Stack

    loaded = load_rules(way.rules)
    there = {*start.stack.values, *goal.stack.values}

    def asking(rule: UserRule) -> Rule:
        def ask(stack: Stack) -> tuple[Finding, ...]:
            reads = Component if rule.reads is None else rule.reads
            seen = {part: value for part in reads if (value := stack[part]) is not None}
            if any(part in there and part not in seen for part in reads):
                return ()
            return rule.judge(replace(goal, stack=Stack(values=seen, hardware=stack.hardware)), way.on)

        return ask

    return [asking(rule) for rule in loaded.rules], loaded.findings


def _owned(answer: Plan, facts: Facts, beneath: Facts, on: date) -> Plan:
    """The plan with the mark of the user's own facts on every finding that rests on them."""
    from seatrial.core.compat.rules import check_change, check_stack, owned

    steps, before = [], answer.running
    for step in answer.steps:
        without = (*check_stack(step.stack, beneath, on), *check_change(before, step.stack, beneath, on))
        steps.append(replace(step, findings=tuple(owned(step.findings, without, facts.own))))
        before = step.stack
    return replace(answer, steps=tuple(steps))


def ends_of(matrix: Matrix, start: str | None, goal: str | None) -> tuple[Entry, Entry]:
    """The entry that runs and the one that is wanted, by name or by role."""
    from seatrial.core.compat.matrix import Role

    wanted = (goal,) if goal is not None else (Role.CANARY.value, Role.PLANNED.value)
    return _entry(matrix, (start or Role.PRODUCTION.value,)), _entry(matrix, wanted)


def _entry(matrix: Matrix, names: Sequence[str]) -> Entry:
    """The first entry that goes by one of these names: the file's own key, or the role."""
    for name in names:
        for role, entry in matrix.entries.items():
            if name in (entry.key, role.value):
                return entry
    there = ", ".join(entry.key or role.value for role, entry in matrix.entries.items()) or "none"
    raise EntryMissing(
        f"{matrix.file} has no entry {' or '.join(names)}; it has {there}. Name one with --from or --to."
    )
