"""What `seatrial status` tells of a rollout by attrition: the time that is used, why it stands still, what it costs."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from seatrial.cli.show import standing, watch
from seatrial.cli.show.tree import Ink
from seatrial.core.model.campaign import CampaignRecord, RolloutPhase
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.rollouts import Cost
from tests.builders import NOW
from tests.cli.test_status import Show, a_look, show  # noqa: F401  a fixture
from tests.core.budget.test_attrition_books import HOUR, WAVING, a_job, node, seen, wish

COST = Cost(
    idle_gpu_seconds=5400.0,
    thrown_gpu_seconds=36_000.0,
    reload_gpu_seconds=90_000.0,
    evictions=3,
    evicting_gpu_seconds=720_000.0,
)
NINE = replace(WAVING, waving_since=NOW - 9 * HOUR)


def lines(record: CampaignRecord, intent: Intent | None = None, width: int = 0) -> list[str]:
    snapshot = seen(node("n1", a_job("j", "n1")), record=record)
    snapshot = replace(snapshot, rollout=replace(snapshot.rollout, cost=COST))
    found = a_look(snapshot, intent or wish())
    page = standing.lines_of(found, named_max=4, ink=Ink(), width=width)
    first = next(number for number, line in enumerate(page) if line.startswith("Attrition"))
    last = next(number for number, line in enumerate(page) if line.startswith("Done "))
    return page[first:last]


def test_the_time_that_is_used_is_told_with_what_it_has_cost_by_cause() -> None:
    time, cost = lines(NINE)
    assert time == "Attrition 9 h of 24 h used, 15 h left"
    assert cost.strip() == (
        "GPU-hours lost: idle 1.5, thrown away 10.0, reload 25.0; 3 jobs evicted; to evict all would have cost 200.0"
    )


def test_it_fits_a_narrow_terminal() -> None:
    assert all(len(line) <= 80 for line in lines(NINE, width=80))


SHUT = replace(WAVING, waving_since=0.0, waved_seconds=6 * HOUR)


@pytest.mark.parametrize(
    ("record", "openings", "says"),
    [
        (replace(SHUT, phase=RolloutPhase.PAUSED, paused_in=RolloutPhase.WAVING), None, "the rollout is paused"),
        (SHUT, ((NOW + HOUR, NOW + 2 * HOUR),), "no window is open until "),
        (SHUT, (), "no window is open"),
        (replace(SHUT, phase=RolloutPhase.BAKING, waved_seconds=0.0), None, "the waves have not opened"),
        (replace(SHUT, phase=RolloutPhase.REVERTING), None, "the rollout goes back"),
    ],
)
def test_a_deadline_that_stands_still_says_why(
    record: CampaignRecord, openings: tuple[tuple[float, float], ...] | None, says: str
) -> None:
    intent = wish()
    assert intent.campaign is not None
    intent = replace(intent, campaign=replace(intent.campaign, openings=openings))
    text = lines(record, intent)[0]
    assert "of 24 h used; the deadline stands still: " in text
    assert says in text


def test_a_deadline_that_is_over_says_by_how_much() -> None:
    assert lines(replace(WAVING, waving_since=NOW - 25 * HOUR))[0] == (
        "Attrition 25 h of 24 h used: the deadline is over by 1 h"
    )


def test_who_watches_sees_it_below_the_tree() -> None:
    page = watch.page_of(a_look(seen(node("n1", a_job("j", "n1")), record=NINE), wish()), Ink(), 80)
    assert page[-1] == "Attrition 9 h of 24 h used, 15 h left"
    without = watch.page_of(a_look(seen(node("n1"), record=NINE), replace(wish(), attrition=None)), Ink(), 80)
    assert not any(line.startswith("Attrition") for line in without)


def test_scripts_get_the_same(show: Show) -> None:  # noqa: F811
    snapshot = seen(node("n1", a_job("j", "n1")), record=NINE)
    snapshot = replace(snapshot, rollout=replace(snapshot.rollout, cost=COST))
    told = json.loads(show(a_look(snapshot, wish()), "json")[1])["attrition"]
    assert (told["deadlineSeconds"], told["usedSeconds"], told["standsStill"]) == (86_400, 32_400, None)
    assert told["cost"] == {
        "idleGPUHours": 1.5,
        "thrownAwayGPUHours": 10.0,
        "reloadGPUHours": 25.0,
        "evictions": 3,
        "evictingAllGPUHours": 200.0,
    }
