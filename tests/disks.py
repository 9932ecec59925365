"""Disks that are full: small ones of their own, really mounted, so that the kernel itself says that there is no room.

Who may mount gets one, and a mount that fails then fails the test. Others leave the test out: nothing but a mount gives
a disk that is full and has room again. Without root a namespace of one's own gives the right: `unshare -Urm make test`.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial_lab.testbed.real_node import able

ADMIN = "CAP_SYS_ADMIN"
MAY_MOUNT = ADMIN not in able.lacking_capabilities(Path("/proc/self/status").read_text(encoding="ascii"))
needs_mounts = pytest.mark.skipif(
    not MAY_MOUNT, reason=f"mounts and changes of root need {ADMIN}; run it as root, or under `unshare -Urm`"
)


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
