"""Somebody beside us who looks again and again, as controllers do, on a thread of its own.

    with Again("policy", lambda: obey(plane)):
        ...

An API server that is away, or refuses, is asked the next time. Tests: tests/e2e/test_network_driver.py
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from seatrial_lab.testbed import errors

LOOK_SECONDS: Final = 0.5
END_SECONDS: Final = 20.0


class Again:
    """Does something over and over, from the moment it is entered until it is left."""

    def __init__(self, name: str, do: Callable[[], object], every_seconds: float = LOOK_SECONDS) -> None:
        self._do = do
        self._every_seconds = every_seconds
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join(END_SECONDS)

    def _work(self) -> None:
        while not self._is_over.wait(self._every_seconds):
            with suppress(errors.TestbedFailure, OSError):
                self._do()
