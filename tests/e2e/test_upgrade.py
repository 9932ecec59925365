"""Twenty nodes on a real control plane, four at a time, by the controller as a process under its own ServiceAccount."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seatrial.adapters.journal.reading import first_broken_line
from seatrial.controller.leading import LEASE
from seatrial_lab.testbed import controller_process
from seatrial_lab.testbed.controller_process import ControllerProcess
from seatrial_lab.testbed.history import History, LedgerMoment, Moment, NodeMoment, PodMoment
from seatrial_lab.testbed.nodes import dra
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.conftest import RolloutMaker
from tests.e2e.promises import PATH, fewest_running, most_unavailable, most_under_way, seconds_under_way

pytestmark = pytest.mark.cluster

OLD, NEW = "570.124.06", "580.105.08"
NODES, PARALLEL, UNAVAILABLE = 20, 4, 5
REPLICAS, KEPT = 10, 8


SPARE = {
    ("default", "", "events", "patch"),  # only when the same thing is told twice
    ("gpu-operator", "", "events", "create"),  # only when a driver pod cannot be restarted
    ("gpu-operator", "", "events", "patch"),
    (dra.NAMESPACE, "", "pods", "delete"),
    *(("", "maintenance.nvidia.com", "nodemaintenances", verb) for verb in ("list", "watch")),
    *(("default", "maintenance.nvidia.com", "nodemaintenances", verb) for verb in ("create", "patch", "delete")),
}
"""Rights that this upgrade has no use for; those of the last three lines are used in the stories beside it."""


def all_done(history: History) -> bool:
    """Every node is on its second `upgrade-done`: the first says it was seen, the second that it was upgraded."""
    return all(
        node.state == "upgrade-done" and "uncordon-required" in history.states(name)
        for name, node in history.latest().items()
    )


def upgrade(fleet: Fleet, history: History, controller: ControllerProcess, *, timeout_seconds: float) -> None:
    """Publish the new driver and wait until the last node is done."""
    history.wait_for(
        lambda: all(node.state == "upgrade-done" for node in history.latest().values()),
        what="the controller to have seen every node",
        timeout_seconds=60,
        check=controller.check,
    )
    fleet.set_driver_version(NEW)
    history.wait_for(
        lambda: all_done(history),
        what="every node to be done",
        timeout_seconds=timeout_seconds,
        check=controller.check,
    )


def check_end(fleet: Fleet, history: History, *, cordoned: str) -> None:
    """The same end, whatever happened on the way."""
    assert set(fleet.driver_versions().values()) == {NEW}
    assert most_under_way(history) <= PARALLEL
    assert most_unavailable(history) <= UNAVAILABLE
    assert [name for name, node in history.latest().items() if node.is_cordoned] == [cordoned]
    assert fewest_running(history, "service") >= KEPT
    seen_cordoned = [moment.is_cordoned for moment in history.nodes() if moment.name == cordoned]
    assert set(seen_cordoned) == {True}, "the admin's cordon was lifted on the way"


def test_twenty_nodes_are_upgraded_four_at_a_time_within_every_limit(
    cluster: ControlPlane, make_rollout: RolloutMaker, tmp_path: Path
) -> None:
    fleet = make_fleet(cluster, FleetSpec(prefix="up", node_count=NODES, driver_version=OLD, reload_seconds=2.0))
    fleet.add_workload("service", replicas=REPLICAS, gpus_per_pod=8, min_available=KEPT, termination_seconds=0.3)
    cordoned = fleet.nodes[7]
    fleet.cordon(cordoned)
    limits = {"maxParallelUpgrades": PARALLEL, "maxUnavailable": UNAVAILABLE}
    make_rollout("up", fleet="up", target=NEW, limits=limits)
    # So that every right of the manifests is used once: the lease of an earlier test would only be taken over.
    cluster.kubectl("delete", "lease", LEASE, "-n", "seatrial", "--ignore-not-found")
    account = controller_process.identity(cluster, "up")
    with History(cluster, "up") as history, ControllerProcess(account, "up", tmp_path) as controller:
        upgrade(fleet, history, controller, timeout_seconds=240)
        assert controller.stop() == 0
    check_end(fleet, history, cordoned=cordoned)
    assert {tuple(history.states(name)) for name in fleet.nodes} == {PATH}
    # A node is in the ledger before anything is done to it, and until it is seen to be done; by our clock, not by its.
    gpus, lost = fleet.spec.gpus_per_node, cluster.get("gpurollout", "up")["status"]["lostGpuSeconds"]
    took_seconds = history.nodes()[-1].at - history.nodes()[0].at
    assert 0.5 * gpus * seconds_under_way(history, fleet.nodes) < lost < gpus * UNAVAILABLE * took_seconds
    assert_every_state_was_an_event(cluster, fleet)
    assert first_broken_line(controller.journal) is None
    assert_only_allowed_requests(cluster, "system:serviceaccount:seatrial:up")
    fleet.remove()


def assert_every_state_was_an_event(cluster: ControlPlane, fleet: Fleet) -> None:
    """Each state of each node is an Event on the node, in the words of NVIDIA's controller."""
    events = cluster.get("events", "-n", "default", "--field-selector", "reason=GPUDriverUpgrade")["items"]
    told = {(event["involvedObject"]["name"], event["message"]) for event in events}
    expected = {(node, f"Successfully updated node state label to {state}") for node in fleet.nodes for state in PATH}
    assert expected <= told


