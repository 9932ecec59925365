"""When work may begin: windows by weekday and hour in a zone, as openings on our clock.

Law of this file: a window says when nodes may *start*; whoever is under way ends. The wall clock of a zone jumps twice
a year: a window that begins in the missing hour begins when the clock has jumped, and one that spans a jump is as long
on the wall as it was asked to be. Zones are given, not looked up: finding one reads files. Tests:
tests/core/model/test_windows.py
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Final, TypeAlias

from seatrial.core.base.values import dataclass
from seatrial.core.model.instants import Instant
from seatrial.core.text.moments import dated

DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DAY_MINUTES: Final = 24 * 60
MINUTES_MAX: Final = 7 * DAY_MINUTES
"""A window is a week long at most."""
Stretches: TypeAlias = tuple[tuple[Instant, Instant], ...]
"""When windows are open, in order and without overlap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """From a time of day for so many minutes, on these weekdays (all when empty)."""

    start_minute: int
    minutes: int
    days: tuple[str, ...] = ()


def openings(
    windows: Iterable[Window], zone: tzinfo, since: Instant, until: Instant
) -> tuple[tuple[Instant, Instant], ...]:
    """The stretches of time in which some window is open, between two instants, in order and without overlap."""
    found: list[tuple[Instant, Instant]] = []
    for window in windows:
        # A window may begin on the day before and reach into this one; a week is the longest it can be.
        first = dated(since, zone).date() - timedelta(days=8)
        last = dated(until, zone).date() + timedelta(days=1)
        for number in range((last - first).days + 1):
            day = first + timedelta(days=number)
            if window.days and DAYS[day.weekday()] not in window.days:
                continue
            midnight = datetime.combine(day, time(), zone)
            opens, closes = (
                _instant(midnight, window.start_minute),
                _instant(midnight, window.start_minute + window.minutes),
            )
            if closes > since and opens < until and closes > opens:
                found.append((max(opens, since), min(closes, until)))
    return _merged(sorted(found))


def _instant(midnight: datetime, minutes: int) -> Instant:
    """So many minutes after midnight, as the wall clock counts them."""
    wall = midnight + timedelta(minutes=minutes)  # on the wall: Python adds to a zoned time without looking at the zone
    instant = wall.astimezone(UTC)
    if instant.astimezone(wall.tzinfo).replace(tzinfo=None) == wall.replace(tzinfo=None):
        return instant.timestamp()
    # No clock of the zone ever shows it; read by the rules after the jump, it lies before the jump.
    instant, before = wall.replace(fold=1).astimezone(UTC), wall.utcoffset()
    while instant.astimezone(wall.tzinfo).utcoffset() == before:
        instant += timedelta(minutes=1)
    return instant.timestamp()


def _merged(stretches: Iterable[tuple[Instant, Instant]]) -> tuple[tuple[Instant, Instant], ...]:
    found: list[tuple[Instant, Instant]] = []
    for opens, closes in stretches:
        if found and opens <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], closes))
        else:
            found.append((opens, closes))
    return tuple(found)


def is_open(stretches: Stretches | None, now: Instant, margin_seconds: float = 0.0) -> bool:
    """Whether work may begin now; without windows it always may. With a margin, each closes so much earlier."""
    return stretches is None or closing(stretches, now, margin_seconds) is not None


def closing(stretches: Stretches | None, now: Instant, margin_seconds: float = 0.0) -> Instant | None:
    """When the window that is open now closes; None when none is, or there are none."""
    for opens, closes in stretches or ():
        # A window shorter than twice the margin would hardly open at all.
        ends = closes - min(margin_seconds, (closes - opens) / 2)
        if opens <= now < ends:
            return ends
    return None


def next_opening(stretches: Stretches | None, now: Instant) -> Instant | None:
    """When the next window opens; None when none is known to."""
    return min((opens for opens, _ in stretches or () if opens > now), default=None)
