"""Asks the process that works out rules of a user's own: whatever a rule says, a check comes to its end.

    one question        what child.py gives it of CPU, and SECONDS_MAX here, for a machine that is busy
    all questions       SLOW_SECONDS_MAX of those that take long: a file may have a thousand rules

Law of this file: what is not worked out is trouble, never a pass. Tests: tests/adapters/files/test_rule_budget.py
"""

from __future__ import annotations

import contextlib
import json
import select
import subprocess
import sys
import time
import weakref
from collections.abc import Mapping
from typing import Any, Final

from seatrial.adapters.files.rules.child import CPU_SECONDS

CHILD: Final = "seatrial.adapters.files.rules.child"
SECONDS_MAX: Final = 20.0
SLOW_SECONDS: Final = 0.2
"""A question that takes as long is slow: nearly all of them take less than a thousandth of it."""
SLOW_SECONDS_MAX: Final = 20.0


START_SECONDS: Final = 60.0
"""How long the process may take until it answers at all, on a machine that is busy with something else."""


class Worker:
    """The process, started when it is first asked and again after one that took too much."""

    def __init__(self, *, seconds_max: float = SECONDS_MAX, slow_seconds_max: float = SLOW_SECONDS_MAX) -> None:
        self._seconds_max, self._slow_seconds_max = seconds_max, slow_seconds_max
        self._slow_seconds = 0.0
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, question: Mapping[str, Any]) -> tuple[bool | None, str]:
        """The answer, and why there is none; None without a reason is a rule that does not concern the entry."""
        if self._slow_seconds >= self._slow_seconds_max:
            return None, f"the rules before it took {self._slow_seconds:.0f} s, and nothing more is worked out"
        process = self._process or self._started()
        if process is None:
            return None, f"the process that works it out did not start within {START_SECONDS:g} s"
        began_at = time.monotonic()
        found = _answer(process, json.dumps(question).encode() + b"\n", self._seconds_max)
        took_seconds = time.monotonic() - began_at
        if took_seconds >= SLOW_SECONDS:
            self._slow_seconds += took_seconds
        if found is None:
            _end(process)
            self._process = None
            return None, f"it takes more than a rule is given ({CPU_SECONDS} s of CPU, 1 GiB of memory)"
        return found.get("answer"), str(found.get("trouble", ""))

    def _started(self) -> subprocess.Popen[bytes] | None:
        process = subprocess.Popen(
            [sys.executable, "-I", "-m", CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            start_new_session=True,
        )
        weakref.finalize(self, _end, process)
        # What starting takes is no rule's. An answer that comes later than we wait would be taken for the first rule's.
        if _answer(process, b'{"compile": "true"}\n', START_SECONDS) is None:
            _end(process)
            return None
        self._process = process
        return process


def _answer(process: subprocess.Popen[bytes], question: bytes, seconds_max: float) -> dict[str, Any] | None:
    """What it answers; None where it does not, in time or at all."""
    if process.stdin is None or process.stdout is None:
        return None
    try:
        process.stdin.write(question)
        process.stdin.flush()
    except OSError:  # it has ended already
        return None
    until = time.monotonic() + seconds_max
    line = b""
    while not line.endswith(b"\n"):
        ready, _, _ = select.select([process.stdout], [], [], max(0.0, until - time.monotonic()))
        piece = process.stdout.read1() if ready else b""  # type: ignore[attr-defined]
        if not piece:
            return None
        line += piece
    found = json.loads(line)
    return found if isinstance(found, dict) else None


def _end(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    process.kill()
    process.wait()
