"""NVIDIA's own upgrade controller, as the simulation plays it: whom it marks, whom it moves, what it forgets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.compat.matrix import Component
from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.policy import PolicyWish, Share
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.pods import DriverPod, Pod
from seatrial.sim import outside as outer
from seatrial.sim.nodes import new_node
from seatrial.sim.operand_pods import carrying, with_operands
from seatrial.sim.outside import NO_LIMIT, Outside
from seatrial.sim.upgrade_controller import (
    CORDON,
    DONE,
    FAILED,
    PLAYED,
    REQUIRED,
    RESTART,
    STATES,
    VALIDATION,
    is_there,
    steered,
)
from tests.builders import NEW, OLD

ON = Outside(operator=outer.cluster_policy(NEW.version, is_auto_upgrading=True))
OFF = Outside(operator=outer.cluster_policy(NEW.version))


def limited(parallel_max: int | None = None, unavailable_max: Share | None = None) -> Outside:
    policy = PolicyWish(parallel_max=parallel_max, unavailable_max=unavailable_max)
    return Outside(operator=outer.cluster_policy(NEW.version, is_auto_upgrading=True, policy=policy))


def a_node(name: str = "n1", *, is_new: bool = False, **facts: Any) -> NodeSeen:
    node = new_node(name, running=NEW if is_new else OLD, wanted=NEW)
    return replace(node, facts=replace(node.facts, **facts))


def some_waiting(count: int, **facts: Any) -> list[NodeSeen]:
    return [a_node(f"w{number}", **({"nvidia_state": REQUIRED} | facts)) for number in range(count)]


def states(*nodes: NodeSeen, outside: Outside = ON) -> dict[str, str]:
    """Whom it would write to, and what."""
    return {node.name: node.facts.nvidia_state for node in steered(nodes, outside)}


def driver_of(node: NodeSeen) -> DriverPod:
    assert node.facts.driver is not None
    return node.facts.driver


def test_every_node_that_differs_is_marked_kept_out_or_not() -> None:
    assert states(a_node("n1"), a_node("n2", is_skipped=True), a_node("n3", is_new=True)) == {
        "n1": REQUIRED,
        "n2": REQUIRED,
        "n3": DONE,
    }


def test_a_skip_label_keeps_a_node_from_being_started_and_from_nothing_else() -> None:
    marked: dict[str, Any] = {"nvidia_state": REQUIRED}
    assert states(a_node("n1", **marked), a_node("n2", is_skipped=True, **marked)) == {"n1": CORDON}
    assert states(a_node("n1", nvidia_state=CORDON, is_skipped=True)) == {"n1": RESTART}


@pytest.mark.parametrize("state", sorted({*PLAYED, FAILED}))
def test_who_is_under_way_or_has_failed_keeps_a_slot(state: str) -> None:
    ahead = a_node("n1", nvidia_state=state)
    waiting = some_waiting(1, is_skipped=False)[0]
    assert "w0" not in states(ahead, waiting)
    assert states(ahead, waiting, outside=limited(2, Share(amount=2)))["w0"] == CORDON


def test_a_node_whose_driver_pod_is_gone_for_the_moment_is_not_counted() -> None:
    stopping = a_node("n1", nvidia_state=RESTART, driver=replace(driver_of(a_node()), is_terminating=True))
    assert states(stopping, *some_waiting(1)) == {"w0": CORDON}


def test_without_a_limit_everybody_begins_at_once() -> None:
    outside = Outside(operator=outer.cluster_policy(NEW.version, is_auto_upgrading=True, policy=NO_LIMIT))
    assert states(*some_waiting(3), outside=outside) == dict.fromkeys(("w0", "w1", "w2"), CORDON)


def test_what_may_be_unavailable_is_rounded_up() -> None:
    gone = a_node("n1", is_new=True, nvidia_state=DONE, is_ready=False, driver=None)
    assert states(gone, *some_waiting(4), outside=limited(0)) == dict.fromkeys(("w0", "w1", "w2", "w3"), CORDON)
    assert states(gone, *some_waiting(3), outside=limited(0)) == {}


def test_a_not_ready_node_with_a_driver_pod_stops_it_everywhere() -> None:
    gone = a_node("n1", is_new=True, nvidia_state=DONE, is_ready=False)
    at_work = a_node("n2", is_new=True, nvidia_state=RESTART, is_cordoned=True)
    assert states(gone, at_work, *some_waiting(4)) == {}
    assert states(replace(gone, facts=replace(gone.facts, is_ready=True)), at_work) == {"n2": VALIDATION}
    assert states(a_node("n1", nvidia_state=DONE, is_ready=False), outside=OFF) == {"n1": ""}


def test_a_node_that_is_cordoned_already_needs_no_slot() -> None:
    assert states(a_node("n1", nvidia_state=FAILED), *some_waiting(1, is_cordoned=True)) == {"w0": CORDON}


def test_the_need_is_not_looked_at_again() -> None:
    assert states(a_node(is_new=True, nvidia_state=REQUIRED)) == {"n1": CORDON}


def test_a_node_is_cordoned_and_emptied_before_its_driver_is_stopped() -> None:
    user = Pod(namespace="jobs", name="user", uid="u", gpu=GpuUse.RESOURCE)
    web = Pod(namespace="jobs", name="web", uid="w")
    (moved,) = steered([a_node(nvidia_state=CORDON, pods=(user, web))], ON)
    assert (moved.facts.nvidia_state, moved.facts.is_cordoned, moved.facts.pods) == (RESTART, True, (web,))
    assert driver_of(moved).is_terminating


def test_a_proven_driver_ends_the_work_and_one_that_crashes_fails_it() -> None:
    at_work = a_node(is_new=True, nvidia_state=RESTART, is_cordoned=True)
    (validating,) = steered([at_work], ON)
    assert (validating.facts.nvidia_state, validating.facts.is_cordoned) == (VALIDATION, True)
    (ended,) = steered([validating], ON)
    assert (ended.facts.nvidia_state, ended.facts.is_cordoned) == (DONE, False)
    crashing = replace(driver_of(at_work), is_ready=False, restart_count=11)
    assert states(a_node(is_new=True, nvidia_state=RESTART, driver=crashing)) == {"n1": FAILED}


def test_a_template_that_changed_meanwhile_is_started_again() -> None:
    (again,) = steered([a_node(nvidia_state=RESTART)], ON)
    assert (again.facts.nvidia_state, driver_of(again).is_terminating) == (RESTART, True)


def test_who_has_failed_stays_so_unless_its_driver_is_well_after_all() -> None:
    assert states(a_node(nvidia_state=FAILED)) == {}
    (ended,) = steered([a_node(is_new=True, nvidia_state=FAILED, is_cordoned=True, validator=None)], ON)
    assert (ended.facts.nvidia_state, ended.facts.is_cordoned) == (DONE, False)


@pytest.mark.parametrize("state", sorted({*STATES, REQUIRED} - {""}))
def test_switched_off_it_takes_its_labels_away(state: str) -> None:
    assert states(a_node(nvidia_state=state), a_node("n2"), outside=OFF) == {"n1": ""}


def test_every_pool_is_switched_by_itself_and_has_slots_of_its_own() -> None:
    operator = outer.driver_pools(NEW.version, "canary", "fleet", is_auto_upgrading=True)
    canary, fleet = operator.pools
    half = Outside(operator=replace(operator, pools=(canary, replace(fleet, is_auto_upgrading=False))))
    assert states(a_node("n1", owner="canary"), a_node("n2", owner="fleet"), outside=half) == {"n1": REQUIRED}
    both = (
        a_node("n1", owner="canary", nvidia_state=CORDON),
        a_node("n2", owner="fleet", nvidia_state=REQUIRED),
        a_node("n3", owner="canary", nvidia_state=REQUIRED),
    )
    assert states(*both, outside=Outside(operator=operator)) == {"n1": RESTART, "n2": CORDON}


def test_without_an_operator_there_is_nobody() -> None:
    assert is_there(ON)
    assert not is_there(Outside())


def test_it_restarts_no_driver_because_of_an_operand() -> None:
    settled = a_node("n1", is_new=True, nvidia_state=DONE)
    at_work = a_node("n2", is_new=True, nvidia_state=RESTART)
    nodes = [with_an_old_plugin(node) for node in (settled, at_work)]
    assert states(*nodes) == {"n2": VALIDATION}
    assert not any(driver_of(node).is_terminating for node in steered(nodes, ON))


def with_an_old_plugin(node: NodeSeen) -> NodeSeen:
    facts = with_operands(node.facts, ((Operand.DEVICE_PLUGIN, "v0.17.1"),))
    return replace(node, facts=carrying(facts, {Component.DEVICE_PLUGIN.value: "v0.18.1"}))
