"""A forecast as one page: pictures drawn as SVG, no scripts, nothing fetched from anywhere; by day and by night.

Made of the same data as `-o json`, which is also in the page itself, so the numbers are the same.

Tests: tests/cli/test_forecast_page.py
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from html import escape
from typing import Any, Final

from seatrial.cli.run.forecasts import svg as forecast_svg
from seatrial.cli.run.forecasts import table as forecast_table
from seatrial.cli.run.forecasts.svg import FRAMES, Frame, setting_text, span_or_stops
from seatrial.core.text.names import a_few, number_of

COLOURS: Final = """
:root { color-scheme: light dark; --page: #f5f7f9; --card: #fff; --text: #1c2733; --soft: #5b6b7b; --faint: #e3e8ee;
  --shade: #f1f3f6; --grey: #8593a1; --blue: #3167b0; --green: #1f8a5b; --amber: #9a5b00; --chosen: #eaf6f0 }
@media (prefers-color-scheme: dark) {
  :root { --page: #11161c; --card: #1a2129; --text: #e6edf3; --soft: #9fb0c0; --faint: #2c3641; --shade: #212932;
    --grey: #7f8e9c; --blue: #6ba3ee; --green: #45c48a; --amber: #e0a040; --chosen: #18352a } }
"""
PICTURES: Final = """
svg text { font: 13px system-ui, "Segoe UI", "Noto Sans", sans-serif; fill: var(--soft) }
svg text { paint-order: stroke; stroke: var(--card); stroke-width: 3px; stroke-linejoin: round }
svg text.strong { fill: var(--text); font-weight: 600 } svg text.amber { fill: var(--amber) }
.line { fill: none } .dashed { stroke-dasharray: 5 4 } .middle { stroke-width: 2.2; stroke-linejoin: round }
.reach { stroke-width: 3; stroke-linecap: round; opacity: .45 } .thin { opacity: .07 } .band { opacity: .22 }
.ring { fill: none; stroke: var(--green); stroke-width: 2 }
.line.faint { stroke: var(--faint) } .line.grey { stroke: var(--grey) } .line.amber { stroke: var(--amber) }
.line.blue { stroke: var(--blue) } .line.green { stroke: var(--green) } .fill.shade { fill: var(--shade) }
.fill.grey { fill: var(--grey) } .fill.blue { fill: var(--blue) } .fill.green { fill: var(--green) }
"""
STYLE: Final = (
    COLOURS
    + PICTURES
    + """
* { box-sizing: border-box }
body { margin: 0; background: var(--page); color: var(--text) }
body { font: 15px/1.55 system-ui, "Segoe UI", "Noto Sans", sans-serif }
main { max-width: 1120px; margin: 0 auto; padding: 32px 24px 48px }
h1 { font-size: 27px; margin: 0 0 4px; letter-spacing: -.01em; line-height: 1.25 }
h2 { font-size: 17px; margin: 0 0 2px }
p { margin: 0 0 6px; overflow-wrap: anywhere } .soft { color: var(--soft) }
.card { background: var(--card); border: 1px solid var(--faint); border-radius: 10px; padding: 20px 24px }
.card { margin-top: 18px }
.advice { border-left: 5px solid var(--amber) } .advice.setting { border-left-color: var(--green) }
.advice strong { font-size: 18px; display: block; line-height: 1.45 }
.figures { display: flex; flex-wrap: wrap; gap: 12px 44px; margin: 14px 0 8px }
.figures b { display: block; font-size: 25px; font-weight: 650; letter-spacing: -.01em }
.figures span { color: var(--soft); font-size: 13px }
svg { display: block; width: 100%; height: auto; margin-top: 8px } svg.narrow { display: none }
.scroll { overflow-x: auto }
table { border-collapse: collapse; width: 100%; margin-top: 8px; font-size: 14px; font-variant-numeric: tabular-nums }
th { text-align: right; font-weight: 600; color: var(--soft); font-size: 13px; padding: 6px 9px; white-space: nowrap }
th { border-bottom: 2px solid var(--faint) }
td { text-align: right; padding: 6px 9px; border-bottom: 1px solid var(--faint); white-space: nowrap }
th:first-child, td:first-child, table.words td, table.words th { text-align: left }
table.words td { white-space: normal; overflow-wrap: break-word }
tr.chosen td { background: var(--chosen); font-weight: 600 }
tr.beyond td { color: var(--grey) }
.pill { background: var(--green); color: var(--card); border-radius: 9px; padding: 1px 9px; font-size: 12px }
.pill { font-weight: 600 } .pill.window { background: var(--amber) }
footer { color: var(--soft); font-size: 13px; margin-top: 20px }
@media (max-width: 960px) {
  svg.wide { display: none } svg.narrow { display: block; max-width: 520px; margin-left: auto; margin-right: auto } }
@media (max-width: 760px) {
  main { padding: 20px 12px 32px } h1 { font-size: 22px } .card { padding: 14px 12px }
  .figures { gap: 10px 28px } .figures b { font-size: 20px }
  .settings th, .settings td { padding: 6px 3px; font-size: 12.5px; white-space: normal }
  .settings .more { display: none }
  .words td { display: block; border: 0; padding: 0 } .words td:first-child { font-weight: 600; padding-top: 8px }
}
"""
)


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
{_card("Every setting: how long against what is left", _scatter_words(data), _pictures(forecast_svg.scatter, data))}
{_capacity(data)}
{_card("The figures", "", _table(data))}
{_card("What was assumed", "", _assumptions(data))}
<footer>Made by seatrial. {escape(_again(data))}</footer>
</main>
<script type="application/json" id="forecast">{told}</script>
</body>
</html>
"""


def _again(data: dict[str, Any]) -> str:
    when = f", started at {data['starts_at']}," if data["starts_at"] else ""
    return f"The same command with --seed {data['seed']}{when} gives the same page."


def _card(title: str, words: str, body: str) -> str:
    told = f'\n<p class="soft">{escape(words)}</p>' if words else ""
    return f'<section class="card">\n<h2>{escape(title)}</h2>{told}\n{body}\n</section>'


def _pictures(draw: Callable[[dict[str, Any], Frame], str], data: dict[str, Any]) -> str:
    return "\n".join(draw(data, frame) for frame in FRAMES)


def _scatter_words(data: dict[str, Any]) -> str:
    if not forecast_svg.scatter(data):
        return "No setting finishes."
    return (
        "Each point is maxParallelUpgrades / maxUnavailable; its line reaches to the duration of nine runs in ten. "
        f"Up is gentler, left is faster. What is shaded is beyond the buffer of {data['buffer']:.0%}."
    )


def _capacity(data: dict[str, Any]) -> str:
    if data["curve"] is None:
        return ""
    when = " from the first wave on" if data["curve"]["is_from_waves"] else ""
    title = f"GPUs that take work{when}, {setting_text(data['curve'])}"
    words = "The middle of all runs, and the band in which eight of ten lie."
    return _card(title, words, _pictures(forecast_svg.curve, data))


def _advice(data: dict[str, Any]) -> str:
    advice = data["advice"]
    chosen = next((row for row in (*data["settings"], data["at_once"]) if row["is_recommended"]), None)
    cells = "".join(
        f"<div><b>{escape(value)}</b><span>{escape(name)}</span></div>" for value, name in _chosen_figures(chosen)
    )
    figures = advice["figures"]
    told = f'<div class="figures">{cells}</div>' if cells else f"<p>{escape(figures[0].upper() + figures[1:])}</p>"
    parts = "".join(f"<p>{escape(line)}</p>" for line in forecast_table.parts(data))
    return (
        f'<section class="card advice {advice["kind"]}"><strong>{escape(advice["head"])}</strong>'
        f'{told}{parts}<p class="soft">{escape(advice["besides"])}</p></section>'
    )


def _chosen_figures(chosen: dict[str, Any] | None) -> list[tuple[str, str]]:
    if chosen is None:
        return []
    return [
        (span_or_stops(chosen["seconds_p50"]), "in half of the runs"),
        (span_or_stops(chosen["seconds_p90"]), "in nine of ten"),
        (f"{chosen['least_capacity']:.1%}", "least capacity"),
        (f"{chosen['gpu_hours_lost_p50']:,.0f}", "GPU-hours lost"),
        (f"{chosen['evictions']:,}", "pods evicted"),
        (f"{chosen['stop_chance']:.0%}", "of the runs stop half way"),
    ]


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
    rows = (*data["settings"], data["at_once"])
    at_once = ([(str(data["at_once"]["parallel"] or "any"), data["at_once"]["unavailable"])], [data["at_once"]])
    body = "".join(_table_row(names, group, data) for names, group in (*forecast_table.groups(data), at_once))
    causes = dict.fromkeys(stop["why"] for row in rows for stop in row["stops"])
    told = "".join(f'<p class="soft">Why it stops: {escape(cause)}.</p>' for cause in causes)
    names = "".join(f"<th{_more(place)}>{name}</th>" for place, name in enumerate(head))
    table = f'<table class="settings"><tr>{names}</tr>{body}</table>'
    return f'<div class="scroll">{table}</div>{told}'


def _table_row(names: list[tuple[str, str]], group: list[dict[str, Any]], data: dict[str, Any]) -> str:
    """One row for all settings that come to the same."""
    row, is_chosen = group[0], any(each["is_recommended"] for each in group)
    kind = "chosen" if is_chosen else "beyond" if forecast_svg.is_beyond(row, data["buffer"]) else ""
    window = " window" if data["advice"]["kind"] == "window" else ""
    pill = f'<span class="pill{window}">recommended</span>' if is_chosen else ""
    cells = (
        "; ".join(parallel for parallel, _ in names),
        "; ".join(unavailable for _, unavailable in names),
        span_or_stops(row["seconds_p50"]),
        span_or_stops(row["seconds_p90"]),
        f"{row['gpu_hours_lost_p50']:,.1f}",
        f"{row['gpu_hours_lost_p90']:,.1f}",
        f"{row['least_capacity']:.1%}",
        f"{row['evictions']:,}",
        f"{row['stop_chance']:.0%}",
    )
    told = "".join(f"<td{_more(place)}>{escape(cell)}</td>" for place, cell in enumerate(cells))
    return f'<tr class="{kind}">{told}<td{_more(len(cells))}>{pill}</td></tr>'


def _more(place: int) -> str:
    """Columns that a phone does without: who wants them turns it, or takes -o json."""
    return ' class="more"' if place in (4, 5, 7, 8, 9) else ""


def _assumptions(data: dict[str, Any]) -> str:
    rows = [(each["what"], each["value"], each["source"]) for each in data["assumptions"]]
    fleet = data["fleet"]
    gone = {"cordoned by others": fleet["cordoned"], "not Ready": fleet["not_ready"]}
    rows += [(what, _named(names), "counted as unavailable") for what, names in gone.items() if names]
    rows += [("left out", _named(names), f"held by {code}") for code, names in fleet["left_out"].items()]
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    words = escape(forecast_table.not_included(data))
    return f'<table class="words">{body}</table>\n<p class="soft" style="margin-top:10px">{words}</p>'


def _named(names: Sequence[str]) -> str:
    return f"{number_of(len(names), 'node')} ({a_few(names)})"
