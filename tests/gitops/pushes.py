"""Tells an engine of every push to a repository, as a forge does by its webhook, and notes when each one was."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

LOOK_SECONDS = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Push:
    """One of them."""

    at: float
    commit: str


class Pushes:
    """Watches the branch of a bare repository while its context lasts."""

    def __init__(self, remote: Path, tell: Callable[[], None] | None = None) -> None:
        """Without `tell` nobody is told: the engine has to look by itself."""
        self.seen: list[Push] = []
        self._branch = remote / "refs" / "heads" / "main"
        self._tell = tell
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="pushes", daemon=True)

    def __enter__(self) -> Self:
        self._last = self._commit()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join(20)

    def _work(self) -> None:
        while not self._is_over.wait(LOOK_SECONDS):
            commit = self._commit()
            if commit == self._last:
                continue
            self._last = commit
            self.seen.append(Push(at=time.time(), commit=commit))
            if self._tell is not None:
                self._tell()

    def _commit(self) -> str:
        # Git replaces the file as a whole, so it is never seen half written.
        return self._branch.read_text(encoding="utf-8").strip()
