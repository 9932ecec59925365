"""What the pages look like in a browser: a phone and a wide screen, by day and by night. `make looks` writes them.

    docs/looks/NAME-390-day.png, NAME-390-night.png, NAME-1280-day.png, NAME-1280-night.png

Law of this file: pages are those that our commands write, and the browser is a real one. Pictures of a browser are not
the same to the byte on two machines, so nobody compares them: they are there to be looked at, and docs/looks/README.md
says what was wrong with them. The terminal's pictures come from tests/docs/test_questions.py.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from seatrial.cli.show.report import page
from seatrial_lab.testbed.building.browser import Browser, chromium
from tests.reported import BROKEN, careful, played

PLACE: Final = Path(__file__).parent / "looks"
WIDTHS: Final = (390, 1280)
HEIGHT_MAX: Final = 1600
"""Longer pages are cut there: what is below looks as what is above."""


def main() -> None:
    """Write every picture."""
    browser = chromium()
    PLACE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for each in _pages(Path(folder)):
            for width in WIDTHS:
                height = min(HEIGHT_MAX, _height(browser, each, width))
                for is_dark in (False, True):
                    name = f"{each.stem}-{width}-{'night' if is_dark else 'day'}.png"
                    browser.shoot(each, PLACE / name, width=width, height=height, is_dark=is_dark)
                    print(name)


def _pages(folder: Path) -> list[Path]:
    """The pages that commands write, each of something that is always the same."""
    demo, forecast, report = folder / "demo.html", folder / "forecast.html", folder / "report.html"
    _seatrial("demo", "--seconds", "0", "--folder", str(folder / "demo"))
    (folder / "demo" / "report.html").rename(demo)
    _seatrial("forecast", "--nodes", "500", "--samples", "12", "--seed", "7", "--html", str(forecast))
    (folder / "played").mkdir()
    report.write_text(
        page.page(played(folder / "played", careful(tags_with_failures=True), fates={"gpu-12": BROKEN}).data()),
        encoding="utf-8",
    )
    return [demo, forecast, report]


def _seatrial(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "seatrial", *words], check=True, stdout=subprocess.DEVNULL)


def _height(browser: Browser, page: Path, width: int) -> int:
    """How high a page is in a window of this width, as the browser says."""
    with tempfile.TemporaryDirectory() as folder:
        frame = Path(folder) / "frame.html"
        frame.write_text(
            f'<!doctype html><body><iframe src="{page.as_uri()}" width="{width}" height="100"></iframe><script>'
            "onload = () => document.title = document.querySelector('iframe').contentDocument.body.scrollHeight"
            "</script></body>",
            encoding="utf-8",
        )
        said = browser.run("--virtual-time-budget=10000", "--dump-dom", frame.as_uri()).stdout
    (found,) = re.findall(r"<title>(\d+)</title>", said)
    return int(found) + 24


if __name__ == "__main__":
    main()
