"""Two calls to the kernel that no file stands for, and a program of the host's: one attempt each, OSError where it
fails.

Law of this file: no force anywhere. A module that is in use stays, a mount that is busy stays. Tests:
tests/adapters/host/test_kernel.py, which unmounts for real and has the kernel refuse modules; none was ever unloaded
there, since a test has no module to spare.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path
from typing import Final, Protocol

SMI_SECONDS: Final = 60.0
"""How long nvidia-smi may take: on a machine with many GPUs and no persistence it takes its time."""
_CAP_SYS_MODULE: Final = 16
_CAP_SYS_ADMIN: Final = 21


class Kernel(Protocol):
    """What is asked of the machine itself."""

    def delete_module(self, name: str) -> None:
        """Take a module out; OSError where the kernel keeps it."""

    def unmount(self, path: str) -> None:
        """Take one mount away; OSError where it is busy."""

    def host_driver(self, root: Path) -> str:
        """The version that nvidia-smi tells on the host at this root; empty where it does not work."""

    def lacking(self) -> tuple[str, ...]:
        """What this process may not do, as sentences."""


class Linux:
    """The kernel that we run on."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)

    def delete_module(self, name: str) -> None:
        """Take a module out, as `rmmod` does: without force, and without waiting for who uses it."""
        self._call(self._libc.delete_module(name.encode(), os.O_NONBLOCK), name)

    def unmount(self, path: str) -> None:
        """Take the uppermost mount at a path away."""
        self._call(self._libc.umount2(path.encode(), 0), path)

    def _call(self, answer: int, what: str) -> None:
        if answer != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), what)

    def host_driver(self, root: Path) -> str:
        """Run the host's own nvidia-smi, with the host's own files."""
        asked = ("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
        try:
            ran = subprocess.run(
                ("chroot", str(root), *asked),
                capture_output=True,
                text=True,
                timeout=SMI_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        lines = ran.stdout.split()
        return lines[0] if ran.returncode == 0 and lines else ""

    def lacking(self) -> tuple[str, ...]:
        """The two capabilities that a privileged container has as root, and no other."""
        wanted = {_CAP_SYS_MODULE: "unload kernel modules", _CAP_SYS_ADMIN: "unmount the driver's root"}
        mask = _capabilities(Path("/proc/self/status").read_text(encoding="ascii", errors="replace"))
        missing = [what for bit, what in wanted.items() if not mask >> bit & 1]
        if not missing:
            return ()
        return (f"This process may not {' or '.join(missing)}: run it as user 0 in a privileged container.",)


def _capabilities(status: str) -> int:
    found = (line.split()[1] for line in status.splitlines() if line.startswith("CapEff:"))
    return int(next(found, "0"), 16)
