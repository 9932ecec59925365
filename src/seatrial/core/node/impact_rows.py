"""What can happen to the users of a node: one row each, and what they lose by it.

Law of this file: a row says what is so by default, and a condition is spelled out in its words. Tests:
tests/core/node/test_plan_impact.py
"""

from __future__ import annotations

from enum import StrEnum

from seatrial.core.base.values import dataclass


class Loss(StrEnum):
    """What users of a node can lose for a while, the worst first."""

    NODE = "the node itself"
    EVERY_POD = "every running pod"
    GPU_PODS = "running GPU pods"
    NEW_PODS = "new pods"
    NEW_GPU_PODS = "new GPU pods"
    NEW_RDMA_PODS = "new pods with RDMA or VFs"
    GPUS = "GPUs"
    CLAIMS = "DRA claims"
    RDMA = "RDMA devices"
    CONTAINER_STARTS = "container starts"
    METRICS = "GPU metrics"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One thing that happens on a node."""

    phase: str = ""
    """The state of the node meanwhile, as its label has it; empty for what happens outside the states."""
    component: str
    action: str
    impact: str
    is_capacity_lost: bool = False
    """Whether the node's GPUs are out of service while this lasts."""
    loses: tuple[Loss, ...] = ()
    """What is lost from here on for certain; what a condition may add is in the words only."""
