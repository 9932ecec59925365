"""A whole campaign on nodes that give their GPUs out through DRA: every gate claims them, all the way."""

from __future__ import annotations

import asyncio

import pytest

from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.model.campaign import RolloutPhase
from seatrial.run.loop import run_forever
from seatrial.run.memory import Memory
from seatrial.sim.nodes import new_node
from tests.builders import NEW, OLD
from tests.sim.test_outside import POLICY, Acts, a_world, drivers, phases


@pytest.mark.parametrize(("gpu_count", "by_claim"), [(0, True), (8, False)], ids=["DRA alone", "both"])
def test_gates_ask_for_gpus_as_the_nodes_give_them_all_the_way(gpu_count: int, by_claim: bool) -> None:
    nodes = [
        new_node(f"n{number}", running=OLD, wanted=OLD, has_dra=True, gpu_count=gpu_count) for number in range(1, 5)
    ]
    world = a_world(POLICY, nodes=nodes)
    probes: list[StartProbe] = []
    asyncio.run(
        run_forever(
            world.ports(Acts()),
            Memory(world.time),
            on_report=lambda report: probes.extend(
                act for act in (report.decision.actions if report.decision else ()) if isinstance(act, StartProbe)
            ),
            is_over=lambda _: False,
        )
    )
    assert phases(world)[-1] is RolloutPhase.DONE
    assert drivers(world) == [NEW.version] * 4
    assert len(probes) >= 48
    assert {probe.by_claim for probe in probes} == {by_claim}
