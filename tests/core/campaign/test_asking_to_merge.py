"""A step that people merge: when they are asked, how long we wait, what a no means, and what is withdrawn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.at_home import AskToMerge, CloseRequest, MarkBad, Promote, Publish, RevertCommits
from seatrial.core.actions.on_rollouts import ReleaseRollout
from seatrial.core.campaign.course import Course
from seatrial.core.campaign.requests import REFUSALS_MAX
from seatrial.core.decision.decide import decide
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import PublishStep, RolloutPhase, SourceFacts, Via
from seatrial.core.model.gates.compared import Compared
from seatrial.core.model.gates.gate import GateResult, GateVerdict
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.requests import Checks, Request, RequestState, Review, mark_in
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.movers.view import MERGE_SECONDS
from seatrial.core.text.spans import span
from seatrial.core.words import requests
from tests.builders import NEW, NOW, POLICY, a_campaign_record, a_rebuff, a_source, an_old_node
from tests.core.campaign.test_rollout import BACK, at, careful, codes, course_of
from tests.core.judging.upgrades import an_upgrade

INTENT = careful(publish=Via.GIT, has_source=True)
CANARY, FLEET, REVERT = PublishStep.CANARY, PublishStep.FLEET, PublishStep.REVERT
WAITING = ((CANARY, "the text to paste"),)
STEP = Publish(rollout="spring", step=CANARY, versions=((POLICY, NEW.version),), via=Via.GIT)
ASK = AskToMerge(rollout="spring", step=CANARY)
URL = "https://git.example.com/gpu/cluster/pulls/7"


def a_request(state: RequestState = RequestState.OPEN, **changes: Any) -> Request:
    """One that was opened a minute ago, with the text that it has now."""
    text = requests.message_of(STEP, INTENT, a_campaign_record(RolloutPhase.CANARY)).body
    made = Request(branch="seatrial/spring/canary", number=7, url=URL, state=state, mark=mark_in(text))
    return replace(made, opened_at=NOW - 60, **changes)


def marked_canary() -> NodeSeen:
    return an_old_node(canary_of="spring")


def at_canary(source: SourceFacts, **changes: Any) -> Snapshot:
    """The canary is marked, and its version is to be published."""
    return at(RolloutPhase.CANARY, marked_canary(), an_old_node("n2"), operator=BACK, source=source, **changes)


def canary_course(now: float = NOW, **source: Any) -> Course:
    return course_of(at_canary(a_source(**source)), INTENT, now)


def told(course: Course) -> dict[str, str]:
    (held,) = course.holds
    return dict(held.params)


# ── asking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_step_is_pushed_before_anybody_is_asked_to_merge_it() -> None:
    assert canary_course().acts == (STEP,)


def test_a_step_that_was_pushed_and_that_nobody_was_asked_about_is_asked_about() -> None:
    course = canary_course(proposals=WAITING, unasked=(CANARY,))
    assert (course.acts, codes(course)) == ((ASK,), [HoldCode.REQUEST_PENDING])
    assert told(course)["done"] == "opened"


def test_where_there_is_no_forge_the_text_is_told_as_ever() -> None:
    course = canary_course(proposals=WAITING)
    assert (course.acts, codes(course)) == ((), [HoldCode.MERGE_PENDING])
    assert told(course)["request"] == "the text to paste"
    assert course.holds[0].until is None


def test_an_open_request_is_waited_for_and_the_wait_names_it_and_its_end() -> None:
    asked = a_request(review=Review.APPROVED, checks=Checks.PENDING)
    course = canary_course(proposals=WAITING, requests=((CANARY, asked),))
    assert (course.acts, codes(course)) == ((), [HoldCode.MERGE_PENDING])
    assert told(course)["request"] == f"{URL} (approved, checks: pending)"
    (held,) = course.holds
    assert (held.since, held.until) == (NOW - 60, NOW - 60 + MERGE_SECONDS)


def test_a_request_that_nobody_merges_for_days_is_told_more_loudly_and_waits_on() -> None:
    source = a_source(proposals=WAITING, requests=((CANARY, a_request()),))
    course = course_of(at_canary(source), INTENT, NOW - 60 + MERGE_SECONDS)
    assert (course.acts, codes(course)) == ((), [HoldCode.MERGE_OVERDUE])
    assert URL in told(course)["request"]


def test_a_text_that_says_something_else_by_now_is_written_anew() -> None:
    course = canary_course(proposals=WAITING, requests=((CANARY, a_request(mark="0123456789ab")),))
    assert course.acts == (ASK,)
    assert told(course)["done"] == "brought up to date"


def test_a_request_that_a_person_wrote_is_left_as_it_is() -> None:
    course = canary_course(proposals=WAITING, requests=((CANARY, a_request(mark="")),))
    assert (course.acts, codes(course)) == ((), [HoldCode.MERGE_PENDING])


def test_a_request_that_was_refused_is_asked_for_again_later() -> None:
    source = a_source(proposals=WAITING, unasked=(CANARY,))
    course = course_of(at_canary(source, rebuffs={ASK.subject: a_rebuff(detail="no right")}), INTENT)
    assert (course.acts, codes(course)) == ((), [HoldCode.WRITE_REFUSED])


@pytest.mark.parametrize("proposals", [(), WAITING])
def test_a_no_is_a_no_whether_its_branch_is_there_or_not(proposals: Any) -> None:
    closed = a_request(RequestState.CLOSED)
    course = canary_course(proposals=proposals, requests=((CANARY, closed),))
    assert (course.acts, codes(course)) == ((), [HoldCode.REQUEST_DECLINED])
    assert URL in told(course)["request"]


@pytest.mark.parametrize("proposals", [(), WAITING])
def test_nothing_is_asked_while_the_forge_does_not_answer(proposals: Any) -> None:
    course = canary_course(proposals=proposals, forge_trouble="no route to host")
    assert (course.acts, codes(course)) == ((), [HoldCode.FORGE_UNREACHABLE])


@pytest.mark.parametrize("state", list(RequestState))
def test_a_merge_is_seen_in_git_whatever_the_forge_says(state: RequestState) -> None:
    source: dict[str, Any] = {
        "steps": ((CANARY, "c1"),),
        "requests": ((CANARY, a_request(state)),),
        "forge_trouble": "no route",
    }
    assert codes(canary_course(**source)) == [HoldCode.PUBLISH_PENDING]


# ── withdrawing ──────────────────────────────────────────────────────────────────────────────────────────────────────

UNDONE = {"why": "gate smoke failed on n1"}
CLOSE = CloseRequest(rollout="spring", step=CANARY)


def going_back(**source: Any) -> Course:
    """On the way back before anything was merged."""
    seen = at(
        RolloutPhase.REVERTING,
        an_old_node(),
        an_old_node("n2"),
        record=UNDONE,
        operator=BACK,
        source=a_source(bad="Xid 79", **source),
    )
    return course_of(seen, INTENT)


def test_who_goes_back_withdraws_what_nobody_has_merged_and_ends_when_it_is_closed() -> None:
    course = going_back(proposals=WAITING, requests=((CANARY, a_request()),))
    assert course.acts == (CLOSE,)
    assert HoldCode.REQUEST_PENDING in codes(course)
    (act,) = course.acts
    assert isinstance(act, CloseRequest)
    assert UNDONE["why"] in act.message.body
    closed = going_back(proposals=WAITING, requests=((CANARY, a_request(RequestState.CLOSED)),))
    assert (closed.acts, closed.record.phase) == ((), RolloutPhase.REVERTED)


def test_it_does_not_end_while_a_request_is_open_that_cannot_be_closed() -> None:
    course = going_back(requests=((CANARY, a_request()),), forge_trouble="no route to host")
    assert (course.acts, course.record.phase) == ((), RolloutPhase.REVERTING)
    assert codes(course) == [HoldCode.FORGE_UNREACHABLE]


def test_the_request_to_take_something_back_is_not_withdrawn() -> None:
    asked = replace(a_request(mark=""), branch="seatrial/spring/revert")
    waiting = ((REVERT, "the text"),)
    course = going_back(steps=((CANARY, "c1"),), proposals=waiting, requests=((REVERT, asked),))
    assert (course.acts, codes(course)[0]) == ((), HoldCode.MERGE_PENDING)


def test_what_was_merged_is_taken_back_by_a_request_of_its_own() -> None:
    course = going_back(steps=((CANARY, "c1"),))
    assert course.acts == (RevertCommits(rollout="spring", commits=("c1",), driver=NEW.version),)
    asked = going_back(steps=((CANARY, "c1"),), proposals=((REVERT, "the text"),), unasked=(REVERT,))
    assert asked.acts == (AskToMerge(rollout="spring", step=REVERT),)


def leaving(**changes: Any) -> Snapshot:
    """A campaign that somebody deleted while its canary's request is open."""
    source = a_source(proposals=WAITING, requests=((CANARY, a_request()),), **changes.pop("source", {}))
    seen = at(RolloutPhase.CANARY, an_old_node(), an_old_node("n2"), operator=BACK, source=source, **changes)
    return replace(seen, is_deleting=True)


