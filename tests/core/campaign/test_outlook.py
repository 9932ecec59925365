"""How long a campaign takes yet: a number with what it rests on, or a floor, and never a guess."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.campaign.outlook import Outlook, outlook
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import CampaignRecord, Growth, Point, RolloutPhase, Turn, Waves
from seatrial.core.model.policy import Share
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.rollouts import Told, Waiting
from seatrial.core.movers.view import View
from tests.builders import (
    NOW,
    a_campaign,
    a_campaign_record,
    a_done_node,
    a_node,
    a_snapshot,
    a_view,
    an_intent,
    an_old_node,
    an_operator,
)

HOUR = 3600.0
CANARY_TOOK = 600.0
PROVED = (
    Turn(phase=RolloutPhase.PROPOSED, at=0.0),
    Turn(phase=RolloutPhase.CANARY, at=100.0),
    Turn(phase=RolloutPhase.GATING, at=100.0 + CANARY_TOOK),
    Turn(phase=RolloutPhase.BAKING, at=800.0),
)
BY_FOUR = Waves(growth=Growth.FIXED, first=Share(amount=4), pause_seconds=60.0)
FLEET = ("n2", "n3", "n4", "n5", "n6", "n7")


def view(
    phase: RolloutPhase, *, done: int = 0, now: float = NOW, record: dict[str, Any] | None = None, **changes: Any
) -> View:
    """A canary, and six nodes in two waves, two at a time."""
    said: dict[str, Any] = {"history": PROVED} | (record or {})
    written: CampaignRecord = a_campaign_record(phase, **said)
    rest: list[NodeSeen] = [
        a_done_node(name) if number < done else an_old_node(name) for number, name in enumerate(FLEET)
    ]
    first = an_old_node() if phase in (RolloutPhase.PROPOSED, RolloutPhase.CANARY) else a_done_node()
    seen = a_snapshot(first, *rest, campaign=written, operator=an_operator())
    campaign = a_campaign(**({"waves": BY_FOUR} | changes))
    return a_view(seen, an_intent(parallel_max=2, unavailable_max=3, campaign=campaign), now=now)


def test_before_the_bake_the_bake_alone_is_known() -> None:
    for phase in (RolloutPhase.PROPOSED, RolloutPhase.CANARY):
        found = outlook(view(phase, record={"history": ()}))
        assert found == Outlook(seconds=48 * HOUR, is_floor=True, rests_on="the bake alone")


def test_while_it_bakes_what_is_left_of_it_is_known_and_nothing_of_the_fleet() -> None:
    found = outlook(view(RolloutPhase.BAKING, record={"baked_seconds": 47 * HOUR}))
    assert found == Outlook(seconds=HOUR, is_floor=True, rests_on="what is left of the bake")
    assert outlook(view(RolloutPhase.BAKING, record={"baked_seconds": 48 * HOUR})) is None, "nothing is known"


def test_in_the_waves_the_fleet_goes_on_at_the_pace_of_those_that_are_through() -> None:
    waving = (*PROVED, Turn(phase=RolloutPhase.WAVING, at=900.0))
    nobody = view(RolloutPhase.WAVING, record={"history": waving}, now=1000.0)
    assert outlook(nobody) is None, "however long the canary waited for a commit"
    two = view(RolloutPhase.WAVING, record={"history": waving}, done=2, now=1000.0)
    assert outlook(two) == Outlook(seconds=4 * 50.0 + 60, rests_on="the pace of the 2 nodes that are done")
    second = view(RolloutPhase.WAVING, record={"history": waving, "wave": 1}, done=5, now=1460.0)
    assert outlook(second) == Outlook(seconds=100.0, rests_on="the pace of the 5 nodes that are done")
    long_ago = view(RolloutPhase.WAVING, record={"history": waving[-1:], "wave": 1}, done=5, now=1460.0)
    assert outlook(long_ago) is None, "when the waves began is not known any more"
    everybody = view(RolloutPhase.WAVING, record={"history": waving, "wave": 1}, done=6, now=1460.0)
    assert outlook(everybody) is None


@pytest.mark.parametrize(
    ("changes", "is_floor"),
    [
        ({}, False),
        ({"manual": (Point.WAVES,), "approved": (Point.WAVES,)}, False),
        ({"manual": (Point.PROMOTION,), "approved": (Point.WAVES,)}, True),
        ({"openings": ((0.0, 9e9),)}, True),
    ],
    ids=["nobody", "a yes that was said", "a later yes", "windows"],
)
def test_what_nobody_can_know_makes_it_a_floor(changes: dict[str, Any], is_floor: bool) -> None:
    waving = (*PROVED, Turn(phase=RolloutPhase.WAVING, at=900.0))
    found = outlook(view(RolloutPhase.WAVING, record={"history": waving}, done=2, now=1000.0, **changes))
    assert found is not None
    assert found.is_floor is is_floor


def test_how_long_a_pause_lasts_is_unknown() -> None:
    paused = view(RolloutPhase.PAUSED, record={"paused_in": RolloutPhase.BAKING, "baked_seconds": 47 * HOUR})
    assert outlook(paused) == Outlook(seconds=None, rests_on="the rollout is paused")


BAKES = {"baked_seconds": 47 * HOUR}


def a_wait(code: HoldCode, *nodes: str) -> Waiting:
    return Waiting(code=code, why="it waits", next_step="Do it.", nodes=nodes, count=len(nodes))


def test_while_the_rollout_waits_for_a_person_the_time_is_unknown_and_says_for_what() -> None:
    approval = Told(code=HoldCode.APPROVAL_PENDING, why="it waits", next_step="Approve.")
    found = outlook(view(RolloutPhase.BAKING, record=BAKES), [approval])
    assert found == Outlook(seconds=None, rests_on="the rollout waits: approval-pending")
    going = Told(code=HoldCode.GATES_RUNNING, why="gates run", next_step="Wait.")
    assert outlook(view(RolloutPhase.BAKING, record=BAKES), [going]) == outlook(view(RolloutPhase.BAKING, record=BAKES))


def test_while_a_node_has_failed_the_time_is_unknown_also_where_as_many_may_fail() -> None:
    waving = (*PROVED, Turn(phase=RolloutPhase.WAVING, at=900.0))
    before = view(RolloutPhase.WAVING, record={"history": waving}, done=2, now=1000.0)
    failed = a_node("n4", NodePhase.UPGRADE_FAILED, record={"reason": "driver-timeout", "failed_revision": "new"})
    seen = replace(before.seen, nodes={**before.seen.nodes, "n4": failed})
    assert outlook(replace(before, seen=seen)) == Outlook(seconds=None, rests_on="n4 has failed")


def test_while_a_node_is_held_by_what_only_a_person_ends_the_time_is_unknown() -> None:
    waving = (*PROVED, Turn(phase=RolloutPhase.WAVING, at=900.0))
    moving = view(RolloutPhase.WAVING, record={"history": waving}, done=2, now=1000.0)
    held = outlook(moving, nodes=[a_wait(HoldCode.POD_WITHOUT_CONTROLLER, "n4", "n5")])
    assert held == Outlook(seconds=None, rests_on="n4, n5 are held up: pod-without-controller")
    queued = outlook(moving, nodes=[a_wait(HoldCode.NOT_ITS_TURN, "n6"), a_wait(HoldCode.JOBS_RUNNING, "n4")])
    assert queued == outlook(moving)


@pytest.mark.parametrize("phase", [RolloutPhase.PROMOTING, RolloutPhase.DONE, RolloutPhase.REVERTING])
def test_after_the_fleet_and_on_the_way_back_nothing_is_foreseen(phase: RolloutPhase) -> None:
    assert outlook(view(phase)) is None
