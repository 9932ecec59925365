"""By attrition in the simulated world: idle GPUs, limits and budgets while a rollout cannot go on, or not yet."""

from __future__ import annotations

from dataclasses import replace

from seatrial.core.budget.losses import idle_gpus
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.policy import Attrition
from seatrial.core.model.seen.work import PodBudget, WorkSeen
from seatrial.core.model.selectors import Selector
from seatrial.sim.world import World
from tests.builders import NEW, OLD, an_intent
from tests.sim.test_attrition_world import HOUR, START, Busy, a_job
from tests.sim.test_outside import THIRD, publishing_a_third_version


def idle_behind_our_cordons(busy: Busy) -> int:
    return sum(idle_gpus(node) for node in busy.world.nodes.values() if node.facts.is_cordoned)


def test_closed_nodes_are_given_back_within_the_idle_budget_while_a_third_version_is_published() -> None:
    busy = Busy({f"n{each}": [a_job(f"j{each}", f"n{each}")] for each in range(1, 5)}, idle_gpus_max=8)
    busy.world.at(START + 1.1 * HOUR, lambda world: publishing_a_third_version(world, THIRD))
    busy.ends(1.5, "j1", "j2", "j3", "j4")
    busy.play(3)
    assert idle_behind_our_cordons(busy) <= 8
    busy.world.at(START + 3.1 * HOUR, lambda world: publishing_a_third_version(world, NEW.version))
    busy.play(8)
    assert busy.record.phase is RolloutPhase.DONE


# ── past the deadline ────────────────────────────────────────────────────────────────────────────────────────────────

KEPT = PodBudget(namespace="jobs", name="training", selector=Selector.parse("app=train"), allowed=0)


def test_past_the_deadline_a_node_that_may_not_be_emptied_is_looked_at_once_a_minute_and_told_no_time() -> None:
    kept = replace(a_job("j1", "n1"), labels=(("app", "train"),))
    busy = Busy({"n1": [kept]}, way=Attrition(deadline_seconds=2 * HOUR))
    busy.world.work = WorkSeen(budgets=(KEPT,))
    busy.play(3)
    passes, before = busy.pass_count, int(busy.world.rollout.resource_version)
    busy.play(4)
    assert busy.pass_count - passes <= 70
    assert int(busy.world.rollout.resource_version) - before <= 6
    assert "at the latest" not in busy.why("n1")
    assert {held.code for held in busy.holds["n1"]} == {HoldCode.CLOSED_AHEAD, HoldCode.DISRUPTION_LIMIT}
    assert busy.evicted == []
    busy.world.work = WorkSeen(budgets=(replace(KEPT, allowed=1),))
    busy.play(5)
    assert busy.evicted == ["j1-n1"]
    assert busy.record.phase is RolloutPhase.DONE


# ── before the start ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_fleet_too_small_for_a_tenth_of_its_gpus_publishes_nothing_until_the_limit_is_raised() -> None:
    busy = Busy({"n1": [a_job("j1", "n1")]}, idle_gpus_max="10%")
    busy.play(2)
    assert [carrier.version for carrier in busy.world.outside.operator.carriers] == [OLD.version]
    assert "Set spec.limits.maxIdleGPUs of the rollout to 8 or more." in busy.why("spring")

    def raise_the_limit(world: World) -> None:
        world.intent = replace(
            world.intent, policy=an_intent(parallel_max=0, unavailable_max="100%", idle_gpus_max=8).policy
        )

    busy.world.at(START + 2.1 * HOUR, raise_the_limit)
    busy.ends(4, "j1")
    busy.play(6)
    assert busy.record.phase is RolloutPhase.DONE


def test_a_deadline_that_one_node_at_a_time_cannot_keep_publishes_nothing_and_evicts_no_job() -> None:
    jobs = {f"n{each}": [a_job(f"j{each}", f"n{each}")] for each in range(1, 9)}
    busy = Busy(jobs, way=Attrition(deadline_seconds=HOUR), parallel_max=1)
    busy.play(2)
    assert busy.record.phase is RolloutPhase.PROPOSED
    assert busy.evicted == []
    assert "Set spec.attrition.deadlineSeconds to 4140 or more, or raise spec.limits.maxParallelUpgrades." in busy.why(
        "spring"
    )
