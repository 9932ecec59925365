"""Operands on one node, beside its GPU driver: what runs of each, and what its DaemonSet wants.

Those of the GPU Operator; the network driver (MOFED, DOCA-OFED) of the Network Operator, which goes before them; and
the DRA plugin, where a chart of its own brings it, which goes last.

    Operand       whose pod it is; the order of the enum is the order in which a visit restarts them
    OperandSeen   one operand of one node: its pod, if it is there, and the revision that is wanted

Law of this file: an operand is old while a pod of another revision than the wanted one runs; one that is not there, or
is leaving, comes back with the wanted one, whoever took it away. What a restart costs is in node/visiting.py. Tests:
tests/core/model/test_operands.py
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.compat.matrix import Component
from seatrial.core.model.instants import ApiInstant


class Operand(StrEnum):
    """Whose pod is restarted, in the order of their dependencies: nvidia-peermem is loaded on the network driver."""

    NETWORK_DRIVER = "network-driver"
    DRIVER = "driver"
    TOOLKIT = "container-toolkit"
    DEVICE_PLUGIN = "device-plugin"
    MPS = "mps-control-daemon"
    DISCOVERY = "gpu-feature-discovery"
    DCGM = "dcgm"
    EXPORTER = "dcgm-exporter"
    MIG_MANAGER = "mig-manager"
    STATUS_EXPORTER = "node-status-exporter"
    VALIDATOR = "validator"
    DRA_PLUGIN = "dra-plugin"


ORDER: Final[Mapping[Operand, int]] = {operand: place for place, operand in enumerate(Operand)}

APPS: Final[Mapping[str, Operand]] = {
    "nvidia-container-toolkit-daemonset": Operand.TOOLKIT,
    "nvidia-device-plugin-daemonset": Operand.DEVICE_PLUGIN,
    "nvidia-device-plugin-mps-control-daemon": Operand.MPS,
    "gpu-feature-discovery": Operand.DISCOVERY,
    "nvidia-dcgm": Operand.DCGM,
    "nvidia-dcgm-exporter": Operand.EXPORTER,
    "nvidia-mig-manager": Operand.MIG_MANAGER,
    "nvidia-node-status-exporter": Operand.STATUS_EXPORTER,
    "nvidia-operator-validator": Operand.VALIDATOR,
}
"""Whose pods these are, by the value of their label `app`, which is the name of their DaemonSet as well."""

COMPONENTS: Final[Mapping[Operand, Component]] = {
    Operand.NETWORK_DRIVER: Component.MOFED,
    Operand.TOOLKIT: Component.CONTAINER_TOOLKIT,
    Operand.DEVICE_PLUGIN: Component.DEVICE_PLUGIN,
    Operand.MPS: Component.DEVICE_PLUGIN,
    Operand.DISCOVERY: Component.GFD,
    Operand.EXPORTER: Component.DCGM,
    Operand.MIG_MANAGER: Component.MIG_MANAGER,
    Operand.VALIDATOR: Component.VALIDATOR,
    Operand.DRA_PLUGIN: Component.DRA_DRIVER,
}
"""Which component of the matrix an operand is; the others move with the operator alone."""


FIELDS: Final[Mapping[Component, str]] = {
    Component.CONTAINER_TOOLKIT: "toolkit",
    Component.DEVICE_PLUGIN: "devicePlugin",
    Component.DCGM: "dcgmExporter",
    Component.MIG_MANAGER: "migManager",
    Component.GFD: "gfd",
    Component.VALIDATOR: "validator",
}
"""Under which field a ClusterPolicy, or the values of its chart, say the version of a component."""


ASKED: Final = (*FIELDS, Component.MOFED)
"""What people may name beside the driver. From an entry of a matrix a rollout takes no network driver by itself."""


def governed_by(components: tuple[Component, ...]) -> frozenset[Operand]:
    """The operands that a rollout of these components moves, node by node. An operator's release moves them all."""
    named = frozenset(operand for operand, component in COMPONENTS.items() if component in components)
    return named | frozenset(APPS.values()) if Component.GPU_OPERATOR in components else named


@dataclass(frozen=True, slots=True, kw_only=True)
class OperandPod:
    """The pod of an operand on a node."""

    namespace: str
    name: str
    uid: str
    revision: str
    version: str = ""
    settings: str = ""
    """A digest of its environment and arguments: what is equal is configured alike, whatever its image."""
    is_ready: bool = False
    created_at: ApiInstant | None = None
    is_terminating: bool = False
    trouble: str = ""
    """Why a container waits, in the kubelet's word; empty when none says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperandSeen:
    """One operand on one node, as its DaemonSet places it there."""

    operand: Operand
    wanted: str
    """The revision that its DaemonSet wants."""
    version: str = ""
    """The version of it, by the tag of its image; empty where that tells none."""
    settings: str = ""
    pod: OperandPod | None = None

    @property
    def is_old(self) -> bool:
        """Whether a pod runs that is of another revision than the wanted one, and nobody has taken it away yet."""
        return self.pod is not None and not self.pod.is_terminating and self.pod.revision != self.wanted

    @property
    def is_up(self) -> bool:
        """Whether the wanted revision runs and is ready."""
        pod = self.pod
        return pod is not None and not pod.is_terminating and pod.revision == self.wanted and pod.is_ready

    @property
    def is_configured_anew(self) -> bool:
        """Whether more than the image changes with the wanted revision."""
        return self.pod is not None and self.pod.settings != self.settings
