"""One member that cannot start does not stop the waves silently: it is named, waited for, and left behind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.campaign.course import Course
from seatrial.core.campaign.step import step_rollout
from seatrial.core.campaign.waves import wave_order
from seatrial.core.compat.matrix import Component
from seatrial.core.decision.decide import decide
from seatrial.core.holds import HoldCode, hold
from seatrial.core.model.campaign import ByHand, Growth, Mode, RolloutPhase, Waves
from seatrial.core.model.gates.gate import GateResult, GateVerdict
from seatrial.core.model.intent import Domain, Intent
from seatrial.core.model.policy import Share
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen, RecordFault
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.promises.invariants import broken
from seatrial.core.words import explain
from tests.builders import (
    NEW,
    NOW,
    a_campaign,
    a_campaign_record,
    a_done_node,
    a_node,
    a_snapshot,
    a_starting_driver,
    a_view,
    a_well_node,
    an_intent,
    an_operator,
)

ONE_BY_ONE = Waves(growth=Growth.FIXED, first=Share(amount=1))
PASSED = GateResult(gate="smoke", node="n1", round=1, verdict=GateVerdict.PASSED)
PROVEN: dict[str, Any] = {"gates": (PASSED,), "round": 1, "baked_seconds": 172_800.0}
CLIQUE = "nvidia.com/gpu.clique"
GPU = {"labels": {"nvidia.com/gpu.present": "true"}}
DEADLINE = 900.0 + 1800.0 + 600.0
"""The wave opened at 900, a driver may take 1800 s, and its validation 600 s."""


def waving(*nodes: NodeSeen, phase: RolloutPhase = RolloutPhase.WAVING, **record: Any) -> Snapshot:
    """The canary n1 is done, and these follow."""
    written = a_campaign_record(phase, **(PROVEN | record))
    return a_snapshot(a_done_node(canary_of="spring"), *nodes, campaign=written, operator=an_operator(NEW.version))


def one_by_one(**changes: Any) -> Intent:
    return an_intent(campaign=a_campaign(waves=ONE_BY_ONE), unavailable_max="100%", **changes)


def course_of(seen: Snapshot, intent: Intent | None = None, now: float = NOW) -> Course:
    intent = intent or one_by_one()
    assert broken(seen, intent, decide(seen, intent, now)) == ()
    return step_rollout(seen, intent, now)


def found(course: Course, code: HoldCode) -> list[str]:
    return [dict(held.params)["nodes"] for held in course.holds if held.code is code]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"is_ready": False}, "node-not-ready"),
        ({"driver": None} | GPU, "driver-pod-missing"),
        ({"owner_conflict": "two want it"}, "owner-unclear"),
        ({"fault": RecordFault.UNREADABLE, "fault_text": "{"}, "record-unreadable"),
    ],
)
def test_a_wave_names_who_cannot_start_and_until_when_it_waits(changes: dict[str, Any], reason: str) -> None:
    course = course_of(waving(a_node("n2", **changes), a_node("n3")))
    told = hold("spring", HoldCode.MEMBERS_STUCK, nodes=f"n2 ({reason})", since=900.0, until=DEADLINE)
    assert told in course.holds
    assert course.wake_at == DEADLINE
    assert "n2" in course.open


def test_when_its_time_is_up_the_next_wave_opens_without_it_and_the_history_says_so() -> None:
    seen = waving(a_node("n2", is_ready=False), a_node("n3"))
    assert course_of(seen, now=DEADLINE - 1).record.wave == 0
    record = course_of(seen, now=DEADLINE).record
    assert (record.wave, record.history[-1].why) == (1, "wave 2 of 2, without n2 (node-not-ready)")


def test_who_was_left_behind_is_not_waited_for_again_and_may_still_follow() -> None:
    seen = waving(a_node("n2", is_ready=False), a_done_node("n3"), a_node("n4"), wave=1)
    assert course_of(seen).record.wave == 2
    back = waving(a_node("n2"), a_done_node("n3"), a_node("n4"), wave=1)
    assert "n2" in course_of(back).open
    assert course_of(back).record.wave == 1


def test_a_driver_that_leaked_and_crashes_under_nvidias_controller_is_waited_for_no_longer_than_its_upgrade() -> None:
    down = a_node("n2", driver=a_starting_driver("n2", trouble="CrashLoopBackOff"), nvidia_state="upgrade-done")
    seen = waving(
        down,
        a_node("n3", is_skipped=True, skipped_by="spring", nvidia_state="upgrade-required"),
        mode=Mode.DELEGATED,
    )
    canary = a_well_node(canary_of="spring", nvidia_state="upgrade-done")
    seen = replace(seen, nodes={**seen.nodes, "n1": canary}, operator=replace(seen.operator, is_auto_upgrading=True))
    assert found(course_of(seen), HoldCode.MEMBERS_STUCK) == ["n2 (driver-not-ready)"]
    assert "n2" in {held.subject for held in decide(seen, one_by_one(), NOW).holds}
    assert course_of(seen, now=DEADLINE).record.wave == 1


def test_a_wave_with_somebody_at_work_is_not_over_when_the_time_of_another_is_up() -> None:
    at_work = a_node("n3", NodePhase.VALIDATION_REQUIRED, is_cordon_ours=True)
    seen = waving(a_node("n2", is_ready=False), at_work, a_node("n4"), wave=1)
    course = course_of(seen, now=DEADLINE)
    assert course.record.wave == 1
    assert [held.until for held in course.holds if held.code is HoldCode.MEMBERS_STUCK] == [None]


def test_an_outage_of_ours_leaves_nobody_behind() -> None:
    seen = waving(a_node("n2", is_ready=False), a_node("n3"))
    looking = a_snapshot(
        *seen.nodes.values(), campaign=seen.rollout.campaign, operator=seen.operator, attentive_since=5000.0
    )
    assert course_of(looking, now=5001.0).record.wave == 0


def test_skipping_it_lets_the_waves_go_on_at_once() -> None:
    seen = waving(a_node("n2", is_ready=False, is_skipped=True), a_node("n3"))
    assert course_of(seen).record.history[-1].why == "wave 2 of 2"


def test_the_others_of_its_unit_are_left_behind_with_it() -> None:
    clique: dict[str, Any] = {"labels": {CLIQUE: "c1"}}
    seen = waving(a_node("n2", is_ready=False, **clique), a_node("n3", **clique), a_node("n4"))
    intent = one_by_one(domains=(Domain(label=CLIQUE, is_unit=True),))
    assert found(course_of(seen, intent), HoldCode.MEMBERS_STUCK) == ["n2 (node-not-ready), n3 (unit-unfit)"]
    assert course_of(seen, intent, now=DEADLINE).record.wave == 1


def test_a_member_without_a_gpu_is_in_no_wave_and_is_told_in_every_phase_of_the_way_forward() -> None:
    seen = waving(a_node("n2", driver=None), a_node("n3"))
    course = course_of(seen)
    assert wave_order(a_view(seen, one_by_one())) == ((1,), ("n3",))
    assert (course.open, found(course, HoldCode.MEMBERS_WITHOUT_GPU)) == (frozenset({"n1", "n3"}), ["n2"])
    for phase in (RolloutPhase.BAKING, RolloutPhase.DONE):
        course = course_of(waving(a_node("n2", driver=None), phase=phase, entered_at=NOW, baked_until=NOW))
        assert found(course, HoldCode.MEMBERS_WITHOUT_GPU) == ["n2"]


def test_a_fleet_is_promoted_though_a_member_has_no_gpu() -> None:
    assert course_of(waving(a_done_node("n2"), a_node("n3", driver=None))).record.phase is RolloutPhase.PROMOTING


def test_a_member_without_a_gpu_that_a_person_left_out_is_told_no_more() -> None:
    course = course_of(waving(a_node("n2", driver=None, is_skipped=True), a_node("n3")))
    assert found(course, HoldCode.MEMBERS_WITHOUT_GPU) == []


def test_the_end_names_who_was_left_behind() -> None:
    failure = {"failed_revision": NEW.hash, "failures": 1}
    failed = a_node("n3", NodePhase.UPGRADE_FAILED, is_cordon_ours=True, record=failure)
    seen = waving(a_node("n2", is_ready=False), failed, phase=RolloutPhase.DONE)
    assert found(course_of(seen), HoldCode.MEMBERS_LEFT) == ["n2 (node-not-ready), n3 (failed)"]


def test_a_member_on_the_new_driver_that_was_asked_for_another_upgrade_is_left_with_it_unfinished() -> None:
    again = a_well_node("n2", NodePhase.UPGRADE_REQUIRED, attempt=2, sriov="Draining")
    course = course_of(waving(again, phase=RolloutPhase.DONE))
    (left,) = (held for held in course.holds if held.code is HoldCode.MEMBERS_LEFT)
    assert explain.why(left) == "1 member is left behind with its upgrade unfinished: n2 (sriov-at-work)"
    last = waving(a_node("n2", is_ready=False))
    record = course_of(last, now=DEADLINE).record
    assert (record.phase, record.history[-1].why) == (RolloutPhase.PROMOTING, "without n2 (node-not-ready)")


def test_our_own_skip_label_is_no_obstacle() -> None:
    kept = a_node("n3", is_skipped=True, skipped_by="spring", nvidia_state="upgrade-required")
    seen = waving(a_node("n2", is_ready=False, is_skipped=True, skipped_by="spring"), kept, mode=Mode.DELEGATED)
    operator = an_operator(NEW.version, is_auto_upgrading=True)
    seen = a_snapshot(*seen.nodes.values(), campaign=seen.rollout.campaign, operator=operator)
    view = a_view(seen, one_by_one())
    assert view.mover.why_stuck(view, view.nodes) == {"n2": HoldCode.NODE_NOT_READY}


def test_what_people_move_by_hand_needs_no_gpu() -> None:
    step = ByHand(component=Component.KERNEL)
    seen = waving(a_node("n2", driver=None), mode=Mode.BY_HAND)
    intent = an_intent(campaign=a_campaign(waves=ONE_BY_ONE, by_hand=step))
    assert wave_order(a_view(seen, intent))[1] == ("n2",)


# ── those that failed keep everybody waiting ─────────────────────────────────────────────────────────────────────────

FAILED = a_node(
    "n2", NodePhase.UPGRADE_FAILED, is_cordon_ours=True, is_cordoned=True, record={"failed_revision": NEW.hash}
)
GIVEN_UP = a_node("n2", nvidia_state="upgrade-failed", is_cordoned=True)
KEPT_OUT = a_node("n3", nvidia_state="upgrade-required", is_skipped=True, skipped_by="spring")
NVIDIA: dict[str, Any] = {"mode": Mode.DELEGATED, "wave": 1}


def two_waves(unavailable_max: int) -> Intent:
    return an_intent(campaign=a_campaign(waves=ONE_BY_ONE), unavailable_max=unavailable_max, failed_max=1)


def blocked_by(nodes: str, limit: int = 1) -> Any:
    where = {"wave": 2, "waves": 2, "left": 1, "limit": limit}
    return hold("spring", HoldCode.WAVE_BLOCKED, where, nodes=nodes, since=900.0)


@pytest.mark.parametrize(
    ("nodes", "record"),
    [((FAILED, a_node("n3")), {"wave": 1}), ((GIVEN_UP, KEPT_OUT), NVIDIA)],
    ids=["moved by us", "moved by NVIDIA"],
)
def test_a_wave_that_waits_for_nodes_that_failed_alone_says_so(
    nodes: tuple[NodeSeen, ...], record: dict[str, Any]
) -> None:
    seen = waving(*nodes, **record)
    through = a_well_node(canary_of="spring", nvidia_state="upgrade-done") if "mode" in record else seen.nodes["n1"]
    operator = an_operator(NEW.version, is_auto_upgrading="mode" in record)
    seen = replace(seen, nodes={**seen.nodes, "n1": through}, operator=operator)
    assert course_of(seen, two_waves(1)).holds == (blocked_by("n2"),)
    assert [held.code for held in course_of(seen, two_waves(2)).holds] == [HoldCode.WAVE_AT_WORK]


def test_a_wave_in_which_somebody_is_at_work_goes_on_by_itself() -> None:
    moving = a_node("n3", NodePhase.CORDON_REQUIRED, attempt=1)
    held = course_of(waving(FAILED, moving, wave=1), two_waves(1)).holds
    assert [each.code for each in held] == [HoldCode.WAVE_AT_WORK]


def test_a_wave_that_waits_for_others_than_those_that_failed_does_not_blame_them() -> None:
    open_ = a_node("n2", NodePhase.UPGRADE_FAILED, record={"failed_revision": NEW.hash})
    cordoned = a_done_node("n4", is_cordoned=True)
    held = course_of(waving(open_, a_node("n3"), cordoned, wave=2), two_waves(1)).holds
    assert HoldCode.WAVE_BLOCKED not in [each.code for each in held]
