"""How willing to be as the deadline comes nearer.

Tests: tests/core/budget/test_attrition.py
"""

from __future__ import annotations

from math import ceil
from typing import Final

from seatrial.core.budget.attrition import costs
from seatrial.core.budget.attrition.values import RELOAD_SECONDS, View

BASE_EVICTIONS: Final = 9.0
"""What emptying a node may cost while there is all the time in the world, in evictions. Nearly every node is below it:
on one that is left open jobs start that will be in the way later, and who was evicted elsewhere lands there, to be
evicted again (bench/gpu_hours)."""
SPARE_SECONDS: Final = 900.0
"""Left over at the end, for what goes wrong."""


def willing(view: View) -> float:
    """What emptying one node may cost now, in GPU-seconds: more and more as time runs out."""
    total = view.way.deadline_seconds
    left = max(1.0, last_call(view) - view.now)
    return BASE_EVICTIONS * costs.EVICTION_GPU_SECONDS * total / left if left > 1.0 else float("inf")


def last_call(view: View) -> float:
    """When to begin with those who are left, so that the last one is through by the deadline."""
    sizes = [*(node.gpus for node in view.nodes.values()), *view.others]
    at_once = view.idle_max // max(sizes, default=1)
    at_once = at_once if view.at_once_max is None else min(at_once, view.at_once_max)
    return view.deadline_at - seconds_for(len(sizes), at_once, view.reload_seconds)


def seconds_for(node_count: int, at_once: int, reload_seconds: float = RELOAD_SECONDS) -> float:
    """How long so many nodes take when all of their jobs are evicted at once, with what is left over at the end."""
    rounds = ceil(node_count / max(1, at_once)) + 1
    return rounds * reload_seconds + SPARE_SECONDS


def is_last_call(view: View) -> bool:
    """Whether nobody can be waited for any longer."""
    return view.now >= last_call(view)
