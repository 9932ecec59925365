"""List rollouts, or show everything about one.

Law of this file: rows are what the controller wrote, as `kubectl get` has them; of one that is named the exit code says
how it stands, as everywhere. Tests: tests/cli/test_rollout_get.py, tests/cli/test_rollout_live.py
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from seatrial.app import picking
from seatrial.app.awaiting import finished
from seatrial.cli import formats, terminal
from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode
from seatrial.core.text import foreign, spans

if TYPE_CHECKING:
    from seatrial.app.connecting import Cluster
    from seatrial.app.looking import Look
    from seatrial.app.picking import Rollout

HEAD: Final = ("NAME", "TARGET", "PHASE", "DONE", "WHY", "LOOKED", "AGE")
INDENT: Final = "    "
WIDE: Final = ("STATE", "CANARY", "MODE", "AFTER", "PAUSED")


def get(args: argparse.Namespace) -> int:
    """Print rows; of one that is named, end as it stands."""
    cluster = cluster_options.cluster_of(args)
    every = finished(picking.listed(cluster))
    chosen = _chosen(args, (picking.meant(every, args.name),) if args.name else every)
    if args.watch or args.watch_only:
        return _follow(args, cluster)
    if formats.is_document(args.output):
        formats.print_document([each.raw for each in chosen], args.output)
    elif args.output == formats.NAME:
        formats.print_names(formats.ROLLOUT, (each.name for each in chosen))
    elif chosen:
        is_wide = args.output == formats.WIDE
        head = (*HEAD, *WIDE) if is_wide else HEAD
        print(terminal.columns([head, *(row_of(each, datetime.now(UTC), is_wide=is_wide) for each in chosen)]))
    else:
        print("No rollouts; begin with `seatrial rollout start`.", file=sys.stderr)
    if not args.name:
        return ExitCode.OK
    return _how_it_stands(args, args.name)


def _chosen(args: argparse.Namespace, every: Sequence[Rollout]) -> tuple[Rollout, ...]:
    """Those that are meant, by name and by labels."""
    named = (each for each in every if args.name in ("", each.name))
    return tuple(each for each in named if args.selector.matches(each.raw["metadata"].get("labels") or {}))


def _follow(args: argparse.Namespace, cluster: Cluster) -> int:
    from seatrial.cli.rollout import following

    is_wide = args.output == formats.WIDE
    told = following.Following(
        (*HEAD, *WIDE) if is_wide else HEAD,
        partial(row_of, is_wide=is_wide),
        output=args.output,
        skips_first=args.watch_only,
    )
    return following.follow(cluster, told, partial(_chosen, args), timeout_seconds=args.timeout)


def _how_it_stands(args: argparse.Namespace, name: str) -> ExitCode:
    from seatrial.app import looking, waits
    from seatrial.cli.show import ending

    found = finished(looking.look(cluster_options.cluster_of(args), name))
    waiting, lost = waits.waits_of(found), waits.nobody_leads(found)
    if lost is not None and waiting is not None and waits.is_stale(found, waiting):
        print(f"seatrial: {waits.sentence(name, lost, found.at)}", file=sys.stderr)
    if waits.is_unknown_who_leads(found):
        print(f"seatrial: {name}: the leader is {waits.leader_text(found)}.", file=sys.stderr)
    return ending.exit_of(found)


def row_of(rollout: Rollout, now: datetime, *, is_wide: bool = False) -> tuple[str, ...]:
    """What kubectl shows of a rollout, and further columns; people wrote some of it."""
    return tuple(map(foreign.line, _row_of(rollout, now, is_wide=is_wide)))


def _row_of(rollout: Rollout, now: datetime, *, is_wide: bool) -> tuple[str, ...]:
    status, spec, campaign = rollout.status, rollout.spec, rollout.campaign
    phase = "Deleting" if rollout.deleted else rollout.phase or "-"
    row = (
        rollout.name,
        rollout.target or "-",
        phase,
        str(status.get("done") or "-"),
        str(status.get("why") or "-"),
        _ago(str(status.get("summarisedAt") or ""), now),
        _ago(rollout.created, now),
    )
    if not is_wide:
        return row
    canaries = ",".join(campaign.get("canaries") or ()) or "-"
    more = (status.get("state"), canaries, campaign.get("mode"), spec.get("after"), str(bool(spec.get("paused"))))
    return (*row, *(str(each or "-") for each in more))


def _ago(text: str, now: datetime) -> str:
    try:
        return spans.span((now - datetime.fromisoformat(text)).total_seconds())
    except ValueError:
        return "-"


def describe(args: argparse.Namespace) -> int:
    """Print everything about one rollout: where it stands, its conditions, who said yes, and what it did."""
    from seatrial.app import looking
    from seatrial.app.rollout import signing
    from seatrial.cli.show import ending, standing

    cluster = cluster_options.cluster_of(args)
    meant = picking.meant(finished(picking.listed(cluster)), args.name)
    found = finished(looking.look(cluster, meant.name))
    for fault in found.faults:
        print(f"seatrial: {fault}", file=sys.stderr)
    if formats.is_document(args.output):
        formats.print_document(standing.as_data(found) | {"object": meant.raw}, args.output)
    else:
        is_held = finished(signing.is_held(cluster)) if meant.spec.get("said") else False
        print("\n".join(_page(found, meant, terminal.width_of(sys.stdout), is_held=is_held)))
    return ending.exit_of(found)


def _page(found: Look, rollout: Rollout, width: int, *, is_held: bool) -> Iterator[str]:
    from seatrial.cli.show import history, standing
    from seatrial.cli.show import watch as rollout_watch

    ink = rollout_watch.ink_of(sys.stdout)
    yield from standing.lines_of(found, named_max=None, ink=ink, width=width)
    conditions = rollout.status.get("conditions") or ()
    if conditions:
        yield ""
        yield ink.paint("Conditions:", "bold")
        told: set[str] = set()
        for each in conditions:
            yield f"  {each['type']} {each['status']}, {each['reason']}, since {each['lastTransitionTime']}"
            if each.get("message", "") not in told:
                yield from terminal.wrapped(each.get("message", ""), width, first=INDENT, then=INDENT)
            told.add(each.get("message", ""))
    rows = [*history.table((rollout,), is_held=is_held)]
    if rows:
        yield ""
        yield ink.paint("History:", "bold")
        yield from (f"  {line}" for line in history.drawn(rows))
