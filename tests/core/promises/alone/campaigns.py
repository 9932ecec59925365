"""Broken rules of a campaign: its record first, evidence before the fleet, a way back, and nobody out of turn."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from seatrial.core.budget import capacity, recall
from seatrial.core.campaign import baking, course, gating, going_back
from seatrial.core.campaign import step as campaigns
from seatrial.core.decision import stops, turns
from seatrial.core.model import windows
from seatrial.core.model.campaign import Campaign, RolloutPhase
from seatrial.core.model.gates import closed as closing
from seatrial.core.model.policy import Eviction
from seatrial.core.movers import letting_in, publishing
from seatrial.core.movers.view import View
from seatrial.core.node import progress
from seatrial.core.promises.of_campaigns import (
    accepted,
    bake,
    let_in,
    measured,
    on_time,
    one_thing,
    overwritten,
    record_first,
    rejected,
    turn,
    unopened,
    way_back,
)
from seatrial.ports import Sight
from seatrial.sim import outside as outer
from seatrial.sim.nodes import Fate
from seatrial.sim.outside import GateFate
from seatrial.sim.world import World
from tests.builders import NEW, SMOKE, a_gpu_pod, an_intent, with_repository
from tests.core.judging.played import Played
from tests.core.promises.alone.rules import HOUR, Row, Story, row
from tests.sim import test_delegated_campaigns as delegated
from tests.sim import test_operand_pods as operands
from tests.sim.test_outside import THIRD, aborting, publishing_a_third_version
from tests.sim.test_world import some_nodes


def a_canary_and_a_fleet() -> Story:
    """One canary, one gate, four hours of bake, and a node that follows."""
    return Story(Played(SMOKE).world)


def a_canary_and_a_fleet_side_by_side() -> Story:
    """The same, and the limits would have room for both at once."""
    world = Played(SMOKE).world
    world.intent = an_intent(parallel_max=2, unavailable_max=2, campaign=world.intent.campaign)
    return Story(world)


def a_fleet_with_a_node_that_fails() -> Story:
    """The node that follows the canary does not load the new driver, and one failure is allowed."""
    world = Played(SMOKE, node_fates={"n2": Fate(driver_fails_on=NEW.version)}).world
    world.intent = replace(world.intent, failed_max=1)
    return Story(world, hours=10)


def a_target_that_is_published_already() -> Story:
    """Somebody has published the target by hand; every node still runs the old driver."""
    world = Played(SMOKE).world
    published = outer.cluster_policy(NEW.version, is_auto_upgrading=False)
    world.change_outside(lambda outside: replace(outside, operator=published))
    return Story(world, hours=1)


def a_gate_that_says_nothing() -> Story:
    """A gate that cannot be measured."""
    return Story(Played(SMOKE, fates={SMOKE.name: GateFate(unknown_rounds=frozenset(range(99)))}).world, hours=30)


def a_pause_in_the_bake() -> Story:
    """A person pauses while the canary bakes, and goes on an hour later."""
    world = Played(SMOKE).world
    for at, is_paused in ((2 * HOUR, True), (3 * HOUR, False)):
        world.at(at, partial(_pause, is_paused=is_paused))
    return Story(world)


def a_pause_of_a_plain_rollout() -> Story:
    """Somebody pauses while nodes wait for their turn."""
    world = World(some_nodes(3), an_intent(parallel_max=1, unavailable_max=1))
    world.at(100.0, partial(_pause, is_paused=True))
    return Story(world, hours=2)


def _pause(world: World, *, is_paused: bool) -> None:
    world.intent = replace(world.intent, is_paused=is_paused)


def a_window_that_closes() -> Story:
    """The window closes in the bake, and opens a day later."""
    world = Played(SMOKE).world
    campaign = world.intent.campaign
    assert campaign is not None
    openings = ((0.0, 2 * HOUR), (24 * HOUR, 48 * HOUR))
    world.intent = replace(world.intent, campaign=replace(campaign, openings=openings))
    return Story(world, hours=40)


def another_rollout_beside() -> Story:
    """Another one is proposed in the same moment, and seen when both have begun."""
    world = Played(SMOKE).world
    observe = world.observe

    def observed() -> Sight:
        sight, record = observe(), world.rollout.campaign
        is_seen = record is not None and record.phase is not RolloutPhase.PROPOSED
        return replace(sight, seen=replace(sight.seen, others=("winter",))) if is_seen else sight

    world.observe = observed  # type: ignore[method-assign]
    return Story(world, hours=2)


def an_abort_for_no_fault_of_the_version() -> Story:
    """A rollout with a matrix is undone by a person, who says nothing against the version."""
    story = operands.Story(operands.wish(NEW, operands.careful(has_source=True)))
    story.world.change_outside(lambda world: with_repository(world, NEW.version))
    story.world.at(1.5 * HOUR, aborting)
    return Story(story.world, hours=20)


def an_abort_after_a_third_version() -> Story:
    """Somebody publishes a newer version while the canary bakes, and a person aborts for its sake."""
    world = Played(SMOKE).world
    world.at(2 * HOUR, partial(publishing_a_third_version, version=THIRD))
    world.at(2.5 * HOUR, aborting)
    return Story(world, hours=10)


def a_canary_that_cannot_be_emptied() -> Story:
    """The canary fails before its driver is touched: that says nothing about the version."""
    fates = {"n1": Fate(is_eviction_blocked=True)}
    intent = operands.wish(NEW, operands.careful(has_source=True))
    intent = replace(intent, policy=replace(intent.policy, eviction=Eviction(timeout_seconds=60.0)))
    story = operands.Story(intent, fates=fates)
    story.world.change("n1", lambda node: replace(node, facts=replace(node.facts, pods=(a_gpu_pod(),))))
    story.world.change_outside(lambda world: with_repository(world, NEW.version))
    return Story(story.world, hours=20)


def many_that_nvidia_moves() -> Story:
    """NVIDIA's controller moves seventeen nodes, four at a time."""
    return Story(delegated.Story().world, hours=3)


