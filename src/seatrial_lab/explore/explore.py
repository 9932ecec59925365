"""The explorer: every reachable state of a small world, with old views, lost answers and crashes at any point.

A state is the truth and what the controller believes. From each state: any one act of the pass is executed (or
refused), any view catches up, any node reacts, and the controller may start again: from the oldest view there is, or
with a list that is read node by node and says until its end that it is not whole. An act executed while the view stays
behind is a lost answer; acts not executed are a crash. Time stands still, so a deadline never saves us. Finds a broken
promise with the shortest story that leads to it, and every state that can reach no end. A campaign adds what is outside
of the nodes (outside.py), what is true of it (campaigns.py), and people who change what they ask for on the way.

Tests: tests/model/test_explore.py, tests/model/test_explore_campaign.py
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from seatrial.core.decision.decide import decide
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.promises import invariants
from seatrial.core.promises.breach import Promise
from seatrial.sim import outside as outer
from seatrial.sim.acts import apply
from seatrial.sim.driver_pods import Reaction
from seatrial.sim.nodes import Fate
from seatrial.sim.outside import GateFate, Outside
from seatrial.sim.reactions import REACTIONS
from seatrial_lab.explore.model import RESTARTS, Answerer, Decider, Model, OuterAnswerer, State


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterexample:
    """A promise broken, and the story that leads there."""

    broken: str
    story: tuple[str, ...]

    def __str__(self) -> str:
        lines = (f"{number:3}. {line}" for number, line in enumerate(self.story, 1))
        return "\n".join([*lines, f"  => {self.broken}"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Exploration:
    """What was found."""

    state_count: int
    edge_count: int
    end_count: int = 0
    """States in which nothing moves any more, and every node is done or waits for somebody's decision."""
    counterexample: Counterexample | None = None
    """A broken promise, or a state that cannot reach any end; None in a world where all is well."""


def explore(
    nodes: tuple[NodeSeen, ...],
    intent: Intent,
    *,
    fates: Mapping[str, Fate] | None = None,
    outside: Outside | None = None,
    gate_fates: Mapping[str, GateFate] | None = None,
    changes: tuple[tuple[str, Intent], ...] = (),
    decider: Decider = decide,
    answerer: Answerer = apply,
    outer_answerer: OuterAnswerer = outer.apply,
    promises: tuple[Promise, ...] = invariants.PROMISES,
    world: Mapping[str, Reaction] = REACTIONS,
    has_memory: bool = False,
    restarts: frozenset[str] | None = None,
    restarts_max: int = 1,
    since: RolloutPhase | None = None,
    state_limit: int = 2_000_000,
) -> Exploration:
    """Walk every reachable state, or stop at the first broken promise.

    With `has_memory` every answer is heard, and the controller knows what it cannot see yet, as the loop does; without,
    answers are lost. `restarts` are the ways in which it starts again, all of them unless told otherwise. `changes` are
    what people ask for instead as time goes by, one after the other, each with a line for the story. With `since` it
    begins where the campaign comes to that phase on a shortest way on which nobody crashes or asks for anything else,
    and everything is seen.
    """
    model = Model(
        nodes,
        (("", intent), *changes),
        fates or {},
        outside or Outside(),
        gate_fates or {},
        decider,
        answerer,
        outer_answerer,
        promises,
        world,
        has_memory,
        RESTARTS if restarts is None else restarts,
        restarts_max,
    )
    if since is not None:
        model.begin_at(_shortest(model, since))
    walk = _Walk(model)
    broken = walk.to_the_end(state_limit)
    return walk.stopped(broken) if broken is not None else walk.over()


def _shortest(model: Model, phase: RolloutPhase) -> State:
    """The nearest state in which the campaign is in a phase and everything is seen."""
    met, waiting = {model.start}, deque([model.start])
    while waiting:
        state = waiting.popleft()
        if model.phase(state) is phase and model.is_all_seen(state):
            return state
        for line, following in model.moves(state):
            if line not in RESTARTS and line not in model.wishes and following not in met:
                met.add(following)
                waiting.append(following)
    raise ValueError(f"The campaign is never {phase}.")


class _Walk:
    """The states met so far, numbered; how each was first reached, and from where it can be."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._states, self._parents, self._before = [model.start], [(-1, "")], [[-1]]
        self._ends: list[int] = []
        self._deadlocks: list[int] = []
        self._edge_count = 0

    def to_the_end(self, state_limit: int) -> tuple[int, str] | None:
        """Walk until every state was met, or one of them breaks a promise: its number, and what it breaks."""
        model, states, parents, before = self._model, self._states, self._parents, self._before
        number_of: dict[State, int] = {model.start: 0}
        for number, state in enumerate(states):  # grows while we walk: a queue that remembers
            if number >= state_limit:
                raise RuntimeError(f"More than {state_limit} states; make the world smaller.")
            broken = model.why_broken(state)
            if broken is not None:
                return number, broken
            is_still = True
            for line, following in model.moves(state):
                self._edge_count += 1
                reached = number_of.get(following)
                if reached is None:
                    reached = number_of[following] = len(states)
                    states.append(following)
                    parents.append((number, line))
                    before.append([])
                before[reached].append(number)
                is_still = is_still and (line in RESTARTS or line in model.wishes)
            if is_still:
                (self._ends if model.is_end(state) else self._deadlocks).append(number)
        return None

    def stopped(self, at: tuple[int, str]) -> Exploration:
        """What was found, where a promise was broken."""
        number, broken = at
        story = _story(number, self._parents)
        return Exploration(
            state_count=number + 1,
            edge_count=self._edge_count,
            counterexample=Counterexample(broken=broken, story=story),
        )

    def over(self) -> Exploration:
        """What was found, where every state was met."""
        lost = self._deadlocks[0] if self._deadlocks else _first_lost(self._ends, self._before)
        found = None
        if lost is not None:
            why = f"no end can be reached: {self._model.describe(self._states[lost])}"
            found = Counterexample(broken=why, story=_story(lost, self._parents))
        return Exploration(
            state_count=len(self._states),
            edge_count=self._edge_count,
            end_count=len(self._ends),
            counterexample=found,
        )


def _story(number: int, parents: list[tuple[int, str]]) -> tuple[str, ...]:
    lines = []
    while number > 0:
        number, line = parents[number]
        lines.append(line)
    return tuple(reversed(lines))


def _first_lost(ends: list[int], before: list[list[int]]) -> int | None:
    """The first state from which no end can be reached, if there is one."""
    reached = set(ends)
    todo = deque(ends)
    while todo:
        for number in before[todo.popleft()]:
            if number >= 0 and number not in reached:
                reached.add(number)
                todo.append(number)
    return next((number for number in range(len(before)) if number not in reached), None)
