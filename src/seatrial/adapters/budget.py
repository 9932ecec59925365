"""A limit on how long a piece of work may take, for work that asks nobody: regular expressions of a user's own.

Python's own expressions look for signals while they match, so a timer ends one that would go on for years. Expressions
in CEL do not: those of gates have a process of their own, rules of the user's own are kept small.

Tests: tests/adapters/test_budget.py
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from seatrial.core.errors import SeatrialError


class BudgetSpent(SeatrialError):  # noqa: N818  the message says what to do
    """Something took longer than it may."""


@contextmanager
def within(seconds: float, why: str) -> Iterator[None]:
    """Raise BudgetSpent with this reason where the work takes longer; only the main thread can be held to it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def spent(_number: int, _frame: FrameType | None) -> None:
        raise BudgetSpent(why)

    before = signal.signal(signal.SIGALRM, spent)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
