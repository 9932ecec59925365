"""Find DRA kubelet plugins that are older than their node's driver, and restart them.

Such a plugin looks healthy, but still uses the driver it started with. This works beside whatever upgrades the drivers.

In detail:

A second run finds nothing to do. Where a controller of seatrial does the same (--dra-reroll), reroll deletes nothing
itself: with --wait it waits until the controller has done it.
"""

# Tests: tests/cli/test_dra.py, tests/adapters/kube/test_dra_real.py

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Final

from seatrial.cli import formats
from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.words import span
from seatrial.core.movers.dra.values import STILL_SECONDS

if TYPE_CHECKING:
    from seatrial.app.rerolling import Ended, Looked

EXITS = (ExitCode.FINDINGS, ExitCode.INCONCLUSIVE, ExitCode.TIMEOUT)
DEADLINE_SECONDS: Final = 3600


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="what", required=True, metavar="status|reroll")
    status = commands.add_parser("status", help="show how every node stands, why, since when, and what comes next")
    formats.add_output(status, formats.WIDE)
    reroll = commands.add_parser("reroll", help="restart the plugins that are older than their node's driver")
    reroll.add_argument("--wait", action="store_true", help="until every node is done, those that have to settle too")
    reroll.add_argument(
        "--node", action="append", default=[], metavar="NODE", help="only the plugin of this node (again for more)"
    )
    reroll.add_argument("--require", action="store_true", help="no DRA driver in the cluster is an error")
    reroll.add_argument(
        "--deadline", type=span, default=DEADLINE_SECONDS, metavar="1h", help="end after so long (1h, exit 13)"
    )
    reroll.add_argument(
        "--stability",
        type=span,
        default=int(STILL_SECONDS),
        metavar="TIME",
        help=f"how long a node has to be settled and unchanged before its plugin goes ({STILL_SECONDS:.0f}s)",
    )
    reroll.add_argument(
        "--target-driver", default="", metavar="VERSION", help="judge no node before a DaemonSet has this driver"
    )
    reroll.add_argument(
        "--target-chart", default="", metavar="NAME", help="the same, by the chart that wrote it (gpu-operator-v26.3.1)"
    )
    reroll.add_argument("--dry-run", action="store_true", help="look once, say what would be deleted, write nothing")
    formats.add_output(reroll)
    for each in (status, reroll):
        each.add_argument(
            "--dra-namespace",
            action="append",
            default=[],
            metavar="NAMESPACE",
            help="where the DRA driver runs (again for more; else where its charts put it)",
        )
        cluster_options.add_cluster_arguments(each, has_rollout=False)


def run(args: argparse.Namespace) -> int:
    return _status(args) if args.what == "status" else _reroll(args)


def _status(args: argparse.Namespace) -> int:
    from seatrial.app import rerolling
    from seatrial.app.awaiting import finished
    from seatrial.cli.run import dra_telling

    looked = finished(rerolling.stand(cluster_options.cluster_of(args), tuple(args.dra_namespace)))
    if formats.is_document(args.output):
        formats.print_document(dra_telling.as_data(looked), args.output)
    else:
        print(dra_telling.table(looked, is_wide=args.output == formats.WIDE))
        for text in looked.unseen:
            print(f"seatrial: not seen: {text}", file=sys.stderr)
    return status_code(looked)


def _reroll(args: argparse.Namespace) -> int:
    from seatrial.app import rerolling
    from seatrial.app.awaiting import finished
    from seatrial.cli.run import dra_telling
    from seatrial.core.movers.dra.values import Target

    asked = rerolling.Asked(
        namespaces=tuple(args.dra_namespace),
        nodes=tuple(dict.fromkeys(args.node)),
        target=Target(driver=args.target_driver, chart=args.target_chart),
        is_waiting=args.wait,
        is_required=args.require,
        is_trial=args.dry_run,
        still_seconds=float(args.stability),
        deadline_seconds=float(args.deadline),
    )
    ended = finished(rerolling.reroll(cluster_options.cluster_of(args), asked, _say))
    if formats.is_document(args.output):
        formats.print_document(dra_telling.ended_data(ended), args.output)
    else:
        print("\n".join(dra_telling.ended_lines(ended)))
    return reroll_code(ended)


def status_code(looked: Looked) -> ExitCode:
    """What a script may rely on: 8 where a plugin is stale, 11 where it cannot be said of every node."""
    from seatrial.core.movers.dra.values import Stand

    stands = {each.stand for each in looked.standings}
    if stands & {Stand.STALE, Stand.WAITING, Stand.FAILED}:
        return ExitCode.FINDINGS
    return ExitCode.INCONCLUSIVE if stands & {Stand.PENDING, Stand.REROLLING} else ExitCode.OK


def reroll_code(ended: Ended) -> ExitCode:
    """What a Job may rely on."""
    from seatrial.app.rerolling import End

    match ended.end:
        case End.LATE:
            return ExitCode.TIMEOUT
        case End.FAILED:
            return ExitCode.FINDINGS
        case End.LEFT:
            return ExitCode.INCONCLUSIVE
        case End.FRESH | End.NO_DRIVER | End.TRIAL | End.REQUESTED:
            return ExitCode.OK


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)
