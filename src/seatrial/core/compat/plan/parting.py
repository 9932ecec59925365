"""One thing at a time among the GPUs, too: operator, driver and images apart, on the way that the search has found.

The search moves a group at once, which keeps it small. On its way this looks where each of the three moves by itself:

    found    (v25.3.4, 570, 12.8) ───────▶ (v26.7.0, 595, 13.0)   network …   platform …
    parted   operator … v26.3.3   driver 595   operator v26.7.0   network …   platform …   images 13.0

The operator goes first, with the driver that is loaded, as long as the rules allow; then the driver; the images come
after everything else. Going down it is the images that go first: a driver that they need must not leave before them.
Two move at once only where the rules forbid every stack in between.

Ways are compared by, in this order: things moved at once, steps, the unknowns and warnings that were not on the way
that was found, the order above.

Tests: tests/core/compat/test_plan_parting.py
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TypeAlias

from seatrial.core.base.values import dataclass, replace
from seatrial.core.compat.matrix import Component, Group, Value
from seatrial.core.compat.plan.judge import Judge
from seatrial.core.compat.plan.parts import Part, part_of, rank_of
from seatrial.core.compat.plan.search import State
from seatrial.core.compat.plan.space import Bundle, Road
from seatrial.core.compat.versions import NotComparable
from seatrial.core.errors import CoreBug

_Values: TypeAlias = Mapping[Component, Value]
_Node: TypeAlias = tuple[int, int, int]
"""How far along the way, which driver, which images."""
_Cost: TypeAlias = tuple[int, int, int, int, tuple[int, ...]]
"""Things moved at once, steps, more unknowns and more warnings than were found, ranks in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parted:
    """The way anew, and the judge who knows its states."""

    states: tuple[State, ...]
    judge: Judge


def part_gpus(states: Sequence[State], judge: Judge) -> Parted:
    """Tell a way of whole groups with operator, driver and images apart."""
    place = next((place for place, road in enumerate(judge.space.roads) if road.group is Group.GPU), None)
    if place is None:
        return Parted(states=tuple(states), judge=judge)
    held = [judge.space.roads[place].bundles[state[place]].values for state in states]
    moving = [part for part in (Part.OPERATOR, Part.DRIVER, Part.IMAGES) if len(_distinct(held, part)) > 1]
    if len(moving) < 2:
        return Parted(states=tuple(states), judge=judge)
    return _Parting(states, judge, place, held).parted()


def _distinct(held: Sequence[_Values], part: Part) -> list[dict[Component, Value]]:
    found: list[dict[Component, Value]] = []
    for values in held:
        own = _own(values, part)
        if own not in found:
            found.append(own)
    return found


def _own(values: _Values, part: Part) -> dict[Component, Value]:
    return {key: value for key, value in values.items() if part_of(key) is part}


