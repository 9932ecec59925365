"""GPU-hours and evictions of an upgrade of 128 busy nodes: by attrition, and in the three ways of NVIDIA's controller.

The rules are those of the product (core/budget/attrition, through `turn`); the cluster is a model of its own, which
forecasts play as well (seatrial/sim/forecast/busy), event driven, because thousands of days of a saturated queue are
played: no API server, no node machine, a reload of six minutes, a restart of ten. What is counted is written in its
cluster.py, the traces in its traces.py. It is held against World (in_world.py).

    figure                                    at most, against "evict"
    24 h                                      1/3 of the GPU-hours, 1/3 of the evictions
    48 h                                      1/5 of the GPU-hours, 1/4 of the evictions
    deadline kept                             in 99 of 100 runs
    acts above the idle budget                none
    above it by the ends of jobs              given back within 10 s

`saves` says what is known of the hourly saves of jobs: nothing (silent), when the last one was (told), or that they
save when asked (asked). The bound is what nobody can stay below, with every end known; of silent jobs nobody knows the
saves, either. What is scored, on which seeds, is fixed in settings.py. Without options all of it is played; with
--kind, --saves and --way a part, and --into adds it to a result that is kept already. --kept plays as many upgrades of
a smaller fleet, each with a seed of its own, for the deadline alone; --in-world plays it in World, moved by the loop
and by `decide`, beside the model on the same seeds.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.gpu_hours import settings
from bench.gpu_hours.in_world import InWorld
from bench.gpu_hours.settings import IDLE_MAX
from bench.machine import keep, machine

from seatrial.core.budget.attrition.values import Attrition
from seatrial.sim.forecast.busy import imagined, traces
from seatrial.sim.forecast.busy.others import WAYS, Batches
from seatrial.sim.forecast.busy.ours import ByAttrition
from seatrial.sim.forecast.busy.playing import Bound, Outcome, Way, bound, play, warm
from seatrial.sim.forecast.busy.traces import DAY, HOUR, Kind, Saves


def main() -> int:
    """Play, print, keep; 1 when a figure is missed."""
    args = _parser().parse_args()
    seeds = range(args.first, args.first + args.seeds)
    kinds = args.kind or list(traces.KINDS)
    chosen = [Saves(each) for each in args.saves] if args.saves else None
    played = [each for each in settings.PLAYED if each[0] in kinds and (chosen is None or each[1] in chosen)]
    if args.kind and chosen is not None:
        played = [(name, saves) for name in kinds for saves in chosen]
    kept = json.loads(args.into.read_text(encoding="utf-8")) if args.into else _head(seeds)
    if args.kept:
        kept["kept"] = _kept(range(args.first, args.first + args.kept))
        print(kept["kept"], flush=True)
        played = []
    if args.in_world:
        kept["in_world"] = _in_world(range(args.first, args.first + args.in_world))
        print(kept["in_world"], flush=True)
        played = []
    for name, saves in played:
        kind = replace(traces.KINDS[name], saves=saves)
        for row in _rows(kind, seeds, args.deadline or settings.deadlines(name, saves), args.way or list(WAYS)):
            print(_line(row), flush=True)
            if row not in kept["rows"]:
                kept["rows"].append(row)
    missed = [text for row in kept["rows"] for text in row["missed"]] + _late(kept["rows"])
    kept["missed"] = missed
    for text in missed:
        print(f"missed: {text}")
    if args.into:
        args.into.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    elif not args.no_keep:
        print(keep("gpu-hours", kept))
    return 1 if missed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=sorted(traces.KINDS), action="append", help="which trace (all of them)")
    parser.add_argument("--saves", choices=sorted(Saves), action="append", help="what is known of saves (as fixed)")
    parser.add_argument("--first", type=int, default=settings.FIRST_SEED, help="the first seed")
    parser.add_argument("--seeds", type=int, default=settings.SEED_COUNT)
    parser.add_argument("--deadline", type=int, action="append", help="hours (as fixed)")
    parser.add_argument("--way", choices=sorted(WAYS), action="append", help="NVIDIA's ways beside ours (all of them)")
    parser.add_argument("--kept", type=int, metavar="RUNS", help="play so many smaller upgrades for the deadline alone")
    parser.add_argument("--in-world", type=int, metavar="RUNS", help="the same in World, by `decide`, beside the model")
    parser.add_argument("--into", type=Path, help="add the rows to this result, which is kept already")
    parser.add_argument("--no-keep", action="store_true", help="print the result, do not write it to bench/results")
    return parser


def _head(seeds: Sequence[int]) -> dict[str, Any]:
    head = {"machine": machine(), "seeds": [seeds[0], seeds[-1]], "idle_max": IDLE_MAX}
    return head | {"warm_hours": settings.WARM_HOURS, "rows": []}


def _late(rows: list[dict[str, Any]]) -> list[str]:
    """Whether the deadline was kept often enough, over everything that was played."""
    ours = [row for row in rows if "late" in row]
    late, runs = sum(row["late"] for row in ours), sum(row["runs"] for row in ours)
    return [f"late in {late} of {runs} runs"] if late > settings.LATE_MAX * runs else []


SMALL_COUNT, SMALL_IDLE_MAX, SMALL_HOURS = 32, 64, 24
"""Of the smaller fleet: nodes, GPUs that may stand idle, and the deadline."""


def _small() -> Kind:
    share = SMALL_COUNT * 8 / imagined.MADE_FOR
    return replace(traces.scaled(traces.PUBLISHED, share), name="small", saves=Saves.TOLD)


def _played_small(seeds: Sequence[int]) -> list[Outcome]:
    kind, way = _small(), Attrition(deadline_seconds=SMALL_HOURS * HOUR)
    return [
        play(kind, seed, ByAttrition(way, SMALL_IDLE_MAX), warm_hours=24, count=SMALL_COUNT, idle_max=SMALL_IDLE_MAX)
        for seed in seeds
    ]


def _kept(seeds: Sequence[int]) -> dict[str, Any]:
    """How often the deadline was kept, each run with a seed of its own, on the smaller fleet."""
    outcomes = _played_small(seeds)
    return _small_head(seeds) | {
        "late": sum(not each.is_over or each.hours > SMALL_HOURS for each in outcomes),
        "acts_over": sum(each.losses.acts_over for each in outcomes),
        "longest_over": round(max(each.losses.longest_over for each in outcomes), 1),
    }


def _in_world(seeds: Sequence[int]) -> dict[str, Any]:
    """What the smaller fleet loses in World, moved by the loop and `decide`, beside the model on the same seeds."""
    kind, way, begins = _small(), Attrition(deadline_seconds=SMALL_HOURS * HOUR), 24 * HOUR
    stop = begins + 5 * DAY
    there = []
    for seed in seeds:
        there.append(InWorld(warm(kind, seed, 24, stop, SMALL_COUNT), way, SMALL_IDLE_MAX).run(stop))
        print(f"in World: seed {seed}, {there[-1].losses.gpu_hours:.1f} GPU-hours", flush=True)
    late = sum(not each.is_over or each.hours > SMALL_HOURS for each in there)
    rows = {"world": _row(kind, "in World", there), "model": _row(kind, "in the model", _played_small(seeds))}
    return _small_head(seeds) | {"late": late} | rows


def _small_head(seeds: Sequence[int]) -> dict[str, Any]:
    head = {"nodes": SMALL_COUNT, "idle_max": SMALL_IDLE_MAX, "deadline": SMALL_HOURS}
    return head | {"seeds": [seeds[0], seeds[-1]], "runs": len(seeds)}


def _rows(kind: Kind, seeds: Sequence[int], deadlines: Sequence[int], ways: Sequence[str]) -> Iterator[dict[str, Any]]:
    """NVIDIA's ways, then ours at each deadline; "evict" is what the others are measured by."""
    evict = _row(kind, "evict", _as_nvidia(replace(kind, saves=Saves.SILENT), seeds, "evict"))
    yield evict
    for name in (each for each in ways if each != "evict"):
        yield _row(kind, name, _as_nvidia(replace(kind, saves=Saves.SILENT), seeds, name))
    for hours in deadlines:
        way = Attrition(deadline_seconds=hours * HOUR)
        outcomes = _played(kind, seeds, lambda s, w=way: ByAttrition(w, IDLE_MAX, partial(traces.past, kind, s)))  # type: ignore[misc]
        bounds = [bound(kind, seed, hours, warm_hours=settings.WARM_HOURS[kind.name]) for seed in seeds]
        yield _judged(_row(kind, f"attrition {hours} h", outcomes), evict, outcomes, bounds, hours)


