"""The network driver of a fleet: the real NicClusterPolicy definition, and a DaemonSet of ours that follows one.

    with network.installed(plane, nodes, version="24.10-0.7.0.0-0"):
        ...

The definition comes from the Go module cache: see go/network-operator/go.mod. The Network Operator itself is not run.
Of what it does two things are played: the DaemonSet takes the version of the policy as its template, OnDelete, and
with autoUpgrade off NVIDIA's state label of this driver is taken from the nodes.
Tests: tests/e2e/test_network_driver.py
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import yaml

from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed import waiting
from seatrial_lab.testbed.building import toolchain
from seatrial_lab.testbed.nodes import manifests, stages
from seatrial_lab.testbed.nodes.fleet_spec import by_node, is_ready
from seatrial_lab.testbed.plane.again import Again
from seatrial_lab.testbed.plane.control_plane import ControlPlane

Object = dict[str, Any]

POLICY: Final = "nic-cluster-policy"
RESOURCE: Final = "nicclusterpolicies.mellanox.com"
NAME: Final = "mofed-ubuntu22.04-ds"
APP: Final = "mofed-ubuntu22.04"
NODE_LABEL: Final = "feature.node.kubernetes.io/pci-15b3.present"
READY_SECONDS: Final = 60.0
_PLATFORM: Final = "-ubuntu22.04-amd64"

_FOLDER: Final = toolchain.MODULES / "network-operator"
_MODULE: Final = "github.com/Mellanox/network-operator"


def definition() -> Object:
    """Return the real definition of a NicClusterPolicy, from the Go module cache."""
    path = toolchain.module_folder(_FOLDER, _MODULE) / "config" / "crd" / "bases"
    found: Object = yaml.safe_load((path / "mellanox.com_nicclusterpolicies.yaml").read_text(encoding="utf-8"))
    return found


class NetworkDriver:
    """The driver of some nodes, as it stands there."""

    def __init__(self, plane: ControlPlane, nodes: Sequence[str]) -> None:
        self.nodes = tuple(nodes)
        self._plane = plane

    def pods(self) -> dict[str, Object]:
        """Return the pod of every node that has one; the youngest, where an old one is still going."""
        return by_node(self._plane.get("pods", "-n", keys.NETWORK_NAMESPACE, "-l", f"app={APP}")["items"])

    def versions(self) -> dict[str, str]:
        """Return the version that the Ready pod of each node was made with."""
        return {node: version_of(pod["spec"]) for node, pod in self.pods().items() if is_ready(pod)}

    def set_version(self, version: str) -> None:
        """Put another driver into the DaemonSet's template, as the operator does; no pod moves by that."""
        self._plane.apply([_daemon_set(version)])

    def wait_ready(self, version: str) -> None:
        """Return when every node runs this version."""
        waiting.wait_for(
            lambda: self.versions() == dict.fromkeys(self.nodes, version),
            what=f"network driver {version} on {', '.join(self.nodes)}",
            timeout_seconds=READY_SECONDS,
            describe=lambda: str(self.versions()),
        )


@contextmanager
def installed(
    plane: ControlPlane, nodes: Sequence[str], *, version: str, has_policy: bool = True
) -> Iterator[NetworkDriver]:
    """The driver on these nodes, of this version; with a NicClusterPolicy, whose version it takes from then on."""
    plane.define([definition()])
    plane.kubectl("label", "nodes", *nodes, f"{NODE_LABEL}=true", "--overwrite")
    plane.apply([*_shared_objects(), _daemon_set(version)])
    made = NetworkDriver(plane, nodes)
    made.wait_ready(version)
    try:
        if not has_policy:
            yield made
        else:
            plane.apply([policy(version)])
            with Again("network-operator", lambda: _obey(plane, made)):
                yield made
    finally:
        plane.kubectl("delete", RESOURCE, POLICY, "--ignore-not-found")
        plane.kubectl("delete", "daemonset", NAME, "-n", keys.NETWORK_NAMESPACE, "--ignore-not-found")


def policy(version: str, **upgrade_policy: Any) -> Object:
    """Return a NicClusterPolicy with a driver of this version."""
    driver = {"image": "doca-driver", "repository": "nvcr.io/nvidia/mellanox", "version": version}
    return {
        "apiVersion": "mellanox.com/v1alpha1",
        "kind": "NicClusterPolicy",
        "metadata": {"name": POLICY},
        "spec": {"ofedDriver": {**driver, "upgradePolicy": {"autoUpgrade": False, **upgrade_policy}}},
    }


def version_of(pod_spec: Object) -> str:
    """Return the version of the driver in a pod's only image."""
    tag = str(pod_spec["containers"][0]["image"]).rpartition(":")[2]
    return tag.removesuffix(_PLATFORM)


def _obey(plane: ControlPlane, driver: NetworkDriver) -> None:
    said = plane.get(RESOURCE, POLICY)["spec"]["ofedDriver"]
    template = plane.get("daemonset", NAME, "-n", keys.NETWORK_NAMESPACE)["spec"]["template"]["spec"]
    if version_of(template) != said["version"]:
        driver.set_version(said["version"])
    if not said["upgradePolicy"]["autoUpgrade"]:
        for node in plane.get("nodes", "-l", f"{keys.NVIDIA_NETWORK_STATE_LABEL}")["items"]:
            plane.kubectl("label", "node", node["metadata"]["name"], f"{keys.NVIDIA_NETWORK_STATE_LABEL}-")


def _shared_objects() -> list[Object]:
    where = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": keys.NETWORK_NAMESPACE}}
    return [where, manifests.service_account(NAME, keys.NETWORK_NAMESPACE)]


def _daemon_set(version: str) -> Object:
    labels = {"app": APP, keys.NETWORK_DRIVER_LABEL: ""}
    image = f"nvcr.io/nvidia/mellanox/doca-driver:{version}{_PLATFORM}"
    container = {"name": "mofed-container", "image": image, "securityContext": {"privileged": True}}
    spec = {
        "hostNetwork": True,
        "nodeSelector": {NODE_LABEL: "true"},
        "tolerations": [{"operator": "Exists"}],
        "priorityClassName": "system-node-critical",
        "serviceAccountName": NAME,
        "containers": [container],
    }
    pacing = {stages.READY_AFTER: "0.5s"}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": NAME, "namespace": keys.NETWORK_NAMESPACE, "labels": labels},
        "spec": {
            "selector": {"matchLabels": {"app": APP}},
            "updateStrategy": {"type": "OnDelete"},
            "template": {"metadata": {"labels": labels, "annotations": pacing}, "spec": spec},
        },
    }
