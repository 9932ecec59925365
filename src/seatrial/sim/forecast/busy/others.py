"""The three ways of NVIDIA's controller: a tenth of the nodes at a time, by name.

    evict          whoever is on them leaves at once
    wait           they are closed and waited for, as long as it takes
    wait 2 h       the same, and evicted after two hours

Tests: tests/bench/test_gpu_hours.py
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from seatrial.sim.forecast.busy.cluster import Cluster
from seatrial.sim.forecast.busy.traces import HOUR


class Batches:
    """Whoever is first by name is closed when a place is free, and evicted when the time is up."""

    def __init__(self, patience: float, share: float = 0.1, places_max: int | None = None) -> None:
        self.patience, self.share, self.places_max = patience, share, places_max

    def act(self, cluster: Cluster) -> float:
        """Do what is due; when to look again."""
        places = max(1, math.ceil(cluster.count * self.share))
        places = places if self.places_max is None else min(places, self.places_max)
        taken = sum(at is not None for at in cluster.closed)
        for node in cluster.old():
            if taken < places and cluster.closed[node] is None:
                cluster.close(node)
                taken += 1
        again = float("inf")
        for node, since in enumerate(cluster.closed):
            if since is None or node in cluster.reloading:
                continue
            if cluster.on[node] and cluster.now < since + self.patience:
                again = min(again, since + self.patience)
                continue
            for name in list(cluster.on[node]):
                cluster.evict(name)
            cluster.reload(node)
        return again


WAYS: Final[Mapping[str, float]] = {"evict": 0.0, "wait": float("inf"), "wait 2 h": 2 * HOUR}
"""How patient each is, in seconds."""
