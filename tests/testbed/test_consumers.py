"""Every kind of pod that may sit on a node of the testbed is what it says it is."""

from collections.abc import Iterator
from typing import Any

import pytest

from seatrial_lab.testbed import waiting
from seatrial_lab.testbed.nodes import consumers, fleet, fleet_spec
from seatrial_lab.testbed.plane import control_plane

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def made(plane: control_plane.ControlPlane) -> Iterator[fleet.Fleet]:
    """Two nodes that all tests share; they have GPUs enough for everybody."""
    spec = fleet_spec.FleetSpec(
        prefix="guests", node_count=2, reload_seconds=0.1, validator_seconds=0.1, gpus_per_node=16
    )
    yours = fleet.make_fleet(plane, spec)
    yield yours
    yours.remove()


def only_pod(made: fleet.Fleet, workload: fleet_spec.Workload) -> dict[str, Any]:
    [pod] = made.pods_of(workload)
    return pod


def owner_kinds(pod: dict[str, Any]) -> list[str]:
    return [each["kind"] for each in pod["metadata"].get("ownerReferences", ())]


def test_a_pod_may_use_the_runtime_class_and_ask_for_no_gpu(
    plane: control_plane.ControlPlane, made: fleet.Fleet
) -> None:
    pod = only_pod(made, consumers.add_pod(made, made.nodes[0], name="classy", runtime_class="nvidia"))
    assert pod["spec"]["runtimeClassName"] == "nvidia"
    assert pod["spec"]["containers"][0]["resources"] == {}
    assert plane.get("runtimeclass", "nvidia")["handler"] == "nvidia"


def test_only_an_init_container_asks_for_a_gpu(made: fleet.Fleet) -> None:
    pod = only_pod(made, consumers.add_pod(made, made.nodes[0], name="warm", gpus=1, asker="init"))
    assert pod["spec"]["containers"][0]["resources"] == {}
    [init] = pod["spec"]["initContainers"]
    assert (init["resources"]["limits"], init.get("restartPolicy")) == ({"nvidia.com/gpu": "1"}, None)
    assert "terminated" in pod["status"]["initContainerStatuses"][0]["state"]


def test_only_a_sidecar_asks_for_a_gpu(made: fleet.Fleet) -> None:
    pod = only_pod(made, consumers.add_pod(made, made.nodes[0], name="beside", gpus=1, asker="sidecar"))
    assert pod["spec"]["containers"][0]["resources"] == {}
    [sidecar] = pod["spec"]["initContainers"]
    assert (sidecar["resources"]["limits"], sidecar["restartPolicy"]) == ({"nvidia.com/gpu": "1"}, "Always")
    assert "running" in pod["status"]["initContainerStatuses"][0]["state"]


def test_a_bare_pod_has_no_controller(made: fleet.Fleet) -> None:
    pod = only_pod(made, consumers.add_pod(made, made.nodes[0], name="bare", gpus=1, is_bare=True))
    assert owner_kinds(pod) == []
    assert pod["spec"]["nodeName"] == made.nodes[0]


def test_a_pod_may_keep_data_in_an_empty_dir(made: fleet.Fleet) -> None:
    pod = only_pod(made, consumers.add_pod(made, made.nodes[0], name="scratch", has_empty_dir=True))
    assert [each["emptyDir"] for each in pod["spec"]["volumes"] if "emptyDir" in each] == [{}]
    assert owner_kinds(pod) == ["ReplicaSet"]


def test_a_pod_without_gpus_bears_the_labels_it_is_given(made: fleet.Fleet) -> None:
    workload = consumers.add_pod(made, made.nodes[1], name="plain", labels={"team": "search"})
    pod = only_pod(made, workload)
    assert pod["metadata"]["labels"]["team"] == "search"
    assert pod["spec"]["containers"][0]["resources"] == {}
    assert pod["spec"]["nodeName"] == made.nodes[1]


def test_a_partition_can_be_held_like_a_gpu(made: fleet.Fleet) -> None:
    made.set_mig(made.nodes[1], {"nvidia.com/mig-1g.10gb": 7}, gpus=15)
    workload = consumers.add_pod(made, made.nodes[1], name="slice", gpus=1, resource="nvidia.com/mig-1g.10gb")
    assert only_pod(made, workload)["spec"]["nodeName"] == made.nodes[1]


def test_a_pausable_daemon_set_leaves_where_its_label_changes(
    plane: control_plane.ControlPlane, made: fleet.Fleet
) -> None:
    client = consumers.add_daemon_set(made, name="client", is_pausable=True)
    firm = consumers.add_daemon_set(made, name="firm", is_pausable=False)
    assert nodes_of(made, client) == nodes_of(made, firm) == set(made.nodes)

    paused = f"{consumers.CLIENT_LABEL}=paused-for-driver-upgrade"
    plane.kubectl("label", "node", made.nodes[0], paused, "--overwrite")
    waiting.wait_for(
        lambda: nodes_of(made, client) == {made.nodes[1]}, what="the client to leave its node", timeout_seconds=30
    )
    assert nodes_of(made, firm) == set(made.nodes)


def test_a_static_pod_is_owned_by_its_node(made: fleet.Fleet) -> None:
    pod = only_pod(made, consumers.add_static_pod(made, made.nodes[0], name="static", gpus=1))
    assert owner_kinds(pod) == ["Node"]
    assert consumers.MIRROR in pod["metadata"]["annotations"]
    assert (pod["spec"]["nodeName"], pod["status"]["phase"]) == (made.nodes[0], "Running")


def test_a_pod_stays_terminating_until_it_is_released(plane: control_plane.ControlPlane, made: fleet.Fleet) -> None:
    stubborn = consumers.add_pod(made, made.nodes[0], name="stubborn", gpus=1, is_bare=True, stays=True)
    yielding = consumers.add_pod(made, made.nodes[0], name="yielding", gpus=1, is_bare=True)
    for each in (stubborn, yielding):
        plane.kubectl("delete", "pod", each.name, "-n", each.namespace, "--grace-period=1", "--wait=false")
    # The other one was deleted later and is gone: kwok had every chance to end this one.
    plane.kubectl("wait", "--for=delete", f"pod/{yielding.name}", "-n", yielding.namespace, "--timeout=30s")
    pod = only_pod(made, stubborn)
    assert "deletionTimestamp" in pod["metadata"]

    consumers.release(made, stubborn)
    plane.kubectl("wait", "--for=delete", f"pod/{stubborn.name}", "-n", stubborn.namespace, "--timeout=30s")


def nodes_of(made: fleet.Fleet, workload: fleet_spec.Workload) -> set[str]:
    return {pod["spec"]["nodeName"] for pod in made.pods_of(workload)}
