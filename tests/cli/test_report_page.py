"""The page that `seatrial report --html` writes: what is on it, and its picture of time on a wide page and on a phone.

How it looks is looked at by page_in_a_browser.py (`make browser`), 390 and 1280 pixels wide, by day and by night; here
is what can be told without one.
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from seatrial.cli.show.report import page, style, timeline
from seatrial.cli.show.report.timeline import FRAMES, LETTER, NARROW, WIDE
from seatrial.core.model.campaign import Bake, Spoken
from seatrial.core.words.accounts import CLAIMED_MEANS
from seatrial.sim.outside import GateFate
from tests.builders import NEW, an_intent
from tests.reported import BROKEN, STARTED_AT, careful, played

KINDS = ("good", "records", "failed", "reverted", "plain", "many", "baking", "empty")
PHONE_PIXELS = 390
CONTRAST_MIN = 4.5


def made(folder: Path, kind: str) -> dict[str, Any]:
    """The document of a rollout of each kind."""
    said = {"said": [{"what": "approved waves", "by": "alice@example.com", "at": "2026-03-03T10:20:00Z"}]}
    match kind:
        case "records":
            return played(folder).data(has_journal=False)
        case "failed":
            fates = {"gpu-07": BROKEN, "gpu-12": BROKEN}
            wish = careful(bake=Bake(seconds=7200.0), tags_with_failures=True)
            return played(folder, wish, fates=fates).data()
        case "reverted":
            fate = GateFate(fails_on=NEW.version, from_round=30, detail="bus bandwidth 312 GB/s, at least 340 is asked")
            return played(folder, gate_fates={"rdma": fate}).data()
        case "plain":
            return played(folder, an_intent(parallel_max=2, unavailable_max="25%"), nodes=12).data()
        case "many":
            wish = an_intent(parallel_max=20, unavailable_max="25%")
            return played(folder, wish, nodes=120, fates={"gpu-044": BROKEN}).data()
        case "baking":
            return played(folder, is_over=lambda report: report.at > STARTED_AT + 20 * 3600).data()
        case "empty":
            return played(folder, is_over=lambda _: True).data()
        case _:
            return played(folder, careful(said=(Spoken(what="approved waves", by="alice"),)), spec=said).data()


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return {kind: made(tmp_path_factory.mktemp(kind), kind) for kind in KINDS}


def pictures(text: str) -> list[ET.Element]:
    found = re.findall(r'<svg class="(?:wide|narrow)".*?</svg>', text, re.DOTALL)
    return [ET.fromstring(each) for each in found]  # noqa: S314  our own text


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_is_whole_fetches_nothing_and_holds_the_document(
    documents: dict[str, dict[str, Any]], kind: str
) -> None:
    text = page.page(documents[kind])
    assert not re.search(r"https?://|src=|@import|url\(|<link", text)
    found = re.search(r'<script type="application/json" id="report">(.*?)</script>', text, re.DOTALL)
    assert found
    assert json.loads(found[1]) == documents[kind]
    drawn = pictures(text)
    assert [each.get("class") for each in drawn].count("wide") * 2 == len(drawn)
    assert bool(drawn) is (kind != "empty")
    assert "nan" not in "".join(re.findall(r"<svg.*?</svg>", text, re.DOTALL)).lower()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "empty"])
def test_no_name_leaves_its_picture_and_those_along_the_axis_stay_apart(
    documents: dict[str, dict[str, Any]], kind: str
) -> None:
    for drawn in pictures(page.page(documents[kind])):
        frame = NARROW if drawn.get("class") == "narrow" else WIDE
        boxes = [box(each) for each in drawn.iter("text")]
        assert all(start >= 0 and end <= frame.width for start, end, _ in boxes), boxes
        height = float((drawn.get("viewBox") or "").split()[3])
        for line in (height - timeline.AXIS + 19, height - timeline.AXIS + 36):
            axis = sorted(each for each in boxes if abs(each[2] - line) < 1)
            assert all(one[1] <= other[0] for one, other in pairwise(axis)), axis
        for each in (*drawn.iter("rect"), *drawn.iter("circle")):
            left = float(each.get("x") or float(each.get("cx", "0")) - 5)
            assert 0 <= left <= left + float(each.get("width", "10")) <= frame.width


def box(text: ET.Element) -> tuple[float, float, float]:
    """From where to where a text reaches, about, and its height."""
    size, at = 0.9 * LETTER * len(text.text or ""), float(text.get("x", "0"))
    shift = {"start": 0.0, "middle": size / 2, "end": size}[text.get("text-anchor", "start")]
    return at - shift, at - shift + size, float(text.get("y", "0"))


def test_time_is_to_scale(documents: dict[str, dict[str, Any]]) -> None:
    line = documents["good"]["timeline"]
    drawn = ET.fromstring(timeline.drawn(line, WIDE, line["from"], line["to"]))  # noqa: S314  our own text
    widths = {
        (each.findtext("title") or "").partition(":")[0]: float(each.get("width", "0")) for each in drawn.iter("rect")
    }
    room, seconds = WIDE.right - WIDE.left, documents["good"]["seconds"]
    for phase in line["phases"]:
        if phase["seconds"] > seconds / 100:
            assert widths[phase["what"]] == pytest.approx(room * phase["seconds"] / seconds, abs=2)


def test_what_a_bake_leaves_no_room_for_is_drawn_again_and_nodes_only_there(
    documents: dict[str, dict[str, Any]],
) -> None:
    text = page.page(documents["good"])
    assert re.findall(r"<h3>(A closer look \d): ", text) == ["A closer look 1", "A closer look 2"]
    whole, first, second = (each for each in pictures(text) if each.get("class") == "wide")
    names = [
        [each.text for each in drawn.iter("text") if (each.text or "").startswith("gpu-")]
        for drawn in (whole, first, second)
    ]
    assert [len(each) for each in names] == [0, 1, 19]


def test_many_nodes_are_curves_and_not_rows(documents: dict[str, dict[str, Any]]) -> None:
    drawn = pictures(page.page(documents["many"]))[0]
    texts = [each.text for each in drawn.iter("text")]
    assert {"120 nodes", "20 at work"} <= set(texts)
    assert not any((text or "").startswith("gpu-") for text in texts)
    assert [each.get("class") for each in drawn.iter("path")] == ["line done", "line failed", "work"]


def test_what_is_not_known_is_said_to_be_not_known(documents: dict[str, dict[str, Any]]) -> None:
    text = page.page(documents["records"])
    assert '<b class="unknown">not known</b><span>pods told to leave</span>' in text
    assert "--journal has the rest" in text
    assert "not known" not in page.page(documents["good"]).partition("<script")[0]


def test_who_failed_is_named_with_the_reason(documents: dict[str, dict[str, Any]]) -> None:
    text = page.page(documents["failed"])
    assert text.count("a container of the driver pod keeps crashing") >= 2
    for name in ("gpu-07", "gpu-12"):
        assert re.search(rf"<tr><td[^>]*>{name}</td><td[^>]*>failed</td>", text)


def test_how_it_stands_is_said_in_one_sentence_with_what_its_exit_code_means(
    documents: dict[str, dict[str, Any]],
) -> None:
    text = page.page(documents["reverted"])
    assert '<section class="card verdict reverted"><strong>Reverted: gate rdma failed on gpu-03: bus' in text
    assert "Exit code 10 of <code>seatrial status spring</code>: a validation gate failed, or" in text
    assert '<span class="fail">failed</span>' in text


def test_who_said_yes_is_on_the_page(documents: dict[str, dict[str, Any]]) -> None:
    text = page.page(documents["good"])
    assert "alice@example.com (claimed)" in text
    assert CLAIMED_MEANS in text
    assert "Nobody has approved, paused or undone anything." in page.page(documents["plain"])


def test_words_of_others_do_not_become_markup(documents: dict[str, dict[str, Any]]) -> None:
    odd = "<b>&`x"
    data = json.loads(json.dumps(documents["failed"]).replace("gpu-07", "gpu-<b>"))
    data |= {"verdict": odd, "said": [{"at": None, "who": odd, "what": odd}], "rollout": "<b>"}
    body = page.page(data).partition("<script")[0]
    assert "<b>&" not in body
    assert "gpu-<b>" not in body
    assert "&lt;b&gt;&amp;`x" in body


def test_a_script_in_somebodys_words_does_not_end_the_document(documents: dict[str, dict[str, Any]]) -> None:
    text = page.page(documents["empty"] | {"verdict": "</script><script>alert(1)</script>"})
    assert text.count("</script>") == 1


# ── on a phone, by day and by night ──────────────────────────────────────────────────────────────────────────────────


def test_text_of_the_pictures_has_eleven_pixels_or_more_on_a_phone() -> None:
    room = PHONE_PIXELS - 2 - 2 * 12 - 2 * 12
    size = re.search(r"svg text \{ font: (\d+)px", style.STYLE)
    assert size
    assert float(size[1]) * room / NARROW.width >= 11
    assert "main { padding: 20px 12px 32px }" in style.STYLE
    assert {frame.name for frame in FRAMES} == {"wide", "narrow"}


def colours() -> list[dict[str, str]]:
    day, _, night = style.COLOURS.partition("@media (prefers-color-scheme: dark)")
    return [dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6})", part)) for part in (day, night)]


def test_every_colour_has_a_meaning_by_day_and_by_night() -> None:
    day, night = colours()
    used = set(re.findall(r"var\(--([a-z]+)\)", style.STYLE))
    assert used == set(day) == set(night)


@pytest.mark.parametrize("scheme", [0, 1], ids=["day", "night"])
def test_what_is_written_can_be_read_on_what_is_behind_it(scheme: int) -> None:
    known = colours()[scheme]
    written = [(front, behind) for front in ("text", "soft") for behind in ("page", "card")]
    written += [(front, "card") for front in ("green", "red", "amber")]
    bands = ("grey", "amber", "teal", "blue", "violet", "green", "red")
    written += [("on", behind) for behind in bands]
    for front, behind in written:
        assert contrast(known[front], known[behind]) >= CONTRAST_MIN, (front, behind)
    for shape in ("olive", "pink", "slate", *bands):
        assert contrast(known[shape], known["card"]) >= 3, shape


def contrast(one: str, other: str) -> float:
    """How much one colour differs from another in brightness, as WCAG counts it."""
    light, dark = sorted((brightness(one), brightness(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def brightness(colour: str) -> float:
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
