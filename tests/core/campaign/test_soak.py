"""A soak makes an idle canary work: asked last, left to whoever wants the GPUs, and missed by nobody."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.campaign import baking
from seatrial.core.campaign.course import Course
from seatrial.core.campaign.step import step_rollout
from seatrial.core.judging.evidence import exposed_of, watched
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.gates.closed import kept_closed
from seatrial.core.model.gates.exposed import Stretch, Watch
from seatrial.core.model.gates.gate import Gate, GateVerdict
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.words import proofs
from tests.builders import NOW, SMOKE, a_campaign, a_campaign_record, a_gpu_pod, a_measurement, an_intent
from tests.core.campaign.test_busy_canaries import in_round

SOAK = Gate(name="soak", image="example.com/probes:1", probe="soak", gpus=2)
CAMPAIGN = a_campaign(gates=(SOAK, SMOKE))
CAREFUL = an_intent(campaign=CAMPAIGN)
PASSED = a_measurement(round=2)


def course_of(seen: Snapshot, *measured: Any) -> Course:
    return step_rollout(replace(seen, measurements=measured), CAREFUL, NOW)


def rows(course: Course) -> dict[str, str]:
    return {each.gate: each.said for each in course.record.gates if each.gate != "readiness"}


def asked(seen: Snapshot, *measured: Any) -> list[str]:
    """The gates that are asked once the record has the round's rows."""
    record = course_of(seen, *measured).record
    known = replace(seen, rollout=replace(seen.rollout, campaign=record))
    return [act.gate.name for act in course_of(known, *measured).acts if isinstance(act, StartProbe)]


def test_it_is_asked_when_all_others_have_answered() -> None:
    assert asked(in_round()) == ["smoke"]
    assert asked(in_round(), PASSED) == ["soak"]


def test_where_somebody_works_it_is_left_out_and_the_round_goes_on() -> None:
    seen = in_round(a_gpu_pod(gpu_count=1))
    found = course_of(seen, PASSED)
    assert rows(found) == {"smoke": "passed", "soak": "left out"}


def test_before_the_bake_it_is_not_asked_and_keeps_no_canary_closed() -> None:
    seen = in_round(phase=RolloutPhase.GATING)
    assert rows(course_of(seen))["soak"] == "left out"
    record = a_campaign_record(RolloutPhase.CANARY)
    assert kept_closed(record, a_campaign(gates=(SOAK,))) == frozenset()
    assert kept_closed(record, CAMPAIGN) == frozenset(record.canaries)


def test_where_nobody_watches_it_is_left_out_since_its_work_would_not_count() -> None:
    seen = replace(in_round(exposed=None), telemetry=None)
    (row,) = (each for each in course_of(seen).record.gates if each.gate == "soak")
    assert row.detail == "nothing watches, so its work would not count"


def test_one_that_gave_way_is_left_out_and_not_asked_again() -> None:
    gone = a_measurement(GateVerdict.UNKNOWN, gate="soak", round=2, detail="its pod was moved away before it ended")
    found = course_of(in_round(), PASSED, gone)
    assert rows(found) == {"smoke": "passed", "soak": "left out"}
    assert asked(in_round(), PASSED, gone) == []
    assert baking.why_incomplete(found.record, CAMPAIGN) == ""


def test_a_wrong_answer_ends_the_campaign() -> None:
    wrong = a_measurement(GateVerdict.FAILED, gate="soak", round=2, detail="3 answers differed from the first one")
    assert "3 answers differed" in course_of(in_round(), PASSED, wrong).record.why


@pytest.mark.parametrize(("ours", "soaked"), [(["n1"], 2.0), ([], 0.0)])
def test_its_hours_are_load_and_told_apart(ours: list[str], soaked: float) -> None:
    seen = Stretch(
        since=0.0, until=3600.0, nodes=(Watch(node="n1", seconds=3600.0, gpu_hours=2.0, busy_gpu_hours=2.0),)
    )
    exposed = watched(exposed_of(["n1"], (), at=0.0), seen, with_pods=["n1"], with_ours=ours)
    assert (exposed.loaded_gpu_hours, exposed.soaked_gpu_hours, exposed.load) == (2.0, soaked, 1.0)
    record = a_campaign_record(RolloutPhase.BAKING, exposed=exposed)
    told = " ".join(proofs.sentences(proofs.proven(record, CAMPAIGN, 3600.0)))
    assert ("2.0 of them for gates only" in told) is bool(soaked)
