"""The pictures of a forecast as SVG: every setting's duration against its least capacity, and capacity over time.

Each is drawn twice, for a wide page and for a phone, and the page shows the one that fits: text that shrinks with its
picture cannot be read. Law of this file: colours are names that the page gives a meaning, by day and by night; nothing
is fetched. Tests: tests/cli/test_forecast_page.py
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any, Final, TypeAlias

from seatrial.core.base.values import dataclass
from seatrial.core.text.spans import span

Scale: TypeAlias = Callable[[float], float]

LEFT, RIGHT, TOP, BOTTOM = 58, 12, 34, 34
NEAR: Final = 16.0
"""Points nearer than this, in the picture's own units, are one."""
POINT: Final = 9.0
"""How far from a point a name has to stay."""
LETTER: Final = 7.4
"""How wide a letter is, about."""
FAINT, GREY, BLUE, GREEN, AMBER, SHADE = "faint", "grey", "blue", "green", "amber", "shade"
"""Colours, by the names that the page knows them by."""
MINUTE, HOUR, DAY = 60, 3600, 86400
TIMES: Final = (
    *(1, 2, 5, 10, 20),
    *(MINUTE * each for each in (1, 2, 5, 10, 20)),
    *(HOUR * each for each in (1, 2, 5, 10)),
    *(DAY * each for each in (1, 2, 5, 10, 30)),
)
"""Where ticks may be along an axis of durations that grows by factors."""
STEPS: Final = (
    *(1, 2, 5, 10, 20, 30),
    *(MINUTE * each for each in (1, 2, 5, 10, 20, 30)),
    *(HOUR * each for each in (1, 2, 4, 6, 12)),
    *(DAY * each for each in (1, 2, 7)),
)
"""How far ticks may be apart along one that grows evenly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """How large a picture is, in its own units: about as many as it has pixels where it is shown."""

    name: str
    width: int
    height: int
    ticks_max: int

    @property
    def right(self) -> int:
        return self.width - RIGHT

    @property
    def bottom(self) -> int:
        return self.height - BOTTOM


WIDE: Final = Frame(name="wide", width=1000, height=380, ticks_max=8)
NARROW: Final = Frame(name="narrow", width=340, height=300, ticks_max=4)
FRAMES: Final = (WIDE, NARROW)


def span_or_stops(seconds: float | None) -> str:
    """A duration, or that there is none."""
    return span(seconds) if seconds is not None else "stops"


def setting_text(row: dict[str, Any]) -> str:
    """A setting in words."""
    return f"{row['parallel'] or 'any number'} at a time, {row['unavailable']} unavailable"


def is_beyond(row: dict[str, Any], buffer: float) -> bool:
    """Whether a setting takes more than can be spared."""
    return bool(1 - row["least_capacity"] > buffer + 1e-9)


# ── duration against capacity ────────────────────────────────────────────────────────────────────────────────────────


def scatter(data: dict[str, Any], frame: Frame = WIDE) -> str:
    """Duration against least capacity; empty where no setting comes to its end."""
    # All at once is so far away from the others that they would be one spot; it is drawn where it is the advice.
    drawn = (*data["settings"], data["at_once"]) if data["advice"]["kind"] == "window" else data["settings"]
    rows = [row for row in drawn if row["seconds_p50"] is not None]
    if not rows:
        return ""
    ends = [max(each, 1.0) for row in rows for each in (row["seconds_p50"], row["seconds_p90"]) if each is not None]
    low, high = math.log(min(ends) / 1.35), math.log(max(ends) * 1.35)
    least = max(0.0, min(min(row["least_capacity"] for row in rows), 1 - data["buffer"]) - 0.04)
    x, y = _scale(low, high, LEFT, frame.right), _scale(least, 1.0, frame.bottom, TOP)
    limit = y(1 - data["buffer"])
    parts = [
        _rect(LEFT, limit, frame.right - LEFT, frame.bottom - limit, SHADE),
        *_left_axis(frame, y, least, 1.0),
        *_time_axis(frame, x, [each for each in TIMES if low <= math.log(each) <= high], math.log),
        _line(LEFT, limit, frame.right, limit, AMBER, is_dashed=True),
        _text(frame.right, limit - 7, f"buffer {data['buffer']:.0%}", "end", colour=AMBER),
        _text(LEFT, 14, "least capacity", "start"),
        _text(frame.right, frame.bottom - 9, "duration, half of the runs", "end"),
    ]
    groups = _groups(rows, x, y)
    parts += [_point(frame, group, data["buffer"], x, y) for group in groups]
    parts += _labels(frame, groups, x, y)
    return _svg(frame, parts, "Duration of each setting against its least capacity")


def _groups(rows: Iterable[dict[str, Any]], x: Scale, y: Scale) -> list[list[dict[str, Any]]]:
    """Settings that come to the same spot are drawn as one, the recommended one first; it is drawn last, on top."""
    groups: list[list[dict[str, Any]]] = []
    for row in sorted(rows, key=lambda row: not row["is_recommended"]):
        spot = _spot(row, x, y)
        near = next((group for group in groups if math.dist(_spot(group[0], x, y), spot) < NEAR), None)
        if near is None:
            groups.append([row])
        else:
            near.append(row)
    return groups[::-1]


def _spot(row: dict[str, Any], x: Scale, y: Scale) -> tuple[float, float]:
    return x(math.log(max(row["seconds_p50"], 1.0))), y(row["least_capacity"])


def _point(frame: Frame, group: Sequence[dict[str, Any]], buffer: float, x: Scale, y: Scale) -> str:
    row = group[0]
    at_x, at_y = _spot(row, x, y)
    colour = GREEN if row["is_recommended"] else GREY if is_beyond(row, buffer) else BLUE
    told = "; ".join(
        f"{setting_text(each)}: {span_or_stops(each['seconds_p50'])}, least {each['least_capacity']:.1%}, "
        f"{each['gpu_hours_lost_p50']:,.1f} GPU-hours lost"
        for each in group
    )
    end = x(math.log(max(row["seconds_p90"], 1.0))) if row["seconds_p90"] is not None else frame.right
    ring = f'<circle cx="{at_x:.1f}" cy="{at_y:.1f}" r="12" class="ring"/>' if row["is_recommended"] else ""
    return (
        f"<g><title>{escape(told)}</title>"
        f'<line x1="{at_x:.1f}" y1="{at_y:.1f}" x2="{end:.1f}" y2="{at_y:.1f}" class="line reach {colour}"/>'
        f'<circle cx="{at_x:.1f}" cy="{at_y:.1f}" r="6.5" class="fill {colour}"/>{ring}</g>'
    )


def _labels(frame: Frame, groups: Sequence[list[dict[str, Any]]], x: Scale, y: Scale) -> list[str]:
    """Names beside the points, the recommended one first; a name that would cover another, or a point, is left to the
    tooltip."""
    points = [_spot(group[0], x, y) for group in groups]
    taken = [(at_x - POINT, at_y + POINT / 2, 2 * POINT) for at_x, at_y in points]
    found = []
    for group in sorted(groups, key=lambda group: not group[0]["is_recommended"]):
        row = group[0]
        name = f"{row['parallel'] or 'any'} / {row['unavailable']}"
        more = f" and {len(group) - 1} alike" if len(group) > 1 else ""
        text = f"{name} recommended" if row["is_recommended"] else f"{name}{more}"
        at_x, at_y = _spot(row, x, y)
        width = LETTER * len(text)
        start = max(min(at_x - width / 2, frame.right - width), LEFT + 4)
        spots = [at_y - 18, at_y + 27]
        spot = next((each for each in spots if _is_free(frame, start, each, width, taken)), None)
        if spot is None:
            continue
        taken.append((start, spot, width))
        found.append(_text(start, spot, text, "start", is_strong=bool(row["is_recommended"])))
    return found


def _is_free(
    frame: Frame, start: float, at_y: float, width: float, taken: Iterable[tuple[float, float, float]]
) -> bool:
    if not TOP - 8 <= at_y <= frame.bottom - 24:
        return False
    return all(
        abs(at_y - other_y) > 14 or start + width < other or other + size < start for other, other_y, size in taken
    )


# ── capacity over time ───────────────────────────────────────────────────────────────────────────────────────────────


def curve(data: dict[str, Any], frame: Frame = WIDE) -> str:
    """Capacity over time, with its band; empty where nothing is recommended."""
    found = data["curve"]
    if found is None:
        return ""
    total = found["total"] or 1
    end = max(found["seconds"][-1], 1.0)
    floor = min(found["p10"])
    bottom = max(0.0, floor - (total - floor) * 0.35)
    x, y = _scale(0.0, end, LEFT, frame.right), _scale(bottom, float(total), frame.bottom, TOP)
    step = _round_step((total - bottom) / 4, [1, 2, 5])
    ticks = [tick for number in range(40) if bottom <= (tick := total - number * step) <= total]
    upper = _stairs(found["seconds"], found["p90"], x, y)
    lower = _stairs(found["seconds"], found["p10"], x, y)
    middle = _stairs(found["seconds"], found["p50"], x, y)
    area = f"M{x(0.0):.1f} {frame.bottom} L{' L'.join(middle)} L{x(end):.1f} {frame.bottom} Z"
    band = "M" + " L".join([*upper, *reversed(lower)]) + " Z"
    limit = y(total * (1 - data["buffer"]))
    parts = [
        *[_line(LEFT, y(tick), frame.right, y(tick), FAINT) for tick in ticks],
        *[_text(LEFT - 8, y(tick) + 4, f"{tick:,.0f}", "end") for tick in ticks],
        *_time_axis(frame, x, _even_times(end, frame.ticks_max), float),
        _text(LEFT, 14, "GPUs", "start"),
        f'<path d="{area}" class="fill blue thin"/>',
        f'<path d="{band}" class="fill blue band"/>',
        f'<path d="M{" L".join(middle)}" class="line blue middle"/>',
    ]
    if TOP <= limit <= frame.bottom:
        parts.append(_line(LEFT, limit, frame.right, limit, AMBER, is_dashed=True))
        parts.append(_text(frame.right, limit + 18, f"buffer {data['buffer']:.0%}", "end", colour=AMBER))
    return _svg(frame, parts, "GPUs that take work over time")


def _stairs(seconds: Sequence[float], values: Sequence[int], x: Scale, y: Scale) -> list[str]:
    points = [f"{x(seconds[0]):.1f} {y(values[0]):.1f}"]
    for place in range(1, len(seconds)):
        points.append(f"{x(seconds[place]):.1f} {y(values[place - 1]):.1f}")
        points.append(f"{x(seconds[place]):.1f} {y(values[place]):.1f}")
    return points


def _even_times(end: float, ticks_max: int) -> list[float]:
    step = next((each for each in STEPS if end / each <= ticks_max), 2_592_000)
    return [float(step * number) for number in range(int(end / step) + 1)]


# ── axes and shapes ──────────────────────────────────────────────────────────────────────────────────────────────────


def _time_axis(frame: Frame, x: Scale, ticks: Iterable[float], place: Callable[[float], float]) -> list[str]:
    """Ticks along the bottom; the name of one that would touch the name before it is left out."""
    base, taken = frame.bottom, -math.inf
    parts = [_line(LEFT, base, frame.right, base, GREY)]
    for tick in ticks:
        at, name = x(place(tick)), span(tick)
        half = LETTER * len(name) / 2
        parts.append(_line(at, base, at, base + 5, GREY))
        if at - half > taken + 6 and at + half <= frame.width:
            parts.append(_text(at, base + 22, name, "middle"))
            taken = at + half
    return parts


def _left_axis(frame: Frame, y: Scale, low: float, high: float) -> list[str]:
    step = _round_step((high - low) / 5, [1, 2, 2.5, 5])
    ticks = [tick for number in range(60) if low - 1e-9 <= (tick := high - number * step) <= high]
    lines = [_line(LEFT, y(tick), frame.right, y(tick), FAINT) for tick in ticks]
    digits = 0 if step * 100 >= 1 else 1
    return lines + [_text(LEFT - 8, y(tick) + 4, f"{tick:.{digits}%}", "end") for tick in ticks]


def _round_step(rough: float, steps: Sequence[float]) -> float:
    size = 10 ** math.floor(math.log10(max(rough, 1e-9)))
    return float(next((each * size for each in steps if each * size >= rough), 10 * size))


def _scale(low: float, high: float, start: float, end: float) -> Scale:
    width = (high - low) or 1.0
    return lambda value: start + (value - low) / width * (end - start)


def _svg(frame: Frame, parts: Iterable[str], title: str) -> str:
    box = f'viewBox="0 0 {frame.width} {frame.height}"'
    return f'<svg class="{frame.name}" {box} role="img" aria-label="{escape(title)}">{"".join(parts)}</svg>'


def _rect(x: float, y: float, width: float, height: float, colour: str) -> str:
    size = f'width="{max(width, 0):.1f}" height="{max(height, 0):.1f}"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" {size} class="fill {colour}"/>'


def _line(x: float, y: float, to_x: float, to_y: float, colour: str, *, is_dashed: bool = False) -> str:
    kind = f"line {colour} dashed" if is_dashed else f"line {colour}"
    return f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" class="{kind}"/>'


def _text(x: float, y: float, text: str, anchor: str, *, is_strong: bool = False, colour: str = "") -> str:
    kind = "strong" if is_strong else colour
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(text)}</text>'
