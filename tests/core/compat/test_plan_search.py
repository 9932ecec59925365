"""The search alone: small random spaces, compared with trying everything."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product

from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.core.compat.plan.search import FAR, NO_DOUBTS, Doubts, Lane, State, Way, find_way


@dataclass(frozen=True, kw_only=True)
class TableJudge:
    """Forbids what is in its tables."""

    bad_states: frozenset[State] = frozenset()
    bad_moves: frozenset[tuple[State, State]] = frozenset()
    doubts: dict[State, Doubts]

    def stack_doubts(self, state: State) -> Doubts | None:
        return None if state in self.bad_states else self.doubts.get(state, NO_DOUBTS)

    def move_doubts(self, before: State, after: State, lane: int) -> Doubts | None:  # noqa: ARG002
        return None if (before, after) in self.bad_moves else NO_DOUBTS


def a_lane(size: int, *, rank: int = 0, goal: int | None = None, moves: list[list[int]] | None = None) -> Lane:
    every = range(size)
    return Lane(
        rank=rank,
        start=0,
        goal=size - 1 if goal is None else goal,
        moves=tuple(tuple(to for to in (every if moves is None else moves[at]) if to != at) for at in every),
        reloads=tuple([0] * size),
        dislike=tuple([0] * size),
    )


def a_chain(size: int, rank: int = 0) -> Lane:
    return a_lane(size, rank=rank, moves=[[at + 1] if at + 1 < size else [] for at in range(size)])


def free(**given_: object) -> TableJudge:
    return TableJudge(doubts={}, **given_)  # type: ignore[arg-type]


def test_the_preferred_group_moves_first_where_nothing_else_matters() -> None:
    way = find_way([a_chain(3, rank=1), a_chain(2, rank=0)], free())
    assert way.states == ((0, 0), (0, 1), (1, 1), (2, 1))


def test_fewer_doubts_count_more_than_the_preferred_order() -> None:
    judge = TableJudge(doubts={(0, 1): Doubts(0, 1)})
    way = find_way([a_chain(2, rank=1), a_chain(2, rank=0)], judge)
    assert way.states == ((0, 0), (1, 0), (1, 1))


def test_one_unknown_counts_more_than_many_warnings() -> None:
    judge = TableJudge(doubts={(0, 1): Doubts(1, 0), (1, 0): Doubts(0, 9)})
    way = find_way([a_chain(2, rank=1), a_chain(2, rank=0)], judge)
    assert way.states == ((0, 0), (1, 0), (1, 1))


def test_a_shorter_way_counts_more_than_fewer_doubts() -> None:
    lane = a_lane(3, goal=1)
    way = find_way([lane], TableJudge(doubts={(1,): Doubts(5, 5)}))
    assert way.states == ((0,), (1,))


def test_a_detour_is_taken_where_the_straight_way_is_forbidden() -> None:
    lane = a_lane(3, goal=1)
    way = find_way([lane], free(bad_moves=frozenset({((0,), (1,))})))
    assert way.states == ((0,), (2,), (1,))


def test_a_dead_end_leads_as_near_as_one_gets() -> None:
    way = find_way([a_chain(4), a_chain(2, rank=1)], free(bad_states=frozenset({(3, 0), (3, 1)})))
    assert not way.is_complete
    assert way.states[-1] == (2, 1)


def test_a_lane_that_cannot_reach_its_goal_alone_ends_the_search() -> None:
    lane = a_lane(3, moves=[[1], [], []])
    assert lane.left == (FAR, FAR, 0)
    way = find_way([lane, a_chain(2, rank=1)], free())
    assert not way.is_complete
    assert way.states[-1][1] == 1


def test_a_start_that_is_the_goal_needs_no_step() -> None:
    assert find_way([a_lane(2, goal=0)], free()) == Way(states=((0,),), is_complete=True)


def test_the_start_itself_may_be_forbidden() -> None:
    assert find_way([a_chain(2)], free(bad_states=frozenset({(0,)}))).is_complete


SIZES = st.lists(st.integers(1, 4), min_size=1, max_size=3)


@st.composite
def spaces(draw: st.DrawFn) -> tuple[list[Lane], TableJudge]:
    lanes = []
    for rank, size in enumerate(draw(SIZES)):
        moves = [draw(st.lists(st.integers(0, size - 1), unique=True, max_size=size)) for _ in range(size)]
        lanes.append(a_lane(size, rank=rank, goal=draw(st.integers(0, size - 1)), moves=moves))
    states = sorted(product(*(range(len(lane.moves)) for lane in lanes)))
    bad = draw(st.sets(st.sampled_from(states), max_size=len(states) // 2))
    moves_ = [pair for pair in product(states, states) if sum(a != b for a, b in zip(*pair, strict=True)) == 1]
    bad_moves = draw(st.sets(st.sampled_from(moves_), max_size=6)) if moves_ else set()
    doubts = draw(st.dictionaries(st.sampled_from(states), st.builds(Doubts, st.integers(0, 2), st.integers(0, 2))))
    return lanes, TableJudge(bad_states=frozenset(bad), bad_moves=frozenset(bad_moves), doubts=doubts)


def neighbours(lanes: list[Lane], judge: TableJudge, state: State) -> list[tuple[State, int]]:
    found = []
    for place, lane in enumerate(lanes):
        for to in lane.moves[state[place]]:
            after = (*state[:place], to, *state[place + 1 :])
            if judge.stack_doubts(after) is not None and judge.move_doubts(state, after, place) is not None:
                found.append((after, lane.rank))
    return found


def best_by_trying_everything(lanes: list[Lane], judge: TableJudge) -> tuple[int, int, int, tuple[int, ...]] | None:
    """The least (steps, unknowns, warnings, ranks) of any way, layer by layer."""
    start, goal = tuple(lane.start for lane in lanes), tuple(lane.goal for lane in lanes)
    layer: dict[State, tuple[int, int, int, tuple[int, ...]]] = {start: (0, 0, 0, ())}
    seen = {start}
    while layer:
        if goal in layer:
            return layer[goal]
        below: dict[State, tuple[int, int, int, tuple[int, ...]]] = {}
        for state, (count, unknowns, warnings, ranks) in layer.items():
            for after, rank in neighbours(lanes, judge, state):
                doubts = judge.stack_doubts(after) or NO_DOUBTS
                cost = (count + 1, unknowns + doubts.unknown_count, warnings + doubts.warn_count, (*ranks, rank))
                if after not in seen and (after not in below or cost < below[after]):
                    below[after] = cost
        seen |= below.keys()
        layer = below
    return None


@settings(max_examples=300, deadline=None)
@given(spaces())
def test_no_way_is_better_than_the_one_found(space: tuple[list[Lane], TableJudge]) -> None:
    lanes, judge = space
    way, best = find_way(lanes, judge), best_by_trying_everything(lanes, judge)
    assert way.is_complete is (best is not None)
    if best is None:
        return
    unknowns = sum((judge.stack_doubts(state) or NO_DOUBTS).unknown_count for state in way.states[1:])
    warnings = sum((judge.stack_doubts(state) or NO_DOUBTS).warn_count for state in way.states[1:])
    ranks = [
        next(lane.rank for lane, a, b in zip(lanes, one, other, strict=True) if a != b)
        for one, other in pairwise(way.states)
    ]
    assert (len(way.states) - 1, unknowns, warnings, tuple(ranks)) == best
    for before, after in pairwise(way.states):
        assert after in [state for state, _ in neighbours(lanes, judge, before)]


@settings(max_examples=100, deadline=None)
@given(spaces())
def test_asked_again_the_search_answers_the_same(space: tuple[list[Lane], TableJudge]) -> None:
    assert find_way(*space) == find_way(*space)
