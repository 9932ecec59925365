"""Say why GPUs of a node cannot be used, and what to do.

It looks for known failures in pods, events, conditions and logs. It reads with your own rights and changes nothing.

In detail:

A cause is named before what follows from it, and a node that is well now has no failure, whatever was written before.
Exit code 0 when nothing was found, 8 when something was, 11 when nothing was found but not everything could be looked
at.
"""

# Tests: tests/cli/test_doctor.py

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from seatrial.cli import formats
from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from seatrial.app.survey.diagnosing import Diagnosed

EXITS = (ExitCode.FINDINGS, ExitCode.INCONCLUSIVE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("node", nargs="?", default="", metavar="NODE", help="look at this node alone")
    parser.add_argument("--no-logs", action="store_true", help="read no logs; many failures show only there")
    parser.add_argument("--failures", metavar="FILE", action="append", default=[], help="failures of your own, in YAML")
    formats.add_output(parser)
    cluster_options.add_prometheus(
        parser, "the Prometheus that scrapes DCGM exporter, to ask for Xids of the last hour"
    )
    cluster_options.add_snapshot(parser)
    cluster_options.add_cluster_arguments(parser, has_rollout=False)


def run(args: argparse.Namespace) -> int:
    from seatrial.app.awaiting import finished
    from seatrial.app.survey import diagnosing
    from seatrial.cli.survey import doctor_telling
    from seatrial.cli.terminal import counting

    if args.snapshot is not None and args.prometheus:
        print("seatrial: --snapshot and --prometheus show different times; give one of them.", file=sys.stderr)
        return ExitCode.USAGE
    options = diagnosing.DoctorOptions(
        node=args.node,
        failures=tuple(args.failures),
        with_logs=not args.no_logs,
        prometheus=cluster_options.prometheus_of(args),
        node_label=args.prometheus_node_label,
    )
    with counting() as on_read:
        found = finished(diagnosing.diagnose(cluster_options.cluster_of(args), options, on_read))
    code = exit_code(found)
    if formats.is_document(args.output):
        formats.print_document(doctor_telling.as_data(found, code), args.output)
    else:
        print(doctor_telling.as_text(found))
    return code


def exit_code(found: Diagnosed) -> ExitCode:
    """Something, nothing, or nothing that could be seen."""
    from seatrial.cli.survey import doctor_telling

    diagnosis = found.diagnosis
    if diagnosis.cases or diagnosis.unexplained:
        return ExitCode.FINDINGS
    return ExitCode.INCONCLUSIVE if [*doctor_telling.not_looked_at(found)] else ExitCode.OK
