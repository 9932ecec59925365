"""Which part of the GPU stack a pod is: by its labels, and by the names that its containers have in every release.

Law of this file: names of the trade, as NVIDIA's charts write them; whoever asks for GPUs and is none of these is a
tenant, and everybody else is nobody's business. Tests: tests/core/survey/test_doctor_parts.py
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Final


class Part(StrEnum):
    """A part of the stack, as patterns name it."""

    DRIVER = "driver"
    DRIVER_MANAGER = "driver-manager"
    """The driver pod's init container, which takes the old driver away."""
    TOOLKIT = "toolkit"
    DEVICE_PLUGIN = "device-plugin"
    VALIDATOR = "validator"
    FEATURE_DISCOVERY = "feature-discovery"
    DCGM = "dcgm"
    MIG_MANAGER = "mig-manager"
    FABRIC_MANAGER = "fabric-manager"
    DRA = "dra"
    MOFED = "mofed"
    OPERATOR = "operator"
    TENANT = "tenant"
    OTHER = "other"


STACK: Final = frozenset(Part) - {Part.TENANT, Part.OTHER}

_APPS: Final[Mapping[str, Part]] = {
    "nvidia-driver-daemonset": Part.DRIVER,
    "nvidia-driver": Part.DRIVER,
    "nvidia-vgpu-manager-daemonset": Part.DRIVER,
    "nvidia-container-toolkit-daemonset": Part.TOOLKIT,
    "nvidia-device-plugin-daemonset": Part.DEVICE_PLUGIN,
    "nvidia-device-plugin": Part.DEVICE_PLUGIN,
    "nvidia-operator-validator": Part.VALIDATOR,
    "nvidia-cuda-validator": Part.VALIDATOR,
    "nvidia-device-plugin-validator": Part.VALIDATOR,
    "gpu-feature-discovery": Part.FEATURE_DISCOVERY,
    "nvidia-dcgm": Part.DCGM,
    "nvidia-dcgm-exporter": Part.DCGM,
    "dcgm-exporter": Part.DCGM,
    "nvidia-mig-manager": Part.MIG_MANAGER,
    "nvidia-fabricmanager": Part.FABRIC_MANAGER,
    "nvidia-fabric-manager": Part.FABRIC_MANAGER,
    "nvidia-dra-driver-gpu": Part.DRA,
    "nvidia-dra-driver-kubelet-plugin": Part.DRA,
    "dra-driver-nvidia-gpu": Part.DRA,
    "gpu-operator": Part.OPERATOR,
}
_LABELS: Final = (
    "app",
    "app.kubernetes.io/component",
    "app.kubernetes.io/name",
    "name",
    "k8s-app",
    "nvidia-dra-driver-gpu-component",
)
_MOFED: Final = "nvidia.com/ofed-driver"
_DRA: Final = "nvidia-dra-driver-gpu-component"
_CONTAINERS: Final[Mapping[str, Part]] = {
    "k8s-driver-manager": Part.DRIVER_MANAGER,
    "nvidia-driver-ctr": Part.DRIVER,
    "nvidia-fabricmanager-ctr": Part.FABRIC_MANAGER,
    "nvidia-container-toolkit-ctr": Part.TOOLKIT,
    "nvidia-device-plugin": Part.DEVICE_PLUGIN,
    "nvidia-device-plugin-ctr": Part.DEVICE_PLUGIN,
    "nvidia-mig-manager": Part.MIG_MANAGER,
    "mofed-container": Part.MOFED,
    "driver-validation": Part.VALIDATOR,
    "toolkit-validation": Part.VALIDATOR,
    "cuda-validation": Part.VALIDATOR,
    "plugin-validation": Part.VALIDATOR,
}
"""Containers whose name says what they are, whichever pod they are in."""
_IN_NAMES: Final = (
    ("nvidia-driver-daemonset", Part.DRIVER),
    ("nvidia-gpu-driver", Part.DRIVER),
    ("device-plugin", Part.DEVICE_PLUGIN),
    ("dra-driver", Part.DRA),
    ("fabric", Part.FABRIC_MANAGER),
    ("mofed-", Part.MOFED),
)
"""What names of pods begin with or hold, where labels do not tell: DaemonSets that OpenShift's toolkit builds for."""


def part_of(name: str, labels: Mapping[str, str], containers: Collection[str], *, wants_gpus: bool) -> Part:
    """Which part a pod is, by its name, its labels and the names of its containers."""
    if _MOFED in labels:
        return Part.MOFED
    if _DRA in labels:
        return Part.DRA
    for key in _LABELS:
        found = _APPS.get(labels.get(key, ""))
        if found is not None:
            return found
    if not wants_gpus:
        for container in containers:
            found = _CONTAINERS.get(container)
            if found is not None and found is not Part.VALIDATOR:
                return found
        if "nvidia" in name or name.startswith("mofed-"):
            return next((part for text, part in _IN_NAMES if text in name), Part.OTHER)
    return Part.TENANT if wants_gpus else Part.OTHER


def part_of_container(pod: Part, container: str) -> Part:
    """Which part a container of a pod is: an init container may be another than its pod."""
    if pod not in STACK:
        return pod
    found = _CONTAINERS.get(container, pod)
    # The validation that others wait for in an init container says something about the validator's subject, not about
    # them; their own name tells more.
    return pod if found is Part.VALIDATOR and pod is not Part.VALIDATOR else found
