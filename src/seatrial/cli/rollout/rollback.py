"""Undo the last rollout, even one that is done: versions, nodes and the matrix go back, with the same care.

Without ROLLOUT it undoes the rollout under way, or else the one that was done last. It shows what goes back first.
"""

# Tests: tests/cli/test_rollout_live.py

from __future__ import annotations

import argparse

from seatrial.cli.exit_codes import ExitCode

EXITS: tuple[ExitCode, ...] = ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from seatrial.cli.rollout import rollout

    rollout.add_name(parser)
    rollout.add_undo(parser)


def run(args: argparse.Namespace) -> int:
    from seatrial.cli.rollout import rollout

    return rollout.guarded(_run, args)


def _run(args: argparse.Namespace) -> int:
    from seatrial.app.awaiting import finished
    from seatrial.app.rollout import picking
    from seatrial.cli import options as cluster_options
    from seatrial.cli.rollout import acts as rollout_acts

    cluster = cluster_options.cluster_of(args)
    meant = picking.last(finished(picking.listed(cluster)), args.name)
    return rollout_acts.undo(cluster, meant, args, allows_done=True)
