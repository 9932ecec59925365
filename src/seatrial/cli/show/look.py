"""One look at the cluster that a command names."""

from __future__ import annotations

import argparse
import asyncio

from seatrial.app import looking
from seatrial.cli import options as cluster_options


def look(args: argparse.Namespace) -> looking.Look:
    """Read everything once, without doing anything."""
    return asyncio.run(looking.look(cluster_options.cluster_of(args), args.rollout))
