"""The page that `seatrial forecast --html` writes: its figures, and its pictures on a wide page and on a phone.

How it looks was looked at in a browser, 390 and 1280 pixels wide, by day and by night; here is what can be told without
one.
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from seatrial.cli.run.forecasts import html as forecast_html
from seatrial.cli.run.forecasts import table as forecast_table
from seatrial.cli.run.forecasts.svg import FRAMES, LETTER, NARROW, WIDE
from tests import portable
from tests.cli.test_forecast import SMALL, TIMED, careful, data_of, eight_nodes, told

PHONE_PIXELS = 390


def page_of(capsys: pytest.CaptureFixture[str], tmp_path: Path, *arguments: str) -> tuple[str, dict[str, Any]]:
    file = tmp_path / "forecast.html"
    data = data_of(capsys, *SMALL, *arguments, "--html", str(file))
    return file.read_text(encoding="utf-8"), data


@pytest.mark.parametrize("arguments", [(), ("--buffer", "0"), ("--failure-rate", "10%", "--max-failed", "19")])
def test_the_pictures_of_the_page_are_well_formed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    page, _ = page_of(capsys, tmp_path, *arguments)
    pictures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    kinds = [ET.fromstring(picture).get("class") for picture in pictures]  # noqa: S314  our own text
    assert kinds.count("wide") == kinds.count("narrow") > 0
    for picture in pictures:
        assert ET.fromstring(picture).get("aria-label")  # noqa: S314  our own text
        assert "nan" not in picture.lower()
        assert "inf" not in picture.lower()


def test_the_page_fetches_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page, _ = page_of(capsys, tmp_path)
    assert not re.search(r"https?://|//[a-z]|src=|@import|url\(|<link", page)


def test_the_figures_of_the_page_are_those_of_the_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page, data = page_of(capsys, tmp_path)
    found = re.search(r'<script type="application/json" id="forecast">(.*?)</script>', page, re.DOTALL)
    assert found
    assert json.loads(found[1]) == data
    rows = re.findall(r"<tr class=\"(.*?)\">(.*?)</tr>", page)
    groups = forecast_table.groups(data)
    assert len(rows) == len(groups) + 1 <= len(data["settings"]) + 1, "what comes to the same has one row"
    for (kind, cells), (names, (row, *alike)) in zip(rows, groups, strict=False):
        texts = re.findall(r"<td[^>]*>(.*?)</td>", cells)
        assert texts[:2] == ["; ".join(each) for each in zip(*names, strict=True)]
        assert texts[4] == f"{row['gpu_hours_lost_p50']:,.1f}"
        assert texts[6] == f"{row['least_capacity']:.1%}"
        assert (kind == "chosen") is any(each["is_recommended"] for each in (row, *alike))


def test_names_of_others_do_not_become_markup(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = portable.written(tmp_path / "<b>&fleet.json", portable.a_node("n1"))
    file = tmp_path / "page.html"
    told(capsys, "forecast", "--snapshot", str(odd), "--samples", "1", "--html", str(file))
    body = file.read_text(encoding="utf-8").partition("<script")[0]
    assert "<b>&fleet" not in body
    assert "&lt;b&gt;&amp;fleet.json" in body


# ── on a phone ───────────────────────────────────────────────────────────────────────────────────────────────────────


def rule(selector: str) -> str:
    """What the page's style says of a narrow screen, for one selector."""
    _, _, narrow = forecast_html.STYLE.partition("@media (max-width: 760px)")
    found = re.search(re.escape(selector) + r" \{ ([^}]*)\}", narrow)
    assert found, selector
    return found[1]


def sides(padding: str) -> float:
    """The space that a padding takes from the width: of `20px 12px 32px`, twice the second."""
    return 2 * float(padding.split()[1].removesuffix("px"))


def test_text_of_the_pictures_has_eleven_pixels_or_more_on_a_phone() -> None:
    size = re.search(r"svg text \{ font: (\d+)px", forecast_html.STYLE)
    assert size
    paddings = [re.search(r"padding: ([^;}]*)", rule(selector)) for selector in ("main", ".card")]
    room = PHONE_PIXELS - 2 - sum(sides(found[1].strip()) for found in paddings if found)
    assert float(size[1]) * room / NARROW.width >= 11


def test_a_phone_sees_the_narrow_pictures_and_a_wide_page_the_others() -> None:
    wide, _, narrow = forecast_html.STYLE.partition("@media (max-width: 960px)")
    assert "svg.narrow { display: none }" in wide
    assert "svg.wide { display: none }" in narrow
    assert "svg.narrow { display: block" in narrow
    assert {frame.name for frame in FRAMES} == {"wide", "narrow"}


@pytest.mark.parametrize("arguments", [(), ("--nodes", "500"), ("--buffer", "0"), ("--nodes", "1", "--buffer", "100%")])
def test_no_name_leaves_its_picture_and_those_along_an_axis_stay_apart(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    page, _ = page_of(capsys, tmp_path, *arguments)
    for picture in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        drawn = ET.fromstring(picture)  # noqa: S314  our own text
        width = NARROW.width if drawn.get("class") == "narrow" else WIDE.width
        boxes = [box(each) for each in drawn.iter("text")]
        assert all(start >= 0 and end <= width for start, end, _ in boxes), boxes
        lowest = max(y for _, _, y in boxes)
        axis = sorted(each for each in boxes if each[2] == lowest)
        assert axis
        assert all(one[1] <= other[0] for one, other in pairwise(axis)), axis


def box(text: ET.Element) -> tuple[float, float, float]:
    """From where to where a text reaches, about, and its height."""
    size, at = 0.9 * LETTER * len(text.text or ""), float(text.get("x", "0"))
    shift = {"start": 0.0, "middle": size / 2, "end": size}[text.get("text-anchor", "start")]
    return at - shift, at - shift + size, float(text.get("y", "0"))


def test_every_colour_has_a_meaning_by_day_and_by_night() -> None:
    day, _, night = forecast_html.COLOURS.partition("@media (prefers-color-scheme: dark)")
    used = set(re.findall(r"var\(--([a-z]+)\)", forecast_html.STYLE))
    named = [set(re.findall(r"--([a-z]+):", part)) for part in (day, night)]
    assert used == named[0] == named[1]


def test_no_picture_has_a_colour_that_the_night_does_not_know(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page, _ = page_of(capsys, tmp_path)
    assert not re.search(r'(fill|stroke)="#', page)
    assert "color-scheme: light dark" in page


# ── what it says ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_where_nothing_is_recommended_the_page_says_why_and_draws_no_capacity(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    eight_nodes(monkeypatch, 1)
    file = tmp_path / "page.html"
    told(capsys, "forecast", "--samples", "2", "--seed", "1", "--html", str(file))
    page = file.read_text(encoding="utf-8")
    assert '<section class="card advice wait"><strong>Do not start yet</strong>' in page
    assert "n0 is cordoned by somebody else, and that uses up maxUnavailable." in page
    assert "GPUs that take work" not in page
    assert '<span class="pill' not in page
    assert "1 node (n0)" in page


def test_the_parts_of_a_careful_rollout_are_on_the_page(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    told(capsys, "forecast", "--nodes", "9", "-f", careful(tmp_path), *TIMED, "--buffer", "25%", "--html", str(file))
    page = file.read_text(encoding="utf-8")
    assert "canary 5 min, gates 2 min, bake 2 d, waves 40 min, pauses 10 min" in page
    assert "GPUs that take work from the first wave on" in page
