"""Whole campaigns with a gate that runs on all canaries at once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seatrial.core.model.campaign import Canary, RolloutPhase
from seatrial.core.model.gates.gate import Gate
from seatrial.sim.outside import GateFate
from seatrial.sim.world import World
from tests.builders import NEW, OLD, SMOKE
from tests.sim.test_outside import BACK, FORWARD, POLICY, a_world, drivers, phases, play

RING = Gate(name="ring", image="probes:1", probe="distributed")


def a_ring(*canaries: str, fate: GateFate | None = None) -> World:
    world = a_world(POLICY, gate_fates={RING.name: fate} if fate is not None else {})
    assert world.intent.campaign is not None
    campaign = replace(world.intent.campaign, canary=Canary(count=len(canaries), nodes=canaries), gates=(SMOKE, RING))
    world.intent = replace(world.intent, campaign=campaign)
    return world


def test_two_canaries_are_asked_together_in_every_round_and_the_fleet_follows() -> None:
    world = a_ring("n1", "n2")
    play(world)
    assert phases(world)[-1] is RolloutPhase.DONE
    assert drivers(world) == [NEW.version] * 4
    rings = [each for each in world.outside.measurements if each.gate == RING.name]
    alone = [each for each in world.outside.measurements if each.gate == SMOKE.name]
    assert {each.gang for each in rings} == {("n1", "n2")}
    assert len(alone) == 2 * len(rings)


@pytest.mark.parametrize("whose", ["n1", "n2"])
def test_a_sum_that_is_wrong_on_any_of_them_takes_everything_back(whose: str) -> None:
    world = a_ring("n1", "n2", fate=GateFate(fails_at=frozenset({whose}), detail="sums: wrong"))
    play(world)
    assert phases(world) == [*FORWARD[:3], *BACK]
    assert drivers(world) == [OLD.version] * 4
    assert world.rollout.campaign is not None
    assert "over n1, n2: sums: wrong" in world.rollout.campaign.why


def test_one_canary_goes_its_way_without_and_the_record_says_so() -> None:
    world = a_ring("n2")
    play(world)
    assert phases(world)[-1] is RolloutPhase.DONE
    assert not [each for each in world.outside.measurements if each.gate == RING.name]
    assert world.rollout.campaign is not None
    said = {each.gate: (each.said, each.detail) for each in world.rollout.campaign.gates}
    assert said["ring"] == ("left out", "a sum over nodes needs 2, and n2 is alone")
