"""What an upgrade will cost, asked without a command line. What is printed of it: tests/cli/test_forecast.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatrial.app import forecasting
from seatrial.app.forecasting import Fleet, ForecastOptions
from seatrial.core.errors import SeatrialError
from seatrial.core.model.policy import Share
from seatrial.core.model.seen.operators import OperatorFacts
from tests import builders


def asked(**changes: object) -> ForecastOptions:
    plain = {"samples": 2, "seed": 7, "parallel": (1,), "unavailable": (Share.parse("25%"),)}
    return ForecastOptions(**(plain | changes))  # type: ignore[arg-type]


def test_a_fleet_that_was_seen_is_forecast_with_progress_told_to_its_end() -> None:
    seen = builders.a_snapshot(builders.an_old_node("n1"), builders.an_old_node("n2"))
    question = forecasting.question_of(asked(), Fleet(source="here", seen=seen, intent=builders.an_intent()))
    told: list[tuple[int, int]] = []
    data = forecasting.answer(question, lambda done, of: told.append((done, of)))
    assert (data["source"], data["fleet"]["nodes"], data["seed"]) == ("here", 2, 7)
    assert told[-1][0] == told[-1][1]


def test_a_cluster_without_a_rollout_is_a_fleet_too() -> None:
    fleet = forecasting.fleet_of("here", {"n1": builders.a_well_node("n1")}, OperatorFacts(), None)
    assert len(forecasting.question_of(asked(), fleet).model.members) == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [({"nodes": 3, "snapshot": Path("s.json")}, "both name a fleet"), ({"pods_per_node": 1}, "needs --nodes")],
)
def test_what_cannot_be_meant_together_is_refused(options: dict[str, object], says: str) -> None:
    with pytest.raises(SeatrialError, match=says):
        forecasting.check(asked(**options))


def test_a_plan_asks_about_a_fleet_whose_nodes_all_have_to_move() -> None:
    seen = builders.a_snapshot(builders.a_well_node("n1"), builders.a_well_node("n2"))
    told = forecasting.expected(asked(), Fleet(source="here", seen=seen, intent=builders.an_intent()))
    assert (told.nodes, told.source) == (2, "here")
    assert told.seconds_p50 is not None
    assert told.seconds_p50 > 0
