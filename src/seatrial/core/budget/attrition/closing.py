"""Whom to close: full nodes with one job cost nothing until they are empty; others when emptying them is cheap enough.

Tests: tests/core/test_attrition.py
"""

from __future__ import annotations

from math import ceil

from seatrial.core.budget.attrition import costs, urgency
from seatrial.core.budget.attrition.groups import Group, grouped
from seatrial.core.budget.attrition.values import Act, Reason, Verb, View


def close(view: View, room: int) -> list[Act]:
    """The groups to close now, the cheapest first; `room` are the GPUs that may yet stand idle."""
    acts: list[Act] = []
    busy_closed = sum(node.is_closed and bool(node.jobs) for node in view.nodes.values())
    places = ceil(view.way.close_ahead * view.member_count) - busy_closed
    is_last = urgency.is_last_call(view)
    for cost, group in _candidates(view, is_last):
        if group.idle > room or (group.jobs and len(group.nodes) > places):
            continue
        room -= group.idle
        places -= len(group.nodes) if group.jobs else 0
        acts.append(Act(verb=Verb.CLOSE, nodes=group.names, why=_why(group, is_last), waiting_cost=cost))
    return acts


def _candidates(view: View, is_last: bool) -> list[tuple[float, Group]]:
    openly = [node for node in view.nodes.values() if not node.is_closed and (is_last or node.name not in view.keeps)]
    willing = urgency.willing(view)
    longest = max(1.0, urgency.last_call(view) - view.now)
    found: list[tuple[float, Group]] = []
    for group in grouped(openly, view.nodes, view.jobs):
        if not group.jobs or group.is_free_to_close or is_last:
            found.append((0.0, group))
            continue
        cost = costs.price(group.nodes, view, longest).cost
        if cost <= willing * len(group.nodes):
            found.append((cost, group))
    return sorted(found, key=lambda pair: (pair[0], len(pair[1].jobs), pair[1].names))


def _why(group: Group, is_last: bool) -> Reason:
    if not group.jobs:
        return Reason.EMPTY
    if group.is_free_to_close:
        return Reason.FULL
    return Reason.DEADLINE if is_last else Reason.CHEAP
