"""The virtual cluster: a clock that jumps, answers that follow from acts, and the same run from the same seed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.on_nodes import EvictPods
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.budget.losses import GPU
from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.intent import Intent, Requestor, Retries
from seatrial.core.model.policy import Drain, Eviction, JobWait
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.pods import Pod, PodOwner
from seatrial.core.model.seen.rollouts import RolloutRecord
from seatrial.core.model.seen.work import PodBudget, WorkSeen
from seatrial.core.model.selectors import Selector
from seatrial.core.model.target import Target
from seatrial.core.node.phases import FailureCode
from seatrial.ports import Outcome, Result
from seatrial.run.loop import Report, run_forever
from seatrial.run.memory import Memory
from seatrial.sim.nodes import HEALTHY, JOB_LABEL, Fate, new_node
from seatrial.sim.world import World
from tests.builders import NEW, OLD, a_ledger, a_node, an_intent, written


class Pages:
    """A journal that is a list."""

    def __init__(self) -> None:
        self.entries: list[tuple[float, str, dict[str, object]]] = []

    def append(self, at: float, kind: str, fields: Mapping[str, object]) -> None:
        self.entries.append((at, kind, dict(fields)))


def some_nodes(count: int, **changes: Any) -> list[NodeSeen]:
    return [new_node(f"n{number}", running=OLD, wanted=NEW, **changes) for number in range(1, count + 1)]


def run(world: World) -> tuple[Report, Pages]:
    """Run the loop until nothing can ever change again."""
    pages = Pages()
    report = asyncio.run(
        run_forever(world.ports(pages), Memory(world.time), on_report=lambda _: None, is_over=lambda _: False)
    )
    return report, pages


WIDE = an_intent(parallel_max=3, unavailable_max="50%")


def phases(world: World) -> dict[str, NodePhase | None]:
    return {name: node.record.phase if node.record else None for name, node in world.nodes.items()}


# ── whole rollouts ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_rollout_runs_to_its_end_in_virtual_time() -> None:
    world = World(some_nodes(6, gpu_pod_count=8), WIDE)
    run(world)
    assert set(phases(world).values()) == {NodePhase.UPGRADE_DONE}
    assert not any(node.facts.is_cordoned for node in world.nodes.values())
    assert world.rollout.admitted == ()
    assert 2 * 200 < world.time < 2 * 400, "two rounds of a driver of three to four minutes each"


@pytest.mark.parametrize("seed", [1, 7])
def test_a_world_seeded_twice_gives_the_identical_journal(seed: int) -> None:
    def told() -> list[Any]:
        world = World(some_nodes(5, gpu_pod_count=1), WIDE, fates={"n2": Fate(driver_fails_on=NEW.version)}, seed=seed)
        return run(world)[1].entries

    first = told()
    assert first == told()
    assert len(first) > 50


def test_another_seed_is_another_run() -> None:
    times = {run_time(seed) for seed in range(3)}
    assert len(times) == 3


def run_time(seed: int) -> float:
    world = World(some_nodes(2), WIDE, seed=seed)
    run(world)
    return world.time


def test_a_driver_that_fails_stops_at_the_failure_budget() -> None:
    intent = an_intent(parallel_max=1, unavailable_max="100%", failed_max=0)
    world = World(some_nodes(3), intent, fates={"n2": Fate(driver_fails_on=NEW.version)})
    run(world)
    assert phases(world) == {
        "n1": NodePhase.UPGRADE_DONE,
        "n2": NodePhase.UPGRADE_FAILED,
        "n3": NodePhase.UPGRADE_REQUIRED,
    }
    assert world.rollout.admitted == a_ledger("n2"), "our cordon is still on it"


def test_pods_that_may_not_leave_fail_their_node_at_the_deadline_and_nobody_else() -> None:
    intent = an_intent(parallel_max=2, unavailable_max=2)
    world = World(some_nodes(2, gpu_pod_count=1), intent, fates={"n1": Fate(is_eviction_blocked=True)})
    _, pages = run(world)
    assert phases(world) == {"n1": NodePhase.UPGRADE_FAILED, "n2": NodePhase.UPGRADE_DONE}
    tries = [fields for _, kind, fields in pages.entries if kind == "act" and "/evict/" in str(fields["id"])]
    count = len([fields for fields in tries if fields["subject"] == "n1"])
    assert count == 22, "every 5 s for a minute, then 10 s, 20 s, and every 30 s"


def test_an_admins_cordon_set_before_us_is_there_after_us() -> None:
    nodes = [*some_nodes(1), new_node("n2", running=OLD, wanted=NEW, is_cordoned=True)]
    world = World(nodes, an_intent(parallel_max=2, unavailable_max=2))
    run(world)
    assert [(node.facts.is_cordoned, phases(world)[name]) for name, node in world.nodes.items()] == [
        (False, NodePhase.UPGRADE_DONE),
        (True, NodePhase.UPGRADE_DONE),
    ]


def test_a_retry_gets_a_fresh_driver_pod_and_ends_with_our_cordon_gone() -> None:
    fates = {"n1": Fate(driver_fails_on=NEW.version)}
    world = World(some_nodes(1), an_intent(unavailable_max=1), fates=fates)
    run(world)
    world.befall("n1", lambda _: HEALTHY)
    world.change("n1", lambda node: replace(node, is_retry_asked=True))
    run(world)
    node = world.nodes["n1"]
    assert node.facts.driver is not None
    assert (phases(world)["n1"], node.facts.is_cordoned, node.facts.driver.uid) == (
        NodePhase.UPGRADE_DONE,
        False,
        "driver-n1-2",
    )


def test_a_version_reverted_on_the_way_brings_every_node_back_into_service() -> None:
    world = World(some_nodes(4), WIDE)
    world.at(60.0, lambda it: it.publish(OLD))
    world.at(60.0, lambda it: setattr(it, "intent", replace(it.intent, target=Target.of(OLD.version))))
    run(world)
    assert set(phases(world).values()) == {NodePhase.UPGRADE_DONE}
    assert {node.facts.driver.version for node in world.nodes.values() if node.facts.driver} == {OLD.version}
    assert not any(node.facts.is_cordoned for node in world.nodes.values())


def test_a_pause_of_days_fails_nobody() -> None:
    def pause(is_paused: bool) -> Any:
        return lambda it: setattr(it, "intent", replace(it.intent, is_paused=is_paused))

    world = World(some_nodes(3, gpu_pod_count=1), WIDE)
    world.at(40.0, pause(True))
    world.at(400_000.0, pause(False))
    run(world)
    assert set(phases(world).values()) == {NodePhase.UPGRADE_DONE}


# ── one node and its ways ────────────────────────────────────────────────────────────────────────────────────────────

SMALL = an_intent(unavailable_max=1)


def run_one(intent: Intent, fate: Fate, **changes: Any) -> tuple[World, list[str]]:
    """One node to its end; the world, and the acts on the node in a few words each."""
    world = World(some_nodes(1, **changes), intent, fates={"n1": fate})
    _, pages = run(world)
    acts = [str(fields["id"]).split("/")[1] for _, kind, fields in pages.entries if kind == "act"]
    return world, [act for act in acts if act != "ledger"]


def ending(world: World) -> tuple[NodePhase, str]:
    record = world.nodes["n1"].record
    assert record is not None
    return record.phase, record.reason


DONE = (NodePhase.UPGRADE_DONE, "")


def a_user(**changes: Any) -> Pod:
    return replace(Pod(namespace="jobs", name="train", uid="train", gpu=GpuUse.RESOURCE), **changes)


def test_a_node_with_everything_ends_with_everything() -> None:
    everything: dict[str, Any] = {"gpu_count": 8, "has_features": True, "has_dra": True, "clients": ("dcgm",)}
    world, acts = run_one(SMALL, Fate(is_load_guarded=True), gpu_pod_count=2, **everything)
    facts = world.nodes["n1"].facts
    assert ending(world) == DONE
    assert (facts.published, facts.loaded and facts.loaded.version) == ((NEW.version,), NEW.version)
    assert (facts.offer.resources, facts.paused_labels) == (((GPU, 8),), ())
    assert [pod.deploy_label for pod in facts.pods] == ["nvidia.com/gpu.deploy.dcgm"]
    assert [act for act in acts if act.startswith("restart")] == ["restart-driver", "restart-dra-plugin"]


def test_a_validator_that_does_not_look_again_by_itself_is_restarted_after_a_minute() -> None:
    world, acts = run_one(SMALL, Fate(is_validator_lazy=True))
    assert (ending(world), acts.count("restart-validator")) == (DONE, 1)


def test_a_gpu_that_is_lost_fails_its_node_unless_the_loss_is_accepted() -> None:
    world, _ = run_one(SMALL, Fate(is_gpu_lost=True), gpu_count=8)
    assert ending(world) == (NodePhase.UPGRADE_FAILED, FailureCode.VALIDATION_TIMEOUT)
    world.change("n1", lambda node: replace(node, facts=replace(node.facts, is_loss_accepted=True)))
    run(world)
    assert ending(world) == DONE
    assert not world.nodes["n1"].facts.is_cordoned


@pytest.mark.parametrize(("fate", "seconds_max"), [(Fate(), 700), (Fate(is_work_unsaved=True), 1400)])
def test_jobs_get_their_time_to_save_their_work_and_no_more(fate: Fate, seconds_max: float) -> None:
    world, acts = run_one(SMALL, fate, pods=(a_user(offers_checkpoint=True),))
    assert ending(world) == DONE
    assert acts.index("checkpoint") < acts.index("evict")
    assert world.time < seconds_max


def test_a_webhook_is_asked_until_the_work_is_saved() -> None:
    intent = replace(SMALL, checkpoint=replace(SMALL.checkpoint, webhook="https://save.example"))
    world, acts = run_one(intent, Fate(), pods=(a_user(offers_checkpoint=True),))
    assert ending(world) == DONE
    assert 10 < acts.count("checkpoint") < 30, "every 5 s for one to two minutes"


@pytest.mark.parametrize(("fate", "evictions"), [(Fate(), 0), (Fate(is_job_endless=True), 1)])
def test_a_job_is_waited_for_and_evicted_when_its_time_is_up(fate: Fate, evictions: int) -> None:
    intent = an_intent(unavailable_max=1, jobs=JobWait(selector=Selector.parse(JOB_LABEL), timeout_seconds=3600))
    world, acts = run_one(intent, fate, pods=(a_user(labels=((JOB_LABEL, "train"),)),))
    assert (ending(world), acts.count("evict")) == (DONE, evictions)


def test_pods_that_would_not_go_are_drained_and_the_rest_with_them() -> None:
    intent = an_intent(unavailable_max=1, drain=Drain(is_enabled=True, rules=Eviction(force=True)))
    web = Pod(namespace="web", name="web", uid="web")
    world, acts = run_one(intent, Fate(), pods=(a_user(keeper=PodOwner.NOBODY), web))
    assert (ending(world), world.nodes["n1"].facts.pods) == (DONE, ())
    assert acts.index("drain-required") < acts.index("evict")


def test_budgets_hold_in_a_drain_too() -> None:
    intent = an_intent(unavailable_max=1, drain=Drain(is_enabled=True))
    world, _ = run_one(intent, Fate(is_eviction_blocked=True), gpu_pod_count=1)
    assert ending(world) == (NodePhase.UPGRADE_FAILED, FailureCode.DRAIN_TIMEOUT)


def test_a_disruption_budget_lets_go_as_many_pods_as_it_allows_and_no_more() -> None:
    replicas = tuple(
        a_user(name=f"web-{each}", uid=f"web-{each}", labels=(("app", "web"),), is_running=True) for each in "ab"
    )
    world = World([new_node("n1", running=OLD, wanted=NEW, pods=replicas)], SMALL)
    budget = PodBudget(namespace="jobs", name="web", selector=Selector.parse("app=web"), allowed=1)
    world.work = WorkSeen(budgets=(budget,))
    asked = EvictPods(node="n1", attempt=1, pods=replicas)
    first, again = world.execute(asked), world.execute(asked)
    assert [[uid for uid, _ in each.blocked] for each in (first, again)] == [["web-b"], ["web-b"]]
    assert [pod.is_terminating for pod in world.nodes["n1"].facts.pods] == [True, False]
    world.work = WorkSeen(budgets=(budget,))
    assert world.execute(asked).result is Result.DONE


def test_a_node_that_is_deleted_is_gone_with_whatever_was_in_store_for_it() -> None:
    world, seen = World(some_nodes(2), WIDE), []
    world.watchers.append(lambda before, after: seen.append((before.name, after.facts.is_ready, after.facts.pods)))
    world.at(1.0, lambda it: it.remove("n1"))
    world.at(2.0, lambda it: it.befall("n1", lambda fate: replace(fate, is_pod_stuck=True)))
    run(world)
    assert phases(world) == {"n2": NodePhase.UPGRADE_DONE}
    assert ("n1", False, ()) in seen


def test_a_restart_that_changes_nothing_leaves_every_user_where_it_is() -> None:
    node = new_node("n1", running=replace(OLD, digest="d"), wanted=replace(NEW, digest="d"), gpu_pod_count=3)
    world = World([node], SMALL)
    run(world)
    assert (ending(world), world.nodes["n1"].facts.pods) == (DONE, node.facts.pods)


@pytest.mark.parametrize(
    ("fate", "end"),
    [
        (Fate(), DONE),
        (Fate(is_maintenance_stuck=True), (NodePhase.UPGRADE_FAILED, FailureCode.MAINTENANCE_TIMEOUT)),
    ],
)
def test_a_maintenance_operator_empties_the_node_for_us(fate: Fate, end: tuple[NodePhase, str]) -> None:
    world, acts = run_one(replace(SMALL, requestor=Requestor(id="seatrial")), fate, gpu_pod_count=1)
    facts = world.nodes["n1"].facts
    is_done = end == DONE
    assert (ending(world), acts.count("evict"), facts.pods) == (end, 0, ())
    assert (facts.maintenance is None, facts.is_cordoned) == (is_done, not is_done)


def test_a_failed_node_is_tried_again_by_itself_as_often_as_allowed() -> None:
    intent = replace(SMALL, retries=Retries(count_max=2, pause_seconds=300.0))
    world, acts = run_one(intent, Fate(driver_fails_on=NEW.version))
    record = world.nodes["n1"].record
    assert record is not None
    assert (ending(world)[0], record.attempt, record.failures, record.trouble) == (
        NodePhase.UPGRADE_FAILED,
        3,
        3,
        "module-load",
    )
    assert acts.count("restart-driver") == 3


def test_an_upgrade_that_somebody_asks_for_happens_although_nothing_is_new() -> None:
    world = World([new_node("n1", running=NEW, wanted=NEW)], SMALL)
    world.at(
        100.0, lambda it: it.change("n1", lambda node: replace(node, facts=replace(node.facts, is_requested=True)))
    )
    run(world)
    driver = world.nodes["n1"].facts.driver
    assert driver is not None
    assert (ending(world), driver.uid, world.nodes["n1"].facts.is_requested) == (DONE, "driver-n1-1", False)


# ── its parts ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_time_jumps_to_what_happens_next_and_no_further() -> None:
    world = World(some_nodes(1), WIDE, started_at=100.0)
    happened: list[float] = []
    world.at(150.0, lambda it: happened.append(it.time))
    world.at(170.0, lambda it: happened.append(it.time))
    assert (world.next_at, asyncio.run(world.wait(200.0)), world.time, happened) == (150.0, True, 150.0, [150.0])
    assert (asyncio.run(world.wait(160.0)), world.time, happened) == (True, 160.0, [150.0])


def test_a_world_in_which_nothing_will_happen_says_so() -> None:
    world = World(some_nodes(1), WIDE)
    assert (world.next_at, asyncio.run(world.wait(None)), world.time) == (None, False, 0.0)


def test_an_unread_outcome_is_something_to_look_at() -> None:
    world = World(some_nodes(1), WIDE)
    world.submit(written(world.nodes["n1"], NodePhase.UPGRADE_REQUIRED))
    assert asyncio.run(world.wait(None))
    assert [outcome.result for outcome in world.collect()] == [Result.DONE]
    assert (world.collect(), world.in_flight()) == ((), frozenset())


def ledger(version: str) -> WriteRolloutRecord:
    return WriteRolloutRecord(record=RolloutRecord(name="spring", resource_version=version, admitted=a_ledger("n1")))


def test_the_ledger_is_written_by_compare_and_set() -> None:
    world = World(some_nodes(1), WIDE)
    assert world.execute(ledger("1")) == Outcome(action=ledger("1"), result=Result.DONE)
    assert world.rollout == replace(ledger("1").record, resource_version="2")
    assert world.execute(ledger("1")) == Outcome(
        action=ledger("1"), result=Result.STALE, detail="the ledger was written by somebody else"
    )


def test_an_act_on_a_node_that_is_gone_is_stale() -> None:
    act = written(a_node("n9"), NodePhase.UPGRADE_REQUIRED)
    assert World(some_nodes(1), WIDE).execute(act) == Outcome(action=act, result=Result.STALE, detail="no such node")


def test_a_blocked_eviction_names_every_pod_and_why() -> None:
    world = World(some_nodes(1, gpu_pod_count=2), WIDE, fates={"n1": Fate(is_eviction_blocked=True)})
    act = EvictPods(node="n1", attempt=1, pods=world.nodes["n1"].facts.gpu_pods)
    why = "the disruption budget needs every pod it has"
    assert world.execute(act) == Outcome(
        action=act, result=Result.BLOCKED, detail=why, blocked=(("pod-n1-0", why), ("pod-n1-1", why))
    )


def test_a_fresh_driver_pod_takes_its_own_time() -> None:
    """A reaction meant for a pod that is gone does not make its successor ready early."""
    world = World(some_nodes(1), WIDE)
    world.at(10.0, stop_driver)
    world.at(60.0, stop_driver)
    world.tick_to(60.0 + 2.0 + 179.0)
    driver = world.nodes["n1"].facts.driver
    assert driver is not None
    assert (driver.uid, driver.is_ready) == ("driver-n1-2", False)


def stop_driver(world: World) -> None:
    """Somebody deletes the driver pod of n1."""
    facts = world.nodes["n1"].facts
    assert facts.driver is not None
    driver = replace(facts.driver, is_terminating=True)
    world.change("n1", lambda node: replace(node, facts=replace(facts, driver=driver)))


def test_publishing_does_not_write_to_the_nodes() -> None:
    world = World([new_node("n1", running=OLD, wanted=OLD)], WIDE)
    world.publish(NEW)
    assert world.nodes["n1"] == new_node("n1", running=OLD, wanted=NEW)


def test_what_is_seen_is_not_changed_afterwards() -> None:
    world = World(some_nodes(1), WIDE)
    before = world.observe().seen.nodes
    world.change("n1", lambda node: replace(node, facts=replace(node.facts, is_ready=False)))
    assert before["n1"].facts.is_ready
    assert not world.observe().seen.nodes["n1"].facts.is_ready


def test_the_intent_is_seen_with_the_nodes() -> None:
    intent: Intent = an_intent(failed_max=3)
    assert World(some_nodes(1), intent).observe().intent == intent


def test_a_lost_node_does_nothing_until_it_is_back() -> None:
    world = World(some_nodes(1, gpu_pod_count=1), WIDE)
    (pod,) = world.nodes["n1"].facts.pods
    world.execute(EvictPods(node="n1", attempt=1, pods=(pod,)))
    world.change("n1", lambda node: replace(node, facts=replace(node.facts, is_ready=False)))
    world.tick_to(10_000.0)
    assert [pod.is_terminating for pod in world.nodes["n1"].facts.pods] == [True]
    world.change("n1", lambda node: replace(node, facts=replace(node.facts, is_ready=True)))
    world.tick_to(20_000.0)
    assert [pod.name for pod in world.nodes["n1"].facts.pods] == []


def test_a_budget_that_frees_later_lets_the_pods_go() -> None:
    world = World(some_nodes(1, gpu_pod_count=1), WIDE, fates={"n1": Fate(is_eviction_blocked=True)})
    world.at(100.0, lambda it: it.befall("n1", lambda _: Fate()))
    run(world)
    assert phases(world) == {"n1": NodePhase.UPGRADE_DONE}


def test_whoever_watches_is_told_what_a_node_was_and_is() -> None:
    world, seen = World(some_nodes(1), WIDE), []
    world.watchers.append(lambda before, after: seen.append((before, after)))
    before = world.nodes["n1"]
    world.change("n1", lambda node: replace(node, is_label_lost=True))
    assert seen == [(before, world.nodes["n1"])]
