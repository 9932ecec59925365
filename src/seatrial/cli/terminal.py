"""Where commands print for people."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

from rich.console import Console


class _Console(Console):
    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError  # main.py meets it as it meets that of a plain print; rich would exit with 1


def console() -> Console:
    """Nothing is wrapped, so that commands can be copied, and no text of others is taken for markup."""
    return _Console(highlight=False, soft_wrap=True, markup=False)


@contextmanager
def counting() -> Iterator[Callable[[str, int], None]]:
    """Say how many objects have been read, on a line that goes again; where nobody watches, nothing is said."""
    is_watched = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def tell(what: str, count: int) -> None:
        if is_watched:
            print(f"\r\033[KReading: {count:,} {what}s", end="", file=sys.stderr, flush=True)

    try:
        yield tell
    finally:
        if is_watched:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def columns(rows: Iterable[Sequence[str]]) -> str:
    """Rows as aligned columns, never cut or wrapped, so that scripts and narrow terminals get every word."""
    table = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ("   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table)
    return "\n".join(lines)
