"""The time until the deadline: it runs from the opening of the waves, and stands still outside windows and in pauses.

    kept          the clock as it is written down: it is started and stopped, and in between nothing is written
    spent         how much of it is gone
    runs_out_at   when a span of it will be over, along the windows that are known

Law of this file: what passed while nobody looked is counted by the windows, so a leader that comes late tells the same.
Tests: tests/core/budget/test_attrition_clock.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from seatrial.core.model import windows
from seatrial.core.model.campaign import CampaignRecord, RolloutPhase
from seatrial.core.model.instants import Instant
from seatrial.core.model.windows import Stretches

RUNNING: Final = frozenset({RolloutPhase.WAVING, RolloutPhase.PROMOTING, RolloutPhase.DONE})
"""Phases in which nodes are taken by attrition; in the last two those that came later."""


def is_running(record: CampaignRecord, openings: Stretches | None, now: Instant) -> bool:
    """Whether time counts now."""
    return record.phase in RUNNING and windows.is_open(openings, now)


def kept(record: CampaignRecord, openings: Stretches | None, now: Instant) -> CampaignRecord:
    """The record with its clock started or stopped, where that is due."""
    runs = is_running(record, openings, now)
    if runs and not record.waving_since:
        return replace(record, waving_since=now)
    if not runs and record.waving_since:
        return replace(record, waved_seconds=round(spent(record, openings, now), 3), waving_since=0.0)
    return record


def spent(record: CampaignRecord, openings: Stretches | None, now: Instant) -> float:
    """Seconds that have counted so far."""
    since = record.waving_since
    if not since:
        return record.waved_seconds
    if openings is None:
        return record.waved_seconds + max(0.0, now - since)
    return record.waved_seconds + sum(max(0.0, min(now, closes) - max(since, opens)) for opens, closes in openings)


def runs_out_at(seconds: float, openings: Stretches | None, now: Instant) -> Instant | None:
    """When so many seconds will have counted; None where the windows that are known are not enough for it."""
    if openings is None:
        return now + seconds
    for opens, closes in openings:
        begins = max(now, opens)
        if closes <= begins:
            continue
        if closes - begins >= seconds:
            return begins + seconds
        seconds -= closes - begins
    return None
