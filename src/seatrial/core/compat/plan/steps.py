"""From a way to steps a person can follow: why each is there, what it evicts, how to get back.

What to prepare is in preparations.py.

Tests: tests/core/test_plan.py
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from seatrial.core.compat.facts import Facts
from seatrial.core.compat.findings import Verdict
from seatrial.core.compat.matrix import GROUPS, Component, Group, Stack, Value
from seatrial.core.compat.plan import preparations
from seatrial.core.compat.plan.judge import Judge
from seatrial.core.compat.plan.limits import is_in_window
from seatrial.core.compat.plan.search import State
from seatrial.core.compat.plan.values import Change, Reason, Rollback, Step, WayBack, Why
from seatrial.core.compat.versions import LinedVersion, NotComparable, Version

OPERANDS: Final = (Component.DEVICE_PLUGIN, Component.CONTAINER_TOOLKIT, Component.DCGM)
LEADERS: Final = (Component.GPU_OPERATOR, Component.NETWORK_OPERATOR)
_DOUBTFUL: Final = (Verdict.WARN, Verdict.UNKNOWN)


def tell(states: Sequence[State], judge: Judge, facts: Facts) -> tuple[Step, ...]:
    """The steps along a way."""
    steps: list[Step] = []
    for number, (before, after) in enumerate(pairwise(states), start=1):
        place = moved(before, after)
        group = judge.space.roads[place].group
        old, new = judge.space.stack_of(before), judge.space.stack_of(after)
        changes = changes_of(old, new)
        steps.append(
            Step(
                number=number,
                group=group,
                changes=changes,
                stack=new,
                why=tuple(_why(states, number, place, judge)),
                evicts=evicted(group, old, new),
                preparations=preparations.before(group, preparations.Move(old=old, new=new, facts=facts)),
                findings=tuple(each for each in judge.findings(before, after) if each.verdict in _DOUBTFUL),
                rollback=_rollback(number, group, old, new, steps),
            )
        )
    return tuple(steps)


def moved(before: State, after: State) -> int:
    """The road on which two neighbouring states differ."""
    return next(place for place, (old, new) in enumerate(zip(before, after, strict=True)) if old != new)


def changes_of(old: Stack, new: Stack) -> tuple[Change, ...]:
    """Every component that moves."""
    return tuple(Change(component=part, before=_text(old[part]), after=_text(new[part])) for part in old.differing(new))


def _text(value: Value | None) -> str:
    return "" if value is None else value.text


# ── why ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _why(states: Sequence[State], number: int, place: int, judge: Judge) -> Iterator[Why]:
    before, after = states[number - 1], states[number]
    goal = states[-1][place]
    if after[place] == goal:
        yield Why(reason=Reason.WANTED, sentence="this is what is wanted")
    else:
        yield _detour(before, after, goal, place, judge)
    yield from _needed_by(states, number, place, judge)


def _detour(before: State, after: State, goal: int, place: int, judge: Judge) -> Why:
    """Why not at once to what is wanted: a rule about the change forbids it, or the stack it would make."""
    at_once = (*before[:place], goal, *before[place + 1 :])
    alone = judge.on_lone_move(place, before[place], goal).failing
    failing = alone or judge.on_move(before, at_once, place).failing
    name = _name(judge, after, place)
    if failing:
        rule = min(failing)
        return Why(
            reason=Reason.NEXT_LINE,
            rule=rule,
            sentence=f"{_name(judge, at_once, place)} cannot be reached at once ({rule}); {name} lies on the way",
        )
    failing = judge.on_stack(at_once).failing
    if failing:
        rules = ", ".join(sorted(failing))
        return Why(
            reason=Reason.FORCED,
            rule=min(failing),
            sentence=f"{_name(judge, at_once, place)} does not yet fit the rest of the stack ({rules}); {name} does",
        )
    return Why(reason=Reason.FORCED, sentence=f"{name} keeps a later step possible")


def _needed_by(states: Sequence[State], number: int, place: int, judge: Judge) -> Iterator[Why]:
    """The first later step of another group that would fail without this one."""
    old = states[number - 1][place]
    for before, after in pairwise(states[number:]):
        crossing = moved(before, after)
        if crossing == place:
            return  # the next step of the same group answers for the rest
        if judge.space.roads[crossing].group is Group.SRIOV:
            continue  # it follows the platform and never leads
        here, there = ((*state[:place], old, *state[place + 1 :]) for state in (before, after))
        failing = judge.on_move(here, there, crossing).failing or judge.on_stack(there).failing
        if failing:
            is_platform = judge.space.roads[crossing].group is Group.PLATFORM
            yield Why(
                reason=Reason.BRIDGE if is_platform else Reason.FORCED,
                rule=min(failing),
                sentence=f"{_name(judge, after, crossing)} needs it ({', '.join(sorted(failing))})",
            )
            return


def _name(judge: Judge, state: State, place: int) -> str:
    """The first component of a bundle, with its version."""
    values = judge.space.roads[place].bundles[state[place]].values
    first = min(values, key=list(Component).index)
    return f"{first.value} {values[first].text}"


# ── what it evicts ────────────────────────────────────────────────────────────────────────────────────────────────────


def evicted(group: Group, old: Stack, new: Stack) -> str:
    """What leaves its node while the step is carried out."""
    parts = old.differing(new)
    match group:
        case Group.PLATFORM if not {Component.OPENSHIFT, Component.KERNEL, Component.OS} & set(parts):
            return "what the upgrade of each node drains; no kernel changes, so no reboot and no driver is built anew"
        case Group.PLATFORM:
            return "every pod of each node, node by node: it is drained and rebooted"
        case Group.GPU if Component.GPU_DRIVER in parts:
            return "GPU pods, node by node, while the driver is reloaded"
        case Group.GPU if Component.GPU_OPERATOR in parts or any(part in parts for part in OPERANDS):
            return (
                "no GPU pods as long as the driver pods stay; device plugin, toolkit and exporter restart on all nodes"
            )
        case Group.NETWORK if Component.MOFED in parts:
            return "MOFED pods, node by node: pods using RDMA leave the node while the network driver is reloaded"
        case Group.NETWORK:
            return "no MOFED pods as long as their version stays; the operator's own pods restart"
        case Group.FIRMWARE:
            return "every pod of each node, node by node: the NIC is reset or the node rebooted"
        case Group.SRIOV:
            return "the SR-IOV operator's own pods"
        case _:
            return "nothing in the cluster: workloads take it up with their images"


# ── the way back ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _rollback(number: int, group: Group, old: Stack, new: Stack, earlier: Sequence[Step]) -> Rollback:
    way, sentence = _way_back(group, old, new)
    farthest = earlier[-1].rollback.farthest_step if earlier else 0
    if way is WayBack.CLOSED:
        return Rollback(way=way, to_step=number, farthest_step=number, sentence=sentence)
    return Rollback(way=way, to_step=number - 1, farthest_step=farthest, sentence=sentence)


def _way_back(group: Group, old: Stack, new: Stack) -> tuple[WayBack, str]:
    if group is Group.PLATFORM:
        return WayBack.CLOSED, "the platform does not go down again: from here on only forward"
    if group is Group.FIRMWARE and not _goes_down(old, new):
        return _firmware_back(old, new)
    for leader in LEADERS:
        here, there = old[leader], new[leader]
        if GROUPS[leader] is group and here is not None and there is not None and _line(here) != _line(there):
            return (
                WayBack.UNKNOWN,
                f"no source supports going back from {leader.value} {there.text} to {here.text}: unknown, rehearse it",
            )
    if any(old[part] is None for part in old.differing(new)):
        return WayBack.UNKNOWN, "nobody says what runs now, so there is nothing to go back to: unknown, audit first"
    return WayBack.OPEN, "set the versions back; the nodes walk the same way"


def _firmware_back(old: Stack, new: Stack) -> tuple[WayBack, str]:
    moved = [(old[part], new[part]) for part in old.differing(new)]
    if all(here and there and is_in_window(here.version, there.version) for here, there in moved):
        return WayBack.UNKNOWN, "NVIDIA tests going down as far as two release trains: rehearse it on your cards"
    return (
        WayBack.CLOSED,
        "firmware goes down two release trains at most, and these are more: from here on only forward",
    )


def _goes_down(old: Stack, new: Stack) -> bool:
    """Whether every moving component gets an older version: the way back of such a step leads up."""
    return all(_is_older(new[part], old[part]) for part in old.differing(new))


def _is_older(one: Value | None, other: Value | None) -> bool:
    if one is None or other is None or one.version is None or other.version is None:
        return False
    try:
        return one.version < other.version
    except NotComparable:
        return False


def _line(value: Value) -> str:
    version: Version | None = value.version
    return version.line if isinstance(version, LinedVersion) else value.text
