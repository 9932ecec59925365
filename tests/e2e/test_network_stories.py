"""NVIDIA's scenarios of the network driver, on a real API server without a Network Operator; the reference's numbers.

The DaemonSet is ours (testbed/nodes/network.py), and nobody has a NicClusterPolicy: then the state stands under
NVIDIA's own key as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed import controller_process, waiting
from seatrial_lab.testbed.nodes import network
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.nodes.network import NetworkDriver
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.conftest import DRIVERS, TIMEOUT_SECONDS, Play

pytestmark = pytest.mark.cluster

BEFORE, AFTER = "24.10-0.7.0.0-0", "25.04-0.6.0.0-0"


@pytest.fixture(scope="module")
def fleet(cluster: ControlPlane) -> Iterator[Fleet]:
    made = make_fleet(cluster, FleetSpec(prefix="nic", node_count=2, driver_version=DRIVERS[0], reload_seconds=0.5))
    yield made
    made.remove()


@pytest.fixture(scope="module")
def driver(fleet: Fleet) -> Iterator[NetworkDriver]:
    with network.installed(fleet.plane, fleet.nodes, version=BEFORE, has_policy=False) as made:
        yield made


@pytest.fixture(scope="module")
def account(cluster: ControlPlane, driver: NetworkDriver) -> Path:
    return controller_process.identity(cluster, "nic", has_network=True)


def test_its_state_stands_under_both_keys_and_the_gpu_driver_stays_scenarios_1_2_4(
    play: Play, fleet: Fleet, driver: NetworkDriver
) -> None:
    drivers = {node: pod["metadata"]["uid"] for node, pod in fleet.driver_pods().items()}
    running = DRIVERS[0]
    with play("nic-alone", target=running, components={"mofed": AFTER}) as stage:
        stage.wait(lambda: all(stage.state(node) == "upgrade-done" for node in fleet.nodes), "every node to be seen")
        driver.set_version(AFTER)
        stage.wait_upgraded()
        for node in fleet.nodes:
            labels = stage.node(node)["labels"]
            assert labels[keys.NETWORK_STATE_LABEL] == labels[keys.NVIDIA_NETWORK_STATE_LABEL] == "upgrade-done"
            assert "drain-required" in stage.history.states(node)
        assert driver.versions() == dict.fromkeys(fleet.nodes, AFTER)
    assert {node: pod["metadata"]["uid"] for node, pod in fleet.driver_pods().items()} == drivers


def test_a_driver_that_waits_to_be_let_in_is_let_in_on_an_empty_node_scenarios_37_38_73(
    play: Play, fleet: Fleet, driver: NetworkDriver
) -> None:
    asking, other = fleet.nodes
    pods = {node: pod["metadata"]["uid"] for node, pod in driver.pods().items()}
    web = fleet.add_workload("web", replicas=2, gpus_per_pod=0)
    with play("nic-asked", target=DRIVERS[0], components={"mofed": AFTER}) as stage:
        stage.wait(lambda: all(stage.state(node) == "upgrade-done" for node in fleet.nodes), "every node to be seen")
        stage.annotate(asking, f"{keys.NETWORK_SAFE_LOAD_ANNOTATION}=true")
        waiting.wait_for(
            lambda: keys.NETWORK_SAFE_LOAD_ANNOTATION not in stage.node(asking)["annotations"],
            what="the driver to be let in",
            timeout_seconds=TIMEOUT_SECONDS,
            describe=lambda: stage.why(asking),
        )
        stage.wait_upgraded(asking)
        assert {node: pod["metadata"]["uid"] for node, pod in driver.pods().items()} == pods, "no pod was deleted"
        assert not stage.was_cordoned(other)
        assert all(pod["spec"]["nodeName"] == other for pod in fleet.pods_of(web) if "nodeName" in pod["spec"])
    stage.remove(web)
