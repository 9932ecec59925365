"""One table says what a visit takes and what people are told of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seatrial.core.compat.matrix import Component
from seatrial.core.model.seen.operands import APPS, COMPONENTS, ORDER, Operand, OperandSeen
from seatrial.core.node.impact.rows import Loss
from seatrial.core.node.impact.telling import OPERANDS, TABLE
from seatrial.core.node.visiting import VISITS, Takes, takes, takes_of
from seatrial.sim.operand_pods import operand_of
from tests.core.test_plan_impact import alone

RUNTIME = Operand.TOOLKIT


def test_every_operand_has_a_row_in_the_order_of_a_visit() -> None:
    assert list(VISITS) == sorted(APPS.values(), key=ORDER.__getitem__)


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
