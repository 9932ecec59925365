"""Show a rollout once or for as long as it lasts: in place on a terminal, as one line per change everywhere else.

Tests: tests/cli/test_rollout_watch.py, tests/cli/test_rollout_live.py
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TextIO

from seatrial.app import picture as rollout_picture
from seatrial.app import waits
from seatrial.app.awaiting import finished
from seatrial.app.outcome import done_of, is_over
from seatrial.cli import formats, terminal
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.show import ending, frontier, standing
from seatrial.cli.show import tree as rollout_tree
from seatrial.core.text.moments import moment
from seatrial.core.text.names import a_few

if TYPE_CHECKING:
    from seatrial.app.connecting import Cluster
    from seatrial.app.looking import Look
    from seatrial.cli.show.tree import Ink

TICK_SECONDS: Final = 1.0
"""How often the picture is drawn anew on a terminal, so that its clocks go on."""
CALM_SECONDS: Final = 0.2
"""Between two pictures: a fleet at work changes many times a second, and nobody reads that."""


def ink_of(stream: TextIO) -> Ink:
    """What can be shown on a stream."""
    encoding = (getattr(stream, "encoding", None) or "").lower().replace("-", "")
    return rollout_tree.Ink(is_plain=encoding != "utf8", has_colour=terminal.has_colour(stream))


def watch(cluster: Cluster, rollout: str, screen: Callable[[Look], None], *, timeout_seconds: int) -> int:
    """Show a campaign until it ends, or the time given is up; Ctrl-C ends it at any time."""
    try:
        return finished(_watch(cluster, rollout, screen, timeout_seconds))
    except KeyboardInterrupt:
        return ExitCode.OK  # how one ends watching; nothing was under way


async def _watch(cluster: Cluster, rollout: str, screen: Callable[[Look], None], timeout_seconds: int) -> int:
    from seatrial.app.looking import looking

    deadline = time.monotonic() + timeout_seconds if timeout_seconds else None
    async with looking(cluster, rollout) as looker:
        while True:
            found = looker.look()
            for fault in found.faults:
                print(f"seatrial: {fault}", file=sys.stderr)
            if found.sight is None:
                return _nothing(found)
            screen(found)
            if is_over(found):
                return ending.exit_of(found)
            if deadline is not None and time.monotonic() >= deadline:
                print(
                    f"seatrial: it has not ended within {timeout_seconds} s; it continues without us.", file=sys.stderr
                )
                return ExitCode.TIMEOUT
            await asyncio.sleep(CALM_SECONDS)
            await looker.wait(TICK_SECONDS)


def _nothing(found: Look) -> int:
    if found.faults:
        return ExitCode.ERROR
    print(
        "seatrial: there is no rollout. Begin with `seatrial rollout start`; `seatrial status` shows the nodes.",
        file=sys.stderr,
    )
    return ExitCode.ERROR


def screen(output: str, *, is_only: bool = False) -> Callable[[Look], None]:
    """Where looks come one after the other; with `is_only` the first is not shown, and changes are lines."""
    if formats.is_document(output):
        return Documents(output, skips_first=is_only).take
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and not is_only:
        return InPlace(sys.stdout).take
    return Lines(sys.stdout, skips_first=is_only).take


class InPlace:
    """A terminal: every picture is drawn over the one before."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._height = 0
        self._size: os.terminal_size | None = None

    def take(self, found: Look) -> None:
        size = terminal.size_of(self._stream)
        ink = ink_of(self._stream)
        width = size.columns - 1
        lines = rollout_tree.fits(page_of(found, ink, width), max(2, size.lines - 1), ink)
        self.draw(lines)

    def draw(self, lines: Sequence[str]) -> None:
        """Go up to the first line, write each over the old one, and wipe what is left of it.

        After the window has changed nobody knows where that line is: lines that were whole may be two now."""
        size = terminal.size_of(self._stream)
        is_other = self._size is not None and size != self._size
        self._size = size
        up = "\033[2J\033[H" if is_other else f"\033[{self._height}F" if self._height else ""
        text = "".join(f"{line}\033[K\n" for line in lines)
        self._stream.write(f"\033[?25l{up}{text}\033[J\033[?25h")
        self._stream.flush()
        self._height = len(lines)


class Lines:
    """A pipe or a file: one line whenever something has changed, never cut."""

    def __init__(self, stream: TextIO, *, skips_first: bool = False) -> None:
        self._stream = stream
        self._is_silent = skips_first
        self._last: object = None

    def take(self, found: Look) -> None:
        told = line_of(found)
        is_new, self._last = told != self._last and not self._is_silent, told
        self._is_silent = False
        if is_new:
            print(f"{moment(found.at)} {told}", file=self._stream, flush=True)


def line_of(found: Look) -> str:
    """A rollout on one line: which, where it stands, how many nodes are done, and why it does not go faster."""
    waiting = waits.waits_of(found)
    if found.sight is None or waiting is None:
        return "no rollout"
    campaign, name = found.sight.seen.rollout.campaign, found.sight.intent.rollout
    where = campaign.phase.value if campaign is not None else waiting.state.capitalize()
    done, total = done_of(found.sight)
    causes = waits.together(waiting, name)
    why = f"{causes[0].code} ({a_few(causes[0].nodes, 2, count=causes[0].count)}): {causes[0].why}" if causes else ""
    return " ".join(filter(None, (name, where, f"{done}/{total}", why)))


class Documents:
    """For scripts: one document whenever something has changed."""

    def __init__(self, output: str, *, skips_first: bool = False) -> None:
        self._output = output
        self._is_silent = skips_first
        self._last: object = None

    def take(self, found: Look) -> None:
        picture = rollout_picture.picture_of(found)
        key = picture.key if picture is not None else line_of(found)
        is_new, self._last = key != self._last and not self._is_silent, key
        self._is_silent = False
        if is_new:
            data = ending.as_data(picture) if picture is not None else standing.as_data(found)
            formats.print_next(data, self._output)


def page_of(found: Look, ink: Ink, width: int) -> list[str]:
    """What is drawn of a look: a campaign's tree, or the page of a rollout without one."""
    picture = rollout_picture.picture_of(found)
    if picture is not None:
        more = [*frontier.lines(found.sight, found.at, width)] if found.sight is not None else []
        first = standing.headline_lines(picture.headline, ink, width)
        first = [rollout_tree.cut(line, width, ink) for line in first] if width else first
        return [*first, *rollout_tree.tree(picture, ink, width), *(["", *more] if more else [])]
    lines = standing.lines_of(found, named_max=standing.NAMED_MAX, ink=ink, width=width)
    return [rollout_tree.cut(line, width, ink) for line in lines]
