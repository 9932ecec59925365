"""The steps of a plan as rollouts, one after the other: what each moves, who moves it, and what people are told.

    a step of the plan ── one group ─▶ a release of an operator, which we publish     a campaign
                                    ├▶ the driver and its operands, which we move     a campaign
                                    └▶ what leads the rest of the group               by hand: firmware, OpenShift

A group moves together in a plan, and one thing after the other in a cluster: the operator before its driver, unless the
rules forbid the stack between the two and not the one the other way round. A release of the operator brings the
operands with it; where none is due, they are published and moved like a driver.
Tests: tests/core/compat/test_plan_rollouts.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from seatrial.core.base.values import dataclass
from seatrial.core.compat.matrix import COMPONENTS, GROUPS, OPERANDS, Component, Group
from seatrial.core.compat.plan.values import Change

Judged: TypeAlias = frozenset[str]
"""The rules that a stack fails."""

RELEASES: Final = (Component.GPU_OPERATOR, Component.NETWORK_OPERATOR, Component.DRA_DRIVER)
"""Charts whose release we publish; what it brings to nodes moves node by node."""
APART: Final = frozenset({Component.MOFED, Component.DRA_DRIVER})
"""What no operator's release brings: the NicClusterPolicy says one version, a chart of its own the other."""
OURS: Final = frozenset({Component.GPU_DRIVER, *RELEASES, *OPERANDS, Component.MOFED})
"""What we publish and move ourselves."""
INSTRUCTIONS_MAX: Final = 4096
"""So much of its instructions a rollout can hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leg:
    """A step of a plan, as far as a rollout needs it; `seatrial plan -o json` has all of it."""

    number: int
    changes: tuple[Change, ...]
    stack: Mapping[Component, str]
    """The whole stack once the step is done."""
    why: tuple[str, ...] = ()
    preparations: tuple[str, ...] = ()
    way_back: str = ""
    """What is to be known about the way back; empty where it is the way there."""
    is_one_way: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """What one rollout moves."""

    step: int
    """The plan's step it belongs to."""
    change: Change
    along: tuple[Change, ...] = ()
    """What moves with it, without being waited for."""
    driver: str
    """The driver that nodes run once it is done."""
    is_one_way: bool = False
    preparations: tuple[str, ...] = ()
    instructions: str = ""
    doubt: tuple[str, ...] = ()
    """The rules that fail between this move and the next, whichever goes first."""

    @property
    def is_ours(self) -> bool:
        """Whether we move it ourselves."""
        return self.change.component in OURS

    @property
    def beside(self) -> tuple[tuple[str, str], ...]:
        """What a rollout of ours publishes beside the driver, and the version of each: a release, or what it moves."""
        if self.change.component in RELEASES:  # it brings what goes along
            return ((self.change.component.value, self.change.after),)
        ours = (each for each in (self.change, *self.along) if self.is_ours and each.component in OURS)
        return tuple(
            (each.component.value, each.after)
            for each in ours
            if each.component is not Component.GPU_DRIVER and each.component not in RELEASES
        )


def moves_of(
    legs: Sequence[Leg], running: Mapping[Component, str], judge: Callable[[Mapping[Component, str]], Judged]
) -> tuple[Move, ...]:
    """Every rollout that a plan needs, in order; `judge` says which rules a stack fails."""
    found: list[Move] = []
    before = dict(running)
    for number, leg in enumerate(legs):
        found += _moves(leg, before, judge, _driver_later(leg, legs[number + 1 :]))
        before = dict(leg.stack)
    return tuple(found)


def _driver_later(leg: Leg, later: Sequence[Leg]) -> list[Change]:
    """The driver's own step, where an operator moves before it: until then its version has to stay."""
    if Component.GPU_OPERATOR not in {change.component for change in leg.changes}:
        return []
    drivers = [change for each in later for change in each.changes if change.component is Component.GPU_DRIVER]
    return [change for change in drivers[:1] if leg.stack.get(Component.GPU_DRIVER) == change.before]