def test_a_rollout_that_leaves_withdraws_what_nobody_has_merged() -> None:
    decision = decide(leaving(), INTENT, NOW)
    assert CLOSE in decision.actions
    assert not [act for act in decision.actions if isinstance(act, ReleaseRollout)]


@pytest.mark.parametrize(
    "changes",
    [
        {"source": {"forge_trouble": "no route to host"}},
        {"rebuffs": {CLOSE.subject: a_rebuff(count=REFUSALS_MAX + 1)}},
    ],
)
def test_a_forge_that_cannot_be_asked_does_not_keep_a_rollout_and_the_request_is_told(changes: Any) -> None:
    acts = decide(leaving(**changes), INTENT, NOW).actions
    (release,) = (act for act in acts if isinstance(act, ReleaseRollout))
    assert [each for each in release.left if URL in each]


# ── words ────────────────────────────────────────────────────────────────────────────────────────────────────────────

GATES = (GateResult(gate="smoke", node="n1", round=1, verdict=GateVerdict.PASSED),)


def test_a_request_says_the_plan_the_evidence_and_what_comes_of_it() -> None:
    record = a_campaign_record(RolloutPhase.WAVING, gates=GATES, baked_seconds=172_800.0)
    said = requests.message_of(replace(STEP, step=FLEET), INTENT, record)
    assert said.subject == f"Driver {NEW.version} for the fleet"
    for part in ("### The plan", f"`{POLICY}` gets {NEW.version}", "### The evidence", "smoke on n1: passed"):
        assert part in said.body
    for part in (
        f"n1 healthy for {span(172_800.0)}",
        "### What happens then",
        "seatrial rollout abort spring",
        "Seatrial-Step",
    ):
        assert part in said.body
    assert mark_in(said.body)


