"""Waiting for something outside this process: always with a deadline, always saying what for."""

import time
from collections.abc import Callable
from typing import TypeVar

from seatrial_lab.testbed import errors

T = TypeVar("T")

PAUSE_SECONDS = 0.05


def wait_for(
    look: Callable[[], T | None],
    *,
    what: str,
    timeout_seconds: float,
    pause_seconds: float = PAUSE_SECONDS,
    describe: Callable[[], str] | None = None,
) -> T:
    """Return the first answer of `look` that is neither None nor False, or say what was missing at the deadline."""
    deadline = time.monotonic() + timeout_seconds
    while True:
        answer = look()
        if answer is not None and answer is not False:
            return answer
        if time.monotonic() >= deadline:
            seen = f" Last seen: {describe()}" if describe else ""
            raise errors.WaitedTooLong(f"Waited {timeout_seconds:g} s for {what}.{seen}")
        time.sleep(pause_seconds)
