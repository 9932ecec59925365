"""Forecast an upgrade: how long it takes and what capacity it costs, for every maxParallelUpgrades × maxUnavailable.

The nodes are those of the cluster (as `status` sees it), of a file saved with `seatrial snapshot`, or as many as
--nodes says. Where a rollout is given, by -f or as the cluster has it, its canary, gates, bake, waves and windows are
part of the duration. Decisions are those of the controller; how long things take is assumed, given, or learned from a
journal. Nothing is written to the cluster.

In detail:

With --frontier, or where the rollout goes by attrition, it is forecast what each deadline costs the users: GPU-hours
and evictions, with the jobs that run, their ages, gangs and saves, and which deadline to take. Of nodes that --nodes
invents, --workload says what runs on them.

A duration is written 180, 3m, 180±60, 120..300, or 180~0.3 (median and spread of a lognormal); a share is written 10%.
"""

# Tests: tests/cli/test_forecast.py

from __future__ import annotations

import argparse
import random
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatrial.cli import formats
from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.parser import rarely
from seatrial.cli.run import progress
from seatrial.core.text.names import number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from seatrial.app import frontier
    from seatrial.app.forecasting import Fleet, ForecastOptions
    from seatrial.core.model.policy import Share
    from seatrial.sim.forecast.durations import Duration

