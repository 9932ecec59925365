"""From objects as the API server stores them to facts: what counts as a driver, a validator, a holder of GPUs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seatrial.adapters.kube import models, project
from seatrial.core.snapshot import DriverPod, DriverRevision, GpuPod, NodeFacts, OperatorFacts, ValidatorPod
from tests.adapters.kube import objects

AT = 1767323045.0
"""objects.AT"""
WANTED = {"ds-1": DriverRevision(hash="new", version=objects.NEW)}


def item_of(pod: dict[str, Any]) -> project.PodItem | None:
    return project.pod_item(msgspec.convert(pod, models.Pod), objects.NAMESPACE)


def facts_of(pod: dict[str, Any]) -> DriverPod | ValidatorPod | GpuPod | None:
    item = item_of(pod)
    return item.facts if item else None


def node_item(**fields: Any) -> project.NodeItem:
    return project.node_item(msgspec.convert(objects.a_node(**fields), models.Node))


def joined(*pods: dict[str, Any], **node: Any) -> NodeFacts:
    """A node with these pods, as facts."""
    kept = [item for item in map(item_of, pods) if item is not None]
    return project.node_facts(node_item(**node), kept, WANTED)


# ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_bare_node_has_no_driver_and_no_wish() -> None:
    assert joined() == NodeFacts(name="n1", resource_version="7")


def test_a_nodes_marks_are_facts() -> None:
    labels = {"nvidia.com/gpu-driver-upgrade.skip": "true", "nvidia.com/gpu-driver-upgrade-state": "upgrade-done"}
    assert joined(labels=labels, unschedulable=True) == NodeFacts(
        name="n1", resource_version="7", is_cordoned=True, is_skipped=True, nvidia_state="upgrade-done"
    )


def test_only_true_skips_a_node() -> None:
    assert not joined(labels={"nvidia.com/gpu-driver-upgrade.skip": "false"}).is_skipped


@pytest.mark.parametrize(
    "conditions", [[], [{"type": "Ready", "status": "False"}], [{"type": "Ready", "status": "Unknown"}]]
)
def test_a_node_is_ready_only_when_it_says_so(conditions: list[dict[str, str]]) -> None:
    node = objects.a_node() | {"status": {"conditions": conditions}}
    assert not project.node_item(msgspec.convert(node, models.Node)).is_ready


def test_a_whole_node_is_joined_from_its_pods() -> None:
    pods = (
        objects.a_gpu_pod("train-1"),
        objects.a_validator_pod(),
        objects.a_pod("web"),
        objects.a_driver_pod(),
        objects.a_gpu_pod("train-0"),
    )
    assert joined(*pods) == NodeFacts(
        name="n1",
        resource_version="7",
        wanted=WANTED["ds-1"],
        driver=DriverPod(
            namespace="gpu-operator",
            name="driver-n1",
            uid="uid-driver-n1",
            revision="old",
            version=objects.OLD,
            is_ready=True,
            ready_since=AT,
        ),
        validator=ValidatorPod(name="validator-n1", is_ready=True, ready_since=AT),
        gpu_pods=(
            GpuPod(namespace="jobs", name="train-0", uid="uid-train-0"),
            GpuPod(namespace="jobs", name="train-1", uid="uid-train-1"),
        ),
    )


# ── GPU pods ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("resource", ["nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb"])
@pytest.mark.parametrize("place", ["containers", "initContainers"])
@pytest.mark.parametrize("kind", ["limits", "requests"])
def test_a_pod_that_asks_for_a_gpu_in_any_way_holds_one(resource: str, place: str, kind: str) -> None:
    asking = {place: [{"name": "main", "resources": {kind: {resource: "1"}}}]}
    assert isinstance(facts_of(objects.a_gpu_pod(containers=[{"name": "other"}], spec=asking)), GpuPod)


@pytest.mark.parametrize("resource", ["cpu", "nvidia.com/cpu", "amd.com/gpu"])
def test_other_resources_are_no_gpus(resource: str) -> None:
    assert item_of(objects.a_gpu_pod(resource=resource)) is None


def test_a_bare_number_is_a_quantity_too() -> None:
    asking = [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": 1, "cpu": 0.5}}}]
    assert isinstance(facts_of(objects.a_gpu_pod(containers=asking)), GpuPod)


@pytest.mark.parametrize("kind", ["DaemonSet", "Node"])
def test_a_pod_that_eviction_cannot_move_is_no_gpu_pod(kind: str) -> None:
    assert item_of(objects.a_gpu_pod(owner={"kind": kind, "uid": "u", "controller": True})) is None


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_holds_nothing(phase: str) -> None:
    assert item_of(objects.a_gpu_pod(phase=phase)) is None


@pytest.mark.parametrize("phase", ["Pending", "Unknown"])
def test_a_pod_bound_to_a_node_holds_its_gpu_before_it_runs(phase: str) -> None:
    assert isinstance(facts_of(objects.a_gpu_pod(phase=phase)), GpuPod)


def test_a_pod_without_a_node_is_nobodys() -> None:
    assert item_of(objects.a_gpu_pod(node="")) is None


def test_what_eviction_would_cost_is_known() -> None:
    pod = objects.a_gpu_pod(
        owner=None, metadata={"deletionTimestamp": objects.AT}, spec={"volumes": [{"name": "v"}, {"emptyDir": {}}]}
    )
    assert facts_of(pod) == GpuPod(
        namespace="jobs",
        name="train-0",
        uid="uid-train-0",
        is_terminating=True,
        has_controller=False,
        has_empty_dir=True,
    )


# ── driver and validator pods ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("app", "nvidia-driver-daemonset"),
        ("app.kubernetes.io/component", "nvidia-driver"),
        ("openshift.driver-toolkit", "true"),
    ],
)
def test_a_driver_pod_is_known_by_any_of_its_labels(label: str, value: str) -> None:
    assert isinstance(facts_of(objects.a_driver_pod(labels={label: value})), DriverPod)


@pytest.mark.parametrize("pod", [objects.a_driver_pod(namespace="jobs"), objects.a_validator_pod(namespace="jobs")])
def test_a_label_in_another_namespace_makes_no_operand(pod: dict[str, Any]) -> None:
    assert item_of(pod) is None


def test_a_gpu_pod_that_calls_itself_validator_is_still_in_the_way() -> None:
    assert isinstance(facts_of(objects.a_gpu_pod(labels={"app": "nvidia-operator-validator"})), GpuPod)


def test_a_driver_that_keeps_crashing_says_so() -> None:
    status = {
        "conditions": [],
        "containerStatuses": [
            {"ready": True, "restartCount": 40},
            {"ready": False, "restartCount": 12, "state": {"waiting": {"reason": "CrashLoopBackOff"}}},
        ],
    }
    driver = facts_of(objects.a_driver_pod(status=status))
    assert isinstance(driver, DriverPod)
    assert (driver.is_ready, driver.ready_since, driver.restart_count, driver.trouble) == (
        False,
        None,
        12,
        "CrashLoopBackOff",
    )


def test_trouble_of_an_init_container_counts_too() -> None:
    status = {
        "phase": "Pending",
        "initContainerStatuses": [{"restartCount": 3, "state": {"waiting": {"reason": "ImagePullBackOff"}}}],
        "containerStatuses": [{"state": {"waiting": {"reason": "PodInitializing"}}}],
    }
    driver = facts_of(objects.a_driver_pod(status=status))
    assert isinstance(driver, DriverPod)
    assert (driver.restart_count, driver.trouble) == (3, "ImagePullBackOff")


def test_a_container_that_is_being_created_is_no_trouble() -> None:
    status = {"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": "ContainerCreating"}}}]}
    driver = facts_of(objects.a_driver_pod(status=status))
    assert isinstance(driver, DriverPod)
    assert driver.trouble == ""


def test_a_pod_without_containers_is_not_ready() -> None:
    driver = facts_of(objects.a_driver_pod(status={"containerStatuses": []}))
    assert isinstance(driver, DriverPod)
    assert not driver.is_ready


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("nvcr.io/nvidia/driver:580.105.08-ubuntu22.04", "580.105.08"),
        ("nvcr.io/nvidia/driver@sha256:0123", ""),
        ("nvcr.io/nvidia/driver", ""),
    ],
)
def test_the_driver_version_is_what_the_image_says(image: str, version: str) -> None:
    containers = [{"name": "peermem", "image": "x/y:1.2.3"}, {"name": "nvidia-driver-ctr", "image": image}]
    driver = facts_of(objects.a_driver_pod(containers=containers))
    assert isinstance(driver, DriverPod)
    assert driver.version == version


def test_of_two_driver_pods_the_one_that_stays_counts() -> None:
    leaving = objects.a_driver_pod(
        metadata={"deletionTimestamp": objects.AT, "creationTimestamp": "2026-01-09T00:00:00Z"}
    )
    staying = objects.a_driver_pod(uid="staying")
    for pods in ((leaving, staying), (staying, leaving)):
        driver = joined(*pods).driver
        assert driver is not None
        assert driver.uid == "staying"


def test_of_two_driver_pods_that_stay_the_younger_counts() -> None:
    older = objects.a_driver_pod(uid="older")
    younger = objects.a_driver_pod(uid="younger", metadata={"creationTimestamp": "2026-01-09T00:00:00Z"})
    for pods in ((older, younger), (younger, older)):
        driver = joined(*pods).driver
        assert driver is not None
        assert driver.uid == "younger"


def test_a_driver_pod_whose_owner_is_unknown_wants_nothing() -> None:
    assert joined(objects.a_driver_pod(owner=None)).wanted is None


# ── revisions ────────────────────────────────────────────────────────────────────────────────────────────────────────


def revisions(*some: dict[str, Any]) -> dict[str, DriverRevision]:
    return project.newest_by_owner(
        project.revision_item(msgspec.convert(each, models.ControllerRevision)) for each in some
    )


def test_each_daemon_set_wants_its_revision_with_the_highest_number() -> None:
    other = objects.DAEMON_SET | {"uid": "ds-9"}
    assert revisions(
        objects.a_revision("b", number=10, driver=objects.NEW),
        objects.a_revision("a", number=9, driver=objects.OLD),
        objects.a_revision("c", number=1, driver=objects.OLD, owner=other),
    ) == {
        "ds-1": DriverRevision(hash="b", version=objects.NEW),
        "ds-9": DriverRevision(hash="c", version=objects.OLD),
    }


def test_a_template_that_was_rolled_back_is_the_newest_by_its_new_number() -> None:
    back = objects.a_revision("a", number=3, driver=objects.OLD)  # the DaemonSet controller renumbers the old revision
    assert revisions(objects.a_revision("b", number=2, driver=objects.NEW), back) == {
        "ds-1": DriverRevision(hash="a", version=objects.OLD)
    }


def test_a_template_whose_image_does_not_say_has_no_version() -> None:
    digest = objects.a_revision("a", number=1, driver="", image="nvcr.io/nvidia/driver@sha256:0123")
    assert revisions(digest) == {"ds-1": DriverRevision(hash="a", version="")}


# ── the operator ─────────────────────────────────────────────────────────────────────────────────────────────────────


def operator(policies: list[dict[str, Any]], drivers: list[dict[str, Any]] | None = None) -> OperatorFacts:
    return project.operator_facts(
        [msgspec.convert(each, models.ClusterPolicy) for each in policies],
        [msgspec.convert(each, models.NvidiaDriver) for each in drivers or []],
    )


def a_driver_resource(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"version": objects.NEW, **spec}, "status": {"state": "ready"}}


ON, OFF = {"upgradePolicy": {"autoUpgrade": True}}, {"upgradePolicy": {"autoUpgrade": False}}


def test_without_its_resources_there_is_no_operator() -> None:
    assert operator([]) == OperatorFacts()


def test_a_cluster_policy_is_described() -> None:
    policy = objects.a_cluster_policy(driver={"version": objects.NEW, **ON})
    assert operator([policy]) == OperatorFacts(
        kind="ClusterPolicy/cluster-policy", is_auto_upgrading=True, driver_version=objects.NEW, state="ready"
    )


@pytest.mark.parametrize("driver", [{}, {"upgradePolicy": {}}, OFF])
def test_a_cluster_policy_upgrades_only_when_told_to(driver: dict[str, Any]) -> None:
    assert not operator([objects.a_cluster_policy(driver=driver)]).is_auto_upgrading


def test_sandbox_workloads_switch_a_cluster_policys_upgrades_off() -> None:
    policy = objects.a_cluster_policy(driver=ON, sandboxWorkloads={"enabled": True})
    assert not operator([policy]).is_auto_upgrading


def test_the_oldest_cluster_policy_counts() -> None:
    older = objects.a_cluster_policy("older", created="2025-01-01T00:00:00Z", driver=OFF)
    younger = objects.a_cluster_policy("a-younger", driver=ON)
    assert operator([younger, older]).kind == "ClusterPolicy/older"


@pytest.mark.parametrize(("spec", "is_on"), [({}, True), ({"upgradePolicy": {}}, True), (ON, True), (OFF, False)])
def test_an_nvidia_driver_upgrades_unless_told_not_to(spec: dict[str, Any], is_on: bool) -> None:
    assert operator([], [a_driver_resource("pool", **spec)]) == OperatorFacts(
        kind="NVIDIADriver/pool", is_auto_upgrading=is_on, driver_version=objects.NEW, state="ready"
    )


def test_of_several_nvidia_drivers_the_one_that_upgrades_is_named() -> None:
    assert operator([], [a_driver_resource("a", **OFF), a_driver_resource("b", **ON)]).kind == "NVIDIADriver/b"


@pytest.mark.parametrize(("delegates", "kind"), [(True, "NVIDIADriver/pool"), (False, "ClusterPolicy/cluster-policy")])
def test_a_cluster_policy_says_whether_nvidia_drivers_own_the_drivers(delegates: bool, kind: str) -> None:
    policy = objects.a_cluster_policy(driver={"useNvidiaDriverCRD": delegates, **ON})
    assert operator([policy], [a_driver_resource("pool")]).kind == kind
