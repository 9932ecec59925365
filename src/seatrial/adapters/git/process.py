"""One run of git: arguments and input in, exit code and output back, within a deadline or while it tells how far it is.

Git starts programs of its own (ssh, HTTP, hooks, gpg), and they hold its output open. So it gets a session of its own:
past the deadline all of them end together, and none can ask at somebody's terminal. What an answer means is not known
here.

Law of every caller: a word that somebody else chose (branch, tag, commit, path, address) stands behind
`--end-of-options`, or behind `--` where git knows no other: it is a word then, also where it begins with a dash.
tests/adapters/git/test_words.py holds them to it.

Tests: tests/adapters/git/test_process.py
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import signal
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from seatrial.adapters.git.errors import GitUnavailable
from seatrial.core.base.values import dataclass

GOODBYE_SECONDS: Final = 2.0
"""How long git may take to remove its lock files once it is told to stop."""
LINES_MAX: Final = 100
"""Of what git tells on its way, so many lines are kept: what went wrong is said last."""
CHUNK_BYTES: Final = 65_536
ERR_BYTES_MAX: Final = 65_536
"""Of what git and a server's hook write to the error output. A longer line is none of git's, and goes as a whole."""
_LINE_ENDS: Final = re.compile(rb"[\r\n]")
"""Progress is written over itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What one run left behind."""

    code: int
    out: bytes
    err: str

    @property
    def is_good(self) -> bool:
        return self.code == 0

    @property
    def text(self) -> str:
        return self.out.decode("utf-8", errors="replace")

    @property
    def line(self) -> str:
        """The output as the one line it is."""
        return self.text.strip()


def run(
    arguments: Sequence[str],
    *,
    timeout_seconds: float,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
) -> Done:
    """Run git to its end; GitUnavailable when there is no git, or no end within the time given."""
    process = _started(arguments, env)
    try:
        out, err_bytes = process.communicate(stdin, timeout=timeout_seconds)
    except subprocess.TimeoutExpired as err:
        _end(process)
        raise GitUnavailable(f"git did not answer within {timeout_seconds:g} s. Try again.") from err
    except BaseException:
        _end(process)
        raise
    return Done(code=process.returncode, out=out, err=_last_lines(err_bytes))


def run_told(
    arguments: Sequence[str],
    *,
    silent_seconds: float,
    on_line: Callable[[str], None],
    env: Mapping[str, str] | None = None,
) -> Done:
    """Run git to its end, however far that is, each line of its error output told as it comes.

    GitUnavailable when there is no git, or it said nothing for so long.
    """
    process = _started(arguments, env)
    try:
        out, err = _listened(process, silent_seconds, on_line)
    except BaseException:
        _end(process)
        raise
    return Done(code=process.returncode, out=out, err=err)


def _listened(
    process: subprocess.Popen[bytes], silent_seconds: float, on_line: Callable[[str], None]
) -> tuple[bytes, str]:
    assert process.stdin is not None  # noqa: S101  for the type checker
    assert process.stdout is not None  # noqa: S101
    assert process.stderr is not None  # noqa: S101
    process.stdin.close()
    out, lines, rest = b"", deque[str](maxlen=LINES_MAX), b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        selector.register(process.stderr, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(silent_seconds)
            if not ready:
                raise GitUnavailable(f"git said nothing for {silent_seconds:g} s. Try again.")
            for key, _ in ready:
                read = os.read(key.fd, CHUNK_BYTES)
                if not read:
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stdout:
                    out += read
                else:
                    *told, rest = _LINE_ENDS.split(rest + read)
                    rest = rest[:ERR_BYTES_MAX]  # what is over the limit stays over it
                    short = (each for each in told if each.strip() and len(each) < ERR_BYTES_MAX)
                    for line in (each.decode("utf-8", errors="replace") for each in short):
                        lines.append(line)
                        on_line(line)
    process.wait(silent_seconds)
    last = rest if len(rest) < ERR_BYTES_MAX else b""
    return out, _last_lines("\n".join(lines).encode() + b"\n" + last)


def _last_lines(err: bytes) -> str:
    """The end of an error output, by whole lines: a word of a secret that was cut would not be known for one."""
    whole = err if len(err) < ERR_BYTES_MAX else err[-ERR_BYTES_MAX:].partition(b"\n")[2]
    return whole.decode("utf-8", errors="replace")


def _started(arguments: Sequence[str], env: Mapping[str, str] | None) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            ["git", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            start_new_session=True,
        )
    except FileNotFoundError as err:
        raise GitUnavailable("git is not installed. Install it, or work without a repository.") from err


def _end(process: subprocess.Popen[bytes]) -> None:
    """End git and everything it started."""
    _signal(process, signal.SIGTERM)
    try:
        process.wait(GOODBYE_SECONDS)
    except subprocess.TimeoutExpired:
        _signal(process, signal.SIGKILL)
        process.wait()
    _signal(process, signal.SIGKILL)  # git is gone; a program it started may have ignored the first signal
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):  # unsent input of a git that is gone
                pipe.close()


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):  # it ended by itself in between
        os.killpg(process.pid, number)
