"""Evidence: added once however often it is told, and small enough to be kept in a status."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from seatrial.core.judging.evidence import exposed_of, measured, watched
from seatrial.core.judging.exposure import UTILISATION
from seatrial.core.judging.stretches import stretch_of
from seatrial.core.model.gates.exposed import Exposed, Stretch
from seatrial.core.model.gates.telemetry import Series
from tests.core.judging.upgrades import a_round, a_series, an_upgrade, some_telemetry

ECC = "ecc-uncorrected-volatile"


def test_a_round_that_is_added_again_after_a_crash_changes_nothing() -> None:
    once = an_upgrade(rounds=5)
    again = a_round(8, {"c": 1.0, "k1": 1.0, "k2": 1.0, "k3": 1.0})
    assert measured(once, again) == once


def begun(*controls: str) -> Exposed:
    return exposed_of(["c"], controls)


def seen_of(*series: Series, since: float = 0.0, until: float = 7200.0) -> Stretch:
    nodes = {each.node for each in series}
    return stretch_of(some_telemetry(*series, since=since, until=until), nodes)


def test_a_stretch_of_telemetry_that_is_told_again_changes_nothing() -> None:
    seen = seen_of(a_series(UTILISATION, values=[80.0] * 61), a_series(ECC, values=[0] * 30 + [1] * 31))
    once = watched(begun("k1"), seen, with_pods=["c"])
    assert once.rare[0].events == 1
    assert once.watched_seconds == pytest.approx(3600.0)
    assert watched(once, seen, with_pods=["c"]) == once


def test_a_stretch_that_does_not_follow_the_last_one_is_not_added() -> None:
    use = a_series(UTILISATION, values=[80.0] * 121)
    once = watched(begun(), seen_of(use, until=3600.0), with_pods=["c"])
    assert watched(once, seen_of(use, since=3000.0), with_pods=["c"]) == once, "some of it is in there"
    assert watched(once, seen_of(use, since=3660.0), with_pods=["c"]) == once, "something is missing in between"


def test_stretches_that_follow_each_other_count_as_one() -> None:
    use, errors = a_series(UTILISATION, values=[80.0] * 121), a_series(ECC, values=[0] * 30 + [1] * 91)
    whole = watched(begun(), seen_of(use, errors), with_pods=["c"])
    first = watched(begun(), seen_of(use, errors, until=3600.0), with_pods=["c"])
    both = watched(first, seen_of(use, errors, since=3600.0), with_pods=["c"])
    assert both.loaded_gpu_hours == pytest.approx(whole.loaded_gpu_hours)
    assert both.rare[0].events == whole.rare[0].events == 1


def test_nodes_of_later_waves_add_events_and_hours_and_no_hours_of_bake() -> None:
    series = [a_series(UTILISATION, node, values=[80.0] * 61) for node in ("c", "w1", "w2")]
    series += [a_series(ECC, node, values=[0] * 61) for node in ("c", "w1", "w2", "k1")]
    found = watched(replace(begun("k1"), followers=("w1", "w2")), seen_of(*series), with_pods=["c", "w1"])
    assert found.watched_seconds == pytest.approx(3600.0)
    rare = found.rare[0]
    assert (rare.watched_hours, rare.control_hours) == pytest.approx((3.0, 1.0))
    assert rare.loaded_hours == pytest.approx(2.0)


def test_a_control_that_follows_in_a_wave_is_a_control_no_more() -> None:
    found = watched(
        replace(begun("k1"), followers=("k1",)), seen_of(a_series(ECC, "k1", values=[0, 1, 1])), with_pods=[]
    )
    assert (found.rare[0].events, found.rare[0].control_events) == (1, 0)


def test_the_evidence_of_a_canary_of_eight_figures_fits_into_a_status() -> None:
    found = an_upgrade(rounds=300)
    told = json.dumps(asdict(found))
    assert len(told) * 8 < 24_000
    assert json.loads(told)["comparisons"][0]["round"] == 303
