"""The frontier of an upgrade by attrition for a terminal: a table and bars, 80 columns.

    deadline   GPU-hours  most runs   evictions  takes         nobody below
    evict now  862        788 to 936  124        1 h
  ▶ 24 h       337        335 to 339  27         23 h 42 min   166, 20 evicted

Law of this file: data in, lines out. Tests: tests/cli/test_frontier.py
"""

from __future__ import annotations

from typing import Any, Final

from seatrial.core.text.names import number_of
from seatrial.core.text.spans import span

HEAD: Final = ("deadline", "GPU-hours", "most runs", "evictions", "takes", "nobody below")
MARK: Final = "▶ "
WIDTH: Final = 54
CAUSES: Final = (
    ("thrown_away_gpu_hours", "█", "work thrown away"),
    ("idle_gpu_hours", "░", "idle"),
    ("reload_gpu_hours", "▒", "reload"),
)


def head(data: dict[str, Any]) -> str:
    """What this is a forecast of."""
    fleet = data["fleet"]
    return (
        f"Forecast  by attrition, {number_of(fleet['nodes'], 'node')} with {number_of(fleet['gpus'], 'GPU')}, from "
        f"{data['source']}; {number_of(data['samples'], 'future')} for each deadline, seed {data['seed']}"
    )


def lines(data: dict[str, Any]) -> list[tuple[str, bool]]:
    """The table, with whether a line is recommended."""
    rows = [data["evict_now"], *data["deadlines"]]
    cells = [HEAD, *(_cells(row, data) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    chosen = [False, *(row["is_recommended"] for row in rows)]
    return [
        (
            (MARK if is_chosen else "  ")
            + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip(),
            is_chosen,
        )
        for row, is_chosen in zip(cells, chosen, strict=True)
    ]


def _cells(row: dict[str, Any], data: dict[str, Any]) -> tuple[str, ...]:
    is_late = row["late"] and row["deadline_seconds"] is not None
    late = f", late in {row['late']} of {data['samples']}" if is_late else ""
    least = row["least_gpu_hours"]
    return (
        _name(row),
        f"{row['gpu_hours']:,.0f}",
        f"{row['gpu_hours_p10']:,.0f} to {row['gpu_hours_p90']:,.0f}",
        f"{row['evictions']:,.0f}",
        f"{span(_rounded(row['seconds']))}{late}",
        f"{least:,.0f}, {row['least_evictions']:,.0f} evicted" if least is not None else "",
    )


def _name(row: dict[str, Any]) -> str:
    if row["deadline_seconds"] is None:
        return "evict now"
    return span(row["deadline_seconds"]) + (" *" if row["is_own"] else "")


def _rounded(seconds: float) -> float:
    """To what is known of it: minutes below some hours, else hours."""
    step = 60 if seconds < 6 * 3600 else 3600
    return round(seconds / step) * step


def legend(data: dict[str, Any]) -> list[str]:
    """What the columns and marks mean."""
    found = [f"{MARK}recommended"] if any(row["is_recommended"] for row in data["deadlines"]) else []
    if any(row["is_own"] for row in data["deadlines"]):
        found.append("* as the rollout has it")
    moved = max(row["moved_replicas"] for row in (data["evict_now"], *data["deadlines"]))
    services = f" Replicas of services that start elsewhere, up to {moved:,.0f}, are no evictions." if moved else ""
    least = (
        "Nobody below: the least that is possible, with the end of every job known beforehand; the reloads alone "
        f"take {data['reloads_gpu_hours']:,.0f} GPU-hours. A gang that is evicted counts once.{services}"
    )
    return [*([", ".join(found)] if found else []), least]


def bars(data: dict[str, Any]) -> list[str]:
    """What each way loses, by cause."""
    rows = [data["evict_now"], *data["deadlines"]]
    most = max(row["gpu_hours"] for row in rows) or 1.0
    names = [_name(row) for row in rows]
    width = max(map(len, names))
    told = [f"GPU-hours lost: {', '.join(f'{mark} {words}' for _, mark, words in CAUSES)}"]
    for row, name in zip(rows, names, strict=True):
        bar = "".join(mark * round(row[cause] / most * WIDTH) for cause, mark, _ in CAUSES)
        told.append(f"  {name:>{width}} ┤{bar} {row['gpu_hours']:,.0f}")
    return told


def not_included(data: dict[str, Any]) -> str:
    """What the figures leave out, in a sentence."""
    *most, last = data["not_included"]
    return f"Not included: {'; '.join(most)}; and {last}."
