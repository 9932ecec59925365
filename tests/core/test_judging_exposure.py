"""Exposure: only time with data counts, only once, and only work under load is work."""

from __future__ import annotations

import pytest

from seatrial.core.judging.exposure import UTILISATION, Exposure
from seatrial.core.model.gates.telemetry import Telemetry
from tests.core.upgrades import a_series, some_telemetry

HOUR = 3600.0


def watched(*values: float, until: float = 2 * HOUR) -> Telemetry:
    """One GPU, a point a minute."""
    return some_telemetry(a_series(UTILISATION, values=values), until=until)


def test_two_hours_of_bake_with_one_hour_of_data_count_as_one() -> None:
    seen = watched(*[50.0] * 61)
    assert (seen.until - seen.since) == 2 * HOUR
    found = Exposure(node="c").added(seen, 0.0, has_pods=True)
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
    found = Exposure(node="c").added(whole, 0.0, has_pods=True)
    assert (found.watched_seconds, found.watched_gpu_hours, found.loaded_gpu_hours) == pytest.approx((HOUR, 1.0, 1.0))


def test_a_stretch_that_is_told_twice_counts_once() -> None:
    seen = watched(*[50.0] * 61)
    once = Exposure(node="c").added(seen, 0.0, has_pods=True)
    assert once.added(seen, seen.until, has_pods=True) == once
    half = Exposure(node="c").added(seen, HOUR / 2, has_pods=True)
    assert half.watched_seconds == HOUR / 2


def test_an_idle_gpu_was_watched_and_did_not_work() -> None:
    found = Exposure(node="c").added(watched(*[2.0] * 61), 0.0, has_pods=True)
    assert (found.watched_gpu_hours, found.loaded_gpu_hours, found.load) == pytest.approx((1.0, 0.0, 0.0))


def test_load_without_anybodys_pods_is_not_the_nodes_work() -> None:
    assert Exposure(node="c").added(watched(*[90.0] * 61), 0.0, has_pods=False).loaded_gpu_hours == 0.0


def test_gpu_hours_add_up_over_gpus_and_hours_do_not() -> None:
    series = [a_series(UTILISATION, values=[90.0] * 61, gpu=f"g{number}") for number in range(8)]
    found = Exposure(node="c").added(some_telemetry(*series), 0.0, has_pods=True)
    assert (found.watched_seconds, found.loaded_gpu_hours) == pytest.approx((HOUR, 8.0))
    assert found.load == 1.0


def test_a_node_of_which_nothing_was_told_was_not_watched() -> None:
    assert Exposure(node="other").added(watched(*[90.0] * 61), 0.0, has_pods=True) == Exposure(node="other")
    assert Exposure(node="other").load == 0.0
