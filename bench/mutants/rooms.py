"""A room: a copy of the checkout with a Python of its own that imports from it, in which one mutant at a time is tried.

    room/work   the checkout, without its history          room/home   the home of whatever runs here
    room/venv   links to the environment's packages; only where `seatrial` is imported from is the room's own word, so
                a child that is started in isolation (`python -I`) runs the mutant as well
    room/temp   where tests write

What a mutant does, it does here: a git that lost its folder finds no repository above it. Law of this file: the
checkout is read, and never written. Tests: tests/mutants/test_rooms.py
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any, Final

from bench.mutants.edits import Mutant

_NOT_COPIED: Final = (".git", ".venv", ".mutants", "results", "dist", "build", ".*_cache", ".hypothesis", ".coverage*")
_OURS: Final = ("*seatrial*.pth",)
START_SECONDS: Final = 120.0
END_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the tests said."""

    failed: str
    """The first test that failed, or that could not even be found any more; empty where all passed."""
    is_over_time: bool
    seconds: float
    told: str = ""
    """The end of what was printed."""


class RoomGone(Exception):  # noqa: N818
    """What serves in a room has ended, or does not answer."""


class Room:
    """One place to try mutants; use `opened`."""

    def __init__(self, folder: Path, checkout: Path, environment: Path) -> None:
        self.work = folder / "work"
        self._folder = folder
        shutil.copytree(checkout, self.work, ignore=shutil.ignore_patterns(*_NOT_COPIED), symlinks=True)
        for name in ("home", "temp"):
            (folder / name).mkdir()
        self.python = _own_python(environment, folder / "venv", self.work / "src")
        self._server: subprocess.Popen[bytes] | None = None

    def environment(self) -> dict[str, str]:
        """What a process in this room is told: nothing of whoever asked but the way to programs."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TZ") if name in os.environ}
        return {
            **kept,
            "HOME": str(self._folder / "home"),
            "TMPDIR": str(self._folder / "temp"),
            "GIT_CEILING_DIRECTORIES": str(self._folder),
            "PYTHONHASHSEED": "0",
        }

    @contextmanager
    def holding(self, mutant: Mutant) -> Iterator[None]:
        """The room with this edit made, until the block ends."""
        path = self.work / mutant.file
        text = path.read_text(encoding="utf-8")
        try:
            self._write(path, mutant.applied(text))
            yield
        finally:
            self._write(path, text)

    def ask(self, tests: Sequence[str], limit_seconds: float) -> Answer:
        """Run tests until one fails, in a process that has imported nothing of what may be edited."""
        if self._server is None:
            self._server = self._serve()
        asked = {"tests": list(tests), "limit_seconds": limit_seconds, "temp": str(self._folder / "temp")}
        answer = _asked(self._server, asked, limit_seconds + END_SECONDS)
        return Answer(**answer)

    def close(self) -> None:
        """Nothing of it stays."""
        if self._server is not None:
            with suppress(OSError):
                self._server.terminate()
            self._server.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _serve(self) -> subprocess.Popen[bytes]:
        command = [str(self.python), "-m", "bench.mutants.serving"]
        server = subprocess.Popen(
            command, cwd=self.work, env=self.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        _line_of(server, START_SECONDS)
        return server

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text, encoding="utf-8")
        # Two mutants of a second, of the same length, are one to whoever keeps bytecode.
        Path(cache_from_source(str(path))).unlink(missing_ok=True)


def _own_python(environment: Path, folder: Path, source: Path) -> Path:
    """A Python with the packages of another environment, which imports what is ours from here."""
    packages = next((environment / "lib").glob("python*")) / "site-packages"
    own = folder / packages.relative_to(environment)
    own.mkdir(parents=True)
    ours = {path for pattern in _OURS for path in packages.glob(pattern)}
    for path in packages.iterdir():
        if path not in ours:
            (own / path.name).symlink_to(path)
    (own / "seatrial.pth").write_text(f"{source}\n", encoding="utf-8")
    shutil.copy(environment / "pyvenv.cfg", folder / "pyvenv.cfg")
    (folder / "bin").mkdir()
    for path in (environment / "bin").iterdir():
        target = path.readlink() if path.is_symlink() else path
        (folder / "bin" / path.name).symlink_to(target)
    return folder / "bin" / "python"


def _asked(server: subprocess.Popen[bytes], asked: dict[str, Any], limit_seconds: float) -> dict[str, Any]:
    assert server.stdin is not None
    try:
        server.stdin.write(json.dumps(asked).encode() + b"\n")
        server.stdin.flush()
    except OSError as err:
        raise RoomGone("the process that tests are forked off has ended") from err
    answer: dict[str, Any] = json.loads(_line_of(server, limit_seconds))
    return answer


def _line_of(server: subprocess.Popen[bytes], limit_seconds: float) -> bytes:
    assert server.stdout is not None
    ready, _, _ = select.select([server.stdout], [], [], limit_seconds)
    line = server.stdout.readline() if ready else b""
    if not line:
        raise RoomGone("the process that tests are forked off does not answer")
    return line
