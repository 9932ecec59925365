"""How durations are written, drawn and told."""

from __future__ import annotations

import random

import pytest

from seatrial.sim.forecast.durations import (
    Behaviours,
    Constant,
    DurationInvalid,
    Empirical,
    LogNormal,
    Uniform,
    lumped,
    parse,
)
from seatrial.sim.world import DELAYS


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("180", Constant(180.0)),
        ("3m", Constant(180.0)),
        ("1.5h", Constant(5400.0)),
        ("180±60", Uniform(120.0, 240.0)),
        ("180+-60", Uniform(120.0, 240.0)),
        ("2..4m", Uniform(120.0, 240.0)),
        ("90 s .. 4 min", Uniform(90.0, 240.0)),
        ("180~0.3", LogNormal(180.0, 0.3)),
        ("3m~0.3", LogNormal(180.0, 0.3)),
    ],
)
def test_durations_as_people_write_them(text: str, found: object) -> None:
    assert parse(text) == found


@pytest.mark.parametrize("text", ["", "soon", "-5", "180±200", "300..120", "3 days"])
def test_what_is_no_duration_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(DurationInvalid, match=r"Write "):
        parse(text)


@pytest.mark.parametrize(
    "duration", [Constant(5.0), Uniform(1.0, 9.0), LogNormal(60.0, 0.5), Empirical((1.0, 2.0, 50.0))]
)
def test_a_seed_repeats_what_is_drawn(duration: Constant | Uniform | LogNormal | Empirical) -> None:
    first, second = random.Random(3), random.Random(3)  # noqa: S311
    assert [duration.draw(first) for _ in range(20)] == [duration.draw(second) for _ in range(20)]


def test_draws_keep_within_their_ends() -> None:
    chance = random.Random(1)  # noqa: S311
    assert all(1 <= Uniform(1.0, 9.0).draw(chance) <= 9 for _ in range(200))
    assert {Empirical((1.0, 2.0)).draw(chance) for _ in range(50)} == {1.0, 2.0}
    drawn = sorted(LogNormal(100.0, 0.4).draw(chance) for _ in range(999))
    assert drawn[499] == pytest.approx(100, rel=0.1)


def test_every_reaction_of_the_simulator_has_a_duration() -> None:
    assert Behaviours().durations.keys() == DELAYS.keys()


def test_the_source_of_a_duration_is_told() -> None:
    given = Behaviours().with_durations("given by --grace", {"pods leave": Constant(5.0)})
    assert given.source_of("pods leave") == "given by --grace"
    assert "vendor" in given.source_of("driver gets ready")
    assert given.durations["driver gets ready"] == Behaviours().durations["driver gets ready"]


def test_where_only_the_sum_is_known_one_of_several_has_it() -> None:
    assert lumped(("a", "b"), "b", Constant(7.0)) == {"a": Constant(0.0), "b": Constant(7.0)}
