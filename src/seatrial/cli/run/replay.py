"""Decide every pass of recorded journals again, and show the first difference.

In detail:

First every line is checked: a journal with a line that was changed, removed or moved is refused, and the line is named.
Then each recorded pass is decided again from what was seen then. Files of one journal are put in order by themselves;
compressed ones (*.gz) are read as they are. Exit code 8 when something is decided otherwise today.
"""

# Tests: tests/cli/test_replay.py

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatrial.cli import formats
from seatrial.cli.exit_codes import ExitCode
from seatrial.core.text.names import number_of

if TYPE_CHECKING:
    from seatrial.adapters.journal.reading import JournalFile
    from seatrial.passes import Entry
    from seatrial.sim.replay import Difference, Replayed

EXITS = (ExitCode.FINDINGS,)
LONG = 2000
"""Lines; below that a replay is over before a bar could be read."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journals", nargs="+", type=Path, metavar="JOURNAL", help="a file of a journal")
    formats.add_output(parser)


def run(args: argparse.Namespace) -> int:
    from seatrial.adapters.journal import reading
    from seatrial.sim.replay import replay

    files = [reading.check(path) for path in args.journals]
    rows = reading.journals(files)
    for file in files:
        _warn(file, is_first=any(row[0] is file for row in rows))
    found: list[tuple[tuple[JournalFile, ...], Replayed]] = []
    with _progress(sum(file.line_count for file in files)) as advance:
        for row in rows:
            found.append((row, replay(_entries(row), advance)))
            if found[-1][1].difference is not None:
                break
    if formats.is_document(args.output):
        formats.print_document({"journals": [_as_data(row, each) for row, each in found]}, args.output)
    else:
        _print_text(found)
    return ExitCode.FINDINGS if found[-1][1].difference is not None else ExitCode.OK


def _entries(row: tuple[JournalFile, ...]) -> Iterator[Entry]:
    from seatrial.adapters.journal import reading

    for file in row:
        yield from reading.entries(file)


def _warn(file: JournalFile, *, is_first: bool) -> None:
    if file.torn_bytes:
        _say(file, f"its last line is torn after {file.torn_bytes} bytes, as a crash leaves it; passed over.")
    if is_first and file.number > 1:
        _say(file, f"this is file {file.number} of its journal; what came before it is not checked.")


def _say(file: JournalFile, what: str) -> None:
    print(f"seatrial: {file.path}: {what}", file=sys.stderr)


@contextmanager
def _progress(line_count: int) -> Iterator[Callable[[], None]]:
    """A bar for those who wait at a terminal."""
    if line_count < LONG or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("replaying", total=line_count)
        yield lambda: bar.advance(task)


def _print_text(found: list[tuple[tuple[JournalFile, ...], Replayed]]) -> None:
    difference = found[-1][1].difference
    if difference is not None:
        _print_difference(difference)
    pass_count = sum(each.pass_count for _, each in found)
    decision_count = sum(each.decision_count for _, each in found)
    end = "no difference" if difference is None else "then a difference"
    print(f"{number_of(pass_count, 'pass', 'passes')}, {number_of(decision_count, 'decision')}, {end}")


def _print_difference(difference: Difference) -> None:
    by = f", written by seatrial {difference.written_by}" if difference.written_by else ""
    print(f"{difference.where}: the pass of {_date(difference.at)}{by}, is decided otherwise by this release:")
    for sentence in difference.sentences:
        print(f"  {sentence}")
    print(f"  recorded: {', '.join(difference.recorded) or 'no act'}")
    print(f"  now:      {', '.join(difference.decided) or 'no act'}")


def _as_data(row: tuple[JournalFile, ...], each: Replayed) -> dict[str, Any]:
    difference = each.difference
    return {
        "files": [str(file.path) for file in row],
        "tornBytes": row[-1].torn_bytes,
        "passes": each.pass_count,
        "decisions": each.decision_count,
        "difference": None
        if difference is None
        else {
            "at": difference.at,
            "where": difference.where,
            "writtenBy": difference.written_by,
            "recorded": list(difference.recorded),
            "decided": list(difference.decided),
            "what": list(difference.sentences),
        },
    }


def _date(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
