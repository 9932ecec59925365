"""A node stays closed between the delete of its driver and its proof, whoever opens it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.on_nodes import Cordon, EvictPods, Uncordon, WriteNodeRecord
from seatrial.core.budget import capacity
from seatrial.core.decision.decide import decide
from seatrial.core.holds import HoldCode, hold
from seatrial.core.model.intent import Retries
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.pods import PodOwner
from seatrial.core.model.seen.rollouts import Rebuff
from seatrial.core.model.seen.snapshot import Freshness
from seatrial.core.node import closing
from seatrial.core.node.phases import FailureCode
from seatrial.core.node.step import step_node
from seatrial.core.node.writing import Step
from seatrial.core.words import explain
from tests.builders import (
    NEW,
    NOW,
    OLD,
    a_driver,
    a_gpu_pod,
    a_ledger,
    a_new_driver,
    a_node,
    a_snapshot,
    a_starting_driver,
    a_well_node,
    an_intent,
    opening,
    some_orders,
)

GONE: dict[str, Any] = {"old_pod": "driver-n1-0"}
LOST: dict[str, Any] = {"has_lost_driver": True}


def starting(phase: NodePhase = NodePhase.POD_RESTART_REQUIRED, **changes: Any) -> NodeSeen:
    """A node whose old driver we deleted; the new one starts, and our cordon is gone."""
    fields: dict[str, Any] = {
        "driver": a_starting_driver(),
        "is_cordon_ours": True,
        "is_cordoned": False,
        "record": GONE,
    }
    return a_node(phase=phase, **(fields | changes))


def failed(**changes: Any) -> NodeSeen:
    """A node that failed after its driver was deleted, and is open."""
    notes = LOST | {"reason": FailureCode.DRIVER_CRASH_LOOP.value, "failed_revision": NEW.hash, "failures": 1}
    return starting(NodePhase.UPGRADE_FAILED, **({"record": notes} | changes))


def a_lost_node(phase: NodePhase, **changes: Any) -> NodeSeen:
    """A node in a phase after its driver was deleted, open."""
    fields: dict[str, Any] = {"is_cordon_ours": True, "is_cordoned": False, "record": LOST}
    return a_node(phase=phase, **(fields | changes))


def closing_again(node: NodeSeen, count: int = 1) -> Step:
    """The write that closes a node again, and counts it."""
    assert node.record is not None
    record = replace(node.record, has_lost_driver=True, reopened_count=count, closed_at=NOW)
    return Step(action=Cordon(node="n1", record=record, expect="7"))


# ── whose opening it is ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "driver",
    [None, a_driver(is_terminating=True), a_starting_driver(), a_new_driver()],
    ids=["none", "stopping", "starting", "ready"],
)
def test_a_cordon_lost_after_the_driver_was_deleted_is_put_back_at_once(driver: Any) -> None:
    node = starting(driver=driver)
    assert step_node(node, some_orders(), NOW) == closing_again(node)


def test_a_driver_that_an_old_view_does_not_show_is_no_reason_to_overrule_who_opened_the_node() -> None:
    unsynced = (Freshness(source="pods", is_synced=False, heard_at=NOW),)
    seen = a_snapshot(starting(driver=None), admitted=a_ledger("n1"), freshness=unsynced)
    assert not [act for act in decide(seen, an_intent(), NOW).actions if isinstance(act, Cordon)]
    shown = a_snapshot(starting(), admitted=a_ledger("n1"), freshness=unsynced)
    assert [act.node for act in decide(shown, an_intent(), NOW).actions if isinstance(act, Cordon)] == ["n1"]


def test_a_cordon_lost_before_the_driver_was_deleted_was_taken_by_a_person() -> None:
    node = starting(driver=a_driver())
    expected = opening(node, NodePhase.POD_RESTART_REQUIRED, entered_at=900.0, is_cordon_ours=False)
    assert step_node(node, some_orders(), NOW) == expected


@pytest.mark.parametrize("phase", [NodePhase.VALIDATION_REQUIRED, NodePhase.UNCORDON_REQUIRED])
def test_a_node_that_is_not_proven_yet_is_closed_again(phase: NodePhase) -> None:
    node = a_lost_node(phase, driver=a_new_driver())
    assert step_node(node, some_orders(), NOW) == closing_again(node)


def test_a_failed_node_stays_closed_however_often_it_is_opened() -> None:
    node = failed(record={"has_lost_driver": True, "reopened_count": 3})
    assert step_node(node, some_orders(admitted={}), NOW) == closing_again(node, count=4)


def test_a_failed_node_that_waits_for_its_next_attempt_stays_closed() -> None:
    node = a_lost_node(NodePhase.UPGRADE_REQUIRED)
    assert step_node(node, some_orders(admitted={}), NOW) == closing_again(node)


def test_a_node_that_failed_with_its_old_driver_in_place_is_a_persons_to_open() -> None:
    node = a_node(phase=NodePhase.UPGRADE_FAILED, is_cordon_ours=True, is_cordoned=False)
    expected = opening(node, NodePhase.UPGRADE_FAILED, entered_at=900.0, is_cordon_ours=False)
    assert step_node(node, some_orders(admitted={}), NOW) == expected


def test_a_failed_node_that_a_person_marked_skip_is_left_open_and_one_under_way_is_brought_to_its_end() -> None:
    assert not closing.is_opened(failed(is_skipped=True))
    assert closing.is_opened(failed(is_skipped=True, skipped_by="spring"))
    node = starting(is_skipped=True)
    assert step_node(node, some_orders(), NOW) == closing_again(node)


def test_the_cordon_of_an_admin_is_put_back_and_stays_theirs() -> None:
    restarting = a_node(phase=NodePhase.POD_RESTART_REQUIRED, is_cordoned=True)
    noted = step_node(restarting, some_orders(), NOW)
    assert noted == opening(restarting, NodePhase.POD_RESTART_REQUIRED, entered_at=900.0, is_cordon_theirs=True)
    node = starting(is_cordon_ours=False, record=GONE | {"is_cordon_theirs": True})
    step = step_node(node, some_orders(), NOW)
    assert step == closing_again(node)
    closed = a_well_node(
        phase=NodePhase.UNCORDON_REQUIRED,
        is_cordoned=True,
        record=LOST | {"reopened_count": 1, "is_cordon_theirs": True},
    )
    ending = step_node(closed, some_orders(), NOW)
    assert not isinstance(ending.action, Uncordon)
    assert ending == opening(
        closed, NodePhase.UPGRADE_DONE, has_lost_driver=False, reopened_count=0, is_cordon_theirs=False
    )


def test_a_node_that_had_no_cordon_gets_one_of_ours() -> None:
    node = starting(is_cordon_ours=False)
    action = step_node(node, some_orders(), NOW).action
    assert isinstance(action, Cordon)
    assert action.record.is_cordon_ours


def test_what_is_known_of_the_driver_lasts_until_the_node_is_done() -> None:
    ready = starting(driver=a_new_driver(), is_cordoned=True)
    assert step_node(ready, some_orders(), NOW) == opening(ready, NodePhase.VALIDATION_REQUIRED, has_lost_driver=True)
    retried = replace(failed(is_cordoned=True), is_retry_asked=True)
    assert step_node(retried, some_orders(admitted={}), NOW) == opening(
        retried, NodePhase.UPGRADE_REQUIRED, attempt=2, reason="", has_lost_driver=True
    )


def test_a_version_published_under_a_starting_driver_does_not_make_anybody_forget_that_the_old_one_is_gone() -> None:
    node = starting(is_cordoned=True, wanted=OLD)  # driver-n1-1 has to go now, and driver-n1-0 went before it
    noted = step_node(node, some_orders(), NOW).action
    assert isinstance(noted, WriteNodeRecord)
    assert (noted.record.old_pod, noted.record.has_lost_driver) == ("driver-n1-1", True)
    opened = replace(node, record=noted.record, facts=replace(node.facts, is_cordoned=False))
    assert step_node(opened, some_orders(), NOW) == closing_again(opened)


# ── the fleet ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("is_ours", [True, False])
def test_the_budget_does_not_take_a_short_opening_for_free_capacity(is_ours: bool) -> None:
    theirs = {"has_lost_driver": True, "is_cordon_theirs": not is_ours}
    opened = failed(is_cordon_ours=is_ours, record=theirs)
    budget = capacity.budget_of({"n1": opened}, (), an_intent())
    assert budget.whole.unavailable == {"n1"}


def test_a_pause_and_an_old_view_do_not_leave_a_node_open() -> None:
    node = starting()
    paused = decide(a_snapshot(node, admitted=a_ledger("n1")), an_intent(is_paused=True), NOW)
    silent = (Freshness(source="pods", is_synced=True, heard_at=0.0),)
    blind = decide(a_snapshot(node, admitted=a_ledger("n1"), freshness=silent), an_intent(), NOW)
    for decision in (paused, blind):
        assert [action for action in decision.actions if action.subject == "n1"] == [closing_again(node).action]


def test_a_node_whose_closing_was_refused_says_so_whatever_stops_the_rollout() -> None:
    node = starting(wanted=OLD)
    refused = {"n1": Rebuff(at=NOW, count=1, code="conflict", detail="the node is at 8")}
    seen = a_snapshot(node, admitted=a_ledger("n1"), rebuffs=refused)
    (held,) = [each for each in decide(seen, an_intent(), NOW).holds if each.subject == "n1"]
    assert held.code is HoldCode.WRITE_REFUSED


def test_nothing_is_closed_where_nvidias_controller_moves_the_nodes() -> None:
    operator = OperatorFacts(kind="ClusterPolicy/gpu", is_auto_upgrading=True)
    decision = decide(a_snapshot(starting(), admitted=a_ledger("n1"), operator=operator), an_intent(), NOW)
    assert not [action for action in decision.actions if action.subject == "n1"]


# ── who slipped in ───────────────────────────────────────────────────────────────────────────────────────────────────

REOPENED: dict[str, Any] = LOST | {"reopened_count": 1}


def validating(**changes: Any) -> NodeSeen:
    """A node with the new driver, proven, onto which a job came while it was open."""
    fields: dict[str, Any] = {"is_cordon_ours": True, "record": REOPENED, "pods": (a_gpu_pod(),)}
    return a_well_node(phase=NodePhase.VALIDATION_REQUIRED, **(fields | changes))


def test_who_slipped_in_leaves_before_the_node_is_proven() -> None:
    asked = Step(action=EvictPods(node="n1", attempt=1, pods=(a_gpu_pod(),)))
    assert step_node(validating(), some_orders(), NOW) == asked
    early = starting(is_cordoned=True, record=REOPENED, pods=(a_gpu_pod(),))
    assert step_node(early, some_orders(), NOW) == asked


def test_clients_that_have_come_back_are_not_asked_to_leave_with_who_slipped_in() -> None:
    label = "nvidia.com/gpu.deploy.dcgm"
    node = validating(record=REOPENED | {"paused": ((label, "true"),)}, labels={label: "true"})
    assert step_node(node, some_orders(), NOW) == Step(action=EvictPods(node="n1", attempt=1, pods=(a_gpu_pod(),)))


def test_who_slipped_in_is_named_while_it_is_on_its_way_out() -> None:
    leaving = validating(pods=(a_gpu_pod(is_terminating=True),))
    told = hold("n1", HoldCode.SLIPPED_IN, since=900.0, until=1500.0, pod="jobs/train-0", count=1, reopened=1)
    assert step_node(leaving, some_orders(), NOW) == Step(hold=told)
    assert explain.why(told).startswith("somebody uncordoned the node while its driver was replaced, and pod ")


def test_who_slipped_in_and_does_not_leave_fails_the_node_which_stays_closed() -> None:
    step = step_node(validating(), some_orders(), 99_999.0)
    assert step.action is not None
    assert step == opening(
        validating(),
        NodePhase.UPGRADE_FAILED,
        entered_at=99_999.0,
        reason=FailureCode.EVICTION_TIMEOUT,
        failed_revision=NEW.hash,
        failures=1,
        old_pod="driver-n1-1",
    )


def test_a_node_is_not_uncordoned_over_who_slipped_in() -> None:
    node = replace(validating(), record=replace(validating().record, phase=NodePhase.UNCORDON_REQUIRED))  # type: ignore[type-var]
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.VALIDATION_REQUIRED)


def test_a_failed_node_that_got_well_names_who_slipped_in_before_it_opens() -> None:
    node = a_well_node(
        phase=NodePhase.UPGRADE_FAILED,
        is_cordon_ours=True,
        record=REOPENED | {"failed_revision": NEW.hash, "failures": 1},
        pods=(a_gpu_pod(),),
    )
    step = step_node(node, some_orders(admitted={}), NOW)
    assert step.hold is not None
    assert (step.hold.code, dict(step.hold.params)["pod"]) == (HoldCode.SLIPPED_IN, "jobs/train-0")


def test_a_failed_node_with_a_pod_that_slipped_in_is_retried_like_any_other() -> None:
    node = a_well_node(
        phase=NodePhase.UPGRADE_FAILED,
        is_cordon_ours=True,
        record=REOPENED | {"failed_revision": NEW.hash, "failures": 1},
        pods=(a_gpu_pod(),),
    )
    orders = replace(some_orders(admitted={}), intent=an_intent(retries=Retries(count_max=1, pause_seconds=600.0)))
    early = step_node(node, orders, 900.0 + 599.0)
    assert early.hold is not None
    assert (early.hold.code, early.hold.until) == (HoldCode.SLIPPED_IN, 1500.0)
    late = step_node(node, orders, 1500.0)
    assert isinstance(late.action, WriteNodeRecord)
    assert late.action.record.phase is NodePhase.UPGRADE_REQUIRED


@pytest.mark.parametrize(
    "changes",
    [
        {"record": LOST},
        {"record": REOPENED | {"is_restart_only": True}},
        {"pods": (a_gpu_pod(keeper=PodOwner.DAEMON_SET, deploy_label="nvidia.com/gpu.deploy.client"),)},
    ],
    ids=["never open", "restarted under its users", "a client that came back"],
)
def test_who_did_not_slip_in_stays(changes: dict[str, Any]) -> None:
    node = validating(**changes)
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.UNCORDON_REQUIRED)


# ── told ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_wait_says_how_often_the_node_was_opened() -> None:
    node = starting(is_cordoned=True, record=GONE | {"reopened_count": 2})
    told = step_node(node, some_orders(), NOW).hold
    assert told is not None
    assert explain.why(told) == (
        "driver pod driver-n1 is starting; "
        "the node was uncordoned 2 times after its old driver was deleted, and cordoned again"
    )
