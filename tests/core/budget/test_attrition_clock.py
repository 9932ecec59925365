"""The time until the deadline: it begins with the waves, and stands still outside windows and in pauses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.budget.attrition import clock
from seatrial.core.budget.attrition.terms import FAR_SECONDS, terms_of
from seatrial.core.holds import HoldCode, hold
from seatrial.core.model.campaign import Campaign, CampaignRecord, RolloutPhase
from seatrial.core.model.intent import Intent
from seatrial.core.model.policy import Attrition
from seatrial.core.model.seen.rollouts import RolloutRecord
from tests.builders import NOW, an_intent

HOUR = 3600.0
DAY = Attrition(deadline_seconds=24 * HOUR)


def waving(**changes: Any) -> CampaignRecord:
    return replace(CampaignRecord(phase=RolloutPhase.WAVING, waving_since=NOW - 2 * HOUR), **changes)


def by_attrition(openings: tuple[tuple[float, float], ...] | None = None, **changes: Any) -> Intent:
    return an_intent(attrition=DAY, campaign=Campaign(openings=openings), **changes)


def rollout(record: CampaignRecord) -> RolloutRecord:
    return RolloutRecord(name="spring", campaign=record)


def test_it_starts_with_the_waves_and_is_written_down_once() -> None:
    assert clock.kept(CampaignRecord(phase=RolloutPhase.BAKING), None, NOW) == CampaignRecord(phase=RolloutPhase.BAKING)
    begun = clock.kept(CampaignRecord(phase=RolloutPhase.WAVING), None, NOW)
    assert begun.waving_since == NOW
    assert clock.kept(begun, None, NOW + HOUR) is begun


def test_a_pause_stops_it_and_a_resume_starts_it_again() -> None:
    paused = clock.kept(waving(phase=RolloutPhase.PAUSED), None, NOW)
    assert (paused.waved_seconds, paused.waving_since) == (2 * HOUR, 0.0)
    assert clock.spent(paused, None, NOW + 99 * HOUR) == 2 * HOUR
    again = clock.kept(replace(paused, phase=RolloutPhase.WAVING), None, NOW + 99 * HOUR)
    assert clock.spent(again, None, NOW + 100 * HOUR) == 3 * HOUR


def test_outside_of_windows_it_stands_still_also_when_nobody_looked() -> None:
    openings = ((NOW - 3 * HOUR, NOW - HOUR), (NOW + HOUR, NOW + 2 * HOUR))
    stopped = clock.kept(waving(), openings, NOW)
    assert (stopped.waved_seconds, stopped.waving_since) == (HOUR, 0.0)
    assert clock.spent(waving(), openings, NOW + 10 * HOUR) == 2 * HOUR, "a leader that comes late tells the same"


def test_when_it_runs_out_is_told_along_the_windows() -> None:
    openings = ((NOW, NOW + HOUR), (NOW + 5 * HOUR, NOW + 6 * HOUR))
    assert clock.runs_out_at(1.5 * HOUR, openings, NOW) == NOW + 5.5 * HOUR
    assert clock.runs_out_at(3 * HOUR, openings, NOW) is None
    assert clock.runs_out_at(3 * HOUR, None, NOW) == NOW + 3 * HOUR


@pytest.mark.parametrize(("wave", "hours"), [(0, 4.0), (1, 10.0), (3, 22.0)])
def test_each_wave_has_an_equal_share_of_the_time(wave: int, hours: float) -> None:
    terms = terms_of(rollout(waving(wave=wave)), by_attrition(), 4, NOW)
    assert terms is not None
    assert terms.deadline_at == NOW + hours * HOUR
    assert terms.way.deadline_seconds == 6 * HOUR


def test_nodes_are_not_taken_by_attrition_before_the_waves_or_on_the_way_back() -> None:
    for phase in (RolloutPhase.CANARY, RolloutPhase.BAKING, RolloutPhase.REVERTING):
        assert terms_of(rollout(waving(phase=phase)), by_attrition(), 1, NOW) is None
    assert terms_of(rollout(waving()), an_intent(campaign=Campaign()), 1, NOW) is None


def test_in_a_pause_terms_stay_and_time_does_not_count() -> None:
    record = waving(phase=RolloutPhase.PAUSED, paused_in=RolloutPhase.WAVING, waving_since=0.0, waved_seconds=HOUR)
    terms = terms_of(rollout(record), by_attrition(is_paused=True), 1, NOW)
    assert terms is not None
    assert (terms.is_running, terms.deadline_at) == (False, NOW + 23 * HOUR)


def test_where_no_known_window_reaches_the_end_it_is_far() -> None:
    terms = terms_of(rollout(waving()), by_attrition(openings=((NOW, NOW + HOUR),)), 1, NOW)
    assert terms is not None
    assert terms.deadline_at == NOW + FAR_SECONDS


def test_the_rules_are_asked_again_as_time_passes_and_more_often_towards_the_end() -> None:
    early = terms_of(rollout(waving()), by_attrition(), 1, NOW)
    late = terms_of(rollout(waving(waving_since=NOW - 22 * HOUR)), by_attrition(), 1, NOW)
    assert early is not None
    assert late is not None
    waits = [hold("n1", HoldCode.LEFT_OPEN)]
    assert (early.look_at(waits), late.look_at(waits)) == (NOW + 300, NOW + 60)
    assert early.look_at([hold("n1", HoldCode.EVICTING)]) is None
