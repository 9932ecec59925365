"""Runs in a room: for every line of its input, tests in a forked process, and one line about the first that fails.

What takes long to import and is never edited (pytest, aiohttp, our own core) is there before the fork; what may be
edited is imported afresh by every child. Law of this file: it imports nothing of `adapters`, `controller` and `run`.
Tests: tests/mutants/test_rooms.py
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import resource
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest

_BEFORE: Final = (
    *("aiohttp", "aiohttp.web", "cel", "hypothesis", "msgspec", "prometheus_client", "pytest_asyncio", "yaml"),
    *("cryptography", "rich.console", "seatrial.codec", "seatrial.passes", "seatrial.ports", "seatrial.supervision"),
)
_CORE: Final = "seatrial.core"
_EDITED: Final = ("seatrial.adapters", "seatrial.controller", "seatrial.run")
_NOT_ASKED: Final = (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED)
_PARENT: Final = os.getppid()
MEMORY_BYTES: Final = 6 * 2**30
FILE_BYTES: Final = 2**30
TOLD_MAX: Final = 2000
LOOK_SECONDS: Final = 0.02


class First:
    """Remembers the first test that did not pass."""

    def __init__(self) -> None:
        self.failed = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid or "collection"


def main() -> None:
    """Answer until the input ends."""
    for name in _BEFORE:
        _import(name)
    import seatrial.core

    for module in pkgutil.walk_packages(seatrial.core.__path__, f"{_CORE}."):
        _import(module.name)
    early = [name for name in sys.modules if name.startswith(_EDITED)]
    assert not early, f"{early} would not be imported afresh"
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    print("ready", file=answers, flush=True)
    for line in sys.stdin.buffer:
        print(json.dumps(_answer(json.loads(line))), file=answers, flush=True)


def _import(name: str) -> None:
    try:
        importlib.import_module(name)
    except ImportError:
        return  # it is only imported early to save time


def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    temp = Path(asked["temp"])
    told, found = temp / "told", temp / "found"
    for path in (told, found):
        path.unlink(missing_ok=True)
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        _be(asked["tests"], temp, told, found)
    code = _waited(child, began + asked["limit_seconds"])
    failed = found.read_text(encoding="utf-8") if found.exists() else ""
    files = list(dict.fromkeys(test.partition("::")[0] for test in asked["tests"]))
    if code in _NOT_ASKED and not failed and files != asked["tests"]:
        return _answer({**asked, "tests": files})  # a mutant of a table takes away the cases that are made of it
    if code not in (0, None, *_NOT_ASKED) and not failed:
        failed = f"the process ended with {code}"
    words = told.read_text(encoding="utf-8", errors="replace") if told.exists() else ""
    return {
        "failed": failed,
        "is_over_time": code is None,
        "seconds": round(time.monotonic() - began, 2),
        "told": words[-TOLD_MAX:],
    }


def _waited(child: int, until: float) -> int | None:
    """How the child ended; None where it had to be ended, with all that it started."""
    code: int | None = None
    try:
        while code is None and time.monotonic() < until:
            if os.getppid() != _PARENT:
                sys.exit("whoever asked is gone")
            time.sleep(LOOK_SECONDS)
            ended, status = os.waitpid(child, os.WNOHANG)
            code = os.waitstatus_to_exitcode(status) if ended else None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # whatever it has left behind
        if code is None:
            os.waitpid(child, 0)
    return code


def _be(tests: list[str], temp: Path, told: Path, found: Path) -> None:
    """Run tests as a process of its own, and end."""
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    out = os.open(told, os.O_WRONLY | os.O_CREAT, 0o600)
    for number in (1, 2):
        os.dup2(out, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    code, first = 1, First()
    try:
        options = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", f"--basetemp={temp / 'pytest'}", "--tb=line"]
        code = int(pytest.main([*options, *tests], plugins=[first]))
        if first.failed:
            found.write_text(first.failed, encoding="utf-8")
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
