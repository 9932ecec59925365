"""Spans of time as people say them: `45 s`, `2 min 5 s`, `3 h 20 min`, `2 d 3 h`.

Law of this file: two units at most, the smaller one only where it is not zero; whoever shows a span shows it like this.
Hours go up to 48, as in kubectl. Tests: tests/core/text/test_names.py
"""

from __future__ import annotations

from typing import Final

_UNITS: Final = (
    (172_800, 86_400, "d", 3600, "h"),
    (3600, 3600, "h", 60, "min"),
    (60, 60, "min", 1, "s"),
)
"""From which length on, the larger unit and its name, the smaller one and its name."""


def span(seconds: float) -> str:
    """A duration in its natural units."""
    whole = max(0, round(seconds))
    for least, large, name, small, small_name in _UNITS:
        if whole >= least:
            count, rest = whole // large, whole % large // small
            return f"{count} {name} {rest} {small_name}" if rest else f"{count} {name}"
    return f"{whole} s"


def hours(count: float) -> str:
    """The same, of a number of hours."""
    return span(count * 3600)
