"""Show the steps from what runs to what is wanted, one group of components at a time, or say which rules forbid it.

Without FILE it takes gpu-version-matrix.yaml here, or in the nearest folder above within the repository. Your own rules
(seatrial-rules.yaml, in CEL) and facts (seatrial-facts/) beside the matrix count, too.

In detail:

Exit code 0 when there is a plan, 8 when there is none or the target fails, 11 when the plan has warnings or unknowns
that nobody accepted.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatrial.cli import formats
from seatrial.cli.exit_codes import ExitCode
from seatrial.core.base.values import dataclass
from seatrial.core.text.names import number_of

if TYPE_CHECKING:
    from seatrial.app.forecasting import Expected, Fleet, ForecastOptions
    from seatrial.app.matrix.planning import Planned
    from seatrial.core.compat.findings import Finding
    from seatrial.core.compat.plan import Change, Plan, Refusal, Step
    from seatrial.core.node.impact_words import Impact

WIDTH = 100
NODES_MAX = 100_000
SAMPLES, SEED = 100, 1
"""A plan is the same every time it is asked for."""
_MARKS = {"closed": "one-way", "unknown": "with a way back to rehearse"}
"""How a step is marked by its way back."""
_SHOUTED = {"closed": "ONE-WAY", "unknown": "REHEARSE THE WAY BACK"}
"""The same, behind a step's title."""
_WAYS = {"open": "open", "unknown": "not tested", "closed": "none"}
"""What is said of a way back."""
_LABEL = 14
_OUT = "●"
"""Marks what happens while the node's GPUs are out of service."""


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
    parser.add_argument(
        "--rules", metavar="FILE", action="append", default=[], help="rules of your own, in CEL; repeatable"
    )
    fleet = parser.add_mutually_exclusive_group()
    fleet.add_argument("--nodes", metavar="N", type=_count, help="forecast how long a driver takes over N nodes alike")
    fleet.add_argument(
        "--snapshot", metavar="FILE", type=Path, help="the same, over the nodes of a file of `seatrial snapshot`"
    )
    parser.add_argument("--impact", action="store_true", help="add what each step does to the workloads of a node")
    formats.add_output(parser)


def run(args: argparse.Namespace) -> int:
    import gc

    from seatrial.app.matrix import plan_document, planning
    from seatrial.core.compat import plan as plans

    gc.disable()  # one answer, then the process ends: looking for garbage would be a tenth of the work
    on = args.on or datetime.now().astimezone().date()
    way = planning.PlanOptions(
        start=args.start, goal=args.goal, on=on, facts=tuple(args.facts), rules=tuple(args.rules)
    )
    planned = planning.plan_file(args.file, way)
    if isinstance(planned, planning.Unreadable):
        _complain(planned.findings)
        return ExitCode.FINDINGS
    goal = planned.goal
    if goal.bad:
        print(f"seatrial: {goal.key or goal.role.value} is marked bad: {goal.bad}", file=sys.stderr)
    told = _Told(has_impact=args.impact, expected=_expected(args, planned.answer))
    if formats.is_document(args.output):
        data = plan_document.as_data(planned, has_impact=args.impact)
        _add_expected(data, told.expected)
        formats.print_document(data, args.output)
    else:
        print("\n".join(_lines(planned, told)))
    if isinstance(planned.answer, plans.Refusal):
        return ExitCode.FINDINGS
    return ExitCode.INCONCLUSIVE if planned.answer.doubts else ExitCode.OK


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date; write it as YYYY-MM-DD") from None


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 0 < int(text) <= NODES_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of nodes from 1 to {NODES_MAX}")
    return int(text)


# ── how long ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """What is told besides the plan itself."""

    has_impact: bool
    expected: Expected | None
    """How long a driver takes over the fleet; None where none was given, or none moves."""


