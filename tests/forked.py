"""Our command as a process of its own that has not to import a thousand modules first: forked off one that has.

A call takes a second of CPU, and all of it is imports; stories make hundreds. The process that calls are forked off has
no threads and no loop, so a child begins as a fresh one does: with its own arguments, folder, environment and streams.
What a fresh start does itself is tested in tests/cli/test_main.py.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, Final

TIMEOUT_SECONDS: Final = 60.0
ANSWER_BYTES: Final = 4096


def run(
    *arguments: str,
    stdin: str = "",
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> subprocess.CompletedProcess[str]:
    """Run `seatrial` with these arguments; nobody is there to be asked: what it reads comes to an end."""
    asked = {
        "arguments": list(arguments),
        "cwd": str(cwd or Path.cwd()),
        "environment": dict(os.environ if environment is None else environment),
    }
    return _parent().run(asked, stdin, timeout_seconds)


class _Parent:
    """A process that has everything loaded, and answers with the exit codes of its children."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.forked"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._one_at_a_time = threading.Lock()
        atexit.register(self._process.kill)

    def run(self, asked: dict[str, Any], stdin: str, timeout_seconds: float) -> subprocess.CompletedProcess[str]:
        called = ["seatrial", *asked["arguments"]]
        with self._one_at_a_time, tempfile.TemporaryDirectory() as folder:
            streams = {name: str(Path(folder) / name) for name in ("stdin", "stdout", "stderr")}
            Path(streams["stdin"]).write_text(stdin, encoding="utf-8")
            self._ask({**asked, **streams})
            child = self._answer(timeout_seconds)
            try:
                code = self._answer(timeout_seconds)
            except subprocess.TimeoutExpired:
                os.kill(child, signal.SIGKILL)
                self._answer(timeout_seconds)
                raise subprocess.TimeoutExpired(called, timeout_seconds) from None
            out, err = (Path(streams[name]).read_text(encoding="utf-8") for name in ("stdout", "stderr"))
        return subprocess.CompletedProcess(called, code, out, err)

    def _ask(self, asked: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asked).encode() + b"\n")
        self._process.stdin.flush()

    def _answer(self, timeout_seconds: float) -> int:
        """A number on a line of its own."""
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], timeout_seconds)
        if not ready:
            raise subprocess.TimeoutExpired("seatrial", timeout_seconds)
        line = self._process.stdout.readline()
        assert line, "the process that calls are forked off has ended"
        return int(line)


@cache
def _parent() -> _Parent:
    return _Parent()


# ── in the process that calls are forked off ─────────────────────────────────────────────────────────────────────────


def _serve() -> None:
    import seatrial

    for module in walk_packages(seatrial.__path__, "seatrial."):
        if not module.name.startswith(("seatrial.probes", "seatrial.__main__")):
            import_module(module.name)
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if child == 0:
            _be(asked)
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _be(asked: dict[str, Any]) -> None:
    """Become what a fresh process with these arguments would be, and end."""
    from seatrial.cli.main import main

    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["cwd"])
    modes = {"stdin": os.O_RDONLY, "stdout": os.O_WRONLY | os.O_CREAT, "stderr": os.O_WRONLY | os.O_CREAT}
    for number, (name, mode) in enumerate(modes.items()):
        os.dup2(os.open(asked[name], mode, 0o600), number)
    sys.stdin = os.fdopen(0, encoding="utf-8")  # what the parent had read ahead is not ours
    code = 1
    try:
        code = main(asked["arguments"])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001  as the interpreter does with what nobody catches
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve()
