"""The time that a rollout took, as a picture to scale: its phases and waves, and the nodes below them.

    ▇▇ Canary ▇ Gating ▇▇▇▇▇▇▇▇▇▇▇ Baking ▇▇▇▇▇▇▇▇▇▇▇ wave 1 ▇ wave 2 ▇
    gpu-1  ▇▇▇●
    gpu-2                                            ▇▇▇▇●
    10:00          11:00          12:00          13:00

A few nodes have a row each; of many there are curves: how many are done, and how many are worked on. It is drawn twice,
for a wide page and for a phone. Law of this file: x is time, and nothing else; colours are names that the page gives a
meaning. Tests: tests/cli/test_report_page.py
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Any, Final, TypeAlias

from seatrial.core.base.values import dataclass
from seatrial.core.text.spans import span

Scale: TypeAlias = Callable[[float], float]

ROWS_MAX: Final = 24
"""So many nodes have a row each; of more there are curves."""
LETTER: Final = 7.4
"""How wide a letter is, about."""
BAND, CURVE, WORK, AXIS, GAP = 26, 110, 56, 44, 12
MOMENTS: Final = ("done", "failed")
MINUTE, HOUR, DAY = 60, 3600, 86400
STEPS: Final = (
    *(1, 2, 5, 10, 15, 30),
    *(MINUTE * each for each in (1, 2, 5, 10, 15, 30)),
    *(HOUR * each for each in (1, 2, 3, 6, 12)),
    *(DAY * each for each in (1, 2, 7, 14, 28)),
)
"""How far ticks may be apart."""
BAND_COLOURS: Final = frozenset(
    ("proposed", "canary", "gating", "baking", "promoting", "done", "paused", "reverting", "reverted")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """How large a picture is, in its own units: about as many as it has pixels where it is shown."""

    name: str
    width: int
    left: int
    """Where time begins; names stand before it, or above their rows where there is no room."""
    row: int
    ticks_max: int

    @property
    def right(self) -> int:
        return self.width - 10


WIDE: Final = Frame(name="wide", width=1000, left=170, row=22, ticks_max=9)
NARROW: Final = Frame(name="narrow", width=340, left=10, row=36, ticks_max=4)
FRAMES: Final = (WIDE, NARROW)


def instant(text: str) -> float:
    """A moment of the document as seconds."""
    return datetime.fromisoformat(text).timestamp()


def colour_of(phase: str) -> str:
    """The name of a phase's colour; waves share one, and so does a rollout that has no phases."""
    return phase.lower() if phase.lower() in BAND_COLOURS else "waving"


def drawn(data: dict[str, Any], frame: Frame, begin: str, end: str, *, looks: Sequence[dict[str, str]] = ()) -> str:
    """The picture of a stretch of time; empty where no time has passed. `looks` are drawn again, larger."""
    start, stop = instant(begin), instant(end)
    if stop <= start:
        return ""
    x = _scale(start, stop, frame.left, frame.right)
    parts = [*_band(data["phases"], frame, x, start, stop)]
    y: float = BAND + GAP
    nodes = _within(data["nodes"], start, stop, looks)
    if len(data["nodes"]) <= ROWS_MAX:
        parts += _rows(nodes, frame, x, start, stop, y)
        y += frame.row * len(nodes) + (4 if nodes else 0)
    elif nodes:
        found, height = _curves(data["nodes"], frame, x, start, stop, y)
        parts, y = parts + found, y + height
    for look in looks:
        parts += _look(x, instant(look["from"]), instant(look["to"]), y)
    parts += _axis(frame, x, start, stop, y)
    label = f"from {begin} to {end}"
    box = f'viewBox="0 0 {frame.width} {y + AXIS:.0f}"'
    return f'<svg class="{frame.name}" {box} role="img" aria-label="{escape(label)}">{"".join(parts)}</svg>'


def _within(
    nodes: Iterable[dict[str, Any]], start: float, stop: float, looks: Sequence[dict[str, str]]
) -> list[dict[str, Any]]:
    """The nodes that something was done to in this time; what is drawn again below, larger, is not drawn twice."""
    below = [(instant(each["from"]), instant(each["to"])) for each in looks]

    def is_shown(work: dict[str, Any]) -> bool:
        at, until = instant(work["at"]), instant(work["until"])
        is_below = any(begin <= at and until <= end for begin, end in below)
        return until >= start and at <= stop and not is_below

    return [each for each in nodes if any(map(is_shown, each["works"]))]


