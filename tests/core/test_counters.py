"""How far a counter rose: what was seen, once each, and nothing besides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.core.model.gates import counters
from seatrial.core.model.gates.counters import Increase
from seatrial.core.model.gates.figures import Unmeasured
from seatrial.core.model.gates.telemetry import Series


def series(*points: tuple[float, float]) -> Series:
    return Series(name="ecc-uncorrected-volatile", node="gpu-1", gpu="GPU-1", gap_seconds=45.0, points=points)


def rise(found: Series, since: float = 0.0, until: float = 1_000.0) -> Increase:
    risen = counters.increase(found, since, until)
    assert isinstance(risen, Increase)
    return risen


def test_a_counter_that_stands_still_has_not_risen_however_high_it_stands() -> None:
    assert rise(series((0.0, 40.0), (30.0, 40.0))) == Increase(value=0.0, since=0.0, until=30.0)


def test_one_error_is_one_error_and_not_a_little_more() -> None:
    """Prometheus' own increase() would say 1.11 here: it stretches the rise to the edges of the window."""
    found = rise(series((5.0, 3.0), (35.0, 4.0), (65.0, 4.0), (95.0, 4.0)), since=0.0, until=100.0)
    assert (found.value, found.is_whole) == (1.0, True)


def test_a_fall_is_a_restart_that_counts_from_nought() -> None:
    found = rise(series((0.0, 5.0), (30.0, 7.0), (60.0, 1.0), (90.0, 2.0)))
    assert (found.value, found.restarts, found.is_whole) == (4.0, (60.0,), False)


def test_a_rise_over_a_gap_is_seen_and_is_the_least_it_was() -> None:
    found = rise(series((0.0, 5.0), (300.0, 7.0), (330.0, 7.0)))
    assert (found.value, found.gap_seconds, found.is_whole) == (2.0, 300.0, False)


def test_what_rose_between_two_stretches_is_not_lost() -> None:
    found = series((0.0, 0.0), (30.0, 1.0), (60.0, 3.0), (90.0, 3.0))
    assert rise(found, 0.0, 45.0).value + rise(found, 45.0, 90.0).value == 3.0


def test_a_counter_that_is_first_seen_may_be_years_old() -> None:
    assert rise(series((50.0, 900.0), (80.0, 900.0))).value == 0.0


@pytest.mark.parametrize(("points", "seen"), [((), "no sample"), (((5.0, 1.0),), "one sample")])
def test_less_than_two_samples_are_no_measurement(points: tuple[tuple[float, float], ...], seen: str) -> None:
    found = counters.increase(series(*points), 0.0, 10.0)
    assert isinstance(found, Unmeasured)
    assert (found.gpu, found.node) == ("GPU-1", "gpu-1")
    assert seen in found.why


@given(st.lists(st.integers(0, 50), min_size=2, max_size=30), st.integers(1, 28))
def test_cutting_a_stretch_in_two_adds_up_to_the_whole(values: list[int], cut: int) -> None:
    found = series(*((30.0 * number, float(value)) for number, value in enumerate(values)))
    end = 30.0 * (len(values) - 1)
    at = min(30.0 * cut, end)
    parts = [counters.increase(found, 0.0, at), counters.increase(found, at, end)]
    assert sum(each.value for each in parts if isinstance(each, Increase)) == rise(found, 0.0, end).value


def test_a_new_code_is_told_once_and_an_old_one_not_at_all() -> None:
    found = series((0.0, 31.0), (30.0, 31.0), (60.0, 48.0), (90.0, 48.0), (120.0, 0.0), (150.0, 48.0))
    assert counters.told(found, 0.0, 200.0) == ((60.0, 48), (150.0, 48))
