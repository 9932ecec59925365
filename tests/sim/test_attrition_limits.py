"""By attrition in the simulated world: idle GPUs, limits and budgets while a rollout cannot go on, or not yet."""

from __future__ import annotations

from seatrial.core.budget.losses import idle_gpus
from seatrial.core.model.campaign import RolloutPhase
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
