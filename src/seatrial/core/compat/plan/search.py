"""The shortest way through the stacks: A* over a small space of bundles, told by a judge what is allowed.

    state   one bundle index per group, e.g. (platform 0, gpu 2, network 1, …); a stack is the union of its bundles
    move    one group takes another bundle
    track   roads that are walked in step: most stand alone, two that hold each other back are taken together
    bound   the moves each track needs alone, added up: never more than the truth, so the first way found is a shortest
    slack   by how much a move lengthens the way it is on (0: it goes straight on). A state's moves are looked at slack
            by slack, and most never are: asking the judge is what costs

Knows nothing of versions, rules or facts: the judge does. Ways are compared by, in this order: number of steps,
unknowns and warnings met on them, the preferred order of the groups, reloads of kernel modules, how much each bundle
is liked.

Tests: tests/core/compat/test_plan_search.py
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from itertools import product
from typing import Final, Protocol, TypeAlias

from seatrial.core.base.values import dataclass, field

State: TypeAlias = tuple[int, ...]

FAR: Final = 1_000_000
"""A distance nobody walks: the group alone cannot get there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One group's bundles as the search sees them: numbers only."""

    rank: int
    """The place of the group in the preferred order."""
    start: int
    goal: int
    moves: tuple[tuple[int, ...], ...]
    """moves[i]: the bundles one may go to from bundle i, as far as the group alone is concerned."""
    reloads: tuple[object, ...]
    """A move between bundles whose entries differ reloads kernel modules: the GPU driver, or MOFED."""
    dislike: tuple[int, ...]
    """How far a bundle is from the best of its kind; 0 is best."""
    left: tuple[int, ...] = field(init=False)
    """left[i]: the moves from bundle i to the goal when nothing else stands in the way."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "left", _distances(self.moves, self.goal))


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """Lanes taken together: how far each combination of their bundles is from the goal, and which moves lead nearer."""

    places: tuple[int, ...]
    left: Mapping[State, int]
    by_slack: Mapping[State, Mapping[int, tuple[tuple[int, int], ...]]]
    """by_slack[key][s]: the moves (place, bundle) that lengthen the way by s, s rising."""


def make_track(lanes: Sequence[Lane], places: Sequence[int], is_allowed: Callable[[State], bool]) -> Track:
    """Work out the distances on some lanes, when only what `is_allowed` says stands in the way."""
    keys = list(product(*(range(len(lanes[place].moves)) for place in places)))
    allowed = {key for key in keys if is_allowed(key)}
    moves = {key: list(_moves_of(lanes, places, key, allowed)) for key in keys}
    goal = tuple(lanes[place].goal for place in places)
    left = dict.fromkeys(keys, FAR) | {goal: 0}
    edge, depth = {goal}, 0
    while edge:
        depth += 1
        edge = {key for key in keys if left[key] == FAR and any(after in edge for _, after in moves[key])}
        left |= dict.fromkeys(edge, depth)
    by_slack = {}
    for key in keys:
        slacks = sorted({1 + left[after] - left[key] for _, after in moves[key]})
        by_slack[key] = {
            slack: tuple(move for move, after in moves[key] if 1 + left[after] - left[key] == slack) for slack in slacks
        }
    return Track(places=tuple(places), left=left, by_slack=by_slack)


def _moves_of(
    lanes: Sequence[Lane], places: Sequence[int], key: State, allowed: Set[State]
) -> Iterator[tuple[tuple[int, int], State]]:
    for number, place in enumerate(places):
        for to in lanes[place].moves[key[number]]:
            after = (*key[:number], to, *key[number + 1 :])
            if after in allowed:
                yield (place, to), after


def lone_tracks(lanes: Sequence[Lane]) -> tuple[Track, ...]:
    """Every lane on a track of its own."""
    return tuple(make_track(lanes, (place,), lambda _key: True) for place in range(len(lanes)))


@dataclass(frozen=True, slots=True)
class Doubts:
    """How many findings neither pass nor fail."""

    unknown_count: int = 0
    warn_count: int = 0


NO_DOUBTS: Final = Doubts()


class Judge(Protocol):
    """What may be, and how doubtful it is."""

    def stack_doubts(self, state: State) -> Doubts | None:
        """The doubts of a stack, or None where it fails."""

    def move_doubts(self, before: State, after: State, lane: int) -> Doubts | None:
        """The doubts of a change of one lane, or None where it fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Every state from the start to the last one; `is_complete` when that is the goal, else it is the nearest to it."""

    states: tuple[State, ...]
    is_complete: bool


Cost: TypeAlias = tuple[int, int, int, tuple[int, ...], int, tuple[int, ...]]
"""Steps, unknowns met, warnings met, ranks in order, reloads, dislikes in order."""

_NOTHING_SPENT: Final[Cost] = (0, 0, 0, (), 0, ())


def find_way(lanes: Sequence[Lane], judge: Judge, tracks: Sequence[Track] | None = None) -> Way:
    """Find the best way from start to goal; where there is none, the way to the state with the least left to do."""
    tracks = lone_tracks(lanes) if tracks is None else tracks
    start, goal = tuple(lane.start for lane in lanes), tuple(lane.goal for lane in lanes)
    costs: dict[State, Cost] = {start: _NOTHING_SPENT}
    came_from: dict[State, State] = {}
    looked_at: set[State] = set()
    later: dict[int, list[tuple[State, int]]] = {}
    length = bound(tracks, start)
    length_max = FAR * (length // FAR + 1)  # a state farther than the start's own lanes allow leads nowhere
    nearest, nearest_left = start, length
    queue = [(*_NOTHING_SPENT[1:], start, 0)]
    while queue or later:
        if not queue:  # nothing is left of this length: now the ways that are longer
            length = min(later)
            if length >= length_max:
                break
            queue = [(*costs[state][1:], state, slack) for state, slack in later.pop(length)]
            heapq.heapify(queue)
        *_, state, slack = heapq.heappop(queue)
        if slack == 0:
            if state in looked_at:
                continue  # an older, dearer entry
            looked_at.add(state)
            if state == goal:
                return Way(states=_walk(came_from, goal), is_complete=True)
            left = length - costs[state][0]
            if (left, costs[state]) < (nearest_left, costs[nearest]):
                nearest, nearest_left = state, left
        for after, spent in _steps(lanes, tracks, judge, state, costs[state], slack):
            if after not in looked_at and (after not in costs or spent < costs[after]):
                costs[after], came_from[after] = spent, state
                heapq.heappush(queue, (*spent[1:], after, 0))
        more = _next_slack(tracks, state, slack)
        if more is not None:
            later.setdefault(length - slack + more, []).append((state, more))
    return Way(states=_walk(came_from, nearest), is_complete=False)


def bound(tracks: Sequence[Track], state: State) -> int:
    """The fewest moves that can be left from a state."""
    return sum(track.left[_key(track, state)] for track in tracks)


def _steps(
    lanes: Sequence[Lane], tracks: Sequence[Track], judge: Judge, state: State, cost: Cost, slack: int
) -> Iterator[tuple[State, Cost]]:
    steps, unknowns, warnings, ranks, reloads, dislikes = cost
    for track in tracks:
        for place, to in track.by_slack[_key(track, state)].get(slack, ()):
            after = (*state[:place], to, *state[place + 1 :])
            there = judge.stack_doubts(after)
            if there is None:
                continue
            moved = judge.move_doubts(state, after, place)
            if moved is None:
                continue
            lane, at = lanes[place], state[place]
            yield (
                after,
                (
                    steps + 1,
                    unknowns + there.unknown_count + moved.unknown_count,
                    warnings + there.warn_count + moved.warn_count,
                    (*ranks, lane.rank),
                    reloads + (lane.reloads[at] != lane.reloads[to]),
                    (*dislikes, lane.dislike[to]),
                ),
            )


def _next_slack(tracks: Sequence[Track], state: State, slack: int) -> int | None:
    """The next larger slack any move of this state has."""
    found = None
    for track in tracks:
        for more in track.by_slack[_key(track, state)]:  # in rising order
            if more > slack:
                found = more if found is None or more < found else found
                break
    return found


def _key(track: Track, state: State) -> State:
    return tuple([state[place] for place in track.places])


def _distances(moves: Sequence[Sequence[int]], goal: int) -> tuple[int, ...]:
    """Count backwards from the goal."""
    found = {goal: 0}
    for depth in range(1, len(moves) + 1):
        edge = [at for at, to in enumerate(moves) if at not in found and not found.keys().isdisjoint(to)]
        found.update(dict.fromkeys(edge, depth))
    return tuple(found.get(at, FAR) for at in range(len(moves)))


def _walk(came_from: dict[State, State], state: State) -> tuple[State, ...]:
    states = [state]
    while state in came_from:
        state = came_from[state]
        states.append(state)
    return tuple(reversed(states))
