"""Forecast an upgrade: how long it takes and what capacity it costs, for every maxParallelUpgrades × maxUnavailable.

The nodes are those of the cluster (as `status` sees it), of a file saved with `seatrial snapshot`, or as many as
--nodes says. Decisions are those of the controller; how long things take is assumed, given, or learned from a journal.
Nothing is written to the cluster.

A duration is written 180, 3m, 180±60, 120..300, or 180~0.3 (median and spread of a lognormal); a share is written 10%.
"""

# Tests: tests/cli/test_forecast.py

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from seatrial.core.model.intent import Intent
    from seatrial.core.model.policy import Share
    from seatrial.sim.forecast.durations import Behaviours, Duration
    from seatrial.sim.forecast.engine import Inventory
    from seatrial.sim.forecast.sweep import Setting

EXITS: tuple[ExitCode, ...] = ()
IMAGINED = "999.99.99"
"""The target where no rollout names one; never shown."""
TOLD_SECONDS = 10.0
"""How often progress is told where there is no terminal."""
NODES_MAX = 100_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    cluster_options.add_cluster_arguments(parser)
    source = parser.add_argument_group("the fleet, where it is not the cluster's")
    source.add_argument(
        "--snapshot", metavar="FILE", type=Path, help="nodes and rollout saved with `seatrial snapshot`"
    )
    source.add_argument("--nodes", metavar="N", type=_count(1, NODES_MAX), help="this many nodes, all alike")
    source.add_argument("--gpus-per-node", metavar="N", type=_count(1, 1024), help="GPUs of a node (8, or as seen)")
    source.add_argument("--pods-per-node", metavar="N", type=_count(0, 1024), help="GPU pods of a node (2)")
    times = parser.add_argument_group("how long things take, and what goes wrong")
    times.add_argument(
        "--history", metavar="JOURNAL", type=Path, nargs="+", help="learn it from a controller's journal"
    )
    times.add_argument("--reload", metavar="TIME", type=_duration, help="driver pod deleted until the new one is Ready")
    times.add_argument("--validation", metavar="TIME", type=_duration, help="driver Ready until the node is proven")
    times.add_argument("--grace", metavar="TIME", type=_duration, help="pods evicted until they are gone")
    times.add_argument("--jobs", metavar="TIME", type=_duration, help="wait for jobs, which still run this long")
    times.add_argument("--failure-rate", metavar="SHARE", type=_share, help="attempts whose driver does not load (0%%)")
    times.add_argument(
        "--blocked", metavar="SHARE", type=_share, help="nodes whose pods a disruption budget keeps (0%%)"
    )
    times.add_argument("--blocked-for", metavar="TIME", type=_duration, help="how long it keeps them (0..120)")
    sweep = parser.add_argument_group("the settings to compare")
    sweep.add_argument("--parallel", metavar="N,N,…", type=_parallel, help="maxParallelUpgrades; 0 is no limit")
    sweep.add_argument("--unavailable", metavar="N,N,…", type=_unavailable, help="maxUnavailable (1%%,5%%,10%%,25%%)")
    sweep.add_argument(
        "--max-failed", metavar="N", type=_count(0, NODES_MAX), help="failures tolerated (as in the rollout)"
    )
    sweep.add_argument(
        "--buffer", metavar="SHARE", type=_share, default=0.1, help="capacity your users can spare (10%%)"
    )
    sweep.add_argument(
        "--samples", metavar="N", type=_count(1, 100_000), default=200, help="runs for each setting (200)"
    )
    sweep.add_argument("--seed", metavar="N", type=int, help="repeat exactly this forecast")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table", help="how to print it")
    parser.add_argument("--html", metavar="FILE", type=Path, help="also write a page with pictures")


