"""One forecast: when who starts and ends, what is lost, and what stops it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.budget.capacity import Why
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.intent import Domain, Intent, Retries
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.policy import JobWait, Limits, Share
from seatrial.core.model.seen.nodes import Loaded, NodePhase
from seatrial.core.model.selectors import Selector
from seatrial.sim.forecast import paths
from seatrial.sim.forecast.durations import Behaviours, Constant, Duration, Empirical, Uniform
from seatrial.sim.forecast.engine import Run, forecast
from seatrial.sim.forecast.inventory import Inventory, NothingToForecast, invented, inventory_of
from seatrial.sim.forecast.model import Model
from seatrial.sim.nodes import JOB_LABEL
from seatrial.sim.reactions import REACTIONS
from tests import builders

TARGET = builders.NEW.version


def behaving(**seconds: float) -> Behaviours:
    """Everything at once, but for what is named: reload, validate, leave, job, crash."""
    names = {
        "reload": "driver gets ready",
        "validate": "validator passes",
        "leave": "pods leave",
        "job": "job finishes",
        "crash": "driver crash loops",
    }
    given: dict[str, Duration] = {names[name]: Constant(each) for name, each in seconds.items()}
    return Behaviours(durations={what: Constant(0.0) for what in REACTIONS} | given)


def run_of(
    count: int,
    behaviours: Behaviours,
    *,
    parallel: int = 1,
    unavailable: str = "100%",
    pods: int = 0,
    intent: Intent | None = None,
    seed: int = 0,
) -> Run:
    inventory = invented(count, gpus_per_node=8, pods_per_node=pods, target=TARGET)
    limits = Limits(parallel_max=parallel, unavailable_max=Share.parse(unavailable))
    return forecast(Model(inventory, intent or builders.an_intent(), behaviours), seed, limits=limits)


def test_nodes_go_in_rounds_when_all_take_the_same_time() -> None:
    run = run_of(10, behaving(reload=100, validate=20), parallel=4)
    assert run.makespan_seconds == 360
    assert [(each.started_at, each.ended_at) for each in run.times] == [(0, 120)] * 4 + [(120, 240)] * 4 + [
        (240, 360)
    ] * 2
    assert run.is_finished
    assert run.curve == ((0, 48), (240, 64), (360, 80))


def test_capacity_is_lost_from_the_cordon_to_the_uncordon() -> None:
    run = run_of(3, behaving(reload=1500, leave=300 - 60, validate=60), pods=2)
    assert run.gpu_hours_lost == pytest.approx(3 * 8 * 0.5)
    assert (run.gpus_least, run.gpus_at_start) == (16, 24)
    assert run.evicted == 6


def test_the_limit_of_unavailable_nodes_holds_whatever_the_parallelism() -> None:
    run = run_of(20, behaving(reload=100), parallel=0, unavailable="10%")
    assert run.makespan_seconds == 1000
    assert run.gpus_least == 18 * 8


def test_a_node_that_others_cordoned_costs_nothing_and_stays_cordoned() -> None:
    inventory = invented(2, gpus_per_node=8, pods_per_node=0, target=TARGET)
    node = inventory.nodes["node-0"]
    cordoned = replace(node, facts=replace(node.facts, is_cordoned=True))
    model = Model(
        replace(inventory, nodes={**inventory.nodes, "node-0": cordoned}), builders.an_intent(), behaving(reload=3600)
    )
    run = forecast(model, limits=Limits(parallel_max=2, unavailable_max=Share(amount=2)))
    assert run.gpu_hours_lost == pytest.approx(8)
    assert run.curve == ((0, 0), (3600, 8))


def test_too_many_failures_stop_the_rollout_with_nodes_left() -> None:
    always = replace(behaving(crash=60), failure_rate=1.0)
    run = run_of(10, always, intent=builders.an_intent(failed_max=1))
    assert run.failed == ("node-0", "node-1")
    assert run.stop == Why(HoldCode.FAILURE_BUDGET)
    assert run.failure == "driver-crash-loop"
    assert not run.is_finished
    assert run.makespan_seconds == 120


def test_too_many_failures_stop_it_also_where_everybody_had_started_before_the_first_failed() -> None:
    always = replace(behaving(crash=60), failure_rate=1.0)
    run = run_of(4, always, parallel=0, intent=builders.an_intent(failed_max=1))
    assert len(run.failed) == 4
    assert run.stop == Why(HoldCode.FAILURE_BUDGET)


def test_a_failed_node_that_stays_cordoned_uses_up_what_may_be_unavailable() -> None:
    always = replace(behaving(crash=60), failure_rate=1.0)
    run = run_of(4, always, unavailable="1", intent=builders.an_intent(failed_max=1))
    assert run.failed == ("node-0",)
    assert run.stop == Why(HoldCode.UNAVAILABLE_LIMIT)


def cordoned(*names: str, count: int = 8, **facts: Any) -> Inventory:
    inventory = invented(count, gpus_per_node=8, pods_per_node=0, target=TARGET)
    changed = {name: replace(inventory.nodes[name].facts, **(facts or {"is_cordoned": True})) for name in names}
    nodes = {name: replace(node, facts=changed.get(name, node.facts)) for name, node in inventory.nodes.items()}
    return replace(inventory, nodes=nodes)


def test_a_cordon_of_others_uses_up_what_may_be_unavailable_as_it_does_in_the_live_engine() -> None:
    model = Model(cordoned("node-3"), builders.an_intent(), behaving(reload=60))
    stuck = forecast(model, limits=Limits(parallel_max=4, unavailable_max=Share(amount=1)))
    assert stuck.stop == Why(HoldCode.UNAVAILABLE_LIMIT)
    assert [each.name for each in stuck.times] == ["node-3"]  # it takes no work as it is, so to move it costs nobody
    going = forecast(model, limits=Limits(parallel_max=4, unavailable_max=Share(amount=2)))
    assert (going.stop, going.makespan_seconds) == (None, 7 * 60)
    assert (model.cordoned(), model.not_ready()) == (("node-3",), ())


def test_where_all_are_cordoned_by_others_nobody_stops_it_and_nothing_is_taken() -> None:
    model = Model(cordoned(*(f"node-{number}" for number in range(8))), builders.an_intent(), behaving(reload=60))
    run = forecast(model, limits=Limits(parallel_max=4, unavailable_max=Share(amount=1)))
    assert (run.stop, run.makespan_seconds, run.gpus_at_start, run.gpu_hours_lost) == (None, 120, 0, 0)


def test_a_node_that_is_not_ready_is_told_apart_from_one_that_is_cordoned() -> None:
    model = Model(cordoned("node-3", is_ready=False), builders.an_intent(), behaving(reload=60))
    run = forecast(model, limits=Limits(parallel_max=4, unavailable_max=Share(amount=1)))
    assert run.stop == Why(HoldCode.UNAVAILABLE_LIMIT)
    assert (model.cordoned(), model.not_ready()) == ((), ("node-3",))
    assert model.left_out() == {"node-not-ready": ("node-3",)}
    assert model.moving_count == 7


RACK = Domain(label="rack", is_unit=True)


@pytest.mark.parametrize(
    ("facts", "limit", "stop"),
    [
        ({"is_skipped": True}, 8, Why(HoldCode.UNIT_UNFIT, "rack a")),
        ({}, 3, Why(HoldCode.UNIT_TOO_LARGE, "", 4)),
    ],
)
def test_a_unit_stops_it_when_a_member_cannot_move_or_it_is_larger_than_the_limits(
    facts: dict[str, Any], limit: int, stop: Why
) -> None:
    inventory = cordoned("node-0", count=4, **(facts or {"is_cordoned": False}))
    racked = {
        name: replace(node, facts=replace(node.facts, labels={**node.facts.labels, "rack": "a"}))
        for name, node in inventory.nodes.items()
    }
    model = Model(replace(inventory, nodes=racked), builders.an_intent(domains=(RACK,)), behaving(reload=60))
    assert forecast(model, limits=Limits(parallel_max=limit, unavailable_max=Share(amount=limit))).stop == stop


def test_failures_within_the_budget_stop_nobody() -> None:
    sometimes = replace(behaving(crash=60, reload=60), failure_rate=0.2)
    run = run_of(20, sometimes, intent=builders.an_intent(failed_max=20), seed=5)
    assert run.is_finished
    assert 0 < len(run.failed) < 20
    assert len(run.times) == 20


def test_a_failed_node_is_tried_again_where_the_rollout_says_so() -> None:
    always = replace(behaving(crash=60), failure_rate=1.0)
    intent = builders.an_intent(failed_max=5, retries=Retries(count_max=1, pause_seconds=300))
    run = run_of(1, always, intent=intent)
    assert run.times[0].ended_at == 60 + 300 + 60


def test_a_disruption_budget_keeps_pods_for_a_while() -> None:
    blocked = replace(behaving(reload=100), budget_rate=1.0, budget_wait=Constant(42.0))
    run = run_of(1, blocked, pods=1)
    assert run.makespan_seconds == 145  # asked again every 5 s: heard at 45


def test_jobs_run_side_by_side() -> None:
    intent = builders.an_intent(jobs=JobWait(selector=Selector.parse(JOB_LABEL)))
    inventory = invented(1, gpus_per_node=8, pods_per_node=4, target=TARGET, are_jobs=True)
    behaviours = behaving().with_durations("test", {"job finishes": Uniform(600.0, 1200.0)})
    run = forecast(Model(inventory, intent, behaviours), 3)
    assert 600 < run.makespan_seconds < 1200
    assert run.evicted == 0


def test_a_seed_repeats_a_forecast_and_another_does_not() -> None:
    first, again, other = (run_of(30, Behaviours(), parallel=3, pods=1, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_a_node_meets_the_same_under_every_setting() -> None:
    slow, quick = (run_of(30, Behaviours(), parallel=parallel, pods=1, seed=4) for parallel in (1, 10))
    spans = [{each.name: round(each.ended_at - each.started_at, 6) for each in run.times} for run in (slow, quick)]
    assert spans[0] == spans[1]


def test_nodes_that_differ_by_name_alone_are_worked_out_once() -> None:
    model = Model(invented(500, gpus_per_node=8, pods_per_node=3, target=TARGET), builders.an_intent(), Behaviours())
    assert len(model._starts) == 1


def test_nodes_that_differ_in_what_matters_are_told_apart() -> None:
    nodes = {
        "n1": builders.a_node("n1"),
        "n2": builders.a_node("n2", pods=(builders.a_gpu_pod(),)),
        "n3": builders.a_node("n3", offer=GpuOffer(resources=(("nvidia.com/gpu", 8),))),
        "n4": builders.a_node("n4", labels={"rack": "r7"}),
    }
    assert len(Model(Inventory(nodes=nodes), builders.an_intent(), Behaviours())._starts) == 3


def test_an_empty_fleet_is_refused() -> None:
    with pytest.raises(NothingToForecast, match="no node to upgrade"):
        Model(Inventory(nodes={}), builders.an_intent(), Behaviours())


# ── from what is seen ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_cluster_is_forecast_as_if_the_target_were_published() -> None:
    seen = builders.a_snapshot(*(builders.a_node(f"n{number}", wanted=builders.OLD) for number in range(3)))
    inventory = inventory_of(seen, builders.an_intent(), gpus_per_node=4)
    run = forecast(Model(inventory, builders.an_intent(), behaving(reload=10)))
    assert [each.name for each in run.times] == ["n0", "n1", "n2"]
    assert run.gpus_at_start == 12


def test_where_all_run_the_target_the_next_upgrade_is_forecast() -> None:
    seen = builders.a_snapshot(*(builders.a_well_node(f"n{number}", NodePhase.UPGRADE_DONE) for number in range(3)))
    inventory = inventory_of(seen, builders.an_intent())
    assert len(forecast(Model(inventory, builders.an_intent(), behaving(reload=10))).times) == 3


@pytest.mark.parametrize("phase", [RolloutPhase.WAVING, RolloutPhase.PROMOTING])
def test_a_rollout_that_is_to_be_promoted_is_not_taken_for_the_next_upgrade(phase: RolloutPhase) -> None:
    record = builders.a_campaign_record(phase)
    seen = builders.a_snapshot(builders.a_well_node("n1", NodePhase.UPGRADE_DONE), campaign=record)
    with pytest.raises(NothingToForecast, match="No node is left to upgrade"):
        inventory_of(seen, builders.an_intent())
    done = replace(seen, rollout=replace(seen.rollout, campaign=replace(record, phase=RolloutPhase.DONE)))
    assert inventory_of(done, builders.an_intent()).campaign is None


def test_a_rollout_under_way_goes_on_from_where_it_is() -> None:
    seen = builders.a_snapshot(
        builders.a_well_node("n1", NodePhase.UPGRADE_DONE),
        builders.a_node(
            "n2", NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True, driver=builders.a_starting_driver("n2")
        ),
        builders.a_node("n3", NodePhase.UPGRADE_REQUIRED),
        builders.a_node("n4", NodePhase.UPGRADE_REQUIRED, is_skipped=True),
        admitted=builders.a_ledger("n2"),
    )
    model = Model(inventory_of(seen, builders.an_intent()), builders.an_intent(), behaving(reload=100, validate=5))
    run = forecast(model, limits=Limits(parallel_max=1, unavailable_max=Share(amount=2)))
    assert [(each.name, each.started_at, each.ended_at) for each in run.times] == [("n2", 0, 105), ("n3", 105, 210)]
    assert run.gpu_hours_lost == pytest.approx(210 / 3600)
    assert model.left_out() == {"skipped": ("n4",)}


def test_a_failed_node_that_gets_another_version_begins_once() -> None:
    """The ledger names it for its first attempt as long as it is closed, and its second asks to be let in."""
    failed = builders.a_node(
        "n1",
        NodePhase.UPGRADE_FAILED,
        is_cordon_ours=True,
        record={"reason": "driver-crash-loop", "failed_revision": "another", "failures": 1, "has_lost_driver": True},
    )
    seen = builders.a_snapshot(failed, builders.a_node("n2"), admitted=builders.a_ledger("n1"))
    intent = builders.an_intent(failed_max=2)
    run = forecast(Model(inventory_of(seen, intent), intent, behaving(reload=100, validate=5)))
    assert [(each.name, each.started_at, each.ended_at) for each in run.times] == [("n1", 0, 105), ("n2", 105, 210)]


def test_a_node_found_failed_stays_failed_and_counts() -> None:
    failed = builders.a_node(
        "n1",
        NodePhase.UPGRADE_FAILED,
        is_cordon_ours=True,
        driver=builders.a_starting_driver("n1", restart_count=20),
        record={"reason": "driver-crash-loop", "failed_revision": builders.NEW.hash},
    )
    seen = builders.a_snapshot(failed, builders.a_node("n2"))
    intent = builders.an_intent(failed_max=0)
    run = forecast(Model(inventory_of(seen, intent), intent, behaving(reload=100)))
    assert run.stop == Why(HoldCode.FAILURE_BUDGET)
    assert run.times == ()


def test_instants_of_the_cluster_count_by_their_order_alone() -> None:
    early, late = builders.a_node("n1"), builders.a_node("n2")
    assert early.facts.driver is not None
    assert late.facts.driver is not None
    assert late.facts.validator is not None
    moved = replace(
        late.facts,
        driver=replace(late.facts.driver, ready_since=9e9),
        validator=replace(late.facts.validator, ready_since=9e9),
    )
    intent = builders.an_intent()
    first = paths.kind_of(early, intent, is_admitted=False)
    assert paths.kind_of(replace(late, facts=moved), intent, is_admitted=False) == first


def test_measured_durations_are_used_as_they_were() -> None:
    behaviours = behaving().with_durations("test", {"driver gets ready": Empirical((10.0, 30.0))})
    run = run_of(40, behaviours, seed=2)
    assert {round(each.ended_at - each.started_at) for each in run.times} == {10, 30}


@pytest.mark.parametrize(
    "facts",
    [
        {"offer": GpuOffer(resources=(("nvidia.com/gpu", 8),))},
        {"offer": GpuOffer(resources=(("nvidia.com/gpu", 1), ("nvidia.com/mig-1g.10gb", 7)), mig_config="all-1g.10gb")},
        {"labels": {"nvidia.com/gpu.deploy.device-plugin": "true", "nvidia.com/gpu.deploy.driver": "true"}},
        {"driver": builders.a_driver("n1", uid="0b8f9d5e-1d5e-4f57-a2d9-7d1f5f6f3c11")},
        {"resource_version": "88123456", "loaded": Loaded(version=builders.OLD.version, seen_at=100.0)},
    ],
)
def test_a_real_node_takes_no_longer_than_a_plain_one(facts: dict[str, Any]) -> None:
    node = builders.a_node("n1", pods=(builders.a_gpu_pod(),), **facts)
    model = Model(Inventory(nodes={"n1": node}), builders.an_intent(unavailable_max=1), behaving(reload=90, leave=10))
    run = forecast(model)
    assert (run.makespan_seconds, run.failed) == (100, ())
