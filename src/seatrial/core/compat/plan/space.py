"""Where a plan may walk: for each group the bundles it could hold, from what runs to what is wanted.

    Space ── Road (one group) ── Bundle (versions that move together)
             start ●────●────●──●  goal        bundles between them come from candidates.py

Tests: tests/core/compat/test_plan.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.compat.matrix import Component, Group, Hardware, Stack, Value
from seatrial.core.compat.plan.search import State

PREFERRED_ORDER: Final = (
    Group.GPU,
    Group.NETWORK,
    Group.FIRMWARE,
    Group.PLATFORM,
    Group.SRIOV,
    Group.WORKLOAD,
)
"""What is moved first where the rules leave it open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """The versions one group holds at one time."""

    values: Mapping[Component, Value]
    dislike: int = 0
    """0 for the best of its release line; the higher, the later it is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Road:
    """One group's way: every bundle it may hold, with the first and the last."""

    group: Group
    bundles: tuple[Bundle, ...]
    start: int
    goal: int

    @property
    def rank(self) -> int:
        return PREFERRED_ORDER.index(self.group)


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """All roads, and the hardware they are planned for."""

    roads: tuple[Road, ...]
    hardware: Hardware

    @property
    def start(self) -> State:
        return tuple(road.start for road in self.roads)

    @property
    def goal(self) -> State:
        return tuple(road.goal for road in self.roads)

    def values_of(self, state: State, places: Sequence[int] | None = None) -> dict[Component, Value]:
        """The values of a state, or of some of its roads."""
        values: dict[Component, Value] = {}
        for place in range(len(state)) if places is None else places:
            values.update(self.roads[place].bundles[state[place]].values)
        return values

    def stack_of(self, state: State) -> Stack:
        """The whole stack of a state."""
        return Stack(values=self.values_of(state), hardware=self.hardware)
