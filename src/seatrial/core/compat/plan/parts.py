"""What a step moves: a group, or of the GPUs one of three; how it is called, and its place in the preferred order.

Tests: tests/core/compat/test_plan_parting.py
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from seatrial.core.compat.matrix import COMPONENTS, GROUPS, Component, Group, Value


class Part(StrEnum):
    """What moves by itself."""

    __hash__ = str.__hash__

    OPERATOR = "operator"
    DRIVER = "driver"
    IMAGES = "images"
    NETWORK = "network"
    FIRMWARE = "firmware"
    PLATFORM = "platform"
    SRIOV = "sriov"
    WORKLOAD = "workload"


_WITH_DRIVER: Final = (Component.GPU_DRIVER, Component.FABRIC_MANAGER, Component.VGPU)

_ORDER: Final = (
    Part.OPERATOR,
    Part.DRIVER,
    Part.NETWORK,
    Part.FIRMWARE,
    Part.PLATFORM,
    Part.SRIOV,
    Part.IMAGES,
    Part.WORKLOAD,
)

NAMES: Final = {
    Component.OPENSHIFT: "OpenShift",
    Component.KUBERNETES: "Kubernetes",
    Component.KERNEL: "kernel",
    Component.OS: "the system",
    Component.CRI_O: "CRI-O",
    Component.GPU_OPERATOR: "GPU Operator",
    Component.GPU_DRIVER: "driver",
    Component.CUDA: "CUDA",
    Component.DEVICE_PLUGIN: "device plugin",
    Component.CONTAINER_TOOLKIT: "container toolkit",
    Component.DCGM: "DCGM exporter",
    Component.NFD: "NFD",
    Component.GDS: "GDS",
    Component.GDRCOPY: "GDRCopy",
    Component.VGPU: "vGPU",
    Component.FABRIC_MANAGER: "Fabric Manager",
    Component.DRA_DRIVER: "DRA driver",
    Component.NETWORK_OPERATOR: "Network Operator",
    Component.MOFED: "MOFED",
    Component.FIRMWARE_CX7: "ConnectX-7 firmware",
    Component.FIRMWARE_CX6: "ConnectX-6 firmware",
    Component.FIRMWARE_CX8: "ConnectX-8 firmware",
    Component.FIRMWARE_BF3: "BlueField-3 firmware",
    Component.SRIOV_OPERATOR: "SR-IOV operator",
    Component.NCCL: "NCCL",
    Component.CUDA_COMPAT: "CUDA compat",
}
"""How people say it."""


def named(value: Value) -> str:
    """A version with the name of what it is of."""
    return f"{NAMES.get(value.component, value.component.value)} {value.text}"


def part_of(component: Component) -> Part:
    """What a component moves with."""
    group = GROUPS[component]
    if group is not Group.GPU:
        return Part(group.value)
    if component is Component.CUDA:
        return Part.IMAGES
    return Part.DRIVER if component in _WITH_DRIVER else Part.OPERATOR


def parts_of(components: Iterable[Component]) -> tuple[Part, ...]:
    """Everything that moves where these components do."""
    found = {part_of(component) for component in components}
    return tuple(part for part in Part if part in found)


def rank_of(part: Part, *, is_down: bool = False) -> int:
    """The place of a part in the preferred order; images that go down go before everything else."""
    return -1 if part is Part.IMAGES and is_down else _ORDER.index(part)


def title_of(components: Iterable[Component]) -> str:
    """What moves, as a heading."""
    moving = sorted(components, key=COMPONENTS.index)
    leaders = [component for component in moving if component in _HEADINGS] or moving
    names = list(dict.fromkeys(_HEADINGS.get(component) or NAMES.get(component, component) for component in leaders))
    told = ", ".join(names[:-1]) + (" and " if names[1:] else "") + names[-1]
    return told[:1].upper() + told[1:]


_HEADINGS: Final = {
    Component.OPENSHIFT: "OpenShift",
    Component.KUBERNETES: "Kubernetes",
    Component.GPU_OPERATOR: "GPU Operator",
    Component.GPU_DRIVER: "GPU driver",
    Component.CUDA: "CUDA in the images",
    Component.NETWORK_OPERATOR: "Network Operator",
    Component.MOFED: "MOFED",
    Component.FIRMWARE_CX7: "NIC firmware",
    Component.FIRMWARE_CX6: "NIC firmware",
    Component.FIRMWARE_CX8: "NIC firmware",
    Component.FIRMWARE_BF3: "NIC firmware",
    Component.SRIOV_OPERATOR: "SR-IOV operator",
    Component.NCCL: "NCCL in the images",
}
"""What a heading names where it moves; the rest goes along."""
