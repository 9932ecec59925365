"""Starting programs, telling whether they live, and ending exactly those we started.

A process is known by its id and by the moment it was born: an id that the kernel has given to somebody else is not
ours to end. Linux only (/proc). Tests: tests/testbed/test_control_plane.py.
"""

import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

LEASH: Final = Path(__file__).parent / "leash.py"
KILL_TIMEOUT_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One program we started."""

    name: str
    pid: int
    born_ticks: int
    log: Path


def start(
    name: str,
    command: Sequence[str | Path],
    *,
    folder: Path,
    is_leashed: bool,
    extra_env: Mapping[str, str] | None = None,
) -> Program:
    """Start a program in its own session, its output in `<folder>/<name>.log`."""
    log = folder / f"{name}.log"
    leash = str(os.getpid()) if is_leashed else "0"
    arguments = [sys.executable, "-I", "-S", str(LEASH), leash, *map(str, command)]
    pid = os.posix_spawn(
        sys.executable,
        arguments,
        {**os.environ, **(extra_env or {})},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
    )
    seen = _look(pid)  # our child, so even if it ended at once it is still there as a zombie
    return Program(name=name, pid=pid, born_ticks=seen.born_ticks if seen else 0, log=log)


def known(name: str, pid: int, *, log: Path) -> Program:
    """Return a program that was started on our behalf, by its id."""
    seen = _look(pid)
    return Program(name=name, pid=pid, born_ticks=seen.born_ticks if seen else 0, log=log)


def is_alive(program: Program) -> bool:
    """Tell whether this very program still runs."""
    seen = _look(program.pid)
    if seen is None or seen.born_ticks != program.born_ticks:
        return False
    return not seen.is_zombie or _is_still_ending(program.pid)


def end(programs: Sequence[Program], *, grace_seconds: float) -> None:
    """End programs: ask all of them politely, and kill what is left after the grace."""
    _signal(programs, signal.SIGTERM)
    left = _wait_gone(programs, grace_seconds)
    _signal(left, signal.SIGKILL)
    _wait_gone(left, KILL_TIMEOUT_SECONDS)


def kill(program: Program) -> None:
    """End a program as a power cut would."""
    _signal([program], signal.SIGKILL)
    _wait_gone([program], KILL_TIMEOUT_SECONDS)


def memory_bytes(program: Program) -> int:
    """Return the resident memory of a program, 0 if it is gone."""
    try:
        pages = int(Path(f"/proc/{program.pid}/statm").read_text(encoding="ascii").split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def last_lines(program: Program, *, count: int = 15) -> str:
    """Return the end of a program's log, for an error message."""
    try:
        lines = program.log.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return "(no log)"
    return "\n".join(line[:400] for line in lines[-count:]) or "(the log is empty)"


def free_ports(count: int) -> list[int]:
    """Return loopback ports that nobody listens on; held together so that they differ."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _signal(programs: Sequence[Program], number: signal.Signals) -> None:
    for program in programs:
        if is_alive(program):
            with contextlib.suppress(ProcessLookupError):  # it ended by itself in between
                os.kill(program.pid, number)


def _wait_gone(programs: Sequence[Program], timeout_seconds: float) -> list[Program]:
    deadline = time.monotonic() + timeout_seconds
    left = [program for program in programs if is_alive(program)]
    while left and time.monotonic() < deadline:
        time.sleep(0.02)
        left = [program for program in left if is_alive(program)]
    return left


def _is_still_ending(pid: int) -> bool:
    """Tell whether a zombie has threads that are not done yet; take note of its end where they are."""
    try:
        return os.waitpid(pid, os.WNOHANG) == (0, 0)
    except ChildProcessError:
        return False  # not our child: whoever started it will take note of its end


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    born_ticks: int
    is_zombie: bool


def _look(pid: int) -> _Seen | None:
    """Return what the kernel knows of an id, None if nobody has it."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()  # the name in brackets may hold spaces
    return _Seen(born_ticks=int(fields[19]), is_zombie=fields[0] in ("Z", "X"))
