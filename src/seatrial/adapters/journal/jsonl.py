"""The journal: JSON lines, each bound to the one before by a hash, so that a changed or missing line shows.

For people and for replay, never for deciding. An act is written before it is done. Tests: tests/adapters/journal/
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Self

import msgspec

from seatrial.core.errors import SeatrialError
from seatrial.core.snapshot import Instant

GENESIS: Final = "0" * 64
_BLOCK_BYTES: Final = 64 * 1024


class JournalUnusable(SeatrialError):  # noqa: N818
    """The journal cannot be written, or its end cannot be read."""


class JsonlJournal:
    """Appends entries to a file; goes on behind what the file already holds."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._chain: str | None = None

    def __enter__(self) -> Self:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("a+b")
        except OSError as err:
            raise self._unusable(err.strerror) from err
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def append(self, at: Instant, kind: str, fields: Mapping[str, object]) -> None:
        if self._file is None:
            raise RuntimeError("the journal is used outside of `with`")
        try:
            if self._chain is None:
                # Only now: while we stood by, the leader may have written to the same file.
                self._chain = self._resume(self._file)
            entry = {"at": round(at, 3), "kind": kind, **fields}
            self._chain = link(self._chain, entry)
            self._file.write(msgspec.json.encode({**entry, "chain": self._chain}) + b"\n")
            self._file.flush()
        except OSError as err:
            raise self._unusable(err.strerror) from err

    def _resume(self, file: BinaryIO) -> str:
        """Cut off a torn last line, and give the chain of the last whole one."""
        last, torn = _last_lines(file)
        if torn:
            # A crash in the middle of a line leaves half of it; the act it told of was not begun.
            file.truncate(file.seek(0, os.SEEK_END) - len(torn))
        if not last:
            return GENESIS
        try:
            return str(msgspec.json.decode(last)["chain"])
        except (msgspec.MsgspecError, TypeError, KeyError) as err:
            raise self._unusable("its last line is not one of ours") from err

    def _unusable(self, why: str | None) -> JournalUnusable:
        return JournalUnusable(f"The journal {self._path} cannot be written: {why}. Move it away or name another file.")


class NoJournal:
    """For whoever wants none."""

    def append(self, at: Instant, kind: str, fields: Mapping[str, object]) -> None:
        """Forget it."""


def link(before: str, entry: Mapping[str, object]) -> str:
    """The hash of an entry behind the one before it."""
    return hashlib.sha256(before.encode() + msgspec.json.encode(entry, order="sorted")).hexdigest()


def first_broken_line(path: Path) -> int | None:
    """The number of the first line that does not fit the one before; None when the chain is whole."""
    chain = GENESIS
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                entry = msgspec.json.decode(line, type=dict[str, object])
                claimed = entry.pop("chain")
            except (msgspec.MsgspecError, KeyError):
                return number
            chain = link(chain, entry)
            if claimed != chain:
                return number
    return None


def _last_lines(file: BinaryIO) -> tuple[bytes, bytes]:
    """The last whole line, and what follows it without an end; read backwards, since a journal may be large."""
    start = file.seek(0, os.SEEK_END)
    tail = b""
    while start and tail.count(b"\n") < 2:
        size = min(_BLOCK_BYTES, start)
        start = file.seek(start - size)
        tail = file.read(size) + tail
    whole, newline, torn = tail.rpartition(b"\n")
    return (whole.rpartition(b"\n")[2] if newline else b""), torn
