"""A careful rollout, forecast: its canary, gates, bake, waves, pauses and windows, as the campaign itself goes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.core.budget.capacity import Why
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import (
    Bake,
    Campaign,
    CampaignRecord,
    Canary,
    Growth,
    Point,
    RolloutPhase,
    Via,
    Waves,
)
from seatrial.core.model.gates.suite import built_in
from seatrial.core.model.intent import Intent, Retries
from seatrial.core.model.policy import Limits, Share
from seatrial.run.loop import run_forever
from seatrial.run.memory import Memory
from seatrial.sim import outside as outer
from seatrial.sim.forecast.durations import Behaviours, Constant
from seatrial.sim.forecast.engine import Run, forecast
from seatrial.sim.forecast.inventory import Inventory, NothingToForecast, invented
from seatrial.sim.forecast.model import Model
from seatrial.sim.forecast.schedule import Part, bake_seconds, not_included, schedule_of
from seatrial.sim.forecast.sweep import Setting, sample_of, sweep
from seatrial.sim.nodes import new_node
from seatrial.sim.outside import Outside
from seatrial.sim.reactions import REACTIONS
from seatrial.sim.world import DELAYS, OUTSIDE_DELAYS, Delay, World
from tests import builders

HOUR = 3600.0
TARGET = builders.NEW.version
TWO_THEN_REST = Waves(growth=Growth.SHARES, shares=(Share(amount=25, is_percent=True),), pause_seconds=600.0)


def a_campaign(**changes: Any) -> Campaign:
    plain: dict[str, Any] = {
        "gates": (builders.SMOKE,),
        "bake": Bake(seconds=2 * HOUR, every_seconds=HOUR),
        "waves": TWO_THEN_REST,
        "prepull": False,
    }
    return Campaign(**(plain | changes))


def an_intent(campaign: Campaign, **changes: Any) -> Intent:
    return replace(builders.an_intent(**changes), campaign=campaign)


def behaving(*, gates: float = 120.0, failure_rate: float = 0.0) -> Behaviours:
    durations = {what: Constant(0.0) for what in REACTIONS}
    durations |= {"driver gets ready": Constant(300.0), "driver crash loops": Constant(60.0)}
    return Behaviours(durations=durations, gates=Constant(gates), failure_rate=failure_rate)


def run_of(intent: Intent, inventory: Inventory | None = None, *, parallel: int = 0, **changes: Any) -> Run:
    nodes = inventory or invented(9, gpus_per_node=8, pods_per_node=0, target=TARGET)
    limits = Limits(parallel_max=parallel, unavailable_max=Share(amount=100, is_percent=True))
    return forecast(Model(nodes, intent, behaving(**changes)), limits=limits)


def test_the_total_is_the_canary_its_gates_the_bake_and_the_waves_with_their_pauses() -> None:
    run = run_of(an_intent(a_campaign()), parallel=2)
    assert dict(run.parts) == {
        Part.CANARY: 300,
        Part.GATES: 120,
        Part.BAKE: 2 * HOUR + 120,  # the round that completes the evidence begins when it is due, and takes its time
        Part.WAVES: 300 + 3 * 300,  # two nodes, then six
        Part.PAUSES: 600,
    }
    assert sum(seconds for _, seconds in run.parts) == run.makespan_seconds
    assert run.stop is None
    assert run.fleet_at == 300 + 120 + 2 * HOUR + 120
    assert len(run.times) == 9


def test_nobody_but_the_canary_starts_before_the_bake_is_over() -> None:
    run = run_of(an_intent(a_campaign(canary=Canary(count=1, nodes=("node-4",)))))
    first, *others = run.times
    assert (first.name, first.started_at) == ("node-4", 0)
    assert {each.started_at for each in others} == {run.fleet_at, run.fleet_at + 300 + 600}


def test_what_is_compared_is_measured_three_times_before_the_canary_is_touched() -> None:
    gates = (built_in("smoke-train", "probes:1", 0), built_in("rdma", "probes:1", 0))
    run = run_of(an_intent(a_campaign(gates=gates)))
    assert run.times[0].started_at == 3 * 60  # one of two gates measures, so half of a round, three times
    assert dict(run.parts)[Part.GATES] == 3 * 60 + 120


def test_nodes_start_in_windows_alone_and_whoever_is_under_way_ends() -> None:
    openings = ((0.0, 100.0), (4 * HOUR, 4 * HOUR + 301), (8 * HOUR, 9 * HOUR))
    run = run_of(an_intent(a_campaign(openings=openings)), parallel=1)
    starts = [each.started_at for each in run.times]
    assert all(any(opens <= at < closes for opens, closes in openings) for at in starts)
    assert starts[:4] == [0.0, 4 * HOUR, 4 * HOUR + 300, 8 * HOUR]
    assert run.times[2].ended_at > openings[1][1]
    assert sum(seconds for _, seconds in run.parts) == pytest.approx(run.makespan_seconds)
    assert dict(run.parts)[Part.WINDOWS] == pytest.approx((4 * HOUR - run.fleet_at) + (8 * HOUR - 4 * HOUR - 600 - 600))


def test_windows_are_counted_from_when_the_forecast_begins() -> None:
    start = 1_000_000.0
    inventory = replace(invented(9, gpus_per_node=8, pods_per_node=0, target=TARGET), at=start)
    run = run_of(an_intent(a_campaign(openings=((start + HOUR, start + 9 * HOUR),))), inventory)
    assert run.times[0].started_at == HOUR


def test_windows_that_end_before_everybody_has_started_stop_it() -> None:
    run = run_of(an_intent(a_campaign(openings=((0.0, 100.0),))))
    assert run.stop == Why(HoldCode.OUTSIDE_WINDOW)


def test_a_canary_that_fails_for_good_stops_it_however_many_may_fail() -> None:
    run = run_of(an_intent(a_campaign(), failed_max=9), failure_rate=1.0)
    assert run.stop == Why(HoldCode.FAILED)
    assert len(run.times) == 1


def test_a_canary_that_is_tried_again_is_waited_for() -> None:
    retried = an_intent(a_campaign(), failed_max=9, retries=Retries(count_max=1, pause_seconds=300))
    run = run_of(retried, failure_rate=1.0)
    assert run.stop == Why(HoldCode.FAILED)
    assert run.times[0].ended_at == 60 + 300 + 60


def test_where_no_node_will_do_as_a_canary_it_never_begins() -> None:
    run = run_of(an_intent(a_campaign(canary=Canary(count=1, nodes=("elsewhere",)))))
    assert (run.stop, run.times) == (Why(HoldCode.NO_CANARY), ())


def test_canaries_stay_closed_until_their_gates_have_passed_and_count_until_then() -> None:
    two = an_intent(a_campaign(canary=Canary(count=2, nodes=("node-0", "node-1"))))
    run = run_of(two, parallel=2)
    assert run.curve[:2] == ((0, 7 * 8), (300 + 120, 9 * 8))
    assert [each.ended_at for each in run.times[:2]] == [420, 420]
    assert dict(run.parts)[Part.CANARY] == 300


def test_canaries_that_wait_for_each_other_stop_it_as_they_do_the_campaign() -> None:
    two = an_intent(a_campaign(canary=Canary(count=2)))
    run = run_of(two, parallel=1)
    assert run.stop == Why(HoldCode.CANARY_CLOSED, "", 2)
    held = played(9, replace(two, policy=builders.an_intent(parallel_max=1).policy))
    assert held.phase is RolloutPhase.PROPOSED, "it is told before anything begins"
    free = an_intent(a_campaign(canary=Canary(count=2), gates=()))
    assert run_of(free, parallel=1).stop is None


def test_a_wave_waits_for_a_member_that_cannot_start_as_long_as_its_upgrade_might_have_taken() -> None:
    inventory = invented(9, gpus_per_node=8, pods_per_node=0, target=TARGET)
    silent = replace(inventory.nodes["node-8"], facts=replace(inventory.nodes["node-8"].facts, is_ready=False))
    inventory = replace(inventory, nodes={**inventory.nodes, "node-8": silent})
    intent = an_intent(a_campaign())
    run = run_of(intent, inventory)
    patience = intent.restart_timeout_seconds + intent.validation_timeout_seconds
    assert dict(run.parts)[Part.WAVES] == 300 + patience


@pytest.mark.parametrize(
    ("record", "parts"),
    [
        (CampaignRecord(phase=RolloutPhase.BAKING, canaries=("node-0",), baked_seconds=HOUR), {Part.BAKE: HOUR + 120}),
        (CampaignRecord(phase=RolloutPhase.WAVING, canaries=("node-0",)), {}),
        (CampaignRecord(phase=RolloutPhase.PAUSED, paused_in=RolloutPhase.WAVING, canaries=("node-0",)), {}),
    ],
)
def test_a_campaign_under_way_goes_on_from_where_it_is(record: CampaignRecord, parts: dict[Part, float]) -> None:
    inventory = invented(9, gpus_per_node=8, pods_per_node=0, target=TARGET)
    done = builders.a_done_node("node-0")
    inventory = replace(inventory, nodes={**inventory.nodes, "node-0": done}, campaign=record)
    run = run_of(an_intent(a_campaign()), inventory)
    assert dict(run.parts) == parts | {Part.WAVES: 600, Part.PAUSES: 600}


def test_the_suite_that_comes_with_seatrial_is_asked_where_nobody_names_gates() -> None:
    inventory = invented(3, gpus_per_node=8, pods_per_node=0, target=TARGET)
    found = schedule_of(inventory, an_intent(a_campaign(gates=(), suite_image="probes:1")))
    assert found is not None
    assert [gate.name for gate in found.campaign.gates] == ["smoke-train", "smoke-infer", "gpu-errors", "multi-gpu"]


@pytest.mark.parametrize(
    ("bake", "round_seconds", "seconds"),
    [
        (Bake(seconds=0.0), 120.0, 0.0),
        (Bake(seconds=48 * HOUR), 0.0, 48 * HOUR),
        (Bake(seconds=HOUR, every_seconds=HOUR), 120.0, HOUR + 120),
    ],
)
def test_a_bake_counts_evidence_as_the_campaign_does(bake: Bake, round_seconds: float, seconds: float) -> None:
    assert bake_seconds(a_campaign(bake=bake), round_seconds) == pytest.approx(seconds)


def test_what_nobody_can_foresee_is_said_to_be_left_out() -> None:
    assert not_included(None) == ("canary, gates, bake and waves, since no rollout says any (-f FILE, or --rollout)",)
    campaign = a_campaign(manual=(Point.WAVES, Point.ROLLBACK), publish=Via.GIT, bake=Bake(exclude=0.02))
    assert not_included(campaign) == (
        "the wait for a yes before waves",
        "the way of commits into the cluster",
        "a bake that lasts until a loss of 2% is ruled out",
        "the wait for an approval once nodes have failed",
        "gates that fail, and the way back then",
    )


def test_every_setting_of_a_campaign_is_what_a_forecast_of_it_alone_gives() -> None:
    inventory, behaviours = invented(12, gpus_per_node=8, pods_per_node=1, target=TARGET), Behaviours()
    openings = ((0.0, HOUR), (4 * HOUR, 5 * HOUR), (9 * HOUR, 90 * HOUR))
    intent = an_intent(a_campaign(openings=openings))
    grid = tuple(Setting(many, Share(amount=share)) for many in (1, 2, 5, 0) for share in (1, 2, 9))
    model = Model(inventory, intent, behaviours)
    for result in sweep(inventory, intent, behaviours, grid, seeds=range(4), processes=1):
        alone = [sample_of(forecast(model, seed, limits=result.setting.limits)) for seed in range(4)]
        assert result.samples == tuple(alone), result.setting


# ── as the campaign itself goes ──────────────────────────────────────────────────────────────────────────────────────

SLACK_SECONDS = 1.0
"""For all of a campaign: its own writes take a moment in the simulated world, and none in a forecast."""
SECONDS = {what: 8.0 + number for number, what in enumerate(REACTIONS)}
OPENINGS = ((0.0, HOUR), (5 * HOUR, 5 * HOUR + 500.0), (7 * HOUR, 99 * HOUR))


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_the_total_is_that_of_a_campaign_in_the_simulated_world(data: st.DataObject) -> None:
    count, canary_count = data.draw(st.integers(3, 12)), data.draw(st.integers(1, 2))
    campaign = a_campaign(
        canary=Canary(count=canary_count),
        bake=Bake(seconds=data.draw(st.sampled_from([0.0, 600.0, 2 * HOUR])), every_seconds=HOUR),
        waves=Waves(
            growth=data.draw(st.sampled_from([Growth.FIXED, Growth.LINEAR, Growth.EXPONENTIAL])),
            first=Share(amount=data.draw(st.integers(1, 4))),
            step=Share(amount=1),
            pause_seconds=data.draw(st.sampled_from([0.0, 600.0])),
        ),
        openings=data.draw(st.sampled_from([None, OPENINGS])),
    )
    parallel = data.draw(st.integers(canary_count, 4))
    intent = an_intent(campaign, parallel_max=parallel, unavailable_max="100%")
    record = played(count, intent)
    assert record.phase is RolloutPhase.DONE
    published = [new_node(f"n{number:02}", running=builders.OLD, wanted=builders.NEW) for number in range(count)]
    behaviours = Behaviours(durations={what: Constant(each) for what, each in SECONDS.items()}, gates=Constant(100.0))
    run = forecast(Model(Inventory(nodes={node.name: node for node in published}), intent, behaviours))
    assert run.stop is None
    assert run.makespan_seconds == pytest.approx(record.history[-1].at, abs=SLACK_SECONDS)
    waved_at = next(turn.at for turn in record.history if turn.phase is RolloutPhase.WAVING)
    assert run.fleet_at == pytest.approx(waved_at, abs=SLACK_SECONDS)
    assert sum(seconds for _, seconds in run.parts) == pytest.approx(run.makespan_seconds)


def played(count: int, intent: Intent) -> CampaignRecord:
    """What a campaign wrote down that `decide` has brought as far as it goes."""
    still = {what: Delay(seconds=SECONDS.get(what, 0.01)) for what in (*DELAYS, *OUTSIDE_DELAYS)}
    nodes = [new_node(f"n{number:02}", running=builders.OLD, wanted=builders.OLD) for number in range(count)]
    world = World(
        nodes,
        intent,
        delays=still | {outer.PROBED: Delay(seconds=100.0)},
        outside=Outside(operator=outer.cluster_policy(builders.OLD.version)),
    )
    asyncio.run(run_forever(world.ports(_NoJournal()), Memory(0.0), on_report=lambda _: None, is_over=lambda _: False))
    record = world.rollout.campaign
    assert record is not None
    return record


class _NoJournal:
    def append(self, at: float, kind: str, fields: object) -> None:
        """Forget it."""


@pytest.mark.parametrize(
    ("phase", "why"),
    [
        (RolloutPhase.PROMOTING, "spring is past its waves, and no node is left to upgrade."),
        (RolloutPhase.REVERTING, "spring is being undone, and a forecast is about the way forward."),
    ],
)
def test_where_no_node_is_left_to_upgrade_there_is_nothing_to_forecast(phase: RolloutPhase, why: str) -> None:
    inventory = replace(
        invented(4, gpus_per_node=8, pods_per_node=0, target=TARGET), campaign=CampaignRecord(phase=phase)
    )
    with pytest.raises(NothingToForecast) as caught:
        schedule_of(inventory, an_intent(a_campaign()))
    assert str(caught.value) == f"{why} `seatrial why spring` has the rest."
