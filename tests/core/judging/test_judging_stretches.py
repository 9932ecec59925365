"""Stretches: where one ends the next begins, whoever is silent holds nobody up, and nothing told is nothing watched."""

from __future__ import annotations

import pytest

from seatrial.core.judging.exposure import UTILISATION
from seatrial.core.judging.stretches import LACKS_MAX, LONGEST_SECONDS, stretch_of
from seatrial.core.model.gates.exposed import Watch
from seatrial.core.model.gates.figures import Unmeasured
from seatrial.core.model.gates.telemetry import Telemetry
from tests.core.judging.upgrades import a_series, some_telemetry

ECC = "ecc-uncorrected-volatile"


def test_a_stretch_ends_at_the_last_sample_that_all_have() -> None:
    series = (a_series(UTILISATION, "c", values=[50.0] * 11), a_series(UTILISATION, "k1", values=[50.0] * 9))
    found = stretch_of(some_telemetry(*series, until=630.0), ["c", "k1"])
    assert found.until == 8 * 60.0
    assert [each.seconds for each in found.nodes] == [480.0, 480.0]


def test_a_node_that_tells_nothing_any_more_holds_nobody_up_and_was_not_watched() -> None:
    silent = a_series(UTILISATION, "k1", values=[50.0], start=-60.0)
    found = stretch_of(some_telemetry(a_series(UTILISATION, "c", values=[50.0] * 11), silent, until=630.0), ["c", "k1"])
    assert (found.until, found.of("k1").seconds) == (600.0, 0.0)


def test_a_canary_one_of_whose_gpus_is_gone_was_not_watched() -> None:
    gone = a_series(UTILISATION, "c", values=[], gpu="g1")
    found = stretch_of(some_telemetry(a_series(UTILISATION, "c", values=[50.0] * 11), gone, until=630.0), ["c"])
    assert found.of("c").seconds == 0.0


def test_where_nobody_tells_anything_the_time_is_kept_open_for_a_while_and_then_given_up() -> None:
    assert stretch_of(some_telemetry(until=LONGEST_SECONDS - 1), ["c"]).until == 0.0
    given_up = stretch_of(some_telemetry(until=LONGEST_SECONDS), ["c"])
    assert given_up.until == LONGEST_SECONDS
    assert given_up.of("c") == Watch(node="c")


def test_events_are_counted_up_to_its_end_and_no_further() -> None:
    use, errors = a_series(UTILISATION, values=[50.0] * 11), a_series(ECC, values=[0] * 5 + [1] * 6 + [2] * 5)
    found = stretch_of(some_telemetry(use, errors, until=1000.0), ["c"])
    assert found.until == 600.0
    assert found.of("c").events_of(ECC) == pytest.approx((1, 1 / 6))
    assert found.has_events


def test_why_something_was_not_told_stays_with_its_node_and_a_few_say_it_all() -> None:
    gpus = [f"g{number}" for number in range(8)]
    lacking = [Unmeasured(name=UTILISATION, node="c", gpu=gpu, why="its exporter is silent") for gpu in gpus]
    lacking += [Unmeasured(name="power", node="c", why="nobody asks"), Unmeasured(name="xid", node="k1", why="gone")]
    found = stretch_of(Telemetry(since=0.0, until=60.0, unmeasured=tuple(lacking)), ["c", "k1"])
    assert found.of("c").lacks == tuple(f"load of {gpu}: its exporter is silent" for gpu in gpus[:LACKS_MAX])
    assert found.of("k1").lacks == ("xid: gone",)
