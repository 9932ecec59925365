"""The SR-IOV operator as a neighbour: nobody is visited while it is at work, and a visit never meets its drain."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from seatrial.core.actions.on_nodes import Cordon, Uncordon, WriteNodeRecord
from seatrial.core.decision.decide import decide
from seatrial.core.holds import HoldCode
from seatrial.core.model.seen import sriov
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.model.seen.operands import Operand
from seatrial.core.movers.letting_in import why_not
from seatrial.core.node.step import step_node
from seatrial.core.promises.invariants import broken
from seatrial.sim.nodes import HEALTHY
from seatrial.sim.operand_pods import carrying, operand_replaced, restarted, with_operands
from tests.builders import (
    NOW,
    a_driver,
    a_gpu_pod,
    a_ledger,
    a_new_driver,
    a_node,
    a_snapshot,
    a_starting_driver,
    a_well_node,
    an_intent,
    proving,
    some_orders,
)

DRAINING = "Draining"
STATES = [stage.state for stage in (*sriov.COURSE, sriov.REBOOT) if stage.state != sriov.IDLE]


@pytest.mark.parametrize("key", sriov.ANNOTATIONS)
@pytest.mark.parametrize("state", [*STATES, "Something_New"])
def test_anything_but_idle_counts_as_work_wherever_it_stands(key: str, state: str) -> None:
    assert sriov.at_work({key: state}) == state


@pytest.mark.parametrize("said", [{}, {sriov.STATE_ANNOTATION: "Idle"}, {sriov.STATE_ANNOTATION: ""}])
def test_idle_and_nothing_are_no_work(said: dict[str, str]) -> None:
    assert sriov.at_work(said) == ""


def test_its_course_begins_with_a_wish_and_ends_idle() -> None:
    states, state = [], ""
    while (stage := sriov.after(state)) is not None and stage.state != sriov.IDLE:
        states.append(state := stage.state)
    assert states == ["Drain_Required", "Draining", "DrainComplete"]
    assert sriov.after(sriov.REBOOT.state) == sriov.after("Drain_Required")
    assert sriov.after("Something_New") is None


def test_a_state_nobody_knows_has_words_as_well() -> None:
    assert sriov.means("Something_New") == "it is at work on the node"
    assert sriov.means(DRAINING) == "it drains the node"


@pytest.mark.parametrize("state", STATES)
def test_a_node_on_which_it_is_at_work_does_not_start(state: str) -> None:
    node = a_node(phase=NodePhase.UPGRADE_REQUIRED, sriov=state)
    step = step_node(node, some_orders(admitted={}), NOW)
    assert step.hold is not None
    assert (step.hold.code, dict(step.hold.params)["state"]) == (HoldCode.SRIOV_AT_WORK, state)


def test_nvidias_controller_is_not_let_in_there_either() -> None:
    held = why_not(a_node(sriov=DRAINING).facts)
    assert held is not None
    assert held.code is HoldCode.SRIOV_AT_WORK


@pytest.mark.parametrize(
    "phase",
    [
        NodePhase.UPGRADE_REQUIRED,
        NodePhase.CORDON_REQUIRED,
        NodePhase.WAIT_FOR_JOBS_REQUIRED,
        NodePhase.POD_DELETION_REQUIRED,
        NodePhase.DRAIN_REQUIRED,
        NodePhase.POD_RESTART_REQUIRED,
    ],
)
def test_a_visit_that_has_taken_nothing_away_steps_aside_and_begins_anew_later(phase: NodePhase) -> None:
    node = a_node(phase=phase, is_cordon_ours=True, pods=(a_gpu_pod(),), sriov=DRAINING, record={"old_pod": ""})
    action = step_node(node, some_orders(), NOW).action
    assert isinstance(action, WriteNodeRecord)
    assert (action.record.phase, action.record.attempt) == (NodePhase.UPGRADE_REQUIRED, 2)
    assert action.record.is_cordon_ours, "it is lifted at the end of the next attempt, unless its own uncordon does"


def test_a_driver_that_was_taken_away_is_brought_back_all_the_same() -> None:
    node = a_node(
        phase=NodePhase.POD_RESTART_REQUIRED,
        is_cordon_ours=True,
        driver=a_starting_driver(),
        sriov=DRAINING,
        record={"old_pod": "driver-n1-0"},
    )
    step = step_node(node, some_orders(), NOW)
    assert step.hold is not None
    assert step.hold.code is HoldCode.DRIVER_STARTING


def test_an_operand_that_is_on_its_way_is_waited_for() -> None:
    node = a_node(phase=NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True, driver=a_new_driver(), sriov=DRAINING)
    old = with_operands(node.facts, ((Operand.NETWORK_DRIVER, "24.07-0.6.1.0"),), 0.0)
    facts = carrying(old, {"mofed": "25.04-0.6.0.0"})
    begun = operand_replaced(restarted(facts, Operand.NETWORK_DRIVER), HEALTHY, NOW)
    assert begun is not None
    step = step_node(replace(node, facts=begun), some_orders(), NOW)
    assert step.hold is not None
    assert step.hold.code is HoldCode.OPERAND_NOT_READY
    before = step_node(replace(node, facts=facts), some_orders(), NOW).action
    assert isinstance(before, WriteNodeRecord), "before it was deleted, the visit steps aside"


def test_a_node_is_not_opened_under_its_drain() -> None:
    node = a_well_node(phase=NodePhase.UNCORDON_REQUIRED, is_cordon_ours=True, sriov=DRAINING)
    step = step_node(node, some_orders(), NOW)
    assert step.hold is not None
    assert step.hold.code is HoldCode.SRIOV_AT_WORK
    idle = step_node(replace(node, facts=replace(node.facts, sriov="")), some_orders(), NOW).action
    assert isinstance(idle, WriteNodeRecord)
    assert idle.record.phase is NodePhase.UPGRADE_DONE


def test_a_node_that_it_opens_while_the_network_driver_is_away_is_closed_again() -> None:
    record = {"moves_network": True, "closed_at": NOW - 60}
    node = a_node(phase=NodePhase.POD_RESTART_REQUIRED, driver=a_new_driver(), is_cordoned=False, record=record)
    old = with_operands(node.facts, ((Operand.NETWORK_DRIVER, "24.07-0.6.1.0"),), 0.0)
    begun = operand_replaced(restarted(carrying(old, {"mofed": "25.04-0.6.0.0"}), Operand.NETWORK_DRIVER), HEALTHY, NOW)
    assert begun is not None
    action = step_node(replace(node, facts=begun), some_orders(), NOW).action
    assert isinstance(action, Cordon)
    assert action.record.reopened_count == 1


@pytest.mark.parametrize("phase", [NodePhase.UPGRADE_REQUIRED, NodePhase.UNCORDON_REQUIRED, NodePhase.UPGRADE_FAILED])
def test_a_node_of_ours_that_is_well_by_now_stays_closed_until_it_is_idle(phase: NodePhase) -> None:
    node = a_well_node(phase=phase, is_cordon_ours=True, sriov=DRAINING, record={"failed_revision": "new"})
    seen = a_snapshot(node, admitted=a_ledger("n1"))
    decision = decide(seen, an_intent(), NOW)
    assert broken(seen, an_intent(), decision) == ()
    assert [held.code for held in decision.holds] == [HoldCode.SRIOV_AT_WORK]
    idle = replace(node, facts=replace(node.facts, sriov=""))
    assert isinstance(step_node(idle, some_orders(), NOW).action, Uncordon)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("phase", [None, *NodePhase])
def test_whatever_we_are_at_when_it_begins_no_promise_stands_in_our_way(phase: NodePhase | None, state: str) -> None:
    drivers = (a_driver(), a_driver(is_terminating=True), a_starting_driver(), a_new_driver())
    for driver, is_ours, is_network_old in product(drivers, (True, False), (True, False, None)):
        node = a_node(
            phase=phase,
            driver=driver,
            validator=proving(),
            is_cordon_ours=is_ours and phase is not None,
            is_cordoned=True,
            pods=(a_gpu_pod(),),
            sriov=state,
            record={"moves_network": is_network_old is not None, "failed_revision": "new", "closed_at": NOW - 60},
        )
        facts = node.facts
        if is_network_old is not None:
            facts = with_operands(facts, ((Operand.NETWORK_DRIVER, "24.07-0.6.1.0"),), 0.0)
            facts = carrying(facts, {"mofed": "25.04-0.6.0.0"}) if is_network_old else facts
        seen = a_snapshot(replace(node, facts=facts), admitted=a_ledger("n1"))
        decision = decide(seen, an_intent(), NOW)
        assert broken(seen, an_intent(), decision) == (), (driver, is_ours, is_network_old)
