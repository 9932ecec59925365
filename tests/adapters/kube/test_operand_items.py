"""Operands as they are read off pods, revisions and DaemonSets, and as a ClusterPolicy is told of them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seatrial.adapters.kube.reading import items, pod_items, project
from seatrial.adapters.kube.shapes import kinds, operator_models, publishing
from seatrial.core.model.seen.nodes import NodeFacts
from seatrial.core.model.seen.operands import Operand, OperandPod
from seatrial.core.model.seen.pods import Pod, ValidatorPod
from tests.adapters.kube import objects

TOOLKIT = "nvidia-container-toolkit-daemonset"
SET = {"kind": "DaemonSet", "name": TOOLKIT, "uid": "toolkit-set", "controller": True}
DEPLOY = "nvidia.com/gpu.deploy.container-toolkit"


def a_toolkit(tag: str = "v1.17.8", *, env: str = "containerd", **fields: Any) -> dict[str, Any]:
    container = {
        "name": "ctr",
        "image": f"nvcr.io/nvidia/toolkit:{tag}",
        "env": [{"name": "RUNTIME", "value": env}],
    }
    labels = {"app": TOOLKIT, "controller-revision-hash": "old"}
    own = {"namespace": objects.NAMESPACE, "labels": labels, "owner": SET, "containers": [container]}
    return objects.a_pod("toolkit-n1", **(own | fields))


def a_revision(name: str, number: int, tag: str, env: str = "containerd") -> dict[str, Any]:
    found = objects.a_revision(name, number=number, driver="", owner=SET)
    spec = a_toolkit(tag, env=env)["spec"]
    template = {"metadata": {"labels": {"app": TOOLKIT}}, "spec": {**spec, "nodeSelector": {DEPLOY: "true"}}}
    return found | {"data": {"spec": {"template": template}}}


def item_of(pod: dict[str, Any]) -> items.PodItem | None:
    return pod_items.pod_item(msgspec.convert(pod, kinds.Pod), objects.NAMESPACE)


def wishes(*revisions: dict[str, Any]) -> tuple[project.OperandWish, ...]:
    read = (items.revision_item(msgspec.convert(each, kinds.ControllerRevision)) for each in revisions)
    return project.operand_wishes_of(read)


def joined(wanted: tuple[project.OperandWish, ...], *pods: dict[str, Any], deploy: str = "true") -> NodeFacts:
    node = items.node_item(msgspec.convert(objects.a_node(labels={DEPLOY: deploy}), kinds.Node))
    kept = [item for item in map(item_of, pods) if item is not None]
    return project.node_facts(node, kept, project.Around(wanted={}, operands=wanted))


def test_a_pod_of_the_operator_is_an_operand_by_its_app() -> None:
    item = item_of(a_toolkit())
    assert item is not None
    assert (item.operand, item.facts) == (Operand.TOOLKIT, item.as_operand)
    assert isinstance(item.facts, OperandPod)
    assert (item.facts.revision, item.facts.version, item.facts.is_ready) == ("old", "v1.17.8", True)
    assert item.facts.created_at is not None


@pytest.mark.parametrize(
    ("ready", "waits", "trouble"),
    [
        ("False", "CrashLoopBackOff", "CrashLoopBackOff"),
        ("False", "ContainerCreating", ""),
        ("False", "", ""),
        ("True", "CrashLoopBackOff", ""),
    ],
)
def test_an_operand_says_why_it_does_not_start_until_it_is_ready(ready: str, waits: str, trouble: str) -> None:
    state = {"waiting": {"reason": waits}} if waits else {"running": {}}
    status = {
        "conditions": [{"type": "Ready", "status": ready}],
        "containerStatuses": [{"name": "ctr", "ready": ready == "True", "state": state}],
    }
    item = item_of(a_toolkit(status=status))
    assert item is not None
    assert isinstance(item.facts, OperandPod)
    assert (item.facts.is_ready, item.facts.trouble) == (ready == "True", trouble)


@pytest.mark.parametrize(
    "elsewhere", [{"namespace": "tenant"}, {"owner": {"kind": "Job", "uid": "j", "controller": True}}]
)
def test_a_tenants_pod_cannot_call_itself_an_operand(elsewhere: dict[str, Any]) -> None:
    item = item_of(a_toolkit(**elsewhere))
    assert item is None or (item.operand is None and isinstance(item.facts, Pod))


def test_the_validator_is_seen_as_what_it_proves_and_as_an_operand() -> None:
    item = item_of(objects.a_validator_pod())
    assert item is not None
    assert isinstance(item.facts, ValidatorPod)
    assert item.operand is Operand.VALIDATOR
    assert item.as_operand is not None
    assert item.as_operand.uid == item.facts.uid


def test_the_newest_template_is_wanted_on_the_nodes_that_its_daemon_set_chooses() -> None:
    wanted = wishes(a_revision("old", 1, "v1.17.8"), a_revision("new", 2, "v1.18.1"))
    (seen,) = joined(wanted, a_toolkit()).operands
    assert (seen.operand, seen.wanted, seen.version, seen.is_old) == (Operand.TOOLKIT, "new", "v1.18.1", True)
    assert not seen.is_configured_anew
    assert joined(wanted, a_toolkit(), deploy="paused-for-driver-upgrade").operands == ()


def test_a_template_that_is_put_back_is_no_news_to_who_never_left_it() -> None:
    wanted = wishes(a_revision("new", 2, "v1.18.1"), a_revision("old", 3, "v1.17.8"))
    (seen,) = joined(wanted, a_toolkit()).operands
    assert not seen.is_old


def test_an_operand_that_is_wanted_and_not_there_is_seen_without_a_pod() -> None:
    (seen,) = joined(wishes(a_revision("new", 2, "v1.18.1"))).operands
    assert (seen.pod, seen.is_old, seen.is_up) == (None, False, False)


def test_what_is_configured_otherwise_is_told_from_what_only_has_another_image() -> None:
    wanted = wishes(a_revision("new", 2, "v1.18.1", env="crio"))
    (seen,) = joined(wanted, a_toolkit()).operands
    assert seen.is_configured_anew


@pytest.mark.parametrize(("strategy", "is_rolling"), [("OnDelete", False), ("RollingUpdate", True), (None, True)])
def test_a_daemon_set_rolls_unless_it_says_on_delete(strategy: str | None, is_rolling: bool) -> None:
    spec = {"updateStrategy": {"type": strategy}} if strategy else {}
    found = items.daemon_set_item(msgspec.convert({"metadata": {"name": TOOLKIT}, "spec": spec}, kinds.DaemonSet))
    assert found is not None
    assert (found.operand, found.is_rolling) == (Operand.TOOLKIT, is_rolling)
    other = msgspec.convert({"metadata": {"name": "node-feature-discovery-worker"}, "spec": spec}, kinds.DaemonSet)
    assert items.daemon_set_item(other) is None


def test_a_cluster_policy_is_told_each_version_in_its_field() -> None:
    target = publishing.target_of("ClusterPolicy/gpu")
    assert target is not None
    text = "580.105.08, container_toolkit v1.18.1, dcgm 4.4.2-4.7.0-ubuntu22.04"
    assert target.version_patch(text, expect="7", note="") == {
        "metadata": {"resourceVersion": "7"},
        "spec": {
            "driver": {"version": "580.105.08"},
            "toolkit": {"version": "v1.18.1"},
            "dcgmExporter": {"version": "4.4.2-4.7.0-ubuntu22.04"},
        },
    }


def test_what_a_cluster_policy_stored_is_read_back_part_by_part() -> None:
    spec = {"driver": {"version": "580.105.08"}, "toolkit": {"version": "v1.18.1"}}
    policy = msgspec.convert({"spec": spec}, operator_models.ClusterPolicy)
    like = "580.105.08, container_toolkit v1.18.1, gfd v0.18.1"
    assert publishing.version_of(policy, like) == "580.105.08, container_toolkit v1.18.1, gfd none"
    assert publishing.operand_versions(policy) == (("container_toolkit", "v1.18.1"),)
