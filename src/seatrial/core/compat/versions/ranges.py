"""Release lines, and ranges of versions with both ends included.

Which range a release supports is a fact and comes from outside. Some supported sets have holes: those are sets, not
ranges.

Tests: tests/core/test_versions.py
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Self

from seatrial.core.compat.versions.values import Form, LinedVersion, Rank, Scheme, Version
from seatrial.core.errors import SeatrialError


class RangeInvalid(SeatrialError, ValueError):  # noqa: N818 — like VersionInvalid
    """Two ends that enclose nothing, or none at all."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Line(LinedVersion):
    """A release line such as `24.9`, `4.16` or `1.30`; whose line it is, the caller knows."""

    scheme: ClassVar = Scheme.LINE
    form: ClassVar = Form(
        pattern=re.compile(r"v?(?P<first>[0-9]+)\.(?P<second>[0-9]+)"),
        shape="two numbers",
        example="24.9 or 4.16",
        advice="Leave the patch off, or read the text by the scheme of its component.",
    )

    first: int
    second: int

    @classmethod
    def _read(cls, match: re.Match[str]) -> Self:
        return cls(text=match[0], first=int(match["first"]), second=int(match["second"]))

    @classmethod
    def of(cls, version: LinedVersion) -> Line:
        """Give the line of a version as a value that has an order."""
        return _line(version.line)

    @property
    def rank(self) -> Rank:
        return (self.first, self.second)

    @property
    def line(self) -> str:
        return f"{self.first}.{self.second}"


@lru_cache(maxsize=1024)
def _line(text: str) -> Line:
    """There are some dozens of lines, and a plan asks for them tens of thousands of times."""
    return Line.parse(text)


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
