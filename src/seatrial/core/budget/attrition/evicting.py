"""Whom to evict, and when: where it is cheaper than waiting, right after a save, and when nobody can be waited for.

Replicas that others answer for go first; whom a PodDisruptionBudget keeps is not asked (replicas.py).

Tests: tests/core/budget/test_attrition.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from seatrial.core.budget.attrition import costs, replicas, urgency
from seatrial.core.budget.attrition.groups import Group, grouped
from seatrial.core.budget.attrition.values import Act, Bound, Reason, Turn, Verb, View
from seatrial.core.model.instants import Instant

JUST_SAVED_SECONDS: Final = 120.0
"""So long after a save it counts as just saved."""


def evict(view: View, room: int) -> Turn:
    """The groups to evict now, the cheapest first; `room` are the GPUs that may yet stand idle."""
    last = urgency.last_call(view)
    turn = Turn([], {})
    closed = [node for node in view.nodes.values() if node.is_closed and node.jobs]
    found = [
        (price, group)
        for group in grouped(closed, view.nodes, view.jobs)
        if all(node.is_closed for node in group.nodes)
        for price, why in [due(group, view, last)]
        if why is not None
    ]
    allowed: Mapping[str, int] = view.allowed
    for _, group in sorted(found, key=lambda each: (each[0].evicting_now, each[1].names)):
        jobs = replicas.jobs_of(group, view)
        if replicas.keepers(jobs, allowed, is_last=view.now >= last):
            continue
        if group.busy > room:
            turn.left.update(dict.fromkeys(group.names, Bound.IDLE))
            continue
        room, allowed = room - group.busy, replicas.spent(allowed, jobs)
        turn.acts.append(Act(verb=Verb.EVICT, nodes=group.names, jobs=group.jobs))
    return turn


def due(group: Group, view: View, last: Instant) -> tuple[costs.Price, Reason | None]:
    """What a group costs, and why it is evicted now; None where it is not. `last` is when nobody is waited for."""
    longest, is_last = max(1.0, last - view.now), view.now >= last
    if not is_last and view.way.evicts_early and replicas.moves(replicas.jobs_of(group, view), view.allowed):
        return costs.price(group.nodes, view, longest), Reason.REPLICAS
    if not is_last and group.is_free_to_close:
        job = view.jobs[group.jobs[0]]
        price = costs.Price(longest, 0.0, costs.weighed(job, view.now), 0.0)
        if job.saved_at is None or view.now - job.saved_at > JUST_SAVED_SECONDS or longest > costs.SAVE_SECONDS:
            return price, None
        return price, Reason.SAVED
    price = costs.price(group.nodes, view, longest)
    if is_last:
        return price, Reason.DEADLINE
    if view.way.evicts_early and price.seconds == 0.0:
        return price, Reason.WAITING_COSTS_MORE
    return price, None
