"""By attrition in the simulated world: idle GPUs, limits and budgets while a rollout cannot go on, or not yet."""

from __future__ import annotations

from dataclasses import replace

from seatrial.core.budget.losses import idle_gpus
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.policy import Attrition
from seatrial.core.model.seen.work import PodBudget, WorkSeen
from seatrial.core.model.selectors import Selector
from tests.builders import NEW
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
