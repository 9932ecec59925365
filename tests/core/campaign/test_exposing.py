"""What telemetry adds to a bake, pass by pass; whole bakes are in tests/sim/test_monitoring.py."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.campaign.proving.exposing import ADD_SECONDS, SILENT_SECONDS
from seatrial.core.holds import HoldCode
from seatrial.core.judging.evidence import exposed_of
from seatrial.core.model.campaign import Bake, CampaignRecord, Point, RolloutPhase
from seatrial.core.model.gates.exposed import Exposed, Exposure, Rises, Stretch, TelemetryFacts, Watch
from seatrial.core.model.gates.gate import GateVerdict
from seatrial.core.words.explain import next_step
from seatrial.core.words.explain import why as why_of
from tests.builders import a_campaign_record, a_done_node, a_measurement
from tests.core.campaign.test_evidence import BAKING, canary, careful, course_of, seen_at

ECC = "ecc-uncorrected-volatile"
NOW = 100_000.0
BEGAN = NOW - 1000.0
HOURLY = careful(bake=Bake(seconds=48 * 3600.0, every_seconds=3600.0))


def exposed(**changes: Any) -> Exposed:
    return replace(exposed_of(["n1"], ["n2"], at=BEGAN), **changes)


def a_record(**changes: Any) -> CampaignRecord:
    settled = {"round_at": NOW - 700.0, "baked_until": NOW - 600.0, "well_since": BEGAN - 1.0}
    return a_campaign_record(RolloutPhase.BAKING, **(BAKING | settled | {"exposed": exposed()} | changes))


def told(seconds: float = 1000.0, *, events: int = 0, since: float = BEGAN, until: float = NOW, **more: Any) -> Any:
    rises = (Rises(name=ECC, events=events, hours=2.0),)
    watch = Watch(node="n1", seconds=seconds, gpu_hours=seconds / 1800, busy_gpu_hours=0.0, rises=rises, **more)
    return TelemetryFacts(stretch=Stretch(since=since, until=until, nodes=(watch,)))


def after(record: CampaignRecord, telemetry: TelemetryFacts | None, intent: Any = HOURLY, **changes: Any) -> Any:
    """What a pass does next."""
    seen = replace(seen_at(record), telemetry=telemetry, **changes)
    return course_of(seen, intent, NOW)


def kept(course: Any) -> Exposed:
    found = course.record.exposed
    assert isinstance(found, Exposed)
    return found


def test_a_stretch_is_added_and_waits_for_a_round_to_stand_behind_it() -> None:
    found = kept(after(a_record(), told(900.0)))
    assert (found.watched_until, found.watched_seconds, found.waiting_seconds) == (NOW, 900.0, 900.0)


def test_time_that_we_did_not_look_at_does_not_wait() -> None:
    found = kept(after(a_record(), told(1000.0), attentive_since=NOW - 250.0))
    assert (found.watched_seconds, found.waiting_seconds) == (1000.0, 250.0)


def test_a_stretch_that_does_not_begin_where_the_record_ends_is_not_added() -> None:
    assert kept(after(a_record(), told(since=BEGAN + 1.0))) == exposed()


def test_a_short_stretch_is_not_worth_a_write_and_one_with_an_event_is() -> None:
    short = exposed(watched_until=NOW - ADD_SECONDS + 60.0)
    record = a_record(exposed=short)
    quiet, loud = (told(200.0, events=events, since=short.watched_until) for events in (0, 1))
    assert kept(after(record, quiet)) == short
    assert kept(after(record, loud)).rare[0].events == 1


def test_a_round_that_passes_turns_what_waits_into_evidence_and_one_without_a_verdict_drops_it() -> None:
    record = a_record(round=2, round_at=NOW - 30.0, gates=(), exposed=exposed(waiting_seconds=500.0))
    passed = after(record, TelemetryFacts(), measurements=(a_measurement(GateVerdict.PASSED, round=2),)).record
    assert (passed.baked_seconds, kept(after(passed, TelemetryFacts())).waiting_seconds) == (500.0, 0.0)
    unknown = a_measurement(GateVerdict.UNKNOWN, round=2, attempt=3)
    assert kept(after(record, TelemetryFacts(), measurements=(unknown,))).waiting_seconds == 0.0


@pytest.mark.parametrize("phase", [RolloutPhase.BAKING, RolloutPhase.WAVING])
def test_events_that_come_too_often_are_written_down_and_then_end_the_campaign(phase: RolloutPhase) -> None:
    counted = after(replace(a_record(), phase=phase), told(events=6)).record
    assert counted.phase is phase, "what was seen is on record before anything is done about it"
    undone = after(counted, TelemetryFacts()).record
    assert undone.phase is RolloutPhase.REVERTING
    assert undone.why.startswith(f"{ECC} rose 6 times on n1 in 2 GPU-hours")


def test_events_that_come_too_often_are_put_to_a_person_where_one_is_to_say_so() -> None:
    counted = after(a_record(), told(events=6)).record
    asked = after(counted, TelemetryFacts(), careful(manual=(Point.ROLLBACK,)))
    assert [held.code for held in asked.holds if held.code is HoldCode.ROLLBACK_PENDING]


def test_one_uncorrectable_memory_error_of_a_canary_ends_its_bake_and_rejects_no_version() -> None:
    counted = after(a_record(), told(events=1)).record
    undone = after(counted, TelemetryFacts()).record
    assert undone.phase is RolloutPhase.REVERTING
    assert undone.why.startswith(f"{ECC} rose once on n1 in 2 GPU-hours")
    assert "the GPU, not the version" in undone.why
    assert undone.rejected == ""


def test_memory_errors_on_the_nodes_beside_it_too_are_left_to_their_rate() -> None:
    found = exposed()
    rare = replace(found.rare[0], name=ECC, events=1, watched_hours=2.0, control_events=1, control_hours=6.0)
    record = a_record(exposed=replace(found, rare=(rare, *found.rare[1:])))
    assert after(record, TelemetryFacts()).record.phase is RolloutPhase.BAKING


def test_one_memory_error_in_the_waves_is_left_to_its_rate() -> None:
    counted = after(replace(a_record(), phase=RolloutPhase.WAVING), told(events=1)).record
    assert after(counted, TelemetryFacts()).record.phase is RolloutPhase.WAVING


def test_who_is_through_with_a_wave_is_watched_from_then_on() -> None:
    through = a_done_node("n2")
    record = replace(a_record(), phase=RolloutPhase.WAVING)
    seen = replace(seen_at(record, canary(), through), telemetry=TelemetryFacts())
    found = course_of(seen, HOURLY, NOW).record.exposed
    assert found is not None
    assert (found.followers, found.nodes) == (("n2",), ("n1", "n2"))


@pytest.mark.parametrize("has_looked", [False, True])
def test_a_canary_that_nobody_sees_is_why_nothing_counts(has_looked: bool) -> None:
    silent = exposed(watched_until=NOW - SILENT_SECONDS)
    lack = Watch(node="n1", lacks=("load: its exporter is silent",))
    looked = Stretch(since=silent.watched_until, until=silent.watched_until, nodes=(lack,))
    course = after(a_record(exposed=silent), TelemetryFacts(stretch=looked if has_looked else None))
    (held,) = [each for each in course.holds if each.code is HoldCode.TELEMETRY_MISSING]
    assert ("n1: load: its exporter is silent" if has_looked else "n1: no look yet") in why_of(held)
    assert "exporter" in next_step(held)
    assert held.until is not None


def test_a_scrape_or_two_that_failed_are_no_reason() -> None:
    course = after(a_record(exposed=exposed(watched_until=NOW - SILENT_SECONDS + 1.0)), TelemetryFacts())
    assert HoldCode.TELEMETRY_MISSING not in {held.code for held in course.holds}


def test_what_the_last_stretch_lacked_is_told_until_one_has_it() -> None:
    silent = told(0.0, lacks=("load: its last sample is 400 s old",))
    course = after(a_record(), silent)
    assert kept(course).lack == "n1: load: its last sample is 400 s old"
    assert (
        kept(after(replace(course.record, exposed=replace(kept(course), watched_until=BEGAN)), told(900.0))).lack == ""
    )


def whole(exposed: Exposed | None) -> CampaignRecord:
    """Baked for as long as is asked, a moment ago."""
    return a_record(baked_seconds=48 * 3600.0, baked_until=NOW - 10.0, round_at=NOW - 20.0, exposed=exposed)


@pytest.mark.parametrize(
    ("load", "code"), [(0.1, HoldCode.CANARY_IDLE), (0.3, None), (None, HoldCode.TELEMETRY_MISSING)]
)
def test_an_idle_canary_opens_no_waves_where_work_is_asked_for(load: float | None, code: HoldCode | None) -> None:
    intent = careful(bake=Bake(seconds=48 * 3600.0, every_seconds=3600.0, load_min=0.2))
    worked = Exposure(node="n1", watched_gpu_hours=10.0, loaded_gpu_hours=10.0 * (load or 0.0))
    shown = exposed(canaries=(worked,), watched_until=NOW - 5.0) if load is not None else None
    course = after(whole(shown), TelemetryFacts() if shown is not None else None, intent)
    told = {held.code for held in course.holds}
    assert (code in told) if code is not None else course.record.phase is RolloutPhase.WAVING


def test_who_begins_to_watch_in_the_middle_begins_with_nothing() -> None:
    found = kept(after(a_record(exposed=None, baked_seconds=7200.0), TelemetryFacts()))
    assert (found.watched_until, found.watched_seconds) == (NOW, 0.0)
    assert [each.node for each in found.canaries] == [canary().name]
