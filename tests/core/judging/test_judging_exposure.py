"""Exposure: only time with data counts, only once, and only work under load is work."""

from __future__ import annotations

import pytest

from seatrial.core.judging.exposure import UTILISATION, added, summed_up
from seatrial.core.model.gates.exposed import Exposure
from seatrial.core.model.gates.telemetry import Telemetry
from tests.core.judging.upgrades import a_series, some_telemetry

HOUR = 3600.0


def watched(*values: float, until: float = 2 * HOUR) -> Telemetry:
    """One GPU, a point a minute."""
    return some_telemetry(a_series(UTILISATION, values=values), until=until)


def exposed(seen: Telemetry, since: float = 0.0, *, node: str = "c", has_pods: bool = True) -> Exposure:
    return added(Exposure(node=node), summed_up(seen, node, since, seen.until), has_pods=has_pods)


def test_two_hours_of_bake_with_one_hour_of_data_count_as_one() -> None:
    seen = watched(*[50.0] * 61)
    assert (seen.until - seen.since) == 2 * HOUR
    found = exposed(seen)
    assert found.watched_seconds == HOUR
    assert found.watched_gpu_hours == pytest.approx(1.0)


def test_a_gap_in_the_middle_does_not_count() -> None:
    first = a_series(UTILISATION, values=[50.0] * 31)
    second = a_series(UTILISATION, values=[50.0] * 31, start=1.5 * HOUR)
    whole = Telemetry(
        since=0.0,
        until=2 * HOUR,
        series=(
            type(first)(name=UTILISATION, node="c", gpu="g0", gap_seconds=120.0, points=first.points + second.points),
        ),
    )
    found = exposed(whole)
    assert (found.watched_seconds, found.watched_gpu_hours, found.loaded_gpu_hours) == pytest.approx((HOUR, 1.0, 1.0))


def test_a_stretch_that_is_told_twice_counts_once() -> None:
    seen = watched(*[50.0] * 61)
    once = exposed(seen)
    assert added(once, summed_up(seen, "c", seen.until, seen.until), has_pods=True) == once
    half = exposed(seen, HOUR / 2)
    assert half.watched_seconds == HOUR / 2


def test_an_idle_gpu_was_watched_and_did_not_work() -> None:
    found = exposed(watched(*[2.0] * 61))
    assert (found.watched_gpu_hours, found.loaded_gpu_hours, found.load) == pytest.approx((1.0, 0.0, 0.0))


def test_load_without_anybodys_pods_is_not_the_nodes_work() -> None:
    assert exposed(watched(*[90.0] * 61), has_pods=False).loaded_gpu_hours == 0.0


def test_gpu_hours_add_up_over_gpus_and_hours_do_not() -> None:
    series = [a_series(UTILISATION, values=[90.0] * 61, gpu=f"g{number}") for number in range(8)]
    found = exposed(some_telemetry(*series))
    assert (found.watched_seconds, found.loaded_gpu_hours) == pytest.approx((HOUR, 8.0))
    assert found.load == 1.0


def test_a_node_of_which_nothing_was_told_was_not_watched() -> None:
    assert exposed(watched(*[90.0] * 61), node="other") == Exposure(node="other")
    assert Exposure(node="other").load == 0.0
