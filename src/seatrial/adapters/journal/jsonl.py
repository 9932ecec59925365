"""The journal: JSON lines, each bound to the one before by a hash, so that a changed or missing line shows.

For people and for replay, never for deciding. An act is written before it is done. Tests: tests/adapters/journal/
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TextIO

import msgspec

from seatrial.core.snapshot import Instant

GENESIS: Final = "0" * 64


class JsonlJournal:
    """Appends entries to a file; goes on behind what the file already holds."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: TextIO | None = None
        self._chain = GENESIS

    def __enter__(self) -> Self:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if self._path.exists():
            _drop_torn_line(self._path)
            self._chain = _last_chain(self._path)
        self._file = self._path.open("a", encoding="utf-8", buffering=1)
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
        entry = {"at": round(at, 3), "kind": kind, **fields}
        self._chain = link(self._chain, entry)
        self._file.write(msgspec.json.encode({**entry, "chain": self._chain}).decode() + "\n")


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
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                entry = msgspec.json.decode(line)
                claimed = entry.pop("chain")
            except (msgspec.MsgspecError, AttributeError, KeyError):
                return number
            chain = link(chain, entry)
            if claimed != chain:
                return number
    return None


def _drop_torn_line(path: Path) -> None:
    """A crash in the middle of a line leaves half of it; the act it told of was not begun."""
    content = path.read_bytes()
    if content and not content.endswith(b"\n"):
        path.write_bytes(content[: content.rfind(b"\n") + 1])


def _last_chain(path: Path) -> str:
    last = ""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            last = line
    if not last:
        return GENESIS
    return str(msgspec.json.decode(last)["chain"])
