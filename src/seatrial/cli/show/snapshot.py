"""Print everything that is seen of the cluster, and what its rollout wants, as one JSON document.

Save it with `seatrial snapshot > FILE`, to look into it or to forecast from it where the cluster cannot be reached. It
names nodes, pods, namespaces and labels; no secrets are read. With a rollout it holds the members, otherwise all nodes.
"""

# Tests: tests/cli/test_snapshot.py

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.program import print_data

if TYPE_CHECKING:
    from seatrial.adapters.files.snapshot_file import Saved
    from seatrial.app.looking import Look

EXITS = ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    cluster_options.add_cluster_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from seatrial.adapters.files import snapshot_file
    from seatrial.cli.show.look import look

    found = look(args)
    for fault in found.faults:
        print(f"seatrial: {fault}", file=sys.stderr)
    if found.faults:
        return ExitCode.ERROR  # half a snapshot would be taken for a whole one
    print_data(snapshot_file.text_of(saved_of(found)))
    return ExitCode.OK


def saved_of(found: Look) -> Saved:
    """A look as it is saved."""
    from seatrial.adapters.files.snapshot_file import Saved
    from seatrial.core.model.seen.rollouts import RolloutRecord
    from seatrial.core.model.seen.snapshot import Snapshot

    if found.sight is not None:
        return Saved(at=found.at, seen=found.sight.seen, intent=found.sight.intent)
    seen = Snapshot(nodes=found.nodes, rollout=RolloutRecord(name=""), operator=found.operator)
    return Saved(at=found.at, seen=seen)
