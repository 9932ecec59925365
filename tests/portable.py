"""Snapshots as tests write them: a few objects, in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from seatrial.adapters.files.snapshot_file import lines_of
from seatrial.core.survey.portable.recorded import Recorded, Refused

IMAGE: Final = "nvcr.io/nvidia/driver:570.124.06-ubuntu22.04"
AT: Final = 1_790_000_000.0
NODES: Final = "/api/v1/nodes"
PODS: Final = "/api/v1/pods"
REVISIONS: Final = "/apis/apps/v1/namespaces/gpu-operator/controllerrevisions"
MISSING: Final = (
    "/apis/nvidia.com/v1/clusterpolicies",
    "/apis/nvidia.com/v1alpha1/nvidiadrivers",
    "/apis/resource.k8s.io/v1/resourceclaims",
    "/apis/resource.k8s.io/v1/resourceslices",
    "/apis/maintenance.nvidia.com/v1alpha1/nodemaintenances",
    "/apis/seatrial.dev/v1alpha1/gpurollouts",
)


def a_node(name: str, **labels: str) -> dict[str, Any]:
    """A node with four GPUs."""
    present = {"nvidia.com/gpu.present": "true"}
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-09-01T00:00:00Z"}
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": "1", "labels": present | labels},
        "status": {"allocatable": {"nvidia.com/gpu": "4"}, "conditions": [ready]},
    }


def a_driver(node: str) -> dict[str, Any]:
    """The driver pod of a node, up and well."""
    owner = {"kind": "DaemonSet", "name": "nvidia-driver-daemonset", "uid": "uid-driver", "controller": True}
    return {
        "metadata": {
            "name": f"nvidia-driver-daemonset-{node}",
            "namespace": "gpu-operator",
            "uid": f"uid-driver-{node}",
            "resourceVersion": "1",
            "creationTimestamp": "2026-09-01T00:00:00Z",
            "labels": {"app": "nvidia-driver-daemonset", "controller-revision-hash": "old"},
            "ownerReferences": [owner],
        },
        "spec": {"nodeName": node, "containers": [{"name": "nvidia-driver-ctr", "image": IMAGE}]},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-09-01T00:00:00Z"}],
            "containerStatuses": [{"name": "nvidia-driver-ctr", "ready": True, "state": {"running": {}}}],
        },
    }


def a_revision() -> dict[str, Any]:
    """What the driver's DaemonSet wants."""
    owner = {"kind": "DaemonSet", "name": "nvidia-driver-daemonset", "uid": "uid-driver", "controller": True}
    spec = {"containers": [{"name": "nvidia-driver-ctr", "image": IMAGE}]}
    return {
        "metadata": {
            "name": "nvidia-driver-daemonset-old",
            "namespace": "gpu-operator",
            "uid": "uid-revision",
            "resourceVersion": "1",
            "labels": {"controller-revision-hash": "old"},
            "ownerReferences": [owner],
        },
        "revision": 1,
        "data": {"spec": {"template": {"spec": spec}}},
    }


def a_cluster(*nodes: dict[str, Any], **more: list[dict[str, Any]]) -> Recorded:
    """A cluster of these nodes, with nothing of ours in it."""
    drivers = [a_driver(each["metadata"]["name"]) for each in nodes]
    lists = {NODES: list(nodes), PODS: drivers, REVISIONS: [a_revision()], "/api/v1/events": []} | more
    refused = {path: Refused(code=404, said="404 page not found") for path in MISSING if path not in lists}
    return Recorded(taken_at=AT, namespace="gpu-operator", version="test", lists=lists, refused=refused)


def written(path: Path, *nodes: dict[str, Any], **more: list[dict[str, Any]]) -> Path:
    """The file of such a cluster."""
    return saved(path, a_cluster(*nodes, **more))


def saved(path: Path, recorded: Recorded) -> Path:
    """The file of a cluster."""
    path.write_text("".join(f"{line}\n" for line in lines_of(recorded)), encoding="utf-8")
    return path
