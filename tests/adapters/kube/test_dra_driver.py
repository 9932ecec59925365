"""The DRA driver of a chart of its own, as it is read: its pods, what its DaemonSet wants, and its release."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seatrial.adapters.kube.reading import items, operator_items, pod_items, project
from seatrial.adapters.kube.reading.followers import release_item
from seatrial.adapters.kube.shapes import keys, kinds
from seatrial.adapters.kube.shapes.gitops_models import OperatorDeployment
from seatrial.core.compat.matrix import Component
from seatrial.core.model.seen.nodes import NodeFacts
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.releases import source_of
from tests.adapters.kube import objects

PLUGIN = {"nvidia-dra-driver-gpu-component": "kubelet-plugin"}
OWNER = {"kind": "DaemonSet", "name": "plugin", "uid": "plugin-ds", "controller": True}
HOME = keys.DRA_NAMESPACES[0]


def containers(version: str) -> list[dict[str, Any]]:
    return [{"name": "gpus", "image": f"nvcr.io/nvidia/k8s-dra-driver-gpu:{version}"}]


def a_revision(version: str, number: int, **labels: str) -> kinds.ControllerRevision:
    template = {"metadata": {"labels": labels or PLUGIN}, "spec": {"containers": containers(version)}}
    meta = {
        "name": f"plugin-{number}",
        "uid": f"revision-{number}",
        "labels": {keys.REVISION_LABEL: f"hash-{number}"},
        "ownerReferences": [OWNER],
    }
    raw = {"metadata": meta, "revision": number, "data": {"spec": {"template": template}}}
    return msgspec.convert(raw, kinds.ControllerRevision)


def a_plugin(namespace: str = HOME) -> kinds.Pod:
    meta = {
        "name": "plugin-n1",
        "namespace": namespace,
        "uid": "plugin-n1",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {**PLUGIN, keys.REVISION_LABEL: "hash-1"},
        "ownerReferences": [OWNER],
    }
    raw = {"metadata": meta, "spec": {"nodeName": "n1", "containers": containers("v25.8.0")}}
    return msgspec.convert(raw, kinds.Pod)


def seen(*pods: kinds.Pod) -> NodeFacts:
    """A node whose plugin is to be of another version, where it has one."""
    found = filter(None, (operator_items.dra_revision_item(a_revision(f"v25.{each}.0", each)) for each in (8, 12)))
    around = project.Around(wanted={}, operands=project.operand_wishes_of(found))
    node = items.node_item(msgspec.convert(objects.a_node("n1"), kinds.Node))
    read = (pod_items.pod_item(pod, objects.NAMESPACE) for pod in pods)
    return project.node_facts(node, [pod for pod in read if pod is not None], around)


def test_a_plugin_is_old_while_its_daemon_set_wants_another_version() -> None:
    facts = seen(a_plugin())
    (operand,) = facts.operands
    assert (operand.operand, operand.version, operand.is_old) == (Operand.DRA_PLUGIN, "v25.12.0", True)
    assert facts.dra is not None
    assert operand.pod is not None
    assert facts.dra.uid == operand.pod.uid


def test_a_node_without_a_plugin_has_none_to_move_and_a_tenants_pod_is_none() -> None:
    assert seen().operands == ()
    assert seen(a_plugin(namespace="tenant")).operands == ()


def test_the_gpu_operators_own_plugin_is_nobodys_to_move() -> None:
    pod = pod_items.pod_item(a_plugin(namespace=objects.NAMESPACE), objects.NAMESPACE)
    assert pod is not None
    assert pod.operand is None


def test_other_daemon_sets_in_its_namespace_are_not_kept() -> None:
    assert operator_items.dra_revision_item(a_revision("v1", 1, app="other")) is None
    assert operator_items.dra_set_item(msgspec.convert({"metadata": {"name": "other"}}, kinds.DaemonSet)) is None


@pytest.mark.parametrize(("strategy", "is_rolling"), [("RollingUpdate", True), ("OnDelete", False)])
def test_a_daemon_set_that_is_not_on_delete_rolls_by_itself(strategy: str, is_rolling: bool) -> None:
    spec = {"updateStrategy": {"type": strategy}, "template": {"metadata": {"labels": PLUGIN}}}
    found = operator_items.dra_set_item(msgspec.convert({"metadata": {"name": "p"}, "spec": spec}, kinds.DaemonSet))
    assert found is not None
    assert (found.operand, found.is_rolling) == (Operand.DRA_PLUGIN, is_rolling)


@pytest.mark.parametrize(
    ("chart", "source"),
    [
        ("nvidia-dra-driver-gpu", "nvidia/nvidia-dra-driver-gpu"),
        ("dra-driver-nvidia-gpu", "oci://registry.k8s.io/dra-driver-nvidia/charts/dra-driver-nvidia-gpu"),
    ],
)
def test_its_release_is_known_by_either_name_of_its_chart(chart: str, source: str) -> None:
    labels = {"app.kubernetes.io/name": chart, "helm.sh/chart": f"{chart}-25.12.0"}
    raw = {"metadata": {"name": f"{chart}-controller", "namespace": HOME, "labels": labels}}
    release = release_item(msgspec.convert(raw, OperatorDeployment)).facts
    assert release is not None
    assert (release.component, release.version) == (Component.DRA_DRIVER, "25.12.0")
    assert source_of(release, Component.DRA_DRIVER) == source
