"""Rare events: what none of them proves, what a few of them prove, and that controls have a say."""

from __future__ import annotations

import math
import random

import pytest

from seatrial.core.judging import rare as rares
from seatrial.core.judging.rare import EXPECTED, expected, log_evidence, most, rises
from seatrial.core.judging.shares import log_gamma_above, log_gamma_below
from seatrial.core.model.gates.exposed import Rare
from tests.core.judging.upgrades import a_series, some_telemetry

ECC = "ecc-uncorrected-volatile"


def seen(events: int, hours: float, control_events: int = 0, control_hours: float = 0.0) -> Rare:
    return Rare(name=ECC).counted(
        events=events,
        hours=hours,
        loaded_hours=hours,
        control_events=control_events,
        control_hours=control_hours,
    )


@pytest.mark.parametrize(
    ("shape", "x", "share"), [(1.0, 2.0, math.exp(-2.0)), (0.5, 1.0, 0.157299), (2.5, 3.0, 0.306219)]
)
def test_gammas_shares_are_those_of_the_tables(shape: float, x: float, share: float) -> None:
    assert math.exp(log_gamma_above(shape, x)) == pytest.approx(share, rel=1e-4)
    assert math.exp(log_gamma_below(shape, x)) == pytest.approx(1 - share, rel=1e-4)


def test_the_alarm_is_the_mixture_that_it_claims_to_be() -> None:
    """Against sums over multiples of the expected rate above one, with the gamma's weights."""
    events, expected = 2, 0.003
    total = weights = 0.0
    for step in range(6000):
        times = math.exp(step * 0.002)
        weight = times**rares.SHAPE * math.exp(-rares.SCALE * times)
        weights += weight
        total += weight * math.exp(events * math.log(times) - (times - 1) * expected)
    assert rares._log_alarm(events, expected) == pytest.approx(math.log(total / weights), abs=0.02)


def test_none_in_some_hours_bounds_the_rate_by_somewhat_more_than_a_rule_of_three() -> None:
    """One look at 99 % would allow 4.6 / hours; a bound for every look costs a fifth more."""
    assert most(seen(0, 100.0), 0.01) * 100 == pytest.approx(5.59, abs=0.01)
    assert most(seen(0, 200.0), 0.01) == pytest.approx(most(seen(0, 100.0), 0.01) / 2)
    assert most(seen(0, 0.0), 0.01) == math.inf


def test_two_days_of_one_node_exclude_only_gross_breakage() -> None:
    found = seen(0, 48.0 * 8)
    assert 500 < most(found, 0.01) / expected(found) < 1000


def test_exposure_adds_up_over_nodes_and_waves() -> None:
    waves = Rare(name=ECC)
    for _ in range(40):
        waves = waves.counted(events=0, hours=384.0, loaded_hours=384.0)
    assert most(waves, 0.01) == pytest.approx(most(seen(0, 40 * 384.0), 0.01))
    assert most(waves, 0.01) / expected(waves) < 20


def test_idle_hours_do_not_tighten_the_bound() -> None:
    idle = seen(0, 10.0).counted(events=0, hours=1000.0, loaded_hours=0.0)
    assert most(idle, 0.01) == most(seen(0, 10.0), 0.01)


def test_one_event_is_no_alarm_and_three_in_a_day_are() -> None:
    one, three = seen(1, 24.0 * 8), seen(3, 24.0 * 8)
    assert log_evidence(one) < math.log(1000) < log_evidence(three)


def test_more_quiet_hours_never_make_an_alarm() -> None:
    found = [log_evidence(seen(2, hours)) for hours in (1.0, 10.0, 100.0, 1000.0, 10_000.0)]
    assert found == sorted(found, reverse=True)


def test_a_bad_day_of_the_whole_room_is_no_upgrades() -> None:
    alone, together = seen(4, 192.0, 0, 576.0), seen(4, 192.0, 12, 576.0)
    assert log_evidence(together) < 0 < math.log(1000) < log_evidence(alone)


def test_controls_alone_can_show_a_higher_rate() -> None:
    """A kind of event that is frequent everywhere, and five times as frequent on the canary."""
    found = Rare(name=ECC)
    for _ in range(30):
        found = found.counted(events=5, hours=8.0, control_events=3, control_hours=24.0)
    assert log_evidence(found) > math.log(1000)


def test_sound_rates_are_rarely_taken_for_higher_ones_at_any_look() -> None:
    chance, alarms, count = random.Random(16), 0, 400  # noqa: S311  a simulation
    hours = 0.2 / EXPECTED[ECC]
    for _ in range(count):
        found = Rare(name=ECC)
        for _ in range(40):
            events = sum(chance.random() < 0.02 for _ in range(10))
            found = found.counted(events=events, hours=hours, loaded_hours=hours)
            if events and log_evidence(found) >= math.log(10):
                alarms += 1
                break
    assert alarms <= 0.1 * count


def test_a_rise_between_two_looks_is_one_event_however_high() -> None:
    counter = a_series(ECC, values=[0, 0, 5000, 5000, 5001])
    assert rises(some_telemetry(counter), ECC, ["c"], 0.0) == pytest.approx((2, 4 / 60))


def test_a_counter_that_was_begun_anew_is_no_event_and_its_next_rise_is() -> None:
    assert rises(some_telemetry(a_series(ECC, values=[7, 7, 0, 0, 3])), ECC, ["c"], 0.0)[0] == 1


def test_what_was_counted_before_is_not_counted_again() -> None:
    counter = a_series(ECC, values=[0, 1, 1, 2])
    assert rises(some_telemetry(counter), ECC, ["c"], 90.0)[0] == 1
    assert rises(some_telemetry(counter), ECC, ["other"], 0.0) == (0, 0.0)