class _Parting:
    def __init__(self, states: Sequence[State], judge: Judge, place: int, held: Sequence[_Values]) -> None:
        self._states = states
        self._place = place
        self._operators = _distinct(held, Part.OPERATOR)
        self._drivers = _distinct(held, Part.DRIVER)
        self._images = _distinct(held, Part.IMAGES)
        self._at = [
            (
                self._operators.index(_own(values, Part.OPERATOR)),
                self._drivers.index(_own(values, Part.DRIVER)),
                self._images.index(_own(values, Part.IMAGES)),
            )
            for values in held
        ]
        self._judge = self._judging(judge)
        ends = self._at[0], self._at[-1]
        self._is_driver_down = _is_down(*(self._drivers[end[1]].get(Component.GPU_DRIVER) for end in ends))
        self._are_images_down = _is_down(*(self._images[end[2]].get(Component.CUDA) for end in ends))

    def _judging(self, judge: Judge) -> Judge:
        """The same rules before every operator with every driver and all images."""
        combined = product(self._operators, self._drivers, self._images)
        bundles = tuple(Bundle(values={**one, **two, **three}) for one, two, three in combined)
        roads: list[Road] = list(judge.space.roads)
        roads[self._place] = replace(
            roads[self._place], bundles=bundles, start=self._bundle(*self._at[0]), goal=self._bundle(*self._at[-1])
        )
        return Judge(book=judge.book, space=replace(judge.space, roads=tuple(roads)))

    def _bundle(self, operator: int, driver: int, images: int) -> int:
        return (operator * len(self._drivers) + driver) * len(self._images) + images

    def _state(self, node: _Node) -> State:
        along, driver, images = node
        state = self._states[along]
        bundle = self._bundle(self._at[along][0], driver, images)
        return (*state[: self._place], bundle, *state[self._place + 1 :])

    def parted(self) -> Parted:
        start, goal = (0, *self._at[0][1:]), (len(self._states) - 1, *self._at[-1][1:])
        nothing: _Cost = (0, 0, 0, 0, ())
        costs: dict[_Node, _Cost] = {start: nothing}
        came_from: dict[_Node, _Node] = {}
        queue = [(nothing, start)]
        while queue:
            cost, node = heapq.heappop(queue)
            if node == goal:
                return Parted(states=self._walk(came_from, goal), judge=self._judge)
            if cost > costs[node]:
                continue  # an older, dearer entry
            for after, spent in self._next(node, cost):
                if after not in costs or spent < costs[after]:
                    costs[after], came_from[after] = spent, node
                    heapq.heappush(queue, (spent, after))
        raise CoreBug("a way that was found is lost where its parts are told one by one")

    def _walk(self, came_from: Mapping[_Node, _Node], node: _Node) -> tuple[State, ...]:
        nodes = [node]
        while node in came_from:
            node = came_from[node]
            nodes.append(node)
        return tuple(dict.fromkeys(self._state(each) for each in reversed(nodes)))  # some only say: nothing moves here

    def _next(self, node: _Node, cost: _Cost) -> Iterator[tuple[_Node, _Cost]]:
        for after, parts in self._moves(node):
            if not parts:
                yield after, cost
                continue
            here, there = self._state(node), self._state(after)
            stack = self._judge.stack_doubts(there)
            place = next(place for place, (old, new) in enumerate(zip(here, there, strict=True)) if old != new)
            if stack is None or self._judge.move_doubts(here, there, place) is None:
                continue
            at_once, steps, unknowns, warnings, ranks = cost
            rank = min(rank_of(part, is_down=self._are_images_down) for part in parts)
            found = self._judge.stack_doubts(self._state((after[0], *self._at[after[0]][1:]))) or stack
            unknowns += max(0, stack.unknown_count - found.unknown_count)
            warnings += max(0, stack.warn_count - found.warn_count)
            yield after, (at_once + len(parts) - 1, steps + 1, unknowns, warnings, (*ranks, rank))

    def _moves(self, node: _Node) -> Iterator[tuple[_Node, tuple[Part, ...]]]:
        """Where one may go from here, and what moves on it."""
        along, driver, images = node
        choices = self._choices(along)
        if along + 1 < len(self._states):
            place = next(
                place
                for place, pair in enumerate(zip(self._states[along], self._states[along + 1], strict=True))
                if pair[0] != pair[1]
            )
            if place != self._place:
                group = self._judge.space.roads[place].group
                yield (along + 1, driver, images), (Part(group.value),)
            elif self._at[along][0] == self._at[along + 1][0]:
                yield (along + 1, driver, images), ()
            else:
                for to in self._choices(along + 1) | {(driver, images)}:
                    yield (along + 1, *to), (Part.OPERATOR, *self._moved(node, to))
        for to in choices:
            parts = self._moved(node, to)
            if parts and (len(parts) > 1 or self._is_in_turn(parts[0], to)):
                yield (along, *to), parts

    def _choices(self, along: int) -> set[tuple[int, int]]:
        """The drivers and images worth a look here: those that are loaded before or after, and those that are wanted.

        Beside steps of other groups nothing is tried: there each would only be the same as a step earlier.
        """
        near = [self._at[at] for at in (along - 1, along, along + 1) if 0 <= at < len(self._at)]
        last = len(self._at) - 1
        if along not in (0, last) and len(set(near)) == 1:
            return set()
        near.append(self._at[-1])
        return set(product({driver for _, driver, _ in near}, {images for _, _, images in near}))

    def _moved(self, node: _Node, to: tuple[int, int]) -> tuple[Part, ...]:
        _, driver, images = node
        moved = ((Part.DRIVER, driver != to[0]), (Part.IMAGES, images != to[1]))
        return tuple(part for part, is_moved in moved if is_moved)

    def _is_in_turn(self, part: Part, to: tuple[int, int]) -> bool:
        """Images follow a driver that goes up, and leave before one that goes down."""
        _, driver, images = self._at[-1]
        if self._is_driver_down:
            return part is Part.IMAGES or to[1] == images
        return part is Part.DRIVER or to[0] == driver


def _is_down(here: Value | None, there: Value | None) -> bool:
    if here is None or there is None or here.version is None or there.version is None:
        return False
    try:
        return there.version < here.version
    except NotComparable:
        return False
