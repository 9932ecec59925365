"""One form of an instant everywhere."""

from __future__ import annotations

from seatrial.core.text.moments import moment


def test_an_instant_is_told_in_utc_to_the_second_and_an_unknown_one_stays_unknown() -> None:
    assert moment(1_767_323_045.25) == "2026-01-02T03:04:05Z"
    assert moment(None) is None
