"""Whose cordon a node has that somebody left half-way.

Law of this file: a cordon is of whoever the API server says wrote it. Tests: tests/core/survey/test_adopt.py
"""

from __future__ import annotations

from typing import Final

from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.survey.adoption.traces import Trace, Traces, Whose, Wish

OUR_WRITERS: Final = ("seatrial",)
NVIDIA_WRITERS: Final = ("gpu-operator", "driver-manager")
"""The names under which NVIDIA's controllers write: those of their programs, since they give no other."""
CORDONING: Final = frozenset(
    {
        NodePhase.WAIT_FOR_JOBS_REQUIRED.value,
        NodePhase.POD_DELETION_REQUIRED.value,
        NodePhase.DRAIN_REQUIRED.value,
        NodePhase.POD_RESTART_REQUIRED.value,
        NodePhase.VALIDATION_REQUIRED.value,
        NodePhase.UNCORDON_REQUIRED.value,
        NodePhase.UPGRADE_FAILED.value,
    }
)
"""States of NVIDIA's in which its own cordon is on the node, unless it noted another."""


def whose_cordon(node: NodeSeen, traces: Traces, wish: Wish) -> Whose:
    """Whose cordon is on a node.

    Who wrote it is the best evidence there is: switched off and on again, NVIDIA's controller takes its own cordon for
    an administrator's, notes it so, and would leave it for ever.
    """
    if not node.facts.is_cordoned:
        return Whose.NOBODYS
    if node.name in wish.released or (node.record is not None and node.record.is_cordon_ours):
        return Whose.OURS
    if traces.cordoned_by:
        is_ours, is_nvidias = traces.cordoned_by in OUR_WRITERS, traces.cordoned_by in NVIDIA_WRITERS
        return Whose.OURS if is_ours else Whose.NVIDIAS if is_nvidias else Whose.SOMEBODYS
    is_nvidias = node.facts.nvidia_state in CORDONING and Trace.INITIAL_STATE not in traces.found
    return Whose.NVIDIAS if is_nvidias else Whose.SOMEBODYS
