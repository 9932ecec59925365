"""The real GPU Operator beside a control plane: it does its own work, and leaves ours alone when told to.

It would take the nodes of every other test for its own, so it gets a control plane to itself.
"""

import json
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed import errors, waiting
from seatrial_lab.testbed.neighbours import operator
from seatrial_lab.testbed.plane import control_plane
from tests import forked

pytestmark = [pytest.mark.cluster, pytest.mark.operator]

OLD = "570.124.06"
NEW = "570.172.08"
TIMEOUT_SECONDS = 60.0
BROUGHT = {
    "device_plugin": ("nvidia-device-plugin-daemonset", "nvidia-device-plugin"),
    "container_toolkit": ("nvidia-container-toolkit-daemonset", "nvidia-container-toolkit-ctr"),
    "dcgm": ("nvidia-dcgm-exporter", "nvidia-dcgm-exporter"),
    "gfd": ("gpu-feature-discovery", "gpu-feature-discovery"),
}
"""What brings which component, by the operator's own names; what it brings is read from the objects it made."""
NOT_OF_A_CLEAN_CLUSTER = {
    *("drift", "mixed", "not-running", "half-done", "leaked-driver", "pending", "foreign-cordon", "not-observable")
}
"""What such an old stack is judged to be is another matter."""


def audited(plane: control_plane.ControlPlane) -> dict[str, Any]:
    """What `seatrial audit` says of a cluster that never saw seatrial."""
    answer = forked.run("audit", "-o", "json", "--kubeconfig", str(plane.kubeconfig))
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def kinds(found: dict[str, Any]) -> set[str]:
    """What it has found."""
    return {each["kind"] for each in found["findings"]}


def versions(found: dict[str, Any], component: str) -> dict[str, str]:
    """The version of a component, by node."""
    return {each["name"]: each["versions"].get(component, "") for each in found["nodes"]}


@pytest.fixture(scope="module")
def lone_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[control_plane.ControlPlane]:
    """A control plane that no other test uses."""
    with control_plane.ControlPlane.start(tmp_path_factory.mktemp("beside-the-operator")) as started:
        yield started


def test_the_operator_makes_a_cluster_policy_ready(lone_plane: control_plane.ControlPlane) -> None:
    with operator.GpuOperator.start(lone_plane, operator.OperatorSpec(auto_upgrade=True)) as beside:
        beside.wait_ready()

        assert lone_plane.get("clusterpolicy", operator.CLUSTER_POLICY)["status"]["state"] == "ready"
        driver = lone_plane.get("daemonset", operator.DRIVER_DAEMON_SET, "-n", operator.NAMESPACE)
        assert driver["spec"]["updateStrategy"]["type"] == "OnDelete"
        assert beside.driver_versions() == dict.fromkeys(beside.nodes, OLD)


def test_an_audit_reads_every_component_that_the_operator_brings(lone_plane: control_plane.ControlPlane) -> None:
    with operator.GpuOperator.start(lone_plane, operator.OperatorSpec(auto_upgrade=True)) as beside:
        beside.wait_ready()

        found = audited(lone_plane)
        assert versions(found, "gpu_driver") == dict.fromkeys(beside.nodes, OLD)
        for component, (daemon_set, container) in BROUGHT.items():
            brought = lone_plane.get("daemonset", daemon_set, "-n", operator.NAMESPACE)["spec"]["template"]["spec"]
            (image,) = [each["image"] for each in brought["containers"] if each["name"] == container]
            assert versions(found, component) == dict.fromkeys(beside.nodes, image.rpartition(":")[2])
        assert not kinds(found) & NOT_OF_A_CLEAN_CLUSTER

        beside.set_driver_version(NEW)
        waiting.wait_for(
            lambda: {"half-done", "pending"} <= kinds(audited(lone_plane)),
            what="the audit to see an upgrade under way",
            timeout_seconds=TIMEOUT_SECONDS,
            describe=lambda: f"{kinds(audited(lone_plane))}, {beside.upgrade_states()}",
        )


def test_a_new_driver_sets_the_operators_own_upgrade_controller_to_work(lone_plane: control_plane.ControlPlane) -> None:
    with operator.GpuOperator.start(lone_plane, operator.OperatorSpec(auto_upgrade=True)) as beside:
        beside.wait_ready()

        beside.set_driver_version(NEW)

        def one_moves_and_others_wait() -> bool:
            states = beside.upgrade_states()
            is_moving = {*states.values()} - {"upgrade-required", ""}
            return states.keys() == set(beside.nodes) and bool(is_moving) and "upgrade-required" in states.values()

        for is_so, what in (
            (one_moves_and_others_wait, "one node to move while others wait for their turn"),
            (lambda: NEW in beside.driver_versions().values(), "a first node to run the new driver"),
        ):
            waiting.wait_for(
                is_so,
                what=what,
                timeout_seconds=TIMEOUT_SECONDS,
                describe=lambda: f"{beside.upgrade_states()}, {beside.driver_versions()}",
            )


