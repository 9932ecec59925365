"""Say whether the stacks of a version matrix can work, why, and who says so.

Reads the file, looks every version up, judges every entry by all rules and every change against the last commit (or
--base REV). Exit code 0 when all is ok or accepted, 8 when something fails, 11 when nothing fails but unknowns or
unaccepted warnings remain.

Beside the matrix, seatrial-rules.yaml (rules of yours, in CEL) and the files of seatrial-facts/ are read too.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from seatrial.cli.exit_codes import ExitCode
from seatrial.core.compat.findings import Verdict

if TYPE_CHECKING:
    from seatrial.adapters.files.matrix_yaml import Reading
    from seatrial.cli.matrix.report import Found, Report
    from seatrial.core.compat.facts import Facts
    from seatrial.core.compat.findings import Finding
    from seatrial.core.compat.matrix import Matrix, Role
    from seatrial.core.compat.rules.checking import MoreRules

RULES_BESIDE = "seatrial-rules.yaml"
FACTS_BESIDE = "seatrial-facts"
LAST_COMMIT = "HEAD"
EXITS = (ExitCode.FINDINGS, ExitCode.INCONCLUSIVE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", help="the matrix, or the folder it is in; else it is looked for upwards")
    parser.add_argument("--base", metavar="REV", help="judge changes against this revision instead of the last commit")
    parser.add_argument("--on", metavar="DATE", type=_day, help="judge as of this day, YYYY-MM-DD; today when absent")
    parser.add_argument("--rules", metavar="FILE", action="append", default=[], help="rules of your own, in CEL")
    parser.add_argument("--facts", metavar="FILE", action="append", default=[], help="facts of your own, in YAML")
    parser.add_argument("-o", "--output", choices=["table", "json", "sarif", "junit"], default="table")
    parser.add_argument("-a", "--all", action="store_true", help="show what is ok too")
    parser.add_argument("--strict", action="store_true", help="exit 8 instead of 11: unknowns and warnings fail too")
    parser.add_argument("--explain", metavar="RULE", help="say what a rule means, and do nothing else")


def run(args: argparse.Namespace) -> int:
    if args.explain:
        from seatrial.core.compat.rules import explain

        print(explain(args.explain), end="")
        return ExitCode.OK
    report = check(args)
    _print(report, args)
    if args.strict and report.exit_code is ExitCode.INCONCLUSIVE:
        return ExitCode.FINDINGS
    return report.exit_code


def check(args: argparse.Namespace) -> Report:
    """Everything there is to say about the file the arguments name."""
    from seatrial.adapters.files.matrix_file import find_matrix, load_matrix

    path = find_matrix(args.file, Path())
    facts, found = known([*_beside(path), *args.facts])
    reading = load_matrix(path).reading
    on = args.on or datetime.now().astimezone().date()
    base, compared_with = _base(path, args.base)
    more, broken = more_rules([*_rules_beside(path), *args.rules], on)
    return report_of(reading, str(path), facts, on, base, compared_with, more, (*found, *broken))


def report_of(
    reading: Reading,
    file: str,
    facts: Facts,
    on: date,
    base: Matrix | None = None,
    compared_with: str = "",
    more: MoreRules | None = None,
    besides: Sequence[Finding] = (),
) -> Report:
    """Everything there is to say about a matrix that was read, wherever it lives; `besides` was found on the way."""
    from seatrial.cli.matrix.report import Found, Report

    told = _by_entry(reading)
    found = [*(each for each in reading.findings if all(each not in those for those in told.values())), *besides]
    judged = _judged(reading.matrix, facts, on, base, _both(told, more)) if reading.matrix is not None else []
    whole = [Found(entry="", finding=finding) for finding in _without_repeats(found, judged)]
    return Report(
        file=file,
        on=on,
        built_on=facts.built_on,
        known_until=facts.known_until,
        compared_with=compared_with,
        found=(*whole, *judged),
    )


def _judged(matrix: Matrix, facts: Facts, on: date, base: Matrix | None, more: MoreRules | None) -> list[Found]:
    from seatrial.cli.matrix.report import Found
    from seatrial.core.compat.rules import judge_entries

    return [
        Found(entry=each.entry.key or each.entry.role.value, finding=finding)
        for each in judge_entries(matrix, facts, on, base, more=more)
        for finding in each.findings
    ]


def _by_entry(reading: Reading) -> dict[Role, list[Finding]]:
    """The reader's own warnings by the entry they are written in, so that they can be accepted there."""
    entries = sorted(reading.matrix.entries.values(), key=lambda entry: entry.span) if reading.matrix else []
    found: dict[Role, list[Finding]] = {}
    for finding in reading.findings:
        owners = [entry for entry in entries if finding.spans and entry.span.line <= finding.spans[0].line]
        if owners and finding.verdict is not Verdict.FAIL:
            found.setdefault(owners[-1].role, []).append(finding)
    return found


