"""Show a rollout: its target, who is where, who waits and why; -w keeps it up to date until it ends.

The first line is OK, NEEDS YOU, STUCK or NO CONTROLLER, with a short reason and the one command to run.

Exit code 0 when it is done or moving, 12 when it waits for somebody, is paused or nobody is in charge, 10 when it was
taken back or a gate has failed, 8 when it is over without some of its nodes, 1 when a write of the controller's is
turned down, 11 when it is open and whether a controller is in charge cannot be read. `rollout get NAME` and
`rollout start --wait` give the same.
"""

# Tests: tests/cli/test_status.py

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from seatrial.cli import formats, terminal
from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from seatrial.app.looking import Look

EXITS = (ExitCode.FINDINGS, ExitCode.GATE_FAILED, ExitCode.INCONCLUSIVE, ExitCode.HELD, ExitCode.TIMEOUT)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "rollout", nargs="?", default="", metavar="ROLLOUT", help="which rollout, when there are several"
    )
    cluster_options.add_cluster_arguments(parser, has_rollout=False)
    cluster_options.add_watch(parser, "it ends", has_only=True)
    formats.add_output(parser, formats.WIDE, formats.NAME)


def run(args: argparse.Namespace) -> int:
    from seatrial.cli.show.look import look

    if args.watch or args.watch_only:
        from seatrial.cli.show import watch as rollout_watch

        cluster, screen = cluster_options.cluster_of(args), rollout_watch.screen(args.output, is_only=args.watch_only)
        return rollout_watch.watch(cluster, args.rollout, screen, timeout_seconds=args.timeout)
    return show(look(args), args.output)


def show(found: Look, output: str) -> int:
    """Print one look."""
    from seatrial.cli.show import ending, standing
    from seatrial.cli.show import watch as rollout_watch

    for fault in found.faults:
        print(f"seatrial: {fault}", file=sys.stderr)
    if formats.is_document(output):
        formats.print_document(standing.as_data(found), output)
    elif output == formats.NAME:
        formats.print_names(formats.ROLLOUT, [found.sight.intent.rollout] if found.sight is not None else [])
    else:
        ink = rollout_watch.ink_of(sys.stdout)
        width = terminal.width_of(sys.stdout)
        named_max = None if output == formats.WIDE else standing.NAMED_MAX
        print("\n".join(standing.lines_of(found, named_max=named_max, ink=ink, width=width)))
    return ending.exit_of(found)
