"""What is flat and what climbs; no cluster."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from seatrial_lab.torture.flat import Line, line_through

HOUR = 3600


def line(
    value_at: Callable[[float], float], *, hours: float = 2.0, every_seconds: float = 10.0, climb_least: float = 1.0
) -> Line:
    count = int(hours * HOUR / every_seconds)
    return line_through(
        [(each * every_seconds, value_at(each * every_seconds)) for each in range(count + 1)], climb_least=climb_least
    )


def test_a_value_that_stays_is_flat() -> None:
    found = line(lambda _: 74.0)
    assert found.is_flat
    assert (found.mean, found.slope_per_hour, found.climb) == (74.0, 0.0, 0.0)


def test_the_teeth_of_a_saw_are_flat() -> None:
    assert line(lambda at: 74.0 + at % 90 / 10).is_flat


def test_a_small_leak_is_not_flat_in_two_hours() -> None:
    found = line(lambda at: 74.0 + 8.0 * at / HOUR)
    assert found.slope_per_hour == pytest.approx(8.0)
    assert found.climb == pytest.approx(12.0)
    assert not found.is_flat


def test_what_fills_in_the_beginning_counts_for_nothing() -> None:
    assert line(lambda at: 74.0 + min(at, HOUR / 2) / 60).is_flat


def test_what_is_few_may_climb_by_a_few() -> None:
    assert line(lambda at: 12.0 + at / HOUR, climb_least=4.0).is_flat
    assert not line(lambda at: 12.0 + 4 * at / HOUR, climb_least=4.0).is_flat


def test_of_a_few_samples_nothing_is_said() -> None:
    assert not line(lambda _: 74.0, hours=0.02).is_flat
    with pytest.raises(ValueError, match="nothing was sampled"):
        line_through([], climb_least=1.0)
