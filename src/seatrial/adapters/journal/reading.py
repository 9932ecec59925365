"""Reads journals: checks that no line was changed, removed or moved, says which file follows which, gives the entries.

A file is checked by itself from its first line on, and against the file before it where that is given too. Half a line
at the very end is what a crash leaves: it is told (`torn_bytes`) and passed over. Files may be compressed (*.gz).

Tests: tests/adapters/journal/test_reading.py
"""

from __future__ import annotations

import gzip
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from seatrial.adapters.journal import lines
from seatrial.core.base.values import dataclass
from seatrial.core.errors import SeatrialError
from seatrial.passes import Entry


class JournalRefused(SeatrialError):  # noqa: N818
    """A journal that cannot be read, or is not what was written."""

    def __init__(self, text: str, line: int | None = None) -> None:
        super().__init__(text)
        self.line = line


class JournalEmpty(JournalRefused):
    """A file in which nothing was written yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalFile:
    """One file, checked."""

    path: Path
    line_count: int
    end: str
    """The chain of its last line."""
    before: str
    """What its first line hangs on."""
    journal: str
    """The same in all files of one journal."""
    number: int
    torn_bytes: int = 0


def check(path: Path) -> JournalFile:
    """Check one file by itself; JournalRefused names the first line that does not fit."""
    head: _Head | None = None
    chain, line_count, torn_bytes = "", 0, 0
    for number, line in _lines(path):
        if not line.endswith(b"\n"):
            torn_bytes = len(line)
            break
        try:
            head = head or _head(line)
            body, claimed = lines.unseal(line)
        except (ValueError, KeyError) as err:
            raise _refused(path, number, "not a line of a journal") from err
        chain = lines.link(chain or head.before, body)
        if chain != claimed:
            raise _refused(path, number, "not what was written here")
        line_count = number
    if head is None:
        raise JournalEmpty(f"{path}: there is no whole line in it, so there is nothing to read.")
    return JournalFile(
        path=path,
        line_count=line_count,
        end=chain,
        before=head.before,
        journal=head.journal,
        number=head.number,
        torn_bytes=torn_bytes,
    )


def journals(files: Iterable[JournalFile]) -> list[tuple[JournalFile, ...]]:
    """The files by journal, each in the order it was written; JournalRefused where a file does not follow the last."""
    by_number: dict[tuple[str, int], list[JournalFile]] = defaultdict(list)
    unique = {file.path.resolve(): file for file in files}
    for file in unique.values():
        by_number[file.journal, file.number].append(file)
    found: list[list[JournalFile]] = []
    for (journal, number), some in sorted(by_number.items(), key=lambda each: each[0][1]):
        older = by_number.get((journal, number - 1), [])
        for file in some:
            last = next((each for each in older if each.end == file.before), None)
            if last is not None:
                next(row for row in found if row[-1] is last).append(file)
            elif older:
                raise _refused(file.path, 1, f"not what follows the last line of {older[0].path}")
            else:
                found.append([file])
    order = list(unique.values())
    return [tuple(row) for row in sorted(found, key=lambda row: order.index(row[0]))]


def entries(file: JournalFile) -> Iterator[Entry]:
    """The entries of a checked file."""
    for number, line in _lines(file.path):
        if number > file.line_count:
            return
        fields = lines.read(line)
        at, kind = fields.pop("at"), fields.pop("kind")
        yield Entry(where=f"{file.path}:{number}", at=at, kind=kind, fields=fields)


def first_broken_line(path: Path) -> int | None:
    """The number of the first line that does not fit the one before; None when the chain is whole."""
    try:
        check(path)
    except JournalEmpty:
        return None
    except JournalRefused as err:
        if err.line is None:
            raise
        return err.line
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    """What the first line of a file says."""

    before: str
    number: int
    journal: str


def _head(line: bytes) -> _Head:
    entry = lines.read(line)
    if entry.get("kind") != lines.HEAD:
        raise ValueError("a file begins with its head")
    _, own = lines.unseal(line)
    return _Head(before=str(entry["before"]), number=int(entry["file"]), journal=str(entry.get("journal", own)))


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with _opened(path) as file:
            yield from enumerate(file, 1)
    except (OSError, EOFError, zlib.error) as err:
        why = err.strerror if isinstance(err, OSError) and err.strerror else str(err)
        raise JournalRefused(f"The journal {path} cannot be read: {why}.") from err


def _opened(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


def _refused(path: Path, number: int, what: str) -> JournalRefused:
    return JournalRefused(
        f"{path}:{number}: this line is {what}: it was changed, or lines before it were changed, removed or moved. "
        "Nothing from here on can be trusted.",
        number,
    )
