"""A place in plain data and the path that led there: how a reader takes a fact, or says where it does not fit.

    SeatrialError
    └── FactInvalid      a fact is not what the schema says; `path` leads to it
        └── SchemaNewer  the whole is of a schema that only a later seatrial reads

Law of this file: it knows texts, days, versions and sources, and no section. Tests: tests/core/compat/test_facts.py
"""

from __future__ import annotations

import difflib
from calendar import monthrange
from collections.abc import Collection, Iterator, Mapping
from datetime import date
from typing import Any, Final, TypeVar

from seatrial.core.base.values import dataclass
from seatrial.core.compat.facts.rows import (
    Cite,
)
from seatrial.core.compat.findings import Confidence
from seatrial.core.compat.matrix import SCHEMES, Component
from seatrial.core.compat.versions import (
    VALUES,
    Version,
    VersionInvalid,
)
from seatrial.core.errors import SeatrialError

Path = tuple[str | int, ...]
_V = TypeVar("_V", bound=Version)
_LEVELS: Final = frozenset(Confidence)
_EXAMPLES: Final = {
    "source": "https://docs.nvidia.com/… (table 3)",
    "confidence": Confidence.SECONDARY.value,
    "on": "2026-06-01",
    "read": "2026-06-01",
    "head_date": "2026-06-01",
    "end_of_life": "2026-06-01",
    "published": "2026-06-01",
}
"""What a missing field could look like; of a version, its scheme says it."""


class FactInvalid(SeatrialError):  # noqa: N818 — the tree above says it is an error
    """A fact that does not fit the schema."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{'.'.join(map(str, path)) or 'the file'}: {problem}")
        self.path = path
        self.problem = problem


class SchemaNewer(FactInvalid):
    """Facts in a form that only a later seatrial reads."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in the data, and the path that led there."""

    value: Any
    path: Path = ()

    def __contains__(self, key: str) -> bool:
        return isinstance(self.value, Mapping) and self.value.get(key) is not None

    def at(self, key: str) -> Spot:
        if key not in self:
            example = f", e.g. {key}: {_EXAMPLES[key]}" if key in _EXAMPLES else ""
            raise FactInvalid(self.path, f"needs {key!r}. Add it{example}.")
        return Spot(self.value[key], (*self.path, key))

    def maybe(self, key: str) -> Spot | None:
        return self.at(key) if key in self else None

    def items(self) -> Iterator[tuple[str, Spot]]:
        if not isinstance(self.value, Mapping):
            raise FactInvalid(self.path, f"expected a mapping, e.g. {{key: value}}, found {type(self.value).__name__}.")
        for key, value in self.value.items():
            yield str(key), Spot(value, (*self.path, key))

    def each(self, key: str | None = None) -> Iterator[Spot]:
        """The elements of the list here, or of the list under a key, where it exists."""
        if key is not None:
            below = self.maybe(key)
            yield from below.each() if below else ()
            return
        if not isinstance(self.value, list):
            raise FactInvalid(self.path, f"expected a list, e.g. [a, b], found {type(self.value).__name__}.")
        for index, value in enumerate(self.value):
            yield Spot(value, (*self.path, index))

    def only(self, known: Collection[str]) -> Spot:
        for key, spot in self.items():
            if key not in known:
                near = difflib.get_close_matches(key, sorted(known), n=1)
                raise FactInvalid(
                    spot.path, f"there is no such key. {f'Did you mean {near[0]!r}?' if near else 'Remove it.'}"
                )
        return self

    def text(self) -> str:
        if not isinstance(self.value, str) or not self.value.strip():
            raise FactInvalid(self.path, f"expected a text, found {self.value!r}. Put it in quotes.")
        return self.value

    def number(self) -> int:
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            raise FactInvalid(self.path, f"expected a whole number, e.g. 580, found {self.value!r}.")
        return self.value

    def flag(self) -> bool:
        if not isinstance(self.value, bool):
            raise FactInvalid(self.path, f"expected true or false, found {self.value!r}.")
        return self.value

    def key_number(self) -> int:
        key = self.path[-1]
        if not str(key).isdigit():
            raise FactInvalid(self.path, f"expected a key that is a number, e.g. 580, found {key!r}.")
        return int(key)

    def version(self, kind: type[_V]) -> _V:
        if not isinstance(self.value, str):
            example = kind.form.example.partition(" or ")[0]
            raise FactInvalid(self.path, f'expected a version in quotes, e.g. "{example}", found {self.value!r}.')
        return parsed(kind, self.text(), self.path)

    def day(self) -> date:
        """A day; of a month alone, its last day."""
        if isinstance(self.value, date):
            return self.value
        text = self.text()
        try:
            if len(text) == len("2026-06"):
                year, month = map(int, text.split("-"))
                return date(year, month, monthrange(year, month)[1])
            return date.fromisoformat(text)
        except ValueError:
            raise FactInvalid(self.path, f"expected a day like 2026-06-01, found {text!r}.") from None

    def cite(self) -> Cite:
        confidence = self.at("confidence")
        if not isinstance(confidence.value, str) or confidence.value not in _LEVELS:
            raise FactInvalid(
                confidence.path, f"expected one of {', '.join(sorted(_LEVELS))}, found {confidence.value!r}."
            )
        return Cite(source=self.at("source").text(), confidence=Confidence(confidence.value))


def entries_of(spot: Spot, key: str) -> Iterator[tuple[str, Spot]]:
    """The named entries below a key, where it exists."""
    below = spot.maybe(key)
    return below.items() if below else iter(())


def rows_of(section: Spot, key: str, within: str = "values") -> Iterator[tuple[Spot, Cite]]:
    """The rows of a table, each with the table's own source."""
    table = section.maybe(key)
    if table is not None:
        cite = table.cite()
        yield from ((spot, cite) for _, spot in table.at(within).items())


def evidence_of(spot: Spot) -> Cite:
    """The source of a row that calls it evidence."""
    return cite_at(spot, "evidence")


def cite_at(spot: Spot, key: str) -> Cite:
    """The source of a row that calls it by another name."""
    return Spot({"source": spot.at(key).text(), "confidence": spot.at("confidence").value}, spot.path).cite()


def text_at(spot: Spot, key: str) -> str:
    """The text under a key, or nothing."""
    return spot.at(key).text() if key in spot else ""


def day_at(spot: Spot, key: str) -> date | None:
    """The day under a key, where there is one."""
    return spot.at(key).day() if key in spot else None


def kind_of(component: Component) -> type[Version]:
    """The scheme by which a component's versions are read."""
    return VALUES[SCHEMES[component]]


def parsed(kind: type[_V], text: str, path: Path) -> _V:
    """A version, or FactInvalid where its scheme cannot read it."""
    try:
        return kind.parse(text)
    except VersionInvalid as err:
        raise FactInvalid(path, str(err)) from None
