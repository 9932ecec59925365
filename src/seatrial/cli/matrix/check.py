"""Say whether the versions of a matrix work together, why, and who says so.

Looks up every version, judges every entry by all rules, and every change since the last commit. Your own rules
(seatrial-rules.yaml, in CEL) and facts (seatrial-facts/) beside the matrix count, too.

In detail:

Exit code 0 when all is ok or accepted, 8 when something fails, 11 when nothing fails but unknowns or unaccepted
warnings remain.
"""

from __future__ import annotations

import argparse
import sys
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from seatrial.cli import formats
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.matrix import posting

if TYPE_CHECKING:
    from seatrial.app.matrix.judging import CheckOptions, CheckReport

EXITS = (ExitCode.FINDINGS, ExitCode.INCONCLUSIVE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", nargs="?", help="the matrix, or the folder it is in; else it is looked for upwards"
    )
    parser.add_argument("--base", metavar="REV", help="judge changes against this revision instead of the last commit")
    parser.add_argument("--on", metavar="DATE", type=_day, help="judge as of this day, YYYY-MM-DD; today when absent")
    parser.add_argument("--rules", metavar="FILE", action="append", default=[], help="rules of your own, in CEL")
    parser.add_argument("--facts", metavar="FILE", action="append", default=[], help="facts of your own, in YAML")
    formats.add_output(parser, "sarif", "junit")
    parser.add_argument("--full", action="store_true", help="each finding with its reasons and sources")
    parser.add_argument("-a", "--all", action="store_true", help="show what is ok too")
    parser.add_argument("--strict", action="store_true", help="exit 8 instead of 11: unknowns and warnings fail too")
    posting.add_arguments(parser)
    parser.add_argument("--explain", metavar="RULE", help="say what a rule means, and do nothing else")


def run(args: argparse.Namespace) -> int:
    if args.explain:
        from seatrial.core.compat.rules import explain

        print(explain(args.explain), end="")
        return ExitCode.OK
    from seatrial.app.matrix import judging
    from seatrial.cli.matrix import report as paper

    report = judging.judge(_asked(args))
    _print(report, args)
    code = paper.exit_code(report)
    code = ExitCode.FINDINGS if args.strict and code is ExitCode.INCONCLUSIVE else code
    posting.post(args, file=Path(report.file), code=code, summary=paper.summary(report))
    return code


def _asked(args: argparse.Namespace) -> CheckOptions:
    from seatrial.app.matrix.judging import CheckOptions

    return CheckOptions(
        file=args.file,
        on=args.on or datetime.now().astimezone().date(),
        base=args.base,
        rules=tuple(args.rules),
        facts=tuple(args.facts),
    )


def _print(report: CheckReport, args: argparse.Namespace) -> None:
    from seatrial.cli import terminal
    from seatrial.cli.matrix import report as paper

    match args.output:
        case formats.JSON | formats.YAML:
            formats.print_document(paper.as_json(report), args.output)
        case "sarif":
            formats.print_document(paper.as_sarif(report), formats.JSON)
        case "junit":
            print(paper.as_junit(report), end="")
        case _:
            is_coloured = terminal.has_colour(sys.stdout)
            if args.full:
                print(paper.as_table(report, is_coloured=is_coloured, shows_all=args.all), end="")
                return
            width = terminal.width_of(sys.stdout)
            print(paper.as_lines(report, is_coloured=is_coloured, shows_all=args.all, width=width), end="")


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date; write it as YYYY-MM-DD") from None