def _moves(
    leg: Leg,
    before: Mapping[Component, str],
    judge: Callable[[Mapping[Component, str]], Judged],
    coming: Sequence[Change],
) -> list[Move]:
    parts, doubt = _ordered(_parts(leg.changes), before, leg.stack, judge)
    driver = before.get(Component.GPU_DRIVER, "") or leg.stack.get(Component.GPU_DRIVER, "")
    found: list[Move] = []
    for number, part in enumerate(parts):
        lead, along = part[0], part[1:]
        driver = lead.after if lead.component is Component.GPU_DRIVER else driver
        prepared = leg.preparations if number == 0 else ()
        later = [*(each[0] for each in parts[number + 1 :]), *coming]
        found.append(
            Move(
                step=leg.number,
                change=lead,
                along=along,
                driver=driver,
                is_one_way=leg.is_one_way,
                preparations=prepared,
                instructions=_instructions(leg, part, prepared, later),
                doubt=doubt if number == 0 else (),
            )
        )
    return found


def _parts(changes: Sequence[Change]) -> list[tuple[Change, ...]]:
    """What a step moves by itself, each with what goes along."""
    ordered = sorted(
        (change for change in changes if change.after), key=lambda change: COMPONENTS.index(change.component)
    )
    # A release brings its operands: they are nothing that could be moved apart from it.
    is_release = any(change.component is Component.GPU_OPERATOR for change in ordered)
    moved = frozenset({Component.GPU_DRIVER, *(() if is_release else OPERANDS)})
    ours = sorted((change for change in ordered if change.component in moved), key=_is_beside)
    rest = [change for change in ordered if change.component not in moved]
    if rest and GROUPS[rest[0].component] is Group.FIRMWARE:
        return [(change,) for change in rest]  # each kind of card has a firmware of its own
    if ours and all(change.component is Component.CUDA for change in rest):
        return [(*ours, *rest)]  # CUDA's version is the driver's
    apart = [change for change in rest if change.component in APART and rest[0] is not change]
    released = tuple(change for change in rest if change not in apart)
    return [part for part in (released, *((each,) for each in apart), tuple(ours)) if part]


def _is_beside(change: Change) -> bool:
    """The driver leads; operands stay in their order."""
    return change.component is not Component.GPU_DRIVER


def _ordered(
    parts: list[tuple[Change, ...]],
    before: Mapping[Component, str],
    after: Mapping[Component, str],
    judge: Callable[[Mapping[Component, str]], Judged],
) -> tuple[list[tuple[Change, ...]], tuple[str, ...]]:
    """The parts in an order whose stacks between are sound, and what fails if none is."""
    if len(parts) < 2 or GROUPS[parts[0][0].component] is Group.FIRMWARE:
        return parts, ()
    known = judge(before) | judge(after)
    failing = judge(_with(before, parts[0])) - known
    if not failing:
        return parts, ()
    if not judge(_with(before, parts[1])) - known:
        return [parts[1], parts[0]], ()
    return parts, tuple(sorted(failing))


def _with(stack: Mapping[Component, str], changes: Sequence[Change]) -> dict[Component, str]:
    return {**stack, **{change.component: change.after for change in changes}}


def _instructions(leg: Leg, part: Sequence[Change], preparations: Sequence[str], later: Sequence[Change]) -> str:
    """What people have to do, in the plan's own words."""
    lead, along = part[0], part[1:]
    if lead.component in OURS:
        return ""
    told = [f"Bring {_told(lead)}"]
    if along:
        told.append(f"With it {'goes' if len(along) == 1 else 'go'} {', '.join(map(_told, along))}")
    told += [
        f"Leave {each.component.value} at {each.before or 'what it is'}: a step of its own moves it" for each in later
    ]
    told += [f"Before: {sentence}" for sentence in preparations]
    told += [f"Why: {sentence}" for sentence in leg.why]
    told += [f"Way back: {leg.way_back}"] if leg.way_back else []
    return ". ".join(sentence.rstrip(". ") for sentence in told)[: INSTRUCTIONS_MAX - 1] + "."


def _told(change: Change) -> str:
    return f"{change.component.value} from {change.before or 'what is there'} to {change.after}"
