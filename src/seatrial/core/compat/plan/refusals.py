"""Why there is no plan: the smallest set of rules that fight, how far one gets, and what would help.

"No solution" is no answer: the reader must see which rules fight, and over what.

    conflict   by deletion: start with every rule that forbade anything, drop one after the other as long as there is
               still no way. What is left cannot spare a single rule
    trail      the way to the state with the least left to do, and each move from there that would lead on, with what
               forbids it
    suggestion the fewest groups to leave as they are so that the rest can be reached

Tests: tests/core/compat/test_plan.py
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from seatrial.core.compat.findings import Finding, Verdict
from seatrial.core.compat.matrix import Group
from seatrial.core.compat.plan import search, steps
from seatrial.core.compat.plan.judge import Judge
from seatrial.core.compat.plan.search import Lane, State
from seatrial.core.compat.plan.space import Space
from seatrial.core.compat.plan.values import Blocked, Change, Reached, Refusal, RefusalCode

GROUP_NAMES = {
    Group.PLATFORM: "the platform",
    Group.GPU: "the GPU Operator and its driver",
    Group.NETWORK: "the Network Operator and MOFED",
    Group.FIRMWARE: "the firmware",
    Group.SRIOV: "the SR-IOV operator",
    Group.WORKLOAD: "NCCL",
}


def target_fails(judge: Judge, notes: tuple[str, ...] = (), more: tuple[Finding, ...] = ()) -> Refusal | None:
    """The refusal of a target that breaks rules by itself."""
    goal = judge.space.goal
    failing = tuple(
        finding
        for finding in (*judge.book.stack_findings(judge.space.values_of(goal)), *more)
        if finding.verdict is Verdict.FAIL
    )
    if not failing:
        return None
    return Refusal(
        code=RefusalCode.TARGET_FAILS,
        running=judge.space.stack_of(judge.space.start),
        wanted=judge.space.stack_of(goal),
        conflict=_rules(failing),
        findings=failing,
        suggestion=_mend(failing),
        notes=notes,
    )


def no_way(states: Sequence[State], judge: Judge, notes: tuple[str, ...] = ()) -> Refusal:
    """The refusal where the target is sound, but nothing leads to it."""
    space = judge.space
    conflict = fighting_rules(judge)
    blocked = tuple(_blocked(states[-1], judge))
    findings = tuple(
        dict.fromkeys(
            finding for block in blocked for finding in block.findings if finding.rule in conflict or not conflict
        )
    )
    missing = [rule for rule in conflict if rule not in {finding.rule for finding in findings}]
    findings = (*findings, *(finding for rule in missing for finding in _example(rule, judge)))
    start_failing = tuple(
        finding
        for finding in judge.book.stack_findings(space.values_of(space.start))
        if finding.verdict is Verdict.FAIL
    )
    is_start_to_blame = len(states) == 1 and any(finding.rule in conflict for finding in start_failing)
    return Refusal(
        code=RefusalCode.RUNNING_FAILS if is_start_to_blame else RefusalCode.NO_PATH,
        running=space.stack_of(space.start),
        wanted=space.stack_of(space.goal),
        conflict=conflict,
        findings=tuple(dict.fromkeys((*start_failing, *findings))) if is_start_to_blame else findings,
        reached=tuple(_trail(states, judge)),
        blocked=blocked,
        suggestion=_mend(start_failing) if is_start_to_blame else _without_a_group(judge),
        notes=notes,
    )


def fighting_rules(judge: Judge) -> tuple[str, ...]:
    """A set of rules that leaves no way, and would leave one without any of its members."""
    needed = sorted(judge.blamed())
    for rule in list(needed):
        fewer = frozenset(needed) - {rule}
        if not has_way(judge.enforcing(fewer)):
            needed.remove(rule)
    return tuple(needed)


def has_way(judge: Judge) -> bool:
    """Whether the target can be reached under the rules this judge enforces."""
    return not judge.is_hopeless() and judge.carefree().find_way().is_complete


def is_stuck(lane: Lane) -> bool:
    """Whether a group cannot reach its goal, whatever the others do."""
    return lane.left[lane.start] >= search.FAR


def _trail(states: Sequence[State], judge: Judge) -> Iterator[Reached]:
    for number, (before, after) in enumerate(pairwise(states), start=1):
        group = judge.space.roads[steps.moved(before, after)].group
        yield Reached(number=number, group=group, changes=_changes(before, after, judge.space))


def _blocked(at: State, judge: Judge) -> Iterator[Blocked]:
    """For each group not yet there: the next move that would bring it nearer, or what is wanted itself."""
    unbound = judge.enforcing(frozenset()).lanes()
    bound = judge.lanes()
    for place, road in enumerate(judge.space.roads):
        if at[place] == road.goal:
            continue
        nearer = [to for to in bound[place].moves[at[place]] if bound[place].left[to] < bound[place].left[at[place]]]
        for to in nearer or [road.goal] * bool(unbound[place].moves[at[place]]):
            after = (*at[:place], to, *at[place + 1 :])
            findings = tuple(each for each in judge.findings(at, after) if each.verdict is Verdict.FAIL)
            if findings:
                yield Blocked(group=road.group, changes=_changes(at, after, judge.space), findings=findings)


def _example(rule: str, judge: Judge) -> Iterator[Finding]:
    """What a rule has against going to the target at once, where it does not show at the end of the trail."""
    space = judge.space
    for finding in judge.findings(space.start, space.goal):
        if finding.rule == rule and finding.verdict is Verdict.FAIL:
            yield finding
            return


def _without_a_group(judge: Judge) -> str:
    """The fewest groups to leave as they are, so that there is a way for the others."""
    roads = judge.space.roads
    stuck = tuple(place for place, lane in enumerate(judge.lanes()) if is_stuck(lane))
    free = [place for place, road in enumerate(roads) if road.start != road.goal and place not in stuck]
    for count in range(min(3, len(free))):
        for also in combinations(free, count):
            kept = (*stuck, *also)
            goal = tuple(road.start if place in kept else road.goal for place, road in enumerate(roads))
            smaller = judge.aiming_at(goal)
            if kept and smaller.stack_doubts(goal) is not None and has_way(smaller):
                return f"Leave {_names(judge.space, kept)} as {_pronoun(kept)}: then there is a plan for the rest."
    if stuck:
        names = _names(judge.space, stuck)
        return f"Choose a target that leaves {names} as {_pronoun(stuck)}, and whatever goes with that."
    return "Aim at a target between the two first, and plan again from there."


def _names(space: Space, places: Sequence[int]) -> str:
    names = [GROUP_NAMES[space.roads[place].group] for place in sorted(places)]
    return ", ".join(names[:-1]) + (" and " if names[1:] else "") + names[-1]


def _pronoun(places: Sequence[int]) -> str:
    return "it is" if len(places) == 1 else "they are"


def _mend(findings: Sequence[Finding]) -> str:
    told = dict.fromkeys(finding.next_step for finding in findings if finding.next_step)
    return " ".join(told) or "Correct the versions named above."


def _rules(findings: Sequence[Finding]) -> tuple[str, ...]:
    return tuple(sorted({finding.rule for finding in findings}))


def _changes(before: State, after: State, space: Space) -> tuple[Change, ...]:
    return steps.changes_of(space.stack_of(before), space.stack_of(after))
