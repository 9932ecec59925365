"""The recorded clusters on a real API server, with real definitions: an audit reads there what it reads of the files.

Pods are made by the real DaemonSet controller from the recorded templates. Nobody plays kubelets: a pod's status is
written as the file has it. NicDevice has no definition in any Go module that the registry serves; ours takes any field.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from typing import Any, Final

import pytest

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.api.config import load_config
from seatrial.adapters.kube.surveying import auditing
from seatrial.core.survey.audit.auditing import audit
from seatrial.core.survey.audit.objects import Objects
from seatrial_lab.testbed import waiting
from seatrial_lab.testbed.nodes import openshift
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests import audited
from tests.cli.test_audit import DAY
from tests.core.compat.knowledge import facts

pytestmark = [pytest.mark.cluster, pytest.mark.own_plane]

Object = dict[str, Any]
TIMEOUT_SECONDS: Final = 90.0
KINDS: Final = {
    "deployments.apps": ("apps/v1", "Deployment"),
    "resourceslices.resource.k8s.io": ("resource.k8s.io/v1", "ResourceSlice"),
    "clusterpolicies.nvidia.com": ("nvidia.com/v1", "ClusterPolicy"),
    "nvidiadrivers.nvidia.com": ("nvidia.com/v1alpha1", "NVIDIADriver"),
    "nicdevices.configuration.net.nvidia.com": ("configuration.net.nvidia.com/v1alpha1", "NicDevice"),
    "clusterserviceversions.operators.coreos.com": ("operators.coreos.com/v1alpha1", "ClusterServiceVersion"),
    "subscriptions.operators.coreos.com": ("operators.coreos.com/v1alpha1", "Subscription"),
    "clusterversions.config.openshift.io": ("config.openshift.io/v1", "ClusterVersion"),
    "machineconfigpools.machineconfiguration.openshift.io": (
        "machineconfiguration.openshift.io/v1",
        "MachineConfigPool",
    ),
}


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane that knows every kind that an audit reads; other tests rely on its not knowing them."""
    with ControlPlane.start(tmp_path_factory.mktemp("shapes")) as started:
        started.load_nvidia_crds()
        started.define([*openshift.definitions(), nic_devices()])
        yield started


def nic_devices() -> Object:
    version = {
        "name": "v1alpha1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    names = {"plural": "nicdevices", "singular": "nicdevice", "kind": "NicDevice", "listKind": "NicDeviceList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "nicdevices.configuration.net.nvidia.com"},
        "spec": {
            "group": "configuration.net.nvidia.com",
            "scope": "Namespaced",
            "names": names,
            "versions": [version],
        },
    }


@pytest.mark.parametrize("name", audited.NAMES)
async def test_a_cluster_of_this_shape_is_read_right_on_a_real_server(name: str, plane: ControlPlane) -> None:
    recorded = audited.recorded(name)
    put(plane, recorded)
    try:
        on, known = date.fromisoformat(DAY[name]), facts()
        live, read = audit(await read_live(plane), known, on), audit(await audited.read(recorded), known, on)
        assert {row.component: (row.state, row.found) for row in live.rows} == {
            row.component: (row.state, row.found) for row in read.rows
        }
        assert live.findings == ()
        assert any(row.found for row in live.rows)
    finally:
        take_away(plane, recorded)


async def read_live(plane: ControlPlane) -> Objects:
    async with Client(load_config(kubeconfig=str(plane.kubeconfig), environ={}), user_agent="seatrial/test") as client:
        return await auditing.read(client, namespace="gpu-operator")


# ── a recorded cluster, on a real server ─────────────────────────────────────────────────────────────────────────────


def put(plane: ControlPlane, cluster: audited.Recorded) -> None:
    """Make everything of a recorded cluster; what controllers make, they make."""
    plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each}} for each in namespaces(cluster))
    for node in cluster["nodes"]:
        taken = {key: node["metadata"].get(key, {}) for key in ("labels", "annotations")}
        plane.apply([{"apiVersion": "v1", "kind": "Node", "metadata": {"name": node["metadata"]["name"], **taken}}])
        room = {"allocatable": {**node["status"]["allocatable"], "pods": "110"}}
        say(plane, "node", {**node, "status": {**node["status"], **room}})
    for resource, (version, kind) in KINDS.items():
        for each in cluster.get(resource, ()):
            plane.apply([{"apiVersion": version, "kind": kind, **made(kind, each)}])
            if "status" in each:
                say(plane, resource, {**each, "status": status_of(kind, each["status"])})
    for each in cluster["daemonsets.apps"]:
        plane.apply([daemon_set(each, nodes_of(cluster, each))])
    wanted = sum(len(nodes_of(cluster, each)) for each in cluster["daemonsets.apps"])
    waiting.wait_for(
        lambda: len(placed(plane)) == wanted,
        what=f"{wanted} pods of DaemonSets",
        timeout_seconds=TIMEOUT_SECONDS,
        describe=lambda: f"{len(placed(plane))} are there; {unplaced(plane)}",
    )
    for pod in placed(plane):
        owner, node = pod["metadata"]["ownerReferences"][0]["name"], pod["spec"]["nodeName"]
        found = next(each for each in cluster["pods"] if is_of(each, owner) and each["spec"]["nodeName"] == node)
        labels = {**found["metadata"]["labels"], **pod["metadata"]["labels"]}
        where = ("-n", pod["metadata"]["namespace"])
        patch = {"metadata": {"labels": labels}}
        plane.kubectl("patch", "pod", pod["metadata"]["name"], *where, "--type=merge", "-p", json.dumps(patch))
        say(plane, "pod", {**pod, "status": found["status"]})