def _both(told: dict[Role, list[Finding]], more: MoreRules | None) -> MoreRules:
    return lambda entry: [*told.get(entry.role, ()), *(more(entry) if more is not None else ())]


def _without_repeats(found: list[Finding], judged: list[Found]) -> list[Finding]:
    """An unreadable value is told by every rule that needs it: the reader's own word is only for the others."""
    told = {span for each in judged if each.finding.verdict is Verdict.FAIL for span in each.finding.spans}
    return [
        finding for finding in found if finding.rule != "version-unreadable" or not told.intersection(finding.spans)
    ]


def known(paths: list[str]) -> tuple[Facts, list[Finding]]:
    """The knowledge base under the user's own facts from these files, and what is wrong with those."""
    from seatrial.adapters.files.knowledge import FactsFileInvalid, load_knowledge, load_user_facts

    facts, findings = load_knowledge(), []
    for path in paths:
        try:
            facts = facts.under(load_user_facts(path))
        except FactsFileInvalid as err:
            findings.append(err.finding)
    return facts, findings


def _beside(path: Path) -> list[str]:
    return sorted(str(file) for file in (path.parent / FACTS_BESIDE).glob("*.yaml"))


def _rules_beside(path: Path) -> list[str]:
    beside = path.parent / RULES_BESIDE
    return [str(beside)] if beside.is_file() else []


def more_rules(paths: list[str], on: date) -> tuple[MoreRules | None, tuple[Finding, ...]]:
    """The user's own rules from these files, and what is wrong with them."""
    if not paths:
        return None, ()
    from seatrial.adapters.files.cel_rules import load_rules

    loaded = load_rules(paths)
    return lambda entry: loaded.judge(entry, on), loaded.findings


def _base(path: Path, revision: str | None) -> tuple[Matrix | None, str]:
    """The matrix at a revision; outside of Git, or before the first commit, there is nothing to compare with."""
    from seatrial.adapters.files.matrix_yaml import read_matrix
    from seatrial.adapters.git.errors import GitUnavailable
    from seatrial.adapters.git.history import text_at

    try:
        text = text_at(path, revision or LAST_COMMIT)
    except GitUnavailable:
        if revision is not None:
            raise
        return None, ""
    if text is None:
        return None, ""
    named = revision or LAST_COMMIT
    return read_matrix(text, f"{path}@{named}").matrix, named


def _print(report: Report, args: argparse.Namespace) -> None:
    from seatrial.cli.matrix import report as paper

    match args.output:
        case "json" | "sarif":
            import json

            data = paper.as_json(report) if args.output == "json" else paper.as_sarif(report)
            print(json.dumps(data, indent=2, ensure_ascii=False))
        case "junit":
            print(paper.as_junit(report), end="")
        case _:
            print(paper.as_table(report, is_coloured=_is_coloured(), shows_all=args.all), end="")


def _is_coloured() -> bool:
    import os

    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no day; write it as YYYY-MM-DD") from None
