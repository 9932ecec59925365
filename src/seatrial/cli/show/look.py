"""One look at the cluster that a command names."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from seatrial.app import looking
from seatrial.app.awaiting import finished
from seatrial.cli import options as cluster_options

if TYPE_CHECKING:
    from seatrial.app.connecting import Cluster
    from seatrial.app.forecasting import Fleet, ForecastOptions


def look(args: argparse.Namespace, *, reads_gates: bool = False) -> looking.Look:
    """Read everything once, without doing anything; `reads_gates` with what their pods said last."""
    return finished(looking.look(cluster_options.cluster_of(args), args.rollout, reads_gates=reads_gates))


def fleet(cluster: Cluster, asked: ForecastOptions) -> Fleet:
    """The nodes of a cluster or of a file, to forecast for; half of them are none."""
    from seatrial.app import forecasting, frontier
    from seatrial.core.errors import SeatrialError

    found = finished(looking.look_at_nodes(cluster, asked.rollout))
    if found.faults:
        raise SeatrialError(" ".join(found.faults))
    where = "the cluster" if cluster.snapshot is None else str(cluster.snapshot)
    image = found.leader.suite_image if found.leader is not None else ""
    seen = forecasting.fleet_of(where, found.nodes, found.operator, found.sight, at=found.at, suite_image=image)
    seen = forecasting.with_file(asked, seen, found.nodes, where) if asked.file else seen
    return _with_work(cluster, seen) if frontier.is_asked(asked, seen.intent) else seen


def _with_work(cluster: Cluster, fleet: Fleet) -> Fleet:
    """The fleet with who waits for its GPUs and how long its jobs ran."""
    return replace(fleet, seen=replace(fleet.seen, work=finished(looking.look_at_work(cluster))))
