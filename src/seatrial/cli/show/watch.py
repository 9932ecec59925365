"""Show a campaign once or for as long as it lasts: in place on a terminal, as one block per change everywhere else.

Tests: tests/cli/test_rollout_watch.py, tests/cli/test_rollout_live.py
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TextIO

from seatrial.app import picture as rollout_picture
from seatrial.app.awaiting import finished
from seatrial.cli import formats, program
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.show import tree as rollout_tree

if TYPE_CHECKING:
    from seatrial.app.connecting import Cluster
    from seatrial.app.looking import Look
    from seatrial.app.picture import Picture
    from seatrial.cli.show.tree import Ink

TICK_SECONDS: Final = 1.0
"""How often the picture is drawn anew on a terminal, so that its clocks go on."""
CALM_SECONDS: Final = 0.2
"""Between two pictures: a fleet at work changes many times a second, and nobody reads that."""


def ink_of(stream: TextIO) -> Ink:
    """What can be shown on a stream."""
    encoding = (getattr(stream, "encoding", None) or "").lower().replace("-", "")
    is_terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
    return rollout_tree.Ink(is_plain=encoding != "utf8", has_colour=is_terminal and not os.environ.get("NO_COLOR"))


def exit_code(picture: Picture) -> ExitCode:
    """0 while it moves or is done, 10 when a gate failed, 12 when it waits for somebody."""
    if picture.failures:
        return ExitCode.GATE_FAILED
    return ExitCode.HELD if picture.is_held else ExitCode.OK


def as_data(picture: Picture) -> dict[str, Any]:
    """Everything a picture shows, and the exit code that goes with it."""
    return rollout_picture.as_data(picture) | {"exitCode": int(exit_code(picture))}


def show(picture: Picture, *, output: str) -> int:
    """Print a campaign once."""
    if formats.is_document(output):
        formats.print_document(as_data(picture), output)
    else:
        print("\n".join(rollout_tree.tree(picture, ink_of(sys.stdout))))
    return exit_code(picture)


def watch(cluster: Cluster, rollout: str, *, timeout_seconds: int, output: str) -> int:
    """Show a campaign until it ends, or the time given is up; Ctrl-C ends it at any time."""
    try:
        return finished(_watch(cluster, rollout, timeout_seconds, output))
    except KeyboardInterrupt:
        return ExitCode.OK  # how one ends watching; nothing was under way


async def _watch(cluster: Cluster, rollout: str, timeout_seconds: int, output: str) -> int:
    from seatrial.app.looking import looking

    deadline = time.monotonic() + timeout_seconds if timeout_seconds else None
    screen = _screen(output)
    async with looking(cluster, rollout) as looker:
        while True:
            found = looker.look()
            for fault in found.faults:
                print(f"seatrial: {fault}", file=sys.stderr)
            picture = rollout_picture.picture_of(found)
            if picture is None:
                return _nothing(found)
            screen(picture)
            if picture.is_ended:
                return exit_code(picture)
            if deadline is not None and time.monotonic() >= deadline:
                print(f"seatrial: it has not ended within {timeout_seconds} s; it goes on without us.", file=sys.stderr)
                return ExitCode.TIMEOUT
            await asyncio.sleep(CALM_SECONDS)
            await looker.wait(TICK_SECONDS)


def _nothing(found: Look) -> int:
    if found.faults:
        return ExitCode.ERROR
    why = "there is no rollout"
    if found.sight is not None:
        why = f"{found.sight.intent.rollout} moves nodes only: it has no canary"
    print(f"seatrial: {why}; `seatrial status` shows the nodes.", file=sys.stderr)
    return ExitCode.ERROR


def _screen(output: str) -> Callable[[Picture], None]:
    if formats.is_document(output):
        return Blocks(sys.stdout, output=output).take
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        return InPlace(sys.stdout).take
    return Blocks(sys.stdout).take


class InPlace:
    """A terminal: every picture is drawn over the one before."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._height = 0

    def take(self, picture: Picture) -> None:
        size = size_of(self._stream)
        ink = ink_of(self._stream)
        width = program.room(self._stream, size.columns - 1)
        lines = rollout_tree.fits(rollout_tree.tree(picture, ink, width), max(2, size.lines - 1), ink)
        self.draw(lines)

    def draw(self, lines: Sequence[str]) -> None:
        """Go up to the first line, write each over the old one, and wipe what is left of it."""
        up = f"\033[{self._height}F" if self._height else ""
        text = "".join(f"{line}\033[K\n" for line in lines)
        self._stream.write(f"\033[?25l{up}{text}\033[J\033[?25h")
        self._stream.flush()
        self._height = len(lines)


def size_of(stream: TextIO) -> os.terminal_size:
    """How large a terminal is; as large as any was, where it does not say."""
    try:
        size = os.get_terminal_size(stream.fileno())
    except OSError:
        return os.terminal_size((80, 24))
    return size if size.columns > 1 and size.lines > 1 else os.terminal_size((80, 24))


class Blocks:
    """A pipe or a file: one block whenever something has changed, never cut."""

    def __init__(self, stream: TextIO, *, output: str = formats.TABLE) -> None:
        self._stream = stream
        self._output = output
        self._last: object = None

    def take(self, picture: Picture) -> None:
        if picture.key == self._last:
            return
        blank = "\n" if self._last is not None else ""
        self._last = picture.key
        if formats.is_document(self._output):
            formats.print_next(as_data(picture), self._output)
            return
        self._stream.write(blank + "\n".join(rollout_tree.tree(picture, ink_of(self._stream))) + "\n")
        self._stream.flush()
