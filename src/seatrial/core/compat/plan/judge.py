"""The rules before one space: which states and moves they forbid, and how doubtful the others are.

To see which rules fight, the same space is searched again with some of them left out (`Judge.enforcing`); each rule's
opinion is kept by the bundles it looks at, so nothing needs to be judged twice.

A change of one group is judged by that group's values, a change of the platform also by what must bear it: no rule
about changes looks farther (upgrade-path and one-at-a-time see the group; bridge sees the operators and MOFED).
`make_plan` puts its finished plan before the rules once more, whole stack by whole stack.

Tests: tests/core/compat/test_plan.py
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from typing import Final

from seatrial.core.base.values import dataclass, field, replace
from seatrial.core.compat.findings import Finding
from seatrial.core.compat.matrix import GROUPS, Component, Group, Value
from seatrial.core.compat.plan.memory import AnswerCache, Values
from seatrial.core.compat.plan.rulebook import Opinion, Rulebook, add
from seatrial.core.compat.plan.search import FAR, NO_DOUBTS, Doubts, Lane, State, Track, Way, find_way, make_track
from seatrial.core.compat.plan.space import Space

BEARERS: Final = (Component.GPU_OPERATOR, Component.NETWORK_OPERATOR, Component.MOFED)
"""What must be right on both sides of a platform step."""

CAREFUL: Final = (Group.PLATFORM, Group.GPU, Group.NETWORK, Group.SRIOV)
"""The groups that rules forbid to stand beside each other."""

LEADERS: Final = (Component.GPU_OPERATOR, Component.NETWORK_OPERATOR)
"""What decides about a move of its group: rules about changes look at nothing else in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """A rulebook and a space; `enforced` names the rules that count, None counts all."""

    book: Rulebook
    space: Space
    enforced: frozenset[str] | None = None
    is_carefree: bool = False
    """Whether doubts are left out of account: enough to see whether there is a way at all, and much quicker."""
    _states: dict[State, Doubts | None] = field(default_factory=dict)
    _moves: dict[object, Opinion] = field(default_factory=dict)
    _watches: list[_Watch] = field(default_factory=list)
    _blamed: set[str] = field(default_factory=set)
    _allowed: dict[State, Doubts | None] = field(default_factory=dict)
    _beside: dict[State, Opinion] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self._watches:
            self._watches.extend(_Watch(rule, self.book, self.space) for rule in self.book.stack_rules)

    def enforcing(self, rules: frozenset[str]) -> Judge:
        """The same judge, counting some rules only; what each rule said already is shared."""
        return replace(self, enforced=rules, _states={}, _watches=list(self._watches), _blamed=set(), _allowed={})

    def carefree(self) -> Judge:
        """The same judge, to whom an unknown is as good as an ok."""
        return replace(self, is_carefree=True, _states={}, _allowed={})

    def aiming_at(self, goal: State) -> Judge:
        """The same judge and the same bundles, with another goal."""
        roads = tuple(replace(road, goal=to) for road, to in zip(self.space.roads, goal, strict=True))
        return replace(self, space=replace(self.space, roads=roads))

    def starting_at(self, place: int, bundle: int) -> Judge:
        """The same judge and the same bundles, with one road starting elsewhere."""
        roads = list(self.space.roads)
        roads[place] = replace(roads[place], start=bundle)
        return replace(self, space=replace(self.space, roads=tuple(roads)))

    def idle_road(self) -> int | None:
        """The road of the workloads, where every rule says the same about its two ends beside any bundle."""
        for place, road in enumerate(self.space.roads):
            if road.group is Group.WORKLOAD and len(road.bundles) == 2 and road.start != road.goal:
                ends = [road.bundles[end].values for end in (road.start, road.goal)]
                beside = [bundle.values for other in self.space.roads if other is not road for bundle in other.bundles]
                if all(
                    self.book.on_stack({**values, **ends[0]}) == self.book.on_stack({**values, **ends[1]})
                    for values in beside
                ):
                    return place
        return None

    def blamed(self) -> frozenset[str]:
        """Rules that together forbade everything that was forbidden so far: one at least for each state and move."""
        return frozenset(self._blamed).union(*(opinion.failing for opinion in self._moves.values()))

    def stack_doubts(self, state: State) -> Doubts | None:
        try:
            return self._states[state]
        except KeyError:
            doubts = self._states[state] = self._judged(state)
            return doubts

    def move_doubts(self, before: State, after: State, lane: int) -> Doubts | None:
        key: State = (lane, before[lane], after[lane])
        if self.space.roads[lane].group is Group.PLATFORM:
            key = (lane, after[lane], *before)
        try:
            return self._allowed[key]
        except KeyError:
            opinion = self.on_move(before, after, lane)
            doubts = NO_DOUBTS if self.is_carefree else opinion.doubts
            self._allowed[key] = None if self.forbids(opinion) else doubts
            return self._allowed[key]

    def forbids(self, opinion: Opinion) -> bool:
        """Whether a rule that counts fails."""
        return bool(opinion.failing if self.enforced is None else opinion.failing & self.enforced)

    def on_stack(self, state: State) -> Opinion:
        """What all rules say about a stack."""
        return add(watch.on(state) for watch in self._watches)

    def on_move(self, before: State, after: State, place: int) -> Opinion:
        """What all rules say about a change of one road."""
        if self.space.roads[place].group is not Group.PLATFORM:
            return self.on_lone_move(place, before[place], after[place])
        bearing = self.space.values_of(before)
        beside: dict[Component, Value] = {part: bearing[part] for part in BEARERS if part in bearing}
        return self._changed(place, before[place], after[place], beside)

    def on_lone_move(self, place: int, at: int, to: int) -> Opinion:
        """What all rules say about a change when they see no other group."""
        return self._changed(place, at, to, {})

    def _changed(self, place: int, at: int, to: int, beside: Values) -> Opinion:
        bundles = self.space.roads[place].bundles
        old, new = bundles[at].values, bundles[to].values
        # Where the leader moves, the rest of the bundle makes no difference to a rule about changes.
        led = [pair for part in LEADERS if (pair := (old.get(part), new.get(part)))[0] is not pair[1]]
        ends = (id(value) for pair in led for value in pair) if led else (at, to)
        key = (place, *ends, *(id(value) for value in beside.values()))
        opinion = self._moves.get(key)
        if opinion is None:
            opinion = self._moves[key] = self.book.on_change({**beside, **old}, {**beside, **new})
        return opinion

    def _limited(self, place: int, at: int, to: int) -> Opinion:
        key = ("limits", place, at, to)
        opinion = self._moves.get(key)
        if opinion is None:
            bundles = self.space.roads[place].bundles
            opinion = self._moves[key] = self.book.on_limits(bundles[at].values, bundles[to].values)
        return opinion

    def _judged(self, state: State) -> Doubts | None:
        """Ask rule after rule, those first that forbade something last: most states are forbidden, by few rules."""
        unknown_count = warn_count = 0
        for number, watch in enumerate(self._watches):
            opinion = watch.on(state)
            if opinion.failing and self.forbids(opinion):
                self._blamed.update(opinion.failing)
                self._watches.insert(0, self._watches.pop(number))
                return None
            unknown_count += opinion.doubts.unknown_count
            warn_count += opinion.doubts.warn_count
        return NO_DOUBTS if self.is_carefree else Doubts(unknown_count, warn_count)

    def findings(self, before: State, after: State) -> tuple[Finding, ...]:
        """Every finding about a change and about what it leads to, whole stack by whole stack."""
        old, new = self.space.values_of(before), self.space.values_of(after)
        return (*self.book.change_findings(old, new), *self.book.stack_findings(new))

    def find_way(self) -> Way:
        """The best way under the rules that count."""
        lanes = self.lanes()
        return find_way(lanes, self, self._tracks(lanes))

    def is_hopeless(self) -> bool:
        """Whether one group, or two of them together, cannot reach their goal, whatever the others do."""
        lanes = self.lanes()
        if any(lane.left[lane.start] >= FAR for lane in lanes):
            return True
        pairs = combinations((place for place, road in enumerate(self.space.roads) if road.group in CAREFUL), 2)
        return any(self._is_cut_off(lanes, pair) for pair in pairs)

    def _is_cut_off(self, lanes: Sequence[Lane], pair: tuple[int, int]) -> bool:
        """Whether no way leads to the goal when only these two groups are looked at."""
        start, goal = (lanes[pair[0]].start, lanes[pair[1]].start), (lanes[pair[0]].goal, lanes[pair[1]].goal)
        met, edge = {start}, [start]
        while edge and goal not in met:
            one, other = edge.pop()
            after = [(to, other) for to in lanes[pair[0]].moves[one]] + [
                (one, to) for to in lanes[pair[1]].moves[other]
            ]
            new = [key for key in after if key not in met and self._allows(pair, key)]
            met.update(new)
            edge.extend(new)
        return goal not in met

    def _allows(self, places: tuple[int, ...], key: State) -> bool:
        """Whether bundles may stand beside each other, as far as rules see when they see no other group."""
        known = (*places, *key)
        opinion = self._beside.get(known)
        if opinion is None:
            values: dict[Component, Value] = {}
            for place, bundle in zip(places, key, strict=True):
                values.update(self.space.roads[place].bundles[bundle].values)
            opinion = self._beside[known] = self.book.on_stack(values)
        return not self.forbids(opinion)

    def _tracks(self, lanes: Sequence[Lane]) -> tuple[Track, ...]:
        """Platform and SR-IOV operator hold each other back at every minor; the other groups stand alone."""
        pair = tuple(
            place for place, road in enumerate(self.space.roads) if road.group in (Group.PLATFORM, Group.SRIOV)
        )
        alone = [(place,) for place in range(len(lanes)) if place not in pair]
        return tuple(
            make_track(lanes, places, partial(self._allows, places) if len(places) > 1 else lambda _key: True)
            for places in (pair, *alone)
            if places
        )

    def lanes(self) -> tuple[Lane, ...]:
        """The space in numbers: for each group, where one may go as far as the group alone is concerned."""
        return tuple(self._lane(place) for place in range(len(self.space.roads)))

    def _lane(self, place: int) -> Lane:
        road = self.space.roads[place]
        every = range(len(road.bundles))
        return Lane(
            rank=road.rank,
            start=road.start,
            goal=road.goal,
            moves=tuple(tuple(to for to in every if to != at and self._may_move(place, at, to)) for at in every),
            reloads=tuple(_loaded(bundle.values) for bundle in road.bundles),
            dislike=tuple(bundle.dislike for bundle in road.bundles),
        )

    def _may_move(self, place: int, at: int, to: int) -> bool:
        """Whether the group alone may go there."""
        return not self.forbids(self._limited(place, at, to)) and not self.forbids(self.on_lone_move(place, at, to))


class _Watch:
    """One rule before one space, remembered by the bundles of those roads it has ever looked at."""

    def __init__(self, rule: AnswerCache, book: Rulebook, space: Space) -> None:
        self._rule = rule
        self._book = book
        self._space = space
        self._reads_count = 0
        self._places: tuple[int, ...] = ()
        self._known: dict[State, Opinion] = {}

    def on(self, state: State) -> Opinion:
        key = tuple([state[place] for place in self._places])
        opinion = self._known.get(key)
        if opinion is None:
            opinion = self._book.weigh(self._rule.ask(self._space.values_of(state)))
            if len(self._rule.reads) != self._reads_count:  # it looks farther than believed: what is known may be wrong
                self._known.clear()
                self._reads_count = len(self._rule.reads)
                groups = {GROUPS[part] for part in self._rule.reads}
                self._places = tuple(place for place, road in enumerate(self._space.roads) if road.group in groups)
                key = tuple([state[place] for place in self._places])
            self._known[key] = opinion
        return opinion


def _loaded(values: Values) -> object:
    """The kernel modules of a bundle: those of the GPUs or of the network, whichever its group has."""
    value = values.get(Component.GPU_DRIVER) or values.get(Component.MOFED)
    return None if value is None else value.version or value.text
