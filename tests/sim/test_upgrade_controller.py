"""NVIDIA's own upgrade controller, as the simulation plays it: whom it marks, whom it moves, what it forgets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.snapshot import DriverPod, NodeSeen
from seatrial.sim import outside as outer
from seatrial.sim.outside import Outside
from seatrial.sim.reactions import new_node
from seatrial.sim.upgrade_controller import AT_WORK, DONE, FAILED, REQUIRED, is_there, steered
from tests.builders import NEW, OLD

ON = Outside(operator=outer.cluster_policy(NEW.version, is_auto_upgrading=True))
OFF = Outside(operator=outer.cluster_policy(NEW.version))


def a_node(name: str = "n1", *, is_new: bool = False, **facts: Any) -> NodeSeen:
    node = new_node(name, running=NEW if is_new else OLD, wanted=NEW)
    return replace(node, facts=replace(node.facts, **facts))


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


def test_a_skip_label_keeps_a_node_from_being_started() -> None:
    marked: dict[str, Any] = {"nvidia_state": REQUIRED}
    assert states(a_node("n1", **marked), a_node("n2", is_skipped=True, **marked)) == {"n1": AT_WORK}


def test_one_node_at_a_time() -> None:
    assert states(a_node("n1", nvidia_state=REQUIRED), a_node("n2", nvidia_state=AT_WORK, driver=None)) == {}


def test_the_need_is_not_looked_at_again() -> None:
    (moved,) = steered([a_node(is_new=True, nvidia_state=REQUIRED)], ON)
    assert (moved.facts.nvidia_state, moved.facts.is_cordoned, driver_of(moved).is_terminating) == (AT_WORK, True, True)


def test_a_proven_driver_ends_the_work_and_one_that_crashes_fails_it() -> None:
    at_work = a_node(is_new=True, nvidia_state=AT_WORK, is_cordoned=True)
    (ended,) = steered([at_work], ON)
    assert (ended.facts.nvidia_state, ended.facts.is_cordoned) == (DONE, False)
    crashing = replace(driver_of(at_work), is_ready=False, restart_count=11)
    assert states(a_node(nvidia_state=AT_WORK, driver=crashing)) == {"n1": FAILED}


def test_a_template_that_changed_meanwhile_is_started_again() -> None:
    (again,) = steered([a_node(nvidia_state=AT_WORK)], ON)
    assert (again.facts.nvidia_state, driver_of(again).is_terminating) == (AT_WORK, True)


def test_who_has_failed_stays_so() -> None:
    assert states(a_node(nvidia_state=FAILED), a_node("n2", is_new=True, nvidia_state=FAILED)) == {}


@pytest.mark.parametrize("state", [REQUIRED, AT_WORK, FAILED, DONE])
def test_switched_off_it_takes_its_labels_away(state: str) -> None:
    assert states(a_node(nvidia_state=state), a_node("n2"), outside=OFF) == {"n1": ""}


def test_every_pool_is_switched_by_itself() -> None:
    operator = outer.driver_pools(NEW.version, "canary", "fleet", is_auto_upgrading=True)
    canary, fleet = operator.pools
    half = Outside(operator=replace(operator, pools=(canary, replace(fleet, is_auto_upgrading=False))))
    assert states(a_node("n1", owner="canary"), a_node("n2", owner="fleet"), outside=half) == {"n1": REQUIRED}


def test_without_an_operator_there_is_nobody() -> None:
    assert is_there(ON)
    assert not is_there(Outside())
