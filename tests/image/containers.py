"""An image at work: unpacked, its root read-only, /tmp the one place to write, started anew for every command.

By a mount namespace and chroot, as any container runtime does it in the end; that needs root, and is left out without.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.image.conftest import Unpacked

NEEDS_ROOT: Final = pytest.mark.skipif(
    os.geteuid() != 0 or platform.system() != "Linux",
    reason="The image is not run: changing the root of a process needs root, on Linux.",
)
"""Where there is root it runs, or fails: nothing else is a reason to leave it out."""
RUN_SECONDS: Final = 120.0

# What a runtime gives a container: its own mounts, /dev, /proc, an emptyDir at /tmp, and a root that cannot be written.
ENTER: Final = """
set -e
mount --bind {root} {root}
mount --rbind /dev {root}/dev
mount -t proc proc {root}/proc
mount -t tmpfs tmpfs {root}/tmp
mount -o remount,bind,ro {root}
exec chroot --userspec={user} --groups= {root} /usr/bin/env -i {environment} {command}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """An image that lies unpacked, started anew for every command."""

    root: Path
    user: str
    environment: tuple[str, ...]
    entrypoint: tuple[str, ...]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """What the entrypoint says to these arguments."""
        return self.start([*self.entrypoint, *arguments])

    def shell(self, script: str) -> subprocess.CompletedProcess[str]:
        return self.start(["sh", "-ec", script])

    def start(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        script = ENTER.format(
            root=shlex.quote(str(self.root)),
            user=self.user,
            environment=shlex.join(self.environment),
            command=shlex.join(command),
        )
        return subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "sh", "-c", script],
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
        )


@contextmanager
def unpacked(image: Unpacked, root: Path) -> Iterator[Container]:
    """An image ready to be run, for a while."""
    image.unpack(root)
    root.chmod(0o755)
    config = image.configuration["config"]
    yield Container(
        root=root, user=config["User"], environment=tuple(config["Env"]), entrypoint=tuple(config["Entrypoint"])
    )
    shutil.rmtree(root)  # pytest keeps three runs, and this is 170 MB
