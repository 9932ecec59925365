"""Makes a plan: finds the way, splits it into steps, and says why there is none.

Tests: tests/core/compat/test_plan.py
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from itertools import pairwise

from seatrial.core.compat.facts import Facts
from seatrial.core.compat.findings import Finding, Verdict
from seatrial.core.compat.matrix import Accept, Stack
from seatrial.core.compat.plan import candidates, limits, parting, refusals, rulebook, search, steps
from seatrial.core.compat.plan.judge import Judge
from seatrial.core.compat.plan.memory import Rule
from seatrial.core.compat.plan.rulebook import Rulebook
from seatrial.core.compat.plan.values import (
    Plan,
    Refusal,
)
from seatrial.core.compat.rules import KNOWN_BAD, kept_holes
from seatrial.core.compat.rules.cases import Case
from seatrial.core.errors import CoreBug

RUNNING_UNKNOWN = "running-unknown"
"""The id under which a value is reported of which nobody says what runs today."""


def make_plan(
    running: Stack,
    wanted: Stack,
    facts: Facts,
    on: date,
    *,
    accept: Sequence[Accept] = (),
    stack_rules: Sequence[Rule] | None = None,
    change_rules: Sequence[Rule] | None = None,
    more_rules: Sequence[Rule] = (),
) -> Plan | Refusal:
    """Plan the way from what runs to what is wanted, as of a day; `more_rules` judge stacks besides our own."""
    target = candidates.complete(running, wanted, facts)
    book = Rulebook(
        target.stack.hardware,
        [*(rulebook.stack_rules(facts, on) if stack_rules is None else stack_rules), *more_rules],
        rulebook.change_rules(facts, on) if change_rules is None else change_rules,
        limits.LIMITS,
        accepted={each.rule for each in accept if each.until is None or on <= each.until},
    )
    judge = Judge(book=book, space=candidates.make_space(running, target.stack, facts, on, book))
    notes = (*_about_hardware(running, wanted), *target.notes)
    vulnerable, kept = _holes(judge, facts, on)
    refusal = refusals.target_fails(judge, notes, vulnerable)
    if refusal is not None:
        return refusal
    way = _find_way(judge)
    if not way.is_complete:
        return refusals.no_way(way.states, judge, notes)
    parted = parting.part_gpus(way.states, judge)
    told = steps.tell(parted.states, parted.judge, facts)
    plan = Plan(
        running=judge.space.stack_of(judge.space.start),
        wanted=judge.space.stack_of(judge.space.goal),
        steps=told,
        findings=(
            *_unknown_start(running, target.stack),
            *(kept if told else ()),
        ),  # who does nothing keeps no hole open
        notes=notes,
    )
    _prove(parted.states, parted.judge)
    return plan


def _holes(judge: Judge, facts: Facts, on: date) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Why the goal is refused for what it is vulnerable by, or what stays open that runs already."""
    here, there = (judge.space.stack_of(state) for state in (judge.space.start, judge.space.goal))
    found = KNOWN_BAD.on_stack(Case(stack=there, facts=facts, on=on))
    if found is None or found.verdict is not Verdict.FAIL:
        return (), ()
    kept = kept_holes(here, there, facts, on)
    return ((), judge.book.marked((kept,))) if kept is not None else ((found,), ())


def _find_way(judge: Judge) -> search.Way:
    """Search; a group that is all the same to the rules need not be searched, and moves at the end."""
    idle = judge.idle_road()
    if idle is None:
        return judge.find_way()
    settled = judge.starting_at(idle, judge.space.roads[idle].goal)
    way = settled.find_way()
    states = tuple((*state[:idle], judge.space.roads[idle].start, *state[idle + 1 :]) for state in way.states)
    return replace(way, states=(*states, way.states[-1]) if way.is_complete else states)


def _about_hardware(running: Stack, wanted: Stack) -> tuple[str, ...]:
    here, there = running.hardware, wanted.hardware
    differing = [
        name
        for name in ("arch", "product", "kernel_module", "rdma")
        if getattr(there, name) and getattr(here, name) != getattr(there, name)
    ]
    if candidates.hardware_of(running, wanted) is not here or not differing:
        return ()
    return (f"the entries differ in hardware ({', '.join(differing)}); the plan is for the hardware that runs",)


def _unknown_start(running: Stack, target: Stack) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            rule=RUNNING_UNKNOWN,
            verdict=Verdict.UNKNOWN,
            message=f"{part.value} should become {value.text}, but what runs today is unknown.",
            next_step="Name it in the production entry: `seatrial audit` reads it from the cluster.",
            spans=(value.span,),
        )
        for part, value in target.values.items()
        if part not in running.values
    )


def _prove(states: Sequence[search.State], judge: Judge) -> None:
    """Put the plan before the rules once more: the search judged changes group by group, this judges whole stacks."""
    for before, after in pairwise(states):
        failing = [each for each in judge.findings(before, after) if each.verdict is Verdict.FAIL]
        if failing:
            raise CoreBug(
                f"a plan was found that rule {failing[0].rule} forbids: {failing[0].message} "
                "A rule about changes looks farther than the planner believes."
            )
