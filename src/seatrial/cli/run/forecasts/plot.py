"""Pictures of a forecast for a terminal, in plain Unicode: lists of lines, no colour of their own.

Tests: tests/cli/test_forecast.py
"""

from __future__ import annotations

import math
from typing import Any, Final

from seatrial.core.text.spans import span

WIDTH: Final = 64
HEIGHT: Final = 10
BLOCKS: Final = " ▁▂▃▄▅▆▇█"
LABEL: Final = 12
LEGEND: Final = "◆ recommended, ● within the buffer, ○ beyond it"


def scatter(data: dict[str, Any]) -> list[str]:
    """Duration (down is faster) against least capacity (right is gentler); ◆ is recommended, ○ is beyond the buffer."""
    # All at once is so far away from the others that they would be one spot; it is drawn where it is the advice.
    drawn = (*data["settings"], data["at_once"]) if data["advice"]["kind"] == "window" else data["settings"]
    rows = [row for row in drawn if row["seconds_p50"]]
    if not rows:
        return ["No setting finishes, so there is no duration to draw."]
    logs = [math.log(row["seconds_p50"]) for row in rows]
    shares = [row["least_capacity"] for row in rows]
    low, high, least, most = min(logs), max(logs), min(shares), max(shares)
    grid = [[" "] * WIDTH for _ in range(HEIGHT)]
    marks = {False: "●", True: "○"}
    for row, height in sorted(zip(rows, logs, strict=True), key=lambda pair: bool(pair[0]["is_recommended"])):
        x = _place(row["least_capacity"], least, most, WIDTH)
        y = HEIGHT - 1 - _place(height, low, high, HEIGHT)
        is_beyond = 1 - row["least_capacity"] > data["buffer"] + 1e-9
        grid[y][x] = "◆" if row["is_recommended"] else marks[is_beyond]
    names = [""] * HEIGHT
    names[0], names[-1] = span(math.exp(high)), span(math.exp(low))
    names[HEIGHT // 2] = span(math.exp(high - (high - low) * (HEIGHT // 2) / (HEIGHT - 1)))
    lines = ["Duration (half of the runs) against least capacity", LEGEND]
    lines += [f"{name:>{LABEL}} ┤{''.join(line).rstrip()}" for name, line in zip(names, grid, strict=True)]
    lines.append(f"{'':>{LABEL}} └{'─' * WIDTH}")
    left, right = f"{least:.0%}", f"{most:.0%}"
    return [*lines, f"{'':>{LABEL}}  {left}{right:>{WIDTH - len(left)}}"]


def curve(data: dict[str, Any]) -> list[str]:
    """GPUs that take work over time under the recommended setting: █ in most runs, ░ not in the worst tenth."""
    found = data["curve"]
    if found is None:
        return []
    total = found["total"] or 1
    floor = min(found["p10"]) / total
    room = math.floor((floor - (1 - floor) * 0.25) * 20) / 20  # some room below, at a round number
    base = min(0.95, max(0.0, room))
    middle, low = _columns(found["p50"]), _columns(found["p10"])
    when = " from the first wave on" if found["is_from_waves"] else ""
    setting = f"{found['parallel'] or 'any number'} at a time, {found['unavailable']} unavailable"
    lines = [f"GPUs that take work{when}, {setting}"]
    rows = 6
    for row in range(rows):
        bottom = base + (1 - base) * (rows - 1 - row) / rows
        top = base + (1 - base) * (rows - row) / rows
        name = f"{top:.0%}" if row % 2 == 0 else ""
        cells = [_cell(mid / total, worst / total, bottom, top) for mid, worst in zip(middle, low, strict=True)]
        lines.append(f"{name:>{LABEL}} ┤{''.join(cells).rstrip()}")
    lines.append(f"{f'{base:.0%}':>{LABEL}} └{'─' * WIDTH}")
    end = span(found["seconds"][-1])
    return [*lines, f"{'':>{LABEL}}  0{end:>{WIDTH - 1}}"]


def _columns(values: list[int]) -> list[int]:
    """The least value of each slice of time."""
    count = len(values)
    slices = [
        (place * count // WIDTH, max(place * count // WIDTH + 1, (place + 1) * count // WIDTH))
        for place in range(WIDTH)
    ]
    return [min(values[start:end]) for start, end in slices]


def _cell(middle: float, worst: float, bottom: float, top: float) -> str:
    filled = (middle - bottom) / (top - bottom)
    if filled <= 0:
        return " "
    if worst < middle and worst <= bottom:
        return "░"
    return BLOCKS[min(8, max(1, round(filled * 8)))]


def _place(value: float, low: float, high: float, size: int) -> int:
    return round((value - low) / (high - low) * (size - 1)) if high > low else size // 2