def _expected(args: argparse.Namespace, answer: Plan | Refusal) -> Expected | None:
    """What the forecast expects of the steps that move a driver, where a fleet is given."""
    from seatrial.core.compat import plan as plans

    is_asked = args.nodes is not None or args.snapshot is not None
    if not is_asked or isinstance(answer, plans.Refusal) or not any(map(_moves_driver, answer.steps)):
        return None
    from seatrial.app import forecasting

    asked = forecasting.ForecastOptions(nodes=args.nodes, snapshot=args.snapshot, samples=SAMPLES, seed=SEED)
    return forecasting.expected(asked, _fleet(args.snapshot, asked) if args.snapshot else None)


def _fleet(path: Path, asked: ForecastOptions) -> Fleet:
    from seatrial.app.connecting import Cluster
    from seatrial.cli.show.look import fleet

    return fleet(Cluster(snapshot=path, environ={}), asked)


def _moves_driver(step: Step) -> bool:
    from seatrial.core.compat.matrix import Component

    return any(change.component is Component.GPU_DRIVER for change in step.changes)


def _add_expected(data: dict[str, Any], expected: Expected | None) -> None:
    from seatrial.core.compat.matrix import Component

    for step in data.get("steps", ()) if expected is not None else ():
        is_driver = any(change["component"] == Component.GPU_DRIVER for change in step["changes"])
        step["expected"] = asdict(expected) if expected is not None and is_driver else None


def _takes(step: Step, expected: Expected) -> str:
    """How long a step takes; only the way of a driver over the nodes is forecast."""
    if not _moves_driver(step):
        return "not forecast: only a driver's way over the nodes is"
    from seatrial.core.text.spans import span

    if expected.seconds_p50 is None:
        return f"it does not finish over {number_of(expected.nodes, 'node')}; `seatrial forecast` says why"
    parallel = str(expected.parallel) if expected.parallel else "without a limit"
    late = f", in nine of ten runs at most {span(expected.seconds_p90)}" if expected.seconds_p90 is not None else ""
    return (
        f"about {span(expected.seconds_p50)} over {number_of(expected.nodes, 'node')}{late}, with the limits that "
        f"`seatrial forecast` advises (maxParallelUpgrades {parallel}, maxUnavailable {expected.unavailable}). "
        "Canary, gates and bake come on top"
    )


def _complain(findings: Iterable[Finding]) -> None:
    for finding in findings:
        place = f"{finding.spans[0]}: " if finding.spans else ""
        print(f"{place}{finding.verdict.value} {finding.rule}: {finding.message} {finding.next_step}", file=sys.stderr)


# ── for people ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _lines(planned: Planned, told: _Told) -> Iterator[str]:
    from seatrial.core.compat import plan as plans

    start, goal, answer = planned.start, planned.goal, planned.answer
    names = f"{start.key or start.role.value} to {goal.key or goal.role.value}"
    if isinstance(answer, plans.Refusal):
        yield from _refusal(answer, names)
    else:
        yield from _plan(answer, names, told)
    yield ""
    yield from _wrapped(f"Judged as of {planned.on}, knowledge up to {planned.facts.known_until}{_own(planned)}.")


def _own(planned: Planned) -> str:
    return f", own facts in {', '.join(planned.facts.own)}" if planned.facts.own else ""


def _plan(plan: Plan, names: str, besides: _Told) -> Iterator[str]:
    from seatrial.core.compat.plan.values import BETWEEN

    if not plan.steps:
        yield from _wrapped(f"From {names}: nothing to do, what is wanted is what runs.")
    else:
        ways = [step.rollback.way.value for step in plan.steps]
        told = [f"{count} {text}" for way, text in _MARKS.items() if (count := ways.count(way))]
        count_of_steps = number_of(len(ways), "step")
        yield from _wrapped(f"From {names}: {', '.join((count_of_steps, *told))}.")
    for note in plan.notes:
        yield from _labelled("note", f"{note}.")
    yield from _doubts(plan.findings)
    seen: set[tuple[str, str]] = set()
    has_mark = False
    for step in plan.steps:
        yield ""
        yield from _step(step, seen)
        if besides.expected is not None:
            yield from _labelled("takes", f"{_takes(step, besides.expected)}.")
        if besides.has_impact:
            lines = tuple(_impact(step))
            has_mark = has_mark or any(_OUT in line for line in lines)
            yield from lines
        seen = {(finding.rule, finding.message) for finding in step.findings}
        if step is not plan.steps[-1]:
            yield from _labelled("then", f"{BETWEEN}.")
    if has_mark:
        yield ""
        yield from _wrapped(f"{_OUT} while this lasts, the node's GPUs are out of service.")