@cache
def _as_nvidia(kind: Kind, seeds: Sequence[int], name: str) -> list[Outcome]:
    """NVIDIA's ways ask nobody, so what is known of saves changes nothing."""
    return _played(kind, seeds, lambda _: Batches(WAYS[name]))


def _played(kind: Kind, seeds: Sequence[int], way: Callable[[int], Way]) -> list[Outcome]:
    warm = settings.WARM_HOURS[kind.name]
    return [play(kind, seed, way(seed), warm_hours=warm, idle_max=IDLE_MAX) for seed in seeds]


def _row(kind: Kind, way: str, outcomes: list[Outcome]) -> dict[str, Any]:
    losses = [outcome.losses for outcome in outcomes]
    return {
        "kind": kind.name,
        "saves": kind.saves.value,
        "way": way,
        "runs": len(outcomes),
        "gpu_hours": round(fmean(each.gpu_hours for each in losses), 1),
        "idle": round(fmean(each.idle for each in losses) / HOUR, 1),
        "thrown": round(fmean(each.thrown for each in losses) / HOUR, 1),
        "reload": round(fmean(each.reload for each in losses) / HOUR, 1),
        "evictions": round(fmean(each.evictions for each in losses), 1),
        "moves": round(fmean(each.moves for each in losses), 1),
        "hours": round(fmean(outcome.hours for outcome in outcomes), 1),
        "not_over": sum(not outcome.is_over for outcome in outcomes),
        "missed": [],
    }


