"""Instants: one form everywhere, what is read lies between 1970 and 2200, what is shown always has a text."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import seatrial.core
from seatrial.core.text.moments import dated, instant_of, moment, readable_instant


def test_an_instant_is_told_in_utc_to_the_second_and_an_unknown_one_stays_unknown() -> None:
    assert moment(1_767_323_045.25) == "2026-01-02T03:04:05Z"
    assert moment(None) is None


@pytest.mark.parametrize(
    "text",
    [
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+05:00",
        "1969-12-31T23:59:59Z",
        "2200-01-01T00:00:01Z",
        "9999-12-31T23:59:59-05:00",
        "9999-12-31T23:59:59.999999Z",
        "2026-01-02T03:04:05",
        "tomorrow",
    ],
)
def test_a_time_before_1970_or_after_2200_or_in_no_zone_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"year|between 1970 and 2200|lacks its offset|Invalid isoformat"):
        instant_of(text)
    assert readable_instant(text) is None


@pytest.mark.parametrize("at", [-1.0, 1e12, 1e300, -1e300, math.inf, -math.inf, math.nan])
def test_whatever_is_reckoned_has_a_text(at: float) -> None:
    assert 1970 <= dated(at).year <= 2200
    assert instant_of(moment(at)) == dated(at).timestamp()


def test_core_makes_dates_of_instants_in_one_place() -> None:
    core = Path(seatrial.core.__file__).parent
    made = [path.name for path in core.rglob("*.py") if "fromtimestamp(" in path.read_text(encoding="utf-8")]
    assert made == ["moments.py"]
