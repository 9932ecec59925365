"""The real GPU Operator where NVIDIADrivers have the drivers, each with a pool of its own.

It would take the nodes of every other test for its own, so it gets a control plane to itself. What differs between
operators is asserted by what the definitions of this one say.
"""

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed import errors, waiting
from seatrial_lab.testbed.building import operator_parts
from seatrial_lab.testbed.neighbours import operator, operator_drivers
from seatrial_lab.testbed.plane import control_plane

pytestmark = [pytest.mark.cluster, pytest.mark.operator, pytest.mark.long]

OLD = "570.124.06"
NEW = "570.172.08"
FLEET, CANARY = "fleet", "canary"
UPGRADE_ENABLED = "nvidia.com/gpu-driver-upgrade-enabled"
TIMEOUT_SECONDS = 60.0


@pytest.fixture(scope="module")
def lone_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[control_plane.ControlPlane]:
    """A control plane that no other test uses."""
    with control_plane.ControlPlane.start(tmp_path_factory.mktemp("by-pool")) as started:
        yield started


@pytest.fixture(scope="module")
def habits() -> operator_drivers.Habits:
    """What the operator of this run does unlike another."""
    return operator_drivers.habits(operator_parts.find().definitions())


def by_pool(*, auto_upgrade: bool, **canary: object) -> operator.OperatorSpec:
    """Six nodes: four of the fleet, two canaries."""
    drivers = (
        operator_drivers.NvidiaDriver(name=FLEET, node_count=4),
        operator_drivers.NvidiaDriver(name=CANARY, node_count=2, **canary),  # type: ignore[arg-type]
    )
    return operator.OperatorSpec(auto_upgrade=auto_upgrade, node_count=6, drivers=drivers)


def test_each_driver_has_a_daemon_set_for_its_own_nodes(lone_plane: control_plane.ControlPlane) -> None:
    with operator.GpuOperator.start(lone_plane, by_pool(auto_upgrade=False)) as beside:
        beside.wait_ready()

        assert lone_plane.get("clusterpolicy", operator.CLUSTER_POLICY)["spec"]["driver"]["useNvidiaDriverCRD"] is True
        assert beside.driver_versions() == dict.fromkeys(beside.nodes, OLD)
        assert beside.offered_versions() == {FLEET: OLD, CANARY: OLD}
        assert owners_of_nodes(lone_plane) == {
            **dict.fromkeys(beside.nodes[:4], FLEET),
            **dict.fromkeys(beside.nodes[4:], CANARY),
        }
        assert (beside.nodes_of(FLEET), beside.nodes_of(CANARY)) == (beside.nodes[:4], beside.nodes[4:])


def test_raising_one_drivers_version_changes_its_pool_alone_and_restarts_nothing(
    lone_plane: control_plane.ControlPlane,
) -> None:
    with operator.GpuOperator.start(lone_plane, by_pool(auto_upgrade=False)) as beside:
        beside.wait_ready()
        before = driver_pods(lone_plane)
        first, second = beside.nodes_of(CANARY)

        beside.set_driver_version(NEW, driver=CANARY)

        wait_offered(beside, {FLEET: OLD, CANARY: NEW})
        label_and_wait_stripped(lone_plane, beside)
        assert driver_pods(lone_plane) == before

        lone_plane.kubectl("delete", "pod", "-n", operator.NAMESPACE, before[first])
        wait_running(beside, first, NEW)
        after = driver_pods(lone_plane)
        assert {node for node in before if before[node] != after[node]} == {first}
        assert beside.driver_versions() == {**dict.fromkeys(beside.nodes, OLD), first: NEW}

        lone_plane.kubectl("delete", "pod", "-n", operator.NAMESPACE, before[second])
        beside.wait_ready()
        assert beside.driver_versions() == {**dict.fromkeys(beside.nodes, OLD), first: NEW, second: NEW}


