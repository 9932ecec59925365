"""What the rules look at, from what is seen: nodes, the jobs on them, what stands idle, who reloads.

    wishing    it would start, and takes work                                 may be closed
    ahead      in the ledger to be closed alone: it waits for its jobs        may be given back, evicted, reloaded
    taken      in the ledger for good                                         counts as reloading, whoever is on it

Law of this file: it translates, and decides nothing. Whose cordon is not ours stands idle for somebody else.
Tests: tests/core/test_attrition_books.py
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final

from seatrial.core.budget.attrition.terms import Terms
from seatrial.core.budget.attrition.values import Job, Load, View
from seatrial.core.budget.losses import gpu_count, idle_gpus, workers
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.gangs import JobSeen, jobs_on
from seatrial.core.model.seen.jobs import PodJob
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.pods import Pod

KEPT_SECONDS: Final = 3600.0
"""Who was given back is left alone for so long."""


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
    held = {name: tuple(map(_with_job, workers(nodes[name]))) for name in names if name not in taken}
    jobs = {each.name: _job(each, terms) for each in jobs_on(held)}
    loads = {name: _load(nodes[name], held.get(name, ()), name in ahead, name in taken, terms.now) for name in names}
    return View(
        now=terms.now,
        nodes={name: replace(load, unit=unit_of.get(name, "")) for name, load in loads.items()},
        jobs=jobs,
        way=terms.way,
        deadline_at=terms.deadline_at,
        idle_max=idle_max,
        member_count=len(nodes),
        at_once_max=at_once_max,
        waiting_gpus=terms.work.smallest_waiting,
        keeps=frozenset(name for name in names if kept_until(nodes[name], terms.now) is not None),
    )


def kept_until(node: NodeSeen, now: Instant) -> Instant | None:
    """Until when a node that was given back is left alone; None where it is not."""
    returned_at = node.record.returned_at if node.record is not None else None
    until = returned_at + KEPT_SECONDS if returned_at is not None else None
    return until if until is not None and now < until else None


def _load(node: NodeSeen, pods: Collection[Pod], is_ahead: bool, is_taken: bool, now: Instant) -> Load:
    gpus = gpu_count(node)
    if is_taken:
        return Load(name=node.name, gpus=gpus, closed_at=now, is_reloading=True)
    closed_at = node.record.closed_at if node.record is not None else None
    return Load(
        name=node.name,
        gpus=gpus,
        jobs=tuple(dict.fromkeys(pod.job.gang for pod in pods if pod.job is not None)),
        busy=gpus - idle_gpus(node),
        closed_at=(closed_at or now) if is_ahead else None,
    )


def _with_job(pod: Pod) -> Pod:
    """A pod of which nobody says what it is part of starts again by itself."""
    return pod if pod.job is not None else replace(pod, job=PodJob(gang=pod.uid, line=pod.full_name))


def _job(seen: JobSeen, terms: Terms) -> Job:
    return Job(
        name=seen.name,
        parts=seen.parts,
        started_at=seen.started_at if seen.started_at is not None else terms.now,
        saved_at=seen.saved_at,
        can_be_asked=seen.can_be_asked or bool(seen.workloads),
        ends_by=seen.ends_by,
        finished=terms.work.ran(seen.line),
        has_replicas=seen.has_replicas,
    )
