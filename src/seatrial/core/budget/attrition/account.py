"""What a rollout by attrition has cost so far, by cause, and what to evict everybody would have cost.

    idle          GPUs that nobody holds on closed nodes, while a pod waits that would fit
    thrown away   work since the last save and the time until a job works again, for who was evicted
    reload        GPUs of nodes that were taken, until they are through

Law of this file: time is counted from one write of the ledger to the next, and what is evicted with the write that
takes its node: so neither a crash nor a late leader changes the sum. Tests: tests/core/budget/test_attrition_account.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from seatrial.core.budget.attrition import costs
from seatrial.core.budget.attrition.seeing import at_work
from seatrial.core.budget.attrition.values import View
from seatrial.core.budget.losses import gpu_count, idle_gpus
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.rollouts import Cost
from seatrial.core.model.seen.snapshot import Snapshot


def cost_of(seen: Snapshot, now: Instant) -> Cost:
    """What it has cost until now."""
    record, before = seen.rollout, seen.rollout.cost or Cost()
    seconds = max(0.0, now - record.summarised_at) if record.summarised_at else 0.0
    idle, reload = 0, 0
    for admission in record.admitted:
        node = seen.nodes.get(admission.node)
        if node is None:
            continue
        if not admission.is_ahead:
            reload += gpu_count(node)
        elif seen.work.fits(idle_gpus(node)):
            idle += idle_gpus(node)
    return replace(
        before,
        idle_gpu_seconds=round(before.idle_gpu_seconds + idle * seconds, 3),
        reload_gpu_seconds=round(before.reload_gpu_seconds + reload * seconds, 3),
    )


def with_evicted(cost: Cost, taken: Iterable[str], view: View, nodes: Mapping[str, NodeSeen]) -> Cost:
    """With the jobs on nodes that are taken now; a gang counts once, also where its nodes are taken one by one."""
    away = (node for name, node in nodes.items() if _is_taken(name, view))
    pods = (pod for node in away for pod in at_work(node, is_suspending=view.is_suspending))
    gone = {pod.job.gang for pod in pods if pod.job is not None}
    jobs = {job for name in taken for job in view.nodes[name].jobs} - gone
    thrown = sum(costs.evicting(view.jobs[job], view.now) for job in jobs)
    thrown_gpu_seconds = round(cost.thrown_gpu_seconds + thrown, 3)
    return replace(cost, thrown_gpu_seconds=thrown_gpu_seconds, evictions=cost.evictions + len(jobs))


def with_closed(cost: Cost, closed: Iterable[str], view: View, nodes: Mapping[str, NodeSeen]) -> Cost:
    """With what it would cost to evict those who are closed now; who was closed before is counted already."""
    first = [name for name in closed if (record := nodes[name].record) is None or record.returned_at is None]
    jobs = {job for name in first for job in view.nodes[name].jobs}
    would = sum(costs.evicting(view.jobs[job], view.now) for job in jobs)
    return replace(cost, evicting_gpu_seconds=round(cost.evicting_gpu_seconds + would, 3))


def _is_taken(name: str, view: View) -> bool:
    return name in view.nodes and view.nodes[name].is_reloading
