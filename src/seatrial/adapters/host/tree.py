"""The host as a tree of files: what of a driver is there, and taking it away. Implements `ports.Host`.

    /sys/module/NAME/{refcnt,holders}      which modules are loaded, and who needs them
    /proc/self/mounts, /run/nvidia/driver  what of the old driver container is still mounted
    /run/nvidia/nvidia-driver.{state,pid}  which driver was loaded, and by which process
    /sys/bus/pci/devices                   who has the GPUs and NVSwitches, and whether there is a Mellanox card
    /run/mellanox/drivers/.driver-ready    the network operator's driver is up; /proc/modules: the host's own is

Law of this file: one attempt, and an OSError's own words where it fails. Tests: tests/adapters/host/test_tree.py
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, assert_never

from seatrial.adapters.host.kernel import Kernel
from seatrial.core.node.driver_manager.rows import MODULES, NOUVEAU
from seatrial.core.node.driver_manager.values import (
    ForgetDigest,
    HostSeen,
    HostStep,
    Module,
    RemovePidFile,
    Turned,
    Unbind,
    Unload,
    Unmount,
)

DRIVER_ROOT: Final = "run/nvidia/driver"
PID_FILE: Final = "run/nvidia/nvidia-driver.pid"
STATE_FILE: Final = "run/nvidia/nvidia-driver.state"
MOFED_READY: Final = "run/mellanox/drivers/.driver-ready"
MOFED_MODULE: Final = "mlx5_core"
NVIDIA: Final = "0x10de"
MELLANOX: Final = "0x15b3"
DEVICE_CLASSES: Final = ("0x0300", "0x0302", "0x0680")
"""Graphics cards, those without a monitor, and NVSwitches."""
_CONSUMER: Final = "consumer:pci:"
_IN_USE: Final = frozenset({errno.EBUSY, errno.EAGAIN, errno.EWOULDBLOCK})


class HostTree:
    """A host whose files lie below a root; `host_root` is where its own programs are run."""

    def __init__(self, kernel: Kernel, *, root: Path, host_root: Path) -> None:
        self._kernel = kernel
        self._root = root
        self._host_root = host_root

    # ── seeing ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def host_driver(self) -> str:
        """The version of a driver that the host brings itself; empty where it brings none."""
        return self._kernel.host_driver(self._host_root)

    def look(self) -> HostSeen:
        """Everything as it is now; what cannot be read is not there."""
        vendors = {device: _text(device / "vendor") for device in self._devices()}
        return HostSeen(
            modules=tuple(self._modules()),
            digest=_text(self._root / STATE_FILE),
            mounts=self._mounts(),
            has_pid_file=(self._root / PID_FILE).exists(),
            bound=tuple(device.name for device in self._ours(vendors) if (device / "driver").exists()),
            has_mellanox=MELLANOX in vendors.values(),
            has_mofed=(self._root / MOFED_READY).exists(),
            has_host_mofed=any(
                line.split(" ", 1)[0] == MOFED_MODULE for line in _text(self._root / "proc/modules").splitlines()
            ),
        )

    def _modules(self) -> Iterator[Module]:
        for name in (*MODULES, NOUVEAU):
            folder = self._root / "sys/module" / name
            if (folder / "refcnt").exists():
                count = _text(folder / "refcnt")
                holders = tuple(sorted(each.name for each in _entries(folder / "holders")))
                yield Module(name=name, use_count=int(count) if count.isdecimal() else 0, holders=holders)

    def _mounts(self) -> tuple[str, ...]:
        """The deepest first, and of several at one place each once for every mount."""
        top = f"/{DRIVER_ROOT}"
        lines = _text(self._root / "proc/self/mounts").splitlines()
        paths = [_unescaped(line.split()[1]) for line in lines]
        below = [path for path in paths if path == top or path.startswith(f"{top}/")]
        return tuple(sorted(below, key=lambda path: path.count("/"), reverse=True))

    def _devices(self) -> list[Path]:
        return _entries(self._root / "sys/bus/pci/devices")

    def _ours(self, vendors: dict[Path, str]) -> Iterator[Path]:
        """GPUs and NVSwitches, and the sound of a graphics card, which goes where its card goes."""
        for device, vendor in vendors.items():
            kind = _text(device / "class")
            if vendor != NVIDIA or not kind.startswith(DEVICE_CLASSES):
                continue
            yield device
            if kind.startswith(DEVICE_CLASSES[0]):
                names = (each.name.removeprefix(_CONSUMER) for each in _entries(device) if _CONSUMER in each.name)
                yield from (device.parent / name for name in names if (device.parent / name).exists())

    def lacking(self) -> tuple[str, ...]:
        """What would keep the work from being done, as sentences."""
        found = [*self._kernel.lacking()]
        if not (self._root / "run/nvidia").is_dir():
            found.append("/run/nvidia is not there: mount the host's, with mountPropagation Bidirectional.")
        if not (self._root / "sys/module").is_dir():
            found.append("/sys/module is not there: mount the host's /sys.")
        if not self._host_root.is_dir():
            found.append(f"{self._host_root} is not there: mount the host's / there, or name it by --host-root.")
        return tuple(found)

    # ── doing ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def do(self, step: HostStep) -> Turned | None:
        """Take one thing away; None when that is done, or there was nothing to take."""
        try:
            self._do(step)
        except FileNotFoundError:
            return None  # somebody was faster, or a kill came between the deed and the look
        except OSError as err:
            return Turned(why=_told(step, err))
        return None

    def _do(self, step: HostStep) -> None:
        match step:
            case Unload(module=name):
                self._kernel.delete_module(name)
            case Unmount(path=path):
                self._kernel.unmount(str(self._root / path.lstrip("/")))
            case ForgetDigest():
                (self._root / STATE_FILE).unlink(missing_ok=True)
            case RemovePidFile():
                (self._root / PID_FILE).unlink(missing_ok=True)
            case Unbind(devices=devices):
                for address in devices:
                    self._unbind(self._root / "sys/bus/pci/devices" / address)
            case _:
                assert_never(step)

    def _unbind(self, device: Path) -> None:
        """Have the kernel take a device from its driver, and not give it back to the one that was wished for."""
        if (device / "driver_override").exists():
            (device / "driver_override").write_text("\n", encoding="ascii")
        with suppress(FileNotFoundError):
            (device / "driver" / "unbind").write_text(device.name, encoding="ascii")


def _told(step: HostStep, err: OSError) -> str:
    """What failed, why, and what to do."""
    why = err.strerror or str(err)
    match step:
        case Unload(module=name) if err.errno in _IN_USE:
            return (
                f"the kernel keeps module {name}: the driver is in use ({why}). End what uses it: "
                "`fuser -v /dev/nvidia*` on the node says what that is."
            )
        case Unload(module=name):
            return f"module {name} could not be unloaded: {why}. Run this as user 0 in a privileged container."
        case Unmount(path=path):
            return f"{path} could not be unmounted: {why}. `fuser -vm {path}` on the node says who uses it."
        case ForgetDigest():
            return f"/{STATE_FILE} could not be removed: {why}. Mount the host's /run/nvidia so that it can be written."
        case RemovePidFile():
            return f"/{PID_FILE} could not be removed: {why}."
        case Unbind(devices=devices):
            return f"devices could not be taken from their drivers ({', '.join(devices)}): {why}."
        case _:
            assert_never(step)


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _unescaped(path: str) -> str:
    """A path as the kernel writes it into a table: blanks and their like by their octal number."""
    for code, sign in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        path = path.replace(code, sign)
    return path
