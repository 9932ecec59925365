"""Worlds that take up to a minute each: `make explore` walks them, in addition to those of test_explore.py."""

from __future__ import annotations

import pytest

from seatrial.sim.explore import AT_ONCE, explore
from tests.model.test_explore import BROKEN, RESTARTED, assert_all_is_well, limits, some_nodes

pytestmark = pytest.mark.slow


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
