"""Every reachable state of small worlds whose rollout moves the network driver: drained first, before the GPU's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.compat.matrix import Component
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.pods import DriverRevision, Pod
from seatrial.core.model.target import Target
from seatrial.sim.nodes import Fate, new_node
from seatrial.sim.operand_pods import carrying, with_operands
from seatrial_lab.explore.explore import Exploration, explore
from tests.builders import NEW, OLD, an_intent

pytestmark = pytest.mark.slow

BEFORE, AFTER = "24.07-0.6.1.0", "25.04-0.6.0.0"


def walk(count: int = 1, driver: DriverRevision = OLD, **settings: Any) -> Exploration:
    """What somebody has published is rolled out over nodes with a pod that holds no GPU."""
    nodes = []
    for number in range(1, count + 1):
        web = Pod(namespace="web", name=f"web-{number}", uid=f"web-{number}")
        node = new_node(f"n{number}", running=OLD, wanted=driver, pods=(web,))
        facts = with_operands(node.facts, ((Operand.NETWORK_DRIVER, BEFORE),))
        nodes.append(replace(node, facts=carrying(facts, {"mofed": AFTER})))
    target = Target.of(driver.version, (Component.MOFED, AFTER))
    return explore(tuple(nodes), an_intent(parallel_max=0, unavailable_max=1, target=target), **settings)


@pytest.mark.parametrize("driver", [OLD, NEW], ids=["alone", "both"])
def test_a_node_whose_network_driver_is_old(driver: DriverRevision) -> None:
    found = walk(1, driver, restarts_max=1)
    assert found.counterexample is None, f"\n{found.counterexample}"
    assert found.end_count > 0


def test_a_node_whose_network_driver_asks_whether_it_may_load() -> None:
    found = walk(1, fates={"n1": Fate(is_network_load_guarded=True)})
    assert found.counterexample is None, f"\n{found.counterexample}"
    assert found.end_count > 0
