"""Say what the bake of a rollout proves so far: hours that count, work done, speed, and which losses that rules out."""

# Tests: tests/cli/test_bake.py

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from seatrial.cli import formats
from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode
from seatrial.core.errors import SeatrialError
from seatrial.core.text import spans

if TYPE_CHECKING:
    from seatrial.app.looking import Look
    from seatrial.cli.show.pages import Page
    from seatrial.core.words.proofs import Proven

EXITS = (ExitCode.GATE_FAILED, ExitCode.INCONCLUSIVE)
WIDTH: Final = 40
LOSSES_SHOWN: Final = 2
"""How many times the asked loss a whole bar is."""


class NoBake(SeatrialError):  # noqa: N818  an answer, in the trade's words
    """There is nothing to explain."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="what", required=True, metavar="explain")
    explained = commands.add_parser(
        "explain", help="say what the bake of a rollout proves so far, and what it does not"
    )
    explained.add_argument("rollout", nargs="?", default="", metavar="ROLLOUT", help="which rollout (the active one)")
    explained.add_argument("--html", metavar="FILE", type=Path, help="also write a page with pictures")
    formats.add_output(explained)
    cluster_options.add_watch(explained)
    cluster_options.add_cluster_arguments(explained, has_rollout=False)


def run(args: argparse.Namespace) -> int:
    from seatrial.cli.show import pages
    from seatrial.cli.show.look import look

    if args.watch and args.html:
        print("seatrial: a page is written once; leave out --watch, or --html", file=sys.stderr)
        return ExitCode.USAGE
    if args.watch:
        cluster = cluster_options.cluster_of(args)
        return pages.watched(cluster, args.rollout, page_of, pages.Screen(args.output), timeout_seconds=args.timeout)
    page = page_of(look(args))
    if args.html:
        _write_page(args.html, page)
    return pages.show(page, args.output)


def _write_page(path: Path, page: Page) -> None:
    from seatrial.cli.gates import bake_html

    try:
        path.write_text(bake_html.page(page.data), encoding="utf-8")
    except OSError as err:
        raise SeatrialError(f"The page {path} cannot be written: {err.strerror}.") from err
    print(f"seatrial: wrote {path}", file=sys.stderr)


def page_of(found: Look) -> Page:
    """What is proven, as lines and as a document."""
    from dataclasses import asdict

    from seatrial.app.picture import picture_of
    from seatrial.cli.show.pages import Page
    from seatrial.core.words import proofs

    picture = picture_of(found)
    if picture is None:
        raise NoBake("There is no rollout with a canary, and only those bake; see `seatrial rollout start --help`.")
    proven = proofs.proven(picture.record, picture.campaign, picture.at)
    told = proofs.sentences(proven)
    head = f"{picture.name}: {picture.record.phase}, canary {', '.join(picture.record.canaries) or 'not chosen yet'}"
    data = {
        "rollout": picture.name,
        "phase": picture.record.phase,
        "canaries": list(picture.record.canaries),
        "is_enough": proven.is_enough,
        "is_failed": proven.is_failed,
        "proven": asdict(proven),
        "told": list(told),
    }
    code = ExitCode.GATE_FAILED if proven.is_failed else ExitCode.OK if proven.is_enough else ExitCode.INCONCLUSIVE
    drawn = loss_bars(proven)
    lines = [head, "", *bars(proven), "", *drawn, *([""] if drawn else []), *(f"- {each}" for each in told)]
    return Page(lines=lines, data=data, key=data, code=code)


def bars(proven: Proven) -> tuple[str, ...]:
    """Hours that count, with data and on the clock, one below the other, to one scale."""
    rows = [("asked", proven.asked_hours), ("counts", proven.hours)]
    if proven.is_watched:
        rows += [("with data", proven.watched_hours), ("on the clock", proven.clock_hours)]
    most = max(max(hours for _, hours in rows), 1e-9)
    return tuple(
        f"{name:>12}  {'█' * round(WIDTH * hours / most):<{WIDTH}}  {spans.hours(hours)}" for name, hours in rows
    )


def loss_bars(proven: Proven) -> tuple[str, ...]:
    """The loss that each figure excludes so far beside the one that is asked, to one scale: the shorter the better."""
    found = [each for each in proven.speeds.speeds if each.is_asked] if proven.speeds is not None else []
    if proven.speeds is None or not any(each.rounds for each in found):
        return ()
    rows = [
        ("to rule out", proven.speeds.asked_loss),
        *((f"{each.name} of {each.node}", each.excluded) for each in found),
    ]
    width = max(len(name) for name, _ in rows)
    most = LOSSES_SHOWN * proven.speeds.asked_loss
    return tuple(f"{name:>{width}}  {_bar(loss, most)}" for name, loss in rows)


def _bar(loss: float | None, most: float) -> str:
    if loss is None:
        return f"{'░' * WIDTH}  nothing yet"
    return f"{'█' * round(WIDTH * min(1.0, loss / most)):<{WIDTH}}  {loss:.1%}"
