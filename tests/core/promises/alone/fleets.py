"""Broken rules of a fleet: limits, the ledger, how much a pass does."""

from __future__ import annotations

from dataclasses import replace

from seatrial.core.budget import capacity, recall, units
from seatrial.core.budget.attrition import booking
from seatrial.core.decision import decide, turns
from seatrial.core.model.intent import Domain
from seatrial.core.model.policy import Attrition, Limits, Policy, Share
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.node import step
from seatrial.core.promises.of_fleets import admitted, bounded, capacity_kept, one_act, whole
from seatrial.sim.world import World
from tests.builders import an_intent
from tests.core.judging.played import Played
from tests.core.promises.alone.rules import HOUR, Row, Story, row
from tests.sim import test_attrition_floors as floors
from tests.sim import test_attrition_world as attrition
from tests.sim.test_attrition_floors import RACK
from tests.sim.test_delegated_campaigns import BROKEN
from tests.sim.test_world import some_nodes

CLIQUE = "nvidia.com/gpu.clique"


def two_by_two() -> Story:
    """Six nodes, of which two may be under way."""
    return Story(World(some_nodes(6, gpu_pod_count=1), an_intent(parallel_max=2, unavailable_max=4)))


def two_of_a_pool() -> Story:
    """Six nodes of one NVIDIADriver, of which one may be under way; the rollout itself has room for all of them."""
    one = Policy(limits=Limits(parallel_max=1, unavailable_max=Share(amount=6)))
    nodes = some_nodes(6, gpu_pod_count=1)
    nodes = [replace(node, facts=replace(node.facts, owner="blue")) for node in nodes]
    return Story(World(nodes, an_intent(parallel_max=6, unavailable_max=6, pools={"blue": one})), hours=1)


def two_of_a_rack() -> Story:
    """Six nodes of one rack, of which a third may be unavailable."""
    domains = (Domain(label=RACK, unavailable_max=Share.parse("34%")),)
    intent = an_intent(parallel_max=6, unavailable_max=6, domains=domains)
    return Story(World(some_nodes(6, gpu_pod_count=1, labels={RACK: "r1"}), intent), hours=1)


def a_node_that_an_admin_took() -> Story:
    """Six nodes of which two may be unavailable, and an admin has cordoned one of them."""
    nodes = some_nodes(6, gpu_pod_count=1)
    nodes[0] = replace(nodes[0], facts=replace(nodes[0].facts, is_cordoned=True))
    return Story(World(nodes, an_intent(parallel_max=4, unavailable_max=2)), hours=1)


def sixteen_gpus() -> Story:
    """Four nodes of eight GPUs, of which eight GPUs may stand idle."""
    nodes = some_nodes(4, gpu_count=8)
    return Story(World(nodes, an_intent(parallel_max=4, unavailable_max=4, idle_gpus_max=8)), hours=1)


def drivers_that_fail() -> Story:
    """Six nodes whose new driver never gets Ready; no failure is tolerated."""
    intent = an_intent(parallel_max=1, unavailable_max=6, failed_max=0)
    return Story(World(some_nodes(6), intent, fates={f"n{each}": BROKEN for each in range(1, 7)}))


def jobs_that_end_together() -> Story:
    """By attrition: four jobs end in the same moment, and one node may be unavailable."""
    busy = floors.Watched(unavailable_max=1)
    busy.ends(2, "jn1", "jn2", "jn3", "jn4")
    return Story(busy.world, hours=5)


def empty_nodes_by_attrition() -> Story:
    """By attrition: four nodes without jobs, of which one may be unavailable."""
    return Story(attrition.Busy({f"n{each}": () for each in range(1, 5)}, unavailable_max=1).world, hours=5)


def jobs_of_a_unit_that_end_apart() -> Story:
    """By attrition: of each unit of two nodes one is empty hours before the other."""
    patient = Attrition(deadline_seconds=24 * HOUR, evicts_early=False)
    busy = floors.Watched(domains=(Domain(label=RACK, is_unit=True),), way=patient)
    busy.ends(2, "jn2", "jn3")
    busy.ends(5, "jn1", "jn4")
    return Story(busy.world, hours=7)


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
        capacity_kept,
        "the limit on unavailable nodes is not asked for",
        a_node_that_an_admin_took,
        (capacity.Tally._why_not_in, "return Why(HoldCode.UNAVAILABLE_LIMIT, name)", "return None"),
        (recall.recalled, "len(scope.unavailable) + len(taken[name]) > scope.unavailable_max", "False"),
    ),
    row(
        capacity_kept,
        "a node that an admin took does not count",
        a_node_that_an_admin_took,
        (capacity.is_away, "node.facts.is_unavailable or is_bare", "is_bare"),
    ),
    row(
        capacity_kept,
        "a pool has no limit of its own",
        two_of_a_pool,
        (capacity.place_of, "facts.owner in intent.pools", "False"),
    ),
    row(
        capacity_kept,
        "a rack has no floor",
        two_of_a_rack,
        (capacity.place_of, "name and domain.unavailable_max is not None", "False"),
    ),
    row(
        capacity_kept,
        "more GPUs stand idle than may",
        sixteen_gpus,
        (
            capacity.Tally._idles_too_many,
            "idle.of(self._held | new) > idle.gpus_max",
            "False",
        ),
        (recall.recalled, "budget.idle is not None and budget.idle.of(admitted) > budget.idle.gpus_max", "False"),
    ),
    row(
        capacity_kept,
        "failures do not end the admissions",
        drivers_that_fail,
        (capacity.failed_of, "if not failed:", "if True:"),
    ),
    row(
        capacity_kept,
        "by attrition all nodes whose jobs have ended are taken",
        jobs_that_end_together,
        (capacity.Tally._why_not_in, "return Why(HoldCode.UNAVAILABLE_LIMIT, name)", "return None"),
        (recall.recalled, "len(scope.unavailable) + len(taken[name]) > scope.unavailable_max", "False"),
        (recall.surplus, "return frozenset(back)", "return frozenset()"),
    ),
    row(
        capacity_kept,
        "by attrition empty nodes are closed whatever the limits",
        empty_nodes_by_attrition,
        (booking._closed, "idle and room.why_not(idle) is not None", "False"),
    ),
    row(
        whole,
        "by attrition an empty node does not wait for its unit",
        jobs_of_a_unit_that_end_apart,
        (booking.enter, "asking.coming | late", "asking.coming"),
        (
            booking._split,
            "[tuple(names)] if _may_ever_go(names, budget)",
            "[tuple(names)] if False",
        ),
        (capacity.admit, "unit in late or unit in unfit", "False"),
    ),
    row(
        whole,
        "a unit is let in without the members that cannot start",
        a_unit_with_a_broken_member,
        (units.unfit, "if code is not None:", "if False:"),
        (units.not_asking, "if _is_left(nodes[name])", "if False"),
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
