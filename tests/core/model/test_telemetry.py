"""Telemetry: gaps stay gaps."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from seatrial.core.model.gates.telemetry import Series, Telemetry


def series(*instants: float, gpu: str = "GPU-1", name: str = "load") -> Series:
    return Series(name=name, node="gpu-1", gpu=gpu, gap_seconds=60.0, points=tuple((at, 1.0) for at in instants))


def up_to(found: Series, until: float) -> tuple[tuple[float, float], ...]:
    return tuple(each for each in found.points if each[0] <= until)


def test_time_between_two_scrapes_is_covered() -> None:
    assert series(0.0, 30.0, 60.0).covered(0.0, 60.0) == ((0.0, 60.0),)


def test_a_gap_is_not_covered() -> None:
    assert series(0.0, 30.0, 300.0, 330.0).covered(0.0, 330.0) == ((0.0, 30.0), (300.0, 330.0))


def test_only_what_was_asked_for_counts() -> None:
    assert series(0.0, 60.0, 120.0).covered(30.0, 90.0) == ((30.0, 90.0),)


def test_one_point_or_none_covers_nothing() -> None:
    assert series(5.0).covered(0.0, 10.0) == ()
    assert series().covered(0.0, 10.0) == ()


def test_a_node_is_watched_as_long_as_its_least_watched_gpu() -> None:
    told = Telemetry(since=0.0, until=120.0, series=(series(0.0, 60.0, 120.0), series(0.0, 60.0, gpu="GPU-2")))
    assert told.covered_seconds("load", "gpu-1") == 60.0


def test_a_node_that_nobody_tells_of_is_not_watched() -> None:
    assert Telemetry(since=0.0, until=120.0).covered_seconds("load", "gpu-1") == 0.0


def test_looks_that_begin_where_the_last_was_watched_to_lose_nothing() -> None:
    whole = series(*(30.0 * number for number in range(21)))
    at, covered = 0.0, 0.0
    for until in (45.0, 100.0, 350.0, 351.0, 600.0):
        told = Telemetry(since=at, until=until, series=(replace(whole, points=up_to(whole, until)),))
        covered += told.covered_seconds("load", "gpu-1")
        at = told.watched_until("load", "gpu-1")
    assert (covered, at) == (600.0, 600.0)


def test_a_node_is_watched_no_further_than_its_quietest_gpu() -> None:
    told = Telemetry(since=10.0, until=100.0, series=(series(0.0, 60.0, 90.0), series(0.0, 30.0, gpu="GPU-2")))
    assert told.watched_until("load", "gpu-1") == 30.0
    silent = Telemetry(since=10.0, until=100.0, series=(series(0.0, 60.0, 90.0), series(gpu="GPU-2")))
    assert silent.watched_until("load", "gpu-1") == 10.0
    assert Telemetry(since=10.0, until=100.0).watched_until("load", "gpu-1") == 10.0


@given(st.lists(st.floats(0.0, 1_000.0), max_size=30), st.floats(0.0, 1_000.0), st.floats(0.0, 1_000.0))
def test_no_more_is_covered_than_was_asked_for(instants: list[float], one: float, other: float) -> None:
    since, until = min(one, other), max(one, other)
    stretches = series(*sorted(instants)).covered(since, until)
    assert sum(end - start for start, end in stretches) <= until - since + 1e-9
    assert all(since <= start < end <= until for start, end in stretches)