def test_a_driver_without_a_policy_of_its_own_says_so_and_one_that_can_have_it_takes_it(
    lone_plane: control_plane.ControlPlane, habits: operator_drivers.Habits
) -> None:
    refused = pytest.raises(errors.TestbedFailure, match="NVIDIADriver has no upgradePolicy")
    with operator.GpuOperator.start(lone_plane, by_pool(auto_upgrade=False)) as beside:
        with nullcontext() if habits.has_policy_by_driver else refused:
            beside.set_auto_upgrade(is_on=False, driver=CANARY)

        assert (beside.upgrade_policy(driver=CANARY) != {}) is habits.has_policy_by_driver


def test_a_policy_is_sent_whole_and_zeros_survive(lone_plane: control_plane.ControlPlane) -> None:
    wanted = by_pool(auto_upgrade=False, upgrade_policy={"maxParallelUpgrades": 0})
    with operator.GpuOperator.start(lone_plane, wanted) as beside:
        beside.set_auto_upgrade(is_on=False, driver=CANARY)
        beside.set_upgrade_policy(driver=CANARY, podDeletion={"timeoutSeconds": 0}, drain={"podSelector": "a=b"})
        beside.set_upgrade_policy(maxUnavailable=2)

        rest = {
            "maxParallelUpgrades": 0,
            "maxUnavailable": "25%",
            "waitForCompletion": {"timeoutSeconds": 0},
            "podDeletion": {"force": False, "deleteEmptyDir": False, "timeoutSeconds": 0},
            "drain": {
                "enable": False,
                "force": False,
                "deleteEmptyDir": False,
                "timeoutSeconds": 300,
                "podSelector": "a=b",
            },
        }
        assert beside.upgrade_policy(driver=CANARY) == {"autoUpgrade": False, **rest}
        assert beside.upgrade_policy(driver=FLEET).get("maxParallelUpgrades") != 0  # the chart's, or none at all
        assert beside.upgrade_policy()["maxUnavailable"] == 2


def test_a_value_that_the_server_does_not_keep_is_reported(lone_plane: control_plane.ControlPlane) -> None:
    with (
        operator.GpuOperator.start(lone_plane, by_pool(auto_upgrade=False)) as beside,
        pytest.raises(errors.TestbedFailure, match="The API server made"),
    ):
        beside.set_upgrade_policy(gpuPodDeletion={"force": True})


def test_a_pool_whose_driver_says_not_to_moves_only_where_the_cluster_policy_counts_for_all(
    lone_plane: control_plane.ControlPlane, habits: operator_drivers.Habits
) -> None:
    wanted = by_pool(auto_upgrade=True, upgrade_policy={"autoUpgrade": False})
    with operator.GpuOperator.start(lone_plane, wanted) as beside:
        beside.wait_ready()
        assert beside.upgrade_policy(driver=CANARY)["autoUpgrade"] is False
        look = stays_put if habits.has_policy_by_driver else moves_all_the_same
        look(lone_plane, beside)


def moves_all_the_same(lone_plane: control_plane.ControlPlane, beside: operator.GpuOperator) -> None:
    before = driver_pods(lone_plane)

    beside.set_driver_version(NEW, driver=CANARY)

    first, second = beside.nodes_of(CANARY)
    waiting.wait_for(
        lambda: NEW in (beside.driver_versions().get(first), beside.driver_versions().get(second)),
        what="the operator to move a canary",
        timeout_seconds=TIMEOUT_SECONDS,
        describe=lambda: f"{beside.upgrade_states()}, {beside.driver_versions()}",
    )
    assert beside.upgrade_states().keys() == set(beside.nodes)
    assert annotated(lone_plane) == set(beside.nodes)
    after = driver_pods(lone_plane)
    assert {node: after[node] for node in beside.nodes_of(FLEET)} == {
        node: before[node] for node in beside.nodes_of(FLEET)
    }

    beside.set_auto_upgrade(is_on=False)  # the ClusterPolicy's, which is the one that counts

    wait_stripped(beside)
    waiting.wait_for(
        lambda: not annotated(lone_plane),
        what="the operator to take its annotation back",
        timeout_seconds=TIMEOUT_SECONDS,
        describe=lambda: str(annotated(lone_plane)),
    )


