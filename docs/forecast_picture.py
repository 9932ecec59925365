"""The picture of a forecast for README and docs/how-to/forecast.md: what the page of `seatrial forecast --html` draws.

The same input gives the same bytes: the seed is fixed, and coordinates are rounded.
"""

from __future__ import annotations

from html import escape
from typing import Final

from seatrial.app import forecasting
from seatrial.cli.run.forecasts import html as forecast_html
from seatrial.cli.run.forecasts import svg as forecast_svg
from seatrial.cli.run.forecasts.svg import WIDE

EDGE: Final = 20
HEADS: Final = 118
GAP: Final = 62
HEIGHT: Final = HEADS + 2 * WIDE.height + GAP + EDGE
STYLE: Final = """
text.head { font-size: 21px; font-weight: 650; fill: var(--text) }
text.title { font-size: 16px; font-weight: 600; fill: var(--text) }
"""


def picture() -> str:
    """A forecast for 500 nodes that are all alike."""
    asked = forecasting.ForecastOptions(nodes=500, samples=12, seed=7)
    data = forecasting.answer(forecasting.question_of(asked, None), lambda _done, _of: None)
    advice, second = data["advice"], HEADS + WIDE.height + GAP
    words = (
        (38, "head", f"{advice['head']}"),
        (64, "", advice["figures"]),
        (HEADS - 14, "title", "Every setting (maxParallelUpgrades / maxUnavailable): how long against what is left"),
        (second - 14, "title", f"GPUs that take work, {forecast_svg.setting_text(data['curve'])}"),
    )
    told = "\n".join(f'<text x="{EDGE}" y="{y}" class="{kind}">{escape(text)}</text>' for y, kind, text in words)
    width = WIDE.width + 2 * EDGE
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" role="img" aria-label="a forecast for 500 nodes">
<style>{forecast_html.COLOURS}{forecast_html.PICTURES}{STYLE}</style>
<rect width="{width}" height="{HEIGHT}" rx="10" style="fill: var(--card)"/>
{told}
{_placed(forecast_svg.scatter(data), HEADS)}
{_placed(forecast_svg.curve(data), second)}
</svg>
"""


def _placed(drawn: str, y: int) -> str:
    """One of the page's pictures, at its place in this one."""
    place = f'x="{EDGE}" y="{y}" width="{WIDE.width}" height="{WIDE.height}"'
    return drawn.replace("<svg ", f"<svg {place} ", 1).replace("><", ">\n<")