def take_away(plane: ControlPlane, cluster: audited.Recorded) -> None:
    for resource in (*KINDS, "daemonsets.apps"):
        for each in cluster.get(resource, ()):
            where = ("-n", space) if (space := each["metadata"].get("namespace", "")) else ()
            plane.kubectl("delete", resource, each["metadata"]["name"], *where, "--wait=false")
    plane.kubectl("delete", "pods", "--all", "-A", "--force", "--grace-period=0", "--wait=false")
    plane.kubectl("delete", "nodes", "--all", "--wait=false")
    waiting.wait_for(
        lambda: not placed(plane) and not plane.get("nodes")["items"],
        what="the cluster to be empty",
        timeout_seconds=TIMEOUT_SECONDS,
        describe=lambda: f"{len(placed(plane))} pods are there",
    )


def namespaces(cluster: audited.Recorded) -> list[str]:
    found = {each["metadata"].get("namespace", "") for listed in cluster.values() for each in listed}
    return sorted(found - {"", "default", "kube-system"})


def made(kind: str, recorded: Object) -> Object:
    """The object as somebody would have made it; what its definition demands and no audit reads is filled in."""
    said = ("name", "namespace", "labels", "annotations")
    meta = {key: value for key, value in recorded["metadata"].items() if key in said}
    spec = {**recorded.get("spec", {})}
    match kind:
        case "ClusterPolicy":
            parts = "operator daemonsets driver toolkit devicePlugin dcgm dcgmExporter gfd nodeStatusExporter".split()  # noqa: SIM905
            spec = {each: {} for each in parts} | {"operator": {"defaultRuntime": "containerd"}} | spec
        case "Deployment":
            labels = {"app": meta["name"], **spec["template"]["metadata"].get("labels", {})}
            template = {**spec["template"], "metadata": {"labels": labels}}
            spec = {**spec, "replicas": 0, "selector": {"matchLabels": labels}, "template": template}
        case "ClusterServiceVersion":
            strategy = {"strategy": "deployment", "spec": {"deployments": []}}
            spec = {"displayName": meta["name"], "install": strategy, **spec}
        case "Subscription":
            spec = {"source": "certified-operators", "sourceNamespace": "openshift-marketplace", **spec}
        case "ClusterVersion":
            spec = {"clusterID": "4c1f6a0e-8a53-4b9a-9c3e-0d2f5a6b7c8d", **spec}
        case "ResourceSlice":
            spec = {"pool": {"name": meta["name"], "generation": 1, "resourceSliceCount": 1}, **spec}
    return {"metadata": meta, "spec": spec}


def status_of(kind: str, recorded: Object) -> Object:
    """The same for a status."""
    if kind != "ClusterVersion":
        return recorded
    image, at = {"image": "quay.io/openshift-release-dev/ocp-release@sha256:1111"}, "2026-01-20T08:00:00Z"
    ended = {**image, "startedTime": at, "completionTime": at, "verified": True}
    return {
        "availableUpdates": [],
        "observedGeneration": 1,
        "versionHash": "1",
        "desired": {**image, **recorded["desired"]},
        "history": [{**ended, **each} for each in recorded["history"]],
    }


def daemon_set(recorded: Object, nodes: list[str]) -> Object:
    labels = {"app": recorded["metadata"]["name"], **recorded["spec"]["template"]["metadata"].get("labels", {})}
    there = {"key": "kubernetes.io/hostname", "operator": "In", "values": nodes or ["none"]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [there]}]}
    spec = {
        **recorded["spec"]["template"]["spec"],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
        "tolerations": [{"operator": "Exists"}],
    }
    meta = {key: recorded["metadata"][key] for key in ("name", "namespace", "labels") if key in recorded["metadata"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": meta,
        "spec": {
            "selector": {"matchLabels": labels},
            "updateStrategy": recorded["spec"].get("updateStrategy", {"type": "RollingUpdate"}),
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def is_of(pod: Object, owner: str) -> bool:
    return any(each["name"] == owner for each in pod["metadata"].get("ownerReferences", ()))


def nodes_of(cluster: audited.Recorded, recorded: Object) -> list[str]:
    name = recorded["metadata"]["name"]
    return sorted(each["spec"]["nodeName"] for each in cluster["pods"] if is_of(each, name))


def placed(plane: ControlPlane) -> list[Object]:
    found: list[Object] = plane.get("pods", "-A")["items"]
    return [each for each in found if each["spec"].get("nodeName")]


def unplaced(plane: ControlPlane) -> str:
    """What the scheduler says of the first that has no node yet."""
    waits = [each for each in plane.get("pods", "-A")["items"] if not each["spec"].get("nodeName")]
    return json.dumps(waits[0]["status"]) if waits else "nobody waits for a node"


def say(plane: ControlPlane, resource: str, recorded: Object) -> None:
    """Write a status, as whoever looks after such objects does."""
    where = ("-n", space) if (space := recorded["metadata"].get("namespace", "")) else ()
    body = json.dumps({"status": recorded.get("status", {})})
    name = recorded["metadata"]["name"]
    plane.kubectl("patch", resource, name, *where, "--subresource=status", "--type=merge", "-p", body)
