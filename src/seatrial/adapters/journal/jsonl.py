"""Writes the journal: JSON lines, each bound to the one before by a hash, so that a changed or missing line shows.

For people and for replay, never for deciding. An act is written before it is done. What was seen of a cluster is in
here, so its files are their owner's alone (0600), those put aside too. A line that could not be written whole is cut
off by the next that can: a full disk leaves no half of one behind, and the chain goes on. A full file is put aside and
the chain goes on in a new one, whose first line says what it hangs on:

    journal.jsonl.000001   head(before: 000…) …… last ─┐
    journal.jsonl.000002   head(before: ◀──────────────┘) …… last ─┐
    journal.jsonl          head(before: ◀──────────────────────────┘) ……

Reading is in reading.py, the form of a line in lines.py. Tests: tests/adapters/journal/test_jsonl.py
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Mapping
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final, Self

from seatrial import __version__
from seatrial.adapters.journal import lines
from seatrial.adapters.journal.reading import first_broken_line
from seatrial.core.errors import SeatrialError
from seatrial.core.model.instants import Instant
from seatrial.ports import JournalUnwritable

__all__ = ["JournalUnusable", "JsonlJournal", "NoJournal", "first_broken_line"]

FILE_BYTES_MAX: Final = 64 * 1024 * 1024
FILES_KEPT: Final = 8
"""Full files put aside; older ones are deleted."""
LONGEST_LINES: Final = 4
"""A file holds at least this many of its longest line: that of a large fleet told whole may be half a file long."""
_BLOCK_BYTES: Final = 64 * 1024
_OPENING: Final = b'{"at":'
"""How every line begins: half a line that does not is not ours to cut off."""


FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What a disk without room says: it may have some later, so it does not keep anybody from starting."""
OWNERS_ALONE: Final = 0o600


class JournalUnusable(SeatrialError):  # noqa: N818
    """What is there is no journal of ours, or cannot be one."""


