"""A forecast as one page: pictures drawn here as SVG, no scripts, nothing fetched from anywhere.

Made of the same data as `-o json`, which is also in the page itself, so the numbers are the same.

Tests: tests/cli/test_forecast.py
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any, Final

from seatrial.cli.run import forecast_table
from seatrial.core.text.names import a_few, number_of
from seatrial.core.words.explain import span

WIDTH, HEIGHT = 1040, 380
LEFT, RIGHT, TOP, BOTTOM = 66, 16, 34, 34
NEAR: Final = 16.0
"""Points nearer than this, in the picture's own units, are one."""
FAINT = "#e3e8ee"
BLUE, GREEN, GREY, AMBER = "#3167b0", "#1f8a5b", "#a9b4bf", "#b26a00"

STYLE: Final = """
:root { color-scheme: light }
* { box-sizing: border-box }
body { margin: 0; background: #f5f7f9; color: #1c2733; font: 15px/1.55 system-ui, "Segoe UI", "Noto Sans", sans-serif }
main { max-width: 1120px; margin: 0 auto; padding: 32px 24px 48px }
h1 { font-size: 27px; margin: 0 0 4px; letter-spacing: -.01em }
h2 { font-size: 17px; margin: 0 0 2px }
p { margin: 0 0 6px } .soft { color: #5b6b7b }
.card { background: #fff; border: 1px solid #e3e8ee; border-radius: 10px; padding: 20px 24px; margin-top: 18px }
.advice { border-left: 5px solid #b26a00 } .advice.setting { border-left-color: #1f8a5b }
.advice strong { font-size: 18px; display: block; line-height: 1.45 }
.figures { display: flex; flex-wrap: wrap; gap: 12px 44px; margin: 14px 0 8px }
.figures b { display: block; font-size: 25px; font-weight: 650; letter-spacing: -.01em }
.figures span { color: #5b6b7b; font-size: 13px }
svg { display: block; width: 100%; height: auto; margin-top: 8px }
svg text { font: 13px system-ui, "Segoe UI", "Noto Sans", sans-serif; fill: #5b6b7b }
svg text { paint-order: stroke; stroke: #fff; stroke-width: 3px; stroke-linejoin: round }
svg text.strong { fill: #1c2733; font-weight: 600 }
.scroll { overflow-x: auto }
table { border-collapse: collapse; width: 100%; margin-top: 8px; font-size: 14px; font-variant-numeric: tabular-nums }
th { text-align: right; font-weight: 600; color: #5b6b7b; font-size: 13px; padding: 6px 9px; white-space: nowrap }
th { border-bottom: 2px solid #e3e8ee }
td { text-align: right; padding: 6px 9px; border-bottom: 1px solid #eef1f4; white-space: nowrap }
th:first-child, td:first-child, table.words td, table.words th { text-align: left }
table.words td { white-space: normal }
tr.chosen td { background: #eaf6f0; font-weight: 600 }
tr.beyond td { color: #8794a1 }
.pill { background: #1f8a5b; color: #fff; border-radius: 9px; padding: 1px 9px; font-size: 12px; font-weight: 600 }
.pill.window { background: #b26a00 }
footer { color: #5b6b7b; font-size: 13px; margin-top: 20px }
"""


def page(data: dict[str, Any]) -> str:
    """The whole page."""
    fleet = data["fleet"]
    title = f"Upgrade forecast for {number_of(fleet['nodes'], 'node')}"
    told = json.dumps(data, ensure_ascii=False).replace("</", "<\\/")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
<p class="soft">{number_of(fleet["gpus"], "GPU")}, from {escape(data["source"])}. \
{number_of(len(data["settings"]), "setting")}, {number_of(data["samples"], "simulated rollout")} each, \
seed {data["seed"]}.</p>
{_advice(data)}
<section class="card">
<h2>Every setting: how long against what is left</h2>
<p class="soft">Each point is maxParallelUpgrades / maxUnavailable; its line reaches to the duration of nine runs in \
ten. Up is gentler, left is faster. What is shaded is beyond the buffer of {data["buffer"]:.0%}.</p>
{scatter(data)}
</section>
{_capacity(data)}
<section class="card">
<h2>The figures</h2>
{_table(data)}
</section>
<section class="card">
<h2>What was assumed</h2>
{_assumptions(data)}
<p class="soft" style="margin-top:10px">{escape(forecast_table.not_included(data))}</p>
</section>
<footer>Made by seatrial. The same command with --seed {data["seed"]} gives the same page.</footer>
</main>
<script type="application/json" id="forecast">{told}</script>
</body>
</html>
"""


def _advice(data: dict[str, Any]) -> str:
    advice = data["advice"]
    chosen = next((row for row in (*data["settings"], data["at_once"]) if row["is_recommended"]), None)
    cells = "".join(
        f"<div><b>{escape(value)}</b><span>{escape(name)}</span></div>" for value, name in _chosen_figures(chosen)
    )
    told = f'<div class="figures">{cells}</div>' if cells else f"<p>{escape(advice['figures'].capitalize())}</p>"
    return (
        f'<section class="card advice {advice["kind"]}"><strong>{escape(advice["head"])}</strong>'
        f'{told}<p class="soft">{escape(advice["besides"])}</p></section>'
    )


def _chosen_figures(chosen: dict[str, Any] | None) -> list[tuple[str, str]]:
    if chosen is None:
        return []
    return [
        (_span(chosen["seconds_p50"]), "in half of the runs"),
        (_span(chosen["seconds_p90"]), "in nine of ten"),
        (f"{chosen['least_capacity']:.1%}", "least capacity"),
        (f"{chosen['gpu_hours_lost_p50']:,.0f}", "GPU-hours lost"),
        (f"{chosen['evictions']:,}", "pods evicted"),
        (f"{chosen['stop_chance']:.0%}", "of the runs stop half way"),
    ]


def _capacity(data: dict[str, Any]) -> str:
    if data["curve"] is None:
        return ""
    when = " from the first wave on" if data["curve"]["is_from_waves"] else ""
    return f"""<section class="card">
