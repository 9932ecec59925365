"""The objects of NVIDIA's DRA driver, as its chart and its kubelet plugin make them. Only values in, values out.

One kubelet plugin DaemonSet serves the whole cluster, under its real name: nodes of fleets that want it bear a label.
What a plugin publishes about its node is written by operands.py; the scheduler that allocates from it is the real one.
Who holds claims is in consumers.py. Tests: tests/testbed/test_dra.py.
"""

from collections.abc import Sequence
from typing import Any, Final

from seatrial_lab.testbed.nodes import manifests, stages
from seatrial_lab.testbed.real_node import settings

Object = dict[str, Any]

API_VERSION: Final = "resource.k8s.io/v1"
NAMESPACE: Final = "nvidia-dra-driver-gpu"
DAEMON_SET: Final = "nvidia-dra-driver-gpu-kubelet-plugin"
COMPONENT_LABELS: Final = {"nvidia-dra-driver-gpu-component": "kubelet-plugin"}
OPERAND: Final = "dra-plugin"
NODE_LABEL: Final = f"{stages.GROUP}/dra"
# The namespace of a claim that asks for devices others hold must bear it.
ADMIN_ACCESS_LABEL: Final = "resource.kubernetes.io/admin-access"

GPU_DRIVER: Final = "gpu.nvidia.com"
COMPUTE_DOMAIN_DRIVER: Final = "compute-domain.nvidia.com"
CHANNEL_CLASS: Final = "compute-domain-default-channel.nvidia.com"
# What a claim on the devices of each driver asks for.
DEVICE_CLASSES: Final = {GPU_DRIVER: GPU_DRIVER, COMPUTE_DOMAIN_DRIVER: CHANNEL_CLASS}
CHANNEL_COUNT: Final = 4
ALL_AT_ONCE: Final = {"maxUnavailable": "100%"}
# Over a second: times are whole seconds, and a plugin that starts after its driver is Ready must show a later one.
READY_SECONDS: Final = 1.1
IMAGE: Final = "nvcr.io/nvidia/k8s-dra-driver-gpu"
VERSION: Final = "v25.12.0"


def shared_objects(version: str = VERSION, strategy: str = "RollingUpdate") -> list[Object]:
    """Return what there is once in a cluster: namespace, DeviceClasses, and the kubelet plugin's DaemonSet."""
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        manifests.service_account(DAEMON_SET, NAMESPACE),
        _device_class(GPU_DRIVER, GPU_DRIVER, "gpu"),
        _device_class(CHANNEL_CLASS, COMPUTE_DOMAIN_DRIVER, "channel"),
        _plugin_daemon_set(version, strategy),
    ]


def slices(node: str, node_uid: str, *, gpu_count: int, driver_version: str) -> list[Object]:
    """Return what a kubelet plugin publishes about its node when it found this driver loaded."""
    gpus = [_gpu(node, each, driver_version) for each in range(gpu_count)]
    domain = [_numbered("daemon", 0), *(_numbered("channel", each) for each in range(CHANNEL_COUNT))]
    return [_slice(node, node_uid, GPU_DRIVER, gpus), _slice(node, node_uid, COMPUTE_DOMAIN_DRIVER, domain)]


def slice_name(node: str, driver: str) -> str:
    """Return the name of a node's ResourceSlice of a driver."""
    return f"{node}-{driver}"


def semantic_version(driver_version: str) -> str:
    """Return a driver version as a ResourceSlice must spell it: three numbers without leading zeros."""
    parts = [int(each) for each in driver_version.split(".")]
    return ".".join(str(each) for each in [*parts, 0, 0][:3])


def claim_spec(*, driver: str, count: int, has_admin_access: bool) -> Object:
    """Return what a claim asks for: some devices of a driver."""
    exactly: Object = {"deviceClassName": DEVICE_CLASSES[driver], "count": count}
    if has_admin_access:
        exactly["adminAccess"] = True
    return {"devices": {"requests": [{"name": "devices", "exactly": exactly}]}}


def claim(name: str, where: str, spec: Object) -> Object:
    """Return a ResourceClaim."""
    metadata = {"name": name, "namespace": where}
    return {"apiVersion": API_VERSION, "kind": "ResourceClaim", "metadata": metadata, "spec": spec}


def claim_template(name: str, where: str, spec: Object) -> Object:
    """Return a ResourceClaimTemplate, from which each pod gets a claim of its own."""
    metadata = {"name": name, "namespace": where}
    return {"apiVersion": API_VERSION, "kind": "ResourceClaimTemplate", "metadata": metadata, "spec": {"spec": spec}}


def _device_class(name: str, driver: str, kind: str) -> Object:
    rule = f"device.driver == '{driver}' && device.attributes['{driver}'].type == '{kind}'"
    return {
        "apiVersion": API_VERSION,
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": rule}}]},
    }


def _plugin_daemon_set(version: str, strategy: str) -> Object:
    chosen = {"app.kubernetes.io/name": "nvidia-dra-driver-gpu", **COMPONENT_LABELS}
    mounts = [{"name": "driver-root", "mountPath": settings.KERNEL}]
    privileged = {"image": f"{IMAGE}:{version}", "securityContext": {"privileged": True}, "volumeMounts": mounts}
    driver_root = {"path": settings.KERNEL, "type": "DirectoryOrCreate"}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": DAEMON_SET, "namespace": NAMESPACE, "labels": chosen},
        "spec": {
            "selector": {"matchLabels": chosen},
            "updateStrategy": {"type": strategy, "rollingUpdate": None if strategy == "OnDelete" else ALL_AT_ONCE},
            "template": {
                "metadata": {
                    "labels": chosen | {manifests.OPERAND_LABEL: OPERAND},
                    "annotations": {stages.READY_AFTER: f"{READY_SECONDS:g}s"},
                },
                "spec": {
                    "serviceAccountName": DAEMON_SET,
                    "priorityClassName": "system-node-critical",
                    "nodeSelector": {NODE_LABEL: "true"},
                    "tolerations": [{"operator": "Exists"}],
                    "initContainers": [{"name": "init-container", "args": ["wait"], **privileged}],
                    "containers": [{"name": "compute-domains", **privileged}, {"name": "gpus", **privileged}],
                    "volumes": [{"name": "driver-root", "hostPath": driver_root}],
                },
            },
        },
    }


def _slice(node: str, node_uid: str, driver: str, devices: Sequence[Object]) -> Object:
    owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": node_uid, "controller": True}
    return {
        "apiVersion": API_VERSION,
        "kind": "ResourceSlice",
        # Owned by its node, so that it goes with it.
        "metadata": {"name": slice_name(node, driver), "ownerReferences": [owner]},
        "spec": {
            "driver": driver,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": list(devices),
        },
    }


def _gpu(node: str, position: int, driver_version: str) -> Object:
    attributes = {
        "type": {"string": "gpu"},
        "productName": {"string": "NVIDIA H100 80GB HBM3"},
        "uuid": {"string": f"GPU-{node}-{position}"},
        "driverVersion": {"version": semantic_version(driver_version)},
    }
    return {"name": f"gpu-{position}", "attributes": attributes, "capacity": {"memory": {"value": "81559Mi"}}}


def _numbered(kind: str, position: int) -> Object:
    return {"name": f"{kind}-{position}", "attributes": {"type": {"string": kind}, "id": {"int": position}}}