EXITS: tuple[ExitCode, ...] = ()
NODES_MAX = 100_000
WORKLOADS = ("saturated", "busy", "training", "inference", "mixed")
"""As app/frontier.py has them, whose import every help and completion would pay for."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    cluster_options.add_cluster_arguments(parser)
    parser.add_argument(
        "-f", "--file", metavar="FILE", help="a GPURollout in YAML: its canary, gates, bake, waves and windows"
    )
    source = parser.add_argument_group("the fleet, where it is not the cluster's")
    cluster_options.add_snapshot(source)
    source.add_argument("--nodes", metavar="N", type=_count(1, NODES_MAX), help="this many nodes, all alike")
    source.add_argument("--gpus-per-node", metavar="N", type=_count(1, 1024), help="GPUs of a node (8, or as seen)")
    source.add_argument("--pods-per-node", metavar="N", type=_count(0, 1024), help="GPU pods of a node (2)")
    _add_frontier(parser)
    times = rarely(parser, "how long things take, and what goes wrong")
    times.add_argument(
        "--history", metavar="JOURNAL", type=Path, nargs="+", help="learn it from a controller's journal"
    )
    times.add_argument("--reload", metavar="TIME", type=_duration, help="driver pod deleted until the new one is Ready")
    times.add_argument("--validation", metavar="TIME", type=_duration, help="driver Ready until the node is proven")
    times.add_argument("--grace", metavar="TIME", type=_duration, help="pods evicted until they are gone")
    times.add_argument("--jobs", metavar="TIME", type=_duration, help="wait for jobs, which still run this long")
    times.add_argument(
        "--gates", metavar="TIME", type=_duration, help="a round of gates on the canary (1 to 2 min each)"
    )
    times.add_argument("--failure-rate", metavar="SHARE", type=_share, help="attempts whose driver does not load (0%%)")
    times.add_argument(
        "--blocked", metavar="SHARE", type=_share, help="nodes whose pods a disruption budget keeps (0%%)"
    )
    times.add_argument("--blocked-for", metavar="TIME", type=_duration, help="how long it keeps them (0..120)")
    sweep = parser.add_argument_group("the settings to compare")
    sweep.add_argument("--parallel", metavar="N,N,…", type=_parallel, help="maxParallelUpgrades; 0 means no limit")
    sweep.add_argument("--unavailable", metavar="N,N,…", type=_unavailable, help="maxUnavailable (1%%,5%%,10%%,25%%)")
    sweep.add_argument(
        "--max-failed", metavar="N", type=_count(0, NODES_MAX), help="failures allowed (as in the rollout)"
    )
    sweep.add_argument(
        "--buffer", metavar="SHARE", type=_share, default=0.1, help="capacity your users can spare (10%%)"
    )
    sweep.add_argument(
        "--samples", metavar="N", type=_count(1, 100_000), help="runs for each setting (200), or for each deadline (5)"
    )
    sweep.add_argument("--seed", metavar="N", type=int, help="repeat exactly this forecast")
    formats.add_output(parser)
    parser.add_argument("--html", metavar="FILE", type=Path, help="also write a page with pictures")


def _add_frontier(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--frontier",
        metavar="6h,24h,…",
        type=_deadlines,
        nargs="?",
        const=(),
        help="by attrition: what each deadline costs (6h,12h,24h,48h,5d)",
    )
    rarely(parser, "the fleet, where it is not the cluster's").add_argument(
        "--workload", choices=WORKLOADS, metavar="KIND", help=f"with --frontier: {', '.join(WORKLOADS)}"
    )


def run(args: argparse.Namespace) -> int:
    from seatrial.app import forecasting, frontier

    asked = _asked(args)
    forecasting.check(asked)
    fleet = _fleet(args, asked)
    attrition = frontier.question_of(asked, fleet)
    if attrition is not None:
        return _frontier(attrition, args)
    question = forecasting.question_of(asked, fleet)
    with _told(len(question.settings), "setting", len(question.model.members)) as tell:
        data = forecasting.answer(question, tell)
    if args.html:
        _write_page(args.html, data)
    if formats.is_document(args.output):
        formats.print_document(data, args.output)
    else:
        _print(data)
    return ExitCode.OK


def _frontier(question: frontier.Question, args: argparse.Namespace) -> int:
    """By attrition: what each deadline costs."""
    from seatrial.app import frontier
    from seatrial.core.errors import SeatrialError

    if args.html:
        raise SeatrialError("--html draws settings, and not deadlines yet. Leave it out, or take -o json.")
    with _told(len(question.deadlines), "deadline", question.fleet["nodes"]) as tell:
        data = frontier.answer(question, tell)
    if formats.is_document(args.output):
        formats.print_document(data, args.output)
    else:
        _print_frontier(data)
    return ExitCode.OK


def _write_page(path: Path, data: dict[str, Any]) -> None:
    from seatrial.cli.run.forecasts import html as forecast_html
    from seatrial.core.errors import SeatrialError

    try:
        path.write_text(forecast_html.page(data), encoding="utf-8")
    except OSError as err:
        raise SeatrialError(f"The page {path} cannot be written: {err.strerror}.") from err
    print(f"seatrial: wrote {path}", file=sys.stderr)


# ── what is asked ────────────────────────────────────────────────────────────────────────────────────────────────────


def _asked(args: argparse.Namespace) -> ForecastOptions:
    from seatrial.app.forecasting import ForecastOptions, Times
    from seatrial.app.rollout import starting

    times = Times(
        history=tuple(args.history or ()),
        reload=args.reload,
        validation=args.validation,
        grace=args.grace,
        jobs=args.jobs,
        failure_rate=args.failure_rate,
        blocked=args.blocked,
        blocked_for=args.blocked_for,
        gates=args.gates,
    )
    return ForecastOptions(
        snapshot=args.snapshot,
        nodes=args.nodes,
        file=args.file or "",
        resource=starting.read_rollout(args.file) if args.file and not args.rollout else {},
        rollout=args.rollout,
        now=time.time(),
        gpus_per_node=args.gpus_per_node,
        pods_per_node=args.pods_per_node,
        times=times,
        parallel=tuple(args.parallel or ()),
        unavailable=tuple(args.unavailable or ()),
        max_failed=args.max_failed,
        buffer=args.buffer,
        samples=args.samples,
        frontier=args.frontier,
        workload=args.workload or "",
        seed=args.seed if args.seed is not None else random.randrange(1_000_000),  # noqa: S311  chosen once, and printed
    )


def _fleet(args: argparse.Namespace, asked: ForecastOptions) -> Fleet | None:
    """The nodes of a file or of the cluster; None where they are invented."""
    from seatrial.cli.show.look import fleet

    return None if asked.nodes else fleet(cluster_options.cluster_of(args), asked)


# ── telling ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def _told(count: int, what: str, node_count: int) -> Iterator[Callable[[int, int], None]]:
    """How far the simulations are."""
    whole = f"{number_of(count, what)}, {number_of(node_count, 'node')}"
    with progress.doing(f"simulating {whole}") as doing:

        def tell(done: int, of: int) -> None:
            left_seconds = (time.monotonic() - doing.began) / done * (of - done)
            doing.now(f"{done} of {of} samples of {whole}", left_seconds)

        yield tell


# ── for people ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _print(data: dict[str, Any]) -> None:
    from seatrial.cli import terminal
    from seatrial.cli.run.forecasts import plot as forecast_plot
    from seatrial.cli.run.forecasts import table as forecast_table

    console = terminal.console()
    fleet, advice = data["fleet"], data["advice"]
    console.print(
        f"Forecast  {number_of(fleet['nodes'], 'node')} with {number_of(fleet['gpus'], 'GPU')}, from {data['source']}; "
        f"{number_of(data['samples'], 'run')} for each setting, seed {data['seed']}",
        style="bold",
    )
    for each in data["assumptions"]:
        console.print(f"  {each['what']}: {each['value']} ({each['source']})")
    if data["starts_at"]:
        console.print(f"  windows: counted from a start at {data['starts_at']}")
    for line in _unavailable_told(fleet):
        console.print(f"  {line}")
    console.print()
    if advice["kind"] != "nothing":
        for row in forecast_table.lines(data):
            console.print(row.text, style="bold green" if row.is_recommended else "")
        for line in (*forecast_table.legend(data), *forecast_table.parts(data)):
            console.print(line)
        for picture in (forecast_plot.scatter(data), forecast_plot.curve(data)):
            for line in ("", *picture) if picture else ():
                console.print(line)
        console.print()
    style = "bold green" if advice["kind"] == "setting" else "bold yellow"
    console.print(f"{advice['head']}: {advice['figures']}", style=style)
    console.print(" ".join(part for part in (advice["besides"], forecast_table.not_included(data)) if part))


def _print_frontier(data: dict[str, Any]) -> None:
    from seatrial.cli import terminal
    from seatrial.cli.run.forecasts import frontier as frontier_lines

    console = terminal.console()
    console.print(frontier_lines.head(data), style="bold")
    for each in data["assumptions"]:
        console.print(f"  {each['what']}: {each['value']} ({each['source']})")
    console.print()
    for line, is_recommended in frontier_lines.lines(data):
        console.print(line, style="bold green" if is_recommended else "")
    for line in (*frontier_lines.legend(data), "", *frontier_lines.bars(data), ""):
        console.print(line)
    is_found = data["advice"]["deadline_seconds"] is not None
    console.print(data["advice"]["why"], style="bold green" if is_found else "bold yellow")
    console.print(frontier_lines.not_included(data))


def _unavailable_told(fleet: dict[str, Any]) -> list[str]:
    """Who takes no work before anybody is moved, and who cannot be moved."""
    from seatrial.core.text.names import a_few

    told = []
    for what, names in (("cordoned by others", fleet["cordoned"]), ("not Ready", fleet["not_ready"])):
        if names:
            counts = "counts" if len(names) == 1 else "count"
            told.append(f"{what}: {number_of(len(names), 'node')} ({a_few(names)}), which {counts} as unavailable")
    for code, names in fleet["left_out"].items():
        told.append(f"left out: {number_of(len(names), 'node')} held by {code} ({a_few(names)})")
    return told


# ── reading what is given ────────────────────────────────────────────────────────────────────────────────────────────


def _count(least: int, most: int) -> Any:
    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from {least} to {most}")
        return int(text)

    return read


def _deadlines(text: str) -> tuple[float, ...]:
    from seatrial.cli import words

    found = tuple(float(words.span(part)) for part in text.split(","))
    if not all(found):
        raise argparse.ArgumentTypeError(f"{text!r} has a deadline of nothing; the shortest is 1m")
    return found


def _duration(text: str) -> Duration:
    from seatrial.sim.forecast.durations import DurationInvalid, parse

    try:
        return parse(text)
    except DurationInvalid as err:
        raise argparse.ArgumentTypeError(str(err).rstrip(".")) from err


def _share(text: str) -> float:
    number = text.removesuffix("%")
    try:
        share = float(number) / 100
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1 or (not text.endswith("%") and share != 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a share such as 10% or 0.5%")
    return share


def _parallel(text: str) -> list[int]:
    read = _count(0, NODES_MAX)
    return list(dict.fromkeys(read(part.strip()) for part in text.split(",")))


def _unavailable(text: str) -> Sequence[Share]:
    from seatrial.core.model.policy import Share

    try:
        shares = [Share.parse(part.strip()) for part in text.split(",")]
    except ValueError as err:
        raise argparse.ArgumentTypeError(str(err).rstrip(".")) from err
    return list(dict.fromkeys(shares))
