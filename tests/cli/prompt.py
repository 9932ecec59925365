"""A shell at a terminal of its own, to press Tab in."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

TIMEOUT_SECONDS: Final = 60.0
READY: Final = "ready-for-a-line"
_CONTROLS: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[=>()][0-9A-B]?|\x1b\][^\x07]*\x07|[\x07\r]")


def environment(home: Path, **more: str) -> dict[str, str]:
    """What a shell of its own needs: our commands first, no settings of anybody."""
    ours = str(Path(sys.executable).parent)
    return {"PATH": f"{ours}:/usr/bin:/bin", "HOME": str(home), "TERM": "xterm", "LANG": "C.UTF-8", **more}


class Prompt:
    """What is typed, and what is seen."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def until(self, pattern: str) -> str:
        """Everything that is seen up to a pattern, without colours and cursors."""
        seen, deadline = "", time.monotonic() + TIMEOUT_SECONDS
        while not re.search(pattern, _CONTROLS.sub("", seen)):
            left = deadline - time.monotonic()
            assert left > 0, f"{pattern!r} was never seen in {_CONTROLS.sub('', seen)!r}"
            if select.select([self._terminal], [], [], left)[0]:
                seen += os.read(self._terminal, 65536).decode("utf-8", "replace")
        return _CONTROLS.sub("", seen)


@contextmanager
def prompt(command: list[str], env: Mapping[str, str]) -> Iterator[Prompt]:
    """Start a shell at a terminal; it is gone afterwards."""
    pid, terminal = pty.fork()
    if pid == 0:  # the shell itself
        os.execve(command[0], command, dict(env))  # noqa: S606
    try:
        yield Prompt(terminal)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)
