"""The labels, annotations and paths seatrial reads and writes, spelled once."""

from __future__ import annotations

from typing import Final

STATE_LABEL: Final = "seatrial.dev/gpu-driver-upgrade-state"
"""Ours. While a GPU Operator runs it strips NVIDIA's own key, so our state lives under this one."""
RECORD_ANNOTATION: Final = "seatrial.dev/upgrade"

NVIDIA_STATE_LABEL: Final = "nvidia.com/gpu-driver-upgrade-state"
"""NVIDIA's. Mirrored by us only where no GPU Operator runs."""
SKIP_LABEL: Final = "nvidia.com/gpu-driver-upgrade.skip"

DRIVER_SELECTORS: Final = (
    ("app", "nvidia-driver-daemonset"),
    ("app.kubernetes.io/component", "nvidia-driver"),
    ("openshift.driver-toolkit", "true"),
)
"""Any of these on a pod of the operator's namespace makes it a driver pod (ClusterPolicy, NVIDIADriver, OpenShift)."""
VALIDATOR_SELECTOR: Final = ("app", "nvidia-operator-validator")
REVISION_LABEL: Final = "controller-revision-hash"

GPU_RESOURCE_PREFIXES: Final = ("nvidia.com/gpu", "nvidia.com/mig-")

NODES: Final = "/api/v1/nodes"
PODS: Final = "/api/v1/pods"
ROLLOUTS: Final = "/apis/seatrial.dev/v1alpha1/gpurollouts"
CLUSTER_POLICIES: Final = "/apis/nvidia.com/v1/clusterpolicies"
NVIDIA_DRIVERS: Final = "/apis/nvidia.com/v1alpha1/nvidiadrivers"


def revisions_path(namespace: str) -> str:
    """Where the revisions of the operator's DaemonSets are listed."""
    return f"/apis/apps/v1/namespaces/{namespace}/controllerrevisions"
