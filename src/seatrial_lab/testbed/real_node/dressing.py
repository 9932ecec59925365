"""What the objects of a fleet have besides where real nodes are among its nodes. Only values in, values out.

The same DaemonSets run on simulated and on real nodes. What a simulated node reads in annotations and plays, a real one
has to be told: by a probe, by variables, by a folder of its node. kwok takes no notice of any of it.
Tests: tests/testbed/test_real_node.py
"""

from collections.abc import Sequence
from typing import Any, Final

from seatrial_lab.testbed.nodes import manifests, stages
from seatrial_lab.testbed.real_node import settings

Object = dict[str, Any]

SIMULATED: Final = {"key": manifests.SIMULATED, "effect": "NoSchedule"}
"""The taint of simulated nodes beside real ones: containers of ours must not end up where nothing runs them."""

_VOLUME: Final = "run-nvidia"
_RIGHTS: Final = (
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "patch"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]},
    {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
)


def simulated_node(node: Object) -> Object:
    """Return a simulated node with the taint."""
    return node | {"spec": {"taints": [dict(SIMULATED)]}}


def real_node(name: str, simulated: Object) -> Object:
    """Return what a real node gets of a fleet: the labels that the simulated one in its place would have."""
    labels = simulated["metadata"]["labels"] | {"kubernetes.io/hostname": name, manifests.REAL_LABEL: "true"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def driver_daemon_set(daemon_set: Object) -> Object:
    """Return the driver DaemonSet with what its containers need to play: the node's folder, a probe, a pace."""
    pod = daemon_set["spec"]["template"]["spec"]
    [manager], [driver] = pod["initContainers"], pod["containers"]
    pace = {"fieldRef": {"fieldPath": f"metadata.annotations['{stages.READY_AFTER}']"}}
    probe = {"exec": {"command": ["/bin/sh", "/play/nvidia-smi"]}, "periodSeconds": 1, "failureThreshold": 600}
    changes = {
        "automountServiceAccountToken": True,  # for the driver manager, which acts on its node
        "initContainers": [_with_folder(manager)],
        "containers": [_with_folder(driver) | {"env": [{"name": "RELOAD", "valueFrom": pace}], "startupProbe": probe}],
    }
    return _with_pod(daemon_set, changes)


def validator_daemon_set(daemon_set: Object) -> Object:
    """Return the validator DaemonSet with the init container in which the real one waits for its driver."""
    [validator] = daemon_set["spec"]["template"]["spec"]["containers"]
    wait = {"name": "driver-validation", "image": validator["image"], "args": ["wait"]}
    return _with_pod(daemon_set, {"initContainers": [_with_folder(wait)], "containers": [_with_folder(validator)]})


def manager_rights(daemon_set: Object) -> list[Object]:
    """Return what the driver manager in a driver DaemonSet's pods may do."""
    name, namespace = daemon_set["metadata"]["name"], daemon_set["metadata"]["namespace"]
    fleet = {manifests.FLEET_LABEL: daemon_set["metadata"]["labels"][manifests.FLEET_LABEL]}
    group, metadata = "rbac.authorization.k8s.io", {"name": name, "labels": fleet}
    subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    return [
        {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": list(_RIGHTS)},
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
            "subjects": [subject],
        },
    ]


def bare_nodes(names: Sequence[str]) -> list[Object]:
    """Return real nodes that belong to no fleet any more: applied over the others, they take their labels away."""
    return [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}} for name in names]


def _with_pod(daemon_set: Object, changes: Object) -> Object:
    template = daemon_set["spec"]["template"]
    folder = {"name": _VOLUME, "hostPath": {"path": settings.KERNEL, "type": "DirectoryOrCreate"}}
    pod = template["spec"] | {"volumes": [folder]} | changes
    return daemon_set | {"spec": daemon_set["spec"] | {"template": template | {"spec": pod}}}


def _with_folder(container: Object) -> Object:
    return container | {"volumeMounts": [{"name": _VOLUME, "mountPath": settings.KERNEL}]}
