"""What one look at the cluster has come to, printed once or for as long as somebody watches.

Law of this file: whoever watches sees a page when what it tells has changed, and on a terminal its clocks go on.
Tests: tests/cli/test_pages.py, tests/cli/test_rollout_live.py
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from seatrial.app.awaiting import finished
from seatrial.cli import formats, terminal
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.show import tree, watch
from seatrial.core.base.values import dataclass

MARGIN = " " * 10
"""As wide as the words in the margin."""

if TYPE_CHECKING:
    from seatrial.app.connecting import Cluster
    from seatrial.app.looking import Look, Looker


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The same for everybody: as lines, as a document, as names."""

    lines: Sequence[str]
    data: Any
    key: Any
    """What it tells, without clocks: the same key is not told twice."""
    code: ExitCode = ExitCode.OK
    kind: str = formats.NODE
    names: Sequence[str] = ()
    notes: Sequence[str] = ()
    """For people only, beside the page."""
    is_prose: bool = False
    """Sentences behind a word in the margin: on a terminal they are wrapped, and never cut."""

    def lines_in(self, width: int) -> list[str]:
        """The lines as a terminal of this width takes them; where nobody reads it on one, as they are."""
        if not width or not self.is_prose:
            return list(self.lines)
        return [part for line in self.lines for part in terminal.wrapped(line, width, then=MARGIN)]


def show(page: Page, output: str) -> int:
    """Print a page."""
    if formats.is_document(output):
        formats.print_document(page.data, output)
    elif output == formats.NAME:
        formats.print_names(page.kind, page.names)
    else:
        print("\n".join(page.lines_in(terminal.width_of(sys.stdout))), end="\n" if page.lines else "")
        for note in page.notes:
            print(note, file=sys.stderr)
    return page.code


def watched(
    cluster: Cluster,
    rollout: str,
    page_of: Callable[[Look], Page],
    screen: Screen,
    *,
    timeout_seconds: int,
    reads_gates: bool = False,
) -> int:
    """Print pages until the time given is up, or Ctrl-C."""
    from seatrial.app.looking import looking

    try:
        looks = looking(cluster, rollout, reads_gates=reads_gates)
        return finished(_watched(looks, screen, page_of, timeout_seconds))
    except KeyboardInterrupt:
        return ExitCode.OK  # how one ends watching; nothing was under way


async def _watched(
    looks: AbstractAsyncContextManager[Looker], screen: Screen, page_of: Callable[[Look], Page], timeout_seconds: int
) -> int:
    deadline = time.monotonic() + timeout_seconds if timeout_seconds else None
    async with looks as looker:
        while True:
            found = looker.look()
            for fault in found.faults:
                print(f"seatrial: {fault}", file=sys.stderr)
            screen.take(page_of(found))
            if deadline is not None and time.monotonic() >= deadline:
                print(f"seatrial: {timeout_seconds} s are over; it continues without us.", file=sys.stderr)
                return ExitCode.TIMEOUT
            await asyncio.sleep(watch.CALM_SECONDS)
            await looker.wait(watch.TICK_SECONDS)


class Screen:
    """Where pages come one after the other: over each other on a terminal, as they change everywhere else."""

    def __init__(self, output: str, *, skips_first: bool = False) -> None:
        """Where the first page is skipped, each is printed behind the other: there is none to draw over."""
        is_terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        is_drawn = is_terminal and output in (formats.TABLE, formats.WIDE) and not skips_first
        self._is_silent, self._is_begun = skips_first, False
        self._output, self._place = output, watch.InPlace(sys.stdout) if is_drawn else None
        self._last: Any = None

    def take(self, page: Page) -> None:
        """Show a page, if it tells something new."""
        if self._place is not None:
            self._draw(page, self._place)
        elif page.key != self._last and not self._is_silent:
            self._print(page)
        self._last, self._is_silent = page.key, False

    def _draw(self, page: Page, place: watch.InPlace) -> None:
        size, ink = terminal.size_of(sys.stdout), watch.ink_of(sys.stdout)
        width = size.columns - 1
        lines = [tree.cut(line, width, ink) for line in page.lines_in(width)]
        place.draw(tree.fits(lines, max(2, size.lines - 1), ink))

    def _print(self, page: Page) -> None:
        if formats.is_document(self._output):
            formats.print_next(page.data, self._output)
            return
        if self._output != formats.NAME and self._is_begun:
            print()
        self._is_begun = True
        show(page, self._output)
        sys.stdout.flush()
