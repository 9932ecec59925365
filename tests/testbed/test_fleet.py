"""Simulated GPU nodes behave like real ones, as far as an upgrade can see."""

import datetime
import itertools
import time
from collections.abc import Iterator
from typing import Any

import pytest

from seatrial_lab.testbed import errors, waiting
from seatrial_lab.testbed.nodes import fleet, fleet_spec, manifests
from seatrial_lab.testbed.plane import control_plane

pytestmark = pytest.mark.cluster

_prefixes = (f"f{number}" for number in itertools.count())


def make_four(plane: control_plane.ControlPlane) -> fleet.Fleet:
    spec = fleet_spec.FleetSpec(prefix=next(_prefixes), node_count=4, reload_seconds=0.5, validator_seconds=0.1)
    return fleet.make_fleet(plane, spec)


@pytest.fixture(scope="module")
def four(plane: control_plane.ControlPlane) -> Iterator[fleet.Fleet]:
    """A fleet of four nodes that tests share: each leaves it Ready, with the driver it came with."""
    made = make_four(plane)
    yield made
    made.remove()


@pytest.fixture
def own(plane: control_plane.ControlPlane) -> Iterator[fleet.Fleet]:
    """A fleet of four nodes for a test that changes what should run."""
    made = make_four(plane)
    yield made
    made.remove()


@pytest.fixture(scope="module")
def equipped(plane: control_plane.ControlPlane) -> Iterator[fleet.Fleet]:
    """A fleet with feature discovery and a device plugin; each test takes nodes that no other test takes."""
    spec = fleet_spec.FleetSpec(
        prefix="equipped",
        node_count=8,
        reload_seconds=0.5,
        validator_seconds=0.1,
        has_feature_discovery=True,
        has_device_plugin=True,
    )
    made = fleet.make_fleet(plane, spec)
    yield made
    made.remove()


