"""A report of a rollout as one page: pictures drawn as SVG, no scripts, nothing fetched; by day and by night.

Law of this file: made of the same document as `-o json`, which is also in the page itself. What nobody knows is said to
be not known. Tests: tests/cli/test_report_page.py
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from shlex import quote
from typing import Any, Final

from seatrial.cli.show.report import timeline
from seatrial.cli.show.report.style import STYLE
from seatrial.core.model.gates.gate import READINESS
from seatrial.core.text.names import number_of
from seatrial.core.text.spans import span
from seatrial.core.words import accounts

UNKNOWN: Final = "not known"
SHORT: Final = frozenset({"when", "phase", "lasted", "since", "for", "how", "setting"})
"""Columns that are not broken."""
WORKS: Final = {
    "emptying": "the node is emptied",
    "driver": "the driver is replaced",
    "proving": "the new driver is proven",
    "done": "done",
    "failed": "failed",
}
_TONES: Final = {"passed": "pass", "failed": "fail"}


def page(data: dict[str, Any]) -> str:
    """The whole page."""
    title = f"{data['rollout']}: {_goal(data)}"
    kept = json.dumps(data, ensure_ascii=False).replace("</", "<\\/")
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
<p class="soft">{escape(_when(data))}</p>
{_verdict(data)}
{_time(data)}
{_history(data)}
{_nodes(data)}
{_gates(data)}
{_bake(data)}
{_waits(data)}
{_said(data)}
{_git(data)}
{_settings(data)}
<footer>Made by seatrial report, {escape(_moment(data["at"]))}. The status: {escape(data["asOf"])}. All times are UTC. \
The same as a document is in this page.</footer>
</main>
<script type="application/json" id="report">{kept}</script>
</body>
</html>
"""


def _goal(data: dict[str, Any]) -> str:
    kind, _, version = data["goal"].partition(" ")
    return f"{kind} {data['from']} → {version}" if data["from"] else f"{kind} {version}"


def _when(data: dict[str, Any]) -> str:
    began = f"{data['phase'][:1].upper()}{data['phase'][1:]}. Began {_moment(data['began'])}"
    return f"{began}, ended {_moment(data['ended'])}." if data["ended"] else f"{began}."


def _moment(text: str | None) -> str:
    return text.replace("T", " ").replace("Z", "") if text else ""


# ── how it stands, and what it cost ──────────────────────────────────────────────────────────────────────────────────


def _verdict(data: dict[str, Any]) -> str:
    cells = "".join(
        f"<div><b{_unknown(value)}>{escape(value)}</b><span>{escape(name)}</span></div>"
        for value, name in _figures(data)
    )
    code = f"Exit code {data['exitCode']} of `seatrial status {quote(data['rollout'])}`: {data['exitMeans']}."
    return (
        f'<section class="card verdict {data["outcome"]}"><strong>{escape(data["verdict"])}</strong>'
        f'<div class="figures">{cells}</div><p class="soft">{_marked(code)}</p></section>'
    )


def _unknown(value: str) -> str:
    return ' class="unknown"' if value == UNKNOWN else ""


def _figures(data: dict[str, Any]) -> Iterable[tuple[str, str]]:
    nodes, cost = data["nodes"], data["cost"]
    yield f"{nodes['done']:,} of {nodes['total']:,}", f"nodes are upgraded to {data['goal'].partition(' ')[2]}"
    yield f"{nodes['failed']:,}", "failed"
    yield UNKNOWN if nodes["skipped"] is None else f"{nodes['skipped']:,}", "left out"
    yield span(data["seconds"]), "from beginning to end" if data["isOver"] else "so far"
    yield UNKNOWN if cost["gpuHours"] is None else f"{cost['gpuHours']:,.1f}", "GPU-hours out of service"
    yield UNKNOWN if cost["evictions"] is None else f"{cost['evictions']:,}", "pods told to leave"


# ── when ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _time(data: dict[str, Any]) -> str:
    line = data["timeline"]
    whole = _pictures(line, line["from"], line["to"], line["closer"])
    if not whole:
        return _card("When", "Nothing has happened yet.")
    parts = [_keys(line), whole]
    for number, look in enumerate(line["closer"], 1):
        which = f" {number}" if len(line["closer"]) > 1 else ""
        told = f"A closer look{which}: {_moment(look['from'])} to {_moment(look['to'])}"
        parts.append(f"<h3>{escape(told)}</h3>{_pictures(line, look['from'], look['to'])}")
    words = "To scale." if not line["closer"] else "To scale; what is short beside the rest is drawn again below it."
    return _card("When", f"{words} {_known(data)}", "\n".join(parts))


