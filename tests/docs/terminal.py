"""A command on a terminal of a certain width, as a person sees it: a real one, by a pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence

ROWS = 60


def on_terminal(command: Sequence[str], *, columns: int, environment: Mapping[str, str]) -> tuple[str, int]:
    """What the command shows on a terminal, with its colours, and how it ends."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
    env = {**os.environ, "TERM": "xterm", "PYTHONIOENCODING": "utf-8", **environment}
    process = subprocess.Popen(list(command), stdout=slave, stderr=slave, stdin=subprocess.DEVNULL, env=env)
    os.close(slave)
    seen = b""
    while data := _read(master):
        seen += data
    os.close(master)
    return seen.decode().replace("\r\n", "\n"), process.wait(60)


def _read(master: int) -> bytes:
    try:
        return os.read(master, 65536)
    except OSError:  # the other side has closed it
        return b""
