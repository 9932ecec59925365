"""The settings that a rollout used, row by row."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.core.compat.matrix import Component
from seatrial.core.model.campaign import Bake, ByHand, Canary, Growth, Point, Waves
from seatrial.core.model.intent import Domain, Order, Retries
from seatrial.core.model.policy import Share
from seatrial.core.survey.report.settings import settings
from tests.builders import a_campaign, an_intent


def rows(campaign: dict[str, Any] | None = None, **intent: Any) -> dict[str, str]:
    asked = a_campaign(**campaign) if campaign is not None else None
    return dict(settings(an_intent(campaign=asked, **intent)))


def test_a_rollout_without_a_canary_has_limits_and_nothing_of_a_campaign() -> None:
    found = rows(parallel_max=3, unavailable_max="25%", failed_max=1)
    assert found == {"limits": "3 at once, 25% unavailable, 1 failure tolerated"}


def test_domains_order_and_retries_are_told_where_somebody_set_them() -> None:
    domains = (Domain(label="rack", unavailable_max=Share(amount=2)), Domain(label="clique", is_unit=True))
    found = rows(domains=domains, order=Order.IDLE_FIRST, retries=Retries(count_max=2), selector={"pool": "a"})
    assert found["rack"] == "2 unavailable in each"
    assert found["clique"] == "no limit, upgraded as one unit"
    assert found["order"] == "idle-first"
    assert found["retries"] == "2, the first after 5 min"
    assert found["nodes"] == "pool=a"


def test_a_campaign_tells_its_canary_its_bake_and_who_has_to_say_yes() -> None:
    found = rows(
        {
            "canary": Canary(count=2, selector={"pool": "a"}),
            "bake": Bake(seconds=7200.0, every_seconds=600.0, load_min=0.5, exclude=0.03),
            "manual": (Point.WAVES, Point.PROMOTION),
            "openings": ((0.0, 1.0),),
        }
    )
    assert found["canary"] == "2 nodes among pool=a"
    assert found["bake"] == (
        "2 h with evidence, gates every 10 min, at work for 50% of it, until a loss of 3% is excluded"
    )
    assert found["a person says yes to"] == "waves, promotion"
    assert found["windows"] == "work begins in its windows only"
    assert found["published by"] == "writing the resource"
    assert rows({"bake": Bake(seconds=0.0)})["bake"] == "none"
    assert rows({"by_hand": ByHand(component=Component.FIRMWARE_CX7)})["moved by"] == "people, by hand"


@pytest.mark.parametrize(
    ("waves", "told"),
    [
        (Waves(pause_seconds=60.0), "first 5%, each 2 times as large, 1 min between them"),
        (Waves(growth=Growth.FIXED, first=Share(amount=3)), "3 each"),
        (Waves(growth=Growth.LINEAR), "first 5%, each larger by 5%"),
        (
            Waves(growth=Growth.SHARES, shares=(Share(amount=5, is_percent=True), Share(amount=100, is_percent=True))),
            "up to 5%, 100% of the fleet",
        ),
    ],
)
def test_waves_are_told_by_how_they_grow(waves: Waves, told: str) -> None:
    assert rows({"waves": waves})["waves"] == told
