"""Doing what a schedule says, where it is not on the way to the API server: to the plane, the process, the remote.

A blow that lasts is undone when its time is over; whatever happens, everything is undone before the story is judged.
Nothing here looks at how the controller takes it. Tests: tests/torture/test_blows.py
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from seatrial.adapters.kube.reading.leader import LEASE
from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed import disks, repositories
from seatrial_lab.torture import inside
from seatrial_lab.torture.drawing import Blow
from seatrial_lab.torture.stage import Play
from seatrial_lab.torture.table import Where

HOUR_SECONDS: Final = 3600.0
ON_THE_WAY: Final = frozenset({Where.REQUESTS, Where.EVENTS, Where.WATCHES, Where.WAY})
REJECTING: Final = "#!/bin/sh\necho 'this branch is closed for now' >&2\nexit 1\n"

Undo = Callable[[], object]


@dataclass(kw_only=True)
class Blows:
    """What has been done to one play, and what is still to be undone."""

    play: Play
    struck: list[str] = field(default_factory=list)
    """What happened, in order, with when."""
    _undo: list[tuple[float, Undo]] = field(default_factory=list)
    _began_at: float = field(default_factory=time.monotonic)

    def strike(self, blow: Blow) -> None:
        """Do it."""
        self.struck.append(f"{time.monotonic() - self._began_at:.1f} s: {blow}")
        if blow.fault.where in ON_THE_WAY:
            self.play.way.strike(blow)
            self._later(blow.seconds if blow.fault.where is Where.WAY else 0.0, lambda: None)
            return
        undo = DEEDS[blow.fault.name](self.play, blow)
        if undo is not None:
            self._later(blow.seconds, undo)

    def undo_due(self) -> None:
        """Undo what has lasted long enough."""
        due = [each for each in self._undo if each[0] <= time.monotonic()]
        self._undo = [each for each in self._undo if each not in due]
        for _, undo in due:
            undo()

    def undo_all(self) -> None:
        """Undo everything, now."""
        rest, self._undo = self._undo, []
        for _, undo in rest:
            undo()
        self.play.way.calm()

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to undo."""
        return not self._undo

    def _later(self, seconds: float, undo: Undo) -> None:
        self._undo.append((time.monotonic() + seconds, undo))


# ── the plane ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _kill_etcd(play: Play, blow: Blow) -> None:
    play.stage.restorable.kill_etcd(lambda: time.sleep(blow.seconds))


def _restart_api(play: Play, blow: Blow) -> None:
    play.stage.restorable.restart_api_server(lambda: time.sleep(blow.seconds))


def _restore_etcd(play: Play, blow: Blow) -> Undo:
    """The snapshot is of now, and what it is put back from is later."""
    del blow
    play.stage.restorable.take_snapshot()

    def restore() -> None:
        play.watch_no_more()  # two pasts in one history would show what never was
        play.stage.restorable.restore_snapshot()
        play.stage.gates.forget()
        if play.schedule.has_git:
            play.stage.synced.forget()
        play.watch()

    return restore


# ── the process ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _put_forward(play: Play, blow: Blow) -> None:
    del blow
    inside.set_clock(play.folder, HOUR_SECONDS)


def _put_back(play: Play, blow: Blow) -> Undo:
    del blow
    before = inside.read_clock(play.folder)
    inside.set_clock(play.folder, before - HOUR_SECONDS)
    return partial(inside.set_clock, play.folder, before)


def _delete_lease(play: Play, blow: Blow) -> None:
    del blow
    play.stage.plane.kubectl("delete", "lease", LEASE, "-n", keys.HOME, "--ignore-not-found")


def _fill_disk(play: Play, blow: Blow) -> Undo:
    del blow
    if play.disk is None:
        raise RuntimeError("this play has no disk of its own")
    return disks.fill(play.disk).unlink


def _exhaust_files(play: Play, blow: Blow) -> Undo:
    del blow
    return exhaust_files(play.controller.pid)


def exhaust_files(pid: int) -> Undo:
    """Let a process open no further file; what is returned lets it again. One that is gone needs neither."""
    with suppress(ProcessLookupError, FileNotFoundError):
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        # One that is ending has none open any more.
        highest = max((int(each.name) for each in Path(f"/proc/{pid}/fd").iterdir()), default=0)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (highest + 1, limits[1]))

        def undo() -> None:
            with suppress(ProcessLookupError):
                resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)

        return undo
    return lambda: None


# ── the remote ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _take_away(play: Play, blow: Blow) -> Undo:
    del blow
    return take_away(play.stage.remote)


def take_away(remote: Path) -> Undo:
    """Let nobody find the remote."""
    away = _away(remote)
    remote.rename(away)
    return partial(away.rename, remote)


def _away(remote: Path) -> Path:
    return remote.with_suffix(".away")


def _now(remote: Path) -> Path:
    """Where a remote is, taken away or not: faults of the remote overlap, and each is undone when its time is up."""
    return remote if remote.exists() else _away(remote)


def _reject(play: Play, blow: Blow) -> Undo:
    del blow
    return reject(play.stage.remote)


def reject(remote: Path) -> Undo:
    """Let the remote take no push."""
    hook = Path("hooks") / "pre-receive"
    (_now(remote) / hook).write_text(REJECTING, encoding="utf-8")
    (_now(remote) / hook).chmod(0o755)
    return lambda: (_now(remote) / hook).unlink(missing_ok=True)  # two such faults may overlap


def _rewrite(play: Play, blow: Blow) -> Undo:
    del blow
    return rewrite(play.stage.remote)


def rewrite(remote: Path) -> Undo:
    """Let the branch have one commit with everything in it, as a force-push does.

    The way back is one, too: whatever was pushed in between is gone with it."""
    ref = f"refs/heads/{repositories.BRANCH}"
    where = _now(remote)
    head = repositories.git(where, "rev-parse", ref).strip()
    author = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org")
    alone = repositories.git(where, *author, "commit-tree", f"{head}^{{tree}}", "-m", "All of it in one").strip()
    repositories.git(where, "update-ref", ref, alone, head)
    return lambda: repositories.git(_now(remote), "update-ref", ref, head)


DEEDS: Final[dict[str, Callable[[Play, Blow], Undo | None]]] = {
    "etcd-killed": _kill_etcd,
    "etcd-restored": _restore_etcd,
    "api-restarted": _restart_api,
    "clock-forward": _put_forward,
    "clock-back": _put_back,
    "lease-deleted": _delete_lease,
    "disk-full": _fill_disk,
    "files-exhausted": _exhaust_files,
    "remote-away": _take_away,
    "remote-rejecting": _reject,
    "remote-rewritten": _rewrite,
}