# ── phases ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _band(phases: Iterable[dict[str, Any]], frame: Frame, x: Scale, start: float, stop: float) -> Iterable[str]:
    if frame is WIDE:
        yield _text(frame.left - 10, 19, "phases", "end")
    for each in phases:
        at, until = max(instant(each["at"]), start), min(instant(each["until"]), stop)
        if until < at or (until == at and each["seconds"]):
            continue
        left, name = x(at), each["what"]
        width = max(x(until) - left, 2.0)
        left = min(left, frame.right - width)
        told = f"{name}: {_clock(each['at'])}, {span(each['seconds'])}"
        yield _rect(left, 4, max(width - 1, 1.5), BAND - 4, colour_of(name), told)
        if LETTER * len(name) + 8 <= width:
            yield _text(left + width / 2, 20, name, "middle", "on")


def _look(x: Scale, at: float, until: float, y: float) -> Iterable[str]:
    """Which part is drawn again below."""
    for moment in (at, until):
        yield f'<line x1="{x(moment):.1f}" y1="4" x2="{x(moment):.1f}" y2="{y:.1f}" class="line look"/>'


# ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _rows(
    nodes: Sequence[dict[str, Any]], frame: Frame, x: Scale, start: float, stop: float, y: float
) -> Iterable[str]:
    for number, node in enumerate(sorted(nodes, key=lambda each: (each["works"][0]["at"], each["name"]))):
        top = y + frame.row * number
        if frame is WIDE:
            middle = top + frame.row / 2
            yield _text(frame.left - 10, middle + 4, _cut(node["name"], frame.left - 18), "end", title=node["name"])
        else:
            middle = top + frame.row - 8
            yield _text(frame.left, top + 17, _cut(node["name"], frame.right - frame.left), "start")
        yield _line(frame.left, middle, frame.right, middle)
        for work in node["works"]:
            yield from _work(node["name"], work, x, start, stop, middle)


def _work(name: str, work: dict[str, Any], x: Scale, start: float, stop: float, y: float) -> Iterable[str]:
    at, until = instant(work["at"]), instant(work["until"])
    if until < start or at > stop:
        return
    what = work["what"]
    if what in MOMENTS:
        why = f", {work['why']}" if work["why"] else ""
        told = f"{name}: {what} {_clock(work['at'])}{why}"
        yield _moment(x(at), y, what, told)
        return
    left = x(max(at, start))
    width = max(x(min(until, stop)) - left, 1.5)
    yield _rect(left, y - 5, width, 10, what, f"{name}: {what} {_clock(work['at'])}, {span(work['seconds'])}")


def _moment(x: float, y: float, what: str, told: str) -> str:
    title = f"<title>{escape(told)}</title>"
    if what == "done":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" class="done">{title}</circle>'
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in ((0, -7), (7, 0), (0, 7), (-7, 0)))
    return f'<polygon points="{points}" class="failed">{title}</polygon>'


def _curves(
    nodes: Sequence[dict[str, Any]], frame: Frame, x: Scale, start: float, stop: float, y: float
) -> tuple[list[str], float]:
    """How many are done and have failed, and below how many are worked on; each to a scale of its own."""
    works = [work for node in nodes for work in node["works"]]
    ended = {what: [instant(each["at"]) for each in works if each["what"] == what] for what in MOMENTS}
    most = max(len(nodes), 1)
    height = _scale(0, most, y + CURVE, y + 14)
    parts = [_line(frame.left, y + CURVE, frame.right, y + CURVE), _line(frame.left, y + 14, frame.right, y + 14)]
    parts += _names(frame, y, f"{most:,} nodes", "done")
    for what, times in ended.items():
        if times:
            parts.append(_path(_steps(((at, 1) for at in times), start, stop), x, height, f"line {what}"))
    busy = [each for each in works if each["what"] not in MOMENTS]
    if not busy:
        return parts, CURVE + GAP
    changes = [(instant(each["at"]), 1) for each in busy] + [(instant(each["until"]), -1) for each in busy]
    steps = _steps(changes, start, stop)
    top, most_busy = y + CURVE + GAP, max(count for _, count in steps) or 1
    low = _scale(0, most_busy, top + WORK, top + 14)
    parts += _names(frame, top, f"{most_busy:,} at work", "at work")
    return [*parts, _path(steps, x, low, "work", is_area=True)], CURVE + GAP + WORK + GAP


