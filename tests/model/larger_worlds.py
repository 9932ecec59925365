"""Worlds that take a minute or two each: `make explore` walks them, in addition to the others here."""

from __future__ import annotations

import pytest

from seatrial.core.model.campaign import Via
from seatrial.sim.nodes import Fate
from seatrial.sim.outside import GateFate
from seatrial_lab.explore.coarse import AT_ONCE
from seatrial_lab.explore.explore import explore
from tests.builders import NEW
from tests.model import test_explore_campaign as campaigns
from tests.model.test_explore import BROKEN, RESTARTED, assert_all_is_well, limits, some_nodes

pytestmark = pytest.mark.slow


def test_three_nodes_at_a_limit_of_two() -> None:
    assert_all_is_well(explore(some_nodes(3), limits(2)), states_min=280_000)


def test_three_nodes_of_which_one_has_a_driver_that_fails_and_no_failure_is_tolerated() -> None:
    found = explore(some_nodes(3), limits(2, failed_max=0), fates={"n1": BROKEN})
    assert_all_is_well(found, states_min=150_000)


def test_three_nodes_of_which_an_admin_cordoned_one() -> None:
    assert_all_is_well(explore(some_nodes(3, cordoned="n2"), limits(2)), states_min=190_000)


def test_four_nodes_at_a_limit_of_two_whose_drivers_are_only_restarted() -> None:
    found = explore(some_nodes(4, **RESTARTED), limits(2), restarts_max=0)
    assert_all_is_well(found, states_min=430_000)


def test_four_nodes_at_a_limit_of_two_whose_drivers_reload_at_once() -> None:
    found = explore(some_nodes(4), limits(2), world=AT_ONCE, restarts_max=0)
    assert_all_is_well(found, states_min=130_000)


def test_three_nodes_and_a_controller_that_starts_again_twice() -> None:
    found = explore(some_nodes(3), limits(2), restarts_max=2, state_limit=4_000_000)
    assert_all_is_well(found, states_min=400_000)


def test_three_nodes_with_gpu_pods_at_a_limit_of_two() -> None:
    found = explore(some_nodes(3, gpu_pod_count=1), limits(2), state_limit=4_000_000)
    assert_all_is_well(found, states_min=350_000)


def test_four_nodes_at_a_limit_of_two_and_a_controller_that_starts_again() -> None:
    found = explore(some_nodes(4, **RESTARTED), limits(2), world=AT_ONCE, state_limit=4_000_000)
    assert_all_is_well(found, states_min=200_000)


def test_four_nodes_of_which_one_has_a_driver_that_fails() -> None:
    found = explore(
        some_nodes(4, **RESTARTED), limits(2, failed_max=0), fates={"n2": BROKEN}, restarts_max=0, state_limit=4_000_000
    )
    assert_all_is_well(found, states_min=100_000)


# ── campaigns ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("via", campaigns.VIAS)
@pytest.mark.parametrize("fates", [{}, campaigns.FAILING], ids=["passing", "failing"])
def test_a_campaign_undone_at_any_moment_by_a_controller_that_starts_again(
    via: Via, fates: dict[str, GateFate]
) -> None:
    undone = ("somebody wants it undone", campaigns.a_wish(via, abort="not today"))
    found = campaigns.walk(2, via, gate_fates=fates, changes=(undone,), world=AT_ONCE, has_memory=True)
    assert_all_is_well(found, states_min=2_000)


def test_two_canaries_of_which_one_fails_and_a_node_more() -> None:
    fates = {"n2": Fate(driver_fails_on=NEW.version)}
    found = campaigns.walk(3, wish=campaigns.a_wish(canaries=2), fates=fates, world=AT_ONCE)
    assert_all_is_well(found, states_min=10_000)


@pytest.mark.parametrize("has_pools", [False, True], ids=["ClusterPolicy", "two NVIDIADrivers"])
def test_a_campaign_over_three_nodes_and_a_controller_that_starts_again_twice(has_pools: bool) -> None:
    found = campaigns.walk(3, Via.GIT, has_pools=has_pools, restarts_max=2)
    assert_all_is_well(found, states_min=25_000)


def test_a_campaign_of_nvidias_controller_undone_at_any_moment() -> None:
    changes = campaigns.CHANGES["undone"]
    found = campaigns.walk(2, outside=campaigns.delegated(), wish=campaigns.slowly(), changes=changes, world=AT_ONCE)
    assert_all_is_well(found, states_min=500)


def test_a_canary_that_fails_under_nvidias_controller() -> None:
    broken = {"n1": Fate(driver_fails_on=NEW.version)}
    found = campaigns.walk(
        3, outside=campaigns.delegated(), wish=campaigns.slowly(), fates=broken, world=AT_ONCE, restarts_max=0
    )
    assert_all_is_well(found, states_min=300)
