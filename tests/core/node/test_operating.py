"""A visit for operands: in the order of their dependencies, with what each takes and no more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.on_nodes import Cordon, EvictPods, RestartPod, Uncordon, WriteNodeRecord
from seatrial.core.compat.matrix import Component
from seatrial.core.holds import HoldCode
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeRecord, NodeSeen
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.pods import ValidatorPod
from seatrial.core.node.phases import FailureCode
from seatrial.core.node.step import step_node
from seatrial.sim.nodes import HEALTHY
from seatrial.sim.operand_pods import carrying, operand_of, operand_replaced, operand_starts, restarted, with_operands
from tests.builders import NEW, NOW, a_dra_plugin, a_gpu_pod, a_new_driver, a_node, an_intent, some_orders

ALL = (
    (Operand.TOOLKIT, "v1.17.8"),
    (Operand.DEVICE_PLUGIN, "v0.17.1"),
    (Operand.EXPORTER, "4.2.3-4.1.1-ubuntu22.04"),
    (Operand.VALIDATOR, "v25.3.0"),
)
TOOLKIT = {Component.CONTAINER_TOOLKIT.value: "v1.18.1"}
EXPORTER = {Component.DCGM.value: "4.4.2-4.7.0-ubuntu22.04"}
VALIDATOR = ValidatorPod(namespace="gpu-operator", name="v", uid="v-0", is_ready=True, ready_since=NOW - 50)


def a_node_to_visit(phase: NodePhase | None, parts: dict[str, str], *operands: Operand, **record: Any) -> NodeSeen:
    """A node that runs the wanted driver, and these operands, some of which are to be of other versions."""
    chosen = [each for each in ALL if not operands or each[0] in operands]
    node = a_node(phase=phase, driver=a_new_driver(), validator=VALIDATOR, record=record)
    return replace(node, facts=carrying(with_operands(node.facts, chosen, NOW - 100), parts))


def opened(node: NodeSeen, **orders: Any) -> WriteNodeRecord:
    action = step_node(node, some_orders(**orders), NOW).action
    assert isinstance(action, WriteNodeRecord)
    return action


def test_a_node_whose_operand_is_old_starts_a_new_attempt() -> None:
    node = a_node_to_visit(NodePhase.UPGRADE_DONE, TOOLKIT)
    assert opened(node).record.phase is NodePhase.UPGRADE_REQUIRED


def test_a_node_whose_operands_are_as_wanted_is_left_alone() -> None:
    node = a_node_to_visit(NodePhase.UPGRADE_DONE, {})
    step = step_node(node, some_orders(), NOW)
    assert (step.action, step.hold) == (None, None)


@pytest.mark.parametrize(("parts", "kind"), [(EXPORTER, WriteNodeRecord), (TOOLKIT, Cordon)])
def test_a_visit_closes_a_node_only_for_what_needs_it(parts: dict[str, str], kind: type[WriteNodeRecord]) -> None:
    written = opened(a_node_to_visit(NodePhase.UPGRADE_REQUIRED, parts))
    assert type(written) is kind
    assert written.record.phase is NodePhase.POD_RESTART_REQUIRED
    assert written.record.old_pod == ""  # the driver stays


def test_people_leave_for_a_restart_of_the_runtime_where_the_rollout_says_so() -> None:
    node = a_node_to_visit(NodePhase.UPGRADE_REQUIRED, TOOLKIT)
    anew = replace(node.facts, operands=tuple(replace(each, settings="other") for each in node.facts.operands))
    node = replace(node, facts=anew)
    assert opened(node).record.phase is NodePhase.POD_RESTART_REQUIRED
    assert opened(node, intent=replace(an_intent(), evicts_for_runtime=True)).record.phase is NodePhase.CORDON_REQUIRED


def visited(facts: NodeFacts) -> list[Operand]:
    """The operands that a visit restarts, in its order, with every one starting as it should."""
    order: list[Operand] = []
    record = NodeRecord(
        phase=NodePhase.POD_RESTART_REQUIRED,
        attempt=1,
        entered_at=NOW,
        is_restart_only=True,
        is_cordon_ours=True,
        closed_at=NOW,
    )
    facts = replace(facts, is_cordoned=True)
    for _ in range(40):
        step = step_node(NodeSeen(facts=facts, record=record), some_orders(), NOW)
        if isinstance(step.action, RestartPod):
            order.append(step.action.operand)
            facts = restarted(facts, step.action.operand)
            if step.action.operand is Operand.VALIDATOR:
                return order
        else:
            if step.action is not None:
                return order
            assert step.hold is not None
            assert step.hold.code is HoldCode.OPERAND_NOT_READY
            facts = operand_replaced(facts, HEALTHY, NOW) or operand_starts(facts, HEALTHY, NOW) or facts
    raise AssertionError("the visit does not end")


def test_operands_are_restarted_in_the_order_of_their_dependencies_each_up_before_the_next() -> None:
    parts = TOOLKIT | EXPORTER | {"device_plugin": "v0.18.1", "validator": "v25.10.1"}
    node = a_node_to_visit(NodePhase.POD_RESTART_REQUIRED, parts)
    assert visited(node.facts) == [operand for operand, _ in ALL]


def test_what_is_as_wanted_is_not_restarted() -> None:
    node = a_node_to_visit(NodePhase.POD_RESTART_REQUIRED, EXPORTER)
    assert visited(node.facts) == [Operand.EXPORTER]


def test_the_validator_proves_a_new_toolkit_although_nobody_gave_it_another_version() -> None:
    node = a_node_to_visit(NodePhase.POD_RESTART_REQUIRED, TOOLKIT, Operand.TOOLKIT)
    assert visited(node.facts) == [Operand.TOOLKIT, Operand.VALIDATOR]


def test_an_operand_that_does_not_get_ready_in_time_fails_the_node_and_leaves_the_driver_alone() -> None:
    node = a_node_to_visit(NodePhase.POD_RESTART_REQUIRED, {}, is_restart_only=True)
    facts = operand_replaced(restarted(node.facts, Operand.EXPORTER), HEALTHY, NOW)
    assert facts is not None
    node = replace(node, facts=facts)
    action = step_node(node, some_orders(), NOW + 10_000).action
    assert isinstance(action, WriteNodeRecord)
    assert (action.record.phase, action.record.reason) == (NodePhase.UPGRADE_FAILED, FailureCode.OPERAND_TIMEOUT)
    assert action.record.old_pod == ""
    again = NodeSeen(facts=facts, record=replace(action.record, phase=NodePhase.UPGRADE_REQUIRED))
    opening = opened(again)
    assert (type(opening), opening.record.phase) == (WriteNodeRecord, NodePhase.POD_RESTART_REQUIRED)


def test_a_cordon_that_somebody_lifted_is_waited_for_before_the_toolkit_goes() -> None:
    node = a_node_to_visit(NodePhase.POD_RESTART_REQUIRED, TOOLKIT, is_restart_only=True, closed_at=NOW)
    held = step_node(node, some_orders(), NOW).hold
    assert held is not None
    assert held.code is HoldCode.CORDON_LOST


def test_a_node_that_was_visited_for_its_monitors_is_closed_once_its_toolkit_is_due_as_well() -> None:
    node = a_node_to_visit(NodePhase.POD_RESTART_REQUIRED, TOOLKIT, is_restart_only=True)
    written = opened(node)
    assert isinstance(written, Cordon)
    assert written.record.is_cordon_ours
    assert written.record.phase is NodePhase.POD_RESTART_REQUIRED


def test_a_driver_that_is_due_as_well_comes_first_and_its_users_leave() -> None:
    node = a_node_to_visit(NodePhase.UPGRADE_REQUIRED, TOOLKIT)
    node = replace(node, facts=replace(node.facts, wanted=replace(NEW, hash="newer")))
    assert opened(node).record.phase is NodePhase.CORDON_REQUIRED


def test_an_operand_that_is_not_up_is_missing_from_the_proof() -> None:
    node = a_node_to_visit(NodePhase.VALIDATION_REQUIRED, {})
    facts = operand_replaced(restarted(node.facts, Operand.EXPORTER), HEALTHY, NOW - 60)
    assert facts is not None
    held = step_node(replace(node, facts=facts), some_orders(), NOW).hold
    assert held is not None
    assert (held.code, dict(held.params)["operand"]) == (HoldCode.OPERAND_NOT_READY, "dcgm-exporter")


def test_a_node_is_opened_once_its_operands_are_proven() -> None:
    node = a_node_to_visit(NodePhase.UNCORDON_REQUIRED, {}, is_cordon_ours=True)
    node = replace(node, facts=replace(node.facts, is_cordoned=True))
    assert isinstance(opened(node), Uncordon)


def test_who_came_back_leaves_before_a_daemon_that_nobody_outlives_is_replaced() -> None:
    node = a_node_to_visit(NodePhase.POD_RESTART_REQUIRED, {}, closed_at=NOW)
    mps = replace(operand_of("n1", Operand.MPS, "v0.17.1", 0.0), wanted="v0.18.1")
    facts = replace(node.facts, is_cordoned=True, operands=(mps,), pods=(a_gpu_pod(),))
    action = step_node(replace(node, facts=facts), some_orders(), NOW).action
    assert isinstance(action, EvictPods)
    action = step_node(replace(node, facts=replace(facts, pods=())), some_orders(), NOW).action
    assert isinstance(action, RestartPod)


def test_a_node_that_somebody_opened_is_not_closed_again_for_a_restart_that_takes_more() -> None:
    anew = replace(an_intent(), evicts_for_runtime=True)
    node = a_node_to_visit(NodePhase.POD_RESTART_REQUIRED, TOOLKIT, is_restart_only=True, closed_at=NOW)
    operands = tuple(replace(each, settings="other") for each in node.facts.operands)
    node = replace(node, facts=replace(node.facts, operands=operands))
    held = step_node(node, some_orders(intent=anew), NOW).hold
    assert held is not None
    assert held.code is HoldCode.CORDON_LOST


def test_a_node_that_somebody_opened_is_not_closed_again_for_a_driver_that_is_due_by_now() -> None:
    node = a_node_to_visit(NodePhase.POD_RESTART_REQUIRED, TOOLKIT, is_restart_only=True, closed_at=NOW)
    node = replace(node, facts=replace(node.facts, wanted=replace(NEW, hash="newer")))
    held = step_node(node, some_orders(), NOW).hold
    assert held is not None
    assert held.code is HoldCode.CORDON_LOST


def test_nothing_more_is_stopped_while_one_that_was_stopped_before_is_leaving() -> None:
    node = a_node_to_visit(NodePhase.POD_RESTART_REQUIRED, TOOLKIT, is_restart_only=True, closed_at=NOW)
    facts = replace(restarted(node.facts, Operand.EXPORTER), is_cordoned=True)
    held = step_node(replace(node, facts=facts), some_orders(), NOW).hold
    assert held is not None
    assert (held.code, dict(held.params)["operand"]) == (HoldCode.OPERAND_NOT_READY, Operand.EXPORTER)
    gone = operand_replaced(facts, HEALTHY, NOW)
    assert gone is not None
    action = step_node(replace(node, facts=gone), some_orders(), NOW).action
    assert isinstance(action, RestartPod)
    assert action.operand is Operand.TOOLKIT


def a_node_with_plugin(phase: NodePhase, **changes: Any) -> NodeSeen:
    """A node that runs the wanted driver, and a DRA plugin that is to be of another version."""
    fresh = a_dra_plugin(started_at=NOW - 10)
    node = a_node(phase=phase, driver=a_new_driver(), validator=VALIDATOR, dra=fresh, **changes)
    facts = with_operands(node.facts, [(Operand.DRA_PLUGIN, "25.8.0")], NOW - 100)
    return replace(node, facts=carrying(facts, {Component.DRA_DRIVER.value: "25.12.0"}))


def test_a_dra_plugin_is_replaced_under_a_cordon() -> None:
    written = opened(a_node_with_plugin(NodePhase.UPGRADE_REQUIRED))
    assert isinstance(written, Cordon)
    assert written.record.phase is NodePhase.POD_RESTART_REQUIRED


def test_a_dra_plugin_stays_while_somebody_is_on_the_way_out_with_a_claim() -> None:
    """Without the plugin the kubelet cannot give the devices back, and the pod would never be gone."""
    visit = {"record": {"is_restart_only": True, "closed_at": NOW}, "is_cordon_ours": True}
    leaving = a_gpu_pod(holds_claim=True, is_terminating=True)
    held = step_node(a_node_with_plugin(NodePhase.POD_RESTART_REQUIRED, pods=(leaving,), **visit), some_orders(), NOW)
    assert held.action is None
    assert held.hold is not None
    assert (held.hold.code, dict(held.hold.params)["pod"]) == (HoldCode.EVICTING, leaving.full_name)
    staying = replace(leaving, is_terminating=False)
    action = step_node(
        a_node_with_plugin(NodePhase.POD_RESTART_REQUIRED, pods=(staying,), **visit), some_orders(), NOW
    ).action
    assert isinstance(action, RestartPod)
    assert (action.operand, action.pod) == (Operand.DRA_PLUGIN, "plugin-n1")


def test_a_node_without_a_dra_plugin_has_none_to_move() -> None:
    node = a_node(phase=NodePhase.UPGRADE_DONE, driver=a_new_driver(), validator=VALIDATOR)
    assert with_operands(node.facts, [(Operand.DRA_PLUGIN, "25.8.0")]).operands == ()