def is_ready(pod: dict[str, Any] | None) -> bool:
    conditions = pod["status"].get("conditions", ()) if pod else ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def uids(pods: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {node: pod["metadata"]["uid"] for node, pod in pods.items()}


def container(pod: dict[str, Any]) -> dict[str, Any]:
    found: list[dict[str, Any]] = pod["status"].get("containerStatuses", [])
    return found[0] if found else {"restartCount": 0, "state": {}}  # a pod that was made this moment has none yet


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
    assert [each["name"] for each in node["status"]["runtimeHandlers"]] == ["", "runc", "nvidia"]
    # Nobody discovers features here, so nobody says which driver is loaded.
    assert not [key for key in node["metadata"]["labels"] if "cuda.driver" in key or key == "nvidia.com/gfd.timestamp"]
    drivers, validators = four.driver_pods(), four.validator_pods()
    assert set(drivers) == set(validators) == set(four.nodes)
    assert all(is_ready(pod) for pod in (*drivers.values(), *validators.values()))
    assert four.driver_versions() == dict.fromkeys(four.nodes, "570.124.06")
    status = drivers[four.nodes[0]]["status"]
    assert status["startTime"] <= next(c["lastTransitionTime"] for c in status["conditions"] if c["type"] == "Ready")
    assert container(drivers[four.nodes[0]])["name"] == manifests.DRIVER_CONTAINER


def test_a_new_driver_version_moves_only_the_pod_that_is_deleted_and_its_validator(own: fleet.Fleet) -> None:
    first, *others = own.nodes
    drivers, validators = uids(own.driver_pods()), uids(own.validator_pods())

    own.set_driver_version("580.65.06")
    own.wait_ready()
    assert uids(own.driver_pods()) == drivers

    began = time.monotonic()
    own.delete_driver_pod(first)
    wait_for_driver(own, first, lambda pod: pod["metadata"]["uid"] != drivers[first] and is_ready(pod), "a new driver")
    assert time.monotonic() - began >= own.spec.reload_seconds
    waiting.wait_for(
        lambda: uids(own.validator_pods()).get(first, validators[first]) != validators[first],
        what=f"a new validator on {first}",
        timeout_seconds=30,
    )
    own.wait_ready()

    assert own.driver_versions() == {first: "580.65.06", **dict.fromkeys(others, "570.124.06")}
    assert {node: uids(own.driver_pods())[node] for node in others} == {node: drivers[node] for node in others}
    assert {node: uids(own.validator_pods())[node] for node in others} == {node: validators[node] for node in others}


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
    assert "could not insert 'nvidia'" in container(pod)["lastState"]["terminated"]["message"]

    four.mend(node)
    four.wait_ready()
    assert container(four.driver_pods()[node])["restartCount"] >= 2


def test_an_old_driver_that_cannot_be_taken_out_fails_the_driver_manager_until_it_is_mended(four: fleet.Fleet) -> None:
    def manager(pod: dict[str, Any]) -> dict[str, Any]:
        [status] = pod["status"].get("initContainerStatuses") or [{}]
        return dict(status)

    node = four.nodes[1]
    four.break_driver(node, "in-use")
    four.delete_driver_pod(node)
    pod = wait_for_driver(four, node, lambda pod: manager(pod).get("restartCount", 0) >= 2, "two failures")
    assert (pod["status"]["phase"], container(pod)["restartCount"]) == ("Pending", 0)
    assert manager(pod)["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert manager(pod)["lastState"]["terminated"]["message"].endswith("driver is in use")

    four.mend(node)
    four.wait_ready()
    ended = manager(four.driver_pods()[node])
    assert (ended["restartCount"] >= 2, ended["state"]["terminated"]["exitCode"]) == (True, 0)


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
    assert "not found" in container(pod)["state"]["waiting"]["message"]
    four.mend(node)
    four.wait_ready()


def test_a_fault_says_what_it_is_told_and_may_be_old(four: fleet.Fleet) -> None:
    crashing, pulling = four.nodes[:2]
    four.break_driver(crashing, "module-load", message='"nvidia" was built for another kernel', restart_count=11)
    four.break_driver(pulling, "image-pull", message="unauthorized")
    before = uids(four.driver_pods())
    four.delete_driver_pod(crashing)
    four.delete_driver_pod(pulling)

    pod = wait_for_driver(four, crashing, lambda pod: is_waiting(pod, "CrashLoopBackOff"), "a crash loop")
    assert pod["metadata"]["uid"] != before[crashing]
    assert container(pod)["restartCount"] > 10
    assert container(pod)["lastState"]["terminated"]["message"] == '"nvidia" was built for another kernel'
    pod = wait_for_driver(
        four, pulling, lambda pod: is_waiting(pod, "ErrImagePull", "ImagePullBackOff"), "a failed pull"
    )
    assert container(pod)["state"]["waiting"]["message"].endswith("unauthorized")
    four.mend(crashing)
    four.mend(pulling)
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


def test_feature_discovery_labels_a_node_after_its_driver_was_reloaded(
    plane: control_plane.ControlPlane, equipped: fleet.Fleet
) -> None:
    node, other = equipped.nodes[:2]
    assert equipped.found_versions() == dict.fromkeys(equipped.nodes, "570.124.06")
    reload(equipped, node, "580.105.08")

    waiting.wait_for(
        lambda: equipped.found_versions()[node] == "580.105.08", what=f"labels on {node}", timeout_seconds=30
    )
    labels = plane.get("node", node)["metadata"]["labels"]
    assert {key: labels[f"nvidia.com/cuda.driver{key}"] for key in ("-version.major", "-version.minor")} == {
        "-version.major": "580",
        "-version.minor": "105",
    }
    assert (labels["nvidia.com/cuda.driver-version.revision"], labels["nvidia.com/cuda.driver.rev"]) == ("08", "08")
    assert int(labels["nvidia.com/gfd.timestamp"]) >= ready_at(equipped.driver_pods()[node])
    assert equipped.found_versions()[other] == "570.124.06"


def test_a_node_has_no_gpus_to_give_while_its_driver_is_reloaded(
    plane: control_plane.ControlPlane, equipped: fleet.Fleet
) -> None:
    node = equipped.nodes[2]
    equipped.break_driver(node, "module-load")
    equipped.delete_driver_pod(node)
    wait_allocatable(equipped, node, 0)
    # A kubelet that reports anew does not bring back what the device plugin has taken.
    equipped.set_node_ready(node, is_ready=False)
    equipped.set_node_ready(node, is_ready=True)
    assert plane.get("node", node)["status"]["capacity"]["nvidia.com/gpu"] == "8"
    assert equipped.allocatable()[node] == 0

    equipped.mend(node)
    wait_allocatable(equipped, node, 8)
    assert is_ready(equipped.driver_pods()[node])


def test_a_lost_gpu_is_missing_after_the_next_reload_until_it_is_restored(equipped: fleet.Fleet) -> None:
    node = equipped.nodes[3]
    equipped.lose_gpu(node)
    assert equipped.allocatable()[node] == 8
    reload(equipped, node)
    wait_allocatable(equipped, node, 7)
    equipped.restore_gpu(node)
    assert equipped.allocatable()[node] == 8


def test_a_partitioned_node_gives_slices_again_after_a_reload(
    plane: control_plane.ControlPlane, equipped: fleet.Fleet
) -> None:
    node, slices = equipped.nodes[4], "nvidia.com/mig-1g.10gb"
    equipped.set_mig(node, {slices: 7})
    labels = plane.get("node", node)["metadata"]["labels"]
    assert labels["nvidia.com/mig.config"] == "all-1g.10gb"
    assert labels["nvidia.com/mig.config.state"] == "success"
    assert (equipped.allocatable()[node], equipped.allocatable(slices)[node]) == (0, 7)

    equipped.break_driver(node, "module-load")
    equipped.delete_driver_pod(node)
    wait_allocatable(equipped, node, 0, slices)
    equipped.mend(node)
    wait_allocatable(equipped, node, 7, slices)


def test_a_node_can_lose_its_runtime_handler(plane: control_plane.ControlPlane, equipped: fleet.Fleet) -> None:
    node = equipped.nodes[5]

    def handlers() -> list[str]:
        return [each["name"] for each in plane.get("node", node)["status"]["runtimeHandlers"]]

    equipped.lose_runtime_handler(node)
    assert handlers() == ["", "runc"]
    equipped.set_node_ready(node, is_ready=False)
    equipped.set_node_ready(node, is_ready=True)
    assert handlers() == ["", "runc"]
    equipped.restore_runtime_handler(node)
    assert handlers() == ["", "runc", "nvidia"]


def test_a_node_whose_device_plugin_is_paused_has_no_gpus_to_give(
    plane: control_plane.ControlPlane, equipped: fleet.Fleet
) -> None:
    node, label = equipped.nodes[6], "nvidia.com/gpu.deploy.device-plugin"
    plane.kubectl("label", "node", node, f"{label}=paused-for-driver-upgrade", "--overwrite")
    wait_allocatable(equipped, node, 0)
    plane.kubectl("label", "node", node, f"{label}=true", "--overwrite")
    wait_allocatable(equipped, node, 8)


def test_a_kubelet_warns_about_a_pod(plane: control_plane.ControlPlane, equipped: fleet.Fleet) -> None:
    pod = equipped.driver_pods()[equipped.nodes[7]]
    equipped.add_pod_event(pod, reason="BackOff", message="Back-off restarting failed container", count=12)
    # On a busy machine there was another warning about the same pod.
    about = f"involvedObject.uid={pod['metadata']['uid']},type=Warning,reason=BackOff"
    [event] = plane.get("events", "-n", equipped.spec.namespace, "--field-selector", about)["items"]
    assert (event["reason"], event["message"], event["count"]) == (
        "BackOff",
        "Back-off restarting failed container",
        12,
    )


def test_orphaned_drivers_run_on_and_are_replaced_one_by_one(own: fleet.Fleet) -> None:
    first, *others = own.nodes
    orphans = uids(own.driver_pods())
    old = own.driver_daemon_set
    own.orphan_driver_pods("580.65.06")

    assert own.driver_daemon_set != old
    assert uids(own.driver_pods()) == orphans
    assert all("ownerReferences" not in pod["metadata"] for pod in own.driver_pods().values())
    own.delete_driver_pod(first)
    pod = wait_for_driver(
        own, first, lambda pod: pod["metadata"]["uid"] != orphans[first] and is_ready(pod), "a driver"
    )
    assert pod["metadata"]["ownerReferences"][0]["name"] == own.driver_daemon_set
    assert own.driver_versions() == {first: "580.65.06", **dict.fromkeys(others, "570.124.06")}
    assert {node: uids(own.driver_pods())[node] for node in others} == {node: orphans[node] for node in others}


def test_nothing_new_is_scheduled_on_a_cordoned_node(plane: control_plane.ControlPlane, four: fleet.Fleet) -> None:
    for node in four.nodes[:3]:
        four.cordon(node)
    workload = four.add_workload("guest", replicas=2, gpus_per_pod=1)
    assert {pod["spec"]["nodeName"] for pod in four.pods_of(workload)} == {four.nodes[3]}
    for node in four.nodes[:3]:
        four.uncordon(node)


def test_a_node_can_be_not_ready_and_recover(plane: control_plane.ControlPlane, four: fleet.Fleet) -> None:
    four.set_node_ready(four.nodes[0], is_ready=False)
    assert "NotReady" in plane.kubectl("get", "node", four.nodes[0])
    four.set_node_ready(four.nodes[0], is_ready=True)
    assert "NotReady" not in plane.kubectl("get", "node", four.nodes[0])


def test_a_removed_fleet_leaves_nothing(plane: control_plane.ControlPlane) -> None:
    made = fleet.make_fleet(plane, fleet_spec.FleetSpec(prefix="gone", node_count=2, reload_seconds=0.1))
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


def is_waiting(pod: dict[str, Any], *reasons: str) -> bool:
    statuses = pod["status"].get("containerStatuses", ())
    return any(each["state"].get("waiting", {}).get("reason") in reasons for each in statuses)


def ready_at(pod: dict[str, Any]) -> float:
    since = next(each["lastTransitionTime"] for each in pod["status"]["conditions"] if each["type"] == "Ready")
    return datetime.datetime.fromisoformat(since).timestamp()


def reload(made: fleet.Fleet, node: str, version: str = "") -> None:
    if version:
        made.set_driver_version(version)
    before = made.driver_pods()[node]["metadata"]["uid"]
    made.delete_driver_pod(node)
    wait_for_driver(made, node, lambda pod: pod["metadata"]["uid"] != before and is_ready(pod), "a new driver")


def wait_allocatable(made: fleet.Fleet, node: str, count: int, resource: str = "nvidia.com/gpu") -> None:
    waiting.wait_for(
        lambda: made.allocatable(resource)[node] == count, what=f"{count} {resource} on {node}", timeout_seconds=30
    )
