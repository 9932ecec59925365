"""Runs a coroutine to its end, and hands on what it returns without anybody writing that down first.

asyncio.run takes its own handler of Ctrl-C away at the end. Python 3.11 then makes a text of that handler for an error
that it catches itself: with the task that is in the handler, and with the task's result. Where that is everything that
was read of a cluster, five hundred nodes cost twenty seconds and a gibibyte.

Law of this file: whoever of us runs a coroutine runs it here. Tests: tests/app/test_awaiting.py
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def finished(coroutine: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns, once it has."""
    kept: list[T] = []

    async def keep() -> None:
        kept.append(await coroutine)

    asyncio.run(keep())
    return kept[0]
