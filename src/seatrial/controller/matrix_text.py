"""The entry of a matrix that a rollout was made from, in the text as it stands now: read, promoted, marked bad.

Law of this file: text in, text or facts out; where the text is kept is the business of the homes. What a person
changed meanwhile is theirs: an entry that names another driver by now is not marked for ours.

Tests: tests/controller/test_homes.py
"""

from __future__ import annotations

import difflib
import json
from typing import Final

import msgspec

from seatrial.adapters.files import matrix_edit
from seatrial.adapters.files.matrix_edit import EditRefused
from seatrial.adapters.files.matrix_yaml import Reading, read_matrix
from seatrial.core.base.values import dataclass
from seatrial.core.compat.findings import Finding
from seatrial.core.compat.matrix import Component, Entry, Role, role_of
from seatrial.core.model.target import PUBLISHED
from seatrial.core.node.progress import is_same, stands_for
from seatrial.core.text import foreign

BAD_LENGTH_MAX: Final = 300
"""How much of the evidence goes into the matrix; the commit has all of it."""

_PROMOTED: Final = frozenset({Role.CANARY, Role.PRODUCTION})


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixPlace:
    """Which entry of which file; the file is named for people."""

    file: str
    entry: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EntrySeen:
    """What the entry says; without a problem it names a driver."""

    driver: str = ""
    parts: tuple[tuple[str, str], ...] = ()
    """What else it names that a rollout can publish, by the key of the component."""
    bad: str = ""
    problem: str = ""


def look_at(text: str | None, place: MatrixPlace) -> EntrySeen:
    """What the entry says now, or why nobody can tell."""
    file, name, role = place.file, place.entry, role_of(place.entry)
    if text is None:
        return EntrySeen(problem=f"{file} is gone")
    if role not in _PROMOTED:
        return EntrySeen(problem=f"{name!r} cannot be promoted; put its set into the canary entry, and take that one")
    reading = read_matrix(text, file)
    unclear = _first(reading, matrix_edit.AMBIGUOUS)
    if reading.matrix is None or unclear is not None:
        return EntrySeen(problem=f"{file} cannot be read: {_told(unclear or _first(reading)) or 'it is empty'}")
    entry = reading.matrix.entries.get(role)
    if entry is None:
        broken = next((each for each in reading.findings if f"`{name}`" in each.message), None)
        return EntrySeen(problem=f"{file}: {_told(broken)}" if broken else f"{file} no longer has an entry {name!r}")
    return _read(entry, file)


def _read(entry: Entry, file: str) -> EntrySeen:
    driver = entry.stack[Component.GPU_DRIVER]
    if driver is None:
        return EntrySeen(bad=_on_one_line(entry.bad), problem=f"{file}: {entry.key} names no driver")
    if driver.version is None:
        return EntrySeen(driver=driver.text, bad=_on_one_line(entry.bad), problem=f"{driver.span}: {driver.problem}")
    named = ((component.value, entry.stack[component]) for component in PUBLISHED)
    parts = tuple((name, foreign.line(value.text)) for name, value in named if value is not None)
    return EntrySeen(driver=driver.text, parts=parts, bad=_on_one_line(entry.bad))


def is_promoted(text: str | None, place: MatrixPlace) -> bool:
    """Whether production says already what the entry says, so that there is nothing to move."""
    if text is None or look_at(text, place).problem:
        return False
    if role_of(place.entry) is Role.PRODUCTION:
        return True
    try:
        matrix_edit.promote(text, file=place.file)
    except EditRefused as err:
        return err.finding.rule == "nothing-to-promote"
    return False


def is_in_production(text: str | None, driver: str, file: str) -> bool:
    """Whether production names this driver."""
    return is_same(look_at(text, MatrixPlace(file=file, entry=Role.PRODUCTION)).driver, driver)


def promoted(text: str, date: str, place: MatrixPlace) -> str:
    """The text after the promotion."""
    return matrix_edit.promote(text, deployed=date, file=place.file)


def undo_of(before: str, after: str) -> str:
    """A note by which the text before an edit is made of the one after it: the lines that it took, and no others."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    top = _common(old, new)
    end = min(_common(old[::-1], new[::-1]), len(old) - top, len(new) - top)
    differ = difflib.SequenceMatcher(None, new[top : len(new) - end], old[top : len(old) - end])
    return json.dumps(
        [
            [top + at, until - at, "".join(old[top + was : top + was_until])]
            for what, at, until, was, was_until in differ.get_opcodes()
            if what != "equal"
        ]
    )


def undone(after: str, note: str) -> str | None:
    """The text before an edit, by its note; None where the note was not made for this text."""
    lines, before, done = after.splitlines(keepends=True), list[str](), 0
    try:
        for at, count, text in msgspec.json.decode(note, type=tuple[tuple[int, int, str], ...]):
            if not done <= at <= at + count <= len(lines):
                return None
            before += [*lines[done:at], text]
            done = at + count
    except (msgspec.MsgspecError, ValueError):
        return None
    return "".join([*before, *lines[done:]])


def _common(some: list[str], others: list[str]) -> int:
    """With how many of the same lines both begin."""
    pairs = zip(some, others, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(some), len(others)))


def marked_bad(text: str, why: str, driver: str, place: MatrixPlace) -> str:
    """The text with the entry marked; as it is, where the entry is gone or names another version by now."""
    role, reading = role_of(place.entry), read_matrix(text, place.file)
    entry = reading.matrix.entries.get(role) if reading.matrix is not None and role is not None else None
    named = _read(entry, place.file) if entry is not None else EntrySeen()
    if role is None or (reading.matrix is not None and not stands_for(driver, named.driver, named.parts)):
        return text
    return matrix_edit.mark_bad(text, role, _on_one_line(why), file=place.file)


def _first(reading: Reading, rules: frozenset[str] | None = None) -> Finding | None:
    return next((each for each in reading.findings if rules is None or each.rule in rules), None)


def _told(finding: Finding | None) -> str:
    if finding is None:
        return ""
    line = next((f"line {each.line}: " for each in finding.spans if each.line), "")
    return f"{line}{finding.message}"


def _on_one_line(text: str) -> str:
    return foreign.line(" ".join(foreign.lines(text).split()), BAD_LENGTH_MAX)
