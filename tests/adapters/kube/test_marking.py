"""The marks of a campaign as a patch: what the act names is in it, and nothing else."""

from __future__ import annotations

import pytest

from seatrial.adapters.kube.shapes import keys, marking
from seatrial.core.actions.of_campaigns import MarkNode


@pytest.mark.parametrize("is_retry", [False, True])
def test_a_retry_asks_nvidias_controller_by_its_state_label_and_touches_nothing_else_of_hers(is_retry: bool) -> None:
    patch = marking.mark_patch(MarkNode(node="n1", rollout="spring", expect="7", skip=False, is_retry=is_retry))
    asked = {keys.NVIDIA_STATE_LABEL: "upgrade-required"} if is_retry else {}
    assert patch == {
        "metadata": {
            "resourceVersion": "7",
            "labels": {keys.SKIP_LABEL: None, **asked},
            "annotations": {keys.SKIPPED_BY_ANNOTATION: None},
        }
    }


def test_a_mark_that_names_nothing_changes_nothing() -> None:
    patch = marking.mark_patch(MarkNode(node="n1", rollout="spring", expect="7"))
    assert patch == {"metadata": {"resourceVersion": "7", "labels": {}, "annotations": {}}}
