"""Work that ends, one way or another, and what becomes of it. No test waits: pauses are recorded instead."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from seatrial import supervision
from seatrial.supervision import Ending


class Enough(BaseException):
    """The test has seen what it wanted."""


@dataclass
class Play:
    """Work that does what it is told, one thing after the other, and then no more."""

    ways: Iterator[BaseException | float]
    """An exception to be raised, or how long it lives before it ends."""
    now: float = 0.0
    told: list[Ending] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)

    async def work(self) -> None:
        way = next(self.ways, Enough())
        if isinstance(way, BaseException):
            raise way
        self.now += way

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    async def run(self) -> None:
        with pytest.raises(Enough):
            await supervision.keep("digging", self.work, tell=self.told.append, sleep=self.sleep, now=lambda: self.now)


async def test_an_exception_is_told_and_the_work_begins_anew() -> None:
    play = Play(iter([OSError(24, "Too many open files"), ValueError()]))

    await play.run()

    assert play.told == [
        Ending(task="digging", why="OSError: [Errno 24] Too many open files", pause_seconds=1.0),
        Ending(task="digging", why="ValueError", pause_seconds=2.0),
    ]


async def test_an_end_is_told_like_an_exception() -> None:
    play = Play(iter([0.0]))

    await play.run()

    assert play.told == [Ending(task="digging", why="it ended, and should not have", pause_seconds=1.0)]


async def test_pauses_grow_to_a_minute_and_are_short_again_after_work_that_lived() -> None:
    play = Play(iter([*[0.0] * 8, supervision.HEALTHY_SECONDS]))

    await play.run()

    assert play.pauses == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 1.0]


async def test_who_is_told_to_stop_stops() -> None:
    begun = asyncio.Event()

    async def work() -> None:
        begun.set()
        await asyncio.Event().wait()

    told: list[Ending] = []
    task = asyncio.create_task(supervision.keep("digging", work, tell=told.append))
    await begun.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert told == []
