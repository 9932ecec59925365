"""A bake that somebody watches: hours without data are no hours, errors that rise end it, controls have a say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seatrial.core.model.campaign import Growth, RolloutPhase, Waves
from seatrial.core.model.gates.exposed import Exposed
from seatrial.core.model.policy import Share
from seatrial.sim.monitoring import Error, Monitoring, Silence
from seatrial.sim.world import World
from tests.builders import NEW, OLD
from tests.sim.test_outside import BACK, FORWARD, POLICY, a_world, drivers, phases, play

HOUR = 3600.0


def a_watched_world(monitoring: Monitoring | None = None) -> World:
    return a_world(POLICY, monitoring=monitoring or Monitoring())


def exposed(world: World) -> Exposed:
    assert world.rollout.campaign is not None
    assert world.rollout.campaign.exposed is not None
    return world.rollout.campaign.exposed


def test_a_watched_campaign_bakes_for_as_long_as_one_that_nobody_watches() -> None:
    world = a_watched_world()
    acts = play(world)
    assert phases(world)[-1] is RolloutPhase.DONE
    assert drivers(world) == [NEW.version] * 4
    assert 48 * HOUR < world.time < 50 * HOUR
    assert acts.names.count("StartProbe") <= 51, "late data cost a round or two, and no more"
    assert exposed(world).watched_seconds == pytest.approx(48 * HOUR, rel=0.01)
    assert exposed(world).controls == ("n1", "n3", "n4")
    assert exposed(world).followers == ("n1", "n3", "n4"), "each wave adds who is through"


@pytest.mark.parametrize("nodes", [(), ("n2",)], ids=["nobody is heard of", "the canary is not heard of"])
def test_hours_without_data_are_no_hours(nodes: tuple[str, ...]) -> None:
    world = a_watched_world(Monitoring(silences=(Silence(since=10 * HOUR, until=15 * HOUR, nodes=nodes),)))
    play(world)
    assert phases(world)[-1] is RolloutPhase.DONE
    assert 53 * HOUR < world.time < 55 * HOUR


def test_a_control_that_is_not_heard_of_costs_the_canary_nothing() -> None:
    world = a_watched_world(Monitoring(silences=(Silence(since=0.0, until=60 * HOUR, nodes=("n1",)),)))
    play(world)
    assert 48 * HOUR < world.time < 50 * HOUR


def test_errors_that_rise_on_the_canary_end_the_campaign_with_the_figures_that_say_why() -> None:
    errors = tuple(Error(at=5 * HOUR + 600 * number, node="n2") for number in range(6))
    world = a_watched_world(Monitoring(errors=errors))
    play(world)
    assert phases(world) == [*FORWARD, *BACK]
    assert drivers(world) == [OLD.version] * 4
    assert world.rollout.campaign is not None
    why = world.rollout.campaign.why
    assert why.startswith("ecc-uncorrected-volatile rose ")
    assert " on n2 in " in why
    assert "and 0 times in " in why
    ended_at = next(turn.at for turn in world.rollout.campaign.history if turn.phase is RolloutPhase.REVERTING)
    assert ended_at < 6.2 * HOUR, "not when the next round is due, and not at the end"


def test_errors_that_rise_everywhere_are_not_the_upgrades() -> None:
    errors = tuple(
        Error(at=5 * HOUR + 1800 * number, node=node) for number in range(8) for node in ("n1", "n2", "n3", "n4")
    )
    world = a_watched_world(Monitoring(errors=errors))
    play(world)
    assert phases(world)[-1] is RolloutPhase.DONE


def test_errors_that_rise_on_those_who_follow_end_it_in_the_waves() -> None:
    world = a_watched_world()
    assert world.intent.campaign is not None
    slow = replace(world.intent.campaign, waves=Waves(growth=Growth.FIXED, first=Share(amount=1), pause_seconds=HOUR))
    world.intent = replace(world.intent, campaign=slow)
    errors = tuple(Error(at=49.5 * HOUR + 120 * number, node="n1") for number in range(20))
    world.monitoring = Monitoring(errors=errors)
    play(world)
    assert phases(world)[-2:] == BACK
    assert RolloutPhase.WAVING in phases(world)
    assert drivers(world) == [OLD.version] * 4


def test_who_stops_watching_leaves_it_to_the_clock() -> None:
    def stop(world: World) -> None:
        world.monitoring = None

    world = a_watched_world(Monitoring(silences=(Silence(since=0.0, until=1000 * HOUR),)))
    world.at(20 * HOUR, stop)
    play(world)
    assert phases(world)[-1] is RolloutPhase.DONE
    assert 67 * HOUR < world.time < 70 * HOUR
    assert world.rollout.campaign is not None
    assert world.rollout.campaign.exposed is None
