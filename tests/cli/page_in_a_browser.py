"""The page of a report in a real browser, 390 and 1280 pixels wide, by day and by night: `make browser`.

Nothing may be wider than the screen, no text may leave its picture or its card, and what is written has to be readable
on what is behind it, as the browser itself draws it.
"""

from __future__ import annotations

import html
import json
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from seatrial.cli.show.report import page
from seatrial_lab.testbed.building.browser import Browser, chromium
from tests.cli.test_report_page import CONTRAST_MIN, KINDS, made

DUMP: Final = ("--virtual-time-budget=10000", "--dump-dom", "--window-size=1400,1000")
LOOK: Final = """
const inside = document.querySelector('iframe').contentDocument, found = {}
const view = inside.defaultView, root = inside.documentElement
const numbers = colour => colour.match(/[\\d.]+/g).map(Number)
const linear = x => x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4
const bright = ([r, g, b]) => [r, g, b].map(x => linear(x / 255))
  .reduce((sum, x, i) => sum + x * [.2126, .7152, .0722][i], 0)
const behind = node => { for (let at = node; at; at = at.parentElement) {
  const colour = view.getComputedStyle(at).backgroundColor
  if (!/, 0\\)$/.test(colour)) return numbers(colour) } }
found.width = view.innerWidth
found.scroll = root.scrollWidth
found.dark = view.matchMedia('(prefers-color-scheme: dark)').matches
found.outside = []
found.faint = []
for (const node of inside.body.querySelectorAll('h1,h2,h3,p,li,b,span,strong,td,th,footer,code,text')) {
  const box = node.getBoundingClientRect()
  if (!box.width || !node.textContent.trim()) continue
  const holder = node.closest('svg') || node.closest('.card') || inside.body
  const room = holder.getBoundingClientRect()
  if (box.left < room.left - 1 || box.right > room.right + 1 || box.right > view.innerWidth + 1)
    found.outside.push([node.tagName, node.textContent.slice(0, 60), box.left, box.right, room.left, room.right])
  if (node.tagName == 'text') continue
  const [one, other] = [bright(numbers(view.getComputedStyle(node).color)), bright(behind(node))].sort((a, b) => b - a)
  const contrast = (one + .05) / (other + .05)
  if (contrast < LEAST) found.faint.push([node.tagName, node.textContent.slice(0, 60), contrast])
}
found.pictures = [...inside.querySelectorAll('svg.wide, svg.narrow')].filter(each => each.getBoundingClientRect().width)
  .map(each => each.getAttribute('class'))
document.body.append(Object.assign(document.createElement('pre'), {id: 'found', textContent: JSON.stringify(found)}))
"""


@cache
def browser() -> Browser:
    return chromium()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    for kind in KINDS:
        data = made(tmp_path_factory.mktemp(kind), kind)
        (folder / f"{kind}.html").write_text(page.page(data), encoding="utf-8")
        (folder / f"long-{kind}.html").write_text(page.page(with_long_names(data)), encoding="utf-8")
    return folder


def with_long_names(data: dict[str, Any]) -> dict[str, Any]:
    """The same with names as clouds give them, and a reason without a blank in it."""
    longer = json.dumps(data).replace('"gpu-', '"ip-10-200-131-245.eu-central-1.compute.internal.gpu-')
    found: dict[str, Any] = json.loads(longer)
    return found | {
        "verdict": f"Reverted: {'x' * 200}.",
        "rollout": "driver-580-105-08-for-the-whole-of-production-eu-central",
    }


def looked_at(folder: Path, name: str, width: int, *, is_dark: bool) -> dict[str, Any]:
    """What a browser says of a page in a window of this width."""
    outer = folder / f"look-{name}-{width}.html"
    # In a frame: a window of its own is never narrower than 500 pixels.
    outer.write_text(
        f'<!doctype html><body><iframe src="{name}.html" width="{width}" height="900" style="border:0"></iframe>'
        f"<script>onload = () => {{ {LOOK.replace('LEAST', str(CONTRAST_MIN))} }}</script></body>",
        encoding="utf-8",
    )
    done = browser().run(*DUMP, outer.as_uri(), is_dark=is_dark)
    told = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
    assert told, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(html.unescape(told[1]))
    return found


@pytest.mark.parametrize("is_dark", [False, True], ids=["day", "night"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", [*KINDS, *(f"long-{kind}" for kind in KINDS)])
def test_everything_is_on_the_screen_and_can_be_read(pages: Path, name: str, width: int, is_dark: bool) -> None:
    found = looked_at(pages, name, width, is_dark=is_dark)
    assert (found["width"], found["dark"]) == (width, is_dark)
    assert found["scroll"] <= width
    assert found["outside"] == []
    assert found["faint"] == []
    assert set(found["pictures"]) == (set() if "empty" in name else {"wide" if width > 760 else "narrow"})
