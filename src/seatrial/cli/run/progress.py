"""What a command is doing, where it takes longer than five seconds: on stderr, and never on stdout.

On a terminal it is one line that renews itself and goes away at the end; elsewhere a line every ten seconds. A thread
of its own prints it, so work that blocks is told of, too. Of things inside one another the innermost is told.
Tests: tests/cli/test_progress.py
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from seatrial.core.text import spans

QUIET_SECONDS: Final = 5.0
"""What is over sooner is not told of."""
RENEWED_SECONDS: Final = 0.5
TOLD_SECONDS: Final = 10.0
"""How often there is a line where nothing can be renewed."""
CLEAR: Final = "\r\033[K"

_open: list[Doing] = []


@dataclass(slots=True, kw_only=True)
class Doing:
    """One thing that is being done."""

    what: str
    began: float = field(default_factory=time.monotonic)
    left_seconds: float | None = None

    def now(self, what: str, left_seconds: float | None = None) -> None:
        """It has come this far, and takes about so much longer."""
        self.what, self.left_seconds = what, left_seconds

    @property
    def line(self) -> str:
        """What is said of it."""
        left = f", about {spans.span(self.left_seconds)} left" if self.left_seconds is not None else ""
        return f"seatrial: {self.what}, {spans.span(time.monotonic() - self.began)} so far{left}"


@contextmanager
def doing(what: str) -> Iterator[Doing]:
    """Tell of something as long as it is done."""
    mine = Doing(what=what)
    _open.append(mine)
    try:
        if len(_open) > 1:
            yield mine
            return
        over = threading.Event()
        telling = threading.Thread(target=_tell, args=(over,), name="progress", daemon=True)
        telling.start()
        try:
            yield mine
        finally:
            over.set()
            telling.join()
    finally:
        _open.remove(mine)


def say(line: str) -> None:
    """Print a line on stderr that stays."""
    print(f"{CLEAR}{line}" if _open and _is_renewed() else line, file=sys.stderr, flush=True)


def _tell(over: threading.Event) -> None:
    is_renewed, is_told = _is_renewed(), over.wait(QUIET_SECONDS)
    while not is_told:
        line = _open[-1].line
        print(f"{CLEAR}{line}" if is_renewed else line, end="" if is_renewed else "\n", file=sys.stderr, flush=True)
        is_told = over.wait(RENEWED_SECONDS if is_renewed else TOLD_SECONDS)
        if is_told and is_renewed:
            print(CLEAR, end="", file=sys.stderr, flush=True)


def _is_renewed() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
