"""One table says what a visit takes and what people are told of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seatrial.core.actions.on_nodes import Cordon, WriteNodeRecord
from seatrial.core.compat.matrix import Component
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.operands import APPS, COMPONENTS, ORDER, Operand, OperandSeen
from seatrial.core.node.impact_rows import Loss
from seatrial.core.node.impact_words import OPERANDS, TABLE, impact_of
from seatrial.core.node.step import step_node
from seatrial.core.node.visiting import VISITS, Takes, takes, takes_of
from seatrial.sim.operand_pods import operand_of, with_operands
from tests.builders import NEW, NOW, a_new_driver, a_node, an_intent, some_orders
from tests.core.node.test_plan_impact import alone, step

RUNTIME = Operand.TOOLKIT


def test_every_operand_has_a_row_in_the_order_of_a_visit() -> None:
    assert list(VISITS) == sorted((Operand.NETWORK_DRIVER, *APPS.values(), Operand.DRA_PLUGIN), key=ORDER.__getitem__)


@pytest.mark.parametrize("is_configured_anew", [False, True])
@pytest.mark.parametrize("evicts_for_runtime", [False, True])
@pytest.mark.parametrize("operand", VISITS)
def test_what_a_visit_takes_is_in_its_row_unless_people_leave_for_the_runtime(
    operand: Operand, is_configured_anew: bool, evicts_for_runtime: bool
) -> None:
    found = takes_of(operand, is_configured_anew=is_configured_anew, evicts_for_runtime=evicts_for_runtime)
    is_for_runtime = operand is RUNTIME and is_configured_anew and evicts_for_runtime
    assert found is (Takes.EVICTION if is_for_runtime else VISITS[operand].takes)


EXPECTED = {
    Component.CONTAINER_TOOLKIT: Takes.CORDON,
    Component.DEVICE_PLUGIN: Takes.CORDON,
    Component.DCGM: Takes.NOTHING,
    Component.GFD: Takes.NOTHING,
    Component.MIG_MANAGER: Takes.NOTHING,
    Component.VALIDATOR: Takes.NOTHING,
}


@pytest.mark.parametrize("component", EXPECTED)
def test_an_image_alone_takes_what_the_impact_of_a_plan_says(component: Component) -> None:
    (operand,) = (each for each in OPERANDS if COMPONENTS[each] is component)
    needed = takes_of(operand, is_configured_anew=False, evicts_for_runtime=False)
    assert needed is EXPECTED[component]
    impact = alone(component)
    assert (Loss.NEW_PODS in impact.loses) is (needed >= Takes.CORDON)
    assert (Loss.GPU_PODS in impact.loses) is (needed is Takes.EVICTION)
    assert any("under a cordon" in row.action for row in impact.rows) is (needed is Takes.CORDON)


@pytest.mark.parametrize(
    ("component", "operand", "needed"),
    [
        (Component.MOFED, Operand.NETWORK_DRIVER, Takes.DRAIN),
        (Component.DRA_DRIVER, Operand.DRA_PLUGIN, Takes.CORDON),
    ],
)
def test_what_others_bring_takes_what_the_impact_of_a_plan_says(
    component: Component, operand: Operand, needed: Takes
) -> None:
    visit = VISITS[operand]
    assert (COMPONENTS[operand], visit.takes) == (component, needed)
    impact = alone(component)
    assert visit.action in {row.action for row in impact.rows}
    assert set(visit.loses) <= set(impact.loses)


WHOLE = {**EXPECTED, Component.GPU_OPERATOR: Takes.CORDON}
"""An operator's release moves them all; where GPUs are shared by MPS it takes more, which is told there."""
DOES = {
    Takes.NOTHING: (WriteNodeRecord, NodePhase.POD_RESTART_REQUIRED),
    Takes.CORDON: (Cordon, NodePhase.POD_RESTART_REQUIRED),
    Takes.EVICTION: (WriteNodeRecord, NodePhase.CORDON_REQUIRED),
}
"""How a visit begins: at once, closing the node with its record, or on the way by which users leave."""


