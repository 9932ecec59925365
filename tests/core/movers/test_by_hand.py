"""A step that people take: the rollout says whose turn it is, waits to see the version, and touches nobody."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.at_home import Promote
from seatrial.core.actions.of_campaigns import MarkNode
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.campaign.course import Course
from seatrial.core.campaign.step import step_rollout
from seatrial.core.compat.matrix import Component
from seatrial.core.decision.decide import decide
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.campaign import Bake, ByHand, CampaignRecord, Mode, Point, RolloutPhase, Via, Waves
from seatrial.core.model.gates.gate import GateResult, GateVerdict
from seatrial.core.model.intent import Intent
from seatrial.core.model.policy import Share
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.node import observed
from seatrial.core.node.progress import Progress
from seatrial.core.promises.invariants import broken
from seatrial.core.words import explain
from tests.builders import (
    NOW,
    a_campaign,
    a_campaign_record,
    a_measurement,
    a_node,
    a_snapshot,
    a_source,
    a_well_node,
    an_intent,
    an_operator,
)

OLD, NEW = "28.39.1002", "28.43.2026"
FIRMWARE = ByHand(component=Component.FIRMWARE_CX7, instructions="Flash it by the BMC, then reboot.")
KERNEL = ByHand(component=Component.KERNEL)
ONE_WAY = replace(FIRMWARE, is_one_way=True)
TARGET = "580.105.08"


def node(name: str = "n1", version: str = "", **changes: Any) -> NodeSeen:
    """A node at rest on the driver that stays, with what was observed of its firmware."""
    seen = (("firmware_cx7", version),) if version else ()
    return a_well_node(name, **({"components": seen} | changes))


def canary(version: str = "", **changes: Any) -> NodeSeen:
    return node("n1", version, canary_of="spring", **changes)


def wish(asked: ByHand = FIRMWARE, **changes: Any) -> Intent:
    waves = Waves(first=Share(amount=1))
    said: dict[str, Any] = {"by_hand": asked, "publish": Via.NOBODY, "waves": waves} | changes
    return an_intent(campaign=a_campaign(**said))


def at(phase: RolloutPhase, *nodes: NodeSeen, record: dict[str, Any] | None = None, **changes: Any) -> Snapshot:
    begun: dict[str, Any] = {}
    if phase is not RolloutPhase.PROPOSED:
        begun = {"mode": Mode.BY_HAND, "baseline": (("firmware_cx7", OLD),)}
    written = a_campaign_record(phase, **(begun | (record or {})))
    return a_snapshot(*nodes, campaign=written, **({"operator": an_operator(TARGET)} | changes))


def course_of(seen: Snapshot, intent: Intent | None = None) -> Course:
    """The next step, which must keep every promise; and no node ever takes one."""
    intent = intent or wish()
    decision = decide(seen, intent, NOW)
    assert broken(seen, intent, decision) == ()
    course = step_rollout(seen, intent, NOW)
    assert all(isinstance(act, WriteRolloutRecord) or act in course.acts for act in decision.actions)
    return course


def codes(course: Course) -> list[HoldCode]:
    return [held.code for held in course.holds]


def only(course: Course) -> Hold:
    assert len(course.holds) == 1, course.holds
    return course.holds[0]


def begun(course: Course) -> CampaignRecord:
    assert course.acts == ()
    return course.record


# ── who is through ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("changes", "progress"),
    [
        ({}, Progress.AWAY),
        ({"components": (("firmware_cx7", OLD),)}, Progress.AWAY),
        ({"components": (("firmware_cx6", NEW),)}, Progress.AWAY),
        ({"components": (("firmware_cx7", NEW),)}, Progress.DONE),
        ({"components": (("firmware_cx7", NEW),), "is_ready": False}, Progress.MOVING),
        ({"is_skipped": True}, Progress.SKIPPED),
        ({"components": (("firmware_cx7", NEW),), "is_skipped": True}, Progress.DONE),
    ],
)
def test_a_node_is_through_when_the_version_was_observed_and_it_is_ready(
    changes: dict[str, Any], progress: Progress
) -> None:
    assert observed.progress_of(a_node(**changes).facts, FIRMWARE.component, NEW) is progress


@pytest.mark.parametrize(
    ("component", "one", "other", "is_same"),
    [
        (Component.GPU_OPERATOR, "v25.3.2", "25.3.2", True),
        (Component.KUBERNETES, "v1.29.5+29c95f3", "1.29.5", True),
        (Component.OPENSHIFT, "4.16.40", "4.16.4", False),
        (Component.FIRMWARE_CX7, "what the BMC says", "what the BMC says", True),
        (Component.FIRMWARE_CX7, "", "", False),
    ],
)
def test_versions_are_compared_by_what_they_mean(component: Component, one: str, other: str, is_same: bool) -> None:
    assert observed.is_same(component, one, other) is is_same


# ── forward ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_it_begins_without_anything_to_publish_and_remembers_what_most_nodes_had() -> None:
    seen = at(RolloutPhase.PROPOSED, node("n1", OLD), node("n2", OLD), node("n3", NEW), operator=OperatorFacts())
    record = begun(course_of(seen))
    assert (record.phase, record.mode, record.canaries) == (RolloutPhase.CANARY, Mode.BY_HAND, ("n1",))
    assert record.baseline == (("firmware_cx7", OLD),)


def test_where_nobody_observed_anything_the_plan_says_what_it_comes_from() -> None:
    asked = replace(FIRMWARE, before=OLD)
    assert begun(course_of(at(RolloutPhase.PROPOSED, node()), wish(asked))).baseline == (("firmware_cx7", OLD),)
    assert begun(course_of(at(RolloutPhase.PROPOSED, node()), wish())).baseline == ()


def test_beside_nvidias_own_controller_it_begins_all_the_same() -> None:
    seen = at(RolloutPhase.PROPOSED, node(), operator=an_operator(TARGET, is_auto_upgrading=True))
    assert begun(course_of(seen)).mode is Mode.BY_HAND


def test_the_canary_is_marked_before_anybody_is_asked_to_work_on_it() -> None:
    course = course_of(at(RolloutPhase.CANARY, node(), node("n2")))
    assert [type(act) for act in course.acts] == [MarkNode]
    assert codes(course) == [HoldCode.MARKS_PENDING]


def test_the_wait_names_the_canary_the_versions_the_instructions_and_how_to_say_so() -> None:
    held = only(course_of(at(RolloutPhase.CANARY, canary(), node("n2"))))
    assert held.code is HoldCode.BY_HAND_PENDING
    assert explain.why(held) == f"firmware_cx7 is upgraded manually, from {OLD} to {NEW}, and not there yet on n1"
    assert explain.next_step(held) == (
        "Flash it by the BMC, then reboot. Kubernetes does not show it: report it with "
        f"`seatrial rollout observed firmware_cx7 {NEW} n1` once it is installed."
    )


def test_what_the_kubelet_shows_nobody_has_to_say() -> None:
    before = (("kernel", "5.14.0-427.31.1.el9_4.x86_64"),)
    held = only(course_of(at(RolloutPhase.CANARY, canary(components=before)), wish(KERNEL)))
    assert "5.14.0-427.31.1.el9_4.x86_64 to 5.14.0-427.40.1.el9_4.x86_64" in explain.why(held)
    assert explain.next_step(held).endswith(
        "It is detected automatically, in the node's status.nodeInfo.kernelVersion."
    )


def test_a_canary_that_has_the_version_and_is_not_ready_is_waited_for() -> None:
    held = only(course_of(at(RolloutPhase.CANARY, canary(NEW, is_ready=False))))
    assert explain.why(held).endswith("not there yet on n1; n1 has it and is not Ready")


def test_the_version_on_the_canary_opens_the_gates() -> None:
    assert begun(course_of(at(RolloutPhase.CANARY, canary(NEW), node("n2")))).phase is RolloutPhase.GATING


def test_gates_and_bake_are_those_of_any_other_campaign() -> None:
    round_ = {"round": 1, "round_at": 900.0}
    gating = at(RolloutPhase.GATING, canary(NEW), node("n2"), record=round_, measurements=(a_measurement(),))
    assert begun(course_of(gating)).phase is RolloutPhase.BAKING
    failing = replace(gating, measurements=(a_measurement(GateVerdict.FAILED, detail="slow"),))
    assert begun(course_of(failing)).phase is RolloutPhase.REVERTING


def test_a_canary_that_loses_the_version_while_it_bakes_begins_again() -> None:
    course = course_of(at(RolloutPhase.BAKING, canary(OLD), node("n2"), record={"baked_until": 900.0}))
    assert course.record.phase is RolloutPhase.CANARY
    assert course.record.history[-1].why == f"canary n1 no longer shows firmware_cx7 {NEW}"


def test_the_fleet_follows_wave_by_wave_and_who_is_not_due_is_not_named() -> None:
    held = only(course_of(at(RolloutPhase.WAVING, canary(NEW), *(node(f"n{number}", OLD) for number in range(2, 6)))))
    assert dict(held.params)["nodes"] == "n2"
    second = at(RolloutPhase.WAVING, canary(NEW), node("n2", NEW), *(node(f"n{number}", OLD) for number in (3, 4)))
    assert course_of(second).record.wave == 1


def test_outside_of_the_windows_nobody_is_asked_to_work() -> None:
    closed = ((NOW + 3600, NOW + 7200),)
    assert codes(course_of(at(RolloutPhase.CANARY, canary()), wish(openings=closed))) == [HoldCode.OUTSIDE_WINDOW]


def test_the_last_step_promotes_the_entry_and_those_before_it_promote_nothing() -> None:
    passed = GateResult(gate="smoke", node="n1", round=1, verdict=GateVerdict.PASSED)
    proven = {"gates": (passed,), "baked_seconds": 48 * 3600.0, "date": "2026-06-01", "tag_base": "v2026-06-stable"}
    promoting = at(RolloutPhase.PROMOTING, canary(NEW), record=proven)
    assert [type(act) for act in course_of(promoting).acts] == [MarkNode]
    last = replace(promoting, source=a_source())
    assert [type(act) for act in course_of(last, wish(has_source=True)).acts] == [Promote]


def test_a_node_with_another_driver_pod_than_is_wanted_is_left_as_it_is() -> None:
    course_of(at(RolloutPhase.WAVING, canary(NEW), a_node("n2"), record={"wave": 0}))


def test_nodes_that_have_what_people_bring_are_counted_as_done() -> None:
    seen = at(RolloutPhase.WAVING, canary(NEW), node("n2", OLD), node("n3"))
    (written,) = [act for act in decide(seen, wish(), NOW).actions if isinstance(act, WriteRolloutRecord)]
    assert written.record.summary is not None
    assert dict(written.record.summary.counts) == {"upgrade-done": 1, "upgrade-required": 2}


# ── back ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_people_put_it_back_and_it_ends_when_nobody_has_it_any_more() -> None:
    held = only(course_of(at(RolloutPhase.REVERTING, canary(NEW), node("n2", OLD))))
    assert held.code is HoldCode.BY_HAND_BACK
    assert explain.why(held) == f"firmware_cx7 has to be put back manually, from {NEW} to {OLD}: n1"
    assert f"`seatrial rollout observed firmware_cx7 {OLD} n1`" in explain.next_step(held)
    back = at(RolloutPhase.REVERTING, node("n1", OLD), node("n2", OLD))
    assert begun(course_of(back)).phase is RolloutPhase.REVERTED


def test_an_approval_does_not_stand_for_what_can_be_put_back() -> None:
    course = course_of(at(RolloutPhase.REVERTING, canary(NEW)), wish(approved=(Point.ROLLBACK,)))
    assert codes(course) == [HoldCode.BY_HAND_BACK]


def test_without_a_way_back_it_ends_when_a_person_says_that_it_stays() -> None:
    seen = at(RolloutPhase.REVERTING, canary(NEW))
    held = only(course_of(seen, wish(ONE_WAY)))
    assert held.code is HoldCode.NO_WAY_BACK_BY_HAND
    assert "no way back from it is known" in explain.why(held)
    stays = course_of(seen, wish(ONE_WAY, approved=(Point.ROLLBACK,)))
    assert [type(act) for act in stays.acts] == [MarkNode]  # the canary's label goes
    ended = at(RolloutPhase.REVERTING, node("n1", NEW))
    assert begun(course_of(ended, wish(ONE_WAY, approved=(Point.ROLLBACK,)))).phase is RolloutPhase.REVERTED


# ── one after the other ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("phase", "code"),
    [
        (None, HoldCode.AFTER_UNDONE),
        (RolloutPhase.PROPOSED, HoldCode.AFTER_PENDING),
        (RolloutPhase.WAVING, HoldCode.AFTER_PENDING),
        (RolloutPhase.PAUSED, HoldCode.AFTER_PENDING),
        (RolloutPhase.REVERTING, HoldCode.AFTER_UNDONE),
        (RolloutPhase.REVERTED, HoldCode.AFTER_UNDONE),
    ],
)
def test_a_step_waits_until_the_one_before_it_is_done(phase: RolloutPhase | None, code: HoldCode) -> None:
    seen = replace(at(RolloutPhase.PROPOSED, node()), predecessor=phase)
    held = only(course_of(seen, wish(after="winter")))
    assert held.code is code
    assert "winter" in explain.why(held)


def test_once_the_step_before_it_is_done_it_begins() -> None:
    seen = replace(at(RolloutPhase.PROPOSED, node()), predecessor=RolloutPhase.DONE)
    assert begun(course_of(seen, wish(after="winter"))).phase is RolloutPhase.CANARY


def test_a_whole_step_from_the_proposal_to_the_end() -> None:
    """Two nodes, no gates, no bake: every phase in its order, and only when somebody has observed something."""
    intent = wish(gates=(), bake=Bake(seconds=0.0, every_seconds=1.0))
    nodes = {"n1": node("n1", OLD), "n2": node("n2", OLD)}
    record: CampaignRecord | None = a_campaign_record()
    phases: list[RolloutPhase] = []
    now = NOW
    for _ in range(40):
        seen = a_snapshot(*nodes.values(), campaign=record, operator=an_operator(TARGET))
        course = step_rollout(seen, intent, now)
        if not phases or course.record.phase is not phases[-1]:
            phases.append(course.record.phase)
        if HoldCode.BY_HAND_PENDING in codes(course):
            due = dict(next(held for held in course.holds if held.code is HoldCode.BY_HAND_PENDING).params)["nodes"]
            facts = replace(nodes[due].facts, components=(("firmware_cx7", NEW),))
            nodes[due] = replace(nodes[due], facts=facts)
        for act in course.acts:
            assert isinstance(act, MarkNode)
            facts = replace(nodes[act.node].facts, canary_of="spring" if act.canary else "")
            nodes[act.node] = replace(nodes[act.node], facts=facts)
        record, now = course.record, now + 1
    assert phases == [
        RolloutPhase.CANARY,
        RolloutPhase.GATING,
        RolloutPhase.BAKING,
        RolloutPhase.WAVING,
        RolloutPhase.PROMOTING,
        RolloutPhase.DONE,
    ]
