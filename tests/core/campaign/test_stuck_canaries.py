"""A canary that dies before its start is named, waited for, and then another node goes first, in its place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.on_nodes import WriteNodeRecord
from seatrial.core.campaign.course import Course
from seatrial.core.campaign.step import step_rollout
from seatrial.core.compat.matrix import Component
from seatrial.core.decision.decide import Decision, decide
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import ByHand, Mode, RolloutPhase
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.promises.invariants import broken
from tests.builders import (
    NEW,
    NOW,
    a_campaign,
    a_campaign_record,
    a_driver,
    a_ledger,
    a_node,
    a_snapshot,
    an_intent,
    an_operator,
)

DEADLINE = 900.0 + 1800.0 + 600.0
"""The canaries' turn came at 900, a driver may take 1800 s, and its validation 600 s."""
INTENT = an_intent(campaign=a_campaign())
DEAD: dict[str, Any] = {"is_ready": False, "canary_of": "spring"}


def seen(*nodes: NodeSeen, **record: Any) -> Snapshot:
    written = a_campaign_record(RolloutPhase.CANARY, **record)
    return a_snapshot(*nodes, campaign=written, operator=an_operator(NEW.version))


def course_of(found: Snapshot, now: float) -> Course:
    assert broken(found, INTENT, decide(found, INTENT, now)) == ()
    return step_rollout(found, INTENT, now)


def stuck(course: Course) -> list[tuple[str, float | None]]:
    return [(dict(held.params)["nodes"], held.until) for held in course.holds if held.code is HoldCode.CANARY_STUCK]


def test_a_canary_that_cannot_start_is_named_with_the_time_it_has() -> None:
    course = course_of(seen(a_node("n1", **DEAD), a_node("n2")), NOW)
    assert stuck(course) == [("n1 (node-not-ready)", DEADLINE)]
    assert course.wake_at == DEADLINE


def test_when_its_time_is_up_another_node_goes_first() -> None:
    record = course_of(seen(a_node("n1", **DEAD), a_node("n2")), DEADLINE).record
    assert (record.phase, record.canaries) == (RolloutPhase.CANARY, ("n2",))
    assert record.history[-1].why == "canary n1 cannot start; n2 goes first instead"


def test_a_canary_that_is_alive_keeps_its_place_beside_one_that_is_replaced() -> None:
    nodes = (a_node("n1", **DEAD), a_node("n2", canary_of="spring"), a_node("n3"), a_node("n4", is_ready=False))
    record = course_of(seen(*nodes, canaries=("n1", "n2")), DEADLINE).record
    assert record.canaries == ("n2", "n3")


def test_where_no_other_node_will_do_people_are_asked() -> None:
    found = seen(a_node("n1", **DEAD), a_node("n2", is_ready=False))
    course = course_of(found, DEADLINE)
    assert stuck(course) == [("n1 (node-not-ready)", None)]
    assert course.record == found.rollout.campaign


def test_a_node_that_cannot_start_either_takes_nobodys_place() -> None:
    orphaned = a_driver("n2", is_orphaned=True)
    found = seen(a_node("n1", **DEAD), a_node("n2", driver=orphaned, wanted=None))
    assert course_of(found, DEADLINE).record == found.rollout.campaign


def test_the_node_in_its_place_has_its_own_time() -> None:
    after = course_of(seen(a_node("n1", **DEAD), a_node("n2"), a_node("n3")), DEADLINE).record
    dead = (a_node("n1", is_ready=False), a_node("n2", **DEAD), a_node("n3"))
    again = a_snapshot(*dead, campaign=after, operator=an_operator(NEW.version))
    assert course_of(again, DEADLINE + 60).record.canaries == ("n2",)


def test_a_canary_under_way_is_left_to_its_own_deadlines() -> None:
    node = a_node("n1", NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True, **DEAD)
    found = a_snapshot(node, a_node("n2"), campaign=a_campaign_record(RolloutPhase.CANARY))
    assert stuck(step_rollout(found, INTENT, DEADLINE)) == []


def test_a_canary_that_people_work_on_may_be_not_ready_for_as_long_as_they_need() -> None:
    campaign = a_campaign(by_hand=ByHand(component=Component.KERNEL))
    intent = an_intent(campaign=campaign)
    course = step_rollout(seen(a_node("n1", **DEAD), a_node("n2"), mode=Mode.BY_HAND), intent, DEADLINE)
    assert stuck(course) == []


# ── the places of those that were to go with a canary ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("phase", [NodePhase.UPGRADE_REQUIRED, NodePhase.CORDON_REQUIRED])
def test_who_was_let_in_with_a_canary_that_is_gone_hands_its_place_back_before_it_begins(phase: NodePhase) -> None:
    mate, canary = a_node("n2", phase), a_node("n3", NodePhase.UPGRADE_REQUIRED, canary_of="spring")
    decision = decided(seen(mate, canary, canaries=("n3",)), "n2")
    (write,) = (act for act in decision.actions if isinstance(act, WriteNodeRecord) and act.node == "n2")
    assert (write.record.phase, write.record.attempt) == (NodePhase.UPGRADE_REQUIRED, 2)


def test_a_canary_that_another_has_replaced_frees_its_place_once_its_cordon_is_lifted() -> None:
    """It stepped out of the way of the SR-IOV operator, which opened it when its work was done."""
    lifted = a_node("n2", NodePhase.UPGRADE_REQUIRED, attempt=2, is_cordon_ours=True, is_cordoned=False)
    decision = decided(seen(lifted, a_node("n3", canary_of="spring"), canaries=("n3",)), "n2")
    (write,) = (act for act in decision.actions if isinstance(act, WriteNodeRecord) and act.node == "n2")
    assert not write.record.is_cordon_ours
    assert write.record.phase is NodePhase.UPGRADE_REQUIRED


def decided(found: Snapshot, *admitted: str) -> Decision:
    """What is decided while only one node may be unavailable and the ledger names these."""
    intent = an_intent(unavailable_max=1, campaign=a_campaign())
    named = replace(found, rollout=replace(found.rollout, admitted=a_ledger(*admitted)))
    decision = decide(named, intent, NOW)
    assert broken(named, intent, decision) == ()
    return decision
