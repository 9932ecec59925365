"""What the rules look at, from what is seen: nodes, the jobs on them, what stands idle, who reloads.

    wishing    it would start, and takes work                                 may be closed
    ahead      in the ledger to be closed alone: it waits for its jobs        may be given back, evicted, reloaded
    taken      in the ledger for good                                         counts as reloading, whoever is on it

Law of this file: it translates, and decides nothing. Whose cordon is not ours stands idle for somebody else.
Tests: tests/core/budget/test_attrition_books.py
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace

from seatrial.core.budget.attrition import returning
from seatrial.core.budget.attrition.terms import Terms
from seatrial.core.budget.attrition.values import Job, Load, View
from seatrial.core.budget.losses import gpu_count, idle_gpus, workers
from seatrial.core.model.instants import Instant
from seatrial.core.model.known import by
from seatrial.core.model.seen.gangs import JobSeen, jobs_on, serving_on
from seatrial.core.model.seen.jobs import PodJob
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.pods import Pod
from seatrial.core.model.seen.work import PodBudget


def view_of(
    nodes: Mapping[str, NodeSeen],
    wishing: Iterable[str],
    ahead: AbstractSet[str],
    taken: AbstractSet[str],
    terms: Terms,
    *,
    idle_max: int,
    at_once_max: int,
    unit_of: Mapping[str, str],
) -> View:
    """Everything a turn is decided from."""
    names = [*dict.fromkeys((*wishing, *sorted(ahead), *sorted(taken)))]
    held = {name: at_work(nodes[name], is_suspending=terms.is_suspending) for name in names if name not in taken}
    found = jobs_on(held, _elsewhere(nodes, held, taken))
    under = budgeted(held, terms.work.budgets)
    jobs = {each.name: _job(each, terms, under.get(each.name, ())) for each in found}
    loads = {
        name: _reloading(nodes[name], unit_of.get(name, ""), terms.now)
        if name in taken
        else _load(nodes[name], held[name], unit_of.get(name, ""), terms.now if name in ahead else None)
        for name in names
    }
    return View(
        now=terms.now,
        nodes=loads,
        jobs=jobs,
        way=terms.way,
        deadline_at=terms.deadline_at,
        idle_max=idle_max,
        member_count=len(nodes),
        at_once_max=at_once_max,
        waiting_gpus=terms.work.smallest_waiting,
        is_suspending=terms.is_suspending,
        allowed=_allowed(nodes, taken, terms.work.budgets),
        keeps=frozenset(name for name in names if kept_until(nodes[name], terms.now) is not None),
    )


def kept_until(node: NodeSeen, now: Instant) -> Instant | None:
    """Until when a node that was given back is left alone; None where it is not."""
    returned_at = node.record.returned_at if node.record is not None else None
    if returned_at is None:
        return None
    until = returned_at + returning.kept_seconds(is_empty=not workers(node))
    return until if now < until else None


def _elsewhere(
    nodes: Mapping[str, NodeSeen], held: Mapping[str, Iterable[Pod]], taken: AbstractSet[str]
) -> dict[str, tuple[tuple[str, str], ...]]:
    """Who serves on members that are neither looked at nor taken: through already, say, or of a later wave."""
    if not any(pod.job is not None and pod.job.replica_of for pods in held.values() for pod in pods):
        return {}
    groups, known = by(nodes, _serving), {*held, *taken}
    return {name: found for found, names in groups.items() if found for name in names if name not in known}


def _serving(node: NodeSeen) -> tuple[tuple[str, str], ...]:
    return serving_on(workers(node))


def budgeted(held: Mapping[str, Iterable[Pod]], budgets: Iterable[PodBudget]) -> dict[str, tuple[tuple[str, int], ...]]:
    """By job, the PodDisruptionBudgets over its pods, with how many pods are under each."""
    rows = _by_namespace(budgets)
    counts: dict[str, dict[str, int]] = {}
    for pod in (pod for pods in held.values() for pod in pods if pod.job is not None and is_counted(pod)):
        for budget in rows.get(pod.namespace, ()):
            if budget.covers(pod.namespace, pod.labels):
                job = counts.setdefault(pod.job.gang if pod.job is not None else "", {})
                job[budget.full_name] = job.get(budget.full_name, 0) + 1
    return {gang: tuple(found.items()) for gang, found in counts.items()}


def is_counted(pod: Pod) -> bool:
    """Whether a budget is asked when a pod is evicted: for one that is not ready the API server decides by itself."""
    return pod.is_running and not pod.is_terminating


def _allowed(nodes: Mapping[str, NodeSeen], taken: Iterable[str], budgets: Collection[PodBudget]) -> dict[str, int]:
    """What budgets allow, less who was asked to leave and is still there."""
    rows, left = _by_namespace(budgets), {each.full_name: each.allowed for each in budgets}
    for pod in (pod for name in taken for pod in workers(nodes[name]) if is_counted(pod)):
        for budget in rows.get(pod.namespace, ()):
            left[budget.full_name] -= budget.covers(pod.namespace, pod.labels)
    return left


def _by_namespace(budgets: Iterable[PodBudget]) -> dict[str, list[PodBudget]]:
    rows: dict[str, list[PodBudget]] = {}
    for budget in budgets:
        rows.setdefault(budget.namespace, []).append(budget)
    return rows


def _reloading(node: NodeSeen, unit: str, now: Instant) -> Load:
    return Load(name=node.name, gpus=gpu_count(node), closed_at=now, is_reloading=True, unit=unit)


def _load(node: NodeSeen, pods: Collection[Pod], unit: str, closed_at: Instant | None) -> Load:
    """A node at work, or empty; `closed_at` where it is closed alone and its record does not say since when."""
    gpus = gpu_count(node)
    if closed_at is not None and node.record is not None:
        closed_at = node.record.closed_at or closed_at
    return Load(
        name=node.name,
        gpus=gpus,
        jobs=tuple(dict.fromkeys([pod.job.gang for pod in pods if pod.job is not None])),
        busy=gpus - idle_gpus(node),
        closed_at=closed_at,
        unit=unit,
    )


def at_work(node: NodeSeen, *, is_suspending: bool) -> tuple[Pod, ...]:
    """The pods on a node that come to an end, each with the job that starts again with it.

    A suspended Workload of Kueue starts again as one, whatever its pods know of each other; nobody asks them to save.
    A pod of which nobody says what it is part of starts again by itself."""
    return tuple([_as_one(pod, is_suspending) for pod in workers(node)])


def _as_one(pod: Pod, is_suspending: bool) -> Pod:
    if is_suspending and pod.workload:
        job = pod.job or PodJob(gang=pod.uid, line=pod.full_name)
        job = replace(job, gang=f"{pod.namespace}/workload/{pod.workload}")
        return replace(pod, job=job, offers_checkpoint=False)
    return pod if pod.job is not None else replace(pod, job=PodJob(gang=pod.uid, line=pod.full_name))


def _job(seen: JobSeen, terms: Terms, budgets: tuple[tuple[str, int], ...]) -> Job:
    return Job(
        name=seen.name,
        parts=seen.parts,
        started_at=seen.started_at if seen.started_at is not None else terms.now,
        saved_at=seen.saved_at,
        can_be_asked=seen.can_be_asked,
        ends_by=seen.ends_by,
        finished=terms.work.ran(seen.line),
        is_service=seen.is_service,
        has_replicas=seen.has_replicas,
        budgets=budgets,
    )
