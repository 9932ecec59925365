"""How a gate's pod asks for GPUs: as a counted resource of its node, or by a ResourceClaim.

    nvidia.com/gpu in allocatable                        the device plugin gives GPUs out, and the scheduler counts them
    none, and ResourceSlices of gpu.nvidia.com           the DRA driver does: a claim of that device class
    neither                                              as a resource, which the scheduler does not find: told so

Law of this file: one rule for rollouts and for people who ask by hand. A node with both is asked as it always was.

Tests: tests/core/test_asking.py
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from seatrial.core.text.names import number_of

GPU_RESOURCE: Final = "nvidia.com/gpu"
DEVICE_CLASS: Final = "gpu.nvidia.com"
"""Whole GPUs of the DRA driver of the same name; its MIG devices are of a class of their own."""


def is_by_claim(resources: Iterable[str], *, has_slices: bool) -> bool:
    """Whether a node's GPUs are had by a ResourceClaim only; `resources` are the names it has something of."""
    return has_slices and GPU_RESOURCE not in resources


def in_words(gpu_count: int, *, by_claim: bool) -> str:
    """What is asked for, and which way."""
    counted = number_of(gpu_count, "GPU")
    return f"{counted} by a ResourceClaim" if by_claim and gpu_count else counted
