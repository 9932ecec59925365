"""A statement of support never reaches beyond the day its source was read."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest

from seatrial.core.compat.matrix import Component
from tests.core.knowledge import facts, judged

READ, NETWORK_READ = (facts().newest_lines[each].as_of for each in (Component.GPU_OPERATOR, Component.NETWORK_OPERATOR))
LATER = READ + timedelta(days=1)


@pytest.mark.parametrize(
    ("texts", "on", "verdict"),
    [
        ({"gpu_operator": "v26.3.3"}, READ, "ok"),
        ({"gpu_operator": "v26.3.3"}, LATER, "unknown"),
        ({"gpu_operator": "v26.7.0"}, LATER, "ok"),
        ({"gpu_operator": "v25.10.1"}, READ, "warn"),
        ({"network_operator": "v26.4.1"}, NETWORK_READ, "ok"),
        ({"network_operator": "v26.4.1"}, date(2026, 11, 15), "unknown"),
    ],
)
def test_support_is_said_up_to_the_day_the_sources_were_read(texts: dict[str, str], on: date, verdict: str) -> None:
    found = judged("lifecycle", texts, on=on)
    assert found is not None
    assert found.verdict.value == verdict, found.message
    assert str(on) not in found.message or on <= max(READ, NETWORK_READ)


@pytest.mark.parametrize(
    ("driver", "on", "verdict"),
    [
        ("590.48.01", date(2026, 8, 21), "warn"),
        ("590.48.01", date(2026, 2, 1), "ok"),
        ("580.173.02", date(2026, 8, 21), "ok"),
        ("595.91.07", date(2026, 8, 21), "ok"),
        ("610.57.04", date(2026, 8, 21), "ok"),
        ("570.211.01", date(2026, 8, 21), "warn"),
        ("550.144.03", date(2025, 1, 10), "ok"),
    ],
)
def test_a_branch_that_left_the_vendors_table_is_told(driver: str, on: date, verdict: str) -> None:
    found = judged("lifecycle", {"gpu_driver": driver}, on=on)
    assert found is not None
    assert found.verdict.value == verdict, found.message


def test_a_branch_that_left_is_told_with_those_that_stayed() -> None:
    found = judged("lifecycle", {"gpu_driver": "590.48.01"}, on=date(2026, 8, 21))
    assert found is not None
    assert "not among the branches that NVIDIA lists as supported (535, 580, 595, 610" in found.message


def test_the_newest_major_of_a_page_says_nothing_where_somebody_knows_a_newer_one() -> None:
    lines = {**facts().release_lines, Component.GPU_OPERATOR: ("26.3", "26.7", "26.11")}
    assert facts().newest_line(Component.GPU_OPERATOR) is not None
    assert replace(facts(), release_lines=lines).newest_line(Component.GPU_OPERATOR) is None


def test_what_is_not_known_any_more_says_when_it_was() -> None:
    found = judged("lifecycle", {"gpu_operator": "v26.3.3"}, on=LATER)
    assert found is not None
    assert f"was supported on {READ}" in found.message


def test_a_major_ends_when_the_second_one_after_it_is_out() -> None:
    found = judged("lifecycle", {"network_operator": "v26.1.1"}, on=date(2026, 11, 15))
    assert found is not None
    assert (found.verdict.value, found.next_step) == ("warn", "Plan the way to 26.4 or 26.7.")