def test_a_request_says_which_loss_is_excluded() -> None:
    compared = Compared(comparisons=an_upgrade(rounds=20).comparisons, is_measured=True)
    record = a_campaign_record(RolloutPhase.WAVING, gates=GATES, baked_seconds=172_800.0, compared=compared)
    said = requests.message_of(replace(STEP, step=FLEET), INTENT, record)
    assert "- 1 figure compared: a loss of more than 0." in said.body


def test_before_there_is_evidence_that_is_said() -> None:
    assert "none yet" in requests.message_of(STEP, INTENT, a_campaign_record(RolloutPhase.CANARY)).body


def test_the_same_record_gives_the_same_words_and_a_gate_that_is_being_measured_changes_none() -> None:
    record = a_campaign_record(RolloutPhase.WAVING, gates=GATES, baked_seconds=172_800.0)
    pending = GateResult(gate="smoke", node="n2", round=2, verdict=GateVerdict.PENDING)
    again = replace(record, gates=(*GATES, pending), round=2)
    assert requests.message_of(STEP, INTENT, record) == requests.message_of(STEP, INTENT, again)


@pytest.mark.parametrize(
    ("act", "title"),
    [
        (RevertCommits(rollout="spring", commits=("c1",), driver=NEW.version), f"Revert driver {NEW.version}"),
        (MarkBad(rollout="spring", driver=NEW.version, why="Xid 79"), f"Mark driver {NEW.version} as bad"),
        (Promote(rollout="spring", date="2026-10-01", tag_base="v"), f"Promote driver {NEW.version} to production"),
    ],
)
def test_every_step_has_a_title(act: Any, title: str) -> None:
    assert requests.message_of(act, INTENT, a_campaign_record(RolloutPhase.REVERTING, **UNDONE)).subject == title
