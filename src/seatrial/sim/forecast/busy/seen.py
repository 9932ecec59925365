"""A busy cluster as it was seen, and how it may go on: who runs, who waits, and who comes when they have ended.

    runs on    as long as one of the finished jobs of its owner that ran at least as long as it has by now; where few
               are known, one of all that have finished; where few of those are, by a lognormal that is told
    comes      jobs like those that run, as fast as they end, so that as many GPUs are asked for as today, the waiting
               ones included; a replica of a service runs for as long as anybody looks
    saves      who says when saves every hour from then on; who saved longer ago is taken to be half-way to the next

Law of this file: the cluster and a seed give one future; what was assumed is in `Told`.
Tests: tests/sim/test_frontier.py
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from functools import cache
from statistics import NormalDist, fmean
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.budget.attrition.seeing import at_work
from seatrial.core.budget.losses import gpu_count, workers
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.gangs import JobSeen, gpus_of, jobs_on
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.rollouts import Admission
from seatrial.core.model.seen.work import ENDS_FEW, WorkSeen
from seatrial.core.node.step import why_not_startable
from seatrial.sim.forecast.busy.cluster import RELOAD, SAVE_EVERY, Cluster, Run
from seatrial.sim.forecast.busy.playing import Warm
from seatrial.sim.forecast.busy.traces import DAY, MINUTE, Saves, Work

ENDLESS: Final = 1e9
"""How long a service runs."""
POOL_FEW: Final = 20
"""With fewer finished jobs in all, how long a job runs is assumed."""
SMALL_MEDIAN, LARGE_MEDIAN, SPREAD, LONGEST = 70 * MINUTE, 200 * MINUTE, 1.5, 5 * DAY
"""What is assumed then: a lognormal, cut off; below eight GPUs, and from eight on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What was seen, in figures, and how many jobs had to be assumed about."""

    nodes: int
    gpus: int
    old: int
    """Nodes that have to be upgraded."""
    busy_gpus: int
    jobs: int
    gangs: int
    services: int
    waiting_gpus: int
    by_line: int
    """Jobs whose own line tells how long they run."""
    by_all: int
    """Jobs for which all that have finished tell."""
    assumed: int
    tell_saves: int
    """Jobs that say when they saved, or save when asked."""
    left_out: tuple[str, ...] = ()
    """Nodes that cannot be upgraded as they are."""


class Seen:
    """A cluster that was seen, from which any number of futures begin."""

    def __init__(
        self,
        nodes: Mapping[str, NodeSeen],
        work: WorkSeen,
        at: Instant,
        *,
        admitted: tuple[Admission, ...] = (),
        reload_seconds: float = RELOAD,
        gpus: Mapping[str, int] | None = None,
    ) -> None:
        self.nodes, self.work, self.at = nodes, work, at
        self.admitted, self.reload_seconds, self.gpus = admitted, reload_seconds, gpus or {}
        self.names = [name for name, node in sorted(nodes.items()) if not _is_left_out(node)]
        held = {name: at_work(nodes[name], is_suspending=False) for name in self.names}
        self.jobs = jobs_on(held)
        """The jobs on nodes that take part."""
        pool = tuple(each for key, row in work.finished.items() if key.endswith("/") for each in row)
        self._pool = pool if len(pool) >= POOL_FEW else ()
        self._samples = cache(self._samples_of)

    def begin(self, seed: int, _until: float) -> Warm:
        """The cluster as it is, and who comes; the same for the same seed."""
        chance = random.Random(f"seen/{seed}")  # noqa: S311 - a future is drawn, nothing is kept secret
        cluster = self._cluster()
        places = {name: node for node, name in enumerate(cluster.names)}
        jobs = [(job, self._work(job, chance)) for job in self.jobs]
        for job, work in jobs:
            cluster.place(self._run(job, work, places))
        for number, gpus in enumerate(gpus for gpus, count in self.work.waiting for _ in range(count)):
            seconds = self._lasts("", gpus, 0.0, chance)
            one = Work(name=f"w{number}", gpus=gpus, arrives=self.at, seconds=seconds, owner="", pieces=(gpus,))
            cluster.submit(one)
        coming = self._coming([work for _, work in jobs if work.seconds < ENDLESS], chance)
        return cluster, coming, next(coming, None)

    def past(self, _seed: int, owner: str) -> tuple[float, ...]:
        """How long finished jobs like an owner's ran: what the rules are told."""
        return self.work.ran(owner)

    def told(self) -> Told:
        """What was seen, in figures."""
        jobs, cluster = self.jobs, self._cluster()
        timed = [job for job in jobs if not job.is_service]
        by_line = sum(len(self.work.ran(job.line)) >= ENDS_FEW for job in timed)
        by_all = (len(timed) - by_line) if self._pool else 0
        return Told(
            nodes=cluster.count,
            gpus=sum(cluster.sizes),
            old=sum(1 for _ in cluster.old()),
            busy_gpus=sum(job.gpus for job in jobs),
            jobs=len(timed),
            gangs=sum(len(job.parts) > 1 for job in timed),
            services=len(jobs) - len(timed),
            waiting_gpus=sum(gpus * count for gpus, count in self.work.waiting),
            by_line=by_line,
            by_all=by_all,
            assumed=len(timed) - by_line - by_all,
            tell_saves=sum(_saves(job) is not Saves.SILENT for job in timed),
            left_out=tuple(sorted(set(self.nodes) - set(cluster.names))),
        )

    # ── what is there ────────────────────────────────────────────────────────────────────────────────────────────────

    def _size(self, name: str) -> int:
        # Who holds more than the node is known to have holds what nobody can count: a shared GPU, a claim.
        node = self.nodes[name]
        return max(self.gpus.get(name) or gpu_count(node), gpus_of(at_work(node, is_suspending=False)))

    def _cluster(self) -> Cluster:
        names = self.names
        cluster = Cluster(
            sizes=[self._size(name) for name in names], names=names, now=self.at, reload_seconds=self.reload_seconds
        )
        ledger = {each.node: each for each in self.admitted}
        for place, name in enumerate(names):
            node = self.nodes[name]
            cluster.done[place] = node.facts.is_in_sync
            record = node.record
            if name in ledger and record is not None and record.is_cordon_ours and not node.facts.is_in_sync:
                cluster.closed[place] = record.closed_at or self.at
                if not ledger[name].is_ahead and not workers(node):
                    cluster.reloading[place] = self.at + self.reload_seconds
        return cluster

    def _work(self, job: JobSeen, chance: random.Random) -> Work:
        age = self._age(job)
        limit = job.ends_by - job.started_at if job.ends_by is not None and job.started_at is not None else None
        seconds = ENDLESS if job.is_service else self._lasts(job.line, job.gpus, age, chance)
        return Work(
            name=job.name,
            gpus=job.gpus,
            arrives=self.at - age,
            seconds=seconds if limit is None else max(age + 1.0, min(seconds, limit)),
            owner=job.line,
            saves=_saves(job),
            is_service=job.has_replicas,
            pieces=tuple(sorted((gpus for _, gpus in job.parts), reverse=True)),
            limit_seconds=limit,
            is_telling=job.saved_at is not None,
        )

    def _run(self, job: JobSeen, work: Work, places: Mapping[str, int]) -> Run:
        started = self.at - self._age(job)
        unsaved = self.at - job.saved_at if job.saved_at is not None else 0.0
        parts = sorted(((gpus, places[name]) for name, gpus in job.parts), key=lambda part: (-part[0], part[1]))
        return Run(
            work=work,
            nodes=tuple(place for _, place in parts),
            started=started,
            ends=started + work.seconds,
            saved=min(job.saved_at, self.at) if job.saved_at is not None else None,
            every=SAVE_EVERY if unsaved <= SAVE_EVERY else 2 * unsaved,
        )

    def _age(self, job: JobSeen) -> float:
        return max(0.0, self.at - job.started_at) if job.started_at is not None else 0.0

    # ── what may come ────────────────────────────────────────────────────────────────────────────────────────────────

    def _samples_of(self, line: str) -> tuple[float, ...]:
        """How long finished jobs ran that a job of this line is like; none where it is assumed."""
        own = self.work.ran(line) if line else ()
        return own if len(own) >= ENDS_FEW else self._pool

    def _lasts(self, line: str, gpus: int, age: float, chance: random.Random) -> float:
        """How long a job runs in all that has run so long already."""
        luck = chance.random()
        longer = [each for each in self._samples(line) if each > age]
        if longer:
            return longer[int(luck * len(longer))]
        if self._samples(line) or age >= LONGEST / 2:
            # It has run longer than all that are known: of two such the older is expected to stay longer.
            return age + min(LONGEST, (age + 30 * MINUTE) * (1 / max(1e-9, 1 - luck) - 1))
        median = SMALL_MEDIAN if gpus < 8 else LARGE_MEDIAN
        spread = NormalDist(math.log(median), SPREAD)
        least = spread.cdf(math.log(age)) if age > 0 else 0.0
        place = min(1 - 1e-9, max(1e-9, least + luck * (1 - least)))
        return min(LONGEST, max(age + 1.0, math.exp(spread.inv_cdf(place))))

    def _mean(self, work: Work) -> float:
        samples = self._samples(work.owner)
        if samples:
            # Where only short ones have finished yet, those that still run say that there are longer ones.
            return max(fmean(samples), self.at - work.arrives)
        return (SMALL_MEDIAN if work.gpus < 8 else LARGE_MEDIAN) * math.exp(SPREAD**2 / 2)

    def _coming(self, running: list[Work], chance: random.Random) -> Iterator[Work]:
        """Jobs like those that run, as often as they end; more where some wait already."""
        if not running:
            return
        held, waits = sum(work.gpus for work in running), sum(gpus * count for gpus, count in self.work.waiting)
        weights = [1 / max(MINUTE, self._mean(work)) for work in running]
        rate = sum(weights) * (held + waits) / held
        at, number = self.at, 0
        while True:
            at, number = at + chance.expovariate(rate), number + 1
            (like,) = chance.choices(running, weights)
            seconds = max(1.0, self._lasts(like.owner, like.gpus, 0.0, chance))
            yield Work(
                name=f"j{number}",
                gpus=like.gpus,
                arrives=at,
                seconds=seconds if like.limit_seconds is None else min(seconds, like.limit_seconds),
                owner=like.owner,
                saves=like.saves,
                pieces=like.pieces,
                limit_seconds=like.limit_seconds,
                is_telling=like.is_telling,
            )


def _is_left_out(node: NodeSeen) -> bool:
    """Whether a node takes no part: it cannot be upgraded as it is, or takes no work for reasons of others."""
    is_ours = node.record is not None and node.record.is_cordon_ours
    return why_not_startable(node) is not None or (node.facts.is_cordoned and not is_ours)


def _saves(job: JobSeen) -> Saves:
    if job.can_be_asked:
        return Saves.ASKED
    return Saves.TOLD if job.saved_at is not None else Saves.SILENT
