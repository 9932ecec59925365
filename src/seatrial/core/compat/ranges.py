"""Ranges of versions with both ends included.

Which range a release supports is a fact and comes from outside. Some supported sets have holes: those are sets, not
ranges.

Tests: tests/core/compat/test_versions.py
"""

from __future__ import annotations

from seatrial.core.base.values import dataclass
from seatrial.core.compat.versions import Line, LinedVersion, Version
from seatrial.core.errors import SeatrialError


class RangeInvalid(SeatrialError, ValueError):  # noqa: N818 — like VersionInvalid
    """Two ends that enclose nothing, or none at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRange:
    """All versions of one scheme from `min` to `max`, both included; one end may be open.

    Where the ends are lines, a version is judged by its line: `4.16.23` lies within 4.12 to 4.16. Read as a version,
    an upper end of 4.16 would shut out every release of 4.16 but the first.
    """

    min: Version | None = None
    max: Version | None = None

    def __post_init__(self) -> None:
        if self.min is None and self.max is None:
            # It would contain everything, and "nothing is known" would pass for "all is supported".
            raise RangeInvalid("a range needs min or max, found neither. Say nothing where nothing is known.")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise RangeInvalid(f"range from {self.min} to {self.max} is empty: min is above max. Swap the two.")

    def contains(self, version: Version) -> bool:
        """Say whether the version lies within; raise `NotComparable` for a version of another scheme or lineage."""
        has_lines = isinstance(self.min or self.max, Line)
        subject = Line.of(version) if has_lines and isinstance(version, LinedVersion) else version
        return (self.min is None or self.min <= subject) and (self.max is None or subject <= self.max)

    def __str__(self) -> str:
        if self.min is None:
            return f"≤ {self.max}"
        return f"≥ {self.min}" if self.max is None else f"{self.min} to {self.max}"
