"""Kubernetes objects as an API server stores them, small: a GPU node, its pods, a driver's revisions, a rollout."""

from __future__ import annotations

from typing import Any, Final

NAMESPACE: Final = "gpu-operator"
OLD, NEW = "570.124.06", "580.105.08"
AT: Final = "2026-01-02T03:04:05Z"
DAEMON_SET: Final = {"kind": "DaemonSet", "name": "nvidia-driver-daemonset", "uid": "ds-1", "controller": True}

Object = dict[str, Any]


def a_node(name: str = "n1", *, version: str = "7", labels: Object | None = None, **spec: Any) -> Object:
    """A Ready node with one GPU label."""
    return {
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "resourceVersion": version,
            "labels": {"nvidia.com/gpu.present": "true", **(labels or {})},
        },
        "spec": spec,
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }


def a_pod(
    name: str,
    *,
    node: str = "n1",
    namespace: str = "jobs",
    uid: str = "",
    version: str = "8",
    labels: Object | None = None,
    owner: Object | None = None,
    phase: str = "Running",
    containers: list[Object] | None = None,
    **fields: Any,
) -> Object:
    """A pod that holds no GPU; `spec`, `status` and `metadata` are laid over it."""
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": uid or f"uid-{name}",
        "resourceVersion": version,
        "creationTimestamp": AT,
        "labels": labels or {},
        "ownerReferences": [owner] if owner else [],
    }
    ready = phase == "Running"
    status = {
        "phase": phase,
        "conditions": [{"type": "Ready", "status": str(ready), "lastTransitionTime": AT}],
        "containerStatuses": [{"ready": ready, "restartCount": 0}],
    }
    return {
        "metadata": metadata | fields.get("metadata", {}),
        "spec": {"nodeName": node, "containers": containers or [{"name": "main"}]} | fields.get("spec", {}),
        "status": status | fields.get("status", {}),
    }


def a_gpu_pod(name: str = "train-0", *, resource: str = "nvidia.com/gpu", **fields: Any) -> Object:
    """A pod of a Job that holds a GPU."""
    job = {"kind": "Job", "name": "train", "uid": "job-1", "controller": True}
    holding = [{"name": "main", "resources": {"limits": {resource: "1"}}}]
    return a_pod(name, **({"owner": job, "containers": holding} | fields))


def a_driver_pod(node: str = "n1", *, revision: str = "old", driver: str = OLD, **fields: Any) -> Object:
    """The driver pod of a node, Ready."""
    image = f"nvcr.io/nvidia/driver:{driver}-ubuntu22.04"
    own: Object = {
        "node": node,
        "namespace": NAMESPACE,
        "labels": {"app": "nvidia-driver-daemonset", "controller-revision-hash": revision},
        "owner": DAEMON_SET,
        "containers": [{"name": "nvidia-driver-ctr", "image": image}],
    }
    return a_pod(f"driver-{node}", **(own | fields))


def a_validator_pod(node: str = "n1", **fields: Any) -> Object:
    """The validator pod of a node, Ready."""
    own: Object = {
        "node": node,
        "namespace": NAMESPACE,
        "labels": {"app": "nvidia-operator-validator"},
        "owner": {"kind": "DaemonSet", "uid": "ds-2", "controller": True},
    }
    return a_pod(f"validator-{node}", **(own | fields))


def a_revision(name: str, *, number: int, driver: str, owner: Object = DAEMON_SET, image: str = "") -> Object:
    """A revision of the driver DaemonSet's template; its name is its hash."""
    container = {"name": "nvidia-driver-ctr", "image": image or f"nvcr.io/nvidia/driver:{driver}-ubuntu22.04"}
    return {
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "uid": f"uid-{name}",
            "resourceVersion": str(number),
            "labels": {"controller-revision-hash": name},
            "ownerReferences": [owner],
        },
        "revision": number,
        "data": {"spec": {"template": {"spec": {"containers": [container]}}}},
    }


def a_rollout(name: str = "spring", *, version: str = "40", status: Object | None = None, **spec: Any) -> Object:
    """A rollout over all GPU nodes to the NEW driver."""
    wanted = {"target": {"driver": NEW}, "nodeSelector": {"nvidia.com/gpu.present": "true"}}
    metadata = {"name": name, "uid": f"uid-{name}", "resourceVersion": version}
    return {"metadata": metadata, "spec": wanted | spec, "status": status or {}}


def a_cluster_policy(name: str = "cluster-policy", *, created: str = AT, state: str = "ready", **spec: Any) -> Object:
    """A ClusterPolicy."""
    metadata = {"name": name, "uid": f"uid-{name}", "resourceVersion": "5", "creationTimestamp": created}
    return {"metadata": metadata, "spec": spec, "status": {"state": state}}


def a_claimant(claim: str, **fields: Any) -> Object:
    """A pod that names a claim."""
    spec = {"resourceClaims": [{"name": "gpu", "resourceClaimName": claim}]}
    return a_pod(f"pod-{claim}", spec={"nodeName": fields["node"]} | spec, **fields)


def a_claim(name: str, *results: Object, version: str = "9") -> Object:
    """A claim, allocated when there are results."""
    metadata = {"name": name, "namespace": "jobs", "uid": f"uid-{name}", "resourceVersion": version}
    return {"metadata": metadata, "status": {"allocation": {"devices": {"results": results}}} if results else {}}


def a_slice(node: str, driver_version: str, *, version: str = "9") -> Object:
    """What a DRA plugin publishes about its node."""
    metadata = {"name": f"slice-{node}", "uid": f"uid-slice-{node}", "resourceVersion": version}
    devices = [{"name": "gpu-0", "attributes": {"driverVersion": {"version": driver_version}}}]
    return {"metadata": metadata, "spec": {"driver": "gpu.nvidia.com", "nodeName": node, "devices": devices}}


def a_maintenance(name: str, *, requestor: str = "network", version: str = "9") -> Object:
    """A maintenance of n2."""
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": version}
    return {"metadata": metadata, "spec": {"nodeName": "n2", "requestorID": requestor}}


def a_warning(pod: str, reason: str, message: str, *, version: str = "9") -> Object:
    """An event about a pod of the operator."""
    name = f"{pod}.{message}"
    metadata = {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}", "resourceVersion": version}
    about = {"kind": "Pod", "name": pod, "namespace": NAMESPACE, "uid": f"uid-{pod}"}
    return {"metadata": metadata, "involvedObject": about, "type": "Warning", "reason": reason, "message": message}
