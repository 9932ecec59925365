"""By attrition in the simulated world: the limits on nodes, floors and units hold, and none of them stops the fleet."""

from __future__ import annotations

from dataclasses import replace

from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.seen.nodes import NodeSeen
from tests.builders import NEW
from tests.sim.test_attrition_world import START, Busy, a_job


def cordoned_by_an_admin(node: NodeSeen) -> NodeSeen:
    return replace(node, facts=replace(node.facts, is_cordoned=True))


def upgraded(busy: Busy) -> set[str]:
    drivers = {name: node.facts.driver for name, node in busy.world.nodes.items()}
    return {name for name, driver in drivers.items() if driver is not None and driver.version == NEW.version}


# ── nobody waits for a node that is not ours ─────────────────────────────────────────────────────────────────────────


def test_one_node_cordoned_by_an_admin_does_not_keep_the_others_from_their_turn() -> None:
    names = [f"n{number:02}" for number in range(1, 41)]
    busy = Busy({name: [a_job(f"j{name}", name)] for name in names}, parallel_max=8, idle_gpus_max="10%")
    for number, name in enumerate(names):
        busy.ends(2 + number // 8, f"j{name}")
    busy.world.at(START + 60.0, lambda world: world.change("n01", cordoned_by_an_admin))
    busy.play(12)
    assert busy.record.phase is RolloutPhase.DONE
    assert {name for name, node in busy.world.nodes.items() if node.facts.is_cordoned} == {"n01"}


def test_one_at_a_time_three_jobs_that_end_together_are_upgraded_beside_an_admins_cordon() -> None:
    names = ("n1", "n2", "n3", "n4")
    busy = Busy({name: [a_job(f"j{name}", name)] for name in names}, parallel_max=1, idle_gpus_max=16)
    busy.ends(2, "jn1", "jn2", "jn3")
    busy.ends(2.5, "jn4")
    busy.world.at(START + 60.0, lambda world: world.change("n1", cordoned_by_an_admin))
    busy.play(4)
    assert busy.record.phase is RolloutPhase.DONE
