"""Evidence is evidence: a failed gate is not forgotten, a bake sees what befalls its canary, and waves open on what is
fresh and complete. Stories over several passes; the single steps are in test_rollout.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.campaign.course import Course
from seatrial.core.campaign.step import step_rollout
from seatrial.core.decision.decide import decide
from seatrial.core.holds import HoldCode
from seatrial.core.judging.tries import TRIES_MAX
from seatrial.core.model.campaign import Bake, CampaignRecord, Mode, Point, RolloutPhase, Watched
from seatrial.core.model.gates.gate import READINESS, Gate, GateResult, GateVerdict, Measurement
from seatrial.core.model.intent import Intent
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.pods import DriverPod
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.promises.invariants import broken
from seatrial.core.words.explain import next_step
from seatrial.core.words.explain import why as why_of
from tests.builders import (
    NEW,
    NOW,
    OLD,
    SMOKE,
    a_campaign,
    a_campaign_record,
    a_decision,
    a_done_node,
    a_ledger,
    a_measurement,
    a_new_driver,
    a_node,
    a_snapshot,
    a_source,
    an_intent,
    an_old_node,
    an_operator,
)

HOUR = 3600.0
FORWARD = an_operator(NEW.version)
WELL = GateResult(gate=READINESS, node="n1", round=1, verdict=GateVerdict.PASSED, at=900.0)
PASSED = GateResult(gate="smoke", node="n1", round=1, verdict=GateVerdict.PASSED, at=900.0, asked=SMOKE.mark)
BAKING: dict[str, Any] = {"round": 1, "round_at": 800.0, "baked_until": 900.0, "gates": (WELL, PASSED)}
BROKEN = a_measurement(GateVerdict.FAILED, detail="2 of 8 GPUs are gone")
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
    assert any(each.verdict is GateVerdict.FAILED for each in record.gates)


@pytest.mark.parametrize("phase", JUDGED)
def test_a_campaign_with_a_failed_gate_can_be_aborted(phase: RolloutPhase) -> None:
    record = course_of(seen_at(failed_in(phase)), careful(manual=(Point.ROLLBACK,), abort="enough")).record
    assert (record.phase, record.why) == (RolloutPhase.REVERTING, "enough")


def test_who_waits_for_a_person_after_a_failed_gate_says_that_there_is_no_way_forward() -> None:
    course = course_of(seen_at(failed_in(RolloutPhase.BAKING)), ASKED_FIRST)
    assert next_step(course.holds[0]) == (
        "Undo it with `seatrial rollout approve spring rollback`. A failed gate is not asked again and cannot be "
        "overruled: to try again, undo this rollout and start another."
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
    pending = Measurement(gate="train", node="n1", round=1, attempt=1, verdict=GateVerdict.PENDING)
    first = course_of(seen_at(record, measurements=(a_measurement(), pending)), careful(gates=gates)).record
    done = replace(pending, verdict=GateVerdict.PASSED)
    assert course_of(seen_at(first, measurements=(done,)), careful(gates=gates)).record.phase is RolloutPhase.BAKING


# ── what befalls a canary ────────────────────────────────────────────────────────────────────────────────────────────

EIGHT = GpuOffer(resources=(("nvidia.com/gpu", 8),))
SEVEN = GpuOffer(resources=(("nvidia.com/gpu", 7),))
SIGNS: dict[str, Any] = {"boot_id": "b0", "ready_at": 50.0}


def a_driver_of(started_at: float = 150.0, **changes: Any) -> DriverPod:
    return a_new_driver(**({"started_at": started_at} | changes))


def watched_canary(**changes: Any) -> NodeSeen:
    """The canary as the bake knows it: eight GPUs before and after, one boot, one start of its driver."""
    facts: dict[str, Any] = {"offer": EIGHT, "driver": a_driver_of(), "record": {"before": EIGHT}} | SIGNS
    return canary(**(facts | changes))


NOTED = Watched(
    node="n1", before=EIGHT, boot_id="b0", ready_at=50.0, driver="driver-n1-1", started_at=150.0, loaded_at=200.0
)
BAKES = a_campaign_record(
    RolloutPhase.BAKING, **(BAKING | {"watched": (NOTED,), "baked_seconds": 10 * HOUR, "well_since": 900.0})
)


def delegated(record: CampaignRecord) -> CampaignRecord:
    return replace(record, mode=Mode.DELEGATED)


def test_a_canary_that_is_as_it_was_is_not_written_down_again() -> None:
    assert course_of(seen_at(BAKES, watched_canary()), careful()).record == BAKES


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"boot_id": "b1"}, "canary n1 rebooted"),
        ({"driver": a_driver_of(started_at=190.0)}, "the driver of canary n1 restarted"),
        ({"driver": a_driver_of(uid="driver-n1-2")}, "the driver of canary n1 restarted"),
    ],
    ids=["reboot", "restart in place", "another pod"],
)
def test_a_canary_that_was_gone_between_two_looks_begins_its_evidence_anew(changes: dict[str, Any], why: str) -> None:
    course = course_of(seen_at(BAKES, watched_canary(**changes)), careful())
    record = course.record
    assert (record.baked_seconds, record.well_since, record.setback) == (0.0, NOW, why)
    told = course_of(seen_at(record, watched_canary(**changes)), careful())
    assert codes(told) == [HoldCode.BAKING]
    assert why_of(told.holds[0]).endswith(f"to go; evidence restarted when {why}")


@pytest.mark.parametrize(
    "changes",
    [{"ready_at": 70.0}, {"driver": a_driver_of(ready_since=250.0)}],
    ids=["the node was NotReady", "the driver was not Ready"],
)
def test_a_canary_that_was_not_ready_between_two_looks_has_proven_nothing_since_the_last_round(
    changes: dict[str, Any],
) -> None:
    record = course_of(seen_at(BAKES, watched_canary(**changes)), careful()).record
    assert (record.baked_seconds, record.well_since) == (10 * HOUR, NOW)
    asked = replace(record, round=2, round_at=4500.0, gates=())
    passed = (a_measurement(round=2),)
    counted = course_of(seen_at(asked, watched_canary(**changes), measurements=passed), careful(), 4600.0).record
    assert counted.baked_seconds == 10 * HOUR + (4600.0 - NOW)


UNWELL: list[tuple[dict[str, Any], str]] = [
    ({"is_ready": False}, "the node is NotReady, and an upgrade could not finish on it"),
    ({"offer": SEVEN}, "the node offers less than before the upgrade: nvidia.com/gpu 7 of 8"),
    ({"validator": None}, "the node has no running validator pod, so nothing proves the new driver"),
    ({"driver": a_driver_of(is_ready=False, ready_since=None)}, "driver pod driver-n1 is not ready"),
]


@pytest.mark.parametrize("mode", [Mode.DIRECT, Mode.DELEGATED])
@pytest.mark.parametrize(("changes", "why"), UNWELL, ids=["NotReady", "short of a GPU", "unproven", "driver down"])
def test_a_canary_that_is_not_well_between_two_rounds_is_told_and_fails_when_it_stays_so(
    changes: dict[str, Any], why: str, mode: Mode
) -> None:
    state = {"record": None, "nvidia_state": "upgrade-done"} if mode is Mode.DELEGATED else {}
    node = watched_canary(**(changes | state))
    operator = FORWARD if mode is Mode.DIRECT else replace(FORWARD, is_auto_upgrading=True)
    first = replace(seen_at(replace(BAKES, mode=mode), node), operator=operator)
    record = course_of(first, careful()).record
    assert (record.unwell_since, record.baked_seconds) == (NOW, 10 * HOUR)
    seen = replace(seen_at(record, node), operator=operator)
    course = course_of(seen, careful(), NOW + 60)
    # NVIDIA's controller moves no other node either while one is NotReady.
    beside = [HoldCode.NVIDIA_STALLED] if mode is Mode.DELEGATED and not node.facts.is_ready else []
    assert (course.record, codes(course)) == (record, [HoldCode.CANARY_UNWELL, *beside])
    assert dict(course.holds[0].params)["why"] == why
    assert course.wake_at == NOW + 1800 + 600
    undone = course_of(seen, careful(), NOW + 1800 + 600).record
    assert (undone.phase, undone.why) == (RolloutPhase.REVERTING, f"gate readiness failed on n1: {why}")
    asked = course_of(seen, ASKED_FIRST, NOW + 1800 + 600)
    assert codes(asked) == [HoldCode.ROLLBACK_PENDING, *beside]


def test_a_canary_that_is_well_again_in_time_goes_on_and_the_time_between_is_no_evidence() -> None:
    record = course_of(seen_at(BAKES, watched_canary(offer=SEVEN)), careful()).record
    back = course_of(seen_at(record, watched_canary()), careful(), NOW + 900).record
    assert (back.unwell_since, back.well_since, back.baked_seconds) == (0.0, NOW + 900, 10 * HOUR)
    assert codes(course_of(seen_at(back, watched_canary()), careful(), NOW + 901)) == [HoldCode.BAKING]


def test_a_round_is_not_begun_while_a_canary_is_not_well() -> None:
    record = course_of(seen_at(BAKES, watched_canary(is_ready=False)), careful(), 4400.0).record
    course = course_of(seen_at(record, watched_canary(is_ready=False)), careful(), 4600.0)
    assert (course.record.round, codes(course)) == (1, [HoldCode.CANARY_UNWELL])


def test_an_outage_of_ours_fails_no_canary_that_bakes() -> None:
    record = replace(BAKES, watched=(replace(NOTED, lack=HoldCode.NODE_NOT_READY),), unwell_since=NOW)
    seen = seen_at(record, watched_canary(is_ready=False), attentive_since=90_000.0)
    assert codes(course_of(seen, careful(), 90_001.0)) == [HoldCode.CANARY_UNWELL]


def test_a_loss_that_somebody_accepts_is_none() -> None:
    seen = seen_at(BAKES, watched_canary(offer=SEVEN, is_loss_accepted=True))
    assert course_of(seen, careful()).record == BAKES


def test_what_the_canaries_offer_is_written_down_before_they_are_touched() -> None:
    nodes = (an_old_node(offer=EIGHT), an_old_node("n2", offer=EIGHT))
    seen = a_snapshot(*nodes, campaign=a_campaign_record(), operator=an_operator(OLD.version))
    record = course_of(seen, careful()).record
    assert (record.phase, record.watched) == (RolloutPhase.CANARY, (Watched(node="n1", before=EIGHT),))


def test_a_record_of_a_release_that_did_not_watch_begins_to_count_now() -> None:
    record = course_of(seen_at(replace(BAKES, watched=(), well_since=0.0), watched_canary()), careful()).record
    assert (record.baked_seconds, record.well_since, record.setback) == (10 * HOUR, NOW, "")


def test_a_canary_that_is_not_well_in_a_round_is_told_as_well() -> None:
    asked = replace(BAKES, round=2, round_at=950.0, gates=())
    course = course_of(seen_at(asked, watched_canary(offer=SEVEN)), careful())
    assert codes(course) == [HoldCode.CANARY_UNWELL, HoldCode.GATES_RUNNING]


# ── fresh and complete ───────────────────────────────────────────────────────────────────────────────────────────────

BAKED = replace(BAKES, baked_seconds=48 * HOUR)


def test_waves_open_on_evidence_that_is_fresh_and_complete() -> None:
    record = course_of(seen_at(BAKED, watched_canary()), careful()).record
    assert (record.phase, record.bake_asked_seconds) == (RolloutPhase.WAVING, 48 * HOUR)


def test_after_a_long_wait_for_a_person_the_gates_are_asked_once_more_before_the_waves_open() -> None:
    approved = careful(manual=(Point.WAVES,), approved=(Point.WAVES,), bake=Bake(every_seconds=86_400.0))
    late = 900.0 + 20 * HOUR
    record = course_of(seen_at(BAKED, watched_canary()), approved, late).record
    assert (record.phase, record.round, record.round_at, record.gates) == (RolloutPhase.BAKING, 2, late, ())
    passed = (a_measurement(round=2),)
    counted = course_of(seen_at(record, watched_canary(), measurements=passed), approved, late + 60).record
    opened = course_of(seen_at(counted, watched_canary(), measurements=passed), approved, late + 61).record
    assert opened.phase is RolloutPhase.WAVING


def test_after_an_outage_of_ours_the_gates_are_asked_once_more_before_the_waves_open() -> None:
    seen = seen_at(BAKED, watched_canary(), attentive_since=950.0)
    record = course_of(seen, careful()).record
    assert (record.phase, record.round, record.round_at) == (RolloutPhase.BAKING, 2, NOW)


@pytest.mark.parametrize("phase", [RolloutPhase.GATING, RolloutPhase.BAKING, RolloutPhase.WAVING])
def test_after_a_pause_a_new_round_is_asked(phase: RolloutPhase) -> None:
    paused = replace(BAKED, phase=RolloutPhase.PAUSED, paused_in=phase)
    record = course_of(seen_at(paused, watched_canary()), careful(), 90_000.0).record
    assert (record.phase, record.round, record.round_at, record.gates) == (phase, 2, 90_000.0, ())
    assert record.baked_seconds == 48 * HOUR
    then = course_of(seen_at(record, watched_canary()), careful(), 90_001.0)
    assert (codes(then)[0], then.open) == (HoldCode.GATES_RUNNING, frozenset())


def test_the_time_of_a_pause_is_no_evidence_however_the_next_round_ends() -> None:
    paused = replace(BAKES, phase=RolloutPhase.PAUSED, paused_in=RolloutPhase.BAKING)
    record = course_of(seen_at(paused, watched_canary()), careful(), 90_000.0).record
    passed = (a_measurement(round=2),)
    counted = course_of(seen_at(record, watched_canary(), measurements=passed), careful(), 90_060.0).record
    assert counted.baked_seconds == 10 * HOUR + 60.0


def waves_after_a_pause(**changes: Any) -> CampaignRecord:
    """A campaign in its first wave that was paused and goes on: its second round is asked."""
    first = replace(BAKED, phase=RolloutPhase.WAVING, round=2, round_at=950.0, gates=(), bake_asked_seconds=48 * HOUR)
    return replace(first, **changes)


def test_a_wave_goes_on_after_a_pause_once_its_round_has_passed() -> None:
    passed = (a_measurement(round=2),)
    record = course_of(seen_at(waves_after_a_pause(), watched_canary(), measurements=passed), careful()).record
    assert (record.baked_until, record.baked_seconds) == (NOW, 48 * HOUR)
    nodes = (watched_canary(), a_node("n2"))
    assert course_of(seen_at(record, *nodes, measurements=passed), careful()).open == frozenset({"n1", "n2"})


def test_a_wave_whose_round_after_a_pause_fails_is_undone() -> None:
    failed = (replace(BROKEN, round=2),)
    record = course_of(seen_at(waves_after_a_pause(), watched_canary(), measurements=failed), careful()).record
    assert (record.phase, record.why) == (RolloutPhase.REVERTING, WHY)


def test_a_wave_whose_round_after_a_pause_cannot_be_measured_waits() -> None:
    tries = tuple(a_measurement(GateVerdict.UNKNOWN, round=2, attempt=number + 1) for number in range(TRIES_MAX))
    record = waves_after_a_pause(gates=(replace(WELL, round=2), replace(PASSED, round=2, verdict=GateVerdict.UNKNOWN)))
    seen = seen_at(record, watched_canary(), a_node("n2"), measurements=tries)
    course = course_of(seen, careful())
    assert (codes(course), course.open) == ([HoldCode.GATE_UNKNOWN], frozenset())
    assert course_of(seen, careful(), 950.0 + HOUR).record.round == 3


def test_who_is_under_way_goes_on_while_a_round_is_asked_after_a_pause() -> None:
    at_work = a_node("n2", NodePhase.VALIDATION_REQUIRED, is_cordon_ours=True)
    decision = decide(
        seen_at(waves_after_a_pause(), watched_canary(), at_work, admitted=a_ledger("n2")), careful(), NOW
    )
    assert {held.subject for held in decision.holds if held.code is HoldCode.NOT_ITS_TURN} == set()


def test_of_two_canaries_the_one_that_is_left_answers_for_a_wave_after_a_pause() -> None:
    passed = (a_measurement(round=2),)
    record = waves_after_a_pause(canaries=("gone", "n1"))
    course = course_of(seen_at(record, watched_canary(), measurements=passed), careful())
    assert (codes(course), course.record.baked_until) == ([], NOW)


def test_where_the_canary_has_left_the_cluster_a_node_that_is_done_is_asked_after_a_pause() -> None:
    seen = seen_at(waves_after_a_pause(), a_done_node("n2"), a_node("n3"))
    record = course_of(seen, careful()).record
    assert (record.canaries, record.history[-1].why) == (("n2",), "no canary is left; n2 takes its place")
    nobody = seen_at(waves_after_a_pause(), a_node("n3"))
    assert codes(course_of(nobody, careful())) == [HoldCode.NO_CANARY]


TRAIN = replace(SMOKE, name="train")


@pytest.mark.parametrize(
    "gates",
    [(SMOKE, TRAIN), (replace(SMOKE, image="example.com/smoke:2"),), (replace(SMOKE, command=("true",)),)],
    ids=["added", "another image", "another command"],
)
def test_a_gate_that_is_new_since_the_bake_has_to_pass_before_the_waves_open(gates: tuple[Gate, ...]) -> None:
    record = course_of(seen_at(BAKED, watched_canary()), careful(gates=gates)).record
    assert (record.phase, record.round, record.gates) == (RolloutPhase.BAKING, 2, ())


def test_a_gate_that_only_may_take_longer_is_the_same_gate() -> None:
    patient = careful(gates=(replace(SMOKE, timeout_seconds=1200.0),))
    assert course_of(seen_at(BAKED, watched_canary()), patient).record.phase is RolloutPhase.WAVING


@pytest.mark.parametrize("phase", JUDGED)
def test_a_gate_that_is_changed_in_its_round_is_asked_in_another_one(phase: RolloutPhase) -> None:
    record = replace(BAKES, phase=phase, round=2, round_at=950.0, gates=(replace(PASSED, round=2),))
    changed = careful(gates=(replace(SMOKE, image="example.com/smoke:2"),))
    after = course_of(seen_at(record, watched_canary(), measurements=(a_measurement(round=2),)), changed).record
    assert (after.round, after.gates) == (3, ())


def test_raising_the_bake_while_the_fleet_follows_changes_nothing() -> None:
    waving = course_of(seen_at(BAKED, watched_canary()), careful()).record
    longer = careful(bake=Bake(seconds=96 * HOUR))
    nodes = (watched_canary(), an_old_node("n2", owner=""))
    operator = an_operator(NEW.version)
    assert course_of(replace(seen_at(waving, *nodes), operator=operator), longer).record.phase is RolloutPhase.WAVING
    done = replace(waving, phase=RolloutPhase.PROMOTING, date="2026-11-15", tag_base="v2026-11-stable")
    promoted = seen_at(done, watched_canary(), a_done_node("n2"), source=a_source())
    assert course_of(promoted, replace(longer, campaign=replace(longer.campaign, has_source=True))).acts  # type: ignore[type-var]


def test_waves_that_open_on_less_than_was_asked_break_a_promise() -> None:
    seen = seen_at(BAKED, watched_canary())
    opened = course_of(seen, careful()).record
    longer = careful(bake=Bake(seconds=96 * HOUR))
    made_up = a_decision(WriteRolloutRecord(record=replace(seen.rollout, campaign=opened)))
    assert [breach.promise for breach in broken(seen, longer, made_up)] == ["bake"]
    more = careful(gates=(SMOKE, TRAIN))
    assert [str(breach.detail) for breach in broken(seen, more, made_up)] == ["gate train has not passed on n1"]
