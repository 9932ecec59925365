"""The network driver as it is read and written: its pods, what its DaemonSets want, and the NicClusterPolicy."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seatrial.adapters.kube.reading import items, operator_items, pod_items, project
from seatrial.adapters.kube.reading.access import rights_of
from seatrial.adapters.kube.shapes import keys, kinds, operator_models, publishing, records
from seatrial.core.actions.on_nodes import WriteNodeRecord
from seatrial.core.model.campaign import Campaign, Via
from seatrial.core.model.policy import PolicyWish
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeRecord
from seatrial.core.model.seen.operators import Carrier, NetworkFacts
from seatrial.core.movers.direct import DIRECT
from tests.adapters.kube import objects

OLD, NEW = "24.10-0.7.0.0-0", "25.04-0.6.0.0-0"
SELECTOR = {"feature.node.kubernetes.io/pci-15b3.present": "true"}
SAFE_LOAD = "nvidia.com/ofed-driver-upgrade.driver-wait-for-safe-load"


def template(version: str) -> dict[str, Any]:
    image = f"nvcr.io/nvidia/mellanox/doca-driver:{version}-ubuntu22.04-amd64"
    return {
        "metadata": {"labels": {"app": "mofed-ubuntu22.04-ds", keys.NETWORK_DRIVER_LABEL: ""}},
        "spec": {"nodeSelector": SELECTOR, "containers": [{"name": "mofed-container", "image": image}]},
    }


def a_revision(version: str, number: int, **labels: str) -> kinds.ControllerRevision:
    made = template(version)
    made["metadata"]["labels"] = labels or made["metadata"]["labels"]
    raw = {
        "metadata": {
            "name": f"mofed-{number}",
            "namespace": keys.NETWORK_NAMESPACE,
            "uid": f"revision-{number}",
            "labels": {keys.REVISION_LABEL: f"hash-{number}"},
            "ownerReferences": [{"kind": "DaemonSet", "name": "mofed", "uid": "mofed-ds", "controller": True}],
        },
        "revision": number,
        "data": {"spec": {"template": made}},
    }
    return msgspec.convert(raw, kinds.ControllerRevision)


def a_pod(version: str = OLD, *, namespace: str = keys.NETWORK_NAMESPACE, owner: str = "DaemonSet") -> kinds.Pod:
    raw = {
        "metadata": {
            "name": "mofed-n1",
            "namespace": namespace,
            "uid": "mofed-n1",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {keys.NETWORK_DRIVER_LABEL: "", keys.REVISION_LABEL: "hash-1"},
            "ownerReferences": [{"kind": owner, "name": "mofed", "uid": "mofed-ds", "controller": True}],
        },
        "spec": {"nodeName": "n1", "containers": template(version)["spec"]["containers"]},
        "status": {"phase": "Running", "containerStatuses": [{"name": "mofed-container", "ready": True}]},
    }
    return msgspec.convert(raw, kinds.Pod)


def seen(
    annotations: dict[str, str] | None = None, *, is_governed: bool = True, labels: dict[str, str] | None = None
) -> NodeFacts:
    """A node as it is joined with the pod of its network driver and what is wanted of it."""
    raw = objects.a_node("n1", labels={**SELECTOR, **(labels or {})})
    raw["metadata"]["annotations"] = {**raw["metadata"].get("annotations", {}), **(annotations or {})}
    found = filter(None, (items.network_revision_item(a_revision(text, at)) for at, text in ((1, OLD), (2, NEW))))
    wishes = project.operand_wishes_of(found) if is_governed else ()
    pod = pod_items.pod_item(a_pod(), objects.NAMESPACE)
    assert pod is not None
    around = project.Around(wanted={}, operands=wishes)
    return project.node_facts(items.node_item(msgspec.convert(raw, kinds.Node)), [pod], around)


def test_its_pod_is_old_while_its_daemon_set_wants_another_version() -> None:
    network = seen().network
    assert network is not None
    assert network.pod is not None
    assert (network.version, network.wanted) == (NEW, "hash-2")
    assert (network.pod.version, network.pod.namespace) == (OLD, keys.NETWORK_NAMESPACE)
    assert network.is_old


@pytest.mark.parametrize("made", [{"namespace": "web"}, {"owner": "ReplicaSet"}])
def test_elsewhere_and_without_a_daemon_set_its_label_means_nothing(made: dict[str, str]) -> None:
    pod = pod_items.pod_item(a_pod(**made), objects.NAMESPACE)
    assert pod is None or pod.operand is None


@pytest.mark.parametrize(
    ("tag", "version"),
    [
        ("24.10-0.7.0.0-0-ubuntu22.04-amd64", "24.10-0.7.0.0-0"),
        ("24.10-0.7.0.0-0-5.15.0-91-generic-ubuntu22.04-amd64", "24.10-0.7.0.0-0"),
        ("doca3.1.0-25.07-0.9.7.0-0-rhel9.4-arm64", "doca3.1.0-25.07-0.9.7.0-0"),
        ("23.10-0.5.5.0-ubuntu20.04-amd64", "23.10-0.5.5.0"),
        ("latest", "latest"),
    ],
)
def test_its_version_is_the_head_of_its_tag(tag: str, version: str) -> None:
    container = msgspec.convert({"name": "mofed-container", "image": f"nvcr.io/doca-driver:{tag}"}, kinds.Container)
    assert items.network_version_of([container]) == version


def test_revisions_of_other_daemon_sets_in_its_namespace_are_not_kept() -> None:
    assert items.network_revision_item(a_revision(OLD, 1, app="multus")) is None


def test_its_marks_on_a_node_count_where_a_rollout_moves_it_and_nowhere_else() -> None:
    marks = {SAFE_LOAD: "true"}
    labels = {"nvidia.com/ofed-driver-upgrade.skip": "true", keys.NETWORK_STATE_LABEL: "upgrade-done"}
    found = seen(marks, labels=labels)
    assert (found.awaits_network_load, found.is_skipped, found.is_network_skipped) == (True, True, True)
    assert found.network_state == "upgrade-done"
    assert not found.awaits_safe_load, "which is the GPU driver's"
    other = seen(marks, is_governed=False, labels=labels)
    assert (other.awaits_network_load, other.is_skipped, other.is_network_skipped) == (False, False, False)


@pytest.mark.parametrize("state", ["Draining", "Drain_Required", "Reboot_Required"])
def test_what_the_sriov_operator_is_at_is_read_off_its_annotation(state: str) -> None:
    assert seen({"sriovnetwork.openshift.io/state": state}).sriov == state
    assert seen({"sriovnetwork.openshift.io/state": "Idle"}).sriov == ""


def a_nic_policy(**driver: Any) -> operator_models.NicClusterPolicy:
    raw = {
        "metadata": {"name": "nic-cluster-policy", "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"ofedDriver": driver} if driver else {},
    }
    return msgspec.convert(raw, operator_models.NicClusterPolicy)


def test_a_nic_cluster_policy_says_version_limits_and_who_moves() -> None:
    policy = {"autoUpgrade": True, "maxParallelUpgrades": 2, "drain": {"enable": True, "podSelector": "app=rdma"}}
    found = operator_items.network_facts([a_nic_policy(version=OLD, upgradePolicy=policy)], print)
    assert found == NetworkFacts(
        carrier=Carrier(name="NicClusterPolicy/nic-cluster-policy", parts=(("mofed", OLD),), resource_version="7"),
        is_auto_upgrading=True,
        policy=PolicyWish(parallel_max=2, drain_enable=True, drain_selector="app=rdma"),
    )


def test_one_without_a_driver_of_its_own_says_nothing() -> None:
    assert operator_items.network_facts([a_nic_policy()], print) is None
    assert operator_items.network_facts([], print) is None


def test_its_version_is_written_into_it_bound_to_what_was_seen() -> None:
    target = publishing.target_of("NicClusterPolicy/nic-cluster-policy")
    assert target is not None
    assert target.path == "/apis/mellanox.com/v1alpha1/nicclusterpolicies/nic-cluster-policy"
    assert target.version_patch(f"mofed {NEW}", expect="7", note="spring/canary") == {
        "metadata": {"resourceVersion": "7", "annotations": {keys.PUBLISHED_ANNOTATION: "spring/canary"}},
        "spec": {"ofedDriver": {"version": NEW}},
    }
    stored = a_nic_policy(version=NEW)
    assert publishing.version_of(stored, f"mofed {NEW}") == f"mofed {NEW}"
    assert publishing.env_with(stored, ()) is None


def test_a_campaign_needs_rights_where_the_network_operator_is() -> None:
    operator = operator_items.operator_facts(
        (), (), has_owned_nodes=False, networks=[a_nic_policy(version=OLD)], on_fault=print
    )
    found = {
        str(each)
        for each in rights_of(Campaign(publish=Via.DIRECT), DIRECT, operator, home="seatrial", namespace="gpu-operator")
    }
    assert any("nicclusterpolicies" in each and "patch" in each for each in found), found
    assert any("nvidia-network-operator" in each and "delete" in each for each in found), found


@pytest.mark.parametrize("moves_network", [False, True])
@pytest.mark.parametrize("is_operator_there", [False, True])
def test_both_labels_tell_the_story_where_the_network_driver_moves(
    moves_network: bool, is_operator_there: bool
) -> None:
    record = NodeRecord(phase=NodePhase.DRAIN_REQUIRED, attempt=1, entered_at=0.0, moves_network=moves_network)
    patch = records.node_patch(
        WriteNodeRecord(node="n1", record=record, expect="7"), mirror=False, mirror_network=not is_operator_there
    )
    labels = patch["metadata"]["labels"]
    told = {key for key, value in labels.items() if value == "drain-required"}
    expected = {keys.STATE_LABEL}
    expected |= {keys.NETWORK_STATE_LABEL} if moves_network else set()
    expected |= {"nvidia.com/ofed-driver-upgrade-state"} if moves_network and not is_operator_there else set()
    assert told == expected
