"""Many settings, the same luck; and the advice that follows from them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.core.model.intent import Domain
from seatrial.core.model.policy import Share
from seatrial.sim.forecast.advice import advise
from seatrial.sim.forecast.durations import Behaviours
from seatrial.sim.forecast.engine import Model, forecast
from seatrial.sim.forecast.inventory import Inventory, invented
from seatrial.sim.forecast.sweep import AT_ONCE, Result, Sample, Setting, band, quantile, sample_of, sweep
from seatrial.sim.nodes import new_node
from tests import builders


def a_fleet(count: int = 24) -> Inventory:
    return invented(count, gpus_per_node=8, pods_per_node=1, target=builders.NEW.version)


GRID = tuple(Setting(many, Share.parse(share)) for many in (1, 2, 6, 0) for share in ("1", "10%", "25%", "100%"))


def test_every_setting_is_what_a_forecast_of_it_alone_gives() -> None:
    inventory, intent = a_fleet(), builders.an_intent(failed_max=2)
    behaviours = Behaviours(failure_rate=0.05)
    results = sweep(inventory, intent, behaviours, GRID, seeds=range(6), processes=1)
    model = Model(inventory, intent, behaviours)
    for result in results:
        alone = [sample_of(forecast(model, seed, limits=result.setting.limits)) for seed in range(6)]
        assert result.samples == tuple(alone), result.setting


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_run_is_reused_only_where_it_would_be_repeated(data: st.DataObject) -> None:
    nodes = [
        new_node(
            f"n{number}",
            running=builders.OLD,
            wanted=builders.NEW,
            is_cordoned=data.draw(st.integers(0, 3)) == 0,
            gpu_pod_count=data.draw(st.integers(0, 2)),
            labels={"rack": data.draw(st.sampled_from("ab"))},
        )
        for number in range(data.draw(st.integers(1, 9)))
    ]
    domains = data.draw(
        st.sampled_from(
            [(), (Domain(label="rack", is_unit=True),), (Domain(label="rack", unavailable_max=Share(amount=1)),)]
        )
    )
    inventory = Inventory(nodes={node.name: node for node in nodes})
    intent = builders.an_intent(failed_max=data.draw(st.integers(0, 9)), domains=domains)
    behaviours = Behaviours(failure_rate=data.draw(st.sampled_from([0.0, 0.3])))
    seed = data.draw(st.integers(0, 99))
    grid = tuple(Setting(many, Share(amount=share)) for many in (1, 2, 3, 5, 0) for share in (1, 2, 4, 9))
    model = Model(inventory, intent, behaviours)
    for result in sweep(inventory, intent, behaviours, grid, seeds=[seed], processes=1):
        assert result.samples == (sample_of(forecast(model, seed, limits=result.setting.limits)),), result.setting


def test_two_processes_give_what_one_gives() -> None:
    inventory, intent = a_fleet(), builders.an_intent()
    told: list[tuple[int, int]] = []
    one = sweep(inventory, intent, Behaviours(), GRID, seeds=range(8), processes=1)
    two = sweep(
        inventory,
        intent,
        Behaviours(),
        GRID,
        seeds=range(8),
        processes=2,
        progress=lambda done, of: told.append((done, of)),
    )
    assert one == two
    assert told == [(number, 8) for number in range(1, 9)]


@pytest.mark.parametrize(("share", "value"), [(0.1, 1.0), (0.5, 5.0), (0.9, 9.0), (1.0, 10.0)])
def test_a_quantile_is_one_of_the_values(share: float, value: float) -> None:
    assert quantile([float(number) for number in range(10, 0, -1)], share) == value


def test_the_band_starts_and_ends_where_the_runs_do() -> None:
    model = Model(a_fleet(), builders.an_intent(), Behaviours())
    found = band(model, Setting(4, Share.parse("100%")), range(10))
    assert (found.middle[0], found.middle[-1], found.total) == (20 * 8, 24 * 8, 24 * 8)
    assert all(low <= middle <= high for low, middle, high in zip(found.low, found.middle, found.high, strict=True))


# ── advice ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def a_result(parallel: int, share: str, *, seconds: Sequence[float], least: float, stopped: int = 0) -> Result:
    samples = tuple(
        Sample(
            seconds=each,
            gpu_hours_lost=10.0,
            least_share=least,
            evicted=5,
            failed_count=0,
            is_stopped=number < stopped,
        )
        for number, each in enumerate(seconds)
    )
    return Result(setting=Setting(parallel, Share.parse(share)), samples=samples)


SLOW = a_result(1, "5%", seconds=[7200, 7300], least=0.99)
MIDDLE = a_result(10, "10%", seconds=[720, 800], least=0.9)
QUICK = a_result(25, "25%", seconds=[300, 320], least=0.75)
WHOLE = a_result(0, "100%", seconds=[200, 260], least=0.0)


def test_the_fastest_within_the_buffer_is_taken() -> None:
    advice = advise([SLOW, MIDDLE, QUICK], WHOLE, 0.1)
    assert advice.setting == MIDDLE.setting
    assert advice.text == (
        "Take maxParallelUpgrades 10 with maxUnavailable 10%: 12 min in half of the runs, 13 min 20 s in nine of ten, "
        "never less than 90.0% of the capacity, 10 GPU-hours lost. 25 at a time with 25% would take 5 min, "
        "but leaves 75.0%, and you can spare 10%."
    )


def test_of_two_equally_fast_the_gentler_is_taken() -> None:
    gentler = a_result(9, "10%", seconds=[722, 800], least=0.92)
    assert advise([MIDDLE, gentler], WHOLE, 0.1).setting == gentler.setting


def test_without_a_buffer_a_window_is_advised() -> None:
    advice = advise([SLOW, MIDDLE], WHOLE, 0.0)
    assert advice.setting is None
    assert advice.text == (
        "Take a maintenance window: all nodes at once need 3 min 20 s in half of the runs, 4 min 20 s in nine of ten; "
        "plan the latter. With a buffer of 0 every rolling upgrade takes capacity from somebody."
    )


def test_when_no_setting_is_gentle_enough_the_gentlest_is_named() -> None:
    advice = advise([MIDDLE, QUICK], WHOLE, 0.05)
    assert advice.setting is None
    assert "No setting stays within 5%: the gentlest, 10 at a time, 10% unavailable, leaves 90.0%." in advice.text


def test_a_rollout_that_mostly_stops_is_not_recommended_with_a_duration() -> None:
    stopping = a_result(4, "10%", seconds=[math.inf, math.inf, 500], least=0.95, stopped=2)
    advice = advise([stopping], WHOLE, 0.1)
    assert advice.head == "Do not start yet"
    assert "67%" in advice.text


def test_all_at_once_is_the_shortest() -> None:
    results = sweep(a_fleet(), builders.an_intent(), Behaviours(), (*GRID, AT_ONCE), seeds=range(3), processes=1)
    assert results[-1].seconds(0.5) == min(result.seconds(0.5) for result in results)