@pytest.mark.long
def test_the_operator_finishes_its_own_upgrade_as_nodes_report_their_drivers(
    lone_plane: control_plane.ControlPlane,
) -> None:
    wanted = operator.OperatorSpec(auto_upgrade=True, parallel_upgrades_max=0)
    with operator.GpuOperator.start(lone_plane, wanted) as beside:
        beside.wait_ready()
        beside.set_driver_version(NEW)

        def look() -> bool:
            beside.report_drivers()
            return beside.upgrade_states() == dict.fromkeys(beside.nodes, "upgrade-done") and is_everywhere(beside, NEW)

        waiting.wait_for(
            look,
            what="the operator to finish its upgrade",
            timeout_seconds=TIMEOUT_SECONDS,
            pause_seconds=0.5,
            describe=lambda: f"{beside.upgrade_states()}, {beside.driver_versions()}",
        )
        beside.wait_ready()


@pytest.mark.long
def test_with_automatic_upgrades_off_the_operator_leaves_nodes_to_us(lone_plane: control_plane.ControlPlane) -> None:
    with operator.GpuOperator.start(lone_plane, operator.OperatorSpec(auto_upgrade=True)) as beside:
        beside.wait_ready()
        label_all(lone_plane, f"{keys.STATE_LABEL}=upgrade-required", f"{keys.NVIDIA_STATE_LABEL}=upgrade-done")

        beside.set_auto_upgrade(is_on=False)
        beside.set_driver_version(NEW)

        wait_offered(lone_plane, NEW)
        wait_stripped(beside)
        assert ours(lone_plane) == dict.fromkeys(beside.nodes, "upgrade-required")
        assert beside.driver_versions() == dict.fromkeys(beside.nodes, OLD)


@pytest.mark.long
def test_with_automatic_upgrades_off_the_operator_strips_its_state_again_and_again(
    lone_plane: control_plane.ControlPlane,
) -> None:
    with operator.GpuOperator.start(lone_plane, operator.OperatorSpec(auto_upgrade=False)) as beside:
        beside.wait_ready()

        for state in ("upgrade-required", "upgrade-done"):
            label_all(lone_plane, f"{keys.STATE_LABEL}={state}", f"{keys.NVIDIA_STATE_LABEL}={state}")
            wait_stripped(beside)

            assert ours(lone_plane) == dict.fromkeys(beside.nodes, state)


def test_an_operator_that_died_says_so_with_its_last_words_and_leaves_nothing(
    lone_plane: control_plane.ControlPlane,
) -> None:
    with operator.GpuOperator.start(lone_plane, operator.OperatorSpec(auto_upgrade=False, node_count=1)) as beside:
        beside.wait_ready()

        os.kill(beside.pid, signal.SIGKILL)

        waiting.wait_for(lambda: not is_running(beside.pid), what="the operator to die", timeout_seconds=5)
        with pytest.raises(errors.ProcessDied, match=r"gpu-operator ended; the end of .*gpu-operator\.log:\n\{"):
            beside.wait_ready()

    kinds = "clusterpolicies,daemonsets,pods,nodes,runtimeclasses"
    assert lone_plane.kubectl("get", kinds, "--all-namespaces", "-o", "name") == ""
    assert not list(lone_plane.folder.glob("gpu-operator-root"))


def label_all(plane: control_plane.ControlPlane, *labels: str) -> None:
    plane.kubectl("label", "nodes", "--all", "--overwrite", *labels)


def ours(plane: control_plane.ControlPlane) -> dict[str, str]:
    nodes = plane.get("nodes")["items"]
    return {each["metadata"]["name"]: each["metadata"]["labels"].get(keys.STATE_LABEL) for each in nodes}


def is_everywhere(beside: operator.GpuOperator, version: str) -> bool:
    return beside.driver_versions() == dict.fromkeys(beside.nodes, version)


def wait_offered(plane: control_plane.ControlPlane, version: str) -> None:
    path = "{.spec.template.spec.containers[0].image}"
    waiting.wait_for(
        lambda: (
            version
            in plane.kubectl(
                "get", "daemonset", operator.DRIVER_DAEMON_SET, "-n", operator.NAMESPACE, "-o", f"jsonpath={path}"
            )
        ),
        what=f"the operator to put driver {version} into its DaemonSet",
        timeout_seconds=TIMEOUT_SECONDS,
    )


def wait_stripped(beside: operator.GpuOperator) -> None:
    waiting.wait_for(
        lambda: not beside.upgrade_states(),
        what="the operator to strip its upgrade state from every node",
        timeout_seconds=TIMEOUT_SECONDS,
        describe=lambda: str(beside.upgrade_states()),
    )


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return os.waitpid(pid, os.WNOHANG) == (0, 0)
