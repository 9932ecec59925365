"""A canary that is compared: a loss that no limit knows is found, and what is not the upgrade's is left alone."""

from __future__ import annotations

import contextlib
import random
from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.decision.decide import decide
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import ENDED, Bake, CampaignRecord, RolloutPhase
from seatrial.core.model.gates.compared import Compared, Lens
from seatrial.core.model.gates.gate import Gate
from seatrial.sim.outside import GateFate
from seatrial.sim.world import World
from tests.builders import NEW, OLD
from tests.sim.test_outside import BACK, POLICY, a_world, drivers, phases, play

HOUR = 3600.0
FORWARD = [RolloutPhase.PROPOSED, *[RolloutPhase.CANARY] * 2, RolloutPhase.GATING, RolloutPhase.BAKING]
"""That it was measured before is a turn of its own: how long an upgrade takes counts from there."""
SPEED = Gate(name="speed", image="probes:1", probe="performance")
RATE = "matrix-fp32"
SOUND = GateFate(
    figures={OLD.version: {RATE: 50.0}, NEW.version: {RATE: 50.0}},
    unit="TFLOP/s",
    shares={"n1": 0.98, "n3": 1.01},
    spread=0.002,
)
SLOW = replace(SOUND, figures={OLD.version: {RATE: 50.0}, NEW.version: {RATE: 48.5}})


def a_measured_world(fate: GateFate, **changes: Any) -> World:
    world = a_world(POLICY, gate_fates={SPEED.name: fate}, **changes)
    assert world.intent.campaign is not None
    world.intent = replace(world.intent, campaign=replace(world.intent.campaign, gates=(SPEED,)))
    return world


def record_of(world: World) -> CampaignRecord:
    assert world.rollout.campaign is not None
    return world.rollout.campaign


def compared(world: World) -> Compared:
    found = record_of(world).compared
    assert found is not None
    return found


def test_a_sound_upgrade_is_measured_before_and_after_and_goes_its_way() -> None:
    world = a_measured_world(SOUND)
    acts = play(world)
    assert phases(world)[:6] == [*FORWARD, RolloutPhase.WAVING]
    assert phases(world)[-1] is RolloutPhase.DONE
    assert drivers(world) == [NEW.version] * 4
    assert record_of(world).history[2].why == "n2 was measured before its upgrade, and 3 nodes like it"
    (comparison,) = compared(world).comparisons
    assert (comparison.canary, comparison.controls) == ("n2", ("n1", "n3", "n4"))
    (track,) = comparison.of("n2")
    assert (track.before.count, track.paired_before.count) == (3, 3)
    assert track.paired.moments.count == 48, "every round counts once"
    assert acts.names.count("StartProbe") == 4 * (3 + 48)
    assert {each.lens for each in comparison.tracks} == {Lens.PLAIN}


def test_a_loss_of_three_percent_that_no_limit_knows_ends_the_campaign_in_the_first_hours() -> None:
    world = a_measured_world(SLOW)
    play(world)
    assert phases(world) == [*FORWARD, *BACK]
    assert drivers(world) == [OLD.version] * 4
    why = record_of(world).why
    assert why.startswith(f"{RATE} of n2 lost 2.9% ("), "of the 3 % that are lost, by this noise"
    assert why.endswith("at 99%) against itself before the upgrade and 3 nodes like it")
    ended_at = next(turn.at for turn in record_of(world).history if turn.phase is RolloutPhase.REVERTING)
    assert ended_at < 6 * HOUR


def test_without_nodes_like_it_the_canary_is_held_against_itself_and_that_is_said() -> None:
    world = a_measured_world(SLOW, node_count=2)
    world.nodes["n1"] = replace(
        world.nodes["n1"], facts=replace(world.nodes["n1"].facts, labels={"nvidia.com/gpu.product": "another"})
    )
    play(world)
    assert phases(world)[-2:] == BACK
    assert record_of(world).why.endswith("at 99%) against itself before the upgrade")


def test_a_control_on_which_the_gate_fails_is_left_out_and_named_and_fails_nobody() -> None:
    world = a_measured_world(replace(SOUND, fails_at=frozenset({"n3"})))
    play(world)
    assert phases(world)[-1] is RolloutPhase.DONE
    assert [each.controls for each in compared(world).comparisons] == [("n1", "n4")]
    assert [(each.node, each.why) for each in compared(world).missing_before] == [
        ("n3", "gate speed: it exited with 1")
    ]


def test_a_canary_that_cannot_be_measured_before_costs_nothing_and_is_compared_with_nothing() -> None:
    world = a_measured_world(replace(SLOW, unknown_rounds=frozenset({1})))
    play(world)
    assert phases(world)[-1] is RolloutPhase.DONE, "only limits speak then, and there are none"
    assert [each.tracks for each in compared(world).comparisons] == [()]
    assert {each.node for each in compared(world).missing_before} == {"n1", "n2", "n3", "n4"}


