"""List rollouts for as long as somebody watches: a row whenever one has changed, as `kubectl get -w` prints them.

Law of this file: what a row tells has to change, and time alone does not. A rollout that is gone is told once more.
Tests: tests/cli/test_rollout_get.py
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from seatrial.app import picking
from seatrial.app.awaiting import finished
from seatrial.cli import formats
from seatrial.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from seatrial.app.connecting import Cluster
    from seatrial.app.picking import Rollout

GONE: Final = "Gone"
AGES: Final = ("LOOKED", "AGE")
"""Columns that change by themselves."""

Rows = Callable[["Rollout", datetime], tuple[str, ...]]
"""How a rollout is told, as the head has it."""


class Following:
    """What was told of each rollout, and what is new."""

    def __init__(self, head: Sequence[str], row_of: Rows, *, output: str, skips_first: bool) -> None:
        self._head, self._row_of, self._output = tuple(head), row_of, output
        self._is_silent = skips_first
        self._told: dict[str, tuple[object, Rollout]] = {}
        self._widths: list[int] = []

    def take(self, found: Sequence[Rollout], now: datetime) -> None:
        """Tell of every rollout that has changed since the last time."""
        rows = {each.name: (each, self._row_of(each, now)) for each in found}
        keys = {name: self._key(row) for name, (_, row) in rows.items()}
        fresh = [name for name, key in keys.items() if self._told.get(name, (None, None))[0] != key]
        gone = [(each, self._as_gone(each, now)) for name, (_, each) in self._told.items() if name not in rows]
        self._told = {name: (keys[name], rows[name][0]) for name in rows}
        if not self._is_silent:
            self._tell([*(rows[name] for name in fresh), *gone])
        self._is_silent = False

    def _key(self, row: tuple[str, ...]) -> object:
        return tuple(cell for name, cell in zip(self._head, row, strict=True) if name not in AGES)

    def _as_gone(self, rollout: Rollout, now: datetime) -> tuple[str, ...]:
        row = self._row_of(rollout, now)
        return tuple(GONE if name == "PHASE" else cell for name, cell in zip(self._head, row, strict=True))

    def _tell(self, rows: Sequence[tuple[Rollout, tuple[str, ...]]]) -> None:
        if formats.is_document(self._output):
            for rollout, _ in rows:
                formats.print_next(rollout.raw, self._output)
        elif self._output == formats.NAME:
            formats.print_names(formats.ROLLOUT, (rollout.name for rollout, _ in rows))
        elif rows:
            self._print([*([] if self._widths else [self._head]), *(row for _, row in rows)])
        sys.stdout.flush()

    def _print(self, rows: Sequence[tuple[str, ...]]) -> None:
        """Under the head that was printed once; a column never gets narrower again."""
        known = self._widths or [0] * len(self._head)
        self._widths = [max(width, *map(len, cells)) for width, *cells in zip(known, *rows, strict=True)]
        for row in rows:
            cells = (cell.ljust(width) for cell, width in zip(row, self._widths, strict=True))
            print("   ".join(cells).rstrip())


def follow(
    cluster: Cluster,
    following: Following,
    choose: Callable[[Sequence[Rollout]], Sequence[Rollout]],
    *,
    timeout_seconds: int,
) -> int:
    """Tell until the time given is up, or Ctrl-C."""
    try:
        return finished(_follow(cluster, following, choose, timeout_seconds))
    except KeyboardInterrupt:
        return ExitCode.OK  # how one ends watching; nothing was under way


async def _follow(
    cluster: Cluster,
    following: Following,
    choose: Callable[[Sequence[Rollout]], Sequence[Rollout]],
    timeout_seconds: int,
) -> int:
    try:
        async with asyncio.timeout(timeout_seconds or None):
            async for every in picking.followed(cluster):
                following.take(choose(every), datetime.now(UTC))
    except TimeoutError:
        print(f"seatrial: {timeout_seconds} s are over; they continue without us.", file=sys.stderr)
    return ExitCode.TIMEOUT