def assert_only_allowed_requests(cluster: ControlPlane, user: str) -> None:
    """The audit log has no request that was refused for want of a right, and no read but lists and watches."""
    requests = [request for request in cluster.requests("seatrial") if request.user == user]
    # Which Kubernetes it is, is asked at the start, of no resource.
    verbs = {request.verb for request in requests if request.resource}
    assert verbs == {"list", "watch", "create", "patch", "update", "delete"}
    assert [request for request in requests if request.code in (401, 403)] == []
    cluster_rules, by_namespace = controller_process.controller_rules()
    rules = [("", rule) for rule in cluster_rules]
    rules += [(namespace, rule) for namespace, some in by_namespace.items() for rule in some]
    allowed = {
        (namespace, group, resource, verb)
        for namespace, rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    used = {
        (namespace, request.group, "/".join(filter(None, (request.resource, request.subresource))), request.verb)
        for request in requests
        for namespace in {"", request.namespace}
    }
    # Nothing is allowed that is not needed, here or where somebody has a DRA plugin or empties the nodes.
    assert allowed - used - SPARE == set()


KILLS = (
    "a node was marked upgrade-required",
    "the first nodes were admitted to the ledger",
    "a node was marked cordon-required",
    "a node was cordoned",
    "a node was marked pod-deletion-required",
    "a GPU pod was evicted",
    "a node was marked pod-restart-required",
    "a driver pod was deleted",
    "a node was marked validation-required",
    "a node was marked uncordon-required",
)


def is_told_by(kill: str, moment: Moment) -> bool:
    """Whether this moment shows the write after which the controller is to die."""
    match moment:
        case NodeMoment(state=state) if kill.startswith("a node was marked "):
            return state == kill.removeprefix("a node was marked ")
        case NodeMoment(state=state):
            return kill == "a node was cordoned" and state == "wait-for-jobs-required"
        case LedgerMoment(admitted=admitted):
            return kill == "the first nodes were admitted to the ledger" and bool(admitted)
        case PodMoment(app=app, is_leaving=True, is_gone=False):
            wanted = {"a GPU pod was evicted": "service", "a driver pod was deleted": "nvidia-driver-daemonset"}
            return wanted.get(kill) == app
    return False


DEADLIEST = ("the first nodes were admitted to the ledger", "a node was cordoned", "a driver pod was deleted")
"""All ten are in `make crashes`."""


@pytest.mark.long
def test_a_controller_killed_after_each_of_its_weightiest_writes_comes_to_the_same_end(
    cluster: ControlPlane, make_rollout: RolloutMaker, tmp_path: Path
) -> None:
    check_killed(DEADLIEST, cluster, make_rollout, tmp_path)


def check_killed(kills: tuple[str, ...], cluster: ControlPlane, make_rollout: RolloutMaker, tmp_path: Path) -> None:
    """Kill the controller after each of these writes; it comes to the end it would have come to anyway."""
    fleet = make_fleet(cluster, FleetSpec(prefix="kill", node_count=NODES, driver_version=OLD, reload_seconds=2.0))
    fleet.add_workload("service", replicas=REPLICAS, gpus_per_pod=8, min_available=KEPT, termination_seconds=0.3)
    cordoned = fleet.nodes[7]
    fleet.cordon(cordoned)
    limits = {"maxParallelUpgrades": PARALLEL, "maxUnavailable": UNAVAILABLE}
    make_rollout("kill", fleet="kill", target=NEW, limits=limits)
    account = controller_process.identity(cluster, "kill")
    controller = ControllerProcess(account, "kill", tmp_path, lease_seconds=4)
    kills_left = list(kills)
    with History(cluster, "kill") as history, controller:
        history.wait_for(
            lambda: all(node.state == "upgrade-done" for node in history.latest().values()),
            what="the controller to have seen every node",
            timeout_seconds=60,
        )

        def die(moment: Moment) -> None:
            if kills_left and controller.is_running and is_told_by(kills_left[0], moment):
                controller.kill()
                kills_left.pop(0)

        history.listen(die)
        fleet.set_driver_version(NEW)
        while not all_done(history):
            history.wait_for(
                lambda: all_done(history) or not controller.is_running, what="an end or a kill", timeout_seconds=240
            )
            if not controller.is_running:
                controller.start()
    assert kills_left == []
    check_end(fleet, history, cordoned=cordoned)
    assert first_broken_line(controller.journal) is None
    status = json.loads(cluster.kubectl("get", "gpurollout", "kill", "-o", "json"))["status"]
    assert status["counts"] == {"upgrade-done": NODES}
    fleet.remove()
