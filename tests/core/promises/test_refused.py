"""A broken promise is a hold of its own: which promise, what was about to be done, what to do; and few writes."""

from __future__ import annotations

from dataclasses import replace

from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.decision.decide import Decision, decide
from seatrial.core.decision.summary import SUMMARY_SECONDS
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.rollouts import RolloutRecord, Summary
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.promises.breach import Breach
from seatrial.core.promises.refused import refused
from seatrial.core.words import conditions, explain
from tests.builders import NOW, a_campaign, a_campaign_record, a_ledger, a_node, a_snapshot, an_intent, an_old_node

HELD = (Breach(promise="hands_off", subject="n2", detail="the cordon of an admin is lifted"),)
CAREFUL = an_intent(campaign=a_campaign())
BOTH = (a_snapshot(a_node(), an_old_node("n2")), an_intent())


def look(seen: Snapshot, intent: Intent, breaches: tuple[Breach, ...] = HELD, now: float = NOW) -> Decision:
    return refused(seen, intent, decide(seen, intent, now), breaches, now)


def written(decision: Decision) -> RolloutRecord | None:
    acts = decision.actions
    assert all(isinstance(act, WriteRolloutRecord) for act in acts)
    return acts[0].record if acts and isinstance(acts[0], WriteRolloutRecord) else None


def after(seen: Snapshot, decision: Decision) -> Snapshot:
    """What is seen once the status is written."""
    record = written(decision)
    assert record is not None
    return replace(seen, rollout=record)


def test_it_says_which_promise_what_was_about_to_be_done_and_what_to_do() -> None:
    decision = look(*BOTH)
    assert decision.stop is not None
    why = explain.why(decision.stop)
    assert "hands_off at n2, the cordon of an admin is lifted" in why
    assert "It was about to do this: node/n2: " in why
    assert "report it" in explain.next_step(decision.stop)


def test_every_member_is_held_and_nothing_but_the_status_is_written() -> None:
    decision = look(*BOTH)
    assert {(held.subject, held.code) for held in decision.holds} == {
        (name, HoldCode.PROMISE_BROKEN) for name in ("spring", "n1", "n2")
    }
    record = written(decision)
    assert record is not None
    assert (record.admitted, record.campaign) == ((), None)
    assert record.resource_version == BOTH[0].rollout.resource_version


def test_ledger_and_campaign_stay_as_they_were_seen_whatever_was_decided() -> None:
    campaign = a_campaign_record(RolloutPhase.WAVING)
    seen = a_snapshot(a_node(), campaign=campaign, admitted=a_ledger("n1", "gone"))
    record = written(look(seen, CAREFUL))
    assert record is not None
    assert (record.admitted, record.campaign) == (seen.rollout.admitted, campaign)
    assert record.summary is not None
    assert [each.code for each in record.summary.told] == [HoldCode.PROMISE_BROKEN]


def test_the_conditions_say_that_somebody_is_needed() -> None:
    campaign = a_campaign_record(RolloutPhase.PROMOTING)
    record = written(look(a_snapshot(a_node(), campaign=campaign), CAREFUL))
    assert record is not None
    found = {each.type: (each.status.value, each.reason) for each in conditions.conditions_of(record)}
    assert found["Progressing"] == ("False", "PromiseBroken")
    assert found["Stalled"] == ("True", "PromiseBroken")


def test_a_breach_that_lasts_is_written_once() -> None:
    seen, intent = BOTH
    told = after(seen, look(seen, intent))
    for seconds in (1, 30, 3600):
        assert look(told, intent, now=NOW + seconds).actions == ()
        stop = look(told, intent, now=NOW + seconds).stop
        assert stop is not None
        assert stop.since == NOW


def test_a_breach_that_changes_its_words_is_written_now_and_then() -> None:
    seen, intent = BOTH
    told = after(seen, look(seen, intent))
    other = (Breach(promise="capacity", subject="spring", detail="3 nodes under way, limit 1"),)
    assert look(told, intent, other, now=NOW + SUMMARY_SECONDS - 1).actions == ()
    assert written(look(told, intent, other, now=NOW + SUMMARY_SECONDS)) is not None


def test_a_breach_that_comes_and_goes_is_told_no_more_often() -> None:
    seen, intent = BOTH
    rollout = replace(seen.rollout, summary=Summary(state="progressing", counts=(), holds=()), summarised_at=NOW - 1)
    assert look(replace(seen, rollout=rollout), intent).actions == ()


def test_a_rollout_that_has_been_let_go_is_not_written_to() -> None:
    seen, intent = BOTH
    assert look(replace(seen, is_deleting=True, is_guarded=False), intent).actions == ()
