"""By attrition in the simulated world: the limits on nodes, floors and units hold, and none of them stops the fleet."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.intent import Domain
from seatrial.core.model.policy import Attrition, Share
from seatrial.core.model.seen.nodes import NodeSeen
from tests.builders import NEW
from tests.sim.test_attrition_world import HOUR, START, Busy, a_job

RACK = "example.com/rack"


class Watched(Busy):
    """The same fleet, n1 to n4 in two racks, and the most drivers that were away at once."""

    def __init__(self, **changes: Any) -> None:
        names = ("n1", "n2", "n3", "n4")
        super().__init__({name: [a_job(f"j{name}", name)] for name in names}, **({"idle_gpus_max": 32} | changes))
        for number, name in enumerate(names):
            self.world.change(name, partial(standing_in, rack=f"r{number // 2}"))
        self.away_most = 0
        self.away_most_in = {"r0": 0, "r1": 0}
        self.world.watchers.append(self._on_change)

    def _on_change(self, _before: NodeSeen, _after: NodeSeen) -> None:
        nodes = [node.facts for node in self.world.nodes.values()]
        away = [facts for facts in nodes if facts.driver is None or not facts.driver.is_ready]
        self.away_most = max(self.away_most, len(away))
        for rack, most in self.away_most_in.items():
            here = sum(facts.labels.get(RACK) == rack for facts in away)
            self.away_most_in[rack] = max(most, here)


def standing_in(node: NodeSeen, rack: str) -> NodeSeen:
    return replace(node, facts=replace(node.facts, labels={**node.facts.labels, RACK: rack}))


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


# ── the limits hold ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_one_node_may_be_unavailable_and_four_jobs_end_together() -> None:
    busy = Watched(unavailable_max=1)
    busy.ends(2, "jn1", "jn2", "jn3", "jn4")
    busy.play(2.05)
    assert sum(node.facts.is_cordoned for node in busy.world.nodes.values()) == 1, "the others take work again"
    busy.play(5)
    assert (busy.record.phase, busy.away_most) == (RolloutPhase.DONE, 1)


def test_each_rack_keeps_its_floor() -> None:
    busy = Watched(domains=(Domain(label=RACK, unavailable_max=Share.parse("50%")),))
    busy.ends(2, "jn1", "jn2", "jn3", "jn4")
    busy.play(5)
    assert (busy.record.phase, busy.away_most_in) == (RolloutPhase.DONE, {"r0": 1, "r1": 1})


# ── units ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_node_whose_job_has_ended_waits_for_the_rest_of_its_nvlink_unit() -> None:
    patient = Attrition(deadline_seconds=24 * HOUR, evicts_early=False)
    busy = Watched(domains=(Domain(label=RACK, is_unit=True),), way=patient)
    busy.ends(2, "jn2", "jn3")
    busy.ends(5, "jn1", "jn4")
    busy.play(4.5)
    assert upgraded(busy) == {"n0"}
    assert "upgraded as one unit, and these nodes are not ready to start yet: n1" in busy.why("n2")
    busy.play(6)
    assert busy.record.phase is RolloutPhase.DONE
    assert busy.evicted == []
