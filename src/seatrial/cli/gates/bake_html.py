"""What a bake proves as one page: pictures drawn here as SVG, no scripts, nothing fetched from anywhere.

Law of this file: made of the same data as `-o json`, which is also in the page itself, so the numbers are the same.
Tests: tests/cli/test_bake.py
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from typing import Any, Final

from seatrial.cli.show.html import STYLE
from seatrial.core.text import spans

WIDTH, ROW, LEFT, RIGHT = 1040, 30, 300, 90
ROOM: Final = WIDTH - LEFT - RIGHT
BLUE, GREEN, GREY, AMBER, RED = "#3167b0", "#1f8a5b", "#c9d2dc", "#b26a00", "#bf3b3b"
SHOWN: Final = 4.0
"""How many times the asked loss the scale goes."""


def page(data: dict[str, Any]) -> str:
    """The whole page."""
    proven, told = data["proven"], data["told"]
    sentences = "".join(f"<li>{escape(each)}</li>" for each in told)
    kept = json.dumps(data, default=str).replace("<", "\\u003c")
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>seatrial: what {escape(data["rollout"])} proves</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>
<body><main>
<h1>What the bake of {escape(data["rollout"])} proves</h1>
<p class="soft">{escape(data["phase"])}, canary {escape(", ".join(data["canaries"]) or "not chosen yet")}</p>
<div class="card {_colour(data)}">{_figures(proven)}<h3>Hours</h3>{_hours(proven)}</div>
{_speeds(proven["speeds"])}{_events(proven)}
<div class="card"><h2>In words</h2><ul>{sentences}</ul></div>
<footer>Written by seatrial bake explain. The same as a document is in this page.</footer>
<script type="application/json" id="data">{kept}</script>
</main></body></html>
"""


def _colour(data: dict[str, Any]) -> str:
    return "bad" if data["is_failed"] else "good" if data["is_enough"] else ""


def _figures(proven: dict[str, Any]) -> str:
    told = [(f"{spans.hours(proven['hours'])} of {spans.hours(proven['asked_hours'])}", "count as evidence")]
    if proven["is_watched"]:
        told.append(
            (f"{proven['loaded_gpu_hours']:.1f} GPU-hours", f"at work, {proven['load']:.0%} of the time watched")
        )
        count = sum(each["count"] for each in proven["events"])
        told.append((str(count), f"{'error' if count == 1 else 'errors'} on the canary and who followed"))
    shown = "".join(f"<div><b>{escape(figure)}</b><span>{escape(what)}</span></div>" for figure, what in told)
    return f'<div class="figures">{shown}</div>'


def _hours(proven: dict[str, Any]) -> str:
    rows = [("asked", proven["asked_hours"], GREY), ("count as evidence", proven["hours"], GREEN)]
    if proven["is_watched"]:
        rows += [("with data", proven["watched_hours"], BLUE), ("on the clock", proven["clock_hours"], GREY)]
    most = max(*(hours for _, hours, _ in rows), 1e-9)
    drawn = (
        _label(name, number)
        + _bar(number, ROOM * hours / most, colour)
        + _value(spans.hours(hours), number, hours / most)
        for number, (name, hours, colour) in enumerate(rows)
    )
    return _picture(drawn, len(rows))


def _speeds(speeds: dict[str, Any] | None) -> str:
    """Each figure's smallest loss that is excluded; what is to be excluded is the line through all of them."""
    found = [each for each in speeds["speeds"] if each["rounds"]] if speeds is not None else []
    if speeds is None or not found:
        return ""
    asked = speeds["asked_loss"]
    drawn = [_speed(each, number, asked) for number, each in enumerate(found)]
    at = LEFT + ROOM / SHOWN
    line = f'<line x1="{at:.1f}" y1="0" x2="{at:.1f}" y2="{ROW * len(found)}" stroke="{AMBER}" stroke-dasharray="4 3"/>'
    note = f'<text x="{at + 5:.1f}" y="{ROW * len(found) + 14}">a loss of {asked:.0%} has to be ruled out</text>'
    left_out = "".join(f"<li>{escape(each)}</li>" for each in speeds["not_compared"])
    return (
        '<div class="card"><h2>Speed</h2><p class="soft">The smallest loss ruled out so far '
        f"at {speeds['confidence']:.0%}: the shorter the bar, the more is proven.</p>"
        f"{_picture([*drawn, line, note], len(found) + 1)}{f'<ul>{left_out}</ul>' if left_out else ''}</div>"
    )


def _speed(speed: dict[str, Any], number: int, asked: float) -> str:
    name = _label(f"{speed['name']} of {speed['node']}", number)
    excluded = speed["excluded"]
    if excluded is None:
        return name + _bar(number, ROOM, GREY, faint=True) + _value("nothing yet", number, 1.0)
    share = min(1.0, max(0.0, excluded) / (SHOWN * asked))
    colour = RED if speed["verdict"] == "failed" else GREEN if excluded <= asked else BLUE
    return name + _bar(number, ROOM * share, colour) + _value(f"{excluded:.1%}", number, share)


def _events(proven: dict[str, Any]) -> str:
    if not proven["events"]:
        return ""
    rows = "".join(
        f"<tr><td>{escape(each['name'])}</td><td>{each['count']} in {each['gpu_hours']:.1f} GPU-hours</td>"
        f"<td>{each['control_count']} in {each['control_gpu_hours']:.1f} on nodes like it</td>"
        f"<td>{_said(each)}</td></tr>"
        for each in proven["events"]
    )
    return f'<div class="card"><h2>Errors</h2><table>{rows}</table></div>'


def _said(event: dict[str, Any]) -> str:
    if event["is_failed"]:
        return "too often"
    if not event["excluded_per_hour"]:
        return "nothing is ruled out"
    return f"more than one in {1 / event['excluded_per_hour']:.3g} GPU-hours under load is ruled out"


# ── drawing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _picture(parts: Iterable[str], rows: int) -> str:
    picture = f'<svg viewBox="0 0 {WIDTH} {ROW * rows}" role="img">{"".join(parts)}</svg>'
    return f'<div class="wide">{picture}</div>'


def _label(text: str, number: int) -> str:
    return f'<text x="{LEFT - 10}" y="{ROW * number + 19}" text-anchor="end">{escape(text)}</text>'


def _bar(number: int, width: float, colour: str, *, faint: bool = False) -> str:
    seen = ' opacity=".35"' if faint else ""
    place = f'x="{LEFT}" y="{ROW * number + 5}" width="{width:.1f}" height="{ROW - 10}"'
    return f'<rect {place} rx="3" fill="{colour}"{seen}/>'


def _value(text: str, number: int, share: float) -> str:
    return f'<text x="{LEFT + ROOM * share + 8:.1f}" y="{ROW * number + 19}">{escape(text)}</text>'
