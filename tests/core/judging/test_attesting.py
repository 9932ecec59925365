"""A gate that asks for somebody's word: silence is no pass, and a word has a beginning and an end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.campaign.gating import step_gating
from seatrial.core.decision.decide import decide
from seatrial.core.holds import HoldCode
from seatrial.core.judging.kinds import attesting
from seatrial.core.judging.tries import TRIES_MAX
from seatrial.core.model.campaign import RolloutPhase, Turn
from seatrial.core.model.gates.gate import Attest, Gate, GateVerdict, Measurement, Word
from seatrial.core.words import explain
from tests.builders import (
    NEW,
    NOW,
    SMOKE,
    a_campaign,
    a_campaign_record,
    a_done_node,
    a_snapshot,
    a_view,
    an_intent,
    an_operator,
)
from tests.core.judging.played import Played

SIGNED = Gate(name="signed", attest=Attest(asks="the tenants are content"), timeout_seconds=600.0)
SINCE = 900.0
HOUR = 3600.0


def a_word(**changes: Any) -> Word:
    return replace(
        Word(gate="signed", is_pass=True, because="the nightly ran", by="ann", at=950.0, until=NOW + HOUR), **changes
    )


def measured(*words: Word, limit_at: float = NOW + 60) -> Measurement:
    return attesting.measured(SIGNED, "n1", 3, words, since=SINCE, limit_at=limit_at, now=NOW)


@pytest.mark.parametrize(
    ("word", "verdict", "detail"),
    [
        (a_word(), GateVerdict.PASSED, "ann said so until 1970-01-01 01:16:40Z: the nightly ran"),
        (a_word(is_pass=False), GateVerdict.FAILED, "ann said so until 1970-01-01 01:16:40Z: the nightly ran"),
        (a_word(node="n1", by=""), GateVerdict.PASSED, "somebody said so until"),
        (a_word(until=NOW), GateVerdict.UNKNOWN, "the answer of ann expired at 1970-01-01 00:16:40Z"),
        (a_word(is_pass=False, until=NOW), GateVerdict.UNKNOWN, "the answer of ann expired at"),
        (a_word(at=SINCE - 1), GateVerdict.PENDING, "ann answered at 1970-01-01 00:14:59Z, before its gates began"),
        (a_word(node="n2"), GateVerdict.PENDING, "nobody has answered yet"),
        (a_word(gate="other"), GateVerdict.PENDING, "nobody has answered yet"),
    ],
    ids=["pass", "fail", "of one node", "ended", "a fail that ended", "too early", "another node", "another gate"],
)
def test_a_word_counts_while_it_lasts_for_the_canary_it_is_about(word: Word, verdict: GateVerdict, detail: str) -> None:
    found = measured(word)
    assert found.verdict is verdict
    assert found.detail.startswith(detail)
    assert (found.gate, found.node, found.round) == ("signed", "n1", 3)


def test_silence_is_waited_for_as_long_as_the_gate_may_take_and_then_nothing_is_known() -> None:
    assert measured().verdict is GateVerdict.PENDING
    late = measured(limit_at=NOW)
    assert (late.verdict, late.attempt) == (GateVerdict.UNKNOWN, TRIES_MAX)
    assert measured(a_word(at=SINCE - 1), limit_at=NOW).verdict is GateVerdict.UNKNOWN


def test_of_several_words_that_count_the_worst_does() -> None:
    later = a_word(at=990.0, by="bob")
    assert measured(a_word(is_pass=False), later).verdict is GateVerdict.FAILED
    assert measured(later, a_word(node="n1")).detail.startswith("bob said so")
    assert measured(a_word(is_pass=False, until=NOW), later).verdict is GateVerdict.PASSED


def test_a_word_is_about_a_canary_that_is_under_its_gates_since_it_was_last_chosen() -> None:
    turns = [
        Turn(phase=RolloutPhase.CANARY, at=100.0),
        Turn(phase=RolloutPhase.GATING, at=200.0),
        Turn(phase=RolloutPhase.BAKING, at=300.0),
        Turn(phase=RolloutPhase.CANARY, at=400.0, why="canary n1 is gone"),
    ]
    record = a_campaign_record(RolloutPhase.CANARY, history=tuple(turns))
    assert attesting.stands_since(record) == 400.0
    turns += [Turn(phase=RolloutPhase.GATING, at=500.0), Turn(phase=RolloutPhase.PAUSED, at=600.0)]
    turns += [Turn(phase=RolloutPhase.GATING, at=700.0)]
    assert attesting.stands_since(replace(record, history=tuple(turns))) == 500.0, "a pause makes no other canary of it"
    assert attesting.stands_since(replace(record, history=())) == 0.0


# ── in a campaign ────────────────────────────────────────────────────────────────────────────────────────────────────


def gating(*words: Word, now: float = NOW, **campaign: Any) -> Any:
    record = a_campaign_record(RolloutPhase.GATING, round=1, round_at=SINCE)
    seen = a_snapshot(a_done_node(canary_of="spring"), campaign=record, operator=an_operator(NEW.version))
    asked = a_campaign(**{"gates": (SIGNED,), "attested": words} | campaign)
    return step_gating(a_view(seen, an_intent(campaign=asked), now))


def test_nobody_is_measured_for_a_word_and_the_hold_says_what_to_type() -> None:
    course = gating()
    (held,) = course.holds
    assert course.acts == ()
    assert (held.code, held.until) == (HoldCode.GATE_UNATTESTED, SINCE + 600.0)
    assert explain.why(held) == (
        "gate signed waits for somebody to sign off on n1 (nobody has answered yet): the tenants are content"
    )
    assert "`seatrial gates attest spring signed --pass --because TEXT`" in explain.next_step(held)


def test_what_is_measured_beside_it_goes_on_and_is_told_apart() -> None:
    course = gating(gates=(SIGNED, SMOKE))
    assert [act.gate.name for act in course.acts] == ["smoke"]
    word, running = course.holds
    assert (word.code, running.code) == (HoldCode.GATE_UNATTESTED, HoldCode.GATES_RUNNING)
    assert dict(running.params)["gates"] == "smoke on n1"


def test_a_word_that_ended_before_the_round_is_asked_for_anew_with_the_same_command() -> None:
    (held,) = gating(a_word(until=NOW - 1)).holds
    assert held.code is HoldCode.GATE_UNATTESTED
    assert "the answer of ann expired at" in explain.why(held)
    assert held.until == SINCE + HOUR, "when the round is asked again"


def test_a_yes_opens_the_bake_and_a_no_undoes_the_rollout() -> None:
    assert gating(a_word()).record.phase is RolloutPhase.BAKING
    failed = gating(a_word(is_pass=False, because="wrong results")).record
    assert failed.phase is RolloutPhase.REVERTING
    assert failed.why.endswith("wrong results")


def test_a_word_that_comes_after_the_limit_is_taken_all_the_same() -> None:
    late = SINCE + 700.0
    assert gating(now=late).holds[0].code is HoldCode.GATE_UNATTESTED
    assert gating(a_word(at=late, until=late + HOUR), now=late).record.phase is RolloutPhase.BAKING


def test_the_word_is_asked_of_the_canary_that_nobody_has_spoken_of() -> None:
    record = a_campaign_record(RolloutPhase.GATING, round=1, round_at=SINCE, canaries=("n1", "n2"))
    nodes = (a_done_node(canary_of="spring"), a_done_node("n2", canary_of="spring"))
    seen = a_snapshot(*nodes, campaign=record, operator=an_operator(NEW.version))
    asked = a_campaign(gates=(SIGNED,), attested=(a_word(node="n1"),))
    (held,) = step_gating(a_view(seen, an_intent(campaign=asked))).holds
    assert "attest spring signed --node n2 --pass" in explain.next_step(held)


def test_a_pass_wakes_when_the_limit_of_the_gate_is_over() -> None:
    record = a_campaign_record(RolloutPhase.GATING, round=1, round_at=SINCE)
    seen = a_snapshot(a_done_node(canary_of="spring"), campaign=record, operator=an_operator(NEW.version))
    wish = an_intent(campaign=a_campaign(gates=(SIGNED,)))
    wake_at = decide(seen, wish, NOW).wake_at
    assert wake_at is not None
    assert wake_at <= SINCE + 600.0


# ── in the world, by the real loop ───────────────────────────────────────────────────────────────────────────────────


def said(at: float, **changes: Any) -> Word:
    return a_word(at=at, **{"until": at + 24 * HOUR} | changes)


def test_a_campaign_waits_for_a_word_through_days_and_goes_on_with_it() -> None:
    played = Played(SIGNED)
    played.say(a_word(at=1.0, until=25 * HOUR, because="said before there was anything to see"))
    played.say(said(50 * HOUR))
    assert played.play(49 * HOUR) is RolloutPhase.GATING
    assert played.play(52 * HOUR) is RolloutPhase.BAKING
    assert played.play(60 * HOUR) is RolloutPhase.DONE


def test_a_word_that_ends_in_the_bake_stops_evidence_until_it_is_said_anew() -> None:
    played = Played(SIGNED)
    played.say(said(5 * HOUR, until=7.5 * HOUR))
    assert played.play(40 * HOUR) is RolloutPhase.BAKING
    record = played.world.rollout.campaign
    assert record is not None
    assert record.baked_seconds <= 2.5 * HOUR
    played.say(said(41 * HOUR))
    assert played.play(50 * HOUR) is RolloutPhase.DONE


def test_a_no_in_the_bake_undoes_the_rollout() -> None:
    played = Played(SIGNED)
    played.say(said(5 * HOUR))
    played.say(said(6.5 * HOUR, is_pass=False, because="wrong results"))
    assert played.play(12 * HOUR) is RolloutPhase.REVERTED