def _known(data: dict[str, Any]) -> str:
    line = data["timeline"]
    if not line["nodes"]:
        told = "When each node was worked on is not known"
        return f"{told}." if data["hasJournal"] else f"{told}; --journal has it, unless people move them by hand."
    if line["nodesFrom"] == "journal":
        return "When each node was worked on is from the controller's journal."
    return "Of each node we know only when it reached its state; --journal has the rest."


def _pictures(line: dict[str, Any], begin: str, end: str, looks: Sequence[dict[str, str]] = ()) -> str:
    return "\n".join(timeline.drawn(line, frame, begin, end, looks=looks) for frame in timeline.FRAMES).strip()


def _keys(line: dict[str, Any]) -> str:
    """What each colour means, with how long the phases took."""
    taken: dict[str, float] = {}
    for each in line["phases"]:
        name = "waves" if each["what"].startswith("wave ") else each["what"]
        taken[name] = taken.get(name, 0.0) + each["seconds"]
    phases = [
        (timeline.colour_of(name), f"{name} {span(seconds)}" if seconds else name) for name, seconds in taken.items()
    ]
    is_many = len(line["nodes"]) > timeline.ROWS_MAX
    works_done = (work for node in line["nodes"] for work in node["works"])
    used = {work["what"] for work in works_done if work["seconds"] or work["what"] in timeline.MOMENTS}
    works = [(kind, text) for kind, text in WORKS.items() if kind in used and (not is_many or kind in timeline.MOMENTS)]
    if is_many and used - set(timeline.MOMENTS):
        works.append(("work", "nodes at work"))
    return _key("Phases", phases) + (_key("Nodes", works) if works else "")


def _key(name: str, meanings: Iterable[tuple[str, str]]) -> str:
    items = "".join(
        f'<li><svg viewBox="0 0 11 11" aria-hidden="true"><rect width="11" height="11" rx="3" class="{kind}"/></svg>'
        f"{escape(text)}</li>"
        for kind, text in meanings
    )
    return f'<ul class="keys"><li>{name}:</li>{items}</ul>'


def _history(data: dict[str, Any]) -> str:
    rows = []
    for each in data["timeline"]["phases"]:
        what, why = each["what"], each["why"]
        if what.startswith("wave ") and why.startswith(what):
            what, _, why = why.partition(", ")
        rows.append((_moment(each["at"]), what, span(each["seconds"]) if each["seconds"] else "", why))
    return _card("What happened", "", _table(("when", "phase", "lasted", "why"), rows)) if rows else ""


def _waits(data: dict[str, Any]) -> str:
    rows = [
        (_moment(each["since"]), _lasted(each), each["why"])
        for each in data["waits"]
        if each["seconds"] is None or each["seconds"] >= 1
    ]
    if not rows:
        return ""
    words = "" if data["hasJournal"] else "Waits that are over are in the controller's journal (--journal)."
    return _card("What it waited for", words, _table(("since", "for", "why"), rows))


def _lasted(wait: dict[str, Any]) -> str:
    if wait["seconds"] is None:
        return UNKNOWN
    told = span(wait["seconds"]) if wait["isOver"] else f"{span(wait['seconds'])} so far"
    return f"{told}, {wait['times']} times" if wait["times"] > 1 else told


# ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _nodes(data: dict[str, Any]) -> str:
    nodes = data["nodes"]
    rows = [(each["name"], "failed", _moment(each["since"]), each["why"]) for each in nodes["failedNodes"]]
    rows += [(name, "left out", "", "somebody marked it to be skipped") for name in nodes["skippedNodes"]]
    if nodes["hasMovedOn"]:
        told = "Its nodes have moved on since; how many came along is what was written when it ended."
        return _card("Nodes", told)
    if not rows:
        return ""
    return _card("Nodes that did not come along", "", _table(("node", "how", "since", "why"), rows))