def stays_put(lone_plane: control_plane.ControlPlane, beside: operator.GpuOperator) -> None:
    assert beside.governed == {FLEET: beside.nodes[:4], CANARY: beside.nodes[4:]}
    before = driver_pods(lone_plane)

    for driver in (CANARY, FLEET):
        beside.set_driver_version(NEW, driver=driver)

    waiting.wait_for(
        lambda: NEW in beside.driver_versions().values(),
        what="the operator to move a node of the fleet",
        timeout_seconds=TIMEOUT_SECONDS,
        describe=lambda: f"{beside.upgrade_states()}, {beside.driver_versions()}",
    )
    assert beside.offered_versions() == {FLEET: NEW, CANARY: NEW}
    assert beside.upgrade_states().keys() == set(beside.nodes_of(FLEET))
    after = driver_pods(lone_plane)
    assert {node: after[node] for node in beside.nodes_of(CANARY)} == {
        node: before[node] for node in beside.nodes_of(CANARY)
    }


def test_pools_may_not_need_more_nodes_than_there_are() -> None:
    with pytest.raises(ValueError, match="more than the 1 nodes"):
        operator.OperatorSpec(
            auto_upgrade=False, node_count=1, drivers=(operator_drivers.NvidiaDriver(name=FLEET, node_count=2),)
        )


def driver_pods(plane: control_plane.ControlPlane) -> dict[str, str]:
    """The names of the driver pods by node."""
    found = plane.get("pods", "-n", operator.NAMESPACE, "-l", "app.kubernetes.io/component=nvidia-driver")["items"]
    # One that was just made has no node yet.
    return {each["spec"]["nodeName"]: each["metadata"]["name"] for each in found if "nodeName" in each["spec"]}


def owners_of_nodes(plane: control_plane.ControlPlane) -> dict[str, str]:
    """Which NVIDIADriver each node's driver belongs to, by the chain of owners alone."""
    sets = {
        each["metadata"]["uid"]: operator_drivers.owner_of(each)
        for each in plane.get("daemonset", "-n", operator.NAMESPACE)["items"]
    }
    pods = plane.get("pods", "-n", operator.NAMESPACE, "-l", "app.kubernetes.io/component=nvidia-driver")["items"]
    return {each["spec"]["nodeName"]: sets[each["metadata"]["ownerReferences"][0]["uid"]] for each in pods}


def annotated(plane: control_plane.ControlPlane) -> set[str]:
    nodes = plane.get("nodes")["items"]
    return {each["metadata"]["name"] for each in nodes if UPGRADE_ENABLED in each["metadata"]["annotations"]}


def label_and_wait_stripped(plane: control_plane.ControlPlane, beside: operator.GpuOperator) -> None:
    """Have the operator look at every node again, and know that it did."""
    plane.kubectl("label", "nodes", "--all", f"{keys.NVIDIA_STATE_LABEL}=upgrade-required")
    wait_stripped(beside)


def wait_stripped(beside: operator.GpuOperator) -> None:
    waiting.wait_for(
        lambda: not beside.upgrade_states(),
        what="the operator to strip its upgrade state from every node",
        timeout_seconds=TIMEOUT_SECONDS,
        describe=lambda: str(beside.upgrade_states()),
    )


def wait_offered(beside: operator.GpuOperator, versions: dict[str, str]) -> None:
    waiting.wait_for(
        lambda: beside.offered_versions() == versions,
        what=f"the operator to offer {versions}",
        timeout_seconds=TIMEOUT_SECONDS,
        describe=lambda: str(beside.offered_versions()),
    )


def wait_running(beside: operator.GpuOperator, node: str, version: str) -> None:
    waiting.wait_for(
        lambda: beside.driver_versions().get(node) == version,
        what=f"{node} to run driver {version}",
        timeout_seconds=TIMEOUT_SECONDS,
        describe=lambda: str(beside.driver_versions()),
    )
