"""A driver manager killed behind a write, on a real API server: whoever starts next brings the node to the same end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.cli.exit_codes import ExitCode
from seatrial.core.node.driver_manager import labels
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.driver_manager.manager import Berth, berth, by_its_label

pytestmark = pytest.mark.cluster

PREFIX = "killed"
WRITES = ("the pause", "the cordon", "an eviction", "the forgotten state", "a module", "all modules", "a mount")


@pytest.fixture(scope="module")
def fleet(cluster: ControlPlane) -> Iterator[Fleet]:
    spec = FleetSpec(prefix=PREFIX, node_count=1, has_device_plugin=True, has_feature_discovery=True)
    made = by_its_label(make_fleet(cluster, spec))
    yield made
    made.remove()


@pytest.fixture
def ship(fleet: Fleet, tmp_path: Path) -> Iterator[Berth]:
    with berth(fleet, fleet.nodes[0], tmp_path) as made:
        yield made


@pytest.mark.parametrize("write", range(1, len(WRITES) + 1), ids=WRITES)
def test_killed_behind_a_write_the_next_start_puts_everything_right(ship: Berth, write: int) -> None:
    job = ship.fleet.add_job_pod(ship.node, name=f"train-{write}")
    code, said = ship.run(kill_after=write)
    assert code == -signal.SIGKILL, said
    assert labels.MARK in ship.labels().values(), "it was killed in the middle"
    code, said = ship.run()
    assert code == ExitCode.OK, said
    ship.check_put_back()
    assert not ship.is_cordoned
    assert ship.modules() == set()
    ship.wait_operands()
    ship.fleet.plane.kubectl("delete", "namespace", job.namespace, "--wait=false")


def test_an_admins_cordon_outlives_a_kill(ship: Berth) -> None:
    ship.fleet.cordon(ship.node)
    code, said = ship.run(kill_after=2)
    assert code == -signal.SIGKILL, said
    assert ship.run()[0] == ExitCode.OK
    assert ship.is_cordoned
    ship.check_put_back()
