"""Broken rules of a fleet: limits, the ledger, how much a pass does."""

from __future__ import annotations

from dataclasses import replace

from seatrial.core import decide
from seatrial.core.budget import capacity
from seatrial.core.deciding import turns
from seatrial.core.model.intent import Domain
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.node import step
from seatrial.core.promises.of_fleets import admitted, bounded, capacity_kept, one_act, whole
from seatrial.sim.world import World
from tests.builders import an_intent
from tests.core.alone.rules import Row, Story, row
from tests.core.played import Played
from tests.sim.test_world import some_nodes

CLIQUE = "nvidia.com/gpu.clique"


def two_by_two() -> Story:
    """Six nodes, of which two may be under way."""
    return Story(World(some_nodes(6, gpu_pod_count=1), an_intent(parallel_max=2, unavailable_max=4)))


def a_unit_with_a_broken_member() -> Story:
    """Two nodes that go together or not at all; one of them is not Ready."""
    intent = an_intent(parallel_max=2, unavailable_max=2, domains=(Domain(label=CLIQUE, is_unit=True),))
    nodes = some_nodes(2, labels={CLIQUE: "a"})
    nodes[0] = replace(nodes[0], facts=replace(nodes[0].facts, is_ready=False))
    return Story(World(nodes, intent))


def a_canary_whose_mark_is_taken_away() -> Story:
    """Somebody takes our mark off the canary in the moment in which its new driver is Ready."""
    world = Played().world

    def unmark(world: World) -> None:
        world.change("n1", lambda node: replace(node, facts=replace(node.facts, canary_of="")))

    def look(before: NodeSeen, after: NodeSeen) -> None:
        was, driver = before.facts.driver, after.facts.driver
        if was is not None and driver is not None and driver.is_ready and not was.is_ready:
            world.at(world.time, unmark)

    world.watchers.append(look)
    return Story(world)


def two_hundred_and_one_nodes() -> Story:
    """More nodes than a pass may write to, all of them new to us."""
    return Story(World(some_nodes(201), an_intent()), hours=0.01)


ROWS: tuple[Row, ...] = (
    row(
        capacity_kept,
        "one node more than the limit is let in",
        two_by_two,
        (capacity.Tally._why_not_in, "len(inside) > scope.parallel_max:", "len(inside) > scope.parallel_max + 1:"),
        (capacity.Tally.is_full, ">= whole.parallel_max", "> whole.parallel_max"),
    ),
    row(
        whole,
        "half a unit is let in",
        a_unit_with_a_broken_member,
        (capacity.admit, "unit in late or unit in unfit", "False"),
    ),
    row(
        admitted,
        "a node starts that the ledger does not name",
        two_by_two,
        (
            step._is_admitted,
            "node.record is not None and orders.admitted.get(node.facts.name) == node.record.attempt",
            "True",
        ),
    ),
    row(
        one_act,
        "a node takes a step in the pass in which its campaign marks it",
        a_canary_whose_mark_is_taken_away,
        (turns.steps, "node.facts.name in busy", "False"),
    ),
    row(
        bounded,
        "a pass has no limit",
        two_hundred_and_one_nodes,
        (decide._bounded, "ordered[:room]", "ordered"),
    ),
)