class JsonlJournal:
    """Appends entries to a file; goes on behind what the file already holds."""

    def __init__(self, path: Path, *, file_bytes_max: int = FILE_BYTES_MAX, files_kept: int = FILES_KEPT) -> None:
        self._path = path
        self._file_bytes_max = file_bytes_max
        self._files_kept = files_kept
        self._file: FileIO | None = None
        self._is_entered = False
        self._chain = ""  # empty until the first entry, which also finds these out:
        self._journal: str
        self._number: int
        self._size_bytes = 0
        self._longest_bytes = 0

    def __enter__(self) -> Self:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._opened()
            for number in self._numbers():
                _tighten(self._aside(number))
        except OSError as err:
            if err.errno not in FULL:
                raise self._unusable(err.strerror) from err
        self._is_entered = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_entered = False
        if self._file is not None:
            self._file.close()
            self._file = None

    def append(self, at: Instant, kind: str, fields: Mapping[str, object]) -> None:
        self._guarded(self._append, at, kind, fields)

    def turn(self, at: Instant) -> bool:
        """Put the file aside if it is full; whether a new one was begun.

        Never by itself: entries may build on one another, and whoever writes them knows where a file can begin.
        """
        return bool(self._guarded(self._turn, at))

    def _guarded(self, do: Any, at: Instant, *arguments: Any) -> Any:
        if not self._is_entered:
            raise RuntimeError("the journal is used outside of `with`")
        try:
            if not self._chain:
                # Only now: while we stood by, the leader may have written to the same file, or put it aside.
                self._resume(at)
            return do(at, *arguments)
        except OSError as err:
            self._chain = ""  # half a line may be there: the next one looks where the last whole line ends
            raise JournalUnwritable(f"{self._path}: {err.strerror}") from err

    def _append(self, at: Instant, kind: str, fields: Mapping[str, object]) -> None:
        line, chain = lines.seal(self._chain, {"at": at, "kind": kind, **fields})
        left = memoryview(line)
        while left:
            left = left[self._open.write(left) :]
        self._chain = chain
        self._size_bytes += len(line)
        self._longest_bytes = max(self._longest_bytes, len(line))

    def _turn(self, at: Instant) -> bool:
        if self._size_bytes < max(self._file_bytes_max, LONGEST_LINES * self._longest_bytes):
            return False
        aside = self._aside(self._number)
        if aside.exists():
            raise self._unusable(f"it is full, and {aside.name}, where it belongs, is taken")
        self._open.close()
        self._path.rename(aside)
        self._file = None
        self._file = self._opened()
        self._begin(at)
        for number in sorted(self._numbers())[: -self._files_kept]:
            self._aside(number).unlink(missing_ok=True)
        return True

    # ── beginning and going on ───────────────────────────────────────────────────────────────────────────────────────

    def _begin(self, at: Instant) -> None:
        """The first line of a file."""
        self._number, self._size_bytes, self._longest_bytes = self._number + 1, 0, 0
        head = {"version": __version__, "file": self._number, "before": self._chain or lines.GENESIS}
        self._chain = self._chain or lines.GENESIS
        self._append(at, lines.HEAD, head | ({"journal": self._journal} if self._journal else {}))
        self._journal = self._journal or self._chain

    def _resume(self, at: Instant) -> None:
        """Go on behind the last whole line of what is there."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self._file = self._opened()
        last, torn = _last_lines(self._open)
        if last:
            self._take_up(self._path, last)
        elif torn[: len(_OPENING)] != _OPENING[: len(torn)]:
            raise self._unusable(f"{self._path.name} is not a journal of ours")
        # A crash in the middle of a line leaves half of it; the act it told of was not begun.
        self._size_bytes = self._open.truncate(self._open.seek(0, os.SEEK_END) - len(torn))
        if not last:
            # The first file of all, or the one before was put aside and then we died.
            aside = max(self._numbers(), default=0)
            self._number, self._journal = 0, ""
            if aside:
                with self._aside(aside).open("rb") as file:
                    self._take_up(self._aside(aside), _last_lines(file)[0])
            self._begin(at)
        if torn:
            self._append(at, "torn", {"bytes": len(torn)})

    def _take_up(self, path: Path, last: bytes) -> None:
        with path.open("rb") as file:
            first = file.readline()
        try:
            head, claimed = lines.read(first), lines.unseal(first)[1]
            chain = lines.unseal(last)[1]
            self._number, self._journal = int(head["file"]), str(head.get("journal", claimed))
        except (ValueError, KeyError) as err:
            raise self._unusable(f"{path.name} is not a journal of ours") from err
        self._chain = chain

    @property
    def _open(self) -> FileIO:
        if self._file is None:
            raise RuntimeError("the journal is used outside of `with`")
        return self._file

    def _opened(self) -> FileIO:
        """The file, and nothing of it kept back: what is written is written, or said not to be."""
        number = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, OWNERS_ALONE)
        _tighten(self._path)
        return FileIO(number, "a+")

    def _aside(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number:06}")

    def _numbers(self) -> list[int]:
        """The numbers of the files put aside."""
        prefix = f"{self._path.name}."
        ends = [each.name.removeprefix(prefix) for each in self._path.parent.glob(f"{prefix}[0-9]*")]
        return [int(end) for end in ends if end.isdecimal()]

    def _unusable(self, why: str | None) -> JournalUnusable:
        return JournalUnusable(f"The journal {self._path} cannot be written: {why}. Move it away or name another file.")


class NoJournal:
    """For whoever wants none."""

    def append(self, at: Instant, kind: str, fields: Mapping[str, object]) -> None:
        """Forget it."""


def _tighten(path: Path) -> None:
    """Take what others may do with a file of an older release; one of somebody else's is theirs to tighten."""
    with contextlib.suppress(FileNotFoundError, PermissionError):
        if stat.S_IMODE(path.stat().st_mode) & ~OWNERS_ALONE:
            path.chmod(OWNERS_ALONE)


def _last_lines(file: BinaryIO | FileIO) -> tuple[bytes, bytes]:
    """The last whole line, and what follows it without an end; read backwards, since a journal may be large."""
    start = file.seek(0, os.SEEK_END)
    tail = b""
    while start and tail.count(b"\n") < 2:
        size = min(_BLOCK_BYTES, start)
        start = file.seek(start - size)
        tail = file.read(size) + tail
    whole, newline, torn = tail.rpartition(b"\n")
    return (whole.rpartition(b"\n")[2] if newline else b""), torn
