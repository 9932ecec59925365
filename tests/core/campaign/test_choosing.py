"""One rollout at a time: the one under way, else the next in line, else the last that ended."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seatrial.core.campaign import choosing
from seatrial.core.model.campaign import CampaignRecord, Mode, RolloutPhase
from seatrial.core.model.seen.rollouts import Admission, RolloutRecord, Summary

SPRING, SUMMER, AUTUMN = ("2026-03", "spring"), ("2026-06", "summer"), ("2026-09", "autumn")


def campaign(
    when: tuple[str, str], phase: RolloutPhase | None, paused_in: RolloutPhase | None = None
) -> tuple[str, RolloutRecord]:
    record = CampaignRecord(phase=phase, paused_in=paused_in) if phase is not None else None
    return when[0], RolloutRecord(name=when[1], campaign=record)


def plain(when: tuple[str, str], state: str, *admitted: str) -> tuple[str, RolloutRecord]:
    ledger = tuple(Admission(node=node, attempt=1) for node in admitted)
    summary = Summary(state=state) if state else None
    return when[0], RolloutRecord(name=when[1], summary=summary, admitted=ledger)


@pytest.mark.parametrize(
    ("records", "name"),
    [
        ([], ""),
        ([campaign(SUMMER, None), campaign(SPRING, None)], "spring"),
        ([campaign(SPRING, RolloutPhase.DONE), campaign(SUMMER, None)], "summer"),
        ([campaign(SPRING, RolloutPhase.REVERTED), campaign(SUMMER, RolloutPhase.PROPOSED)], "summer"),
        ([campaign(SPRING, RolloutPhase.PROPOSED), campaign(SUMMER, RolloutPhase.BAKING)], "summer"),
        (
            [campaign(SPRING, RolloutPhase.PROPOSED), campaign(SUMMER, RolloutPhase.PAUSED, RolloutPhase.CANARY)],
            "summer",
        ),
        (
            [campaign(SPRING, None), campaign(SUMMER, RolloutPhase.PAUSED, RolloutPhase.PROPOSED)],
            "spring",
        ),
        ([campaign(AUTUMN, RolloutPhase.WAVING), campaign(SPRING, RolloutPhase.REVERTING)], "spring"),
        ([campaign(AUTUMN, RolloutPhase.DONE), campaign(SPRING, RolloutPhase.DONE)], "autumn"),
        ([plain(SPRING, "done"), plain(SUMMER, "waiting")], "summer"),
        ([plain(SPRING, "waiting"), plain(SUMMER, "progressing")], "summer"),
        ([plain(SPRING, ""), plain(SUMMER, "waiting", "n1")], "summer"),
        ([plain(SPRING, "progressing"), campaign(SUMMER, RolloutPhase.CANARY)], "spring"),
    ],
)
def test_whose_turn_it_is(records: list[tuple[str, RolloutRecord]], name: str) -> None:
    assert choosing.whose_turn(records) == name


def test_other_campaigns_count_from_their_first_act_to_their_end() -> None:
    records = [
        campaign(SPRING, RolloutPhase.BAKING),
        campaign(SUMMER, RolloutPhase.PAUSED, RolloutPhase.WAVING),
        campaign(AUTUMN, RolloutPhase.PROPOSED),
        campaign(("2025", "old"), RolloutPhase.DONE),
        campaign(("2025", "bad"), RolloutPhase.REVERTED),
        campaign(("2026", "new"), None),
        plain(("2026", "plain"), "progressing", "n1"),
    ]
    assert choosing.others(records, "autumn") == ("spring", "summer")
    assert choosing.others(records, "spring") == ("summer",)


def test_who_waits_for_half_done_nodes_lets_whoever_finishes_them_go_first() -> None:
    made, waiting = campaign(SPRING, RolloutPhase.PROPOSED)
    held = (made, replace(waiting, summary=Summary(state="waiting", holds=(("half-done", 1),))))
    assert choosing.whose_turn([held, plain(SUMMER, "waiting")]) == "summer"
    assert choosing.whose_turn([held, plain(SUMMER, "done")]) == "spring"


def test_a_step_that_waits_for_another_stands_behind_those_that_do_not() -> None:
    records = [campaign(SPRING, RolloutPhase.REVERTED), campaign(SUMMER, None), campaign(AUTUMN, None)]
    assert choosing.whose_turn(records, {"summer": "spring"}) == "autumn"
    assert choosing.whose_turn(records, {"autumn": "summer"}) == "summer"


def test_a_step_whose_predecessor_is_done_waits_for_nobody() -> None:
    records = [campaign(SPRING, RolloutPhase.DONE), campaign(SUMMER, None), campaign(AUTUMN, None)]
    assert choosing.whose_turn(records, {"summer": "spring"}) == "summer"


def test_one_that_was_done_and_is_to_be_undone_has_work_again() -> None:
    records = [campaign(SPRING, RolloutPhase.DONE), campaign(SUMMER, RolloutPhase.DONE)]
    assert choosing.whose_turn(records, undone={"spring"}) == "spring"
    assert choosing.whose_turn([campaign(SPRING, RolloutPhase.REVERTED), records[1]], undone={"spring"}) == "summer"


def test_among_those_that_ended_late_nodes_belong_to_the_last_that_moved_a_driver() -> None:
    by_hand = RolloutRecord(name="summer", campaign=CampaignRecord(phase=RolloutPhase.DONE, mode=Mode.BY_HAND))
    assert choosing.whose_turn([campaign(SPRING, RolloutPhase.DONE), (SUMMER[0], by_hand)]) == "spring"


def test_one_that_was_deleted_and_is_not_under_way_is_let_go_first() -> None:
    records = [campaign(SPRING, RolloutPhase.WAVING), campaign(SUMMER, RolloutPhase.DONE)]
    assert choosing.whose_turn(records, deleted={"summer"}) == "summer"
    assert choosing.whose_turn(records, deleted={"spring"}) == "spring"
    assert choosing.whose_turn([records[0], campaign(SUMMER, RolloutPhase.PROPOSED)], deleted={"summer"}) == "summer"
