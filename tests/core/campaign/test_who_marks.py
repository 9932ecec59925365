"""Who marks a version bad: what seatrial finds against it, and a person only where they say so.

Each story goes from what happened to the way back, and looks whether the entry is marked there, and with which reason.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.at_home import MarkBad, RevertCommits
from seatrial.core.campaign import leaving
from seatrial.core.campaign.step import step_rollout
from seatrial.core.decision.decide import decide
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import CampaignRecord, Mode, Point, PublishStep, RolloutPhase, Via
from seatrial.core.model.gates.exposed import TelemetryFacts
from seatrial.core.model.gates.gate import GateVerdict
from seatrial.core.model.intent import Intent, OnDelete
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.promises.invariants import broken
from seatrial.core.words.explain import next_step
from tests.builders import (
    NEW,
    NOW,
    OLD,
    a_campaign,
    a_campaign_record,
    a_done_node,
    a_measurement,
    a_node,
    a_snapshot,
    a_source,
    an_intent,
    an_old_node,
    an_operator,
)
from tests.core.campaign import test_exposing as telemetry
from tests.core.campaign.test_comparing import a_loss

FAILURE = {"failed_revision": NEW.hash, "failures": 1}
ASKED_FIRST: dict[str, Any] = {"manual": (Point.ROLLBACK,)}
GATING: dict[str, Any] = {"round": 1, "round_at": 800.0}


def a_wish(*, failed_max: int = 1, **changes: Any) -> Intent:
    """A rollout of an entry of a matrix."""
    return an_intent(campaign=a_campaign(has_source=True, **changes), failed_max=failed_max)


def failed(name: str, reason: str = "driver-timeout", **changes: Any) -> NodeSeen:
    return a_node(name, NodePhase.UPGRADE_FAILED, record=FAILURE | {"reason": reason}, **changes)


def seen_at(record: CampaignRecord, *nodes: NodeSeen, **changes: Any) -> Snapshot:
    fields: dict[str, Any] = {"operator": an_operator(NEW.version), "source": a_source()} | changes
    return a_snapshot(*(nodes or (a_done_node(canary_of="spring"), a_node("n2"))), campaign=record, **fields)


def written(seen: Snapshot, intent: Intent) -> CampaignRecord:
    """What is written down next; every promise is kept."""
    assert broken(seen, intent, decide(seen, intent, NOW)) == ()
    return step_rollout(seen, intent, NOW).record


def mark(record: CampaignRecord, intent: Intent) -> str | None:
    """With which reason the way back marks the entry; None where it does not, and ends without it."""
    assert record.phase is RolloutPhase.REVERTING
    back = replace(record, entered_at=900.0)  # as the note on the resource says
    seen = seen_at(back, an_old_node("n1", NodePhase.UPGRADE_DONE), operator=an_operator(OLD.version))
    decision = decide(seen, intent, NOW)
    assert broken(seen, intent, decision) == ()
    found = [act for act in decision.actions if isinstance(act, MarkBad)]
    if not found:
        assert written(seen, intent).phase is RolloutPhase.REVERTED
    return found[0].why if found else None


# ── verdicts of ours ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_failed_gate_marks() -> None:
    broken_gate = a_measurement(GateVerdict.FAILED, detail="2 of 8 GPUs are gone")
    seen = seen_at(a_campaign_record(RolloutPhase.GATING, **GATING), measurements=(broken_gate,))
    record = written(seen, a_wish())
    assert mark(record, a_wish()) == record.why == "gate smoke failed on n1: 2 of 8 GPUs are gone"


@pytest.mark.parametrize("phase", [RolloutPhase.BAKING, RolloutPhase.WAVING])
def test_what_telemetry_shows_marks(phase: RolloutPhase) -> None:
    counted = telemetry.after(replace(telemetry.a_record(), phase=phase), telemetry.told(events=6)).record
    record = telemetry.after(counted, TelemetryFacts()).record
    assert (mark(record, a_wish()) or "").startswith(f"{telemetry.ECC} rose 6 times on n1")


def test_a_proven_loss_of_speed_marks() -> None:
    assert (mark(a_loss().record, a_wish()) or "").startswith("matrix-fp32 of n1 lost 5.")


@pytest.mark.parametrize("reason", ["driver-crash-loop", "driver-timeout", "validation-timeout"])
def test_a_canary_whose_driver_does_not_load_marks(reason: str) -> None:
    seen = seen_at(a_campaign_record(RolloutPhase.CANARY), failed("n1", reason, canary_of="spring"))
    assert mark(written(seen, a_wish()), a_wish()) == f"canary n1 failed: {reason}"


@pytest.mark.parametrize("reason", ["eviction-timeout", "drain-timeout", "maintenance-timeout", "cordon-lost"])
def test_a_canary_that_could_not_be_emptied_goes_back_and_says_nothing_about_the_version(reason: str) -> None:
    seen = seen_at(a_campaign_record(RolloutPhase.CANARY), failed("n1", reason, canary_of="spring"))
    record = written(seen, a_wish())
    assert (record.why, mark(record, a_wish())) == (f"canary n1 failed: {reason}", None)


def test_a_canary_that_nvidias_controller_gave_up_marks_since_nobody_knows_better() -> None:
    given_up = a_node("n1", nvidia_state="upgrade-failed", canary_of="spring")
    record = a_campaign_record(RolloutPhase.CANARY, mode=Mode.DELEGATED)
    seen = seen_at(record, given_up, operator=an_operator(NEW.version, is_auto_upgrading=True))
    assert written(seen, a_wish()).rejected == "canary n1 failed: its upgrade failed"


# ── more failures in the waves than may be ───────────────────────────────────────────────────────────────────────────

BUDGET = "2 nodes failed in the waves, and the limit is 1 (maxFailed): n2, n3; n2: driver-timeout"


def waving(*nodes: NodeSeen, **changes: Any) -> Snapshot:
    record = a_campaign_record(RolloutPhase.WAVING, wave=9, round=1, round_at=800.0, baked_until=900.0, **changes)
    return seen_at(record, a_done_node(canary_of="spring"), *nodes)


@pytest.mark.parametrize("manual", [(), (Point.ROLLBACK,)], ids=["auto", "manual"])
def test_more_failures_in_the_waves_than_may_be_stop_it_and_a_person_says_what_becomes_of_it(manual: Any) -> None:
    seen, wish = waving(failed("n2"), failed("n3")), a_wish(manual=manual)
    course = step_rollout(seen, wish, NOW)
    assert (course.record.phase, course.record.rejected) == (RolloutPhase.WAVING, BUDGET)
    assert [held.code for held in course.holds] == [HoldCode.FAILURE_BUDGET]
    assert next_step(course.holds[0]) == (
        "Check each with `seatrial why NODE`, fix it, then `seatrial node retry NODE`; or raise limits.maxFailed; "
        "or go back with `seatrial rollout abort spring --reason ...`, which marks the entry bad."
    )
    held = seen_at(course.record, *seen.nodes.values())
    assert written(held, wish) == course.record, "it is written down once"


def test_who_goes_back_after_more_failures_than_may_be_marks() -> None:
    rejected = written(waving(failed("n2"), failed("n3")), a_wish())
    undo = a_wish(abort="two of them are enough")
    record = written(seen_at(rejected, failed("n2"), failed("n3")), undo)
    assert (record.why, mark(record, undo)) == ("two of them are enough", BUDGET)


@pytest.mark.parametrize(
    ("now", "failed_max"),
    [((failed("n2"), a_done_node("n3")), 1), ((failed("n2"), failed("n3")), 2)],
    ids=["one was mended", "more are tolerated"],
)
def test_what_is_mended_or_tolerated_stands_against_the_version_no_more(now: Any, failed_max: int) -> None:
    mended = written(waving(*now, rejected=BUDGET), a_wish(failed_max=failed_max))
    assert mended.rejected == ""
    undo = a_wish(abort="another time", failed_max=failed_max)
    assert mark(written(seen_at(replace(mended, phase=RolloutPhase.WAVING)), undo), undo) is None


def test_nodes_that_could_not_be_emptied_stop_the_waves_and_mark_nothing() -> None:
    wish = a_wish(failed_max=0)
    course = step_rollout(waving(failed("n2", "eviction-timeout")), wish, NOW)
    assert (course.record.rejected, [held.code for held in course.holds]) == ("", [HoldCode.FAILURE_BUDGET])
    assert next_step(course.holds[0]).endswith("or go back with `seatrial rollout abort spring --reason ...`.")


# ── a person's act ───────────────────────────────────────────────────────────────────────────────────────────────────

UNDONE_FROM = [
    RolloutPhase.CANARY,
    RolloutPhase.GATING,
    RolloutPhase.BAKING,
    RolloutPhase.WAVING,
    RolloutPhase.PROMOTING,
    RolloutPhase.DONE,
]


@pytest.mark.parametrize("phase", UNDONE_FROM)
def test_an_abort_or_a_rollback_by_a_person_marks_nothing(phase: RolloutPhase) -> None:
    undo = a_wish(abort="the wrong version, a typo")
    record = written(seen_at(a_campaign_record(phase, **GATING)), undo)
    assert (record.why, mark(record, undo)) == ("the wrong version, a typo", None)


@pytest.mark.parametrize("phase", UNDONE_FROM)
def test_a_person_who_rejects_the_version_says_so_and_it_is_marked_with_their_reason(phase: RolloutPhase) -> None:
    undo = a_wish(abort="tenants see timeouts", marks_bad=True)
    record = written(seen_at(a_campaign_record(phase, **GATING)), undo)
    assert mark(record, undo) == "tenants see timeouts"


def test_a_person_may_still_reject_the_version_on_the_way_back() -> None:
    undo = a_wish(abort="tenants see timeouts")
    record = written(seen_at(a_campaign_record(RolloutPhase.BAKING)), undo)
    assert mark(record, undo) is None
    assert mark(record, a_wish(abort="tenants see timeouts", marks_bad=True)) == "tenants see timeouts"


def test_a_deletion_that_takes_it_back_marks_nothing() -> None:
    wish = replace(a_wish(), on_delete=OnDelete.REVERT)
    seen = replace(seen_at(a_campaign_record(RolloutPhase.BAKING)), is_deleting=True)
    record = written(seen, wish)
    assert (record.why, mark(record, wish)) == (leaving.WHY, None)


def test_without_a_matrix_there_is_nothing_to_mark() -> None:
    wish = an_intent(campaign=a_campaign(abort="slow", marks_bad=True))
    record = written(seen_at(a_campaign_record(RolloutPhase.BAKING), source=None), wish)
    assert mark(record, wish) is None


# ── a person's act while a verdict waits for them ────────────────────────────────────────────────────────────────────


def waiting_for_a_yes() -> CampaignRecord:
    """A canary whose driver did not load; somebody is asked whether to go back."""
    seen = seen_at(a_campaign_record(RolloutPhase.CANARY), failed("n1", canary_of="spring"))
    course = step_rollout(seen, a_wish(**ASKED_FIRST), NOW)
    assert [held.code for held in course.holds] == [HoldCode.ROLLBACK_PENDING]
    return course.record


@pytest.mark.parametrize(
    ("said", "is_deleted"),
    [({"abort": "enough"}, False), ({"approved": (Point.ROLLBACK,)}, False), ({}, True)],
    ids=["an abort", "a yes", "a deletion"],
)
def test_whoever_takes_it_back_the_verdict_stands(said: dict[str, Any], is_deleted: bool) -> None:
    wish = replace(a_wish(**ASKED_FIRST, **said), on_delete=OnDelete.REVERT)
    seen = replace(seen_at(waiting_for_a_yes(), failed("n1", canary_of="spring")), is_deleting=is_deleted)
    assert mark(written(seen, wish), wish) == "canary n1 failed: driver-timeout"


def test_a_pause_before_the_abort_changes_nothing_about_that() -> None:
    node, wish = failed("n1", canary_of="spring"), a_wish(**ASKED_FIRST)
    paused = written(seen_at(waiting_for_a_yes(), node), replace(wish, is_paused=True))
    assert paused.phase is RolloutPhase.PAUSED
    undo = a_wish(**ASKED_FIRST, abort="enough")
    record = written(seen_at(written(seen_at(paused, node), undo), node), undo)
    assert (record.why, mark(record, undo)) == ("enough", "canary n1 failed: driver-timeout")


# ── what the revert says ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("changes", "wish", "body"),
    [
        ({}, {}, "Reverted: enough. The entry is not marked bad: seatrial found nothing wrong with the version."),
        ({}, {"marks_bad": True}, "Reverted: enough. The entry is marked bad."),
        ({"rejected": "Xid 79"}, {}, "Reverted: enough. The entry is marked bad: Xid 79."),
        ({"rejected": "enough"}, {}, "Reverted: enough. The entry is marked bad."),
        ({}, {"has_source": False}, "Reverted: enough."),
    ],
)
def test_the_commit_that_takes_it_back_says_what_becomes_of_the_entry(
    changes: dict[str, Any], wish: dict[str, Any], body: str
) -> None:
    record = a_campaign_record(RolloutPhase.REVERTING, why="enough", **changes)
    intent = an_intent(campaign=a_campaign(**({"has_source": True, "publish": Via.GIT} | wish)))
    source = a_source(steps=((PublishStep.CANARY, "c1"),))
    (act,) = (
        act for act in decide(seen_at(record, source=source), intent, NOW).actions if isinstance(act, RevertCommits)
    )
    told, summary = act.message.body.split("\n\n")
    assert told == body
    assert "upgraded to" in summary
