"""The marks of a campaign on a node, as one merge patch: the canary's label, and our skip label with our name on it.

With them, where a failed node is to be tried again, the one value of NVIDIA's state label that people set by hand, too.
Bound to the version that was looked at, so a label that a person sets in between is never taken for ours. Tests:
tests/adapters/kube/test_marking.py, test_execute_bound.py, tests/e2e/test_act_conformance.py
"""

from __future__ import annotations

from typing import Any

from seatrial.adapters.kube.shapes import keys
from seatrial.core.actions.of_campaigns import MarkNode
from seatrial.core.model.seen.nodes import NodePhase


def mark_patch(action: MarkNode) -> dict[str, Any]:
    """The merge patch that sets or takes away what the act names, and leaves everything else."""
    labels: dict[str, str | None] = {}
    annotations: dict[str, str | None] = {}
    if action.canary is not None:
        labels[keys.CANARY_LABEL] = action.rollout if action.canary else None
    if action.skip is not None:
        labels[keys.SKIP_LABEL] = "true" if action.skip else None
        annotations[keys.SKIPPED_BY_ANNOTATION] = action.rollout if action.skip else None
    if action.is_retry:
        labels[keys.NVIDIA_STATE_LABEL] = NodePhase.UPGRADE_REQUIRED.value
    if action.is_handed_over:
        annotations[keys.SKIPPED_BY_ANNOTATION] = None
    return {"metadata": {"resourceVersion": action.expect, "labels": labels, "annotations": annotations}}
