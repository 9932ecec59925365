"""How long a campaign takes yet: a number with what it rests on, or a floor, and never a guess."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.core.campaign.outlook import Outlook, outlook
from seatrial.core.compat.matrix import Component
from seatrial.core.model.campaign import Bake, ByHand, CampaignRecord, Growth, Mode, Point, RolloutPhase, Turn, Waves
from seatrial.core.model.gates.attested import Attest
from seatrial.core.model.gates.gate import Gate
from seatrial.core.model.policy import Share
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.movers.view import View
from tests.builders import (
    NOW,
    a_campaign,
    a_campaign_record,
    a_done_node,
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


def test_before_a_node_has_shown_how_long_it_takes_the_bake_is_a_floor() -> None:
    for phase in (RolloutPhase.PROPOSED, RolloutPhase.CANARY):
        assert outlook(view(phase, record={"history": ()})) == Outlook(seconds=48 * HOUR, is_floor=True)


def test_while_it_bakes_the_fleet_is_foreseen_as_the_canary_went() -> None:
    found = outlook(view(RolloutPhase.BAKING, record={"baked_seconds": 47 * HOUR}))
    # Four nodes in two rounds, a pause, two nodes in one round.
    assert found == Outlook(seconds=HOUR + 3 * CANARY_TOOK + 60)


def test_nobody_knows_when_people_will_say_their_word() -> None:
    asks = Gate(name="signed", attest=Attest(asks="the tenants are content"))
    found = outlook(view(RolloutPhase.BAKING, record={"baked_seconds": 47 * HOUR}, gates=(asks,)))
    assert found == Outlook(seconds=HOUR + 3 * CANARY_TOOK + 60, is_floor=True)


def test_in_the_waves_the_fleet_goes_on_at_its_own_pace() -> None:
    waving = (*PROVED, Turn(phase=RolloutPhase.WAVING, at=900.0))
    nobody = view(RolloutPhase.WAVING, record={"history": waving}, now=1000.0)
    assert outlook(nobody) == Outlook(seconds=3 * CANARY_TOOK + 60)
    two = view(RolloutPhase.WAVING, record={"history": waving}, done=2, now=1000.0)
    assert outlook(two) == Outlook(seconds=4 * 50.0 + 60)
    second = view(RolloutPhase.WAVING, record={"history": waving, "wave": 1}, done=5, now=1460.0)
    assert outlook(second) == Outlook(seconds=100.0)
    long_ago = view(RolloutPhase.WAVING, record={"history": waving[-1:], "wave": 1}, done=5, now=1460.0)
    assert outlook(long_ago) == Outlook(seconds=0.0, is_floor=True), "when the waves began is not known any more"
    everybody = view(RolloutPhase.WAVING, record={"history": waving, "wave": 1}, done=6, now=1460.0)
    assert outlook(everybody) == Outlook(seconds=0.0)


@pytest.mark.parametrize(
    "changes",
    [
        {"manual": (Point.WAVES,)},
        {"manual": (Point.PROMOTION,), "approved": (Point.WAVES,)},
        {"openings": ((0.0, 9e9),)},
        {"by_hand": ByHand(component=Component.KERNEL), "record": {"mode": Mode.BY_HAND}},
        {"bake": Bake(exclude=0.03)},
    ],
    ids=["a yes", "a later yes", "windows", "people", "a proof"],
)
def test_what_nobody_can_know_makes_it_a_floor(changes: dict[str, Any]) -> None:
    found = outlook(view(RolloutPhase.BAKING, **changes))
    assert found is not None
    assert found.is_floor


def test_a_yes_that_was_said_is_not_waited_for() -> None:
    found = outlook(view(RolloutPhase.BAKING, manual=(Point.CANARY, Point.WAVES), approved=(Point.WAVES,)))
    assert found is not None
    assert not found.is_floor


def test_a_pause_foresees_what_it_interrupted() -> None:
    paused = view(RolloutPhase.PAUSED, record={"paused_in": RolloutPhase.BAKING, "baked_seconds": 47 * HOUR})
    assert outlook(paused) == Outlook(seconds=HOUR + 3 * CANARY_TOOK + 60)


@pytest.mark.parametrize("phase", [RolloutPhase.PROMOTING, RolloutPhase.DONE, RolloutPhase.REVERTING])
def test_after_the_fleet_and_on_the_way_back_nothing_is_foreseen(phase: RolloutPhase) -> None:
    assert outlook(view(phase)) is None
