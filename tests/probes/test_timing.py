"""Medians, how sure they are, and the state a GPU was in."""

from __future__ import annotations

import random

import pytest

from seatrial.probes.measuring import timing
from seatrial.probes.measuring.clocks import why_not_held


def test_one_slow_block_moves_neither_the_median_nor_the_spread() -> None:
    steady, disturbed = timing.figures([100.0] * 40), timing.figures([100.0] * 39 + [40.0])
    assert disturbed["value"] == steady["value"] == 100.0
    assert disturbed["spread"] == 0.0


def test_the_interval_holds_the_true_median_as_often_as_it_says() -> None:
    drawing = random.Random(1)  # noqa: S311  a simulation
    held = 0
    for _ in range(2000):
        low, high = timing.interval([drawing.gauss(0, 1) for _ in range(40)])
        held += low <= 0 <= high
    assert held >= 0.98 * 2000


def test_few_blocks_give_all_they_have_as_interval() -> None:
    assert timing.interval([3.0, 1.0, 2.0]) == (1.0, 3.0)
    assert timing.interval([5.0]) == (5.0, 5.0)


def test_the_interval_narrows_with_more_blocks() -> None:
    drawing = random.Random(2)  # noqa: S311  a simulation
    few, many = ([drawing.gauss(100, 1) for _ in range(count)] for count in (20, 500))
    width = [high - low for low, high in (timing.interval(few), timing.interval(many))]
    assert width[1] < width[0] / 2


@pytest.mark.parametrize(("share", "value"), [(0.5, 50), (0.95, 95), (0.99, 99), (1.0, 100)])
def test_a_percentile_is_one_of_the_values(share: float, value: float) -> None:
    assert timing.percentile([float(number) for number in range(100, 0, -1)], share) == value


def test_states_are_summed_up_by_medians_and_by_what_held_back_often() -> None:
    fast: dict[str, float | str] = {"sm_mhz": 1980.0, "held_back": ""}
    held: dict[str, float | str] = {"sm_mhz": 1455.0, "held_back": "power-limit"}
    idle: dict[str, float | str] = {"sm_mhz": 345.0, "held_back": "idle"}
    states = [*[fast] * 15, *[held] * 24, idle]
    assert timing.summed_up(states) == {"sm_mhz": 1455.0, "held_back": "power-limit"}


def test_a_clock_that_was_not_had_is_told_with_what_held_it_back() -> None:
    assert why_not_held(1200, {"sm_mhz": 1200.0, "held_back": ""}) == ""
    assert why_not_held(1500, {"sm_mhz": 1455.0, "held_back": "power-limit"}) == (
        "asked for 1500 MHz and got 1455 (power-limit): lock lower, so that the power limit does not decide"
    )
    assert "cannot be read" in why_not_held(1200, {})