# ── evidence ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _gates(data: dict[str, Any]) -> str:
    gates = data["gates"]
    if gates is None:
        return ""
    wants = {each["gate"]: each["asks"] for each in gates["asked"]}
    asks = {READINESS: "it runs the new driver, and is proven as any node"} | wants
    said = "".join(
        f'<tr><td>{escape(each["gate"])}</td><td data-name="node">{escape(each["node"])}</td>'
        f'<td data-name="verdict"><span class="{_tone(each["verdict"])}">{escape(each["verdict"])}</span></td>'
        f'<td data-name="evidence">{escape(each["why"])}</td>'
        f'<td data-name="asks">{escape(asks.get(each["gate"], ""))}</td></tr>'
        for each in gates["said"]
    )
    left = "".join(f"<li>{escape(each['gate'])} was left out: {escape(each['why'])}</li>" for each in gates["leftOut"])
    more = f"<ul>{left}</ul>" if left else ""
    if not said:
        asked = ", ".join(wants) or "readiness alone"
        begun = f"Round {gates['round']} has no answers yet" if gates["round"] else "No gate was asked yet"
        return _card("Gates", f"{begun}. Asked for: {asked}.", more)
    table = f"<table>{_head(('gate', 'node', 'verdict', 'evidence', 'asks'))}{said}</table>"
    return _card("Gates", f"As of round {gates['round']}.", table + more)


def _tone(verdict: str) -> str:
    return next((tone for word, tone in _TONES.items() if verdict.startswith(word)), "open")


def _bake(data: dict[str, Any]) -> str:
    bake = data["bake"]
    if bake is None:
        return ""
    told = "".join(f"<li>{escape(each)}</li>" for each in bake["told"])
    return _card("What the bake proves", "", f"<ul>{told}</ul>")


# ── who, where, how ──────────────────────────────────────────────────────────────────────────────────────────────────


def _said(data: dict[str, Any]) -> str:
    rows = [(_moment(each["at"]), each["who"], each["what"]) for each in data["said"]]
    if not rows:
        return _card("Who said what", "Nobody has approved, paused or undone anything.", "")
    words = accounts.explained(each["who"] or "" for each in data["said"])
    return _card("Who said what", words, _table(("when", "who", "what"), rows))


def _git(data: dict[str, Any]) -> str:
    git = data["git"]
    if git is None:
        return ""
    rows = [("where", each) for each in git["places"]]
    if git["commits"] is None:
        grep = f"Seatrial-Rollout: {data['rollout']}"
        rows.append(("commits", f"not in the status; `git log --grep {quote(grep)}` lists them"))
    else:
        rows += [(f"commit: {each['step']}", each["commit"]) for each in git["commits"]] or [("commits", "none")]
    rows += [(f"pull request: {each['step']}", f"{each['url']} ({each['state']})") for each in git["requests"] or ()]
    if git["tag"]:
        rows.append(("tag", git["tag"]))
    elif git["tagBase"]:
        rows.append(("tag", f"{git['tagBase']}, or that with a number behind it where it was taken"))
    return _card("Git", "", _table(("setting", ""), rows))


def _settings(data: dict[str, Any]) -> str:
    sizes = data["waves"]
    rows = [(each["what"], each["value"]) for each in data["settings"]]
    if data["canaries"]:
        rows.insert(0, ("canaries", ", ".join(data["canaries"])))
    if sizes:
        rows.append(("nodes in each wave", ", ".join(f"{each:,}" for each in sizes)))
    rows.append(("nodes", number_of(data["nodes"]["total"], "node")))
    return _card("The settings it used", "", _table(("setting", ""), rows))


# ── parts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _marked(text: str) -> str:
    """Text with what stands in backticks as code."""
    parts = escape(text).split("`")
    if len(parts) % 2 == 0:
        return escape(text)  # one that nobody closed
    return "".join(f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(parts))


def _card(title: str, words: str, body: str = "") -> str:
    told = f'\n<p class="soft">{_marked(words)}</p>' if words else ""
    return f'<section class="card">\n<h2>{escape(title)}</h2>{told}\n{body}\n</section>'


def _head(names: Sequence[str]) -> str:
    return f'<tr class="head">{"".join(f"<th>{escape(name)}</th>" for name in names)}</tr>'


def _table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; columns of short words are not broken, and on a phone every row is a block."""
    kinds = [
        f"{' class=fixed' if name in SHORT else ''}{f' data-name={escape(name)}' if name else ''}" for name in names
    ]
    cells = ("".join(f"<td{kind}>{_marked(cell)}</td>" for kind, cell in zip(kinds, row, strict=True)) for row in rows)
    body = "".join(f"<tr>{each}</tr>" for each in cells)
    return f"<table>{_head(names) if all(names) else ''}{body}</table>"
