"""Where commands print for people, and whether in colour.

Law of this file: whoever colours asks has_colour, and nobody looks at the terminal or the environment for it himself.
Tests: tests/cli/test_terminal.py
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NoReturn, TextIO

if TYPE_CHECKING:
    from rich.console import Console


LEAST_ROOM: Final = 30
"""What a sentence gets on however narrow a terminal: a word on each line helps nobody."""


def has_colour(stream: TextIO) -> bool:
    """Whether to print in colour: NO_COLOR says no, else FORCE_COLOR says yes, else a terminal that can does.

    Either counts where it is not empty (https://no-color.org, https://force-color.org).
    """
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")


def console() -> Console:
    """Nothing is wrapped, so that commands can be copied, and no text of others is taken for markup."""
    from rich.console import Console

    class Paper(Console):
        def on_broken_pipe(self) -> NoReturn:
            raise BrokenPipeError  # main.py meets it as it meets that of a plain print; rich would exit with 1

    return Paper(
        highlight=False,
        soft_wrap=True,
        markup=False,
        color_system="standard" if has_colour(sys.stdout) else None,
        force_terminal=sys.stdout.isatty(),  # else rich takes FORCE_COLOR for a terminal, on which things may move
    )


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


def size_of(stream: TextIO) -> os.terminal_size:
    """How large a terminal is; as large as any was, where it does not say."""
    try:
        size = os.get_terminal_size(stream.fileno())
    except OSError:
        return os.terminal_size((80, 24))
    return size if size.columns > 1 and size.lines > 1 else os.terminal_size((80, 24))


def width_of(stream: TextIO) -> int:
    """How wide a page on this stream may be; 0 where it is no terminal, and nothing is wrapped."""
    if not stream.isatty():
        return 0
    return size_of(stream).columns - 1


def wrapped(text: str, width: int, *, first: str = "", then: str = "") -> list[str]:
    """A sentence whole, in as many lines as it needs, each behind its margin; without a width it is one line."""
    if not width:
        return [f"{first}{text}"]
    room = max(len(then) + LEAST_ROOM, width)
    return textwrap.wrap(
        text,
        room,
        initial_indent=first,
        subsequent_indent=then,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [first]


def columns(rows: Iterable[Sequence[str]]) -> str:
    """Rows as aligned columns, never cut or wrapped, so that scripts and narrow terminals get every word."""
    table = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ("   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table)
    return "\n".join(lines)