<h2>GPUs that take work{when}, {escape(_setting_text(data["curve"]))}</h2>
<p class="soft">The middle of all runs, and the band in which eight of ten lie.</p>
{curve(data)}
</section>"""


# ── pictures ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def scatter(data: dict[str, Any]) -> str:
    """Duration against least capacity."""
    # All at once is so far away from the others that they would be one spot; it is drawn where it is the advice.
    drawn = (*data["settings"], data["at_once"]) if data["advice"]["kind"] == "window" else data["settings"]
    rows = [row for row in drawn if row["seconds_p50"] is not None]
    if not rows:
        return '<p class="soft">No setting comes to its end.</p>'
    ends = [max(each, 1.0) for row in rows for each in (row["seconds_p50"], row["seconds_p90"]) if each is not None]
    low, high = math.log(min(ends) / 1.35), math.log(max(ends) * 1.35)
    least = max(0.0, min(min(row["least_capacity"] for row in rows), 1 - data["buffer"]) - 0.04)
    x = _scale(low, high, LEFT, WIDTH - RIGHT)
    y = _scale(least, 1.0, HEIGHT - BOTTOM, TOP)
    limit = y(1 - data["buffer"])
    parts = [
        _rect(LEFT, limit, WIDTH - LEFT - RIGHT, HEIGHT - BOTTOM - limit, "#f1f3f6"),
        *_left_axis(y, least, 1.0),
        *_time_axis(x, [each for each in TIMES if low <= math.log(each) <= high], math.log),
        _line(LEFT, limit, WIDTH - RIGHT, limit, AMBER, 'stroke-dasharray="5 4"'),
        _text(WIDTH - RIGHT, limit - 7, f"buffer {data['buffer']:.0%}", "end", colour=AMBER),
        _text(LEFT, 14, "least capacity", "start"),
        _text(WIDTH - RIGHT, HEIGHT - BOTTOM - 9, "duration, half of the runs", "end"),
    ]
    groups = _groups(rows, x, y)
    parts += [_point(group, data["buffer"], x, y) for group in groups]
    parts += _labels(groups, x, y)
    return _svg(parts, "Duration of each setting against its least capacity")


def _groups(
    rows: Iterable[dict[str, Any]], x: Callable[[float], float], y: Callable[[float], float]
) -> list[list[dict[str, Any]]]:
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


def _spot(row: dict[str, Any], x: Callable[[float], float], y: Callable[[float], float]) -> tuple[float, float]:
    return x(math.log(max(row["seconds_p50"], 1.0))), y(row["least_capacity"])


def _point(
    group: Sequence[dict[str, Any]], buffer: float, x: Callable[[float], float], y: Callable[[float], float]
) -> str:
    row = group[0]
    at_x, at_y = _spot(row, x, y)
    colour = GREEN if row["is_recommended"] else GREY if 1 - row["least_capacity"] > buffer + 1e-9 else BLUE
    told = "; ".join(
        f"{_setting_text(each)}: {_span(each['seconds_p50'])}, least {each['least_capacity']:.1%}, "
        f"{each['gpu_hours_lost_p50']:,.1f} GPU-hours lost"
        for each in group
    )
    end = x(math.log(max(row["seconds_p90"], 1.0))) if row["seconds_p90"] is not None else WIDTH - RIGHT
    ring = f'<circle cx="{at_x:.1f}" cy="{at_y:.1f}" r="12" fill="none" stroke="{GREEN}" stroke-width="2"/>'
    return (
        f"<g><title>{escape(told)}</title>"
        f'<line x1="{at_x:.1f}" y1="{at_y:.1f}" x2="{end:.1f}" y2="{at_y:.1f}" stroke="{colour}" stroke-width="3" '
        f'stroke-linecap="round" opacity=".45"/>'
        f'<circle cx="{at_x:.1f}" cy="{at_y:.1f}" r="6.5" fill="{colour}"/>{ring if row["is_recommended"] else ""}</g>'
    )


def _labels(
    groups: Iterable[list[dict[str, Any]]], x: Callable[[float], float], y: Callable[[float], float]
) -> list[str]:
    """Names beside the points, the recommended one first; a name that would cover another is left to the tooltip."""
    taken: list[tuple[float, float, float]] = []
    found = []
    for group in sorted(groups, key=lambda group: not group[0]["is_recommended"]):
        row = group[0]
        name = f"{row['parallel'] or 'any'} / {row['unavailable']}"
        more = f" and {len(group) - 1} alike" if len(group) > 1 else ""
        text = f"{name} recommended" if row["is_recommended"] else f"{name}{more}"
        at_x, at_y = _spot(row, x, y)
        width = 7.4 * len(text)
        start = at_x - width / 2 if at_x + width / 2 < WIDTH - RIGHT else WIDTH - RIGHT - width
        start = max(start, LEFT + 4)
        spots = [at_y - 18, at_y + 25]
        spot = next((each for each in spots if _is_free(start, each, width, taken)), None)
        if spot is None:
            continue
        taken.append((start, spot, width))
        found.append(_text(start, spot, text, "start", is_strong=bool(row["is_recommended"])))
    return found


def _is_free(start: float, at_y: float, width: float, taken: Iterable[tuple[float, float, float]]) -> bool:
    if not TOP - 8 <= at_y <= HEIGHT - BOTTOM - 4:
        return False
    return all(
        abs(at_y - other_y) > 15 or start + width < other or other + size < start for other, other_y, size in taken
    )


def curve(data: dict[str, Any]) -> str:
    """Capacity over time, with its band."""
    found = data["curve"]
    total = found["total"] or 1
    end = max(found["seconds"][-1], 1.0)
    floor = min(found["p10"])
    bottom = max(0.0, floor - (total - floor) * 0.35)
    x, y = _scale(0.0, end, LEFT, WIDTH - RIGHT), _scale(bottom, float(total), HEIGHT - BOTTOM, TOP)
    step = _round_step((total - bottom) / 4, [1, 2, 5])
    ticks = [tick for number in range(40) if bottom <= (tick := total - number * step) <= total]
    upper = _stairs(found["seconds"], found["p90"], x, y)
    lower = _stairs(found["seconds"], found["p10"], x, y)
    middle = _stairs(found["seconds"], found["p50"], x, y)
    area = f"M{x(0.0):.1f} {HEIGHT - BOTTOM} L{' L'.join(middle)} L{x(end):.1f} {HEIGHT - BOTTOM} Z"
    band = "M" + " L".join([*upper, *reversed(lower)]) + " Z"
    limit = y(total * (1 - data["buffer"]))
    parts = [
        *[_line(LEFT, y(tick), WIDTH - RIGHT, y(tick), FAINT) for tick in ticks],
        *[_text(LEFT - 10, y(tick) + 4, f"{tick:,.0f}", "end") for tick in ticks],
        *_time_axis(x, _even_times(end), float),
        _text(LEFT, 14, "GPUs", "start"),
        f'<path d="{area}" fill="{BLUE}" opacity=".07"/>',
        f'<path d="{band}" fill="{BLUE}" opacity=".22"/>',
        f'<path d="M{" L".join(middle)}" fill="none" stroke="{BLUE}" stroke-width="2.2" stroke-linejoin="round"/>',
    ]
    if TOP <= limit <= HEIGHT - BOTTOM:
        parts.append(_line(LEFT, limit, WIDTH - RIGHT, limit, AMBER, 'stroke-dasharray="5 4"'))
        parts.append(_text(WIDTH - RIGHT, limit + 18, f"buffer {data['buffer']:.0%}", "end", colour=AMBER))
    return _svg(parts, "GPUs that take work over time")


def _stairs(
    seconds: Sequence[float], values: Sequence[int], x: Callable[[float], float], y: Callable[[float], float]
) -> list[str]:
    points = [f"{x(seconds[0]):.1f} {y(values[0]):.1f}"]
    for place in range(1, len(seconds)):
        points.append(f"{x(seconds[place]):.1f} {y(values[place - 1]):.1f}")
        points.append(f"{x(seconds[place]):.1f} {y(values[place]):.1f}")
    return points


TIMES: Final = tuple(
    float(each)
    for each in (
        1,
        2,
        5,
        10,
        20,
        60,
        120,
        300,
        600,
        1200,
        3600,
        7200,
        18000,
        36000,
        86400,
        172800,
        432000,
        864000,
        2592000,
    )
)


def _even_times(end: float) -> list[float]:
    steps = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800)
    step = next((each for each in steps if end / each <= 8), 2_592_000)
    return [float(step * number) for number in range(int(end / step) + 1)]


def _time_axis(x: Callable[[float], float], ticks: Iterable[float], place: Callable[[float], float]) -> list[str]:
    base = HEIGHT - BOTTOM
    parts = [_line(LEFT, base, WIDTH - RIGHT, base, GREY)]
    for tick in ticks:
        parts.append(_line(x(place(tick)), base, x(place(tick)), base + 5, GREY))
        parts.append(_text(x(place(tick)), base + 22, _tick(tick), "middle"))
    return parts


def _left_axis(y: Callable[[float], float], low: float, high: float) -> list[str]:
    step = _round_step((high - low) / 5, [1, 2, 2.5, 5])
    ticks = [tick for number in range(60) if low - 1e-9 <= (tick := high - number * step) <= high]
    lines = [_line(LEFT, y(tick), WIDTH - RIGHT, y(tick), FAINT) for tick in ticks]
    digits = 0 if step * 100 >= 1 else 1
    return lines + [_text(LEFT - 10, y(tick) + 4, f"{tick:.{digits}%}", "end") for tick in ticks]


def _round_step(rough: float, steps: Sequence[float]) -> float:
    size = 10 ** math.floor(math.log10(max(rough, 1e-9)))
    return float(next((each * size for each in steps if each * size >= rough), 10 * size))


def _tick(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:g} s"
    if seconds < 3600:
        return f"{seconds / 60:g} min"
    return f"{seconds / 3600:g} h" if seconds < 172800 else f"{seconds / 86400:g} days"


def _scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    width = (high - low) or 1.0
    return lambda value: start + (value - low) / width * (end - start)


def _svg(parts: Iterable[str], title: str) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">' + "".join(parts) + "</svg>"


def _rect(x: float, y: float, width: float, height: float, colour: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{max(height, 0):.1f}" fill="{colour}"/>'


def _line(x: float, y: float, to_x: float, to_y: float, colour: str, more: str = "") -> str:
    return f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" stroke="{colour}" {more}/>'


def _text(x: float, y: float, text: str, anchor: str, *, is_strong: bool = False, colour: str = "") -> str:
    kind = ' class="strong"' if is_strong else ""
    style = f' style="fill:{colour}"' if colour else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kind}{style}>{escape(text)}</text>'


# ── tables ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _table(data: dict[str, Any]) -> str:
    head = (
        "parallel",
        "unavailable",
        "half of runs",
        "nine of ten",
        "GPU-hours lost",
        "nine of ten",
        "least capacity",
        "evictions",
        "stopped",
        "",
    )
    body = "".join(_table_row(row, data) for row in (*data["settings"], data["at_once"]))
    return f'<div class="scroll"><table><tr>{"".join(f"<th>{name}</th>" for name in head)}</tr>{body}</table></div>'


def _table_row(row: dict[str, Any], data: dict[str, Any]) -> str:
    is_beyond = 1 - row["least_capacity"] > data["buffer"] + 1e-9
    kind = "chosen" if row["is_recommended"] else "beyond" if is_beyond else ""
    window = " window" if data["advice"]["kind"] == "window" else ""
    pill = f'<span class="pill{window}">recommended</span>' if row["is_recommended"] else ""
    cells = (
        str(row["parallel"] or "any"),
        row["unavailable"],
        _span(row["seconds_p50"]),
        _span(row["seconds_p90"]),
        f"{row['gpu_hours_lost_p50']:,.1f}",
        f"{row['gpu_hours_lost_p90']:,.1f}",
        f"{row['least_capacity']:.1%}",
        f"{row['evictions']:,}",
        f"{row['stop_chance']:.0%}",
    )
    told = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
    return f'<tr class="{kind}">{told}<td>{pill}</td></tr>'


def _assumptions(data: dict[str, Any]) -> str:
    rows = [(each["what"], each["value"], each["source"]) for each in data["assumptions"]]
    fleet = data["fleet"]
    gone = {"cordoned by others": fleet["cordoned"], "not Ready": fleet["not_ready"]}
    rows += [(what, _named(names), "counted as unavailable") for what, names in gone.items() if names]
    rows += [("left out", _named(names), f"held by {code}") for code, names in fleet["left_out"].items()]
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<table class="words">{body}</table>'


def _named(names: Sequence[str]) -> str:
    return f"{number_of(len(names), 'node')} ({a_few(names)})"


def _setting_text(row: dict[str, Any]) -> str:
    return f"{row['parallel'] or 'any number'} at a time, {row['unavailable']} unavailable"


def _span(seconds: float | None) -> str:
    return span(seconds) if seconds is not None else "stops"
