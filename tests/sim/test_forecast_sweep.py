"""Many settings, the same luck."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.core.model.intent import Domain
from seatrial.core.model.policy import Share
from seatrial.sim.forecast.durations import Behaviours
from seatrial.sim.forecast.engine import forecast
from seatrial.sim.forecast.inventory import Inventory, invented
from seatrial.sim.forecast.model import Model
from seatrial.sim.forecast.sweep import AT_ONCE, Setting, band, quantile, sample_of, sweep
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


def test_all_at_once_is_the_shortest() -> None:
    results = sweep(a_fleet(), builders.an_intent(), Behaviours(), (*GRID, AT_ONCE), seeds=range(3), processes=1)
    assert results[-1].seconds(0.5) == min(result.seconds(0.5) for result in results)
