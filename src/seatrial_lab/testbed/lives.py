"""A controller that dies of every write: each of its lives does one thing to the world, and never learns how it went.

    a write to the API server   passed on and answered; the controller is killed before the answer reaches it
    a push                      refused at first and the controller killed, as if the cut had come just before; the next
                                one is taken, and the controller killed before it is told

Whoever dies is started again at once. A life that has nothing left to write goes on: that is how the end is known.
Of writes that are on their way together one arrives, and which one is fair: that of which the fewest have died so far.
Were it always the first, a life would never get further than what every life begins with.

Tests: tests/e2e/crashes.py
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from seatrial_lab.testbed.controller_process import ControllerProcess
from seatrial_lab.testbed.plane import control_plane
from seatrial_lab.testbed.plane.write_proxy import Write, WriteProxy

LEASE_SECONDS: Final = 2
"""The shortest there is: so long a dead leader blocks the next life."""
LOOK_SECONDS: Final = 0.05
TOGETHER_SECONDS: Final = 0.1
"""Writes that leave within so long of each other are on their way together."""
DEATH_SECONDS: Final = 30.0
"""How long the API server may take to answer the write that a life dies of."""
PUSH: Final = "push"
REFUSED_PUSH: Final = "push on its way"

_PID, _DEATHS, _TAKEN_NEXT = "controller.pid", "controller.deaths", "controller.taken-next"
# Others push here too: a hook kills only whose push it is, and that is whoever started git.
_HOOK: Final = """#!/bin/sh
# The controller that pushed dies here; see lives.py.
cd "${{GIT_DIR:-.}}" || exit 0
[ -s {pid} ] && [ -n "$SEATRIAL_LIFE" ] || exit 0
{before}
echo {death} >> {deaths}
kill -KILL "$(cat {pid})"
exit {code}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """What a life died of: the kind of write, and whom it was about; a push has no name."""

    kind: str
    name: str = ""


@dataclass(kw_only=True)
class Lives:
    """Lives of one controller, one after the other, until its context ends."""

    plane: control_plane.ControlPlane
    account: Path
    remote: Path
    folder: Path
    deaths: list[Death] = field(default_factory=list)
    """What each life died of, in order."""
    answers: Counter[int] = field(default_factory=Counter)
    """What the API server answered, which no life has learned."""
    controller: ControllerProcess = field(init=False)
    _proxy: WriteProxy = field(init=False)
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _is_alive: bool = False
    _dead: threading.Event = field(default_factory=threading.Event)
    _leads_since: float | None = None
    _offered: list[Write] = field(default_factory=list)
    _chosen: Write | None = None
    _is_over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread = field(init=False)

    def __enter__(self) -> Self:
        self._proxy = WriteProxy(
            self.account, authority=self.plane.authority, before=self._is_chosen, after=self._die_of
        ).__enter__()
        self.controller = ControllerProcess(
            self._proxy.kubeconfig,
            "",
            self.folder,
            lease_seconds=LEASE_SECONDS,
            environment={"SEATRIAL_LIFE": "one write"},
        )
        refused = f"[ -e {_TAKEN_NEXT} ] && rm {_TAKEN_NEXT} && exit 0\ntouch {_TAKEN_NEXT}"
        self._hook("pre-receive", before=refused, death=REFUSED_PUSH, code=1)
        self._hook("post-receive", before="", death=PUSH, code=0)
        self._thread = threading.Thread(target=self._keep_starting, name="lives", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join(10)
        self._dead.set()
        self.controller.stop()
        self._proxy.__exit__(kind, error, trace)
        for name in ("pre-receive", "post-receive"):
            (self.remote / "hooks" / name).unlink()
        (self.remote / _PID).unlink(missing_ok=True)

    @property
    def idle_seconds(self) -> float:
        """For how long the last life has led without finding anything to write."""
        since = self._leads_since
        return time.monotonic() - since if since is not None else 0.0

    def kinds(self) -> dict[str, int]:
        """How many lives each kind of write has cost."""
        return dict(sorted(Counter(death.kind for death in self.deaths).items()))

    # ── dying ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _is_chosen(self, write: Write) -> bool:
        """A life writes once; what else it had on its way is lost with it."""
        dead = self._dead
        with self._turn:
            self._offered.append(write)
        dead.wait(TOGETHER_SECONDS)
        with self._turn:
            if self._is_alive:
                self._is_alive = False
                self._chosen = min(self._offered, key=lambda each: self.deaths.count(_death_of(each)))
            if write is self._chosen:
                return True
        dead.wait(DEATH_SECONDS)
        return False

    def _die_of(self, write: Write) -> None:
        self.answers[write.code] += 1
        self.deaths.append(_death_of(write))
        os.kill(self.controller.pid, signal.SIGKILL)

    def _hook(self, name: str, *, before: str, death: str, code: int) -> None:
        path = self.remote / "hooks" / name
        path.write_text(
            _HOOK.format(pid=_PID, before=before, death=f"'{death}'", deaths=_DEATHS, code=code), encoding="utf-8"
        )
        path.chmod(0o755)

    # ── living ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _keep_starting(self) -> None:
        log, began_at = self.controller.log, 0
        while not self._is_over.wait(LOOK_SECONDS):
            if not self.controller.is_running:
                self._bury()
                began_at = log.stat().st_size if log.exists() else 0
                self._begin()
            elif self._leads_since is None and b" leading " in log.read_bytes()[began_at:]:
                self._leads_since = time.monotonic()

    def _bury(self) -> None:
        self._leads_since = None
        self._dead.set()
        told = self.remote / _DEATHS
        if told.exists():
            self.deaths += [Death(kind=kind) for kind in told.read_text(encoding="utf-8").splitlines()]
            told.unlink()

    def _begin(self) -> None:
        with self._turn:
            self._dead, self._offered, self._chosen, self._is_alive = threading.Event(), [], None, True
        self.controller.start()
        (self.remote / _PID).write_text(str(self.controller.pid), encoding="utf-8")


def _death_of(write: Write) -> Death:
    return Death(kind=write.kind, name=write.name)