def _judged(
    row: dict[str, Any], evict: dict[str, Any], outcomes: list[Outcome], bounds: list[Bound], hours: int
) -> dict[str, Any]:
    row |= {
        "deadline": hours,
        "late": sum(not each.is_over or each.hours > hours for each in outcomes),
        "acts_over": sum(each.losses.acts_over for each in outcomes),
        "seconds_over": round(sum(each.losses.seconds_over for each in outcomes), 1),
        "longest_over": round(max(each.losses.longest_over for each in outcomes), 1),
        "given_back": round(fmean(each.losses.given_back for each in outcomes), 1),
        "gpu_hours_share": round(row["gpu_hours"] / evict["gpu_hours"], 3),
        "evictions_share": round(row["evictions"] / evict["evictions"], 3),
        "bound_gpu_hours": round(fmean(_least(each, row["saves"]) for each in bounds), 1),
        "bound_evictions": round(fmean(each.evictions for each in bounds), 1),
    }
    where = f"{row['kind']}, {row['saves']}, {row['way']}"
    if row["acts_over"]:
        row["missed"].append(f"{where}: {row['acts_over']} acts above the idle budget")
    if row["longest_over"] > settings.OVER_SECONDS:
        row["missed"].append(f"{where}: above the idle budget for {row['longest_over']} s")
    if hours in settings.SHARES and (row["kind"], row["saves"]) in settings.JUDGED:
        for figure, most in zip(("gpu_hours", "evictions"), settings.SHARES[hours], strict=True):
            if row[f"{figure}_share"] > most:
                row["missed"].append(f"{where}: {figure} {row[f'{figure}_share']}, at most {most:.3f}")
    return row


def _least(each: Bound, saves: str) -> float:
    """What nobody can stay below who knows as much of saves."""
    return each.blind_gpu_hours if saves == Saves.SILENT else each.gpu_hours


def _line(row: dict[str, Any]) -> str:
    shares = f"  {row['gpu_hours_share']:.3f} {row['evictions_share']:.3f}" if "late" in row else ""
    bounds = f"  bound {row['bound_gpu_hours']:.0f} {row['bound_evictions']:.0f}" if "late" in row else ""
    return (
        f"{row['kind']:11} {row['saves']:6} {row['way']:15} {row['gpu_hours']:7.0f} GPU-h (idle {row['idle']:.0f}, "
        f"thrown {row['thrown']:.0f}, reload {row['reload']:.0f}) {row['evictions']:5.0f} evictions "
        f"{row['moves']:4.0f} moves {row['hours']:6.1f} h{shares}{bounds}"
    )


if __name__ == "__main__":
    sys.exit(main())
