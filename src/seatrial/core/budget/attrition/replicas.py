"""Services: who serves does not end by itself. Nodes of replicas that others answer for are cheap, and go first.

    moves now    every job on the node has ready replicas on other nodes, and every PodDisruptionBudget over them allows
                 all of their pods to leave at once: what it costs is the restart alone
    is kept      a PodDisruptionBudget allows fewer disruptions than it has pods here: the eviction of one would be
                 refused, and the others' room would stand idle behind the cordon. So a service is left open or opened
                 again, since its next replica may need the room, and the node says which budget it waits for
    at the last  call pods leave one after another, as in a drain: `maxUnavailable: 1` never allows two at once. A
                 budget that allows none keeps its node even then

Law of this file: what a budget allows is spent once, by who is evicted now, by services that are closed to be, and by
pods that were asked to leave and are still there. Where a service has no budget nobody says what it can spare, and it
goes as any job does. Tests: tests/core/budget/test_replicas.py
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from seatrial.core.budget.attrition import urgency
from seatrial.core.budget.attrition.groups import Group, grouped
from seatrial.core.budget.attrition.values import Job, View


class Keeper(NamedTuple):
    """A PodDisruptionBudget that does not let the pods of some nodes leave at once."""

    budget: str
    allowed: int
    """Disruptions it allows now."""
    pods: int
    """Disruptions it would take."""


def jobs_of(group: Group, view: View) -> list[Job]:
    """The jobs on the nodes of a group."""
    return [view.jobs[name] for name in group.jobs]


def keepers(jobs: Iterable[Job], allowed: Mapping[str, int], *, is_last: bool) -> tuple[Keeper, ...]:
    """The budgets that allow fewer disruptions than these jobs have pods under them; at the last call, none at all."""
    taken: dict[str, int] = {}
    for job in jobs:
        for name, count in job.budgets:
            taken[name] = taken.get(name, 0) + count
    left = {name: max(0, allowed.get(name, 0)) for name in taken}
    wanted = {name: min(1, count) if is_last else count for name, count in taken.items()}
    return tuple(Keeper(name, left[name], count) for name, count in taken.items() if wanted[name] > left[name])


def moves(jobs: Collection[Job], allowed: Mapping[str, int]) -> bool:
    """Whether others answer for all of these, and every budget over them allows it now."""
    return (
        bool(jobs)
        and all(job.has_replicas and job.budgets for job in jobs)
        and not keepers(jobs, allowed, is_last=False)
    )


def keepers_of_services(jobs: Iterable[Job], allowed: Mapping[str, int], *, is_last: bool) -> tuple[Keeper, ...]:
    """The same of those that serve: to close their nodes would not bring them to an end."""
    return keepers((job for job in jobs if job.is_service), allowed, is_last=is_last)


def spent(allowed: Mapping[str, int], jobs: Iterable[Job]) -> dict[str, int]:
    """What budgets still allow once these have been asked to leave."""
    left = dict(allowed)
    for job in jobs:
        for name, count in job.budgets:
            left[name] = left.get(name, 0) - count
    return left


def to_close(view: View) -> dict[str, int]:
    """What budgets allow to whoever is not closed yet."""
    names = dict.fromkeys(name for node in view.nodes.values() if node.is_closed for name in node.jobs)
    return spent(view.allowed, (view.jobs[name] for name in names if view.jobs[name].is_service))


def to_open(view: View) -> frozenset[str]:
    """The nodes of services that were closed to be emptied, and whose budget does not let them go any more."""
    closed = [node for node in view.nodes.values() if node.is_closed and node.jobs and not node.is_reloading]
    if not view.allowed or not closed:
        return frozenset()
    groups, is_last = grouped(closed, view.nodes, view.jobs), urgency.is_last_call(view)
    kept = (group for group in groups if keepers_of_services(jobs_of(group, view), view.allowed, is_last=is_last))
    return frozenset(name for group in kept for name in group.names)


def waiting(view: View, leaving: AbstractSet[str], closing: AbstractSet[str], *, is_last: bool) -> dict[str, Keeper]:
    """By node, the budget that keeps it as it is; `leaving` are evicted now, and `closing` closed."""
    if not view.allowed:
        return {}
    gone = dict.fromkeys(job for name in leaving for job in view.nodes[name].jobs)
    to_evict = spent(view.allowed, (view.jobs[name] for name in gone))
    coming = dict.fromkeys(job for name in closing for job in view.nodes[name].jobs if view.jobs[job].is_service)
    to_others = spent(to_close(view), (view.jobs[name] for name in coming))
    going = leaving | closing
    busy = [node for node in view.nodes.values() if node.jobs and node.name not in going]
    found: dict[str, Keeper] = {}
    for group in grouped(busy, view.nodes, view.jobs):
        jobs = jobs_of(group, view)
        if all(node.is_closed for node in group.nodes):
            is_due = is_last or any(job.is_service for job in jobs)
            kept = keepers(jobs, to_evict, is_last=is_last) if is_due else ()
        else:
            kept = keepers_of_services(jobs, to_others, is_last=is_last)
        found |= dict.fromkeys(group.names, kept[0]) if kept else {}
    return found
