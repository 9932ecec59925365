"""Windows: when nodes may start, on the wall clock of a zone, through both of its jumps."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest

from seatrial.core.model.windows import Window, is_open, next_opening, openings

BERLIN = ZoneInfo("Europe/Berlin")
SATURDAY_NIGHT = Window(start_minute=22 * 60, minutes=360, days=("Sat",))


def instant(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def opened(*windows: Window, zone: tzinfo = UTC, since: str, until: str) -> list[tuple[str, str]]:
    """The openings between two instants, in UTC."""
    return [
        tuple(f"{datetime.fromtimestamp(at, UTC):%m-%d %H:%M}" for at in pair)  # type: ignore[misc]
        for pair in openings(windows, zone, instant(since), instant(until))
    ]


@pytest.mark.parametrize(
    ("window", "found"),
    [
        (SATURDAY_NIGHT, [("11-14 22:00", "11-15 04:00")]),
        (
            Window(start_minute=0, minutes=60),
            [("11-14 00:00", "11-14 01:00"), ("11-15 00:00", "11-15 01:00"), ("11-16 00:00", "11-16 01:00")],
        ),
        (Window(start_minute=60, minutes=0), []),
        (Window(start_minute=0, minutes=7 * 1440, days=("Mon",)), [("11-14 00:00", "11-17 00:00")]),
    ],
    ids=["over midnight", "every day", "no time at all", "all week, with a week before it"],
)
def test_a_window_opens_on_its_days(window: Window, found: list[tuple[str, str]]) -> None:
    assert opened(window, since="2026-11-14T00:00", until="2026-11-17T00:00") == found


def test_windows_that_overlap_are_one_opening() -> None:
    day = Window(start_minute=8 * 60, minutes=240)
    noon = Window(start_minute=10 * 60, minutes=240)
    late = Window(start_minute=20 * 60, minutes=60)
    found = opened(day, noon, late, since="2026-11-14T00:00", until="2026-11-15T00:00")
    assert found == [("11-14 08:00", "11-14 14:00"), ("11-14 20:00", "11-14 21:00")]


def test_a_window_that_is_open_already_is_told_from_now_on() -> None:
    found = opened(SATURDAY_NIGHT, since="2026-11-15T01:00", until="2026-11-15T02:00")
    assert found == [("11-15 01:00", "11-15 02:00")]


@pytest.mark.parametrize(
    ("window", "found"),
    [
        # On 29 March 2026 the clocks of Berlin jump from 02:00 to 03:00, at 01:00 UTC.
        (Window(start_minute=90, minutes=120), ("03-29 00:30", "03-29 01:30")),
        (Window(start_minute=150, minutes=60), ("03-29 01:00", "03-29 01:30")),
        (Window(start_minute=60, minutes=90), ("03-29 00:00", "03-29 01:00")),
    ],
    ids=["it spans the jump", "it begins in the missing hour", "it ends in the missing hour"],
)
def test_a_window_in_the_night_the_clock_jumps_ahead(window: Window, found: tuple[str, str]) -> None:
    assert opened(window, zone=BERLIN, since="2026-03-28T22:00", until="2026-03-29T12:00") == [found]


def test_a_window_in_the_night_the_clock_goes_back_is_as_long_on_the_wall_as_asked() -> None:
    # On 25 October 2026 the clocks of Berlin go back from 03:00 to 02:00, at 01:00 UTC.
    window = Window(start_minute=90, minutes=120)
    found = opened(window, zone=BERLIN, since="2026-10-24T22:00", until="2026-10-25T12:00")
    assert found == [("10-24 23:30", "10-25 02:30")]


def test_work_may_begin_while_a_window_is_open_and_any_time_without_windows() -> None:
    stretches = ((10.0, 20.0), (30.0, 40.0))
    assert [is_open(stretches, at) for at in (9.0, 10.0, 19.9, 20.0, 35.0)] == [False, True, True, False, True]
    assert is_open(None, 5.0)
    assert not is_open((), 5.0)


def test_the_next_opening_is_told_as_far_as_one_is_known() -> None:
    stretches = ((10.0, 20.0), (30.0, 40.0))
    assert [next_opening(stretches, at) for at in (5.0, 10.0, 30.0)] == [10.0, 30.0, None]
    assert next_opening(None, 5.0) is None
