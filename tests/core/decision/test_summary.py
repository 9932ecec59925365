"""Who waits, as the status tells it: grouped by reason, bounded, and never written for the sake of time alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.decision import summary
from seatrial.core.decision.decide import decide
from seatrial.core.decision.summary import NEWS_SECONDS, SUMMARY_SECONDS, waiting_of
from seatrial.core.holds import HoldCode, hold
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.intent import Intent, Retries
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.rollouts import RolloutRecord, Waiting
from seatrial.core.model.seen.snapshot import Snapshot
from tests.builders import (
    NEW,
    NOW,
    OLD,
    a_campaign,
    a_campaign_record,
    a_fleet,
    a_gpu_pod,
    a_ledger,
    a_node,
    a_rebuff,
    a_snapshot,
    a_well_node,
    an_intent,
    an_operator,
)


def written(seen: Snapshot, intent: Intent, now: float = NOW) -> RolloutRecord | None:
    """What is written of the rollout in one pass."""
    acts = decide(seen, intent, now).actions
    return next((act.record for act in acts if isinstance(act, WriteRolloutRecord)), None)


def test_nodes_that_wait_are_told_by_reason_with_how_many_and_the_first_names() -> None:
    seen = a_snapshot(*a_fleet(7, NodePhase.UPGRADE_REQUIRED, is_skipped=True), a_node("n8", driver=None))
    record = written(seen, an_intent())
    assert record is not None
    assert record.summary is not None
    skipped = next(each for each in record.summary.waiting if each.code == "skipped")
    assert skipped == Waiting(
        code="skipped",
        why="somebody marked the node with nvidia.com/gpu-driver-upgrade.skip=true",
        next_step=skipped.next_step,
        nodes=("n1", "n2", "n3", "n4", "n5"),
        count=7,
    )
    assert sum(each.count for each in record.summary.waiting) == sum(count for _, count in record.summary.holds)


def test_the_words_are_those_of_the_first_by_name_whatever_the_order() -> None:
    holds = [hold(name, HoldCode.WRITE_REFUSED, why=f"of {name}", since=NOW) for name in ("n3", "n1", "n2")]
    (told,) = waiting_of(holds)
    assert (told.nodes, told.count, told.since) == (("n1", "n2", "n3"), 3, NOW)
    assert "of n1" in told.why
    assert waiting_of(reversed(holds)) == (told,)


def test_nodes_that_failed_for_different_reasons_are_not_explained_by_the_words_of_the_first() -> None:
    crash, late = {"why": "driver-crash-loop", "diagnosis": ""}, {"why": "validation-timeout", "lack": "offer-reduced"}
    more = {"more": "nvidia.com/gpu 7 of 8"}
    holds = [
        hold("n1", HoldCode.FAILED, crash | {"label": "x"}),
        hold("n2", HoldCode.FAILED, late | more | {"label": "x"}),
        hold("n3", HoldCode.FAILED, crash | {"label": "x"}),
    ]
    assert [(each.code, each.nodes, each.count) for each in waiting_of(holds)] == [
        ("failed", ("n1", "n3"), 2),
        ("failed", ("n2",), 1),
    ]


def test_waits_of_a_moment_are_told_to_nobody() -> None:
    assert waiting_of(hold("n1", code, limit=1) for code in summary.MOMENTS) == ()


def test_what_stops_a_rollout_is_told_though_no_node_waits_for_it() -> None:
    record = written(a_snapshot(a_node(phase=NodePhase.UPGRADE_DONE, wanted=OLD)), an_intent())
    assert record is not None
    assert record.summary is not None
    assert [(each.code, each.nodes) for each in record.summary.waiting] == [("target-not-published", ("spring",))]


def test_the_nodes_of_a_campaign_are_told_apart_from_what_it_waits_for_itself() -> None:
    seen = a_snapshot(
        a_node("n1"),
        a_node("n2", NodePhase.UPGRADE_REQUIRED, is_skipped=True),
        campaign=a_campaign_record(RolloutPhase.CANARY, canaries=("n1",)),
        operator=an_operator(NEW.version),
    )
    record = written(seen, an_intent(campaign=a_campaign()))
    assert record is not None
    assert record.summary is not None
    assert all(each.code not in {told.code for told in record.summary.told} for each in record.summary.waiting)
    assert {name for each in record.summary.waiting for name in each.nodes} <= {"n1", "n2"}


# ── writes, counted ──────────────────────────────────────────────────────────────────────────────────────────────────


def after(seen: Snapshot, record: RolloutRecord) -> Snapshot:
    return replace(seen, rollout=replace(record, resource_version="41"))


def test_time_alone_writes_nothing() -> None:
    seen = a_snapshot(
        *a_fleet(9, NodePhase.UPGRADE_REQUIRED, is_skipped=True),
        a_node("m1", NodePhase.POD_DELETION_REQUIRED, is_cordon_ours=True, pods=(a_gpu_pod(is_terminating=True),)),
        a_node("m2", NodePhase.UPGRADE_FAILED, record={"reason": "driver-timeout", "failed_revision": "new"}),
        admitted=a_ledger("m1", "m2"),
    )
    record = written(seen, an_intent())
    assert record is not None
    assert [written(after(seen, record), an_intent(), NOW + seconds) for seconds in range(180)] == [None] * 180


def test_where_somebody_looks_once_a_minute_an_open_rollout_says_so_and_one_that_is_over_does_not() -> None:
    open_, over = (
        a_snapshot(*a_fleet(2, NodePhase.UPGRADE_REQUIRED, is_skipped=True)),
        a_snapshot(a_well_node(phase=NodePhase.UPGRADE_DONE)),
    )
    times = []
    for seen in (open_, over):
        record = written(seen, an_intent())
        assert record is not None
        looking = replace(after(seen, record), beat_seconds=60.0)
        found = [seconds for seconds in range(90) if written(looking, an_intent(), NOW + seconds) is not None]
        times.append(found)
        assert decide(looking, an_intent(), NOW).wake_at == (NOW + 60 if found else None)
    assert times == [list(range(60, 90)), []]


def test_a_pause_in_which_no_deadline_comes_nearer_writes_nothing() -> None:
    notes = {"reason": "driver-timeout", "failed_revision": "new", "failures": 1}
    failed = a_node("m2", NodePhase.UPGRADE_FAILED, record=notes, entered_at=NOW - 10)
    paused = replace(an_intent(is_paused=True), retries=Retries(count_max=1))
    seen = a_snapshot(failed, admitted=a_ledger("m2"), attentive_since=NOW)
    record = written(seen, paused)
    assert record is not None
    later = (replace(after(seen, record), attentive_since=NOW + seconds) for seconds in range(0, 600, 20))
    assert {written(each, paused, each.attentive_since) for each in later} == {None}


def test_another_name_at_the_same_count_is_written_after_a_while() -> None:
    seen = a_snapshot(
        a_node("n1", NodePhase.UPGRADE_REQUIRED, is_skipped=True), a_node("n2", NodePhase.UPGRADE_REQUIRED)
    )
    paused = an_intent(is_paused=True)
    record = written(seen, paused)
    assert record is not None
    other = a_snapshot(a_node("n1", NodePhase.UPGRADE_REQUIRED), a_node("n3", NodePhase.UPGRADE_REQUIRED))
    assert written(after(other, record), paused, NOW + SUMMARY_SECONDS - 1) is None
    again = written(after(other, record), paused, NOW + SUMMARY_SECONDS)
    assert again is not None
    assert again.summary is not None
    assert again.summary.waiting[0].nodes == ("n1", "n3")


def test_another_reason_for_which_the_rollout_itself_waits_is_written_within_a_second() -> None:
    campaign = a_campaign_record(RolloutPhase.PROPOSED)
    seen = a_snapshot(a_node("n1"), operator=an_operator(), campaign=campaign)
    intent = an_intent(campaign=a_campaign(manual=frozenset({"canary"})))
    record = written(seen, intent)
    assert record is not None
    assert record.summary is not None
    assert [told.code for told in record.summary.told] == ["approval-pending"]
    other = replace(record.summary.told[0], code="outside-window")
    was = replace(record, summary=replace(record.summary, told=(other,)))
    assert written(after(seen, was), intent, NOW + NEWS_SECONDS / 2) is None
    assert written(after(seen, was), intent, NOW + NEWS_SECONDS) is not None


def test_a_status_of_a_release_that_told_of_no_nodes_is_not_written_for_that_alone() -> None:
    seen = a_snapshot(*a_fleet(3, NodePhase.UPGRADE_REQUIRED, is_skipped=True))
    record = written(seen, an_intent())
    assert record is not None
    assert record.summary is not None
    old = replace(record, summary=replace(record.summary, waiting=()))
    assert written(after(seen, old), an_intent(), NOW + 3600) is None


def test_an_edit_is_answered_at_once_even_where_it_changes_nothing() -> None:
    seen = a_snapshot(*a_fleet(3, NodePhase.UPGRADE_REQUIRED, is_skipped=True))
    record = written(seen, an_intent())
    assert record is not None
    edited = replace(record, generation=2)
    answer = written(after(seen, edited), an_intent(), NOW + 0.1)
    assert answer is not None
    assert answer.observed_generation == 2
    assert written(after(seen, answer), an_intent(), NOW + 3600) is None


def test_what_comes_into_the_way_of_a_node_is_told_within_a_second() -> None:
    pods = (a_gpu_pod(0),)
    node = a_node("n1", NodePhase.POD_DELETION_REQUIRED, is_cordon_ours=True, pods=pods)
    waiting = a_fleet(3, NodePhase.UPGRADE_REQUIRED)
    seen = a_snapshot(node, *waiting[1:], admitted=a_ledger("n1"), busy={"n1": None})
    record = written(seen, an_intent(parallel_max=1))
    assert record is not None
    refused = replace(after(seen, record), rebuffs={"pod-0": a_rebuff(at=NOW)}, busy={})
    told = [written(refused, an_intent(parallel_max=1), NOW + seconds) is not None for seconds in (0.5, 1.0, 3.0)]
    assert told == [False, True, True]


def test_a_rollout_whose_nodes_are_done_for_an_earlier_target_is_not_done_before_they_move() -> None:
    before = a_node("n1", NodePhase.UPGRADE_DONE)  # the new version was just published, and its pod is of the old one
    record = written(a_snapshot(before), an_intent())
    assert record is not None
    assert record.summary is not None
    assert (record.summary.state, record.summary.done, record.summary.total) == ("waiting", 0, 1)


def test_a_rollout_that_is_done_stays_so_when_a_driver_is_started_again() -> None:
    well = a_snapshot(a_well_node(phase=NodePhase.UPGRADE_DONE))
    record = written(well, an_intent())
    assert record is not None
    assert record.summary is not None
    assert record.summary.state == "done"
    unready = a_well_node(phase=NodePhase.UPGRADE_DONE)
    driver = unready.facts.driver
    assert driver is not None
    again = replace(unready, facts=replace(unready.facts, driver=replace(driver, is_ready=False)))
    found = summary.summarise(after(a_snapshot(again), record), (), None, an_intent())
    assert (found.state, found.done) == ("done", 0)


# ── which have failed ────────────────────────────────────────────────────────────────────────────────────────────────


def failed_in(seen: Snapshot, intent: Intent) -> str:
    record = written(seen, intent)
    assert record is not None
    assert record.summary is not None
    return record.summary.failed


def a_failed_node(name: str, **changes: Any) -> NodeSeen:
    return a_node(name, NodePhase.UPGRADE_FAILED, record={"failed_revision": NEW.hash, "failures": 1}, **changes)


def test_failed_nodes_are_counted_and_the_first_are_named_without_those_that_people_left_out() -> None:
    failed = [a_failed_node(name) for name in ("n2", "n3", "n4")]
    skipped = a_failed_node("n5", is_skipped=True)
    assert failed_in(a_snapshot(a_well_node("n1", NodePhase.UPGRADE_DONE)), an_intent()) == ""
    assert failed_in(a_snapshot(failed[0], skipped), an_intent()) == "1 (n2)"
    assert failed_in(a_snapshot(*failed, skipped), an_intent()) == "3 (n2, n3 and 1 more)"


def test_a_node_that_failed_on_its_way_to_another_version_is_no_failed_node_of_this_rollout() -> None:
    elsewhere = a_node("n1", NodePhase.UPGRADE_FAILED, wanted=OLD, record={"failed_revision": OLD.hash, "failures": 1})
    assert failed_in(a_snapshot(elsewhere), an_intent()) == ""
