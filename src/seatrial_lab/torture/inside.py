"""Becomes the controller, with a clock that can be put forward and back, and a count of its tasks, both by files.

    python -m seatrial_lab.torture.inside FOLDER controller --forever …

FOLDER/clock holds by how many seconds `time.time()` of this process is off, and nothing else of the machine is: that is
the clock that the controller decides by (`SystemClock`), writes into records and into its Lease. What measures how long
something takes asks `time.monotonic()`, which no step of a clock moves, here or anywhere. Lines of the log are told by
another clock (`datetime.now`), which stays right, so that a story can be read. FOLDER/tasks is written every second:
how many tasks of asyncio there are. What callbacks of the loop use is measured by callbacks.py. Tests:
tests/torture/test_inside.py
"""

from __future__ import annotations

import asyncio
import mmap
import runpy
import struct
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from seatrial_lab.torture import callbacks

CLOCK, TASKS = "clock", "tasks"
EVERY_SECONDS: Final = 1.0
_OFFSET: Final = struct.Struct("=d")
_right = time.time


def set_clock(folder: Path, seconds: float) -> None:
    """Put the clock of whoever runs with this folder off by so many seconds; 0 puts it right."""
    path = folder / CLOCK
    if not path.exists():
        path.write_bytes(_OFFSET.pack(0.0))
    with path.open("r+b") as file:
        file.write(_OFFSET.pack(seconds))


def task_count(folder: Path) -> int | None:
    """How many tasks the controller has; None before it has told."""
    with suppress(FileNotFoundError, ValueError):
        return int((folder / TASKS).read_text(encoding="ascii"))
    return None


def _follow_clock(folder: Path) -> None:
    """From now on `time.time()` is what the file says."""
    set_clock(folder, read_clock(folder))
    with (folder / CLOCK).open("r+b") as file:
        seen = mmap.mmap(file.fileno(), _OFFSET.size)

    def now() -> float:
        (offset,) = _OFFSET.unpack(seen[: _OFFSET.size])
        return float(_right() + offset)

    time.time = now


def read_clock(folder: Path) -> float:
    """By how many seconds it is off."""
    path = folder / CLOCK
    return float(_OFFSET.unpack(path.read_bytes())[0]) if path.exists() else 0.0


def _count_tasks(folder: Path) -> None:
    """Tell how many tasks there are, again and again; the loop is the one that is running, whenever it is."""
    loops: list[asyncio.AbstractEventLoop] = []
    original = asyncio.new_event_loop

    def made() -> asyncio.AbstractEventLoop:
        loops.append(original())
        return loops[-1]

    asyncio.events.new_event_loop = made

    def work() -> None:
        while True:
            loops[:] = [loop for loop in loops if not loop.is_closed()]
            with suppress(RuntimeError, OSError):  # the set changed meanwhile; or there is no room, or no file left
                count = sum(len(asyncio.all_tasks(loop)) for loop in list(loops))
                (folder / f"{TASKS}.new").write_text(str(count), encoding="ascii")
                (folder / f"{TASKS}.new").replace(folder / TASKS)  # readers never see half of it
            time.sleep(EVERY_SECONDS)

    threading.Thread(target=work, name="task-count", daemon=True).start()


def main() -> None:
    """Become it."""
    folder = Path(sys.argv[1])
    _follow_clock(folder)
    _count_tasks(folder)
    callbacks.measure(folder)
    sys.argv = ["seatrial", *sys.argv[2:]]
    runpy.run_module("seatrial", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
