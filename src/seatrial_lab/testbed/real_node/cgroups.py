"""The control groups of real nodes: the kernel keeps them when everything in them has ended (inside/hold.py).

    /sys/fs/cgroup/<controller>/seatrial-<id of the holder>-<its birth>/…

The name says whose they are, so those of a node that was killed long ago are found and removed by whoever comes next.
Tests: tests/testbed/test_real_node.py
"""

import os
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from seatrial_lab.testbed.plane import processes

REMOVE_SECONDS: Final = 5.0
_NAME: Final = re.compile(r"seatrial-(\d+)-(\d+)")


def root_of(holder: processes.Program) -> str:
    """Return the name of the groups in which a node is, its containers included."""
    return f"seatrial-{holder.pid}-{holder.born_ticks}"


def sweep() -> None:
    """Remove the groups of nodes that no longer run."""
    for folder in found():
        if not _is_held(folder.name):
            _remove(folder)


def found() -> list[Path]:
    """Return the groups of all real nodes of this machine."""
    rows = (row.split() for row in Path("/proc/mounts").read_text(encoding="utf-8").splitlines())
    mounts = {Path(row[1]) for row in rows if row[2] in ("cgroup", "cgroup2")}
    return sorted(each for mount in mounts for each in mount.glob("seatrial-*") if _NAME.fullmatch(each.name))


def _is_held(name: str) -> bool:
    known = _NAME.fullmatch(name)
    holder = known and processes.Program(name="", pid=int(known[1]), born_ticks=int(known[2]), log=Path())
    return holder is not None and processes.is_alive(holder)


def _remove(folder: Path) -> None:
    """Remove a group, the groups in it first; one that is still busy is left for the next who comes."""
    deadline = time.monotonic() + REMOVE_SECONDS
    while folder.exists():
        for place, _, _ in os.walk(folder, topdown=False):
            with suppress(OSError):  # somebody in it has not quite ended
                Path(place).rmdir()
        if time.monotonic() >= deadline:
            return
        time.sleep(0.02)
