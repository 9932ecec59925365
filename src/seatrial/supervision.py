"""Keeps background work alive: whatever ends it is told, and it begins anew after a pause that grows.

Law of this file: nothing ends in silence, and nothing is tried again in a hot loop. What the work said last goes on
standing while it is down; whether that is too old to be trusted is decided in core.

Tests: tests/test_supervision.py
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, NoReturn, TypeAlias

from seatrial.core.base.values import dataclass

PAUSE_SECONDS_FIRST: Final = 1.0
PAUSE_SECONDS_MAX: Final = 60.0
HEALTHY_SECONDS: Final = 60.0
"""Work that lived this long did work; what ended it is a new trouble, and the pause is short again."""
_DOUBLINGS_MAX: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What ended a piece of background work, and when it begins anew."""

    task: str
    why: str
    pause_seconds: float


Tell: TypeAlias = Callable[[Ending], None]


class Patience:
    """How long to wait before the next attempt: twice as long each time, until one has lived a while."""

    def __init__(self) -> None:
        self._failure_count = 0

    def pause(self, lived_seconds: float) -> float:
        """The pause after an attempt that lived so long."""
        if lived_seconds >= HEALTHY_SECONDS:
            self._failure_count = 0
        self._failure_count += 1
        doublings = min(self._failure_count - 1, _DOUBLINGS_MAX)
        return min(PAUSE_SECONDS_MAX, PAUSE_SECONDS_FIRST * 2.0**doublings)


async def keep(
    task: str,
    work: Callable[[], Awaitable[None]],
    *,
    tell: Tell,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    now: Callable[[], float] = time.monotonic,
) -> NoReturn:
    """Do a piece of work until cancelled, however often it ends."""
    patience = Patience()
    while True:
        began = now()
        try:
            await work()
            why = "it ended, and should not have"
        except Exception as err:  # noqa: BLE001  whatever it is: it is told, and the work goes on
            why = told(err)
        seconds = patience.pause(now() - began)
        tell(Ending(task=task, why=why, pause_seconds=seconds))
        await sleep(seconds)


def told(error: BaseException) -> str:
    """An exception as a few words; its kind goes along, since many say nothing without it."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
