"""The table of docs/how-to/upgrade-a-busy-cluster.md says what the newest result of bench/gpu_hours says."""

from __future__ import annotations

import re

import pytest

from docs import frontier_picture
from tests.core.compat.knowledge import ROOT

PAGE = ROOT / "docs" / "how-to" / "upgrade-a-busy-cluster.md"
LINE = re.compile(r"\|[^|]*\| (\d+) h \| ([\d.]+) \| ([\d.]+) \|")
SHOWN = (
    *(
        (kind, saves, hours)
        for kind in ("published", "busy")
        for saves in ("told", "asked", "silent")
        for hours in (24, 48)
    ),
    ("mixed", "told", 24),
    ("mixed", "told", 48),
    ("inference", "told", 24),
    ("training", "told", 24),
    ("training", "told", 48),
)
"""The lines of the table, in their order."""


def test_the_page_shows_what_was_measured() -> None:
    rows = {
        (row["kind"], row["saves"], row["deadline"]): (row["gpu_hours_share"], row["evictions_share"])
        for row in frontier_picture.newest()["rows"]
        if "deadline" in row
    }
    shown = [
        (int(hours), float(lost), float(gone)) for hours, lost, gone in LINE.findall(PAGE.read_text(encoding="utf-8"))
    ]
    measured = [(row[-1], *rows[row]) for row in SHOWN]
    assert [hours for hours, *_ in shown] == [hours for hours, *_ in measured]
    for line, row in zip(shown, measured, strict=True):
        assert line == pytest.approx(row, abs=0.0051)
