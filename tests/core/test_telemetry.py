"""Telemetry: gaps stay gaps."""

from hypothesis import given
from hypothesis import strategies as st

from seatrial.core.model.gates.telemetry import Series, Telemetry


def series(*instants: float, gpu: str = "GPU-1", name: str = "load") -> Series:
    return Series(name=name, node="gpu-1", gpu=gpu, gap_seconds=60.0, points=tuple((at, 1.0) for at in instants))


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


@given(st.lists(st.floats(0.0, 1_000.0), max_size=30), st.floats(0.0, 1_000.0), st.floats(0.0, 1_000.0))
def test_no_more_is_covered_than_was_asked_for(instants: list[float], one: float, other: float) -> None:
    since, until = min(one, other), max(one, other)
    stretches = series(*sorted(instants)).covered(since, until)
    assert sum(end - start for start, end in stretches) <= until - since + 1e-9
    assert all(since <= start < end <= until for start, end in stretches)