class Crash(Exception):  # noqa: N818  what it is
    """The controller ends here."""


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("is_done", [False, True], ids=["before a write", "after it"])
def test_a_round_counts_once_whatever_crashes_between_two_writes(seed: int, is_done: bool) -> None:
    chance, world = random.Random(seed), a_measured_world(SOUND)  # noqa: S311
    assert world.intent.campaign is not None
    world.intent = replace(world.intent, campaign=replace(world.intent.campaign, bake=Bake(seconds=8 * HOUR)))
    whole, crashes, added = world.execute, 0, set[int]()

    def execute(action: Any) -> Any:
        nonlocal crashes
        is_crash = chance.random() < 0.1
        crashes += is_crash
        if is_crash and not is_done:
            raise Crash
        outcome = whole(action)
        known = world.rollout.campaign.compared if world.rollout.campaign else None
        added.update(each.round for each in (known.comparisons if known is not None else ()) if each.tracks)
        if is_crash:
            raise Crash
        return outcome

    world.execute = execute  # type: ignore[method-assign]
    while not (world.rollout.campaign and world.rollout.campaign.phase in ENDED):
        with contextlib.suppress(Crash):
            play(world)
    assert crashes > 5
    assert record_of(world).phase is RolloutPhase.DONE
    track = compared(world).comparisons[0].of("n2")[0]
    alone, beside = (
        each.moments.count + each.left_out + (each.waiting is not None) for each in (track.after, track.paired)
    )
    assert (track.before.count, alone) == (3, len(added - {3})), "each of them once"
    assert alone - 3 <= beside <= alone, "a crash may keep controls out of a round, and no more"


def test_nobody_is_measured_where_no_gate_measures() -> None:
    world = a_world(POLICY)
    play(world)
    assert record_of(world).compared is None


def test_what_is_kept_does_not_grow_with_the_rounds() -> None:
    sizes = set()

    def look(world: World) -> None:
        sizes.add(len(compared(world).comparisons[0].tracks))

    world = a_measured_world(SOUND)
    for hour in range(2, 40, 6):
        world.at(hour * HOUR, look)
    play(world)
    assert sizes == {4}


def test_probes_of_a_control_come_one_after_the_other() -> None:
    """Together they would wait for each other's GPUs, and their limits count from the beginning."""
    train = Gate(name="train", image="probes:1", probe="smoke-train")
    world = a_measured_world(SOUND)
    assert world.intent.campaign is not None
    world.intent = replace(world.intent, campaign=replace(world.intent.campaign, gates=(SPEED, train)))
    started: list[StartProbe] = []
    before = world.execute

    def execute(action: Any) -> Any:
        if isinstance(action, StartProbe) and action.node == "n1":
            ended = {(each.gate, each.round) for each in world.outside.measurements if each.verdict != "pending"}
            assert all((each.gate.name, each.round) in ended for each in started)
            started.append(action)
        return before(action)

    world.execute = execute  # type: ignore[method-assign]
    play(world)
    assert len(started) > 2 * 40


def test_a_bake_that_is_to_prove_something_ends_when_it_has() -> None:
    world = a_measured_world(SOUND)
    assert world.intent.campaign is not None
    quick = replace(world.intent.campaign, bake=Bake(seconds=0.0, exclude=0.03))
    world.intent = replace(world.intent, campaign=quick)
    play(world)
    assert phases(world)[-1] is RolloutPhase.DONE
    opened_at = next(turn.at for turn in record_of(world).history if turn.phase is RolloutPhase.WAVING)
    assert 2 * HOUR < opened_at < 12 * HOUR, "three rounds at least, and no two days"


def test_a_loss_that_cannot_be_excluded_keeps_the_fleet_where_it_is() -> None:
    """Of 0.9 %: less than is tolerated, so nothing speaks, and more than 1 % less what nodes wander."""
    drift = replace(SOUND, figures={OLD.version: {RATE: 50.0}, NEW.version: {RATE: 49.55}}, spread=0.0005)
    world = a_measured_world(drift)
    assert world.intent.campaign is not None
    strict = replace(world.intent.campaign, bake=Bake(seconds=0.0, exclude=0.01))
    world.intent = replace(world.intent, campaign=strict)
    codes: set[HoldCode] = set()

    def look(world: World) -> None:
        seen = world.observe().seen
        codes.update(held.code for held in decide(seen, world.intent, world.time).holds)
        world.intent = replace(world.intent, campaign=replace(strict, bake=Bake(seconds=0.0)))

    world.at(72.5 * HOUR, look)
    play(world)
    assert HoldCode.LOSS_NOT_EXCLUDED in codes
    opened_at = next(turn.at for turn in record_of(world).history if turn.phase is RolloutPhase.WAVING)
    assert opened_at > 72 * HOUR, "who no longer asks for it is not kept waiting"