def a_window_for_many_that_nvidia_moves() -> Story:
    """The window closes in the middle of the waves."""
    return Story(delegated.Story(openings=((0.0, 1000.0),)).world, hours=2)


def many_that_fail_under_nvidia() -> Story:
    """Nodes fail after the canary, and none may."""
    fates = {f"n{number:02}": delegated.BROKEN for number in range(3, 17)}
    return Story(delegated.Story(fates=fates).world, hours=6)


ROWS: tuple[Row, ...] = (
    row(
        turn,
        "a campaign goes on in another phase than it was paused in",
        a_pause_in_the_bake,
        (
            campaigns._resume,
            "view.record, view.record.paused_in or RolloutPhase.PROPOSED",
            "view.record, RolloutPhase.WAVING",
        ),
    ),
    row(
        turn,
        "a phase is opened that the table does not allow",
        a_canary_and_a_fleet,
        (course.turn_to, "to not in TRANSITIONS[record.phase]", "False"),
        (campaigns._move_canaries, "RolloutPhase.GATING,", "RolloutPhase.WAVING,"),
    ),
    row(
        turn,
        "the number of a round is used again",
        a_canary_and_a_fleet,
        (baking.next_round, "round=record.round + 1", "round=record.round - 1"),
    ),
    row(
        record_first,
        "acts go out in the pass that writes their record",
        a_canary_and_a_fleet,
        (
            campaigns.step_rollout,
            "return course if course.record == record else replace(course, acts=(), open=frozenset())",
            "return course",
        ),
    ),
    row(
        bake,
        "the bake ends at once",
        a_canary_and_a_fleet,
        (baking.is_ended, "record.baked_seconds >= campaign.bake.seconds", "True"),
    ),
    row(
        bake,
        "a round without a verdict counts as passed",
        a_gate_that_says_nothing,
        (
            vars(baking.Round)["verdict"].fget,
            "worst(each.verdict for each in self.results if not each.is_left_out)",
            "GateVerdict.PASSED",
        ),
        (
            gating._between_rounds,
            "each.verdict is GateVerdict.PASSED or each.is_left_out for each in record.gates",
            "True for each in record.gates",
        ),
        (baking.why_incomplete, "verdict is not GateVerdict.PASSED", "False"),
    ),
    row(
        accepted,
        "a failed node does not keep its campaign from its end",
        a_fleet_with_a_node_that_fails,
        (campaigns._promote, "waits is not None", "False"),
    ),
    row(
        measured,
        "a canary is opened before its gates have passed",
        a_canary_and_a_fleet,
        (turns._step, "node.name in course.closed\n", "False\n"),
    ),
    row(
        measured,
        "no gate keeps a canary closed",
        a_canary_and_a_fleet,
        (closing.kept_closed, "if gate.wants_gpus and not gate.is_soak", "if False"),
    ),
    row(
        way_back,
        "the old version is not written down",
        a_canary_and_a_fleet,
        (campaigns._propose, "view.mover.baseline(view)", "()"),
    ),
    row(
        way_back,
        "the target is written down as the old version",
        a_target_that_is_published_already,
        (publishing.baseline, "is_same(text, share_of(resource, view.target))", "False"),
    ),
    row(
        overwritten,
        "the way back overwrites what came later",
        an_abort_after_a_third_version,
        (progress._back_to, "text_of(old if is_same(driver, target) else driver, left)", "before"),
    ),
    row(
        unopened,
        "everybody follows the canary at once",
        a_canary_and_a_fleet_side_by_side,
        (campaigns._start_canaries, "first = view.with_units(record.canaries)", "first = frozenset(view.nodes)"),
    ),
    row(
        on_time, "a window never closes", a_window_that_closes, (windows.closing, "opens <= now < ends", "opens <= now")
    ),
    row(
        on_time,
        "nodes start without a look at the windows",
        a_window_that_closes,
        (campaigns._let_start, "closed is not None", "False"),
    ),
    row(
        on_time,
        "NVIDIA's controller is let in outside of every window",
        a_window_for_many_that_nvidia_moves,
        (View.closed, "windows.is_open(openings, now, self.mover.margin_seconds)", "True"),
    ),
    row(
        on_time,
        "a pause does not stop nodes from starting",
        a_pause_of_a_plain_rollout,
        (stops.why_stopped, "if intent.is_paused:", "if False:"),
    ),
    row(
        let_in,
        "nodes are let in that the ledger does not name",
        many_that_nvidia_moves,
        (letting_in.let_in, "_let_in(view, turn)[0]", "frozenset(turn)"),
    ),
    row(
        let_in,
        "a version is published before nodes are kept out",
        many_that_nvidia_moves,
        (letting_in.may_be_started, "by_nvidias_word(node.facts, version) is not Progress.AWAY", "True"),
    ),
    row(
        let_in,
        "nodes are let in after too many failures",
        many_that_fail_under_nvidia,
        (capacity.has_failed, "record is not None and record.phase is NodePhase.UPGRADE_FAILED", "False"),
        (campaigns._wave, "len(failed) > view.intent.failed_max", "False"),
        (capacity.Tally.why_not, "len(budget.failed) > budget.failed_max", "False"),
        (capacity.Tally.is_full, "has_failed or", ""),
        (recall.recalled, "len(budget.failed) > budget.failed_max", "False"),
    ),
    row(
        one_thing,
        "two rollouts publish at the same time",
        another_rollout_beside,
        (publishing.publish, "view.seen.others and step is not PublishStep.REVERT", "False"),
    ),
    row(
        rejected,
        "every abort marks the entry bad",
        an_abort_for_no_fault_of_the_version,
        (going_back.step_reverting, "not acts and view.campaign.rejects(view.record)", "not acts"),
    ),
    row(
        rejected,
        "an abort counts as a rejection",
        an_abort_for_no_fault_of_the_version,
        (Campaign.rejects, "self.has_source and (bool(record.rejected) or self.marks_bad)", "self.has_source"),
    ),
    row(
        rejected,
        "a canary that could not be emptied counts against the version",
        a_canary_that_cannot_be_emptied,
        (course.fail, 'why if is_verdict else ""', "why"),
    ),
)
