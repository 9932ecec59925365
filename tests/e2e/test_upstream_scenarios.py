"""NVIDIA's own test scenarios that need an API server, played on a real one; the number is that of the reference.

Scenarios that another file plays anyway bear their number there: the last test sees that none is missing. Where the
outcome is another on purpose, docs/deviations.md says so.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed import waiting
from seatrial_lab.testbed.neighbours import maintenance
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.conftest import DRIVERS, TIMEOUT_SECONDS, Play, Stage
from tests.e2e.promises import PATH, driver_restarts

pytestmark = pytest.mark.cluster

NODES = 4
OURS, THEIRS = "seatrial.dev", "nvidia.network.operator"
NUMBERS = frozenset(
    {1, 2, 4, 11, 14, 16, 17, 19, 20, 22, 23, 37, 38, 40, 41, 43, 50, 52, 53, 73, 74, 76, 80, 92, 94, 95, 98, 99}
)


@pytest.fixture(scope="module")
def fleet(cluster: ControlPlane) -> Iterator[Fleet]:
    """The fleet of all scenarios."""
    spec = FleetSpec(prefix="rule", node_count=NODES, driver_version=DRIVERS[0], reload_seconds=0.5)
    made = make_fleet(cluster, spec)
    yield made
    made.remove()


def cordons(stage: Stage, node: str) -> list[bool]:
    """Whether a node was cordoned, each time that changed."""
    return [key for key, _ in groupby(moment.is_cordoned for moment in stage.history.nodes() if moment.name == node)]


def test_states_read_as_written_and_only_our_own_cordon_is_lifted_scenarios_1_2_4_40_50_76_80(
    play: Play, fleet: Fleet
) -> None:
    *free, cordoned = fleet.nodes
    fleet.cordon(cordoned)
    with play("plain") as stage:
        # Until the controller has seen them, the nodes are in no state at all; then they are done, on the old driver.
        stage.wait(lambda: all(stage.state(node) == "upgrade-done" for node in fleet.nodes), "every node to be seen")
        fleet.set_driver_version(stage.target)
        stage.wait_upgraded()
        waiting.wait_for(
            lambda: stage.status().get("counts") == {"upgrade-done": NODES},
            what="every node to be counted once",
            timeout_seconds=TIMEOUT_SECONDS,
            describe=lambda: str(stage.status()),
        )
        for node in fleet.nodes:
            assert tuple(stage.history.states(node)) == PATH
            seen = stage.node(node)
            assert seen["labels"][keys.STATE_LABEL] == seen["labels"][keys.NVIDIA_STATE_LABEL] == "upgrade-done"
            assert stage.record(node)["phase"] == "upgrade-done"
        assert {node: cordons(stage, node) for node in free} == {node: [False, True, False] for node in free}
        assert cordons(stage, cordoned) == [True]
    assert set(fleet.driver_versions().values()) == {stage.target}
    fleet.uncordon(cordoned)


def set_places(fleet: Fleet, node: str, count: int) -> None:
    """Say how many pods a node has room for."""
    patch = json.dumps({"status": {"allocatable": {"pods": str(count)}}})
    fleet.plane.kubectl("patch", "node", node, "--subresource=status", "--type=merge", "-p", patch)


def test_a_driver_pod_that_finds_no_place_holds_its_own_node_and_no_other_scenarios_41_43(
    play: Play, fleet: Fleet
) -> None:
    *others, full = fleet.nodes
    set_places(fleet, full, 1)
    fleet.delete_driver_pod(full)
    waiting.wait_for(
        lambda: full not in fleet.driver_pods(),
        what="the driver pod to be without a node",
        timeout_seconds=TIMEOUT_SECONDS,
    )
    with play("full") as stage:
        fleet.set_driver_version(stage.target)
        stage.wait_upgraded(*others)
        stage.wait_held({full: "driver-pod-missing"})
        assert stage.state(full) == "upgrade-done"
        assert not stage.was_cordoned(full)
        assert driver_restarts(stage.history, full) == []
        set_places(fleet, full, 250)
        stage.wait_upgraded(full)
    assert set(fleet.driver_versions().values()) == {stage.target}


@pytest.fixture
def maintained(cluster: ControlPlane) -> Iterator[ControlPlane]:
    """The control plane with the definition of NodeMaintenances; none is left behind."""
    maintenance.load_crd(cluster)
    yield cluster
    cluster.kubectl("delete", maintenance.RESOURCE, "--all", "-n", "default")


def asked_for(cluster: ControlPlane) -> dict[str, dict[str, Any]]:
    """What the maintenance operator is asked for, by the name of the request."""
    found = cluster.get(maintenance.RESOURCE, "-n", "default")["items"]
    return {each["metadata"]["name"]: each["spec"] for each in found}


def test_a_maintenance_operator_empties_the_nodes_scenarios_92_94_95_98_99(
    play: Play, fleet: Fleet, maintained: ControlPlane
) -> None:
    *own, shared = fleet.nodes
    names = {node: f"nvidia-operator-{node}" for node in fleet.nodes}
    theirs = {
        "apiVersion": maintenance.API_VERSION,
        "kind": maintenance.KIND,
        "metadata": {"name": names[shared], "namespace": "default"},
        "spec": {"nodeName": shared, "requestorID": THEIRS},
    }
    maintained.apply([theirs])
    drain = {"enable": True, "podSelector": "tier!=storage"}
    with play("maintenance", maintenance={"requestorID": OURS}, drain=drain) as stage:
        fleet.set_driver_version(stage.target)
        stage.wait_held(dict.fromkeys(fleet.nodes, "maintenance-pending"))
        found = asked_for(maintained)
        assert found.keys() == set(names.values())
        for node in own:
            spec = found[names[node]]
            assert (spec["requestorID"], spec["nodeName"], spec["cordon"]) == (OURS, node, True)
            selector = set(spec["drainSpec"]["podSelector"].split(","))
            assert selector == {"tier!=storage", "nvidia.com/gpu-driver-upgrade-drain.skip!=true"}
        assert found[names[shared]]["requestorID"] == THEIRS
        assert found[names[shared]]["additionalRequestors"] == [OURS]
        assert {stage.state(node) for node in fleet.nodes} == {"node-maintenance-required"}
        assert [node for node in fleet.nodes if stage.was_cordoned(node)] == [], "cordoning is the operator's"

        for node in fleet.nodes:  # what the operator does
            fleet.cordon(node)
            maintenance.finish(maintained, names[node])
        stage.wait_upgraded()
        waiting.wait_for(
            lambda: asked_for(maintained).keys() == {names[shared]},
            what="our own requests to be gone",
            timeout_seconds=TIMEOUT_SECONDS,
            describe=lambda: str(asked_for(maintained)),
        )
        waiting.wait_for(
            lambda: not asked_for(maintained)[names[shared]].get("additionalRequestors"),
            what="our name to be off the request of others",
            timeout_seconds=TIMEOUT_SECONDS,
            describe=lambda: str(asked_for(maintained)),
        )
        for node in fleet.nodes:
            path = ["upgrade-required", "node-maintenance-required", *PATH[5:]]
            assert stage.states_from(node, "upgrade-required") == path
            assert cordons(stage, node)[-1], "uncordoning is the operator's"
            fleet.uncordon(node)
    assert set(fleet.driver_versions().values()) == {stage.target}


def test_every_scenario_that_needs_an_api_server_is_played() -> None:
    files = sorted(Path(__file__).parent.glob("test_*.py"))
    found = (node for file in files for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    names = [node.name for node in found if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    told = [match[1] for name in names if (match := re.search(r"_scenarios?((?:_\d+)+)$", name))]
    assert NUMBERS - {int(number) for text in told for number in text.split("_")[1:]} == set()
