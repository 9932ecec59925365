"""k8s-driver-manager beside us on a real control plane: it opens nodes before they are proven, and they are closed.

kwok runs no init container, so the testbed plays what it does, by the rows that World plays too. One node, eight GPUs,
and a service that wants all of them: whenever the node is open, the scheduler puts it there.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from seatrial.core.movers.driver_manager import DRAIN, EVICTION
from seatrial.sim.neighbours import Deed, Start
from seatrial_lab.testbed import waiting
from seatrial_lab.testbed.neighbours.driver_manager import DriverManager
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.conftest import DRIVERS, TIMEOUT_SECONDS, Play, Stage

pytestmark = pytest.mark.cluster

PREFIX = "opener"
ON, OFF = {EVICTION: "true", DRAIN: "false"}, {EVICTION: "false", DRAIN: "false"}
UNPROVEN = ("pod-restart-required", "validation-required", "uncordon-required")
SLIPPED = "somebody uncordoned the node while its driver was replaced, and pod"
AGAIN = "Cordoned the node again: it was uncordoned"


@pytest.fixture(scope="module")
def fleet(cluster: ControlPlane) -> Iterator[Fleet]:
    """One node; its driver takes long enough for a driver manager and for a scheduler."""
    made = make_fleet(cluster, FleetSpec(prefix=PREFIX, node_count=1, driver_version=DRIVERS[0], reload_seconds=4.0))
    yield made
    made.remove()


def opened(stage: Stage, node: str) -> list[str]:
    """The states in which the node was seen open before it was proven."""
    moments = [each for each in stage.history.nodes() if each.name == node and each.state in UNPROVEN]
    return [each.state for each in moments if not each.is_cordoned]


def pods_seen(stage: Stage, name: str) -> list[str]:
    """The pods of a workload that were ever on the node, in order."""
    return list(dict.fromkeys(each.uid for each in stage.history.pods(name) if each.node))


def test_with_the_two_values_false_nothing_is_placed_before_the_proof(play: Play) -> None:
    with play("quiet") as stage, DriverManager(stage.cluster, PREFIX) as manager:
        (node,) = stage.fleet.nodes
        service = stage.fleet.add_workload("quiet", replicas=1, gpus_per_pod=8)
        stage.fleet.set_driver_version(stage.target, manager_env=OFF)
        stage.wait_upgraded()
        stage.wait(lambda: len(pods_seen(stage, "quiet")) == 2, "the service to be placed again")
        assert manager.deeds == []
        assert opened(stage, node) == []
        assert len(stage.evictions()) == 1, "somebody was placed before the node was proven"
        stage.remove(service)


def test_with_them_true_whoever_slipped_in_is_named_and_leaves_first(play: Play) -> None:
    # The node is open for a moment only, in which the scheduler may be busy elsewhere: we close it when it was here.
    with (
        play("loud") as stage,
        DriverManager(stage.cluster, PREFIX, before_opening=lambda: stage.controller.freeze()) as manager,
    ):
        (node,) = stage.fleet.nodes
        service = stage.fleet.add_workload("loud", replicas=1, gpus_per_pod=8, termination_seconds=3.0)
        stage.fleet.set_driver_version(stage.target, manager_env=ON)
        try:
            stage.wait(lambda: len(pods_seen(stage, "loud")) == 2, "the service to slip in")
        finally:
            stage.controller.thaw()
        # By its log: the moment in which somebody is on its way out is short for who has to ask again and again.
        stage.wait(lambda: SLIPPED in stage.controller.log.read_text(), "the one who slipped in to be named")
        assert f"{SLIPPED} {service.namespace}/loud" in stage.controller.log.read_text()
        stage.wait_upgraded()
        assert manager.deeds[:3] == [(node, Start.LOADED, deed) for deed in Deed]
        assert opened(stage, node), "the driver manager opened the node too late to be seen"
        first, slipped = pods_seen(stage, "loud")[:2]
        gone = [each.uid for each in stage.history.pods("loud") if each.is_gone]
        assert [first, slipped] == gone[:2], "a pod that slipped in stayed"
        assert any(name == node and text.startswith(AGAIN) for name, _, text in stage.events())
        waiting.wait_for(
            lambda: not stage.history.latest()[node].is_cordoned,
            what="the node to take work again",
            timeout_seconds=TIMEOUT_SECONDS,
        )
        stage.remove(service)


@pytest.mark.long
def test_a_failed_node_stays_closed_however_often_it_is_opened(play: Play) -> None:
    with play("broken") as stage, DriverManager(stage.cluster, PREFIX) as manager:
        (node,) = stage.fleet.nodes
        stage.fleet.break_driver(node, "in-use", restart_count=9)
        stage.fleet.set_driver_version(stage.target, manager_env=ON)
        stage.wait_state(node, "upgrade-failed")
        stage.wait(
            lambda: stage.record(node).get("reopened", 0) > 2 and stage.history.latest()[node].is_cordoned,
            "the failed node to be closed again",
        )
        failures = [deed for _, start, deed in manager.deeds if start is Start.FAILED]
        assert failures[:3] == list(Deed)
        waiting.wait_for(
            lambda: "cordoned again" in stage.why(node),
            what="the reason to tell of it, at a moment when the node is closed",
            timeout_seconds=TIMEOUT_SECONDS,
        )
        stage.fleet.mend(node)
        stage.wait(lambda: stage.state(node) == "upgrade-done", "the mended node to be given back")
        stage.wait(lambda: not stage.history.latest()[node].is_cordoned, "the mended node to be open")


@pytest.mark.long
def test_a_driver_that_crashes_is_started_again_without_its_driver_manager(play: Play) -> None:
    with play("crashing") as stage, DriverManager(stage.cluster, PREFIX) as manager:
        (node,) = stage.fleet.nodes
        stage.fleet.break_driver(node, "module-load", restart_count=9)
        stage.fleet.set_driver_version(stage.target, manager_env=ON)
        stage.wait_state(node, "upgrade-failed")
        assert manager.deeds == [(node, Start.LOADED, deed) for deed in Deed]
        assert stage.record(node).get("reopened", 0) <= 1
        stage.fleet.mend(node)
        stage.wait(lambda: stage.state(node) == "upgrade-done", "the mended node to be given back")
        stage.wait(lambda: not stage.history.latest()[node].is_cordoned, "the mended node to be open")


def test_an_admins_cordon_stands_at_the_end(play: Play) -> None:
    with play("admin") as stage, DriverManager(stage.cluster, PREFIX) as manager:
        (node,) = stage.fleet.nodes
        stage.wait_state(node, "upgrade-done")
        stage.fleet.cordon(node)
        stage.fleet.set_driver_version(stage.target, manager_env=ON)
        stage.wait_upgraded()
        assert [deed for _, _, deed in manager.deeds] == list(Deed)
        stage.wait(lambda: stage.history.latest()[node].is_cordoned, "the admin's cordon to stand")
        assert opened(stage, node), "the driver manager never took the admin's cordon away"
        stage.fleet.uncordon(node)
