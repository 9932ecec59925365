"""Say which versions really run on every GPU node, where that was read, and what is wrong.

It reads objects once and changes nothing. What may not be read is reported as such, with the right that is missing.

In detail:

Exit code 0 when nothing was found, 9 on drift and mixed versions, 8 on anything else that is wrong, 11 when nothing is
wrong but a rule warns, or something is not observable or unproven.

Findings: drift, mixed, incompatible, not-running, half-done, leaked-driver, stale-label, stale-build, foreign-cordon,
paused-pool, pending, self-rolling, moving-channel, not-observable, expired-support, warned, unproven.
"""

# Tests: tests/cli/test_audit.py

from __future__ import annotations

import argparse
import math
import sys
import time
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from seatrial.cli import formats
from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.parser import rarely
from seatrial.cli.words import span
from seatrial.core.survey.audit.findings import FindingKind, Weight

if TYPE_CHECKING:
    from collections.abc import Collection

    from seatrial.app.survey.auditing import Audited

EXITS = (ExitCode.FINDINGS, ExitCode.DRIFT, ExitCode.INCONCLUSIVE, ExitCode.TIMEOUT)
MARKDOWN = "markdown"
BRIEF = "brief"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    rare = rarely(parser)
    parser.add_argument("-f", "--file", metavar="FILE", help="the matrix to compare with, or the folder it is in")
    parser.add_argument("--entry", metavar="ENTRY", default="", help="the entry to compare with (production)")
    parser.add_argument(
        "--fail-on",
        nargs="+",
        action="extend",
        default=[],
        choices=[each.value for each in FindingKind],
        metavar="FINDING",
        help="only these findings count for the exit code; all are shown",
    )
    rare.add_argument(
        "--on", metavar="DATE", type=_day, help="judge as of this day, YYYY-MM-DD; when absent the day it was read"
    )
    rare.add_argument("--facts", metavar="FILE", action="append", default=[], help="facts of your own, in YAML")
    rare.add_argument(
        "--report-to",
        metavar="NAMESPACE/CONFIGMAP",
        type=_place,
        help="write the report into this ConfigMap, which has to be there",
    )
    formats.add_output(parser, formats.WIDE, MARKDOWN, formats.JUNIT, formats.SARIF, BRIEF)
    cluster_options.add_watch(parser)
    parser.add_argument("--every", metavar="60s", type=span, default=60, help="with -w: how often the cluster is read")
    parser.add_argument(
        "--helm-secrets",
        action="store_true",
        help="read an operator's version from the Secrets of its Helm release, where no object shows it",
    )
    cluster_options.add_snapshot(parser)
    cluster_options.add_cluster_arguments(parser, has_rollout=False)


def run(args: argparse.Namespace) -> int:
    if args.snapshot is not None and (args.watch or args.report_to is not None):
        print("seatrial: --snapshot names a file: it does not change, and no ConfigMap is beside it.", file=sys.stderr)
        return ExitCode.USAGE
    if args.snapshot is not None and args.helm_secrets:
        print("seatrial: --snapshot names a file: it has no Secrets.", file=sys.stderr)
        return ExitCode.USAGE
    if args.watch:
        return _watch(args)
    found, code = _look(args)
    _print(found, args.output, code)
    return code


def _watch(args: argparse.Namespace) -> int:
    """Again and again; told when it is not what it was."""
    ends_at = time.monotonic() + args.timeout if args.timeout else math.inf
    before: object = None
    code = ExitCode.OK
    try:
        while True:
            found, code = _look(args)
            told = (found.audit.rows, found.audit.findings)
            if told != before:
                _print(found, args.output, code)
                sys.stdout.flush()
            before = told
            if time.monotonic() + args.every > ends_at:
                return ExitCode.TIMEOUT
            time.sleep(args.every)
    except KeyboardInterrupt:
        return code


def _look(args: argparse.Namespace) -> tuple[Audited, ExitCode]:
    from seatrial.app.awaiting import finished
    from seatrial.app.survey import auditing
    from seatrial.cli.terminal import counting

    options = auditing.AuditOptions(
        file=args.file,
        entry=args.entry,
        on=args.on,
        facts=tuple(args.facts),
        reads_releases=args.helm_secrets,
    )
    with counting() as on_read:
        found = finished(auditing.audit(cluster_options.cluster_of(args), options, on_read))
    code = exit_code(found, frozenset(map(FindingKind, args.fail_on)))
    if args.report_to is not None:
        _keep(found, code, args)
    return found, code


def _keep(found: Audited, code: ExitCode, args: argparse.Namespace) -> None:
    from seatrial.app.awaiting import finished
    from seatrial.app.survey import auditing
    from seatrial.cli.survey import audit_reports

    report = audit_reports.kept(found, code, datetime.now(UTC))
    namespace, name = args.report_to
    finished(auditing.keep(cluster_options.cluster_of(args), namespace, name, report))


def _print(found: Audited, output: str, code: ExitCode) -> None:
    from seatrial.cli.survey import audit_reports, audit_telling

    match output:
        case formats.JSON | formats.YAML:
            formats.print_document(audit_telling.as_data(found, code), output)
        case "markdown":
            print(audit_telling.as_markdown(found))
        case formats.JUNIT:
            print(audit_reports.as_junit(found), end="")
        case formats.SARIF:
            formats.print_document(audit_reports.as_sarif(found), formats.JSON)
        case "brief":
            print(audit_reports.as_line(found))
        case _:
            print(audit_telling.as_table(found, is_wide=output == formats.WIDE))


def exit_code(found: Audited, fail_on: Collection[FindingKind] = ()) -> ExitCode:
    """The heaviest finding decides; of those that were named, where some were."""
    weights = {each.weight for each in found.audit.findings if not fail_on or each.kind in fail_on}
    if Weight.DRIFT in weights:
        return ExitCode.DRIFT
    if Weight.WRONG in weights or (weights and fail_on):
        return ExitCode.FINDINGS
    return ExitCode.INCONCLUSIVE if weights else ExitCode.OK


def _place(text: str) -> tuple[str, str]:
    namespace, _, name = text.partition("/")
    if not namespace or not name or "/" in name:
        raise argparse.ArgumentTypeError(f"{text!r} names no ConfigMap; write NAMESPACE/CONFIGMAP")
    return namespace, name


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date; write it as YYYY-MM-DD") from None
