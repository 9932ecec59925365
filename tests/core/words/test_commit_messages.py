"""Commit messages as somebody on call reads them in `git log`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.at_home import MarkBad, Message, Promote, Publish, RevertCommits
from seatrial.core.model.campaign import Bake, CampaignRecord, PublishStep, RolloutPhase, Turn, Via
from seatrial.core.model.gates.gate import READINESS, Gate, GateResult, GateVerdict
from seatrial.core.model.intent import Intent
from seatrial.core.words.commits import message_of, tag_message, unworded, worded
from tests.builders import NEW, OLD, POLICY, a_campaign, a_campaign_record, an_intent

GATES = (Gate(name="smoke-train", image="i"), Gate(name="rdma", image="i"))
FIRST = Publish(rollout="spring", step=PublishStep.CANARY, versions=((POLICY, NEW.version),), via=Via.GIT)
REST = replace(FIRST, step=PublishStep.FLEET)
PROMOTE = Promote(rollout="spring", date="2026-10-01", tag_base="v2026-10-stable")


def asking(**changes: Any) -> Intent:
    return an_intent(campaign=a_campaign(**{"gates": GATES, **changes}))


def showing(*names: str, gates: tuple[str, ...] = ("smoke-train", "rdma"), **changes: Any) -> CampaignRecord:
    """A record after two days of bake, in which every gate passed on every canary."""
    asked = (READINESS, *gates)
    results = tuple(
        GateResult(gate=gate, node=name, round=49, verdict=GateVerdict.PASSED) for name in names for gate in asked
    )
    found = {
        "canaries": names,
        "gates": results,
        "round": 49,
        "baked_seconds": 172_800.0,
        "date": "2026-10-01",
        "history": (),
    }
    return a_campaign_record(RolloutPhase.WAVING, **(found | changes))


# ── the canary ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_first_commit_names_the_canary_and_what_the_others_wait_for() -> None:
    assert message_of(FIRST, asking(), showing("node-3")) == Message(
        subject=f"Driver {NEW.version} for the canary node-3",
        body=f"It replaces {OLD.version}. Only node-3 moves now; the others follow once it has passed "
        "smoke-train and rdma and has been healthy for 48 hours.",
    )


def test_several_canaries_are_counted_above_and_named_below() -> None:
    assert message_of(FIRST, asking(), showing("node-1", "node-2")) == Message(
        subject=f"Driver {NEW.version} for 2 canaries",
        body=f"It replaces {OLD.version}. Only node-1 and node-2 move now; the others follow once they have "
        "passed smoke-train and rdma and have been healthy for 48 hours.",
    )


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"gates": ()}, "the others follow once it has been healthy for 48 hours."),
        ({"gates": GATES[:1]}, "the others follow once it has passed smoke-train and has been healthy for 48 hours."),
        ({"bake": Bake(seconds=0)}, "the others follow once it has passed smoke-train and rdma."),
        ({"gates": (), "bake": Bake(seconds=0)}, "the others follow once it runs it."),
    ],
)
def test_what_is_not_asked_of_the_canary_is_not_spoken_of(changes: dict[str, Any], told: str) -> None:
    assert message_of(FIRST, asking(**changes), showing("node-3")).body.endswith(told)


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("a", "b", "c"), "Only a, b and c move now"),
        (("a", "b", "c", "d"), "Only a, b, c and d move now"),
        (("a", "b", "c", "d", "e"), "Only a, b, c and 2 more move now"),
    ],
)
def test_many_canaries_are_cut_to_a_few_names(names: tuple[str, ...], told: str) -> None:
    assert told in message_of(FIRST, asking(), showing(*names)).body


def test_without_a_way_back_on_record_nothing_is_said_of_it() -> None:
    told = message_of(FIRST, asking(), showing("node-3", baseline=()))
    assert told.body.startswith("Only node-3 moves now;")


def test_only_what_this_commit_replaces_is_named() -> None:
    two = (("NVIDIADriver/a", "570.124.06"), ("NVIDIADriver/b", "565.57.01"))
    record = showing("node-3", baseline=two)
    one = replace(FIRST, versions=(("NVIDIADriver/a", NEW.version),))
    both = replace(FIRST, versions=(("NVIDIADriver/a", NEW.version), ("NVIDIADriver/b", NEW.version)))
    assert message_of(one, asking(), record).body.startswith("It replaces 570.124.06. ")
    assert message_of(both, asking(), record).body.startswith("It replaces 565.57.01 and 570.124.06. ")


# ── the fleet, and promotion ─────────────────────────────────────────────────────────────────────────────────────────


def test_the_fleets_commit_says_what_was_seen_of_the_canary() -> None:
    assert message_of(REST, asking(), showing("node-3")) == Message(
        subject=f"Driver {NEW.version} for the fleet",
        body=f"It replaces {OLD.version}. node-3 passed rdma and smoke-train and was healthy on it for 48 "
        "hours. The others follow now, wave by wave.",
    )


def test_a_promotion_rests_on_the_same_evidence() -> None:
    assert message_of(PROMOTE, asking(), showing("node-1", "node-2")) == Message(
        subject=f"Promote driver {NEW.version} to production",
        body="The last wave finished on 2026-10-01. node-1 and node-2 passed rdma and smoke-train and were "
        "healthy on it "
        "for 48 hours.",
    )


def test_a_tag_has_a_subject_of_its_own() -> None:
    assert tag_message(asking(), showing("node-3")) == (
        f"Driver {NEW.version} in production since 2026-10-01\n\n"
        "node-3 passed rdma and smoke-train and was healthy on it for 48 hours."
    )


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"gates": ()}, "node-3 was healthy on it for 48 hours."),
        ({"baked_seconds": 0.0}, "node-3 passed rdma and smoke-train."),
        ({"gates": (), "baked_seconds": 0.0}, "node-3 was upgraded first."),
    ],
)
def test_evidence_that_was_not_asked_for_is_not_claimed(changes: dict[str, Any], told: str) -> None:
    assert told in message_of(PROMOTE, asking(), showing("node-3", **changes)).body


def test_a_gate_without_a_pass_is_no_evidence() -> None:
    unknown = GateResult(gate="rdma", node="node-3", round=49, verdict=GateVerdict.UNKNOWN)
    record = showing("node-3", gates=("smoke-train",))
    record = replace(record, gates=(*record.gates, unknown))
    assert "node-3 passed smoke-train and was" in message_of(PROMOTE, asking(), record).body


def test_without_a_canary_there_is_no_evidence_to_tell() -> None:
    assert message_of(PROMOTE, asking(), showing()).body == "The last wave finished on 2026-10-01."
    assert tag_message(asking(), showing()) == f"Driver {NEW.version} in production since 2026-10-01"


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (1.4, "1 second"),
        (6, "6 seconds"),
        (119, "119 seconds"),
        (120, "2 minutes"),
        (3599, "59 minutes"),
        (3600, "1 hour"),
        (5400, "1.5 hours"),
        (172_800, "48 hours"),
    ],
)
def test_spans_are_told_in_the_unit_a_person_would_use(seconds: float, told: str) -> None:
    body = message_of(PROMOTE, asking(), showing("node-3", baked_seconds=seconds)).body
    assert body.endswith(f"was healthy on it for {told}.")


# ── the way back ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("why", "told"),
    [
        ("gate rdma failed on node-3: no link", "gate rdma failed on node-3: no link."),
        ("The vendor called it back.", "The vendor called it back."),
        ("  why on earth?  ", "why on earth?"),
    ],
)
def test_what_is_undone_says_why(why: str, told: str) -> None:
    revert = RevertCommits(rollout="spring", commits=("abc",), driver=NEW.version)
    assert message_of(revert, asking(), showing("node-3", why=why)) == Message(subject="", body=f"Reverted: {told}")
    assert message_of(MarkBad(rollout="spring", driver=NEW.version, why=why), asking(), showing("node-3")) == Message(
        subject=f"Mark driver {NEW.version} as bad", body=f"Rejected: {told}"
    )


def test_an_act_with_other_words_is_the_same_act_and_without_them_as_it_was() -> None:
    for act in (FIRST, PROMOTE, MarkBad(rollout="spring", driver=NEW.version, why="slow")):
        said = worded(act, asking(), showing("node-3"))
        assert said == act
        assert repr(said) != repr(act)
        assert repr(unworded(said)) == repr(act)


def test_what_makes_no_commit_gets_no_words() -> None:
    act = replace(FIRST, via=Via.DIRECT)
    assert worded(act, asking(), showing("node-3")) is act


def test_a_reason_nobody_gave_leaves_no_odd_words() -> None:
    assert message_of(MarkBad(rollout="spring", driver=NEW.version, why=" "), asking(), showing("node-3")).body == ""


def test_who_failed_or_was_left_out_is_named_in_the_promotion_and_its_tag() -> None:
    turn = Turn(phase=RolloutPhase.PROMOTING, at=1.0, why="without node-7 (failed), node-9 (skipped)")
    record = showing("node-3", history=(turn,))
    told = "The fleet continued without node-7 (failed), node-9 (skipped)."
    promoted = message_of(Promote(rollout="spring", date="2026-10-01", tag_base="v"), asking(), record)
    assert promoted.body.endswith(told)
    assert tag_message(asking(), record).endswith(told)
