"""Show the ordered steps from what runs to what is wanted, one group at a time, or say which rules fight.

  seatrial plan                        from the production entry to the canary's (or the planned one's)
  seatrial plan --to next_planned      to another entry
  seatrial plan --impact               with what each step does to the workloads of a node
  seatrial plan matrix.yaml -o json    for scripts

Without FILE: gpu-version-matrix.yaml here, or in the nearest folder above inside the repository.
Exit code 0 when there is a plan, 8 when there is none or the target fails, 11 when a plan has unknowns in it.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatrial.cli.exit_codes import ExitCode
from seatrial.core.errors import SeatrialError

if TYPE_CHECKING:
    from seatrial.core.compat.facts import Facts
    from seatrial.core.compat.findings import Finding
    from seatrial.core.compat.matrix import Entry, Matrix, Stack
    from seatrial.core.compat.plan import Change, Plan, Refusal, Step
    from seatrial.core.node.impact import Impact

WIDTH = 100
_MARKS = {"closed": "one-way", "unknown": "with a way back to rehearse"}
"""How a step is marked by its way back."""
_LABEL = 14
_OUT = "●"
"""Marks what happens while the node's GPUs are out of service."""


class EntryMissing(SeatrialError):  # noqa: N818  the message says what to do
    """The matrix has no entry of that name."""


EXITS = (ExitCode.FINDINGS, ExitCode.INCONCLUSIVE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", metavar="FILE", help="the matrix (gpu-version-matrix.yaml, here or above)")
    parser.add_argument("--from", dest="start", metavar="ENTRY", help="what runs (the production entry)")
    parser.add_argument(
        "--to", dest="goal", metavar="ENTRY", help="what is wanted (the canary entry, else the planned)"
    )
    parser.add_argument(
        "--on", metavar="YYYY-MM-DD", type=_day, help="the day to judge by, for what is still supported (today)"
    )
    parser.add_argument(
        "--facts", metavar="FILE", action="append", default=[], help="facts to lay over the knowledge base; repeatable"
    )
    parser.add_argument("--impact", action="store_true", help="add what each step does to the workloads of a node")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table", help="how to print it")


def run(args: argparse.Namespace) -> int:
    import gc

    from seatrial.adapters.files import knowledge, matrix_file
    from seatrial.core.compat import plan as plans
    from seatrial.core.compat.findings import Verdict, worst

    gc.disable()  # one answer, then the process ends: looking for garbage would be a tenth of the work
    reading = matrix_file.load_matrix(matrix_file.find_matrix(args.file, Path.cwd())).reading
    if reading.matrix is None or worst(reading.findings) is Verdict.FAIL:
        _complain(reading.findings)
        return ExitCode.FINDINGS
    start, goal = ends_of(reading.matrix, args.start, args.goal)
    if goal.bad:
        print(f"seatrial: {goal.key or goal.role.value} is marked bad: {goal.bad}", file=sys.stderr)
    facts = knowledge.load_knowledge(args.facts)
    on = args.on or datetime.now().astimezone().date()
    answer = plans.make_plan(start.stack, goal.stack, facts, on, accept=(*start.accept, *goal.accept))
    if args.output == "json":
        print(json.dumps(as_data(answer, start, goal, on, args.impact), indent=2, ensure_ascii=False))
    else:
        print("\n".join(_lines(answer, start, goal, facts, on, args.impact)))
    if isinstance(answer, plans.Refusal):
        return ExitCode.FINDINGS
    return ExitCode.INCONCLUSIVE if answer.has_unknowns else ExitCode.OK


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no day; write it as YYYY-MM-DD") from None


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


def _complain(findings: Iterable[Finding]) -> None:
    for finding in findings:
        place = f"{finding.spans[0]}: " if finding.spans else ""
        print(f"{place}{finding.verdict.value} {finding.rule}: {finding.message} {finding.next_step}", file=sys.stderr)


# ── for people ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _lines(
    answer: Plan | Refusal, start: Entry, goal: Entry, facts: Facts, on: date, has_impact: bool
) -> Iterator[str]:
    from seatrial.core.compat import plan as plans

    names = f"{start.key or start.role.value} to {goal.key or goal.role.value}"
    if isinstance(answer, plans.Refusal):
        yield from _refusal(answer, names)
    else:
        yield from _plan(answer, names, has_impact)
    yield ""
    yield from _wrapped(f"Judged as of {on} by the knowledge base of {facts.built_on}.")


