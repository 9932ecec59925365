"""What the real kstatus, by which Flux waits, makes of a GPURollout whose status our controller wrote.

nobody has looked at it, under way, what somebody asked for    InProgress
Done                                                           Current
Reverted, or somebody has to mend something                    Failed
"""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from seatrial.adapters.kube.shapes import rollout_records
from seatrial.core.model.campaign import CampaignRecord, RolloutPhase
from seatrial.core.model.seen.rollouts import RolloutRecord, Summary
from seatrial.core.words import causes
from seatrial_lab.testbed import controller_process
from seatrial_lab.testbed.building import build
from seatrial_lab.testbed.plane.control_plane import ControlPlane

pytestmark = [pytest.mark.cluster, pytest.mark.gitops]

ENDS = {RolloutPhase.DONE: "Current", RolloutPhase.REVERTED: "Failed"}


def judged(*objects: dict[str, Any]) -> list[dict[str, str]]:
    """What kstatus says of objects."""
    done = subprocess.run([build.kstatus()], input=json.dumps(objects), capture_output=True, text=True, check=True)
    answers: list[dict[str, str]] = json.loads(done.stdout)
    return answers


def a_rollout(phase: RolloutPhase, *, hold: str = "", generation: int = 1) -> dict[str, Any]:
    """A GPURollout whose status was written for its first generation."""
    record = RolloutRecord(
        name="spring",
        summary=Summary(state="waiting", holds=((hold, 1),) if hold else ()),
        campaign=CampaignRecord(phase=phase, why="it smokes"),
        generation=1,
        observed_generation=1,
    )
    written = rollout_records.rollout_patch(record)["status"]
    return {
        "apiVersion": "seatrial.dev/v1alpha1",
        "kind": "GPURollout",
        "metadata": {"name": "spring", "generation": generation},
        "status": {name: value for name, value in written.items() if value is not None},
    }


def test_only_done_is_current_and_only_reverted_has_failed() -> None:
    found = judged(*(a_rollout(phase) for phase in RolloutPhase))
    assert [each["status"] for each in found] == [ENDS.get(phase, "InProgress") for phase in RolloutPhase]
    (reverted,) = judged(a_rollout(RolloutPhase.REVERTED))
    assert reverted["message"] == "it smokes"


def test_what_somebody_has_to_mend_has_failed_and_what_somebody_asked_for_is_in_progress() -> None:
    codes = sorted(causes.NEEDS_SOMEBODY)
    found = judged(*(a_rollout(RolloutPhase.WAVING, hold=code) for code in codes))
    expected = ["InProgress" if code in causes.ASKED_FOR else "Failed" for code in codes]
    assert [each["status"] for each in found] == expected


def test_an_edit_that_was_not_answered_yet_is_in_progress_even_after_the_end() -> None:
    (found,) = judged(a_rollout(RolloutPhase.DONE, generation=2))
    assert found["status"] == "InProgress"


def test_a_rollout_that_nobody_has_looked_at_is_not_through(plane: ControlPlane) -> None:
    controller_process.install(plane)
    made = {
        "apiVersion": "seatrial.dev/v1alpha1",
        "kind": "GPURollout",
        "metadata": {"name": "unseen"},
        "spec": {"target": {"driver": "570.172.08"}},
    }
    plane.apply([made])
    try:
        stored = plane.get("gpurollout", "unseen")
        assert stored["status"] == {"observedGeneration": -1}
        (found,) = judged(stored)
        assert found["status"] == "InProgress"
    finally:
        controller_process.remove_rollouts(plane, "unseen")