def _step(step: Step, seen: set[tuple[str, str]]) -> Iterator[str]:
    mark = _SHOUTED.get(step.rollback.way)
    yield f"{step.number:>2}. {step.title}{f'  ({mark})' if mark else ''}"
    yield from _changes(step.changes)
    for why in step.why:
        yield from _labelled("why", f"{why.sentence}.")
    if step.order:
        yield from _labelled("why here", f"{step.order}.")
    yield from _labelled("evicts", f"{step.evicts}.")
    for preparation in step.preparations:
        yield from _labelled("prepare", f"{preparation.sentence} [{preparation.fact}]")
    for hint in step.hints:
        yield from _labelled("hint", hint)
    fresh = [finding for finding in step.findings if (finding.rule, finding.message) not in seen]
    yield from _doubts(fresh)
    if len(fresh) < len(step.findings):
        count = len(step.findings) - len(fresh)
        yield from _labelled("", f"{number_of(count, 'finding')} as in the step before.")
    yield from _labelled("way back", _way_back(step))


def _way_back(step: Step) -> str:
    rollback = step.rollback
    told = f"{_WAYS[rollback.way.value]}: {rollback.sentence}."
    if rollback.to_step == step.number:
        return told
    is_farther = rollback.farthest_step != rollback.to_step
    farther = f", and step by step to {_place(rollback.farthest_step)}" if is_farther else ""
    return f"{told} It leads to {_place(rollback.to_step)}{farther}."


def _place(number: int) -> str:
    return f"the state after step {number}" if number else "what runs today"


def _impact(step: Step) -> Iterator[str]:
    """What a node's users lose, and a table of how."""
    from seatrial.core.node.impact_words import impact_of

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
        RefusalCode.TARGET_FAILS: "the target itself fails",
        RefusalCode.RUNNING_FAILS: "what runs already fails, and no single step fixes it",
        RefusalCode.NO_PATH: "the target is sound, but no way leads there",
    }[refusal.code]
    yield from _wrapped(f"From {names} there is no plan: {heading}.")
    for note in refusal.notes:
        yield from _labelled("note", f"{note}.")
    yield ""
    yield from _wrapped(
        f"What stands in the way: {'rule' if len(refusal.conflict) == 1 else 'rules'} {', '.join(refusal.conflict)}"
    )
    for finding in refusal.findings:
        yield from _labelled(finding.verdict.value, f"{finding.rule}: {finding.message}")
        yield from _resting(finding)
    if refusal.reached:
        yield ""
        yield from _wrapped("What can still be done:")
        for reached in refusal.reached:
            yield from _labelled(f"{reached.number}.", _told(reached.changes))
    if refusal.blocked:
        yield ""
        yield from _wrapped("What cannot be done, and why:")
        for blocked in refusal.blocked:
            yield from _labelled("-", _told(blocked.changes))
            for finding in blocked.findings:
                yield from _labelled("", f"{finding.rule}: {finding.message}")
                yield from _resting(finding)
    yield ""
    yield from _labelled("What to do", refusal.suggestion)


def _doubts(findings: Iterable[Finding]) -> Iterator[str]:
    for finding in findings:
        accepted = ", accepted" if finding.is_accepted else ""
        yield from _labelled(f"{finding.verdict.value}{accepted}", f"{finding.rule}: {finding.message}")
        yield from _resting(finding)


def _resting(finding: Finding) -> Iterator[str]:
    if finding.own:
        yield from _labelled("", f"own facts: {', '.join(finding.own)}")


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
