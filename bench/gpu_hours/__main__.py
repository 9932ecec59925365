"""GPU-hours and evictions of an upgrade of 128 busy nodes: by attrition, and in the three ways of NVIDIA's controller.

The rules are those of the product (core/budget/attrition, through `turn`); the cluster is a model of its own, event
driven, because thousands of days of a saturated queue are played: no API server, no node machine, a reload of six
minutes, a restart of ten. What is counted is written in cluster.py, the traces in traces.py.

    figure                                    at most, against "evict"
    24 h                                      1/3 of the GPU-hours, 1/3 of the evictions
    48 h                                      1/5 of the GPU-hours, 1/4 of the evictions
    deadline kept                             in 99 of 100 runs
    acts above the idle budget                none

`saves` says what is known of the hourly saves of jobs: nothing (silent), when the last one was (told), or that they
save when asked (asked). The bound is what nobody can stay below, with every end known.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import Any

from bench.gpu_hours import traces
from bench.gpu_hours.others import WAYS, Batches
from bench.gpu_hours.ours import ByAttrition
from bench.gpu_hours.playing import Bound, Outcome, Way, bound, play
from bench.gpu_hours.traces import HOUR, Kind, Saves
from bench.machine import keep, machine

from seatrial.core.budget.attrition.values import Attrition

IDLE_MAX = 102
"""A tenth of the GPUs."""
SHARES = {24: (1 / 3, 1 / 3), 48: (1 / 5, 1 / 4)}


def main() -> int:
    """Play, print, keep; 1 when a figure is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=sorted(traces.KINDS), action="append", help="which trace (all of them)")
    parser.add_argument("--saves", choices=sorted(Saves), default=Saves.ASKED.value, help="what is known of saves")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--deadline", type=int, action="append", help="hours (24 and 48)")
    parser.add_argument("--warm", type=float, default=6.0, help="hours at work before the upgrade begins (6)")
    parser.add_argument("--no-keep", action="store_true", help="print the result, do not write it to bench/results")
    args = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name in args.kind or list(traces.KINDS):
        kind = replace(traces.KINDS[name], saves=Saves(args.saves))
        for row in _rows(kind, args.seeds, args.deadline or [24, 48], args.warm):
            rows.append(row)
            print(_line(row), flush=True)
    missed = [text for row in rows for text in row["missed"]]
    for text in missed:
        print(f"missed: {text}")
    result = {"seeds": args.seeds, "warm_hours": args.warm, "saves": args.saves, "idle_max": IDLE_MAX}
    if not args.no_keep:
        print(keep("-".join(["gpu-hours", *(args.kind or [])]), {"machine": machine()} | result | {"rows": rows}))
    return 1 if missed else 0


def _rows(kind: Kind, seeds: int, deadlines: list[int], warm: float) -> Iterator[dict[str, Any]]:
    """NVIDIA's ways, then ours at each deadline."""
    evict: dict[str, Any] = {}
    for name, patience in WAYS.items():
        row = _row(kind, name, _played(kind, seeds, warm, lambda _, p=patience: Batches(p)))  # type: ignore[misc]
        evict = evict or row
        yield row
    for hours in deadlines:
        way = Attrition(deadline_seconds=hours * HOUR)
        outcomes = _played(kind, seeds, warm, lambda s, w=way: ByAttrition(w, IDLE_MAX, partial(traces.past, kind, s)))  # type: ignore[misc]
        bounds = [bound(kind, seed, hours, warm_hours=warm) for seed in range(seeds)]
        yield _judged(_row(kind, f"attrition {hours} h", outcomes), evict, outcomes, bounds, hours)


def _played(kind: Kind, seeds: int, warm: float, way: Callable[[int], Way]) -> list[Outcome]:
    return [play(kind, seed, way(seed), warm_hours=warm, idle_max=IDLE_MAX) for seed in range(seeds)]


def _row(kind: Kind, way: str, outcomes: list[Outcome]) -> dict[str, Any]:
    losses = [outcome.losses for outcome in outcomes]
    return {
        "kind": kind.name,
        "way": way,
        "gpu_hours": round(fmean(each.gpu_hours for each in losses), 1),
        "idle": round(fmean(each.idle for each in losses) / HOUR, 1),
        "thrown": round(fmean(each.thrown for each in losses) / HOUR, 1),
        "reload": round(fmean(each.reload for each in losses) / HOUR, 1),
        "evictions": round(fmean(each.evictions for each in losses), 1),
        "hours": round(fmean(outcome.hours for outcome in outcomes), 1),
        "not_over": sum(not outcome.is_over for outcome in outcomes),
        "missed": [],
    }


def _judged(
    row: dict[str, Any], evict: dict[str, Any], outcomes: list[Outcome], bounds: list[Bound], hours: int
) -> dict[str, Any]:
    late = sum(not each.is_over or each.hours > hours for each in outcomes)
    row |= {
        "late": late,
        "acts_over": sum(each.losses.acts_over for each in outcomes),
        "seconds_over": round(sum(each.losses.seconds_over for each in outcomes), 1),
        "gpu_hours_share": round(row["gpu_hours"] / evict["gpu_hours"], 3),
        "evictions_share": round(row["evictions"] / evict["evictions"], 3),
        "bound_gpu_hours": round(fmean(each.gpu_hours for each in bounds), 1),
        "bound_evictions": round(fmean(each.evictions for each in bounds), 1),
    }
    where = f"{row['kind']}, {row['way']}"
    if late * 100 > len(outcomes):
        row["missed"].append(f"{where}: late in {late} of {len(outcomes)}")
    if row["acts_over"]:
        row["missed"].append(f"{where}: {row['acts_over']} acts above the idle budget")
    if hours in SHARES and row["kind"] in ("published", "busy"):
        for figure, most in zip(("gpu_hours", "evictions"), SHARES[hours], strict=True):
            if row[f"{figure}_share"] > most:
                row["missed"].append(f"{where}: {figure} {row[f'{figure}_share']}, at most {most:.3f}")
    return row


def _line(row: dict[str, Any]) -> str:
    shares = f"  {row['gpu_hours_share']:.2f} {row['evictions_share']:.2f}" if "late" in row else ""
    bounds = f"  bound {row['bound_gpu_hours']:.0f} {row['bound_evictions']:.0f}" if "late" in row else ""
    return (
        f"{row['kind']:10} {row['way']:15} {row['gpu_hours']:7.0f} GPU-h (idle {row['idle']:.0f}, thrown "
        f"{row['thrown']:.0f}, reload {row['reload']:.0f}) {row['evictions']:5.0f} evictions {row['hours']:6.1f} h"
        f"{shares}{bounds}"
    )


if __name__ == "__main__":
    sys.exit(main())
