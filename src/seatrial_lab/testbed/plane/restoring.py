"""A control plane of two programs, etcd and the API server, that can be put back to the state it was backed up in.

What an administrator does with `etcdutl snapshot restore`: everything is stopped, the older data takes the place of the
newer, everything is started again. The versions of all objects then count from the older number. There are no
controllers here, and no kubelets: objects are as whoever makes them says.

Tests: tests/e2e/test_restored.py
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from seatrial_lab.testbed.building import build
from seatrial_lab.testbed.plane import boot
from seatrial_lab.testbed.plane.control_plane import ControlPlane

DATA: Final = "etcd"
BACKUP: Final = "etcd.backup"


class RestorablePlane:
    """Use `with`."""

    def __init__(self, folder: Path, *, say: build.Say = build.say_on_stderr) -> None:
        folder = folder.resolve()
        boot.prepare(folder)
        self._folder = folder
        self._boot = boot.Boot(folder, is_leashed=True, say=say)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def plane(self) -> ControlPlane:
        """The control plane as it runs now."""
        return ControlPlane(self._boot.record)

    def start(self) -> None:
        """Start both programs on the data that is there, and return when they answer."""
        try:
            self._boot.start_api()
        except BaseException:  # also on an interrupt: nothing may stay behind
            self.stop()
            raise

    def stop(self) -> None:
        boot.stop(self._boot.record)

    def back_up(self) -> None:
        """Keep the state of this moment; nobody is answered meanwhile."""
        self.stop()
        shutil.copytree(self._folder / DATA, self._folder / BACKUP)
        self.start()

    def restore(self, while_away: Callable[[], None] = lambda: None) -> None:
        """Be again as the backup was; nobody is answered meanwhile, and then `while_away` is called."""
        self.stop()
        while_away()
        shutil.rmtree(self._folder / DATA)
        shutil.copytree(self._folder / BACKUP, self._folder / DATA)
        self.start()
