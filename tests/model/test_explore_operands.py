"""Every reachable state of small worlds whose rollout moves operands: in visits, in order, closed where it matters.

The mutations take one protection away each, and the explorer answers with the story of the harm.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.model.campaign import Bake, Campaign, Canary, Growth, Waves
from seatrial.core.model.gates.gate import Gate
from seatrial.core.model.intent import Intent
from seatrial.core.model.policy import Share
from seatrial.core.model.seen.nodes import NodeFacts, NodeSeen
from seatrial.core.model.seen.operands import COMPONENTS, Operand
from seatrial.core.model.seen.pods import DriverRevision
from seatrial.core.model.target import Target
from seatrial.core.node import operating
from seatrial.core.node.visiting import Takes
from seatrial.core.node.writing import Orders
from seatrial.sim import outside as outer
from seatrial.sim.nodes import new_node
from seatrial.sim.operand_pods import carrying, with_operands
from seatrial.sim.outside import GateFate, Outside
from seatrial_lab.explore.coarse import AT_ONCE
from seatrial_lab.explore.explore import Exploration, explore
from seatrial_lab.explore.model import LISTING
from tests.builders import NEW, OLD, an_intent

pytestmark = pytest.mark.slow

BEFORE = {Operand.TOOLKIT: "v1.17.8", Operand.EXPORTER: "4.2.3-4.1.1-ubuntu22.04", Operand.VALIDATOR: "v25.3.0"}
AFTER = {Operand.TOOLKIT: "v1.18.1", Operand.EXPORTER: "4.4.2-4.7.0-ubuntu22.04", Operand.VALIDATOR: "v25.10.1"}
SMALL = (Operand.TOOLKIT, Operand.VALIDATOR)
ALL = tuple(BEFORE)


def some_nodes(count: int, operands: tuple[Operand, ...], **changes: Any) -> tuple[NodeSeen, ...]:
    nodes = (new_node(f"n{number}", running=OLD, wanted=OLD, **changes) for number in range(1, count + 1))
    return tuple(replace(node, facts=with_operands(node.facts, ((o, BEFORE[o]) for o in operands))) for node in nodes)


def wish(operands: tuple[Operand, ...], driver: DriverRevision = OLD, **changes: Any) -> Intent:
    others = ((COMPONENTS[operand], AFTER[operand]) for operand in operands)
    limits: dict[str, Any] = {"parallel_max": 0, "unavailable_max": 1}
    return an_intent(**limits, target=Target.of(driver.version, *others), **changes)


def walk(count: int, operands: tuple[Operand, ...] = ALL, driver: DriverRevision = OLD, **settings: Any) -> Exploration:
    """What somebody has published is rolled out."""
    parts = {COMPONENTS[operand].value: AFTER[operand] for operand in operands}
    nodes = some_nodes(count, operands, **settings.pop("nodes", {}))
    wanted = (replace(node.facts, wanted=driver) for node in nodes)
    published = tuple(replace(node, facts=carrying(facts, parts)) for node, facts in zip(nodes, wanted, strict=True))
    return explore(published, wish(operands, driver), **settings)


def assert_all_is_well(found: Exploration, *, states_min: int) -> None:
    assert found.counterexample is None, f"\n{found.counterexample}"
    assert found.end_count > 0
    assert found.state_count >= states_min


def told(found: Exploration) -> str:
    assert found.counterexample is not None
    return str(found.counterexample)


# ── worlds ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_two_nodes_whose_operands_are_old() -> None:
    assert_all_is_well(walk(2, restarts_max=2), states_min=3_000)


def test_three_nodes_whose_operands_restart_at_once() -> None:
    assert_all_is_well(walk(3, world=AT_ONCE), states_min=10_000)


def test_two_nodes_of_which_only_monitors_are_old() -> None:
    assert_all_is_well(walk(2, (Operand.EXPORTER,)), states_min=1_000)


def test_two_nodes_with_users_whose_driver_is_old_as_well() -> None:
    assert_all_is_well(walk(2, SMALL, NEW, nodes={"gpu_pod_count": 1}), states_min=3_000)


def test_a_daemon_of_shared_gpus_goes_when_its_users_have_gone() -> None:
    assert_all_is_well(
        explore(sharing(2), an_intent(parallel_max=0, unavailable_max=1, target=Target.of(OLD.version, PLUGIN))),
        states_min=1_000,
    )


PLUGIN = (COMPONENTS[Operand.MPS], "v0.18.1")


def sharing(count: int) -> tuple[NodeSeen, ...]:
    """Nodes with users who share GPUs by a daemon that is old."""
    nodes = (new_node(f"n{number}", running=OLD, wanted=OLD, gpu_pod_count=1) for number in range(1, count + 1))
    parts = {PLUGIN[0].value: PLUGIN[1]}
    return tuple(
        replace(node, facts=carrying(with_operands(node.facts, ((Operand.MPS, "v0.17.1"),)), parts)) for node in nodes
    )


# ── campaigns ────────────────────────────────────────────────────────────────────────────────────────────────────────

CAREFUL = Campaign(
    canary=Canary(count=1),
    gates=(Gate(name="smoke", image="smoke:1"),),
    bake=Bake(seconds=0.0),
    waves=Waves(growth=Growth.FIXED, first=Share(amount=5)),
)
FAILING = {"smoke": GateFate(fails_on=f"{Operand.TOOLKIT} {AFTER[Operand.TOOLKIT]}")}


def a_campaign_over(
    count: int, operands: tuple[Operand, ...] = SMALL, driver: DriverRevision = OLD, **settings: Any
) -> Exploration:
    """A canary, a gate, and a wave; a controller that lists everything when it starts again."""
    operator = outer.cluster_policy(OLD.version)
    parts = tuple((COMPONENTS[operand].value, BEFORE[operand]) for operand in operands)
    operator = replace(operator, carriers=tuple(replace(each, parts=parts) for each in operator.carriers))
    defaults: dict[str, Any] = {"outside": Outside(operator=operator), "restarts": frozenset({LISTING})}
    nodes = some_nodes(count, operands)
    return explore(nodes, wish(operands, driver, campaign=CAREFUL), **(defaults | settings))


@pytest.mark.parametrize("driver", [OLD, NEW], ids=["operands", "and a driver"])
def test_a_canary_and_two_more_nodes(driver: DriverRevision) -> None:
    assert_all_is_well(a_campaign_over(3, ALL, driver), states_min=2_000)


@pytest.mark.parametrize("driver", [OLD, NEW], ids=["operands", "and a driver"])
def test_a_gate_that_fails_brings_the_canary_back(driver: DriverRevision) -> None:
    assert_all_is_well(a_campaign_over(2, driver=driver, gate_fates=FAILING), states_min=450)


def test_somebody_wants_it_undone_at_any_moment() -> None:
    undone = ("somebody wants it undone", wish(SMALL, campaign=replace(CAREFUL, abort="not today")))
    found = a_campaign_over(1, changes=(undone,), world=AT_ONCE, has_memory=True, restarts_max=0)
    assert_all_is_well(found, states_min=500)


# ── mutations ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_toolkit_that_goes_without_a_cordon_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(_facts: NodeFacts, _orders: Orders) -> Takes:
        return Takes.NOTHING

    monkeypatch.setattr(operating, "takes_now", nothing)
    assert "visited broken at n1: container-toolkit restarts without a cordon" in told(walk(1))
    assert told(walk(1, promises=())).endswith("=> container-toolkit of n1 is stopped while the node takes work")


def test_a_daemon_that_goes_under_its_users_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def cordon(_facts: NodeFacts, _orders: Orders) -> Takes:
        return Takes.CORDON

    monkeypatch.setattr(operating, "takes_now", cordon)
    intent = an_intent(unavailable_max=1, target=Target.of(OLD.version, PLUGIN))
    found = explore(sharing(1), intent)
    assert told(found).endswith("=> visited broken at n1: mps-control-daemon restarts under jobs/train-n1-0")


def test_operands_that_do_not_wait_for_each_other_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operating, "why_down", lambda _operand: None)
    assert told(walk(1, promises=())).endswith("of n1 are stopped at once")