def run(args: argparse.Namespace) -> int:
    import json

    question = _question(args)
    data = _answer(args, question)
    if args.html:
        from seatrial.cli.run import forecast_html
        from seatrial.core.errors import SeatrialError

        try:
            args.html.write_text(forecast_html.page(data), encoding="utf-8")
        except OSError as err:
            raise SeatrialError(f"The page {args.html} cannot be written: {err.strerror}.") from err
        print(f"seatrial: wrote {args.html}", file=sys.stderr)
    if args.output == "json":
        print(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        _print(data)
    return ExitCode.OK


# ── what is asked ────────────────────────────────────────────────────────────────────────────────────────────────────


class _Question(NamedTuple):
    """What is to be forecast."""

    source: str
    inventory: Inventory
    intent: Intent
    behaviours: Behaviours
    learned: tuple[str, ...]
    settings: tuple[Setting, ...]
    seed: int


def _question(args: argparse.Namespace) -> _Question:
    from dataclasses import replace

    from seatrial.core.model.policy import Share
    from seatrial.sim.forecast.sweep import Setting

    source, inventory, intent = _fleet(args)
    if args.max_failed is not None:
        intent = replace(intent, failed_max=args.max_failed)
    behaviours, learned = _behaviours(args)
    unavailable = args.unavailable or [Share.parse(text) for text in ("1%", "5%", "10%", "25%")]
    parallel = args.parallel or _usual(len(inventory.nodes))
    seed = args.seed if args.seed is not None else random.randrange(1_000_000)  # noqa: S311  chosen once, and printed
    settings = tuple(Setting(many, share) for many in parallel for share in unavailable)
    return _Question(source, inventory, intent, behaviours, learned, settings, seed)


def _fleet(args: argparse.Namespace) -> tuple[str, Inventory, Intent]:
    from seatrial.core.errors import SeatrialError
    from seatrial.sim.forecast import engine

    if args.nodes and args.snapshot:
        raise SeatrialError("--nodes and --snapshot both name a fleet. Give one of them, or neither for the cluster.")
    if args.nodes:
        pods = 2 if args.pods_per_node is None else args.pods_per_node
        inventory = engine.invented(
            args.nodes,
            gpus_per_node=args.gpus_per_node or 8,
            pods_per_node=pods,
            target=IMAGINED,
            are_jobs=args.jobs is not None,
        )
        return f"{args.nodes} nodes all alike, {pods} GPU pods on each", inventory, _intent(args, None)
    if args.pods_per_node is not None:
        raise SeatrialError("--pods-per-node needs --nodes: the pods of a real fleet are counted.")
    if args.snapshot:
        from seatrial.adapters.files.snapshot_file import load_snapshot

        saved = load_snapshot(args.snapshot)
        seen, found, source = saved.seen, saved.intent, str(args.snapshot)
    else:
        from seatrial.cli.show.look import look
        from seatrial.core.model.snapshot import RolloutRecord, Snapshot

        looked = look(args)
        if looked.faults:
            raise SeatrialError(" ".join(looked.faults))
        empty = Snapshot(nodes=looked.nodes, rollout=RolloutRecord(name=""), operator=looked.operator)
        seen, found = (looked.sight.seen, looked.sight.intent) if looked.sight else (empty, None)
        source = f"rollout {found.rollout} of the cluster" if found else "the cluster, which has no rollout"
    intent = _intent(args, found, seen.operator)
    return source, engine.inventory_of(seen, intent, gpus_per_node=args.gpus_per_node), intent


def _intent(args: argparse.Namespace, found: Intent | None, operator: Any = None) -> Intent:
    from dataclasses import replace

    from seatrial.core.compat.versions import DriverVersion
    from seatrial.core.model.intent import Intent, policies
    from seatrial.core.model.policy import JobWait, Policy, PolicyWish
    from seatrial.core.model.selectors import Selector
    from seatrial.sim.reactions import JOB_LABEL

    if found is not None:
        return replace(found, is_paused=False)
    policy, pools = policies(PolicyWish(), operator) if operator is not None else (Policy(), {})
    if args.jobs is not None:
        policy = replace(policy, jobs=JobWait(selector=Selector.parse(JOB_LABEL)))
    return Intent(rollout="forecast", target=DriverVersion.parse(IMAGINED), policy=policy, pools=pools)


def _behaviours(args: argparse.Namespace) -> tuple[Behaviours, tuple[str, ...]]:
    from dataclasses import replace

    from seatrial.sim.forecast.durations import FROM_RELOAD, FROM_VALIDATION, Behaviours, lumped

    found = Behaviours()
    learned: tuple[str, ...] = ()
    if args.history:
        from seatrial.adapters.journal import reading
        from seatrial.sim.forecast import history

        files = [file for row in reading.journals([reading.check(path) for path in args.history]) for file in row]
        lesson = history.learn(entry for file in files for entry in reading.entries(file))
        found, learned = lesson.applied_to(found), tuple(lesson.told())
    given = {
        "--reload": args.reload and lumped(FROM_RELOAD, "driver gets ready", args.reload),
        "--validation": args.validation and lumped(FROM_VALIDATION, "validator passes", args.validation),
        "--grace": args.grace and {"pods leave": args.grace},
        "--jobs": args.jobs and {"job finishes": args.jobs},
    }
    for option, durations in given.items():
        if durations:
            found = found.with_durations(f"given by {option}", durations)
    if args.failure_rate is not None:
        sources = {**found.sources, "failure rate": "given by --failure-rate"}
        found = replace(found, failure_rate=args.failure_rate, sources=sources)
    if args.blocked is not None:
        found = replace(found, budget_rate=args.blocked, sources={**found.sources, "blocked": "given by --blocked"})
    if args.blocked_for is not None:
        found = replace(found, budget_wait=args.blocked_for)
    return found, learned


def _usual(node_count: int) -> list[int]:
    """Settings of parallelism to compare where nobody names any: one, a few, many, and no limit of its own."""
    return [many for many in (1, 4, 16, 64, 256) if many <= node_count / 2 or many == 1] + [0]


# ── the answer ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _answer(args: argparse.Namespace, asked: _Question) -> dict[str, Any]:
    """Everything the forecast found, for scripts; what people see is made of this."""
    from seatrial.sim.forecast import advice
    from seatrial.sim.forecast.engine import Model
    from seatrial.sim.forecast.sweep import AT_ONCE, band, sweep

    model = Model(asked.inventory, asked.intent, asked.behaviours)
    seeds = [asked.seed + number for number in range(args.samples)]
    settings = (*asked.settings, AT_ONCE)
    tell = _Teller(len(asked.settings), len(model.members))
    results = sweep(asked.inventory, asked.intent, asked.behaviours, settings, seeds=seeds, progress=tell)
    tell.end()
    at_once = results.pop()
    advised = advice.advise(results, at_once, args.buffer)
    shown = advised.setting or AT_ONCE
    curve = band(model, shown, seeds)
    gpus = sum(member.gpus for member in model.members)
    return {
        "what": "forecast of an upgrade",
        "source": asked.source,
        "seed": asked.seed,
        "samples": args.samples,
        "fleet": {
            "nodes": len(model.members),
            "gpus": gpus,
            "gpus_at_start": curve.total,
            "left_out": dict(sorted(model.left_out().items())),
        },
        "failed_max": asked.intent.failed_max,
        "buffer": args.buffer,
        "assumptions": _assumptions(asked),
        "settings": [_row(result, result.setting == advised.setting) for result in results],
        "at_once": _row(at_once, advised.setting is None),
        "advice": {
            "is_window": advised.setting is None,
            "head": advised.head,
            "figures": advised.figures,
            "besides": advised.besides,
            "not_included": advice.NOT_INCLUDED,
        },
        "curve": {
            "parallel": shown.parallel_max,
            "unavailable": str(shown.unavailable_max),
            "total": curve.total,
            "seconds": [round(each, 1) for each in curve.seconds],
            "p10": curve.low,
            "p50": curve.middle,
            "p90": curve.high,
        },
    }


def _row(result: Any, is_recommended: bool) -> dict[str, Any]:
    return {
        "parallel": result.setting.parallel_max,
        "unavailable": str(result.setting.unavailable_max),
        "seconds_p50": _finite(result.seconds(0.5)),
        "seconds_p90": _finite(result.seconds(0.9)),
        "gpu_hours_lost_p50": round(result.gpu_hours_lost(0.5), 2),
        "gpu_hours_lost_p90": round(result.gpu_hours_lost(0.9), 2),
        "least_capacity": round(result.least_share, 4),
        "evictions": int(result.evicted),
        "stop_chance": round(result.stop_chance, 4),
        "is_recommended": is_recommended,
    }


def _finite(seconds: float) -> float | None:
    """None for a rollout that does not come to its end."""
    return round(seconds, 1) if math.isfinite(seconds) else None


def _assumptions(asked: _Question) -> list[dict[str, str]]:
    found = asked.behaviours
    policy = asked.intent.policy
    rows = [
        ("driver reload", "driver gets ready", _sum(found, "driver pod replaced", "driver gets ready")),
        ("validation", "validator passes", _sum(found, "validator restarts", "validator passes")),
        ("pods leave", "pods leave", str(found.durations["pods leave"])),
    ]
    if policy.jobs.selector is not None:
        rows.append(("jobs still run", "job finishes", str(found.durations["job finishes"])))
    told = [{"what": what, "value": value, "source": found.source_of(name)} for what, name, value in rows]
    rate_source = found.sources.get("failure rate", "assumed: nobody said otherwise")
    told.append({"what": "failures", "value": f"{found.failure_rate:.2%} of attempts", "source": rate_source})
    if found.budget_rate:
        value = f"{found.budget_rate:.1%} of nodes, for {found.budget_wait}"
        told.append({"what": "kept by a disruption budget", "value": value, "source": found.sources["blocked"]})
    return told + [{"what": "history", "value": line, "source": "the journal"} for line in asked.learned]


def _sum(found: Behaviours, first: str, second: str) -> str:
    """Two durations that follow each other; one of them is nothing where only the sum is known."""
    from seatrial.sim.forecast.durations import NOTHING

    one, two = found.durations[first], found.durations[second]
    return str(two) if one == NOTHING else f"{one}, then {two}"


class _Teller:
    """Progress on stderr: rewritten in place on a terminal, else a line now and then."""

    def __init__(self, setting_count: int, node_count: int) -> None:
        self._what = f"{setting_count} settings, {node_count} nodes"
        self._began = self._told = time.monotonic()
        self._is_terminal = sys.stderr.isatty()

    def __call__(self, done: int, of: int) -> None:
        now = time.monotonic()
        if now - self._told < (0.2 if self._is_terminal else TOLD_SECONDS) and done < of:
            return
        if not self._is_terminal and now - self._began < TOLD_SECONDS:
            return
        self._told = now
        left_seconds = (now - self._began) / done * (of - done)
        line = f"seatrial: {done} of {of} samples of {self._what}, about {left_seconds:.0f} s left"
        print(f"\r\033[2K{line}" if self._is_terminal else line, end="" if self._is_terminal else "\n", file=sys.stderr)
        sys.stderr.flush()

    def end(self) -> None:
        if self._is_terminal:
            print("\r\033[2K", end="", file=sys.stderr, flush=True)


# ── for people ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _print(data: dict[str, Any]) -> None:
    from seatrial.cli import terminal
    from seatrial.cli.run import forecast_plot

    console = terminal.console()
    fleet = data["fleet"]
    console.print(
        f"Forecast  {fleet['nodes']:,} nodes with {fleet['gpus']:,} GPUs, from {data['source']}; "
        f"{data['samples']} runs for each setting, seed {data['seed']}",
        style="bold",
    )
    for each in data["assumptions"]:
        console.print(f"  {each['what']}: {each['value']} ({each['source']})")
    for code, count in fleet["left_out"].items():
        console.print(f"  left out: {count} nodes held by {code}; see `seatrial why NODE`")
    console.print()
    _print_rows(data, console)
    console.print()
    for line in forecast_plot.scatter(data):
        console.print(line)
    console.print()
    for line in forecast_plot.curve(data):
        console.print(line)
    console.print()
    advice = data["advice"]
    console.print(
        f"{advice['head']}: {advice['figures']}", style="bold yellow" if advice["is_window"] else "bold green"
    )
    console.print(" ".join(part for part in (advice["besides"], advice["not_included"]) if part))


def _print_rows(data: dict[str, Any], console: Console) -> None:
    from seatrial.cli import terminal

    head = (
        "parallel",
        "unavailable",
        "half of runs",
        "9 of 10",
        "GPU-hours",
        "9 of 10",
        "least",
        "evictions",
        "stops",
        "",
    )
    rows = [head, *(_cells(row) for row in (*data["settings"], data["at_once"]))]
    for line, row in zip(terminal.columns(rows).splitlines(), rows, strict=True):
        console.print(line, style="bold green" if row[-1] else "bold" if row is head else "")


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    return (
        str(row["parallel"] or "any"),
        row["unavailable"],
        span(row["seconds_p50"]),
        span(row["seconds_p90"]),
        f"{row['gpu_hours_lost_p50']:,.1f}",
        f"{row['gpu_hours_lost_p90']:,.1f}",
        f"{row['least_capacity']:.1%}",
        f"{row['evictions']:,}",
        f"{row['stop_chance']:.0%}",
        "◀ recommended" if row["is_recommended"] else "",
    )


def span(seconds: float | None) -> str:
    """A duration, or that there is none."""
    from seatrial.core.words import explain

    return explain.span(seconds) if seconds is not None else "stops"


# ── reading what is given ────────────────────────────────────────────────────────────────────────────────────────────


def _count(least: int, most: int) -> Any:
    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from {least} to {most}")
        return int(text)

    return read


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
    if any(share.is_percent and share.amount > 100 for share in shares):
        raise argparse.ArgumentTypeError(f"{text!r} is more than all of the nodes")
    return list(dict.fromkeys(shares))
