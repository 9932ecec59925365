"""One run: a trace, a cluster that is warm, a way; until every node is through.

Tests: tests/bench/test_gpu_hours.py
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from functools import lru_cache
from typing import Protocol, TypeAlias

from seatrial.core.base.values import dataclass, replace
from seatrial.sim.forecast.busy.cluster import RESTART, SAVE_EVERY, Cluster, Losses
from seatrial.sim.forecast.busy.scheduling import schedule
from seatrial.sim.forecast.busy.traces import DAY, HOUR, Kind, Saves, Work, arrivals

Warm: TypeAlias = tuple[Cluster, Iterator[Work], Work | None]


class Way(Protocol):
    """Who decides."""

    def act(self, cluster: Cluster) -> float:
        """Do what is due; when to look again though nothing happens."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a run cost."""

    losses: Losses
    hours: float
    is_over: bool


def warm(kind: Kind, seed: int, warm_hours: float, until: float, count: int, gpus: int = 8) -> Warm:
    """A cluster that has been at work for so long, and what comes next."""
    cluster = deepcopy(_warmed(replace(kind, saves=Saves.SILENT), seed, warm_hours, count, gpus))
    for work in cluster.works():
        work.saves = kind.saves
    coming = (work for work in arrivals(kind, seed, until) if work.arrives > warm_hours * HOUR)
    return cluster, coming, next(coming, None)


@lru_cache(maxsize=4)
def _warmed(kind: Kind, seed: int, warm_hours: float, count: int, gpus: int) -> Cluster:
    """The same cluster for every way: what is known of saves changes nothing before anybody is evicted."""
    cluster, start = Cluster(count=count, gpus=gpus, order=kind.order), warm_hours * HOUR
    coming = arrivals(kind, seed, start)
    following = next(coming, None)
    while True:
        at = min(cluster.next_event(), following.arrives if following else float("inf"), start)
        cluster.advance(at)
        while following is not None and following.arrives <= at:
            cluster.submit(following)
            following = next(coming, None)
        schedule(cluster)
        if at >= start:
            return cluster


def play(
    kind: Kind,
    seed: int,
    way: Way,
    *,
    warm_hours: float = 12.0,
    days_max: float = 5.0,
    count: int = 128,
    idle_max: int = 10**9,
) -> Outcome:
    """Play a kind to its end, or for so many days."""
    stop = warm_hours * HOUR + days_max * DAY
    return through(warm(kind, seed, warm_hours, stop, count), way, stop, idle_max=idle_max)


def through(begun: Warm, way: Way, stop: float, *, idle_max: int = 10**9) -> Outcome:
    """Play what has begun to its end, or until it is stopped."""
    cluster, coming, following = begun
    start = cluster.now
    cluster.counts, cluster.idle_max = True, idle_max
    again, looked = start, -1
    while not cluster.is_over() and cluster.now < stop:
        while cluster.version != looked or cluster.now >= again:  # what is done may let others start
            looked = cluster.version
            again = way.act(cluster)
            schedule(cluster)
        at = min(cluster.next_event(), following.arrives if following else stop, again, stop)
        cluster.advance(max(at, cluster.now))
        while following is not None and following.arrives <= cluster.now:
            cluster.submit(following)
            following = next(coming, None)
        schedule(cluster)
    return Outcome(losses=cluster.losses, hours=(cluster.now - start) / HOUR, is_over=cluster.is_over())


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """What no way can stay below, whatever it knows."""

    gpu_hours: float
    evictions: int
    late_gpus: int
    """GPUs of those that have to be evicted."""

    @property
    def blind_gpu_hours(self) -> float:
        """The same for whoever does not know when jobs save: on average half of what they do between two saves."""
        return self.gpu_hours + self.late_gpus * SAVE_EVERY / 2 / HOUR


def bound(kind: Kind, seed: int, deadline_hours: float, *, warm_hours: float, count: int = 128) -> Bound:
    """Every node reloads once, and who runs beyond the deadline starts again once, right after a save.

    That is a relaxation: who starts later, and whether idle GPUs could be avoided at all, is left out.
    """
    return bound_of(warm(kind, seed, warm_hours, warm_hours * HOUR, count)[0], deadline_hours)


def bound_of(cluster: Cluster, deadline_hours: float) -> Bound:
    """The same for a cluster whose upgrade begins now."""
    ends, old = cluster.now + deadline_hours * HOUR, set(cluster.old())
    late = [
        run
        for run in cluster.runs.values()
        if run.ends > ends and not run.work.is_service and not old.isdisjoint(run.nodes)
    ]
    reload = cluster.reload_seconds * sum(cluster.sizes[node] for node in old)
    late_gpus = sum(run.work.gpus for run in late)
    return Bound(gpu_hours=(reload + late_gpus * RESTART) / HOUR, evictions=len(late), late_gpus=late_gpus)