def due(component: Component, change: str) -> NodeSeen:
    """A node whose turn has come: this component of it is old, in its image, its configuration, or with its driver."""
    operands = [each for each in OPERANDS if component in (COMPONENTS[each], Component.GPU_OPERATOR)]
    node = a_node(phase=NodePhase.UPGRADE_REQUIRED, driver=a_new_driver())
    facts = with_operands(node.facts, [(operand, "v1") for operand in operands])
    settings = "other" if change == "configuration" else ""
    old = tuple(replace(each, wanted="v2", version="v2", settings=settings) for each in facts.operands)
    wanted = replace(NEW, hash="newer") if change == "driver" else NEW
    return replace(node, facts=replace(facts, operands=old, wanted=wanted))


@pytest.mark.parametrize("evicts_for_runtime", [False, True], ids=["users stay", "users leave for the runtime"])
@pytest.mark.parametrize("change", ["image", "configuration", "driver"])
@pytest.mark.parametrize("component", WHOLE)
def test_what_a_visit_does_is_what_the_impact_of_a_plan_says(
    component: Component, change: str, evicts_for_runtime: bool
) -> None:
    has_runtime = component in (Component.CONTAINER_TOOLKIT, Component.GPU_OPERATOR)
    is_by_word = has_runtime and change == "configuration" and evicts_for_runtime
    needed = Takes.EVICTION if change == "driver" or is_by_word else WHOLE[component]
    intent = replace(an_intent(), evicts_for_runtime=evicts_for_runtime)
    action = step_node(due(component, change), some_orders(intent=intent), NOW).action
    assert isinstance(action, WriteNodeRecord)
    assert (type(action), action.record.phase) == DOES[needed]
    parts = {component.value: ("1", "2")} | ({"gpu_driver": ("1", "2")} if change == "driver" else {})
    loses = impact_of(step(parts)).loses
    by_default = WHOLE[component] if is_by_word else needed  # a plan knows no rollout's own word
    assert (Loss.NEW_PODS in loses, Loss.GPU_PODS in loses) == (
        by_default >= Takes.CORDON,
        by_default is Takes.EVICTION,
    )


@pytest.mark.parametrize("change", ["image", "driver"])
def test_a_network_driver_takes_a_drain_with_or_without_a_gpu_driver(change: str) -> None:
    node = a_node(phase=NodePhase.UPGRADE_REQUIRED, driver=a_new_driver())
    facts = with_operands(node.facts, ((Operand.NETWORK_DRIVER, "v1"),))
    old = tuple(replace(each, wanted="v2", version="v2") for each in facts.operands)
    wanted = replace(NEW, hash="newer") if change == "driver" else NEW
    node = replace(node, facts=replace(facts, operands=old, wanted=wanted))
    action = step_node(node, some_orders(), NOW).action
    assert isinstance(action, WriteNodeRecord)
    assert (type(action), action.record.phase) == DOES[Takes.EVICTION]
    visit, impact = VISITS[Operand.NETWORK_DRIVER], alone(Component.MOFED)
    assert visit.takes is Takes.DRAIN
    assert set(impact.loses) == set(visit.loses) == {Loss.EVERY_POD, Loss.NEW_PODS, Loss.RDMA}
    (told,) = (row for row in impact.rows if row.component == "mofed")
    assert (told.action, told.impact, told.loses) == (visit.action, visit.impact, visit.loses)


def test_a_driver_takes_what_nothing_else_does() -> None:
    assert {Loss.GPU_PODS, Loss.NEW_PODS} <= set(alone(Component.GPU_DRIVER).loses)


def test_the_rows_of_an_impact_are_those_of_the_visits() -> None:
    told = {row.component: row for row in alone(Component.GPU_OPERATOR).rows}
    for operand, name in OPERANDS.items():
        assert (told[name].action, told[name].impact) == (VISITS[operand].action, VISITS[operand].impact)
    assert len(TABLE) > len(OPERANDS)


def test_several_take_what_the_dearest_of_them_takes() -> None:
    def old(operand: Operand) -> OperandSeen:
        return replace(operand_of("n1", operand, "v1", 0.0), wanted="v2")

    exporter, toolkit = old(Operand.EXPORTER), old(Operand.TOOLKIT)
    assert takes((), evicts_for_runtime=True) is Takes.NOTHING
    assert takes((exporter,), evicts_for_runtime=True) is Takes.NOTHING
    assert takes((exporter, toolkit), evicts_for_runtime=False) is Takes.CORDON
