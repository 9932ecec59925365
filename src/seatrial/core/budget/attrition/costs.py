"""What waiting costs and what evicting costs, in GPU-seconds.

    evicting   the work since the last save, the time until the job works again, and what a restart is to people
    waiting    GPUs of jobs that have ended, idle until the last one on their node has

`price` is the best of "wait so long, then evict who is still there", over some spans. A node that one job fills waits
for nothing: its GPUs are busy until the moment in which it is empty.

Tests: tests/core/budget/test_attrition.py
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from seatrial.core.budget.attrition import ends
from seatrial.core.budget.attrition.values import Job, Load, View
from seatrial.core.model.instants import Instant

SAVE_SECONDS: Final = 3600.0
"""How often a job is taken to save that does not say."""
RESTART_SECONDS: Final = 600.0
"""From an eviction until the job works again."""
SAVING_SECONDS: Final = 60.0
"""How long a job takes to save that is asked to."""
MOVE_SECONDS: Final = 60.0
"""The same for one of several replicas."""
EVICTION_GPU_SECONDS: Final = 7 * 3600.0
"""What a restart is to people besides: so much idle time is accepted to spare them one (bench/gpu_hours)."""
UNWANTED: Final = 0.3
"""An idle GPU that nobody waits for now: somebody may in a moment."""
SPANS: Final = (0.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0, 14_400.0, 28_800.0, 57_600.0, 115_200.0)


class Price(NamedTuple):
    """The best way to empty nodes: wait so long, then evict who is left."""

    seconds: float
    cost: float
    evicting_now: float
    waiting: float
    """What waiting to the end is expected to cost."""


def evicting(job: Job, now: Instant, seconds: float = 0.0) -> float:
    """What it costs to evict a job so many seconds from now."""
    return _evicting(job, now, (seconds,))[0]


def weighed(job: Job, now: Instant) -> float:
    """The same now, with what a restart is to people."""
    return evicting(job, now) + (0.0 if job.has_replicas else EVICTION_GPU_SECONDS)


def _evicting(job: Job, now: Instant, spans: Sequence[float]) -> list[float]:
    """What it costs to evict a job, for each of so many seconds from now."""
    gpus = job.gpus
    if job.has_replicas:
        return [gpus * MOVE_SECONDS] * len(spans)
    if job.can_be_asked:
        return [gpus * (SAVING_SECONDS + RESTART_SECONDS)] * len(spans)
    if job.saved_at is not None:
        since = max(0.0, now - job.saved_at)
        return [gpus * (((since + span) % SAVE_SECONDS if span else since) + RESTART_SECONDS) for span in spans]
    age = max(0.0, now - job.started_at)
    return [gpus * (min(age + span, SAVE_SECONDS / 2) + RESTART_SECONDS) for span in spans]


def price(nodes: Sequence[Load], view: View, longest: float) -> Price:
    """What it costs to empty these nodes from now on, in the best way that is allowed."""
    now, evicts_early = view.now, view.way.evicts_early
    held = [view.jobs[name] for name in dict.fromkeys(name for node in nodes for name in node.jobs)]
    place = {job.name: number for number, job in enumerate(held)}
    rows = [
        (
            node.gpus,
            wanted(node, view.waiting_gpus),
            [(place[name], on(view.jobs[name], node.name)) for name in node.jobs],
        )
        for node in nodes
        if node.jobs
    ]
    spans = (*(each for each in SPANS if each < longest), longest)
    chances = [ends.outlasts_each(job, now, spans) for job in held]
    losses = [_evicting(job, now, spans) for job in held]
    restarts = [0.0 if job.has_replicas else EVICTION_GPU_SECONDS for job in held]
    best, best_cost, spent, before, rate_before = longest, float("inf"), 0.0, 0.0, 0.0
    for number, span in enumerate(spans):
        left = [row[number] for row in chances]
        rate = sum(worth * _idle(gpus, row, left) for gpus, worth, row in rows)
        spent += (rate + rate_before) / 2 * (span - before)
        before, rate_before = span, rate
        if spent < best_cost and (evicts_early or span == longest):
            cost = spent
            for chance, loss, restart in zip(left, losses, restarts, strict=True):
                cost += chance * (loss[number] + restart)
            if cost < best_cost:
                best, best_cost = span, cost
    return Price(best, best_cost, sum(loss[0] for loss in losses) + sum(restarts), spent)


def waited(jobs: Sequence[Job], now: Instant, seconds: float, idle: float) -> float:
    """What it is expected to cost to wait so long: `idle` meanwhile, and evicting whoever is still there then."""
    return idle + sum(ends.outlasts(job, now, seconds) * evicting(job, now, seconds) for job in jobs)


def _idle(gpus: int, row: Sequence[tuple[int, int]], left: Sequence[float]) -> float:
    """GPUs of a node expected to be idle while somebody is still on it."""
    nobody, busy = 1.0, 0.0
    for number, count in row:
        nobody *= 1.0 - left[number]
        busy += left[number] * count
    return max(0.0, gpus * (1.0 - nobody) - busy)


def wanted(node: Load, waiting_gpus: int) -> float:
    """What an idle GPU of a busy node is worth: less where nobody waits who would fit beside its jobs."""
    return 1.0 if 0 < waiting_gpus < node.gpus else UNWANTED


def on(job: Job, node: str) -> int:
    """GPUs that a job holds on one node."""
    return next((count for name, count in job.parts if name == node), 0)
