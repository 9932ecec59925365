"""Start a careful rollout, look at it, and tell it what to do.

Without ROLLOUT, the only rollout that has not ended is meant.
"""

# Tests: tests/cli/test_rollout_tree.py, and one file beside it for each part

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from seatrial.app.errors import CalledWrongly
from seatrial.app.rollout import options
from seatrial.cli import formats
from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.parsing.parser import rarely
from seatrial.cli.rollout import spec as rollout_spec

EXITS = (ExitCode.FINDINGS, ExitCode.GATE_FAILED, ExitCode.INCONCLUSIVE, ExitCode.HELD, ExitCode.TIMEOUT)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="what", required=True, metavar="COMMAND")
    _add_start(commands.add_parser("start", help="start a rollout: canary first, then waves"))
    _add_status(commands.add_parser("status", help="show where it stands, as a tree"))
    for name, text in (
        ("pause", "stop where it is"),
        ("resume", "go on after a pause"),
        ("promote", "approve the promotion, once the evidence is complete"),
    ):
        command = commands.add_parser(name, help=text)
        add_name(command)
        formats.add_output(command, formats.NAME)
        cluster_options.add_cluster_arguments(command, has_rollout=False)
    _add_approve(commands.add_parser("approve", help="approve a point where it waits for you"))
    aborted = commands.add_parser("abort", help="undo a rollout")
    add_name(aborted)
    add_undo(aborted)
    _add_nodes(commands)
    _add_observed(commands.add_parser("observed", help="tell which version of a component is on a node"))
    _add_adopt(commands.add_parser("adopt", help="finish or undo an upgrade that somebody left half-done"))


def add_name(parser: argparse.ArgumentParser) -> None:
    """The rollout that is meant."""
    parser.add_argument("name", nargs="?", default="", metavar="ROLLOUT", help="which rollout (the active one)")


def add_undo(parser: argparse.ArgumentParser) -> None:
    """What an undo has to know."""
    parser.add_argument("--reason", required=True, metavar="TEXT", help="why; it goes into the status and the commits")
    parser.add_argument(
        "--mark-bad", action="store_true", help="reject the version too: its entry in the matrix is marked bad"
    )
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
    formats.add_output(parser, formats.NAME)
    cluster_options.add_cluster_arguments(parser, has_rollout=False)


def _add_start(parser: argparse.ArgumentParser) -> None:
    rollout_spec.add_options(parser)
    rarely(parser).add_argument(
        "--facts", metavar="FILE", action="append", default=[], help="facts of your own, in YAML"
    )
    parser.add_argument("--accept-unknown", action="store_true", help="start although nobody knows whether it works")
    parser.add_argument("--dry-run", action="store_true", help="show every write up to the first verdict; write none")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
    formats.add_output(parser, formats.NAME)
    cluster_options.add_cluster_arguments(parser, has_rollout=False)


def _add_status(parser: argparse.ArgumentParser) -> None:
    add_name(parser)
    cluster_options.add_watch(parser, "it ends")
    formats.add_output(parser, formats.WIDE, formats.NAME)
    cluster_options.add_cluster_arguments(parser, has_rollout=False)


def _add_approve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="ROLLOUT", help="which rollout")
    parser.add_argument("point", choices=options.POINTS, metavar="POINT", help=", ".join(options.POINTS))
    formats.add_output(parser, formats.NAME)
    cluster_options.add_cluster_arguments(parser, has_rollout=False)


def _add_nodes(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from seatrial.cli.show import node

    for name, text in (
        ("retry", "try failed nodes again"),
        ("skip", "leave nodes out"),
        ("unskip", "let skipped nodes be upgraded after all"),
    ):
        command = commands.add_parser(name, help=text)
        node.add_change_arguments(command, name)


def _add_observed(parser: argparse.ArgumentParser) -> None:
    from seatrial.cli.rollout import observed as rollout_observed

    rollout_observed.add_arguments(parser)


def _add_adopt(parser: argparse.ArgumentParser) -> None:
    from seatrial.cli.rollout import adopt as rollout_adopt

    rollout_adopt.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    return guarded(_run, args)


def guarded(command: Callable[[argparse.Namespace], int], args: argparse.Namespace) -> int:
    """Run a command; one that was called wrongly ends with the exit code of that."""
    try:
        return command(args)
    except CalledWrongly as err:
        print(f"seatrial: {err}", file=sys.stderr)
        return ExitCode.USAGE


def _run(args: argparse.Namespace) -> int:
    match args.what:
        case "start":
            from seatrial.cli.rollout import start as rollout_start

            return rollout_start.run(args)
        case "status":
            return _status(args)
        case "promote":
            from seatrial.cli.rollout import acts as rollout_acts

            return rollout_acts.promote(args)
        case "retry" | "skip" | "unskip":
            from seatrial.cli.show import node

            return node.run(args)
        case "observed":
            from seatrial.cli.rollout import observed as rollout_observed

            return rollout_observed.run(args)
        case "adopt":
            from seatrial.cli.rollout import adopt as rollout_adopt

            return rollout_adopt.run(args)
        case _:
            from seatrial.cli.rollout import acts as rollout_acts

            return rollout_acts.run(args)


def _status(args: argparse.Namespace) -> int:
    from seatrial.app import looking
    from seatrial.app import picture as rollout_picture
    from seatrial.app.awaiting import finished
    from seatrial.app.rollout import picking
    from seatrial.cli.show import status
    from seatrial.cli.show import watch as rollout_watch

    cluster = cluster_options.cluster_of(args)
    name = picking.meant(finished(picking.listed(cluster)), args.name).name
    if args.output == formats.NAME:
        formats.print_names(formats.ROLLOUT, [name])
        return ExitCode.OK
    if args.watch:
        return rollout_watch.watch(cluster, name, timeout_seconds=args.timeout, output=args.output)
    found = finished(looking.look(cluster, name))
    picture = rollout_picture.picture_of(found)
    if picture is None:
        return status.show(found, args.output)  # it moves nodes only
    for fault in found.faults:
        print(f"seatrial: {fault}", file=sys.stderr)
    return rollout_watch.show(picture, output=args.output)
