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
from seatrial.cli.parser import rarely
from seatrial.cli.rollout import spec as rollout_spec
from seatrial.cli.words import span

EXITS = (ExitCode.FINDINGS, ExitCode.GATE_FAILED, ExitCode.INCONCLUSIVE, ExitCode.HELD, ExitCode.TIMEOUT)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="what", required=True, metavar="COMMAND")
    _add_start(commands.add_parser("start", help="start a rollout: canary first, then waves"))
    _add_get(commands.add_parser("get", help="list rollouts: target, phase, nodes done, why they wait"))
    _add_describe(commands.add_parser("describe", help="show everything about one rollout"))
    for name, text in (
        ("pause", "stop where it is: nodes keep their place and their cordons, nothing is lost"),
        ("resume", "continue after a pause"),
        ("promote", "approve the promotion, once the evidence is complete"),
    ):
        command = commands.add_parser(name, help=text)
        add_name(command)
        if name == "pause":
            command.add_argument("--reason", default="", metavar="TEXT", help="why; it is shown wherever the pause is")
        if name != "promote":
            add_patience(command)
        formats.add_output(command, formats.NAME)
        cluster_options.add_cluster_arguments(command, has_rollout=False)
    _add_approve(commands.add_parser("approve", help="approve a point where it waits for you"))
    aborted = commands.add_parser("abort", help="undo the rollout under way")
    add_name(aborted)
    add_undo(aborted)
    undone = commands.add_parser("rollback", help="undo the last rollout, even one that is done")
    add_name(undone)
    add_undo(undone)
    _add_history(commands.add_parser("history", help="show what rollouts did, phase by phase"))
    _add_observed(commands.add_parser("observed", help="report which version of a component is on a node"))
    _add_adopt(commands.add_parser("adopt", help="finish or undo an upgrade that somebody left half-done"))


def add_name(parser: argparse.ArgumentParser) -> None:
    """The rollout that is meant."""
    parser.add_argument("name", nargs="?", default="", metavar="ROLLOUT", help="which rollout (the active one)")


def add_patience(parser: argparse.ArgumentParser) -> None:
    """How long the controller is waited for."""
    parser.add_argument(
        "--timeout",
        metavar="60s",
        type=span,
        help="wait so long until the controller has done it (5s), and end with 13 if it has not by then; where no "
        "controller is in charge, end with 12 at once",
    )


def add_undo(parser: argparse.ArgumentParser) -> None:
    """What an undo has to know."""
    parser.add_argument("--reason", default="", metavar="TEXT", help="why; it goes into the status and the commits")
    parser.add_argument("--dry-run", action="store_true", help="say what would be taken back, and write nothing")
    parser.add_argument(
        "--mark-bad", action="store_true", help="reject the version too: its entry in the matrix is marked bad"
    )
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
    add_patience(parser)
    formats.add_output(parser, formats.NAME)
    cluster_options.add_cluster_arguments(parser, has_rollout=False)


def _add_start(parser: argparse.ArgumentParser) -> None:
    rollout_spec.add_options(parser)
    rarely(parser).add_argument(
        "--facts", metavar="FILE", action="append", default=[], help="facts of your own, in YAML"
    )
    parser.add_argument("--accept-unknown", action="store_true", help="start even if it is unknown whether it works")
    parser.add_argument("--dry-run", action="store_true", help="show every write up to the first verdict; write none")
    parser.add_argument("--wait", action="store_true", help="watch it to its end; the exit code says how it ended")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
    formats.add_output(parser, formats.NAME)
    cluster_options.add_cluster_arguments(parser, has_rollout=False)


def _add_get(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", default="", metavar="ROLLOUT", help="only this rollout (all of them)")
    formats.add_output(parser, formats.WIDE, formats.NAME)
    cluster_options.add_selector(parser, "only rollouts with these labels")
    cluster_options.add_watch(parser, has_only=True)
    cluster_options.add_cluster_arguments(parser, has_rollout=False)


def _add_describe(parser: argparse.ArgumentParser) -> None:
    add_name(parser)
    formats.add_output(parser)
    cluster_options.add_cluster_arguments(parser, has_rollout=False)


def _add_history(parser: argparse.ArgumentParser) -> None:
    from seatrial.cli.show import history

    history.add_arguments(parser)


def _add_approve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="ROLLOUT", help="which rollout")
    parser.add_argument("point", choices=options.POINTS, metavar="POINT", help=", ".join(options.POINTS))
    formats.add_output(parser, formats.NAME)
    cluster_options.add_cluster_arguments(parser, has_rollout=False)


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
    if args.what in ("abort", "rollback") and not args.dry_run:
        from seatrial.app.rollout import wishing

        wishing.reason_of(args.reason)  # before anybody is asked
    match args.what:
        case "start":
            from seatrial.cli.rollout import start as rollout_start

            return rollout_start.run(args)
        case "get" | "describe":
            from seatrial.cli.rollout import getting

            return getting.get(args) if args.what == "get" else getting.describe(args)
        case "history":
            from seatrial.cli.show import history

            return history.run(args)
        case "rollback":
            return _rollback(args)
        case "promote":
            from seatrial.cli.rollout import acts as rollout_acts

            return rollout_acts.promote(args)
        case "observed":
            from seatrial.cli.rollout import observed as rollout_observed

            return rollout_observed.run(args)
        case "adopt":
            from seatrial.cli.rollout import adopt as rollout_adopt

            return rollout_adopt.run(args)
        case _:
            from seatrial.cli.rollout import acts as rollout_acts

            return rollout_acts.run(args)


def _rollback(args: argparse.Namespace) -> int:
    """Undo the rollout under way, or else the one that was done last."""
    from seatrial.app import picking
    from seatrial.app.awaiting import finished
    from seatrial.cli.rollout import acts as rollout_acts

    cluster = cluster_options.cluster_of(args)
    meant = picking.last(finished(picking.listed(cluster)), args.name)
    return rollout_acts.undo(cluster, meant, args, allows_done=True)
