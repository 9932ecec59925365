"""Report a rollout: what was done, when, why, on which evidence, at what cost, and who said yes.

In the terminal it is a summary; --html writes a page that can be kept and sent on: nothing on it is fetched from
anywhere. It works while the rollout runs, and when it is over.

In detail:

The rollout's status knows its phases, gates, bake and failures. When each node was worked on, which commits were made
and how many pods had to leave is in the controller's journal (`seatrial controller --journal`), and in the report where
one is given; what nobody knows is said to be not known.
"""

# Tests: tests/cli/test_report.py

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatrial.cli import formats
from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import MEANINGS, ExitCode
from seatrial.core.errors import SeatrialError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seatrial.app.looking import Look

EXITS: tuple[ExitCode, ...] = ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rollout", nargs="?", default="", metavar="ROLLOUT", help="which rollout (the active one)")
    parser.add_argument("--html", metavar="FILE", type=Path, help="also write it as a page")
    parser.add_argument(
        "--journal", metavar="FILE", type=Path, nargs="+", help="the journal of the controller that led it, every file"
    )
    formats.add_output(parser)
    cluster_options.add_cluster_arguments(parser, has_rollout=False)


def run(args: argparse.Namespace) -> int:
    from seatrial.app import looking, picking
    from seatrial.app.awaiting import finished
    from seatrial.app.rollout import signing
    from seatrial.app.survey import reporting

    cluster = cluster_options.cluster_of(args)
    meant = picking.meant(finished(picking.listed(cluster)), args.rollout)
    found = finished(looking.look(cluster, meant.name))
    for fault in found.faults:
        print(f"seatrial: {fault}", file=sys.stderr)
    told = reporting.journal_of(args.journal, meant.name) if args.journal else None
    is_held = finished(signing.is_held(cluster)) if meant.spec.get("said") else False
    data = reporting.document(found, meant, is_held=is_held, told=told) | further(found)
    if args.html:
        _write_page(args.html, data)
    if formats.is_document(args.output):
        formats.print_document(data, args.output)
    else:
        print("\n".join(lines(data)))
    return ExitCode.ERROR if found.faults else ExitCode.OK


def further(found: Look) -> dict[str, Any]:
    """What other commands say of it already: its gates, and the exit code by which scripts know how it stands."""
    from seatrial.app.picture import picture_of
    from seatrial.cli.gates import reports
    from seatrial.cli.show import ending

    code, picture = ending.exit_of(found), picture_of(found)
    gates = None
    if picture is not None:
        gates = reports.shown_data(picture)
        for asked, gate in zip(gates["asked"], picture.campaign.gates, strict=True):
            asked["asks"] = reports.wants(gate)
    return {"exitCode": int(code), "exitMeans": MEANINGS[code], "gates": gates}


def lines(data: dict[str, Any]) -> Iterator[str]:
    """A summary for the terminal."""
    before = f"{data['from']} → " if data["from"] else ""
    kind, _, version = data["goal"].partition(" ")
    yield f"{data['rollout']}: {kind} {before}{version}, {data['phase']}"
    yield data["verdict"]
    if data["isUnled"] and "no controller is in charge" not in data["verdict"]:
        yield f"Nothing moves: the status was written {data['asOf']}."
    # How many nodes came along is in the verdict where it says so.
    yield from (each for each in data["summary"] if each.rstrip(".") not in data["verdict"])
    cost = data["cost"]["gpuHours"]
    if cost is not None:
        yield f"While seatrial had nodes cordoned, their GPUs took no new work for {cost:,.1f} GPU-hours."


def _write_page(path: Path, data: dict[str, Any]) -> None:
    from seatrial.cli.show.report import page

    try:
        path.write_text(page.page(data), encoding="utf-8")
    except OSError as err:
        raise SeatrialError(f"The page {path} cannot be written: {err.strerror}.") from err
    print(f"seatrial: wrote {path}", file=sys.stderr)
