"""Whom to give back: while more GPUs stand idle than may, the nodes whose waiting costs most; and for how long.

Tests: tests/core/budget/test_attrition.py
"""

from __future__ import annotations

from typing import Final

from seatrial.core.budget.attrition import costs, urgency
from seatrial.core.budget.attrition.groups import Group, grouped
from seatrial.core.budget.attrition.values import Act, Verb, View

KEPT_SECONDS: Final = 3600.0
"""Who was given back is left alone for so long while somebody works on it."""
KEPT_EMPTY_SECONDS: Final = 600.0
"""Who stays empty for so long is wanted by nobody: to close it again costs its reload alone."""


def kept_seconds(*, is_empty: bool) -> float:
    """How long a node is left alone after it was given back."""
    return KEPT_EMPTY_SECONDS if is_empty else KEPT_SECONDS


def give_back(view: View) -> list[Act]:
    """The groups to give back now, until the budget holds."""
    if view.idle <= view.idle_max:
        return []
    longest = max(1.0, urgency.last_call(view) - view.now)
    waiting = [node for node in view.nodes.values() if node.is_closed and not node.is_reloading and node.idle]
    ranked: list[tuple[float, Group]] = [
        (costs.price(group.nodes, view, longest).waiting if group.jobs else 0.0, group)
        for group in grouped(waiting, view.nodes, view.jobs)
    ]
    ranked.sort(key=lambda pair: (-pair[0], pair[1].names))
    over, acts = view.idle - view.idle_max, []
    for _, group in ranked:
        if over <= 0:
            break
        over -= group.idle
        acts.append(Act(verb=Verb.GIVE_BACK, nodes=group.names))
    return acts
