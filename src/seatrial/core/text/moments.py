"""Instants as people and scripts read and write them: RFC 3339, in UTC, to the second.

Law of this file: one form everywhere, and nowhere else does core make a date of an instant; one that is not known stays
unknown. What is read lies between 1970 and 2200, what is shown always has a text.
Tests: tests/core/text/test_moments.py
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import Final, overload

EARLIEST: Final = 0.0
LATEST: Final = 7_258_118_400.0
"""1970 and 2200: what lies outside was not meant, and calendars come to an end soon after."""


def instant_of(text: str) -> float:
    """Read RFC 3339; ValueError for a time before 1970 or after 2200, or without its offset: that could be any hour."""
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError(f"the time {text!r} lacks its offset, such as Z")
    if not EARLIEST <= at.timestamp() <= LATEST:
        raise ValueError(f"the time {text!r} is not between 1970 and 2200")
    return at.timestamp()


def readable_instant(text: str | None) -> float | None:
    """The same, where a time that is missing or cannot be read tells nothing."""
    try:
        return instant_of(text) if text else None
    except ValueError:
        return None


def dated(at: float, zone: tzinfo = UTC) -> datetime:
    """An instant as a date; what lies before 1970 or after 2200 is shown as that year."""
    return datetime.fromtimestamp(min(LATEST, max(EARLIEST, at)), zone)


@overload
def moment(at: float) -> str: ...
@overload
def moment(at: None) -> None: ...
def moment(at: float | None) -> str | None:
    """An instant in RFC 3339."""
    return None if at is None else f"{dated(at):%Y-%m-%dT%H:%M:%SZ}"
