"""By attrition, in the model: the same rules as live (core/budget/attrition), on the model's nodes and jobs.

Law of this file: it translates, and decides nothing. Tests: tests/bench/test_gpu_hours.py
"""

from __future__ import annotations

from collections.abc import Callable

from seatrial.core.budget.attrition.turn import turn
from seatrial.core.budget.attrition.values import Attrition, Job, Load, Verb, View
from seatrial.sim.forecast.busy.cluster import Cluster, Run
from seatrial.sim.forecast.busy.traces import Saves

LOOK_SECONDS = 300.0
"""How often the rules are asked though nothing happens; live, they are at every change, a save included."""
LAST_SECONDS, LAST_LOOK_SECONDS = 4 * 3600.0, 60.0
"""Towards the end more often."""
KEPT_SECONDS = 3600.0
"""Who was given back is left alone for so long."""


class ByAttrition:
    """What the rules say, done."""

    def __init__(
        self,
        way: Attrition,
        idle_max: int,
        past: Callable[[str], tuple[float, ...]] | None = None,
        at_once_max: int | None = None,
    ) -> None:
        self.way, self.idle_max, self.past = way, idle_max, past or (lambda _owner: ())
        self.at_once_max = at_once_max
        """Nodes that may be empty or reloading at once; None where only the idle budget says."""
        self.deadline_at: float | None = None
        self.places: dict[str, int] = {}
        self.finished: dict[str, tuple[float, ...]] = {}
        self.given_back: dict[str, float] = {}

    def act(self, cluster: Cluster) -> float:
        """Do what is due; when to look again."""
        if self.deadline_at is None:
            self.deadline_at = cluster.now + self.way.deadline_seconds
            self.places = {name: node for node, name in enumerate(cluster.names)}
        for act in turn(self.view(cluster)):
            self._do(act.verb, act.nodes, act.jobs, cluster)
        idle = cluster.idle_behind() + cluster.reloading_gpus()
        if idle > self.idle_max:
            cluster.losses.acts_over += 1
        return cluster.now + (LAST_LOOK_SECONDS if self.deadline_at - cluster.now < LAST_SECONDS else LOOK_SECONDS)

    def _do(self, verb: Verb, nodes: tuple[str, ...], jobs: tuple[str, ...], cluster: Cluster) -> None:
        indices = [self.places[name] for name in nodes]
        match verb:
            case Verb.CLOSE:
                if any(cluster.on[node] for node in indices) or self._has_place(cluster, len(indices)):
                    for node in indices:
                        if cluster.closed[node] is None:
                            cluster.close(node)
            case Verb.GIVE_BACK:
                cluster.losses.given_back += 1
                for node in indices:
                    self.given_back[cluster.names[node]] = cluster.now
                    cluster.reopen(node)
            case Verb.EVICT:
                if self._has_place(cluster, len(indices)):
                    for name in jobs:
                        cluster.evict(name, is_asked=cluster.runs[name].work.saves is Saves.ASKED)
            case Verb.RELOAD:
                for node in indices:
                    if self.at_once_max is None or len(cluster.reloading) < self.at_once_max:
                        cluster.reload(node)

    def _has_place(self, cluster: Cluster, wanted: int) -> bool:
        """Whether so many more nodes may be empty; who may never go at once goes when one may."""
        if self.at_once_max is None:
            return True
        empty = sum(at is not None and not cluster.on[node] for node, at in enumerate(cluster.closed))
        return empty + (wanted if wanted <= self.at_once_max else 1) <= self.at_once_max

    def view(self, cluster: Cluster) -> View:
        """What the rules look at."""
        if self.deadline_at is None:
            self.deadline_at = cluster.now + self.way.deadline_seconds
        names = cluster.names
        nodes = {
            names[node]: Load(
                name=names[node],
                gpus=cluster.sizes[node],
                jobs=tuple(cluster.on[node]),
                busy=cluster.sizes[node] - cluster.free[node],
                closed_at=cluster.closed[node],
                is_reloading=node in cluster.reloading,
            )
            for node in cluster.old()
        }
        on = {name: run for node in cluster.old() for name, run in cluster.on[node].items()}
        jobs = {name: self._job(run, cluster) for name, run in on.items()}
        keeps = frozenset(name for name, at in self.given_back.items() if cluster.now - at < KEPT_SECONDS)
        return View(
            now=cluster.now,
            nodes=nodes,
            jobs=jobs,
            way=self.way,
            deadline_at=self.deadline_at,
            idle_max=self.idle_max,
            member_count=cluster.count,
            at_once_max=self.at_once_max,
            waiting_gpus=cluster.smallest_waiting(),
            keeps=keeps,
        )

    def _job(self, run: Run, cluster: Cluster) -> Job:
        limit = run.work.limit_seconds
        return Job(
            name=run.work.name,
            parts=tuple((cluster.names[node], gpus) for node, gpus in run.parts),
            started_at=run.started,
            saved_at=run.saved_at(cluster.now) if run.work.saves is not Saves.SILENT and run.work.is_telling else None,
            can_be_asked=run.work.saves is Saves.ASKED,
            ends_by=run.started + limit if limit is not None else None,
            finished=self._history(run.work.owner),
            has_replicas=run.work.is_service,
        )

    def _history(self, owner: str) -> tuple[float, ...]:
        if owner not in self.finished:
            self.finished[owner] = self.past(owner)
        return self.finished[owner]
