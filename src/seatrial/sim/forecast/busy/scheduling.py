"""Who of those that wait starts now, and where: the first nodes that have room, in the order of arrival.

    best effort   whoever fits starts, though somebody older does not: Kueue's default. Gangs wait for long
    backfill      the oldest that does not fit keeps its place: the nodes that are free first are its own, and whoever
                  starts there has to be through by then. What batch schedulers do; they know how long jobs may run

Of the jobs that ask for the same only the oldest is looked at.
Tests: tests/bench/test_gpu_hours.py
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from seatrial.sim.forecast.busy.cluster import Cluster
from seatrial.sim.forecast.busy.traces import Order


class Place(NamedTuple):
    """Nodes that are kept for the oldest, and when all of them are free."""

    nodes: frozenset[int]
    free_at: float


def schedule(cluster: Cluster) -> None:
    """Start whoever may."""
    stuck: set[tuple[int, ...]] = set()
    place: Place | None = None
    while True:
        heads = sorted((row[0].arrives, each) for each, row in cluster.queues.items() if row and each not in stuck)
        for _, pieces in heads:
            nodes = _fit(cluster, pieces, _barred(cluster, pieces, place))
            if nodes is not None:
                cluster.start(pieces, nodes)
                break
            stuck.add(pieces)
            if place is None and cluster.order is Order.BACKFILL:
                place = _place(cluster, pieces)
        else:
            return


def _barred(cluster: Cluster, pieces: tuple[int, ...], place: Place | None) -> Container[int]:
    """Where the next of these would be in the way of the oldest."""
    if place is None:
        return ()
    work = cluster.queues[pieces][0]
    return place.nodes if cluster.now + cluster.lead_of(work) + work.seconds > place.free_at else ()


def _fit(cluster: Cluster, pieces: tuple[int, ...], barred: Container[int]) -> tuple[int, ...] | None:
    """The first nodes that take work and have room, each for one piece."""
    free, closed, count = cluster.free, cluster.closed, cluster.count
    found: list[int] = []
    first, before = 0, 0
    for piece in pieces:
        first = first if piece == before else 0
        for node in range(first, count):
            if free[node] >= piece and closed[node] is None and node not in found and node not in barred:
                found.append(node)
                first, before = node + 1, piece
                break
        else:
            return None
    return tuple(found)


def _place(cluster: Cluster, pieces: tuple[int, ...]) -> Place:
    """The open nodes that have room first; where too few are open, nobody has to keep out of the way."""
    room = sorted((_room_at(cluster, node, pieces[0]), node) for node, at in enumerate(cluster.closed) if at is None)
    kept = room[: len(pieces)]
    free_at = kept[-1][0] if len(kept) == len(pieces) else float("inf")
    return Place(frozenset(node for _, node in kept), free_at)


def _room_at(cluster: Cluster, node: int, gpus: int) -> float:
    """When so many GPUs of a node are free."""
    free = cluster.free[node]
    if free >= gpus:
        return cluster.now
    for run in sorted(cluster.on[node].values(), key=lambda each: each.ends):
        free += dict(run.parts)[node]
        if free >= gpus:
            return run.ends
    return float("inf")