def _names(frame: Frame, y: float, most: str, what: str) -> list[str]:
    """What a curve counts, and up to how many."""
    if frame is WIDE:
        return [_text(frame.left - 10, y + 19, most, "end")]
    return [_text(frame.left, y + 10, most if what in most else f"{most}, {what}", "start")]


def _steps(changes: Iterable[tuple[float, int]], start: float, stop: float) -> list[tuple[float, int]]:
    """How many there are from when on, within a stretch of time."""
    count, found = 0, [(start, 0)]
    for at, change in sorted(changes):
        if at > stop:
            break
        count += change
        if at <= start:
            found[0] = (start, count)
        elif found[-1][0] == at:
            found[-1] = (at, count)
        else:
            found.append((at, count))
    return [*found, (stop, count)]


def _path(steps: Sequence[tuple[float, int]], x: Scale, y: Scale, kind: str, *, is_area: bool = False) -> str:
    first, *rest = steps
    path = f"M{x(first[0]):.1f} {y(first[1]):.1f}" + "".join(f"H{x(at):.1f}V{y(count):.1f}" for at, count in rest)
    close = f"V{y(0):.1f}H{x(first[0]):.1f}Z" if is_area else ""
    return f'<path d="{path}{close}" class="{kind}"/>'


# ── the axis ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _axis(frame: Frame, x: Scale, start: float, stop: float, y: float) -> Iterable[str]:
    """Ticks at round times of the clock; the name of one that would touch the name before it is left out."""
    step = next((each for each in STEPS if (stop - start) / each <= frame.ticks_max), STEPS[-1])
    yield f'<line x1="{frame.left}" y1="{y:.1f}" x2="{frame.right}" y2="{y:.1f}" class="line axis"/>'
    taken = day_taken = -math.inf
    day = ""
    for number in range(math.ceil(start / step), math.floor(stop / step) + 1):
        at = number * step
        when = datetime.fromtimestamp(at, UTC)
        name = f"{when:%H:%M:%S}" if step < MINUTE else f"{when:%H:%M}" if step < DAY else f"{when.day} {when:%b}"
        place, half = x(at), LETTER * len(name) / 2
        yield f'<line x1="{place:.1f}" y1="{y:.1f}" x2="{place:.1f}" y2="{y + 5:.1f}" class="line axis"/>'
        if place - half > taken + 8 and place - half >= 0 and place + half <= frame.width:
            yield _text(place, y + 19, name, "middle")
            taken = place + half
        date = f"{when:%Y-%m-%d}" if step < DAY else f"{when:%Y}"
        wide = LETTER * len(date)
        left = min(max(place - wide / 2, 0), frame.width - wide)
        if date != day and left > day_taken + 8:
            yield _text(left, y + 36, date, "start")
            day, day_taken = date, left + wide
    if not day:
        yield _text(frame.left, y + 19, _clock(datetime.fromtimestamp(start, UTC).isoformat()), "start")


# ── shapes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _clock(text: str) -> str:
    return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M:%S} UTC"


def _cut(name: str, room: float) -> str:
    most = int(room / LETTER)
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _scale(low: float, high: float, start: float, end: float) -> Scale:
    width = (high - low) or 1.0
    return lambda value: start + (value - low) / width * (end - start)


def _rect(x: float, y: float, width: float, height: float, kind: str, told: str) -> str:
    size = f'width="{width:.1f}" height="{height:.1f}" rx="2"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" {size} class="{kind}"><title>{escape(told)}</title></rect>'


def _line(x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" class="line"/>'


def _text(x: float, y: float, text: str, anchor: str, kind: str = "", *, title: str = "") -> str:
    shown = f"<title>{escape(title)}</title>" if title and title != text else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(text)}{shown}</text>'
