"""Show what rollouts did, phase by phase, and what people said to them: when, how long it took, and why."""

# Tests: tests/cli/test_history.py

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

from seatrial.cli import formats
from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode
from seatrial.core.text import foreign, spans
from seatrial.core.words import accounts

if TYPE_CHECKING:
    from seatrial.app.picking import Rollout

EXITS: tuple[ExitCode, ...] = ()
DELETING, SAID, WAITS = "deleting", "–", "waits"
ASKS: Final = re.compile(r"`seatrial rollout (?:approve \S+ (\w+)|promote \S+)`")
"""The command by which a person approves what a rollout waits for."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", default="", metavar="ROLLOUT", help="only this rollout (all, oldest first)")
    formats.add_output(parser, formats.NAME)
    cluster_options.add_selector(parser, "only rollouts with these labels")
    cluster_options.add_cluster_arguments(parser, has_rollout=False)


def run(args: argparse.Namespace) -> int:
    import sys

    from seatrial.app import picking
    from seatrial.app.awaiting import finished
    from seatrial.app.rollout import signing

    cluster = cluster_options.cluster_of(args)
    every = finished(picking.listed(cluster))
    chosen = (picking.meant(every, args.name),) if args.name else every
    chosen = tuple(each for each in chosen if args.selector.matches(each.raw["metadata"].get("labels") or {}))
    if formats.is_document(args.output):
        formats.print_document(as_data(chosen), args.output)
        return ExitCode.OK
    if args.output == formats.NAME:
        formats.print_names(formats.ROLLOUT, (each.name for each in chosen))
        return ExitCode.OK
    is_held = finished(signing.is_held(cluster)) if any(each.spec.get("said") for each in chosen) else False
    rows = [*table(chosen, is_held=is_held)]
    if not rows:
        print("No rollout has written anything down yet.", file=sys.stderr)
        return ExitCode.OK
    print("\n".join(drawn(rows)))
    return ExitCode.OK


def drawn(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """The rows as a table, and below it what the mark behind a name means, where one has it."""
    from seatrial.cli import terminal

    lines = terminal.columns([("When", "Rollout", "Target", "Phase", "Lasted", "Why"), *rows]).splitlines()
    return [*lines, *filter(None, [accounts.explained(row[-1] for row in rows if row[3] == SAID)])]


def as_data(rollouts: Iterable[Rollout]) -> list[dict[str, Any]]:
    """Every rollout with its turns, oldest first."""
    return [
        {
            "name": each.name,
            "target": each.target,
            "phase": each.phase,
            "created": each.created,
            "since": each.since,
            "deleted": each.deleted or None,
            "turns": each.campaign.get("history") or [],
            "said": each.spec.get("said") or [],
        }
        for each in sorted(rollouts, key=lambda each: (each.created, each.name))
    ]


def table(rollouts: Iterable[Rollout], *, is_held: bool = True) -> Iterable[tuple[str, ...]]:
    """One row for each turn and for each word of a person's, the oldest rollout first; people wrote some of it."""
    return (tuple(map(foreign.line, row)) for row in _rows(rollouts, is_held=is_held))


def _rows(rollouts: Iterable[Rollout], *, is_held: bool) -> Iterable[tuple[str, ...]]:
    for each in sorted(rollouts, key=lambda each: (each.created, each.name)):
        said = [
            (
                _when(word["at"]),
                each.name,
                each.target,
                SAID,
                "",
                f"{accounts.who(word.get('by', ''), is_held=is_held)} {word['what']}",
            )
            for word in each.spec.get("said") or ()
        ]
        # Whoever said something in the second in which a phase began said it before: the phase follows.
        yield from sorted((*said, *_turns(each), *_outstanding(each)), key=lambda row: row[0])


def _outstanding(each: Rollout) -> Iterable[tuple[str, ...]]:
    """One row for an approval that was asked for and not given."""
    given = (each.spec.get("approvals") or {}).get("approved") or ()
    for wait in each.status.get("waits") or ():
        step = str(wait.get("next", ""))
        asked = ASKS.search(step)
        # What has been given since waits for the controller alone.
        if asked is not None and (asked[1] or "promotion") not in given and not each.is_ended:
            since = str(wait.get("since") or each.since)
            yield _when(since), each.name, each.target, WAITS, "", f"{wait.get('why', '')}. {step}"


def _turns(each: Rollout) -> Iterable[tuple[str, ...]]:
    """One row for each phase; without a campaign one for its state, and one more while it is being deleted."""
    turns: list[dict[str, Any]] = each.campaign.get("history") or []
    if not turns and each.phase:
        yield _when(each.since), each.name, each.target, each.phase, "", ""
    ends = [*(str(turn.get("at", "")) for turn in turns[1:]), ""]
    for turn, end in zip(turns, ends, strict=False):
        at = str(turn.get("at", ""))
        why = str(turn.get("why", ""))
        yield _when(at), each.name, each.target, str(turn.get("phase", "")), _lasted(at, end), why
    if each.deleted:
        yield (
            _when(each.deleted),
            each.name,
            each.target,
            DELETING,
            "",
            f"ask what it waits for: `seatrial why {quote(each.name)}`",
        )


def _when(text: str) -> str:
    """As RFC 3339 has it, to the second and in UTC; what is no time stays as it is."""
    from datetime import UTC, datetime

    try:
        return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (ValueError, OverflowError):
        return text


def _lasted(begin: str, end: str) -> str:
    from datetime import datetime

    try:
        return spans.span((datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds())
    except (ValueError, TypeError):
        return ""  # it lasts still
