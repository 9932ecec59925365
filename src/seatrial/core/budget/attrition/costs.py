"""What waiting costs and what evicting costs, in GPU-seconds.

    evicting   the work since the last save, the time until the job works again, and what a restart is to people
    waiting    GPUs of jobs that have ended, idle until the last one on their node has

`price` is the best of "wait so long, then evict who is still there", over some spans. A node that one job fills waits
for nothing: its GPUs are busy until the moment in which it is empty.

Tests: tests/core/test_attrition.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
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
    if job.has_replicas:
        return job.gpus * MOVE_SECONDS
    age = max(0.0, now - job.started_at) + seconds
    if job.can_be_asked:
        unsaved = SAVING_SECONDS
    elif job.saved_at is not None:
        unsaved = (now + seconds - job.saved_at) % SAVE_SECONDS if seconds else now - job.saved_at
    else:
        unsaved = min(age, SAVE_SECONDS / 2)
    return job.gpus * (max(0.0, unsaved) + RESTART_SECONDS)


def weighed(job: Job, now: Instant, seconds: float = 0.0) -> float:
    """The same with what a restart is to people."""
    return evicting(job, now, seconds) + (0.0 if job.has_replicas else EVICTION_GPU_SECONDS)


def price(nodes: Sequence[Load], view: View, longest: float) -> Price:
    """What it costs to empty these nodes from now on, in the best way that is allowed."""
    jobs, now = view.jobs, view.now
    held = {name: jobs[name] for node in nodes for name in node.jobs}
    best, best_cost, spent, before, rate_before = 0.0, float("inf"), 0.0, 0.0, 0.0
    now_cost = sum(weighed(job, now) for job in held.values())
    for span in (*(each for each in SPANS if each < longest), longest):
        left = {name: ends.outlasts(job, now, span) if span else 1.0 for name, job in held.items()}
        rate = sum(_idle(node, held, left) * wanted(node, view.waiting_gpus) for node in nodes)
        spent += (rate + rate_before) / 2 * (span - before)
        cost = spent + sum(chance * weighed(held[name], now, span) for name, chance in left.items())
        if cost < best_cost and (view.way.evicts_early or span == longest):
            best, best_cost = span, cost
        before, rate_before = span, rate
    return Price(best, best_cost, now_cost, spent)


def _idle(node: Load, jobs: Mapping[str, Job], left: Mapping[str, float]) -> float:
    """GPUs of a node expected to be idle while somebody is still on it."""
    if not node.jobs:
        return 0.0
    somebody = 1.0 - prod(1.0 - left[name] for name in node.jobs)
    busy = sum(left[name] * on(jobs[name], node.name) for name in node.jobs)
    return max(0.0, node.gpus * somebody - busy)


def wanted(node: Load, waiting_gpus: int) -> float:
    """What an idle GPU of a busy node is worth: less where nobody waits who would fit beside its jobs."""
    return 1.0 if 0 < waiting_gpus < node.gpus else UNWANTED


def on(job: Job, node: str) -> int:
    """GPUs that a job holds on one node."""
    return next((count for name, count in job.parts if name == node), 0)
