"""A failure: what it is called, what it means, what it blocks, what to do, and the patterns it is known by.

    failures:
    - name: nouveau
      title: nouveau holds the GPU
      means: The kernel's own driver was loaded first, and NVIDIA's cannot take the device.
      blocks: The driver pod; no GPU of the node is offered.
      next: "`…` blacklists it."              # {node}, {namespace} and {pod} are filled in
      explains: [no-device-plugin]            # optional: what follows from it on the same node
      patterns:
      - in: log                               # container, event, condition, log, metric or node; or several
        of: [driver]                          # optional: parts, or anybody; everybody but tenants when absent
        reason: BackOff                       # optional: the whole reason, as a regular expression
        text: nouveau .*in use                # optional: a line, or a part of one, as a regular expression
        but: modprobe -r                      # optional: lines that do not count
        at_least: 3                           # optional: so often within what was read; 1 when absent
        weak: true                            # optional: counts only where nothing else is found on the node
        example: Module nouveau is in use     # where there is a text: a line that it has to match
        source: https://…                     # where this was seen

Law of this file: patterns are data; every one says where it was seen, and matches its own example. What cannot be read
is refused with its place. Tests: tests/core/survey/test_doctor_failures.py
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from seatrial.core.base.values import dataclass, field
from seatrial.core.errors import SeatrialError
from seatrial.core.survey.doctor.parts import Part
from seatrial.core.survey.doctor.signs import Sign, Where

NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
TEXTS: Final = ("name", "title", "means", "blocks", "next")
KEYS: Final = (*TEXTS, "explains", "patterns")
PATTERN_KEYS: Final = ("in", "of", "reason", "text", "but", "at_least", "weak", "example", "source")
PATTERN_MAX: Final = 500
ANYBODY: Final = "anybody"
"""Whoever says it, tenants too."""
NOT_TENANTS: Final = frozenset(Part) - {Part.TENANT}


class FailureInvalid(SeatrialError):  # noqa: N818  like FactInvalid
    """A failure that cannot be used; `path` says where in the data."""

    def __init__(self, message: str, path: Sequence[str | int]) -> None:
        super().__init__(message)
        self.path = tuple(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """How a failure shows in one kind of sign."""

    where: frozenset[Where]
    parts: frozenset[Part] = NOT_TENANTS
    reason: re.Pattern[str] | None = None
    text: re.Pattern[str] | None = None
    but: re.Pattern[str] | None = None
    at_least: int = 1
    is_weak: bool = False
    source: str = ""

    def matched(self, sign: Sign) -> tuple[str, ...]:
        """The lines of a sign that match; of one that is known by its reason alone, its first."""
        if sign.where not in self.where or (sign.where in BY_PART and sign.part not in self.parts):
            return ()
        if self.reason is not None and not self.reason.fullmatch(sign.reason):
            return ()
        if self.text is None:
            return sign.lines[:1] or (sign.reason,)
        return tuple(line for line in sign.lines if self.is_in(line))

    def is_in(self, line: str) -> bool:
        """Whether a line is one of those that the pattern means."""
        if self.text is None or not self.text.search(line):
            return False
        return self.but is None or not self.but.search(line)


BY_PART: Final = frozenset({Where.CONTAINER, Where.EVENT, Where.LOG})
"""Where it matters who says it: what is said of a node is said of all on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failure that is known."""

    name: str
    title: str
    means: str
    blocks: str
    next: str
    explains: frozenset[str] = frozenset()
    patterns: tuple[Pattern, ...] = field(default_factory=tuple)


def read(data: Any, known: Sequence[Failure] = ()) -> tuple[Failure, ...]:
    """Failures as a file holds them; `known` are those that others may explain besides."""
    if not isinstance(data, dict) or set(data) != {"failures"} or not isinstance(data["failures"], list):
        raise FailureInvalid("A file of failures has one key, failures, with a list of them.", ())
    found = tuple(_failure(each, ("failures", number)) for number, each in enumerate(data["failures"]))
    names = [each.name for each in found]
    for number, each in enumerate(found):
        if each.name in names[:number]:
            raise FailureInvalid(f"{each.name} is there twice.", ("failures", number, "name"))
        strange = sorted(each.explains - {*names, *(one.name for one in known)})
        if strange:
            raise FailureInvalid(f"{strange[0]} is not a failure that is known.", ("failures", number, "explains"))
    return found


def _failure(data: Any, path: tuple[str | int, ...]) -> Failure:
    _check_keys(data, KEYS, ("name", "title", "means", "blocks", "next", "patterns"), path)
    for key in TEXTS:
        if not isinstance(data[key], str) or not data[key].strip():
            raise FailureInvalid(f"{key} has to be a text.", (*path, key))
    if not NAME.fullmatch(data["name"]):
        raise FailureInvalid(f"A name has small letters, digits and dashes; {data['name']!r} is none.", (*path, "name"))
    explains = data.get("explains", [])
    if not isinstance(explains, list) or not all(isinstance(each, str) for each in explains):
        raise FailureInvalid("explains is a list of names.", (*path, "explains"))
    if not isinstance(data["patterns"], list) or not data["patterns"]:
        raise FailureInvalid("A failure has at least one pattern.", (*path, "patterns"))
    return Failure(
        **{key: data[key].strip() for key in TEXTS},
        explains=frozenset(explains),
        patterns=tuple(_pattern(each, (*path, "patterns", number)) for number, each in enumerate(data["patterns"])),
    )


def _pattern(data: Any, path: tuple[str | int, ...]) -> Pattern:
    _check_keys(data, PATTERN_KEYS, ("in", "source"), path)
    where = [_one_of(Where, each, (*path, "in")) for each in _listed(data["in"])]
    named = [each for each in _listed(data.get("of", [])) if each != ANYBODY]
    parts = frozenset(_one_of(Part, each, (*path, "of")) for each in named)
    count = data.get("at_least", 1)
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise FailureInvalid(f"at_least is a number from 1 on, not {count!r}.", (*path, "at_least"))
    if str(data.get("weak", "false")).lower() not in ("true", "false"):
        raise FailureInvalid(f"weak is true or false, not {data['weak']!r}.", (*path, "weak"))
    if "reason" not in data and "text" not in data:
        raise FailureInvalid("A pattern without a reason and without a text would match everything.", path)
    found = Pattern(
        where=frozenset(where),
        parts=frozenset(Part) if data.get("of") == ANYBODY else parts or NOT_TENANTS,
        reason=_expression(data, "reason", path),
        text=_expression(data, "text", path),
        but=_expression(data, "but", path),
        at_least=count,
        is_weak=str(data.get("weak", "false")).lower() == "true",
        source=str(data["source"]),
    )
    if found.text is not None and not found.is_in(str(data.get("example", ""))):
        raise FailureInvalid("A pattern with a text has an example, which it matches; this does not.", path)
    return found


def _listed(written: Any) -> list[Any]:
    return written if isinstance(written, list) else [written]


def _expression(data: Mapping[str, Any], key: str, path: tuple[str | int, ...]) -> re.Pattern[str] | None:
    written = data.get(key)
    if written is None:
        return None
    if not isinstance(written, str) or not written or len(written) > PATTERN_MAX:
        raise FailureInvalid(f"{key} is a regular expression of up to {PATTERN_MAX} characters.", (*path, key))
    try:
        return re.compile(written, re.IGNORECASE)
    except re.error as err:
        raise FailureInvalid(f"{key} is not a regular expression: {err}.", (*path, key)) from None


def _one_of(kinds: type[Where] | type[Part], written: Any, path: tuple[str | int, ...]) -> Any:
    try:
        return kinds(written)
    except ValueError:
        there = ", ".join(each.value for each in kinds)
        raise FailureInvalid(f"{written!r} is none of {there}.", path) from None


def _check_keys(data: Any, keys: Sequence[str], needed: Sequence[str], path: tuple[str | int, ...]) -> None:
    if not isinstance(data, dict):
        raise FailureInvalid(f"This has to be a mapping with {', '.join(needed)}.", path)
    strange = [each for each in data if each not in keys]
    if strange:
        raise FailureInvalid(
            f"{strange[0]!r} is not a key here; there are {', '.join(keys)}.", (*path, str(strange[0]))
        )
    missing = [each for each in needed if each not in data]
    if missing:
        raise FailureInvalid(f"{missing[0]} is missing.", path)
