"""What a node offers the users of its GPUs. Values only."""

from __future__ import annotations

from seatrial.core.base.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuOffer:
    """What a node offers the users of its GPUs. Remembered before the work, so that afterwards nothing is less."""

    resources: tuple[tuple[str, int], ...] = ()
    """Allocatable nvidia.com/… resources and their counts: whole GPUs and MIG slices."""
    mig_config: str = ""
    runtime_handlers: tuple[str, ...] = ()
    """NVIDIA's handlers of the container runtime, where the kubelet tells of them."""
    has_dra_plugin: bool = False
    has_slices: bool = False
