"""Rounds of gates, and evidence: only time that somebody watched, ended by a round that passed, counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seatrial.core.campaign import baking
from seatrial.core.model.campaign import Bake, RolloutPhase
from seatrial.core.model.gates.gate import READINESS, Gate, GateResult, GateVerdict, Metric
from tests.builders import NOW, SMOKE, a_campaign, a_campaign_record, a_measurement

RECORD = a_campaign_record(RolloutPhase.BAKING, round=1, round_at=900.0, baked_seconds=100.0, baked_until=800.0)
WELL: dict[str, str] = {}
UNWELL = {"n1": "its driver is not Ready"}
LATER = NOW + 600


def looked_at(unwell: dict[str, str] = WELL, patience_until: float = LATER, *measured: object) -> baking.Round:
    return baking.look_at(RECORD, a_campaign(), measured, unwell, patience_until, NOW)  # type: ignore[arg-type]


def test_a_gate_is_due_on_a_canary_that_is_well() -> None:
    found = looked_at()
    assert (found.due, found.verdict) == ((("smoke", "n1", 1),), GateVerdict.PENDING)
    assert [each.gate for each in found.of(GateVerdict.PASSED)] == [READINESS]


def test_who_answers_at_once_is_asked_again_after_a_part_of_the_gates_time() -> None:
    rate = Gate(name="rate", prometheus=Metric(query="x", at_most=1.0), timeout_seconds=300.0)
    silent = a_measurement(GateVerdict.UNKNOWN, gate="rate")

    def at(now: float) -> baking.Round:
        return baking.look_at(RECORD, a_campaign(gates=(rate,)), (silent,), WELL, LATER, now)

    early, due = at(RECORD.round_at + 99), at(RECORD.round_at + 100)
    assert (early.due, early.again_at, early.verdict) == ((), RECORD.round_at + 100, GateVerdict.PENDING)
    assert (due.due, due.again_at) == ((("rate", "n1", 2),), None)


def test_nothing_is_measured_on_a_canary_that_is_not_well() -> None:
    found = looked_at(UNWELL)
    assert (found.due, found.verdict) == ((), GateVerdict.PENDING)


def test_a_canary_that_stays_unwell_has_failed() -> None:
    found = looked_at(UNWELL, NOW)
    assert found.of(GateVerdict.FAILED) == (
        GateResult(
            gate=READINESS,
            node="n1",
            round=1,
            verdict=GateVerdict.FAILED,
            detail="its driver is not Ready",
            at=NOW,
        ),
    )


def test_a_round_passes_when_every_gate_does() -> None:
    assert looked_at(WELL, LATER, a_measurement()).verdict is GateVerdict.PASSED


def test_a_campaign_without_gates_still_asks_whether_the_canary_is_well() -> None:
    found = baking.look_at(RECORD, a_campaign(gates=()), (), WELL, LATER, NOW)
    assert (found.verdict, found.due) == (GateVerdict.PASSED, ())


def test_a_result_that_says_the_same_as_before_is_kept_as_it_was() -> None:
    before = GateResult(gate=READINESS, node="n1", round=1, verdict=GateVerdict.PASSED, at=901.0)
    found = baking.look_at(replace(RECORD, gates=(before,)), a_campaign(gates=(SMOKE,)), (), WELL, LATER, NOW)
    assert found.results[0] is before
    assert found.results[1].at == NOW


def test_a_round_begins_without_verdicts() -> None:
    record = baking.next_round(RECORD, NOW)
    assert (record.round, record.round_at, record.gates) == (2, NOW, ())


@pytest.mark.parametrize(
    ("attentive_since", "seconds"),
    [(0.0, 300.0), (950.0, 150.0), (NOW + 1, 100.0)],
    ids=["we looked all the while", "we were away at first", "we have only just come"],
)
def test_only_time_in_which_we_looked_is_evidence(attentive_since: float, seconds: float) -> None:
    record = baking.counted(RECORD, attentive_since, NOW)
    assert (record.baked_seconds, record.baked_until) == (seconds, NOW)


def test_time_before_a_round_without_a_verdict_is_no_evidence() -> None:
    record = baking.uncounted(RECORD, NOW)
    assert (record.baked_seconds, record.baked_until) == (100.0, NOW)


@pytest.mark.parametrize(
    ("asked", "due_at", "is_ended"),
    [(7200.0, 900.0 + 3600, False), (160.0, 900.0 + 60, False), (100.0, 900.0 + 3600, True)],
    ids=["after the interval", "as soon as it completes the evidence", "and on, when nothing is missing"],
)
def test_a_round_is_due(asked: float, due_at: float, is_ended: bool) -> None:
    campaign = a_campaign(bake=Bake(seconds=asked, every_seconds=3600.0))
    assert baking.round_due_at(RECORD, campaign) == due_at
    assert baking.is_ended(RECORD, campaign) is is_ended


def test_evidence_is_complete_when_its_time_has_come_whatever_the_clock_rounds() -> None:
    """A difference of two instants may be short of the wait between them, by less than anybody can wait for."""
    begun = 537.127906726008
    record = replace(RECORD, round_at=500.0, baked_seconds=0.0, baked_until=begun)
    hour = a_campaign(bake=Bake(seconds=3600.0))
    due_at = baking.round_due_at(record, hour)
    assert due_at - begun < 3600.0
    assert baking.is_ended(baking.counted(record, 0.0, due_at), hour)
