"""A fleet of twenty whose controller is killed after each of ten writes. `make crashes` plays it."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.conftest import RolloutMaker
from tests.e2e.test_upgrade import KILLS, check_killed

pytestmark = pytest.mark.cluster


def test_a_controller_killed_after_each_of_ten_writes_comes_to_the_same_end(
    cluster: ControlPlane, make_rollout: RolloutMaker, tmp_path: Path
) -> None:
    check_killed(KILLS, cluster, make_rollout, tmp_path)
