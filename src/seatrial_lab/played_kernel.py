"""A host that is prepared for `seatrial driver-manager`, and a kernel that changes it in place of the real one.

    python -m seatrial_lab.played_kernel uninstall --root HOST      the command itself, on such a host

No test has a kernel module to spare. So the modules of a prepared host are folders, and unloading one removes it, as
long as nobody holds it. With PLAYED_KILL_AFTER=3 in the environment the process kills itself behind its third write;
PLAYED_SMI=580.105.08 is what the host's own nvidia-smi says.

Law of this file: nothing of the laboratory is imported, so that it runs in a pod of our image as well. Tests:
tests/adapters/host/test_tree.py, tests/e2e/driver_manager/test_killed.py
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from seatrial.adapters.host.tree import HostTree

KILL_AFTER: Final = "PLAYED_KILL_AFTER"
SMI: Final = "PLAYED_SMI"
MOUNTS: Final = "proc/self/mounts"
BLANK: Final = "\\040"
"""How the kernel writes one into that table."""


@dataclass(kw_only=True)
class PlayedHost:
    """A host below a folder, and its kernel."""

    root: Path
    smi: str = ""
    """What the host's own nvidia-smi says; empty where there is none."""
    busy: set[str] = field(default_factory=set)
    """Modules and mounts that somebody uses."""
    calls: list[str] = field(default_factory=list)

    def tree(self) -> HostTree:
        """The host as a driver manager sees it."""
        return HostTree(self, root=self.root, host_root=self.root / "host")

    # ── preparing ────────────────────────────────────────────────────────────────────────────────────────────────────

    def prepare(self) -> None:
        """Have a driver loaded, as its container left it."""
        for folder in ("sys/module", "sys/bus/pci/devices", "run/nvidia/driver/dev", "proc/self", "host"):
            (self.root / folder).mkdir(parents=True)
        self.write("proc/modules", "")
        self.load("nvidia_uvm")
        self.load("nvidia", use_count=1, holders=("nvidia_uvm",))
        self.mount("/run/nvidia/driver", "/run/nvidia/driver/dev")
        self.write("run/nvidia/nvidia-driver.state", "old\n")
        self.write("run/nvidia/nvidia-driver.pid", "17\n")

    def write(self, path: str, text: str) -> None:
        """Write one of its files."""
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")

    def load(self, name: str, *, use_count: int = 0, holders: tuple[str, ...] = ()) -> None:
        """Have a module loaded."""
        self.write(f"sys/module/{name}/refcnt", f"{use_count}\n")
        (self.root / "sys/module" / name / "holders").mkdir(exist_ok=True)
        for holder in holders:
            (self.root / "sys/module" / name / "holders" / holder).touch()

    def mount(self, *paths: str) -> None:
        """Have these paths mounted, and nothing else of a driver."""
        written = (path.replace(" ", BLANK) for path in paths)
        lines = (f"overlay {path} overlay rw 0 0\n" for path in written)
        self.write(MOUNTS, "sysfs /sys sysfs rw 0 0\n" + "".join(lines))

    # ── its kernel ───────────────────────────────────────────────────────────────────────────────────────────────────

    def delete_module(self, name: str) -> None:
        """Remove a module's folder, unless somebody holds it."""
        self.calls.append(f"delete_module {name}")
        folder = self.root / "sys/module" / name
        if not folder.exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        if name in self.busy or any((folder / "holders").iterdir()):
            raise OSError(errno.EWOULDBLOCK, os.strerror(errno.EWOULDBLOCK), name)
        shutil.rmtree(folder)
        for holder in (self.root / "sys/module").glob(f"*/holders/{name}"):
            holder.unlink()
            count = holder.parent.parent / "refcnt"
            count.write_text(f"{int(count.read_text()) - 1}\n", encoding="ascii")

    def unmount(self, path: str) -> None:
        """Take the uppermost mount at a path out of the table."""
        self.calls.append(f"unmount {path}")
        if path in self.busy:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), path)
        inside = f"/{Path(path).relative_to(self.root)}"
        lines = (self.root / MOUNTS).read_text(encoding="utf-8").splitlines()
        found = max(index for index, line in enumerate(lines) if line.split()[1].replace(BLANK, " ") == inside)
        self.write(MOUNTS, "".join(f"{line}\n" for index, line in enumerate(lines) if index != found))

    def host_driver(self, root: Path) -> str:
        """What nvidia-smi says there."""
        self.calls.append(f"nvidia-smi in {root.name}")
        return self.smi

    def lacking(self) -> tuple[str, ...]:
        """Nothing: it is only played."""
        return ()


def main(arguments: list[str]) -> int:
    """Run `seatrial driver-manager` on a prepared host."""
    from seatrial.adapters.kube.driver_manager import running
    from seatrial.cli.main import main as seatrial
    from seatrial.cli.run import driver_manager

    root = Path(arguments[arguments.index("--root") + 1])
    driver_manager.kernel = lambda: PlayedHost(root=root, smi=os.environ.get(SMI, ""))
    if os.environ.get(KILL_AFTER):
        running.Manager._do = _deadly(running.Manager._do, int(os.environ[KILL_AFTER]))  # type: ignore[method-assign]
    return seatrial(["driver-manager", *arguments, "--host-root", str(root / "host")])


def _deadly(do: Callable[..., Any], write_count: int) -> Callable[..., Any]:
    left = [write_count]

    async def doing(*given: Any) -> Any:
        turned = await do(*given)
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        return turned

    return doing


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
