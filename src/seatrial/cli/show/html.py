"""Rollouts as one page: pictures drawn here as SVG, no scripts, nothing fetched from anywhere.

A bake of two days and a driver reload of four minutes do not fit on one ruler. Time is therefore drawn phase by phase,
each as wide as the logarithm of how long it took, with the duration written on it.

Tests: tests/cli/test_demo.py
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise
from typing import Final

from seatrial.cli.run.demo_telling import SAYS, Chapter, clock
from seatrial.core.model.campaign import RolloutPhase, Turn
from seatrial.core.model.gates.gate import GateVerdict
from seatrial.core.model.instants import Instant
from seatrial.core.text.spans import span

WIDTH: Final = 1040
BAND: Final = 46
AREA: Final = 190
STATES: Final = {"old driver": "#c9d2dc", "at work": "#e0a030", "new driver": "#1f8a5b"}
PHASES: Final = {
    RolloutPhase.PROPOSED: "#8794a1",
    RolloutPhase.CANARY: "#d08a1d",
    RolloutPhase.GATING: "#3f7fb8",
    RolloutPhase.BAKING: "#3167b0",
    RolloutPhase.WAVING: "#c27a12",
    RolloutPhase.PROMOTING: "#1f8a5b",
    RolloutPhase.DONE: "#1f8a5b",
    RolloutPhase.PAUSED: "#8794a1",
    RolloutPhase.REVERTING: "#bf3b3b",
    RolloutPhase.REVERTED: "#8f2727",
}
DOTS: Final = {
    GateVerdict.PASSED: "#1f8a5b",
    GateVerdict.PENDING: "#c9d2dc",
    GateVerdict.UNKNOWN: "#e0a030",
    GateVerdict.FAILED: "#bf3b3b",
}

STYLE: Final = """
:root { color-scheme: light dark; --page: #f5f7f9; --card: #fff; --text: #1c2733; --soft: #5b6b7b; --edge: #e3e8ee }
@media (prefers-color-scheme: dark) {
  :root { --page: #10151b; --card: #1a2129; --text: #e6edf3; --soft: #9fb0c0; --edge: #2b3540 }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--page); color: var(--text);
  font: 15px/1.55 system-ui, "Segoe UI", "Noto Sans", sans-serif; overflow-wrap: anywhere }
main { max-width: 1120px; margin: 0 auto; padding: 32px 24px 48px }
h1 { font-size: 27px; margin: 0 0 4px; letter-spacing: -.01em }
h2 { font-size: 20px; margin: 0 0 4px } h3 { font-size: 15px; margin: 22px 0 4px }
p { margin: 0 0 6px } .soft { color: var(--soft) }
.card { background: var(--card); border: 1px solid var(--edge); border-radius: 10px; padding: 20px 24px;
  margin-top: 18px }
.good { border-left: 5px solid #1f8a5b } .bad { border-left: 5px solid #bf3b3b }
.figures { display: flex; flex-wrap: wrap; gap: 12px 44px; margin: 14px 0 8px }
.figures b { display: block; font-size: 23px; font-weight: 650; letter-spacing: -.01em }
.figures span { color: var(--soft); font-size: 13px }
svg { display: block; width: 100%; height: auto; margin-top: 8px }
svg text { font: 12px system-ui, "Segoe UI", "Noto Sans", sans-serif; fill: var(--soft) }
svg text.on { fill: #fff; font-weight: 600 }
.wide { overflow-x: auto }
table { border-collapse: collapse; width: 100%; font-size: 14px }
td { text-align: left; padding: 4px 10px 4px 0; border-bottom: 1px solid var(--edge); vertical-align: top }
td:first-child { white-space: nowrap; color: var(--soft) }
pre { background: #1c2733; color: #e6edf3; border-radius: 8px; padding: 14px 18px; overflow-x: auto; font-size: 13px }
.key { display: inline-block; width: 11px; height: 11px; border-radius: 3px; margin: 0 5px 0 0 }
.named { display: inline-block; margin-left: 14px; font-weight: 400 }
footer { color: var(--soft); font-size: 13px; margin-top: 20px }
@media (max-width: 640px) {
  main { padding: 20px 10px 32px } .card { padding: 14px 12px }
  .wide svg { width: 760px } .named { margin: 0 12px 0 0 }
  table.story td { display: inline; border: 0; padding: 0 8px 0 0 }
  table.story tr { display: block; border-bottom: 1px solid var(--edge); padding: 4px 0 }
  table.story td:last-child { display: block }
}
"""


def page(chapters: Sequence[Chapter], log: Iterable[str], node_count: int) -> str:
    """The whole page."""
    cards = "".join(_card(chapter, node_count) for chapter in chapters)
    history = escape("\n".join(log))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>seatrial: two rollouts</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>
<body><main>
<h1>Two rollouts over {node_count} nodes</h1>
<p class="soft">The cluster and its clock are simulated; the rules, the decisions and the commits are real.</p>
{cards}
<section class="card"><h2>The repository</h2>
<p class="soft">git log --oneline --decorate</p><pre>{history}</pre></section>
<footer>Written by seatrial demo. Nothing on this page is fetched from anywhere.</footer>
</main></body></html>
"""


def _card(chapter: Chapter, node_count: int) -> str:
    record = chapter.record
    is_good = record.phase is RolloutPhase.DONE
    passed = sum(set(round_.values()) == {GateVerdict.PASSED} for round_ in chapter.rounds.values())
    figures = [
        (record.phase.value, "how it ended"),
        (span(chapter.ended_at - chapter.started_at), "from beginning to end"),
        (span(record.baked_seconds), "of bake with evidence"),
        (f"{passed} of {len(chapter.rounds)}", "rounds of gates passed"),
        (f"{chapter.unavailable_max} of {node_count}", "nodes unavailable at most"),
    ]
    shown = "".join(f"<div><b>{escape(value)}</b><span>{escape(what)}</span></div>" for value, what in figures)
    why = f"<p>Rolled back, because {escape(record.why)}.</p>" if record.why else ""
    ruler = Ruler(record.history, chapter.ended_at)
    return f"""<section class="card {"good" if is_good else "bad"}">
<h2>{escape(chapter.rollout)}: driver {escape(chapter.old)} → {escape(chapter.new)}</h2>{why}
<div class="figures">{shown}</div>
<h3>Phases, and the nodes in them {_legend(STATES)}</h3><div class="wide">{_timeline(chapter, ruler, node_count)}</div>
<h3>Gates, round by round {_legend({each.value: colour for each, colour in DOTS.items()})}</h3>
<div class="wide">{_gates(chapter)}</div>
<h3>What happened</h3>{_story(chapter)}
</section>
"""


def _legend(colours: dict[str, str]) -> str:
    keys = (
        f'<span class="named soft"><span class="key" style="background:{colour}"></span>{escape(name)}</span>'
        for name, colour in colours.items()
    )
    return "".join(keys)


class Ruler:
    """Where a moment is on the page: phase by phase, each as wide as the logarithm of its length."""

    def __init__(self, turns: Sequence[Turn], ended_at: Instant) -> None:
        at = [turn.at for turn in turns]
        self.stretches = [
            (turn, start, stop)
            for turn, (start, stop) in zip(turns, pairwise([*at, max([ended_at, *at])]), strict=True)
        ]
        sizes = [1.0 + math.log1p((stop - start) / 60) for _, start, stop in self.stretches]
        edges = [0.0]
        for size in sizes:
            edges.append(edges[-1] + size)
        self.edges = [WIDTH * edge / edges[-1] for edge in edges] if sizes else [0.0, WIDTH]

    def place(self, at: Instant) -> float:
        """The x of a moment."""
        for (_, start, stop), left, right in zip(
            reversed(self.stretches), reversed(self.edges[:-1]), reversed(self.edges[1:]), strict=True
        ):
            if start <= at:
                share = min((at - start) / (stop - start), 1.0) if stop > start else 0.0
                return left + (right - left) * share
        return 0.0


def _timeline(chapter: Chapter, ruler: Ruler, node_count: int) -> str:
    parts = []
    for (turn, start, stop), left, right in zip(ruler.stretches, ruler.edges, ruler.edges[1:], strict=False):
        middle, colour = (left + right) / 2, PHASES[turn.phase]
        label = turn.phase.value if right - left > 8 * len(turn.phase.value) else ""
        parts.append(
            f'<rect x="{left:.1f}" y="0" width="{max(right - left - 1.5, 0.5):.1f}" height="28" rx="4" fill="{colour}">'
        )
        parts.append(
            f"<title>{escape(turn.phase.value)}: {escape(turn.why or SAYS.get(turn.phase, ''))}</title></rect>"
        )
        parts.append(f'<text class="on" x="{middle:.1f}" y="18" text-anchor="middle">{escape(label)}</text>')
        if stop > start and right - left > 44:
            parts.append(f'<text x="{middle:.1f}" y="42" text-anchor="middle">{escape(span(stop - start))}</text>')
    parts += _areas(chapter, ruler, node_count)
    return (
        f'<svg viewBox="0 0 {WIDTH} {BAND + AREA + 4}" role="img" aria-label="phases and nodes">{"".join(parts)}</svg>'
    )


def _areas(chapter: Chapter, ruler: Ruler, node_count: int) -> list[str]:
    """Nodes by state, stacked: those on the new driver at the bottom."""
    parts = []
    order = ("new driver", "at work", "old driver")
    for index, state in enumerate(order):
        low = _steps(chapter, ruler, node_count, order[:index])
        high = _steps(chapter, ruler, node_count, order[: index + 1])
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in [*high, *reversed(low)])
        parts.append(f'<polygon points="{points}" fill="{STATES[state]}"/>')
    return parts


def _steps(chapter: Chapter, ruler: Ruler, node_count: int, states: Sequence[str]) -> list[tuple[float, float]]:
    points: list[tuple[float, float]] = []
    for at, counts in chapter.curve:
        height = AREA * sum(counts[state] for state in states) / node_count
        y = BAND + AREA - height
        x = ruler.place(at) if points else 0.0
        if points:
            points.append((x, points[-1][1]))
        points.append((x, y))
    return [*points, (float(WIDTH), points[-1][1])] if points else []


def _gates(chapter: Chapter) -> str:
    names = sorted({name for round_ in chapter.rounds.values() for name in round_})
    if not names:
        return '<p class="soft">None were asked.</p>'
    left, gap = 190, (WIDTH - 200) / max(len(chapter.rounds), 24)
    parts = []
    for row, name in enumerate(names):
        y = 14 + row * 22
        parts.append(f'<text x="0" y="{y + 4}">{escape(name)}</text>')
        for column, (number, round_) in enumerate(sorted(chapter.rounds.items())):
            verdict = round_.get(name)
            if verdict is not None:
                x, size = left + column * gap + gap / 2, min(6.0, gap / 2.6)
                parts.append(f'<circle cx="{x:.1f}" cy="{y}" r="{size:.1f}" fill="{DOTS[verdict]}">')
                parts.append(f"<title>round {number}: {verdict.value}</title></circle>")
    height = 22 * len(names) + 8
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="gates by round">{"".join(parts)}</svg>'


def _story(chapter: Chapter) -> str:
    """Phases, commits and waits in the order in which they came."""
    told = "".join(
        f"<tr><td>{escape(clock(at))}</td><td><b>{escape(what)}</b></td><td>{escape(text)}</td></tr>"
        for at, what, text in chapter.events
    )
    return f'<table class="story">{told}</table>'
