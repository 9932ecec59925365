"""A release of the DRA driver's own chart, node by node, on a real API server: the plugins move one visit at a time.

The DaemonSet has the names, labels and strategies of the chart's; its plugins are played by kwok and by the testbed,
which publishes their ResourceSlices. The new template is put there by hand, as helm would.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial_lab.testbed import controller_process
from seatrial_lab.testbed.nodes import dra
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.conftest import DRIVERS, Play
from tests.e2e.promises import most_under_way

pytestmark = pytest.mark.cluster

NEWER = "v25.12.1"


@pytest.fixture(scope="module")
def fleet(cluster: ControlPlane) -> Iterator[Fleet]:
    spec = FleetSpec(prefix="plugin", node_count=3, driver_version=DRIVERS[0], reload_seconds=0.5, has_dra=True)
    made = make_fleet(cluster, spec)
    yield made
    made.remove()
    cluster.apply(dra.shared_objects())


@pytest.fixture(scope="module")
def account(cluster: ControlPlane, fleet: Fleet) -> Path:
    return controller_process.identity(cluster, "plugin", has_releases=True)


def uids(fleet: Fleet) -> dict[str, str]:
    return {node: pod["metadata"]["uid"] for node, pod in fleet.dra_pods().items()}


def versions(fleet: Fleet) -> dict[str, str]:
    pods = fleet.dra_pods().items()
    return {node: pod["spec"]["containers"][0]["image"].rpartition(":")[2] for node, pod in pods}


def test_plugins_that_roll_by_themselves_are_told_before_anything_begins(play: Play, fleet: Fleet) -> None:
    with play("plugin-rolls", target=DRIVERS[0], components={"dra_driver": NEWER}) as stage:
        stage.wait(lambda: "rolls-by-itself" in str(stage.status()), "the rollout to say why it waits")
        assert "kubeletPlugin.updateStrategy.type" in stage.run("status").stdout
    assert set(versions(fleet).values()) == {dra.VERSION}


def test_each_plugin_moves_once_in_a_visit_under_a_cordon_and_its_driver_stays(play: Play, fleet: Fleet) -> None:
    before = uids(fleet)
    drivers = {node: pod["metadata"]["uid"] for node, pod in fleet.driver_pods().items()}
    fleet.plane.apply(dra.shared_objects(strategy="OnDelete"))
    one = {"maxParallelUpgrades": 1, "maxUnavailable": 1}
    with play("plugin-moves", target=DRIVERS[0], components={"dra_driver": NEWER}, limits=one) as stage:
        stage.wait(lambda: all(stage.state(node) == "upgrade-done" for node in fleet.nodes), "every node to be seen")
        assert uids(fleet) == before, "the strategy alone moves nobody"
        fleet.plane.apply(dra.shared_objects(NEWER, strategy="OnDelete"))
        stage.wait_upgraded()
        assert most_under_way(stage.history) == 1
        assert all(stage.was_cordoned(node) for node in fleet.nodes)
        assert not stage.evictions()
    assert versions(fleet) == dict.fromkeys(fleet.nodes, NEWER)
    assert not set(before.values()) & set(uids(fleet).values())
    assert {node: pod["metadata"]["uid"] for node, pod in fleet.driver_pods().items()} == drivers
