"""Units are together or not at all: who keeps a clique waiting, and until when it is called back."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.core.actions.on_nodes import Cordon, WriteNodeRecord
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.budget import capacity, units
from seatrial.core.decision.decide import Decision, decide
from seatrial.core.holds import HoldCode, hold
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.intent import Domain
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen, RecordFault
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.promises.invariants import broken
from tests.builders import (
    NEW,
    NOW,
    OLD,
    a_campaign,
    a_campaign_record,
    a_ledger,
    a_new_driver,
    a_node,
    a_snapshot,
    a_well_node,
    an_intent,
    an_operator,
)

CLIQUE = "nvidia.com/gpu.clique"
IN_C1: dict[str, Any] = {"labels": {CLIQUE: "c1"}}
UNITED = an_intent(parallel_max=0, unavailable_max="100%", domains=(Domain(label=CLIQUE, is_unit=True),))
REQUIRED = NodePhase.UPGRADE_REQUIRED
FAILURE = {"failed_revision": NEW.hash, "failures": 1, "reason": "driver-timeout"}


def member(name: str, phase: NodePhase | None = REQUIRED, **changes: Any) -> NodeSeen:
    return a_node(name, phase, **(IN_C1 | changes))


def decided(seen: Snapshot) -> Decision:
    decision = decide(seen, UNITED, NOW)
    assert broken(seen, UNITED, decision) == ()
    return decision


def admitted_by(decision: Decision) -> list[str]:
    written = [action.record.admitted for action in decision.actions if isinstance(action, WriteRolloutRecord)]
    return [admission.node for admission in written[0]] if written else []


LAME: list[tuple[dict[str, Any], str]] = [
    ({"is_ready": False}, "node-not-ready"),
    ({"is_skipped": True}, "skipped"),
    ({"phase": NodePhase.UPGRADE_FAILED, "record": FAILURE}, "failed"),
    ({"owner_conflict": "two want it"}, "owner-unclear"),
    ({"driver": None, "labels": {CLIQUE: "c1", "nvidia.com/gpu.present": "true"}}, "driver-pod-missing"),
    ({"fault": RecordFault.UNREADABLE, "fault_text": "{"}, "record-unreadable"),
]


@pytest.mark.parametrize(("changes", "reason"), LAME)
def test_a_member_that_cannot_start_keeps_the_whole_unit_waiting_and_is_named(
    changes: dict[str, Any], reason: str
) -> None:
    decision = decided(a_snapshot(member("n1"), member("n2"), member("n3", **changes)))
    assert admitted_by(decision) == []
    told = [hold(name, HoldCode.UNIT_UNFIT, nodes=f"n3 ({reason})") for name in ("n1", "n2")]
    assert [held for held in decision.holds if held.code is HoldCode.UNIT_UNFIT] == told


@pytest.mark.parametrize(("changes", "reason"), LAME)
def test_who_was_let_in_hands_its_place_back_with_a_member_that_cannot_start_any_more(
    changes: dict[str, Any], reason: str
) -> None:
    """Between the admission and the first cordon nothing is taken from anybody, so nothing has to be torn."""
    unfit = member("n3", **changes)
    ledger = a_ledger("n1", "n2", "n3")
    decision = decided(a_snapshot(member("n1"), member("n2", NodePhase.CORDON_REQUIRED), unfit, admitted=ledger))
    assert [action.node for action in decision.actions if isinstance(action, Cordon)] == []
    opened = {action.node: action.record for action in decision.actions if isinstance(action, WriteNodeRecord)}
    assert [(opened[name].phase, opened[name].attempt) for name in ("n1", "n2")] == [(REQUIRED, 2), (REQUIRED, 2)], (
        reason
    )


def test_after_the_first_cordon_a_unit_is_finished_as_far_as_it_can_be() -> None:
    begun = member("n1", NodePhase.WAIT_FOR_JOBS_REQUIRED, is_cordon_ours=True)
    ready = member("n2", NodePhase.CORDON_REQUIRED)
    seen = a_snapshot(begun, ready, member("n3", is_ready=False), admitted=a_ledger("n1", "n2", "n3"))
    assert [action.node for action in decided(seen).actions if isinstance(action, Cordon)] == ["n2"]


def test_a_member_that_does_not_fit_any_more_takes_its_unit_along() -> None:
    """The limit was lowered: none of the unit starts, though one of them costs nothing, being cordoned already."""
    tight = an_intent(parallel_max=0, unavailable_max=1, domains=(Domain(label=CLIQUE, is_unit=True),))
    nodes = (member("n1"), member("n2"), member("n3", is_cordoned=True))
    decision = decide(a_snapshot(*nodes, admitted=a_ledger("n1", "n2", "n3")), tight, NOW)
    opened = {action.node: action.record.phase for action in decision.actions if isinstance(action, WriteNodeRecord)}
    assert opened == dict.fromkeys(("n1", "n2", "n3"), REQUIRED)


@pytest.mark.parametrize(
    "other",
    [
        a_well_node("n3", NodePhase.UPGRADE_DONE, is_ready=False, **IN_C1),
        a_well_node("n3", NodePhase.UPGRADE_DONE, is_skipped=True, **IN_C1),
        a_node("n3", driver=None, **IN_C1),
    ],
)
def test_who_is_through_or_has_no_gpu_keeps_nobody_waiting(other: NodeSeen) -> None:
    assert admitted_by(decided(a_snapshot(member("n1"), member("n2"), other))) == ["n1", "n2"]


def test_a_failed_member_that_is_about_to_try_again_is_waited_for_and_not_complained_of() -> None:
    anew = member("n2", NodePhase.UPGRADE_FAILED, record=FAILURE | {"failed_revision": OLD.hash})
    assert units.why_unfit(anew) is None
    asked = member("n2", NodePhase.UPGRADE_FAILED, record=FAILURE, is_retry_asked=True)
    decision = decided(a_snapshot(member("n1"), asked))
    assert hold("n1", HoldCode.UNIT_INCOMPLETE, nodes="n2") in decision.holds


def test_on_the_way_back_nobody_is_kept_on_a_rejected_driver_for_the_sake_of_a_dead_member() -> None:
    back = [member(name, wanted=OLD, driver=a_new_driver(name)) for name in ("n1", "n2")]
    dead = member("n3", wanted=OLD, driver=a_new_driver("n3"), is_ready=False)
    record = a_campaign_record(RolloutPhase.REVERTING)
    seen = a_snapshot(*back, dead, campaign=record, operator=an_operator(OLD.version))
    intent = an_intent(
        parallel_max=0,
        unavailable_max="100%",
        domains=(Domain(label=CLIQUE, is_unit=True),),
        campaign=a_campaign(),
    )
    assert admitted_by(decide(seen, intent, NOW)) == ["n1", "n2"]


def test_on_the_way_back_a_member_that_is_closed_already_goes_first_where_there_is_no_room_for_the_other() -> None:
    closed = member("n1", wanted=OLD, driver=a_new_driver("n1"), is_cordoned=True, is_cordon_ours=True)
    mate = member("n2", wanted=OLD, driver=a_new_driver("n2"))
    record = a_campaign_record(RolloutPhase.REVERTING)
    seen = a_snapshot(closed, mate, campaign=record, operator=an_operator(OLD.version))
    tight = an_intent(
        parallel_max=0,
        unavailable_max=1,
        domains=(Domain(label=CLIQUE, is_unit=True),),
        campaign=a_campaign(),
    )
    decision = decide(seen, tight, NOW)
    assert admitted_by(decision) == ["n1"]
    assert [held.code for held in decision.holds if held.subject == "n2"] == [HoldCode.UNAVAILABLE_LIMIT]


def test_a_unit_waits_for_a_member_that_needs_the_driver_and_does_not_ask_to_start() -> None:
    nodes = {
        each.name: each
        for each in (
            member("n1"),
            member("n2"),
            member("n3", NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True),
            a_well_node("n4", NodePhase.UPGRADE_DONE, **IN_C1),
            member("n5", NodePhase.CORDON_REQUIRED),
        )
    }
    budget = capacity.budget_of(nodes, a_ledger("n3", "n5"), UNITED)
    assert units.not_asking(nodes, budget, ["n1"]) == {"n2"}
