"""Evidence is evidence: a failed gate is not forgotten, a bake sees what befalls its canary, and waves open on what is
fresh and complete. Stories over several passes; the single steps are in test_rollout.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions import StartProbe, WriteRolloutRecord
from seatrial.core.baking import READINESS
from seatrial.core.campaign import CampaignRecord, Point, RolloutPhase
from seatrial.core.course import Course
from seatrial.core.decide import decide
from seatrial.core.explain import next_step
from seatrial.core.gates import GateResult, Measurement, Verdict
from seatrial.core.holds import HoldCode
from seatrial.core.intent import Intent
from seatrial.core.invariants import broken
from seatrial.core.rollout import step_rollout
from seatrial.core.snapshot import NodeSeen, Snapshot
from tests.builders import (
    NEW,
    NOW,
    a_campaign,
    a_campaign_record,
    a_decision,
    a_done_node,
    a_measurement,
    a_node,
    a_snapshot,
    an_intent,
    an_operator,
)

HOUR = 3600.0
FORWARD = an_operator(NEW.version)
WELL = GateResult(gate=READINESS, node="n1", round=1, verdict=Verdict.PASSED, at=900.0)
PASSED = GateResult(gate="smoke", node="n1", round=1, verdict=Verdict.PASSED, at=900.0)
BAKING: dict[str, Any] = {"round": 1, "round_at": 800.0, "baked_until": 900.0, "gates": (WELL, PASSED)}
BROKEN = a_measurement(Verdict.FAILED, detail="2 of 8 GPUs are gone")
WHY = "gate smoke failed on n1: 2 of 8 GPUs are gone"


def careful(**changes: Any) -> Intent:
    return an_intent(campaign=a_campaign(**changes))


ASKED_FIRST = careful(manual=(Point.ROLLBACK,))
UNDO = careful(manual=(Point.ROLLBACK,), approved=(Point.ROLLBACK,))


def canary(**changes: Any) -> NodeSeen:
    return a_done_node(**({"canary_of": "spring"} | changes))


def seen_at(record: CampaignRecord, *nodes: NodeSeen, **changes: Any) -> Snapshot:
    nodes = nodes or (canary(), a_node("n2"))
    return a_snapshot(*nodes, campaign=record, operator=FORWARD, **changes)


def course_of(seen: Snapshot, intent: Intent, now: float = NOW) -> Course:
    """The next step, which must keep every promise."""
    assert broken(seen, intent, decide(seen, intent, now)) == ()
    return step_rollout(seen, intent, now)


def codes(course: Course) -> list[HoldCode]:
    return [held.code for held in course.holds]


# ── a failed gate ────────────────────────────────────────────────────────────────────────────────────────────────────


def failed_in(phase: RolloutPhase) -> CampaignRecord:
    """A campaign whose gate has failed, and which waits for a person."""
    round_ = {"round": 2, "round_at": 950.0, "gates": ()} if phase is RolloutPhase.BAKING else {"round": 2}
    record = a_campaign_record(phase, **(BAKING | round_))
    seen = seen_at(record, measurements=(replace(BROKEN, round=2),))
    course = course_of(seen, ASKED_FIRST)
    assert codes(course) == [HoldCode.ROLLBACK_PENDING]
    assert course.record.phase is phase
    return course.record


JUDGED = [RolloutPhase.GATING, RolloutPhase.BAKING]


@pytest.mark.parametrize("phase", JUDGED)
@pytest.mark.parametrize("now", [NOW, NOW + 30 * HOUR])
def test_a_failed_gate_stays_failed_when_its_job_is_gone_and_nothing_else_is_waited_for(
    phase: RolloutPhase, now: float
) -> None:
    record = failed_in(phase)
    course = course_of(seen_at(record), ASKED_FIRST, now)
    assert (course.record, course.acts, course.open) == (record, (), frozenset())
    assert codes(course) == [HoldCode.ROLLBACK_PENDING]
    assert dict(course.holds[0].params)["why"] == WHY
    assert course.wake_at is None


@pytest.mark.parametrize("phase", JUDGED)
def test_a_failed_gate_is_not_washed_off_by_a_later_pass_of_the_same_round(phase: RolloutPhase) -> None:
    again = (replace(BROKEN, round=2), a_measurement(round=2, attempt=2))
    course = course_of(seen_at(failed_in(phase), measurements=again), ASKED_FIRST)
    assert codes(course) == [HoldCode.ROLLBACK_PENDING]


@pytest.mark.parametrize("phase", JUDGED)
def test_a_pause_does_not_wash_a_failed_gate_off(phase: RolloutPhase) -> None:
    record = failed_in(phase)
    paused = course_of(seen_at(record), replace(ASKED_FIRST, is_paused=True)).record
    assert paused.phase is RolloutPhase.PAUSED
    resumed = course_of(seen_at(paused), ASKED_FIRST, NOW + HOUR).record
    assert (resumed.phase, resumed.gates, resumed.round) == (phase, record.gates, record.round)
    assert codes(course_of(seen_at(resumed), ASKED_FIRST, NOW + HOUR)) == [HoldCode.ROLLBACK_PENDING]


@pytest.mark.parametrize("phase", JUDGED)
def test_a_lost_canary_does_not_wash_a_failed_gate_off(phase: RolloutPhase) -> None:
    course = course_of(seen_at(failed_in(phase), a_node("n2")), ASKED_FIRST)
    assert (course.record.phase, codes(course)) == (phase, [HoldCode.ROLLBACK_PENDING])


@pytest.mark.parametrize("phase", JUDGED)
def test_taking_a_failed_gate_out_of_the_rollout_does_not_wash_it_off(phase: RolloutPhase) -> None:
    without = careful(manual=(Point.ROLLBACK,), gates=())
    assert codes(course_of(seen_at(failed_in(phase)), without)) == [HoldCode.ROLLBACK_PENDING]


@pytest.mark.parametrize("phase", JUDGED)
@pytest.mark.parametrize("intent", [UNDO, careful()], ids=["a person says yes", "nobody has to any more"])
def test_a_failed_gate_is_undone_with_the_evidence_that_was_written_down(phase: RolloutPhase, intent: Intent) -> None:
    record = course_of(seen_at(failed_in(phase)), intent).record
    assert (record.phase, record.why, record.history[-1].why) == (RolloutPhase.REVERTING, WHY, WHY)
    assert any(each.verdict is Verdict.FAILED for each in record.gates)


@pytest.mark.parametrize("phase", JUDGED)
def test_a_campaign_with_a_failed_gate_can_be_aborted(phase: RolloutPhase) -> None:
    record = course_of(seen_at(failed_in(phase)), careful(manual=(Point.ROLLBACK,), abort="enough")).record
    assert (record.phase, record.why) == (RolloutPhase.REVERTING, "enough")


def test_who_waits_for_a_person_after_a_failed_gate_says_that_there_is_no_way_forward() -> None:
    course = course_of(seen_at(failed_in(RolloutPhase.BAKING)), ASKED_FIRST)
    assert next_step(course.holds[0]) == (
        "Undo it with `seatrial rollout approve spring rollback`. A failed gate is not asked again and cannot be "
        "overruled: to try once more, let it be undone and start another rollout."
    )


def test_a_record_that_forgets_a_failed_gate_breaks_a_promise() -> None:
    seen = seen_at(failed_in(RolloutPhase.BAKING))
    record = seen.rollout.campaign
    assert record is not None
    forgetful = replace(record, round=3, gates=())
    made_up = a_decision(WriteRolloutRecord(record=replace(seen.rollout, campaign=forgetful)))
    assert [breach.detail for breach in broken(seen, ASKED_FIRST, made_up) if breach.promise == "turn"] == [
        "gate smoke failed on n1, and is forgotten"
    ]


def test_no_gate_is_asked_after_one_has_failed() -> None:
    gates = (*a_campaign().gates, replace(a_campaign().gates[0], name="train"))
    record = a_campaign_record(RolloutPhase.GATING, **(BAKING | {"gates": ()}))
    first = course_of(seen_at(record, measurements=(BROKEN,)), careful(manual=(Point.ROLLBACK,), gates=gates))
    then = course_of(seen_at(first.record), careful(manual=(Point.ROLLBACK,), gates=gates))
    assert not [act for act in then.acts if isinstance(act, StartProbe)]


def test_a_verdict_that_was_written_down_outlives_its_job() -> None:
    """A long gate may end after the Job of a short one was cleared away."""
    gates = (*a_campaign().gates, replace(a_campaign().gates[0], name="train"))
    record = a_campaign_record(RolloutPhase.GATING, **(BAKING | {"gates": ()}))
    pending = Measurement(gate="train", node="n1", round=1, attempt=1, verdict=Verdict.PENDING)
    first = course_of(seen_at(record, measurements=(a_measurement(), pending)), careful(gates=gates)).record
    done = replace(pending, verdict=Verdict.PASSED)
    assert course_of(seen_at(first, measurements=(done,)), careful(gates=gates)).record.phase is RolloutPhase.BAKING