def _plan(plan: Plan, names: str, has_impact: bool) -> Iterator[str]:
    if not plan.steps:
        yield from _wrapped(f"From {names}: nothing to do, what is wanted is what runs.")
    else:
        ways = [step.rollback.way.value for step in plan.steps]
        told = [f"{count} {text}" for way, text in _MARKS.items() if (count := ways.count(way))]
        count_of_steps = f"{len(ways)} {_plural('step', ways)}"
        yield from _wrapped(f"From {names}: {', '.join((count_of_steps, *told))}.")
    for note in plan.notes:
        yield from _labelled("note", f"{note}.")
    yield from _doubts(plan.findings)
    seen: set[tuple[str, str]] = set()
    for step in plan.steps:
        yield ""
        yield from _step(step, seen)
        if has_impact:
            yield from _impact(step)
        seen = {(finding.rule, finding.message) for finding in step.findings}
    if has_impact and plan.steps:
        yield ""
        yield from _wrapped(f"{_OUT} while this lasts, the node's GPUs are out of service.")


def _step(step: Step, seen: set[tuple[str, str]]) -> Iterator[str]:
    mark = _MARKS.get(step.rollback.way)
    yield f"{step.number:>2}. {step.group.value}{f'  ({mark.upper()})' if mark else ''}"
    yield from _changes(step.changes)
    for why in step.why:
        yield from _labelled("why", f"{why.reason.value}: {why.sentence}")
    yield from _labelled("evicts", step.evicts)
    for preparation in step.preparations:
        yield from _labelled("prepare", f"{preparation.sentence} [{preparation.fact}]")
    fresh = [finding for finding in step.findings if (finding.rule, finding.message) not in seen]
    yield from _doubts(fresh)
    if len(fresh) < len(step.findings):
        yield from _labelled("", f"{len(step.findings) - len(fresh)} more as in the step before")
    yield from _labelled("way back", _way_back(step))


def _way_back(step: Step) -> str:
    rollback = step.rollback
    told = f"{rollback.way.value}: {rollback.sentence}"
    if rollback.to_step == step.number:
        return told
    back = f"{told}; to {_place(rollback.to_step)}"
    is_farther = rollback.farthest_step != rollback.to_step
    return f"{back}, at the farthest to {_place(rollback.farthest_step)}" if is_farther else back


def _place(number: int) -> str:
    return f"step {number}" if number else "what runs today"


def _impact(step: Step) -> Iterator[str]:
    """What a node's users lose, and a table of how."""
    from seatrial.core.node.impact import impact_of

    impact = impact_of(step)
    lost = ", ".join(loss.value for loss in impact.loses) or "nothing"
    yield from _labelled("node loses", f"{lost}{'; expect a reboot' if impact.is_reboot else ''}")
    yield ""
    yield from _table(impact)


