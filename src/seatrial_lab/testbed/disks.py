"""Disks that are full: small ones of their own, really mounted, so that the kernel itself says that there is no room.

Nothing but a mount gives a disk that is full and has room again, and a mount needs the right to. Without root a
namespace of one's own gives it: `unshare -Urm make test`. Tests: tests/e2e/test_full_disk.py
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from seatrial_lab.testbed.real_node import able

ADMIN: Final = "CAP_SYS_ADMIN"


def may_mount() -> bool:
    """Whether this process may mount."""
    return ADMIN not in able.lacking_capabilities(Path("/proc/self/status").read_text(encoding="ascii"))


@contextlib.contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """A disk of this size, until the context ends."""
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


def fill(disk: Path) -> Path:
    """Leave no room on it; the room comes back with the file that is returned."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 1024)
    return ballast
