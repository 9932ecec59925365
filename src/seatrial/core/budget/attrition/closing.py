"""Whom to close: full nodes with one job cost nothing until they are empty; others when emptying them is cheap enough.

Nodes of replicas that others answer for go before all; a service that its PodDisruptionBudget keeps is left open.

Tests: tests/core/budget/test_attrition.py
"""

from __future__ import annotations

from collections import defaultdict
from math import ceil

from seatrial.core.budget.attrition import costs, replicas, urgency
from seatrial.core.budget.attrition.groups import Group, grouped
from seatrial.core.budget.attrition.values import Act, Bound, Turn, Verb, View
from seatrial.core.model.instants import Instant


def close(view: View, room: int) -> Turn:
    """The groups to close now, the cheapest first; `room` are the GPUs that may yet stand idle."""
    turn = Turn([], {})
    busy_closed = busy_closed_of(view)
    places = places_max(view) - len(busy_closed)
    last = urgency.last_call(view)
    is_last = view.now >= last
    allowed = replicas.to_close(view)
    gpus_of = parts(view)
    for group in _candidates(view, last):
        jobs = replicas.jobs_of(group, view)
        if replicas.keepers_of_services(jobs, allowed, is_last=is_last):
            continue
        is_alone = is_last and not busy_closed and not turn.acts  # a gang above the share has its turn, or never any
        bound = None
        new = [node for node in group.nodes if not node.is_closed]  # the rest of it is counted already
        idle = sum(node.idle for node in new)
        if any(gpus_of[name] > view.idle_max for name in group.names):
            bound = Bound.SIZE  # emptied, it would stand idle until it is given back, and be closed again
        elif idle > room:
            bound = Bound.IDLE
        elif group.jobs and len(new) > places and not is_alone:
            bound = Bound.SHARE
        if bound is not None:
            turn.left.update(dict.fromkeys(group.names, bound))
            continue
        room -= idle
        places -= len(new) if group.jobs else 0
        allowed = replicas.spent(allowed, (job for job in jobs if job.is_service))
        turn.acts.append(Act(verb=Verb.CLOSE, nodes=group.names))
    return turn


def places_max(view: View) -> int:
    """How many nodes may be closed while their jobs run."""
    return ceil(view.way.close_ahead * view.member_count)


def busy_closed_of(view: View) -> list[str]:
    """The nodes that are closed while their jobs run."""
    return [node.name for node in view.nodes.values() if node.is_closed and node.jobs]


def parts(view: View) -> dict[str, int]:
    """By node, the GPUs that stand idle with it when it is upgraded: its own, or those of its unit.

    What reloads already is through before the rest of its unit begins."""
    units: dict[str, int] = defaultdict(int, view.beside)
    for node in view.nodes.values():
        units[node.unit] += 0 if node.is_reloading else node.gpus
    return {node.name: units[node.unit] if node.unit else node.gpus for node in view.nodes.values()}


def _candidates(view: View, last: Instant) -> list[Group]:
    is_last = view.now >= last
    openly = [node for node in view.nodes.values() if not node.is_closed and (is_last or node.name not in view.keeps)]
    willing = urgency.willing(view)
    longest = max(1.0, last - view.now)
    found: list[tuple[float, Group]] = []
    for group in grouped(openly, view.nodes, view.jobs):
        if view.vain.intersection(group.names):
            continue
        if not group.jobs or group.is_free_to_close or is_last or _moves(group, view):
            found.append((0.0, group))
            continue
        cost = costs.price(group.nodes, view, longest).cost
        if cost <= willing * len(group.nodes):
            found.append((cost, group))
    found.sort(key=lambda pair: (not _moves(pair[1], view), pair[0], len(pair[1].jobs), pair[1].names))
    return [group for _, group in found]


def _moves(group: Group, view: View) -> bool:
    return view.way.evicts_early and replicas.moves(replicas.jobs_of(group, view), view.allowed)