def _table(impact: Impact) -> Iterator[str]:
    """The rows, each under the state of the node it happens in, if it has one."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    from seatrial.cli import terminal

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for heading, width in (("", 1), ("Component", 27), ("Action", 31), ("Impact on workloads", 31)):
        table.add_column(heading, width=width)
    phase = ""
    for row in impact.rows:
        if row.phase and row.phase != phase:
            table.add_row("", Text(row.phase, style="cyan"))
        phase = row.phase
        indent = "  " if row.phase else ""
        table.add_row(
            Text(_OUT if row.is_capacity_lost else "", style="red"), f"{indent}{row.component}", row.action, row.impact
        )
    console = terminal.console()
    console.width = WIDTH
    with console.capture() as captured:
        console.print(Padding(table, (0, 0, 0, 4)), soft_wrap=False)
    for line in captured.get().splitlines():
        yield line.rstrip()


def _refusal(refusal: Refusal, names: str) -> Iterator[str]:
    from seatrial.core.compat.plan import RefusalCode

    heading = {
        RefusalCode.TARGET_FAILS: "there is no plan, because the target itself fails",
        RefusalCode.RUNNING_FAILS: "there is no plan, because what runs fails already and no single step mends it",
        RefusalCode.NO_PATH: "there is no plan, although the target itself is sound",
    }[refusal.code]
    yield from _wrapped(f"From {names}: {heading}.")
    for note in refusal.notes:
        yield from _labelled("note", f"{note}.")
    yield ""
    yield from _wrapped(f"The {_plural('rule', refusal.conflict)} in conflict: {', '.join(refusal.conflict)}")
    for finding in refusal.findings:
        yield from _labelled(finding.verdict.value, f"{finding.rule}: {finding.message}")
    if refusal.reached:
        yield ""
        yield from _wrapped("As far as one gets:")
        for reached in refusal.reached:
            yield from _labelled(f"{reached.number}. {reached.group.value}", _told(reached.changes))
    if refusal.blocked:
        yield ""
        yield from _wrapped("What would lead on from there, and what forbids it:")
        for blocked in refusal.blocked:
            yield from _labelled(blocked.group.value, _told(blocked.changes))
            for finding in blocked.findings:
                yield from _labelled("", f"{finding.rule}: {finding.message}")
    yield ""
    yield from _labelled("What to do", refusal.suggestion)


def _doubts(findings: Iterable[Finding]) -> Iterator[str]:
    for finding in findings:
        accepted = ", accepted" if finding.is_accepted else ""
        yield from _labelled(f"{finding.verdict.value}{accepted}", f"{finding.rule}: {finding.message}")


def _changes(changes: Sequence[Change]) -> Iterator[str]:
    for change in changes:
        yield from _labelled(
            "", f"{change.component.value} {change.before or '(unknown)'} → {change.after or '(none)'}"
        )


def _told(changes: Sequence[Change]) -> str:
    return ", ".join(
        f"{change.component.value} {change.before or '(unknown)'} → {change.after or '(none)'}" for change in changes
    )


def _labelled(label: str, text: str) -> Iterator[str]:
    indent = " " * (4 + _LABEL)
    yield from textwrap.wrap(
        text, WIDTH, initial_indent=f"    {label:<{_LABEL - 1}} ", subsequent_indent=indent, break_on_hyphens=False
    )


def _wrapped(text: str) -> Iterator[str]:
    yield from textwrap.wrap(text, WIDTH, break_on_hyphens=False)


def _plural(noun: str, things: Sequence[object]) -> str:
    return noun if len(things) == 1 else f"{noun}s"


# ── for scripts ───────────────────────────────────────────────────────────────────────────────────────────────────────


def as_data(answer: Plan | Refusal, start: Entry, goal: Entry, on: date, has_impact: bool) -> dict[str, Any]:
    """The answer, for scripts."""
    from seatrial.core.compat import plan as plans

    ends: dict[str, Any] = {
        "from": start.key or start.role.value,
        "to": goal.key or goal.role.value,
        "on": on.isoformat(),
        "running": _versions(answer.running),
        "wanted": _versions(answer.wanted),
        "notes": list(answer.notes),
    }
    if isinstance(answer, plans.Refusal):
        return {**ends, **_refusal_data(answer)}
    return {**ends, **_plan_data(answer, has_impact)}


def _plan_data(plan: Plan, has_impact: bool) -> dict[str, Any]:
    return {
        "steps": [
            {
                "number": step.number,
                "group": step.group.value,
                "changes": _changes_data(step.changes),
                "stack": _versions(step.stack),
                "why": [{"reason": why.reason.value, "rule": why.rule, "sentence": why.sentence} for why in step.why],
                "evicts": step.evicts,
                "preparations": [
                    {"code": each.code, "sentence": each.sentence, "fact": each.fact} for each in step.preparations
                ],
                "findings": [_finding(finding) for finding in step.findings],
                "oneWay": step.is_one_way,
                "rollback": {
                    "way": step.rollback.way.value,
                    "toStep": step.rollback.to_step,
                    "farthestStep": step.rollback.farthest_step,
                    "sentence": step.rollback.sentence,
                },
                **({"impact": _impact_data(step)} if has_impact else {}),
            }
            for step in plan.steps
        ],
        "findings": [_finding(finding) for finding in plan.findings],
    }


def _impact_data(step: Step) -> dict[str, Any]:
    from seatrial.core.node.impact import impact_of

    impact = impact_of(step)
    return {
        "rows": [
            {
                "phase": row.phase,
                "component": row.component,
                "action": row.action,
                "impact": row.impact,
                "capacityLost": row.is_capacity_lost,
                "loses": [loss.value for loss in row.loses],
            }
            for row in impact.rows
        ],
        "loses": [loss.value for loss in impact.loses],
        "reboot": impact.is_reboot,
        "oneWay": impact.is_one_way,
    }


def _refusal_data(refusal: Refusal) -> dict[str, Any]:
    return {
        "refusal": refusal.code.value,
        "conflict": list(refusal.conflict),
        "findings": [_finding(finding) for finding in refusal.findings],
        "reached": [
            {"number": each.number, "group": each.group.value, "changes": _changes_data(each.changes)}
            for each in refusal.reached
        ],
        "blocked": [
            {
                "group": each.group.value,
                "changes": _changes_data(each.changes),
                "findings": [_finding(finding) for finding in each.findings],
            }
            for each in refusal.blocked
        ],
        "suggestion": refusal.suggestion,
    }


def _versions(stack: Stack) -> dict[str, str]:
    return {part.value: value.text for part, value in stack.values.items()}


def _changes_data(changes: Sequence[Change]) -> list[dict[str, str]]:
    return [{"component": each.component.value, "before": each.before, "after": each.after} for each in changes]


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "verdict": finding.verdict.value,
        "message": finding.message,
        "next": finding.next_step,
        "sources": list(finding.sources),
        "confidence": finding.confidence.value,
        "accepted": finding.is_accepted,
        "places": [str(span) for span in finding.spans],
    }
