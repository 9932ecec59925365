"""The labels by which operands choose their nodes: how they are paused for a driver's sake, and how they come back.

    value                             paused                            given back
    (none), empty                     the same                          the same
    false                             false                             false
    true                              paused-for-driver-upgrade         true
    v                                 v_paused-for-driver-upgrade       v

Law of this file: the values are those of k8s-driver-manager, so either can give back what the other has paused; what
was never there is never written. Tests: tests/core/node/driver_manager/test_labels.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Final

from seatrial.core.base.values import dataclass

MARK: Final = "paused-for-driver-upgrade"
PREFIX: Final = "nvidia.com/gpu.deploy."
DRIVER: Final = f"{PREFIX}driver"
DRA_DRIVER: Final = f"{PREFIX}dra-driver"
CLIENT: Final = f"{PREFIX}client"
PREINSTALLED: Final = "pre-installed"
"""What the driver's own label says where the host brings the driver."""

Labels = tuple[tuple[str, str], ...]


class Wait(Enum):
    """Whether a pause is over only when the operand's pods are gone."""

    ALWAYS = "always"
    IF_LABELLED = "where the node has the label"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """An operand that is paused, and the pods that leave with it."""

    name: str
    app: str = ""
    """The label app of its pods in the operator's namespace; empty where nobody waits for them."""
    wait: Wait = Wait.ALWAYS

    @property
    def label(self) -> str:
        """The key of its label on a node."""
        return f"{PREFIX}{self.name}"


OPERANDS: Final = (
    Operand(name="operator-validator", app="nvidia-operator-validator"),
    Operand(name="container-toolkit", app="nvidia-container-toolkit-daemonset"),
    Operand(name="device-plugin", app="nvidia-device-plugin-daemonset"),
    Operand(name="gpu-feature-discovery", app="gpu-feature-discovery"),
    Operand(name="dcgm-exporter", app="nvidia-dcgm-exporter"),
    Operand(name="dcgm", app="nvidia-dcgm"),
    Operand(name="dcgm-exporter-dra", app="nvidia-dcgm-exporter-dra"),
    Operand(name="dcgm-dra", app="nvidia-dcgm-dra"),
    Operand(name="dra-validator"),  # its pods carry the app of the operator's validator
    Operand(name="nvsm"),
    Operand(name="mig-manager", app="nvidia-mig-manager", wait=Wait.IF_LABELLED),
    Operand(name="sandbox-validator", app="nvidia-sandbox-validator", wait=Wait.IF_LABELLED),
    Operand(name="sandbox-device-plugin", app="nvidia-sandbox-device-plugin-daemonset", wait=Wait.IF_LABELLED),
    Operand(name="vgpu-device-manager", app="nvidia-vgpu-device-manager", wait=Wait.IF_LABELLED),
    Operand(name="client"),  # whose pods are known by their nodeSelector, wherever they are
)
"""In the order in which they are waited for. Not among them: the driver, the DRA driver, the node status exporter."""


def paused(value: str) -> str:
    """What a label says while its operand is to stay away."""
    if value in ("", "false") or MARK in value:
        return value
    return MARK if value == "true" else f"{value}_{MARK}"


def given_back(value: str) -> str:
    """What a label said before it was paused."""
    if value == MARK:
        return "true"
    return value.replace(f"{MARK}_", "").replace(MARK, "").strip("_") if MARK in value else value


def changes(labels: Mapping[str, str], keys: Iterable[str], change: Callable[[str], str]) -> Labels:
    """What is to be written so that these labels say what they should; nothing of what says so already."""
    wanted = {key: change(labels[key]) for key in keys if key in labels}
    return tuple((key, value) for key, value in wanted.items() if value != labels[key])
