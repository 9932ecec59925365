"""One look at the cluster that a command names."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from seatrial.app import looking
from seatrial.app.awaiting import finished
from seatrial.cli import options as cluster_options

if TYPE_CHECKING:
    from seatrial.app.connecting import Cluster
    from seatrial.app.forecasting import Fleet


def look(args: argparse.Namespace) -> looking.Look:
    """Read everything once, without doing anything."""
    return finished(looking.look(cluster_options.cluster_of(args), args.rollout))


def fleet(cluster: Cluster, rollout: str = "") -> Fleet:
    """The nodes of a cluster or of a file, to forecast for; half of them are none."""
    from seatrial.app import forecasting
    from seatrial.core.errors import SeatrialError

    found = finished(looking.look_at_nodes(cluster, rollout))
    if found.faults:
        raise SeatrialError(" ".join(found.faults))
    where = "the cluster" if cluster.snapshot is None else str(cluster.snapshot)
    return forecasting.fleet_of(where, found.nodes, found.operator, found.sight)
