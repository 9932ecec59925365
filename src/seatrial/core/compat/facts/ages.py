"""How old knowledge is: each source that facts name, and the day up to which it was read.

    github:OWNER/REPO@…      the day of the commit it was read at       generated.repos
    an address               the day it was read, where somebody noted it    sources: {ADDRESS: {read: DAY}}
      read as a stored copy  the day of its newest statement                 sources: {ADDRESS: {read: …, newest: DAY}}
    any other                read by the day of the file, at the latest      generated.on
    confidence: memory       not read at all

Law of this file: no day is guessed. A source without one says so. Tests: tests/core/compat/test_facts_ages.py
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date
from enum import StrEnum
from typing import Any, Final

from seatrial.core.base.values import dataclass
from seatrial.core.compat.facts.reading import read
from seatrial.core.compat.facts.spots import Spot, day_at, entries_of
from seatrial.core.compat.findings import Confidence

_REPOSITORY: Final = re.compile(r"github:(?P<name>[\w-]+/[\w-]+(?:\.[\w-]+)*)")
_ADDRESS: Final = re.compile(r"(?:https?://)?(?P<address>[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}(?:/[^\s;,()]*)?)")
_SOURCES: Final = ("source", "evidence")


class Known(StrEnum):
    """What a day says."""

    AS_OF = "as of"
    """The source was read as it was on that day."""
    BY = "by"
    """It was read on that day or before; nobody noted when."""
    UNDATED = "undated"
    """The file that names it says no day."""
    NOT_READ = "not read"
    """A fact from memory: its source is named, and was not looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceAge:
    """One source, and how old what we know from it is."""

    name: str
    known: Known
    day: date | None
    fact_count: int
    origin: str = ""
    """The user's file or bundle that names it; empty for what we ship."""


def ages(data: Any, *, origin: str = "", by: date | None = None) -> tuple[SourceAge, ...]:
    """Every source that these facts name; `by` is the day they came, for a file that says none."""
    read(data)  # so that nothing below meets what is no fact
    whole = Spot(data)
    made = whole.maybe("generated")
    heads = {name: spot.at("head_date").day() for name, spot in entries_of(made, "repos")} if made else {}
    noted = {
        _named(name): day_at(spot, "newest") or spot.at("read").day() for name, spot in entries_of(whole, "sources")
    }
    days = {**{f"github:{name}": day for name, day in heads.items()}, **noted}
    last = (day_at(made, "on") if made else None) or by
    found = Counter(_cited(data))
    return tuple(
        _age(name, is_read, count, days, last, origin) for (name, is_read), count in sorted(found.items(), reverse=True)
    )


def by_age(found: tuple[SourceAge, ...]) -> tuple[SourceAge, ...]:
    """The oldest first; what has no day is older than all."""
    return tuple(sorted(found, key=lambda each: (each.day or date.min, each.known, each.name, each.origin)))


def _age(name: str, is_read: bool, count: int, days: Mapping[str, date], last: date | None, origin: str) -> SourceAge:
    if not is_read:
        known, day = Known.NOT_READ, None
    elif name in days:
        known, day = Known.AS_OF, days[name]
    else:
        known, day = (Known.BY, last) if last is not None else (Known.UNDATED, None)
    return SourceAge(name=name, known=known, day=day, fact_count=count, origin=origin)


def _cited(value: Any) -> Iterator[tuple[str, bool]]:
    """Every source with whether it was read; a row without a confidence of its own rests on what is above it."""
    if isinstance(value, Mapping):
        is_read = value.get("confidence") != Confidence.MEMORY
        for key, below in value.items():
            if isinstance(below, str) and (key in _SOURCES or str(key).endswith("_source")):
                yield _named(below), is_read
            elif key not in ("sources", "generated"):
                yield from _cited(below)
    elif isinstance(value, list):
        for below in value:
            yield from _cited(below)


def _named(source: str) -> str:
    """The repository or the page that a source is about; its whole text where it names neither."""
    repository = _REPOSITORY.search(source)
    if repository is not None:
        return f"github:{repository['name']}"
    address = _ADDRESS.match(source)
    return address["address"].rstrip("./") if address is not None else source
