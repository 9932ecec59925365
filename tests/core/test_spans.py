"""Spans of time read as people say them."""

from __future__ import annotations

import pytest

from seatrial.core.text import spans


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3, "0 s"),
        (0.4, "0 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (125, "2 min 5 s"),
        (3600, "1 h"),
        (7384, "2 h 3 min"),
        (24 * 3600, "24 h"),
        (47 * 3600 + 120, "47 h 2 min"),
        (48 * 3600, "2 d"),
        (51 * 3600 + 59, "2 d 3 h"),
        (30 * 86400, "30 d"),
    ],
)
def test_a_span_is_said_in_its_natural_units(seconds: float, text: str) -> None:
    assert spans.span(seconds) == text


def test_a_part_of_an_hour_is_said_in_minutes() -> None:
    assert (spans.hours(1 / 30), spans.hours(48)) == ("2 min", "2 d")
