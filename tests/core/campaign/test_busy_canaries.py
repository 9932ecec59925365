"""Nobody is evicted for a gate: where others are at work on the GPUs it wants, telemetry alone speaks for a canary."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.campaign import baking
from seatrial.core.campaign.course import Course
from seatrial.core.campaign.step import step_rollout
from seatrial.core.decision.decide import decide
from seatrial.core.judging.evidence import exposed_of
from seatrial.core.model.campaign import CampaignRecord, RolloutPhase, Watched
from seatrial.core.model.gates.exposed import TelemetryFacts
from seatrial.core.model.gates.gate import READINESS, GateResult, GateVerdict
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.seen.pods import Pod, PodOwner
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.promises.invariants import broken
from tests.builders import (
    NEW,
    NOW,
    SEEN_DONE,
    a_campaign,
    a_campaign_record,
    a_done_node,
    a_gpu_pod,
    a_node,
    a_snapshot,
    an_intent,
    an_operator,
)

CAREFUL = an_intent(campaign=a_campaign())
TWO = GpuOffer(resources=(("nvidia.com/gpu", 2),))
WELL = GateResult(gate=READINESS, node="n1", round=2, verdict=GateVerdict.PASSED, at=NOW)
WHY = "its GPUs are in use by jobs/train-0; only telemetry covers it"


def in_round(*pods: Pod, phase: RolloutPhase = RolloutPhase.BAKING, **changes: Any) -> Snapshot:
    """The second round has just begun; the canary is watched, has two GPUs, and these pods are on it."""
    fields: dict[str, Any] = {"round": 2, "round_at": NOW, "baked_until": 900.0}
    fields["exposed"] = replace(exposed_of(["n1"], (), at=NOW), waiting_seconds=100.0)
    fields["watched"] = (Watched(node="n1", before=TWO, **SEEN_DONE),)
    record = a_campaign_record(phase, **(fields | changes))
    canary = a_done_node(canary_of="spring", offer=TWO, pods=pods)
    seen = a_snapshot(canary, a_node("n2"), campaign=record, operator=an_operator(NEW.version))
    return replace(seen, telemetry=TelemetryFacts())


def course_of(seen: Snapshot) -> Course:
    assert broken(seen, CAREFUL, decide(seen, CAREFUL, NOW)) == ()
    return step_rollout(seen, CAREFUL, NOW)


def after(seen: Snapshot) -> CampaignRecord:
    return course_of(seen).record


def test_a_gate_is_not_asked_while_others_hold_the_gpus_it_wants() -> None:
    asked = after(in_round(a_gpu_pod(gpu_count=2))).gates
    assert [each.said for each in asked] == ["passed", "left out"]
    assert asked[1].detail == WHY


def test_a_gate_is_asked_on_the_gpus_that_are_left() -> None:
    seen = in_round(a_gpu_pod(gpu_count=1))
    record = after(seen)
    assert [each.verdict for each in record.gates] == [GateVerdict.PASSED, GateVerdict.PENDING]
    known = replace(seen, rollout=replace(seen.rollout, campaign=record))
    assert any(isinstance(act, StartProbe) for act in course_of(known).acts)


def test_who_holds_gpus_without_a_number_may_hold_all_of_them() -> None:
    assert after(in_round(a_gpu_pod())).gates[1].is_left_out


def test_without_telemetry_the_gate_is_asked_and_waits_for_the_gpus() -> None:
    seen = replace(in_round(a_gpu_pod(gpu_count=2)), telemetry=None)
    assert [each.verdict for each in after(seen).gates] == [GateVerdict.PASSED, GateVerdict.PENDING]


def test_with_telemetry_the_work_that_was_watched_is_evidence() -> None:
    record = after(in_round(a_gpu_pod(gpu_count=2)))
    assert record.baked_seconds == 100.0
    assert baking.why_incomplete(record, a_campaign()) == ""


def test_what_was_left_out_stays_so_in_its_round() -> None:
    record = after(in_round(a_gpu_pod(gpu_count=2)))
    gone = in_round(gates=record.gates)
    assert after(gone).gates == record.gates


def test_the_first_round_waits_for_the_gpus_instead() -> None:
    record = after(in_round(a_gpu_pod(gpu_count=2), phase=RolloutPhase.GATING))
    assert [each.verdict for each in record.gates] == [GateVerdict.PASSED, GateVerdict.PENDING]


def test_probes_of_ours_keep_nobody_from_being_asked() -> None:
    probe = a_gpu_pod(gpu_count=2, labels=(("seatrial.dev/gate", "burn"),))
    assert after(in_round(probe)).gates[1].verdict is GateVerdict.PENDING


def test_operands_that_watch_the_gpus_are_nobody_at_work() -> None:
    exporter = a_gpu_pod(keeper=PodOwner.DAEMON_SET, deploy_label="nvidia.com/gpu.deploy.dcgm-exporter")
    assert after(in_round(exporter)).gates[1].verdict is GateVerdict.PENDING
