"""The explorer: every reachable state of a small world, with old views, lost answers and crashes at any point.

A state is the truth and what the controller believes. From each state: any one act of the pass is executed (or refused),
any view catches up, any node reacts. An act executed while the view stays behind is a lost answer; acts not executed are a
crash. Time stands still, so a deadline never saves us. Finds a broken promise with the shortest story that leads to it.

Tests: tests/model/test_explore.py
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TypeAlias

from seatrial.core import invariants
from seatrial.core.actions import Action, WriteRolloutRecord
from seatrial.core.decide import Decision, decide
from seatrial.core.intent import Intent
from seatrial.core.node import ENDED, NOT_STARTED
from seatrial.core.snapshot import NodeSeen, RolloutRecord, Snapshot
from seatrial.sim.reactions import HEALTHY, REACTIONS, Fate, Refused, apply

Decider: TypeAlias = Callable[[Snapshot, Intent, float], Decision]


@dataclass(frozen=True, slots=True)
class State:
    """The truth, and the view of it."""

    nodes: tuple[NodeSeen, ...]
    ledger: RolloutRecord
    seen_nodes: tuple[NodeSeen, ...]
    seen_ledger: RolloutRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterexample:
    """A promise broken, and the story that leads there."""

    broken: str
    story: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([*(f"{number:3}. {line}" for number, line in enumerate(self.story, 1)), f"  => {self.broken}"])


@dataclass(slots=True)
class Exploration:
    """What was found."""

    state_count: int = 0
    edge_count: int = 0
    settled_count: int = 0
    counterexample: Counterexample | None = None
    stuck_count: int = 0
    """States from which no end can be reached."""
    reverse: dict[State, list[State]] = field(default_factory=dict)


def explore(
    nodes: tuple[NodeSeen, ...],
    intent: Intent,
    *,
    fates: dict[str, Fate] | None = None,
    decider: Decider = decide,
    state_limit: int = 2_000_000,
) -> Exploration:
    """Walk every reachable state, or stop at the first broken promise."""
    ledger = RolloutRecord(name=intent.rollout, resource_version="1")
    start = State(nodes, ledger, nodes, ledger)
    parents: dict[State, tuple[State, str] | None] = {start: None}
    found = Exploration()
    todo = deque([start])
    passes = _passes(intent, decider)
    settled: list[State] = []
    while todo:
        state = todo.popleft()
        found.state_count += 1
        if found.state_count > state_limit:
            raise RuntimeError(f"More than {state_limit} states; make the world smaller.")
        overspent = why_overspent(state.nodes, intent)
        decision, breaches = passes(state.seen_nodes, state.seen_ledger)
        if overspent or breaches:
            found.counterexample = _tell(state, parents, overspent or str(breaches[0]))
            return found
        if is_settled(state):
            settled.append(state)
        for line, following in _moves(state, decision, fates or {}):
            found.edge_count += 1
            found.reverse.setdefault(following, []).append(state)
            if following not in parents:
                parents[following] = (state, line)
                todo.append(following)
    found.settled_count = len(settled)
    found.stuck_count = len(parents) - len(_reaching(settled, found.reverse))
    return found


def why_overspent(nodes: tuple[NodeSeen, ...], intent: Intent) -> str | None:
    """What the truth says about the limits; the controller's view does not come into it."""
    under_way = {node.name for node in nodes if node.record is not None and is_under_way(node)}
    taken = under_way | {node.name for node in nodes if node.facts.is_unavailable}
    parallel_max = intent.limits.parallel_max or len(nodes)
    if len(under_way) > parallel_max:
        return f"{len(under_way)} nodes under way at a limit of {parallel_max}: {', '.join(sorted(under_way))}"
    unavailable_max = intent.limits.unavailable_max.of(len(nodes))
    if under_way and len(taken) > unavailable_max:
        return f"{len(taken)} nodes unavailable at a limit of {unavailable_max}: {', '.join(sorted(taken))}"
    return None


def is_under_way(node: NodeSeen) -> bool:
    """Started and not ended."""
    phase = node.record.phase if node.record else None
    return phase not in NOT_STARTED and phase not in ENDED


def is_settled(state: State) -> bool:
    """Every node ended, and nobody left in the ledger."""
    ended = all(node.record is not None and node.record.phase in ENDED for node in state.nodes)
    return ended and not state.ledger.admitted


def _passes(
    intent: Intent, decider: Decider
) -> Callable[[tuple[NodeSeen, ...], RolloutRecord], tuple[Decision, tuple[invariants.Breach, ...]]]:
    # A pass depends on the view alone, and few views are new.
    @lru_cache(maxsize=None)
    def run(nodes: tuple[NodeSeen, ...], ledger: RolloutRecord) -> tuple[Decision, tuple[invariants.Breach, ...]]:
        seen = Snapshot(nodes={node.name: node for node in nodes}, rollout=ledger)
        decision = decider(seen, intent, 0.0)
        return decision, invariants.broken(seen, intent, decision)

    return run


def _moves(state: State, decision: Decision, fates: dict[str, Fate]) -> Iterator[tuple[str, State]]:
    for action in decision.actions:
        following = _execute(state, action, fates)
        if following is not None:
            yield f"act: {action.id}", following
    for index, node in enumerate(state.nodes):
        if state.seen_nodes[index] != node:
            yield f"seen: {node.name}", replace(state, seen_nodes=_with(state.seen_nodes, index, node))
        fate = fates.get(node.name, HEALTHY)
        for what, reaction in REACTIONS.items():
            # The generation of the driver pod serves as the time: it orders what has to be ordered, and stays finite.
            at = float(node.facts.driver.uid.rpartition("-")[2]) if node.facts.driver else 0.0
            facts = reaction(node.facts, fate, at)
            if facts is not None:
                reacted = replace(node, facts=facts)
                yield f"world: {node.name}, {what}", replace(state, nodes=_with(state.nodes, index, reacted))
    if state.seen_ledger != state.ledger:
        yield "seen: the ledger", replace(state, seen_ledger=state.ledger)


def _execute(state: State, action: Action, fates: dict[str, Fate]) -> State | None:
    if isinstance(action, WriteRolloutRecord):
        if action.record.resource_version != state.ledger.resource_version:
            return None
        if action.record.admitted == state.ledger.admitted:
            return None  # a summary for people; not part of this model
        version = str(int(state.ledger.resource_version) + 1)
        return replace(state, ledger=replace(action.record, resource_version=version, summary=None, summarised_at=0.0))
    index = next(place for place, node in enumerate(state.nodes) if node.name == action.node)
    answer = apply(state.nodes[index], action, fates.get(action.node, HEALTHY))
    if isinstance(answer, Refused) or answer == state.nodes[index]:
        return None
    return replace(state, nodes=_with(state.nodes, index, answer))


def _with(nodes: tuple[NodeSeen, ...], index: int, node: NodeSeen) -> tuple[NodeSeen, ...]:
    return (*nodes[:index], node, *nodes[index + 1 :])


def _reaching(ends: list[State], reverse: dict[State, list[State]]) -> set[State]:
    reached = set(ends)
    todo = deque(ends)
    while todo:
        for before in reverse.get(todo.popleft(), ()):
            if before not in reached:
                reached.add(before)
                todo.append(before)
    return reached


def _tell(state: State, parents: dict[State, tuple[State, str] | None], broken: str) -> Counterexample:
    story = []
    step = parents[state]
    while step is not None:
        before, line = step
        story.append(line)
        step = parents[before]
    return Counterexample(broken=broken, story=tuple(reversed(story)))
