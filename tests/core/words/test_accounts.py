"""A rollout in a few sentences, and where its report is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.at_home import MarkBad, Promote, RevertCommits
from seatrial.core.model.campaign import ByHand, CampaignRecord, RolloutPhase, Spoken, Turn
from seatrial.core.model.intent import Intent
from seatrial.core.model.target import Target
from seatrial.core.words import accounts, commits, requests
from seatrial.core.words.accounts import Tally
from tests.builders import MOVED_BY_HAND, NEW, a_campaign, an_intent
from tests.core.words.test_commit_messages import showing

BEGAN = 1_790_668_800.0
"""2026-09-29 08:00 UTC."""
TURNS = (Turn(phase=RolloutPhase.PROPOSED, at=BEGAN), Turn(phase=RolloutPhase.PROMOTING, at=BEGAN + 180_180))
SAID = (Spoken(what="approved waves", by="alice"), Spoken(what="paused it"))
LINK = "https://reports.example/spring"


def asking(**changes: Any) -> Intent:
    return an_intent(campaign=a_campaign(**changes))


def a_tally(**changes: int) -> Tally:
    return Tally(**({"done": 22, "failed": 1, "skipped": 1, "total": 24} | changes))


def test_a_pause_does_not_put_off_when_it_came_to_where_it_is() -> None:
    phases = (RolloutPhase.PROPOSED, RolloutPhase.WAVING, RolloutPhase.PAUSED, RolloutPhase.WAVING)
    turns = tuple(Turn(phase=phase, at=BEGAN + 3600 * hour) for hour, phase in enumerate(phases))
    assert accounts.began(showing("node-3", history=turns)).endswith(" and reached Waving 1 h later.")


def test_a_rollout_is_told_from_its_beginning_to_those_who_said_yes() -> None:
    assert accounts.summary(asking(said=SAID), showing("node-3", history=TURNS), a_tally()) == (
        "It began on 2026-09-29 at 08:00 UTC and reached Promoting 2 d 2 h later.",
        f"22 of 24 nodes are upgraded to {NEW.version}, 1 failed and 1 was left out.",
        "node-3 passed rdma and smoke-train and was healthy on it for 48 hours.",
        f"alice (claimed) approved waves and somebody paused it. {accounts.CLAIMED_MEANS}",
    )


def test_a_name_that_a_policy_holds_people_to_is_not_called_claimed() -> None:
    told = accounts.summary(asking(said=SAID), showing("node-3"), a_tally(), is_held=True)
    assert told[-1] == "alice approved waves and somebody paused it."


def test_a_rollout_without_a_canary_tells_of_its_nodes_alone() -> None:
    assert accounts.summary(an_intent(), None, a_tally(failed=0, skipped=2)) == (
        f"22 of 24 nodes are upgraded to {NEW.version}, 2 were left out.",
    )


def test_what_people_move_is_counted_too() -> None:
    component, version = next(iter(MOVED_BY_HAND.items()))
    by_hand = asking(by_hand=ByHand(component=component))
    by_hand = replace(by_hand, target=Target.of(NEW.version, (component, version)))
    assert accounts.nodes(Tally(done=1, total=1), by_hand) == f"1 of 1 node is upgraded to {component.value} {version}."


def test_a_beginning_that_nobody_remembers_is_not_told() -> None:
    assert accounts.began(showing("node-3", history=TURNS[1:])) == ""
    assert accounts.began(CampaignRecord()) == ""
    assert accounts.nodes(None, asking()) == accounts.nodes(Tally(), asking()) == ""


@pytest.mark.parametrize(
    ("record", "state", "told"),
    [
        (
            showing("a", history=TURNS),
            "",
            f"Under way, at Waving: 22 of 24 nodes are upgraded to {NEW.version}, 1 failed",
        ),
        (CampaignRecord(phase=RolloutPhase.DONE), "", "Done: 22 of 24 nodes"),
        (CampaignRecord(phase=RolloutPhase.REVERTED, why="gate rdma failed. "), "", "Reverted: gate rdma failed."),
        (CampaignRecord(phase=RolloutPhase.REVERTING), "", "Being reverted."),
        (CampaignRecord(phase=RolloutPhase.PAUSED, paused_in=RolloutPhase.BAKING), "", "Paused in Baking: 22 of 24"),
        (None, "over", "Done: 22 of 24 nodes"),
        (None, "progressing", "Under way: 22 of 24 nodes"),
        (None, "", "Not begun: 22 of 24 nodes"),
    ],
)
def test_how_it_stands_is_one_sentence(record: CampaignRecord | None, state: str, told: str) -> None:
    assert accounts.verdict(asking(), record, a_tally(), state=state).startswith(told)


def test_what_it_waits_for_is_in_the_verdict_while_it_is_not_over() -> None:
    waits = "somebody has to approve waves"
    told = accounts.verdict(asking(), showing("a"), a_tally(failed=0, skipped=0), state="", waits=waits)
    assert told == f"Under way, at Waving: 22 of 24 nodes are upgraded to {NEW.version}; it waits: {waits}."
    assert waits not in accounts.verdict(asking(), None, a_tally(), state="over", waits=waits)


# ── where the report is ──────────────────────────────────────────────────────────────────────────────────────────────


def test_an_address_is_filled_with_the_rollout_and_its_target() -> None:
    assert accounts.link("https://r.example/{target}/{rollout}.html", "spring", "580.1") == (
        "https://r.example/580.1/spring.html"
    )


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("https://r.example/{cluster}/{rollout}", "{cluster} is not a placeholder; there are {rollout} and {target}"),
        ("https://r.example/{}", "{} is not a placeholder"),
        ("ftp://r.example/{rollout}", "begins with https:// or http://"),
        ("https://r.example/{rollout", "begins with https:// or http://"),
        ("https://r.example/a b/{rollout}", "without blanks"),
        ("https://r.example/latest", "every rollout would have the same report"),
        ("", "begins with https:// or http://"),
    ],
)
def test_a_pattern_that_cannot_be_an_address_is_refused(pattern: str, why: str) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        accounts.check_pattern(pattern)
    assert why in str(refused.value)


PROMOTE = Promote(rollout="spring", date="2026-10-01", tag_base="v2026-10-stable")
REVERT = RevertCommits(rollout="spring", commits=("abc",), driver=NEW.version)


@pytest.mark.parametrize("act", [PROMOTE, REVERT])
def test_what_ends_a_rollout_names_its_report_and_then_needs_no_summary(act: Promote | RevertCommits) -> None:
    record = showing("node-3", history=TURNS, why="gate rdma failed")
    body = commits.message_of(act, asking(report=LINK, said=SAID), record, a_tally()).body
    assert body.endswith(f"\n\nReport: {LINK}")
    assert "22 of 24" not in body


@pytest.mark.parametrize("act", [PROMOTE, REVERT])
def test_without_an_address_it_carries_a_summary(act: Promote | RevertCommits) -> None:
    record = showing("node-3", history=TURNS, why="gate rdma failed")
    body = commits.message_of(act, asking(said=SAID), record, a_tally()).body
    assert body.endswith(
        "\n\nIt began on 2026-09-29 at 08:00 UTC and reached Promoting 2 d 2 h later. "
        f"22 of 24 nodes are upgraded to {NEW.version}, 1 failed and 1 was left out. "
        f"alice (claimed) approved waves and somebody paused it. {accounts.CLAIMED_MEANS}"
    )


def test_every_pull_request_names_the_report_once() -> None:
    bad = MarkBad(rollout="spring", driver=NEW.version, why="slow")
    for act in (PROMOTE, REVERT, bad):
        body = requests.message_of(act, asking(report=LINK), showing("node-3"), a_tally()).body
        assert body.count(LINK) == 1
        assert LINK not in requests.message_of(act, asking(), showing("node-3"), a_tally()).body
