"""One look at the cluster that a command names."""

from __future__ import annotations

import argparse

from seatrial.app import looking
from seatrial.app.awaiting import finished
from seatrial.cli import options as cluster_options


def look(args: argparse.Namespace) -> looking.Look:
    """Read everything once, without doing anything."""
    return finished(looking.look(cluster_options.cluster_of(args), args.rollout))
