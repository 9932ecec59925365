"""How much of its process's CPU time each callback of the controller's event loop uses, told by files.

FOLDER/callback holds, as it happens, at how much CPU time the running callback began and the most that any one used: a
reader outside (`Gauge`) sees a callback that never ends, too. FOLDER/callbacks has a line for each that used more than
any before it; a step of a task does not say whose it is, but SIGUSR1 has FOLDER/stacks say what every thread is doing,
also where nothing else of the process runs.

Only the main thread's loop is measured: another's would be charged for what the main thread did while it waited.
Tests: tests/torture/test_callbacks.py
"""

from __future__ import annotations

import asyncio
import faulthandler
import mmap
import os
import signal
import struct
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

GAUGE, LINES, STACKS = "callback", "callbacks", "stacks"
TOLD_SECONDS: Final = 0.1
"""Callbacks that use less get no line."""
_STATE: Final = struct.Struct("=dd")
_TICKS: Final = os.sysconf("SC_CLK_TCK")


def measure(folder: Path) -> None:
    """From now on measure every callback of this process's main thread."""
    (folder / GAUGE).write_bytes(_STATE.pack(-1.0, 0.0))
    with (folder / GAUGE).open("r+b") as file:
        seen = mmap.mmap(file.fileno(), _STATE.size)
    faulthandler.register(signal.SIGUSR1, file=(folder / STACKS).open("a", encoding="utf-8"))
    main, run, cpu, most = threading.get_ident(), asyncio.Handle._run, time.process_time, 0.0

    def measured(handle: Any) -> None:
        nonlocal most
        if threading.get_ident() != main:
            return run(handle)
        began = cpu()
        _STATE.pack_into(seen, 0, began, most)
        try:
            return run(handle)
        finally:
            used = cpu() - began
            if used > most:
                most = used
                if used > TOLD_SECONDS:
                    _tell(folder, used, handle)
            _STATE.pack_into(seen, 0, -1.0, most)

    asyncio.Handle._run = measured  # type: ignore[method-assign, assignment]


def _tell(folder: Path, used: float, handle: Any) -> None:
    """Say that a callback used so much; a full disk, or no file left, is nobody's fault here."""
    with suppress(OSError, ValueError), (folder / LINES).open("a", encoding="utf-8") as file:
        file.write(f"{used:.3f} s of CPU: {handle!r}"[:500].replace("\n", " ") + "\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    """What a process that measures itself shows from outside."""

    pid: int
    folder: Path

    def most(self) -> float:
        """The most CPU time that one callback has used, one that runs on included."""
        running = self.running()
        return max(self._state()[1], running)

    def running(self) -> float:
        """How much CPU time the callback has used that runs now."""
        began, _ = self._state()
        used = self._cpu_seconds() - began
        # A reader that waits for its turn between the two would charge one callback with what others used.
        is_the_same = began >= 0.0 and self._state()[0] == began
        return max(0.0, used) if is_the_same else 0.0

    def _state(self) -> tuple[float, float]:
        with suppress(FileNotFoundError, struct.error):
            began, most = _STATE.unpack((self.folder / GAUGE).read_bytes())
            return float(began), float(most)
        return -1.0, 0.0

    def stacks(self) -> None:
        """Have it say what it is doing."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGUSR1)

    def _cpu_seconds(self) -> float:
        with suppress(FileNotFoundError, ProcessLookupError):
            fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / _TICKS
        return 0.0
