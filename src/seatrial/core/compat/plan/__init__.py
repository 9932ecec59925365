"""The plan: the ordered steps from what runs to what is wanted, one group at a time, or why there are none.

    planner.py       make_plan, which goes through what follows
    values.py        Plan, Step, Refusal and their parts
    candidates.py    the versions between, from the knowledge base (drivers.py: which driver stays longest)
    space.py         those versions as roads, one per group
    rulebook.py      the rules, asked often (memory.py: each answer computed once)
    limits.py        what a plan does not do, although no rule forbids it
    judge.py         the rules before the space
    search.py        the shortest way, in numbers, group by group
    parting.py       that way with GPU Operator, driver and images apart
    steps.py         each step: what it evicts, the way back (reasons.py: why it is there, and why there in the order;
                     preparations.py: what to do before)
    refusals.py      which rules fight

What a plan promises: every step moves one group, and of the GPUs the operator, the driver or the images, unless the
rules forbid what lies between; no stack after a step fails a rule; no step fails a rule about changes; no way of the
groups over the same versions is shorter; and asked again it answers the same.

Tests: tests/core/compat/test_plan.py
"""

from __future__ import annotations

from seatrial.core.compat.plan.planner import make_plan
from seatrial.core.compat.plan.values import (
    Change,
    Plan,
    Reason,
    Refusal,
    RefusalCode,
    Rollback,
    Step,
    WayBack,
)

__all__ = [
    "Change",
    "Plan",
    "Reason",
    "Refusal",
    "RefusalCode",
    "Rollback",
    "Step",
    "WayBack",
    "make_plan",
]
