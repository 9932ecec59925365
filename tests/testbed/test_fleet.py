"""Simulated GPU nodes behave like real ones, as far as an upgrade can see."""

import itertools
import time
from collections.abc import Iterator
from typing import Any

import pytest

from seatrial.testbed import control_plane, errors, fleet, manifests, waiting

pytestmark = pytest.mark.cluster

_prefixes = (f"f{number}" for number in itertools.count())


@pytest.fixture
def four(plane: control_plane.ControlPlane) -> Iterator[fleet.Fleet]:
    """A fleet of four nodes that is removed at the end."""
    spec = fleet.FleetSpec(prefix=next(_prefixes), node_count=4, reload_seconds=0.5, validator_seconds=0.1)
    made = fleet.make_fleet(plane, spec)
    yield made
    made.remove()


def is_ready(pod: dict[str, Any] | None) -> bool:
    conditions = pod["status"].get("conditions", ()) if pod else ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def uids(pods: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {node: pod["metadata"]["uid"] for node, pod in pods.items()}


def container(pod: dict[str, Any]) -> dict[str, Any]:
    status: dict[str, Any] = pod["status"]["containerStatuses"][0]
    return status


def wait_for_driver(made: fleet.Fleet, node: str, look: Any, what: str) -> dict[str, Any]:
    def find() -> dict[str, Any] | None:
        pod = made.driver_pods().get(node)
        return pod if pod is not None and look(pod) else None

    return waiting.wait_for(find, what=f"{what} on {node}", timeout_seconds=30)


def test_a_fleet_of_four_gets_ready(plane: control_plane.ControlPlane, four: fleet.Fleet) -> None:
    prefix = four.spec.prefix
    assert four.nodes == (f"{prefix}-000", f"{prefix}-001", f"{prefix}-002", f"{prefix}-003")
    node = plane.get("node", four.nodes[0])
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "8"
    assert node["status"]["nodeInfo"]["containerRuntimeVersion"].startswith("containerd://")
    assert node["metadata"]["labels"]["nvidia.com/cuda.driver.major"] == "570"
    drivers, validators = four.driver_pods(), four.validator_pods()
    assert set(drivers) == set(validators) == set(four.nodes)
    assert all(is_ready(pod) for pod in (*drivers.values(), *validators.values()))
    assert four.driver_versions() == dict.fromkeys(four.nodes, "570.124.06")
    status = drivers[four.nodes[0]]["status"]
    assert status["startTime"] <= next(c["lastTransitionTime"] for c in status["conditions"] if c["type"] == "Ready")
    assert container(drivers[four.nodes[0]])["name"] == manifests.DRIVER_CONTAINER


def test_a_new_driver_version_moves_only_the_pod_that_is_deleted_and_its_validator(four: fleet.Fleet) -> None:
    first, *others = four.nodes
    drivers, validators = uids(four.driver_pods()), uids(four.validator_pods())

    four.set_driver_version("580.65.06")
    four.wait_ready()
    assert uids(four.driver_pods()) == drivers

    began = time.monotonic()
    four.delete_driver_pod(first)
    wait_for_driver(four, first, lambda pod: pod["metadata"]["uid"] != drivers[first] and is_ready(pod), "a new driver")
    assert time.monotonic() - began >= four.spec.reload_seconds
    waiting.wait_for(
        lambda: uids(four.validator_pods()).get(first, validators[first]) != validators[first],
        what=f"a new validator on {first}",
        timeout_seconds=30,
    )
    four.wait_ready()

    assert four.driver_versions() == {first: "580.65.06", **dict.fromkeys(others, "570.124.06")}
    assert {node: uids(four.driver_pods())[node] for node in others} == {node: drivers[node] for node in others}
    assert {node: uids(four.validator_pods())[node] for node in others} == {node: validators[node] for node in others}


def test_a_module_that_does_not_load_restarts_for_ever_until_it_is_mended(four: fleet.Fleet) -> None:
    node = four.nodes[1]
    before = four.driver_pods()[node]
    four.break_driver(node, "module-load")
    assert is_ready(four.driver_pods()[node])  # what is loaded stays loaded

    four.delete_driver_pod(node)
    pod = wait_for_driver(
        four,
        node,
        lambda pod: pod["metadata"]["uid"] != before["metadata"]["uid"] and container(pod)["restartCount"] >= 2,
        "two restarts",
    )
    assert not is_ready(pod)
    assert container(pod)["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert container(pod)["lastState"]["terminated"]["exitCode"] == 1

    four.mend(node)
    four.wait_ready()
    assert container(four.driver_pods()[node])["restartCount"] >= 2


def test_an_image_that_cannot_be_pulled_keeps_the_pod_pending_until_it_is_mended(four: fleet.Fleet) -> None:
    node = four.nodes[2]
    four.break_driver(node, "image-pull")
    four.delete_driver_pod(node)
    pod = wait_for_driver(
        four,
        node,
        lambda pod: (
            "containerStatuses" in pod["status"]
            and "waiting" in container(pod)["state"]
            and container(pod)["state"]["waiting"]["reason"] == "ImagePullBackOff"
        ),
        "a failing image pull",
    )
    assert (pod["status"]["phase"], container(pod)["restartCount"]) == ("Pending", 0)
    four.mend(node)
    four.wait_ready()


def test_a_stuck_pod_terminates_only_when_it_is_mended(four: fleet.Fleet) -> None:
    node = four.nodes[3]
    stuck = four.driver_pods()[node]["metadata"]["uid"]
    four.break_driver(node, "stuck-terminating")
    four.delete_driver_pod(node)
    # Another node's pod comes and goes meanwhile, so kwok had every chance to end this one.
    other = four.driver_pods()[four.nodes[0]]["metadata"]["uid"]
    four.delete_driver_pod(four.nodes[0])
    wait_for_driver(four, four.nodes[0], lambda pod: pod["metadata"]["uid"] != other and is_ready(pod), "a new driver")
    pod = four.driver_pods()[node]
    assert pod["metadata"]["uid"] == stuck
    assert "deletionTimestamp" in pod["metadata"]

    four.mend(node)
    wait_for_driver(four, node, lambda pod: pod["metadata"]["uid"] != stuck, "a new driver")
    four.wait_ready()


def test_a_disruption_budget_refuses_an_eviction_too_many(plane: control_plane.ControlPlane, four: fleet.Fleet) -> None:
    workload = four.add_workload("training", replicas=2, gpus_per_pod=4, min_available=2)
    pods = four.pods_of(workload)
    assert [is_ready(pod) for pod in pods] == [True, True]
    with pytest.raises(errors.KubectlFailed, match="disruption budget"):
        evict(plane, pods[0])


def test_a_workload_takes_its_time_to_terminate(plane: control_plane.ControlPlane, four: fleet.Fleet) -> None:
    workload = four.add_workload("slow", replicas=1, min_available=0, termination_seconds=1.5)
    [pod] = four.pods_of(workload)
    began = time.monotonic()
    evict(plane, pod)
    plane.kubectl("wait", "--for=delete", f"pod/{pod['metadata']['name']}", "-n", workload.namespace, "--timeout=30s")
    assert time.monotonic() - began >= 1.5


def test_a_job_runs_for_its_time_on_its_node(plane: control_plane.ControlPlane, four: fleet.Fleet) -> None:
    job = four.add_job_pod(four.nodes[1], runs_seconds=0.5)
    plane.kubectl("wait", "--for=condition=Complete", f"job/{job.name}", "-n", job.namespace, "--timeout=30s")
    [pod] = four.pods_of(job)
    assert (pod["spec"]["nodeName"], pod["status"]["phase"]) == (four.nodes[1], "Succeeded")


def test_nothing_new_is_scheduled_on_a_cordoned_node(plane: control_plane.ControlPlane, four: fleet.Fleet) -> None:
    for node in four.nodes[:3]:
        four.cordon(node)
    workload = four.add_workload("guest", replicas=2, gpus_per_pod=1)
    assert {pod["spec"]["nodeName"] for pod in four.pods_of(workload)} == {four.nodes[3]}


def test_a_node_can_be_not_ready_and_recover(plane: control_plane.ControlPlane, four: fleet.Fleet) -> None:
    four.set_node_ready(four.nodes[0], is_ready=False)
    assert "NotReady" in plane.kubectl("get", "node", four.nodes[0])
    four.set_node_ready(four.nodes[0], is_ready=True)
    assert "NotReady" not in plane.kubectl("get", "node", four.nodes[0])


def test_a_removed_fleet_leaves_nothing(plane: control_plane.ControlPlane) -> None:
    made = fleet.make_fleet(plane, fleet.FleetSpec(prefix="gone", node_count=2, reload_seconds=0.1))
    made.break_driver(made.nodes[0], "stuck-terminating")
    made.add_workload("short", replicas=1)
    made.remove()
    selector = f"{manifests.FLEET_LABEL}=gone"
    assert (
        plane.kubectl("get", "nodes,namespaces,daemonsets,pods,serviceaccounts", "-A", "-l", selector, "-o", "name")
        == ""
    )
    assert "gone-000" not in plane.kubectl("get", "stages", "-o", "name")


def evict(plane: control_plane.ControlPlane, pod: dict[str, Any]) -> None:
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
    eviction = (
        f'{{"apiVersion":"policy/v1","kind":"Eviction","metadata":{{"name":"{name}","namespace":"{namespace}"}}}}'
    )
    plane.kubectl("create", "--raw", f"/api/v1/namespaces/{namespace}/pods/{name}/eviction", "-f", "-", stdin=eviction)
