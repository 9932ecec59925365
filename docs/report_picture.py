"""The picture of a report for docs/how-to/report.md: the time that the page of `seatrial report --html` draws.

The same input gives the same bytes: the rollout is simulated with a fixed seed, and coordinates are rounded.
"""

from __future__ import annotations

import re
import tempfile
from html import escape
from pathlib import Path
from typing import Final

from seatrial.cli.show.report import style, timeline
from seatrial.cli.show.report.timeline import WIDE
from tests.reported import BROKEN, careful, played

EDGE: Final = 20
HEADS: Final = 74
GAP: Final = 34
STYLE: Final = """
text.head { font-size: 21px; font-weight: 650; fill: var(--text) }
text.title { font-size: 15px; font-weight: 600; fill: var(--text) }
"""


def picture() -> str:
    """A rollout over 20 nodes, of which one fails: two days of bake to scale, and what is short beside it."""
    with tempfile.TemporaryDirectory() as folder:
        data = played(Path(folder), careful(tags_with_failures=True), fates={"gpu-12": BROKEN}).data()
    line = data["timeline"]
    drawn = [("", timeline.drawn(line, WIDE, line["from"], line["to"], looks=line["closer"]))]
    for each in line["closer"]:
        told = f"A closer look: {each['from']} to {each['to']}"
        drawn.append((told, timeline.drawn(line, WIDE, each["from"], each["to"])))
    y, parts = HEADS, []
    for title, each in drawn:
        if title:
            y += GAP
            parts.append(f'<text x="{EDGE}" y="{y - 10}" class="title">{escape(title)}</text>')
        height = int((re.search(r'viewBox="0 0 \d+ (\d+)"', each) or ["", "0"])[1])
        place = f'x="{EDGE}" y="{y}" width="{WIDE.width}" height="{height}"'
        parts.append(each.replace("<svg ", f"<svg {place} ", 1).replace("><", ">\n<"))
        y += height
    width, told = WIDE.width + 2 * EDGE, "\n".join(parts)
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y + EDGE}" role="img" aria-label="the time of a rollout">
<style>{style.COLOURS}{style.PICTURES}{STYLE}</style>
<rect width="{width}" height="{y + EDGE}" rx="10" style="fill: var(--card)"/>
<text x="{EDGE}" y="38" class="head">{escape(f"{data['rollout']}: {data['verdict']}")}</text>
<text x="{EDGE}" y="60">To scale; what is short beside the bake is drawn again below it.</text>
{told}
</svg>
"""
