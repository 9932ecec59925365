"""Who holds a GPU, and how: the pods that must leave before the driver does, and those that must leave before the DRA
plugin does.

A pod missed here keeps the kernel module busy, and the new driver then fails with "driver is in use" on a node that is
already empty of everything else. A pod counted wrongly is evicted for nothing. In doubt a pod counts: an eviction is an
inconvenience, a driver torn from under a running job is a loss.

Where NVIDIA's upgrade controller (v26.7) and this module differ:

    what                                            NVIDIA's             here
    phase Unknown (its kubelet is silent)           holds nothing        holds: the process may well be alive
    resources of init and sidecar containers        not seen             count; a sidecar runs as long as the pod
    claims of compute-domain.nvidia.com             not seen             count: an IMEX channel holds the driver, too
    claims behind an extended resource              by their names only  count (Kubernetes 1.34 and later)
    runtime class nvidia without any request        not seen             counts, as the weakest sign
    admin access (monitoring)                       holds nothing        the same, but see holds_claim

The same in both: the names that begin with nvidia.com/gpu or nvidia.com/mig-, whatever follows (gpu.shared, gpumem);
unallocated claims hold nothing; claims that cannot be read hold. In neither: pods that reach a GPU through a hostPath
or NVIDIA_VISIBLE_DEVICES alone, and the resource names of other vendors.

The runtime class needs a careful reader: the GPU Operator's own operands (device plugin, validator, exporter) run under
it as well and leave by other means, so whoever asks must leave out pods of DaemonSets that show no other sign.

Tests: tests/core/model/test_consumers.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from seatrial.core.base.values import dataclass

DRA_DRIVERS: Final = frozenset({"gpu.nvidia.com", "compute-domain.nvidia.com"})
"""The drivers whose allocated devices keep the NVIDIA driver in use."""

RUNTIME_CLASSES: Final = frozenset({"nvidia", "nvidia-cdi", "nvidia-legacy"})
"""The runtime classes the container toolkit sets up; each puts the driver's libraries into the container."""

FINISHED_PHASES: Final = frozenset({"Succeeded", "Failed"})
"""Phases a pod never leaves; none of its processes is left to use a GPU."""

GPU_DRIVER: Final = "gpu.nvidia.com"
"""The one of them whose devices are GPUs, or parts of one."""
_GPU: Final = re.compile(r"gpu-(?:vfio-)?([0-9]+)(?:-.*)?")
"""How that driver names them: gpu-0, and gpu-0-mig-… or gpu-vfio-0 for the same GPU in another form."""

_RESOURCE_PREFIX: Final = "nvidia.com/gpu"
_MIG_PREFIX: Final = "nvidia.com/mig-"


class GpuUse(StrEnum):
    """How a pod holds a GPU, the strongest sign first."""

    RESOURCE = "resource"
    MIG = "mig"
    CLAIM = "claim"
    CLAIM_UNREADABLE = "claim-unreadable"
    RUNTIME_CLASS = "runtime-class"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A ResourceClaim of a pod, as far as it could be read."""

    name: str
    is_readable: bool = True
    """False when it could not be read, not found included: the pod names it, so somebody made it."""
    is_allocated: bool = False
    results: tuple[tuple[str, bool], ...] = ()
    """What was allocated: the driver of each device, and whether the access is an administrator's (monitoring)."""
    gpus: tuple[str, ...] = ()
    """The GPUs that were allocated, whole or in part, by pool and name; an administrator's access is none."""


def gpu_use(*, phase: str, resources: Iterable[str], claims: Iterable[Claim], runtime_class: str) -> GpuUse | None:
    """How the pod holds a GPU, by its strongest sign; None when it holds none.

    `resources` are the names in requests and limits of all containers: main, init and sidecar.
    """
    if phase in FINISHED_PHASES:
        return None
    names, claims = tuple(resources), tuple(claims)
    if any(name.startswith(_RESOURCE_PREFIX) for name in names):
        return GpuUse.RESOURCE
    if any(name.startswith(_MIG_PREFIX) for name in names):
        return GpuUse.MIG
    if any(_holds(claim, with_admin_access=False) for claim in claims):
        return GpuUse.CLAIM
    if not all(claim.is_readable for claim in claims):
        return GpuUse.CLAIM_UNREADABLE
    return GpuUse.RUNTIME_CLASS if runtime_class in RUNTIME_CLASSES else None


def is_gpu_resource(name: str) -> bool:
    """Whether a resource of a node is a GPU, or a part of one."""
    return name.startswith((_RESOURCE_PREFIX, _MIG_PREFIX))


def holds_claim(claims: Iterable[Claim]) -> bool:
    """Whether the DRA plugin must stay for this pod; admin access counts here.

    The kubelet needs the plugin to give devices back: without it such a pod hangs in Terminating, monitoring or not.
    To be asked of every unfinished pod, and of finished ones that are being deleted: those may hang just the same.
    """
    return any(not claim.is_readable or _holds(claim, with_admin_access=True) for claim in claims)


def gpu_name(pool: str, device: str) -> str:
    """The GPU that a device of NVIDIA's DRA driver is, or is a part of."""
    found = _GPU.fullmatch(device)
    return f"{pool}/{found[1]}" if found is not None else f"{pool}/{device}"


def claimed_gpus(claims: Iterable[Claim]) -> tuple[str, ...]:
    """The GPUs that these claims hold, each once: claims may share one, and so may the parts of it."""
    return tuple(dict.fromkeys(name for claim in claims for name in claim.gpus))


def claim_names(
    *, wanted: Iterable[tuple[str, str]], generated: Mapping[str, str], extended: str = ""
) -> tuple[str, ...]:
    """The names of the ResourceClaims a pod really has, each once.

    `wanted` is spec.resourceClaims as (entry, resourceClaimName or empty); `generated` is status.resourceClaimStatuses,
    the claim made from a template for each entry (empty: none was needed); `extended` is the claim behind an extended
    resource. An entry whose claim is not made yet has no name, and holds nothing.
    """
    names = [name or generated.get(entry, "") for entry, name in wanted]
    return tuple(dict.fromkeys(name for name in (*names, extended) if name))


def _holds(claim: Claim, *, with_admin_access: bool) -> bool:
    if not (claim.is_readable and claim.is_allocated):
        return False
    return any(driver in DRA_DRIVERS and (with_admin_access or not is_admin) for driver, is_admin in claim.results)
