"""Brings a folder of a Git branch into the cluster and undoes what differs from it, as Argo CD and Flux do.

A stand-in that starts at once, for tests that need the loop and not the engine: real git, real server-side apply, under
the name of Flux's controller; no more than the loop between the two. Nothing is claimed of GitOps from it alone: the
real engines are beside it. Tests: tests/gitops/test_syncer.py, tests/e2e/test_campaign.py
"""

from __future__ import annotations

import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from seatrial_lab.testbed import errors
from seatrial_lab.testbed.plane import control_plane

MANAGER: Final = "kustomize-controller"
PATIENCE: Final = "20s"
"""An API server that goes away in the middle of a request lets somebody wait who set no limit."""
LOOK_SECONDS: Final = 1.0


class RemoteAway(RuntimeError):  # noqa: N818  the trade's word
    """Git could not be had."""


class Syncer:
    """Applies what the branch says until its context ends."""

    def __init__(
        self,
        plane: control_plane.ControlPlane,
        *,
        remote: Path | str,
        folder: Path,
        path: str,
        branch: str = "main",
        manager: str = MANAGER,
        is_healing: bool = False,
    ) -> None:
        """With `is_healing` it applies at every look, so that what others write does not last."""
        self._plane = plane
        self._remote = remote
        self._folder = folder
        self._path = path
        self._branch = branch
        self._manager = manager
        self.is_healing = is_healing
        self.applied: list[str] = []
        """The commits that were brought into the cluster, in order."""
        self.trouble = ""
        """What was said about a commit that could not be brought in."""
        self._looking = threading.Lock()
        self._is_suspended = False
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="syncer", daemon=True)

    def __enter__(self) -> Self:
        _git("clone", "--quiet", "--branch", self._branch, str(self._remote), str(self._folder))
        self._sync()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join(20)

    def suspend(self) -> None:
        """Apply nothing until it is resumed; a look that is under way ends first."""
        with self._looking:
            self._is_suspended = True

    def resume(self) -> None:
        """Apply again."""
        with self._looking:
            self._is_suspended = False

    def forget(self) -> None:
        """Bring the newest commit in once more: real engines compare, and see that a restored cluster lacks it."""
        with self._looking:
            self.applied.clear()

    def poke(self) -> None:
        """Look now."""
        with suppress(RemoteAway):
            self._look()

    def _work(self) -> None:
        while not self._is_over.wait(LOOK_SECONDS):
            with suppress(RemoteAway):  # looked for again, as they do
                self._look()

    def _look(self) -> None:
        with self._looking:
            if self._is_suspended:
                return
            try:
                self._sync()
            except errors.KubectlFailed as err:
                self.trouble = str(err)  # tried again at the next look, as they do

    def _sync(self) -> None:
        _git("-C", str(self._folder), "fetch", "--quiet", "origin", self._branch)
        head = _git("-C", str(self._folder), "rev-parse", f"origin/{self._branch}").strip()
        is_known = bool(self.applied) and self.applied[-1] == head
        if is_known and not self.is_healing:
            return
        _git("-C", str(self._folder), "reset", "--quiet", "--hard", head)
        file = str(self._folder / self._path)
        limits = (f"--field-manager={self._manager}", f"--request-timeout={PATIENCE}")
        self._plane.kubectl("apply", "--server-side", "--force-conflicts", *limits, "-f", file)
        self.trouble = ""
        self.applied += [] if is_known else [head]


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, timeout=60, check=False)
    except subprocess.TimeoutExpired as err:
        raise RemoteAway(f"git {' '.join(arguments[:4])}: no answer") from err
    if done.returncode:
        raise RemoteAway(f"git {' '.join(arguments[:4])}: {done.stderr.strip()}")
    return done.stdout
