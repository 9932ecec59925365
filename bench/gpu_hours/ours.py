"""By attrition, in the model: the same rules as live (core/budget/attrition), on the model's nodes and jobs.

Law of this file: it translates, and decides nothing. Tests: tests/bench/test_gpu_hours.py
"""

from __future__ import annotations

from collections.abc import Callable

from bench.gpu_hours.cluster import RELOAD, Cluster, Run
from bench.gpu_hours.traces import Saves

from seatrial.core.budget.attrition.turn import turn
from seatrial.core.budget.attrition.values import Attrition, Job, Load, Verb, View

LOOK_SECONDS = 300.0
"""How often the rules are asked though nothing happens; live, they are at every change, a save included."""
LAST_SECONDS, LAST_LOOK_SECONDS = 4 * 3600.0, 60.0
"""Towards the end more often."""
KEPT_SECONDS = 3600.0
"""Who was given back is left alone for so long."""


class ByAttrition:
    """What the rules say, done."""

    def __init__(self, way: Attrition, idle_max: int, past: Callable[[str], tuple[float, ...]] | None = None) -> None:
        self.way, self.idle_max, self.past = way, idle_max, past or (lambda _owner: ())
        self.deadline_at: float | None = None
        self.names: list[str] = []
        self.finished: dict[str, tuple[float, ...]] = {}
        self.given_back: dict[str, float] = {}

    def act(self, cluster: Cluster) -> float:
        """Do what is due; when to look again."""
        if self.deadline_at is None:
            self.deadline_at = cluster.now + self.way.deadline_seconds
            self.names = [f"n{node:03}" for node in range(cluster.count)]
        for act in turn(self._view(cluster)):
            self._do(act.verb, act.nodes, act.jobs, cluster)
        idle = cluster.idle_behind() + cluster.gpus * len(cluster.reloading)
        if idle > self.idle_max:
            cluster.losses.acts_over += 1
        return cluster.now + (LAST_LOOK_SECONDS if self.deadline_at - cluster.now < LAST_SECONDS else LOOK_SECONDS)

    def _do(self, verb: Verb, nodes: tuple[str, ...], jobs: tuple[str, ...], cluster: Cluster) -> None:
        indices = [int(name[1:]) for name in nodes]
        match verb:
            case Verb.CLOSE:
                for node in indices:
                    if cluster.closed[node] is None:
                        cluster.close(node)
            case Verb.GIVE_BACK:
                cluster.losses.given_back += 1
                for node in indices:
                    self.given_back[self.names[node]] = cluster.now
                    cluster.reopen(node)
            case Verb.EVICT:
                for name in jobs:
                    cluster.evict(name, is_asked=cluster.runs[name].work.saves is Saves.ASKED)
            case Verb.RELOAD:
                for node in indices:
                    cluster.reload(node)

    def _view(self, cluster: Cluster) -> View:
        assert self.deadline_at is not None
        names = self.names
        nodes = {
            names[node]: Load(
                name=names[node],
                gpus=cluster.gpus,
                jobs=tuple(cluster.on[node]),
                busy=cluster.gpus - cluster.free[node],
                closed_at=cluster.closed[node],
                is_reloading=node in cluster.reloading,
            )
            for node in cluster.old()
        }
        jobs = {name: self._job(run, cluster.now) for node in cluster.old() for name, run in cluster.on[node].items()}
        keeps = frozenset(name for name, at in self.given_back.items() if cluster.now - at < KEPT_SECONDS)
        return View(
            now=cluster.now,
            nodes=nodes,
            jobs=jobs,
            way=self.way,
            deadline_at=self.deadline_at,
            idle_max=self.idle_max,
            member_count=cluster.count,
            reload_seconds=RELOAD,
            waiting_gpus=cluster.smallest_waiting(),
            keeps=keeps,
        )

    def _job(self, run: Run, now: float) -> Job:
        return Job(
            name=run.work.name,
            parts=tuple((self.names[node], run.share) for node in run.nodes),
            started_at=run.started,
            saved_at=run.saved_at(now) if run.work.saves is not Saves.SILENT else None,
            can_be_asked=run.work.saves is Saves.ASKED,
            finished=self._history(run.work.owner),
            has_replicas=run.work.is_service,
        )

    def _history(self, owner: str) -> tuple[float, ...]:
        if owner not in self.finished:
            self.finished[owner] = self.past(owner)
        return self.finished[owner]
