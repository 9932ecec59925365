"""The picture for docs/how-to/upgrade-a-busy-cluster.md: how long an upgrade takes against what its users lose.

Drawn from the newest result of bench/gpu_hours in bench/results, on the saturated trace, with jobs that say when they
saved. The same result gives the same bytes. Tests: tests/docs/test_generated.py
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, Final

from docs import drawing

RESULTS: Final = Path(__file__).parent.parent / "bench" / "results"
KIND: Final = "published"
SAVES: Final = "told"
WIDTH: Final = 900
HEIGHT: Final = 470
LEFT, RIGHT, TOP, BOTTOM = 84, 860, 84, 380
HOURS: Final = (1, 3, 6, 12, 24, 48, 120)
STYLE: Final = """<style>
.axis { stroke: #51606f; stroke-width: 1.2; }
.grid { stroke: #d9e0e7; stroke-width: 1; }
.floor { stroke: #2f8f4e; stroke-width: 1.4; stroke-dasharray: 6 4; }
.line { fill: none; stroke: #2f6fb0; stroke-width: 2.4; }
.ours { fill: #2f6fb0; }
.theirs { fill: #c0392b; }
.head { font-size: 18px; font-weight: 600; }
</style>"""


def newest() -> dict[str, Any]:
    """The newest result that has rows of the trace."""
    for path in sorted(RESULTS.glob("gpu-hours-2*.json"), reverse=True):
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if any(row["kind"] == KIND and row["saves"] == SAVES and "deadline" in row for row in found["rows"]):
            return found | {"name": path.name}
    raise FileNotFoundError(f"no result of bench/gpu_hours for {KIND}, {SAVES} in {RESULTS}; run make gpu-hours")


def picture() -> str:
    """Time against GPU-hours lost, each way with the jobs that it evicts."""
    found = newest()
    rows = [row for row in found["rows"] if row["kind"] == KIND and row["saves"] == SAVES and not row["not_over"]]
    most = 100 * math.ceil(max(row["gpu_hours"] for row in rows) / 100)
    ours = sorted((row for row in rows if "deadline" in row), key=lambda row: row["deadline"])
    places = [(_x(row["hours"]), _y(row["gpu_hours"], most)) for row in ours]
    parts = [STYLE, *_frame(most), *_floor(rows[0]["reload"], most)]
    if len(places) > 1:
        parts.append(f'<path class="line" d="{drawing.rounded(places)}"/>')
    parts += [_point(row, most) for row in rows]
    parts.append('<text class="head" x="20" y="38">128 nodes of 8 GPUs, a queue that is never empty</text>')
    parts.append(
        f'<text class="small" x="20" y="60">means over {rows[0]["runs"]} seeds, bench/results/{found["name"]}</text>'
    )
    legend = (
        "Red: a tenth of the nodes at a time, as NVIDIA's controller does. "
        "Blue: by attrition, with its deadline. Beside each: GPU-hours, jobs evicted."
    )
    return drawing.picture("what an upgrade costs against how long it takes", WIDTH, HEIGHT, parts, legend)


def _x(hours: float) -> float:
    share = math.log(hours / HOURS[0]) / math.log(HOURS[-1] / HOURS[0])
    return round(LEFT + (RIGHT - LEFT) * min(1.0, max(0.0, share)), 1)


def _y(gpu_hours: float, most: float) -> float:
    return round(BOTTOM - (BOTTOM - TOP) * gpu_hours / most, 1)


def _frame(most: int) -> list[str]:
    step = 200 if most > 600 else 100
    lines = [
        f'<path class="grid" d="M{LEFT} {_y(each, most):g} H{RIGHT}"/>'
        f'<text class="small" x="{LEFT - 10}" y="{_y(each, most) + 5:g}" text-anchor="end">{each}</text>'
        for each in range(0, most + 1, step)
    ]
    ticks = [
        f'<text class="small" x="{_x(each):g}" y="{BOTTOM + 22}" text-anchor="middle">{each} h</text>' for each in HOURS
    ]
    axis = f'<path class="axis" d="M{LEFT} {TOP} V{BOTTOM} H{RIGHT}"/>'
    named = f'<text class="small" x="{LEFT}" y="{TOP - 8}">GPU-hours lost</text>'
    until = f'<text class="small" x="{RIGHT}" y="{BOTTOM + 42}" text-anchor="end">until the last node is through</text>'
    return [*lines, *ticks, axis, named, until]


def _floor(reload: float, most: int) -> list[str]:
    y = _y(reload, most)
    return [
        f'<path class="floor" d="M{LEFT} {y:g} H{RIGHT}"/>',
        f'<text class="small" x="{LEFT + 8}" y="{y + 18:g}">the reloads alone: {reload:.0f} GPU-hours</text>',
    ]


def _point(row: dict[str, Any], most: int) -> str:
    x, y = _x(row["hours"]), _y(row["gpu_hours"], most)
    is_ours = "deadline" in row
    name = f"{row['deadline']} h" if is_ours else row["way"]
    evicted = f"{row['gpu_hours']:.0f}, {row['evictions']:.0f} evicted"
    side, shift = ("end", -12) if x > RIGHT - 120 else ("middle" if is_ours else "start", 0 if is_ours else 14)
    above = y - 34 if is_ours else y - 6
    return (
        f'<circle class="{"ours" if is_ours else "theirs"}" cx="{x:g}" cy="{y:g}" r="6"/>'
        f'<text x="{x + shift:g}" y="{above:g}" text-anchor="{side}">{name}</text>'
        f'<text class="small" x="{x + shift:g}" y="{above + 18:g}" text-anchor="{side}">{evicted}</text>'
    )
