"""A GPURollout that is deleted in the middle, on a real API server: left, led back, and one without a campaign.

What is looked at is what it leaves: marks, cordons, the published version, the drivers; and that people are told.
"""

from __future__ import annotations

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed.nodes import manifests
from tests.e2e.light_stage import POLICY, RESOURCE, LightStage

pytestmark = pytest.mark.cluster

PREFIX = "leaving"
WATCHED = {"growth": "fixed", "first": 1, "pauseSeconds": 3600}
"""Waves of one node; each is watched for an hour."""


def is_there(stage: LightStage, name: str) -> bool:
    return any(item["metadata"]["name"] == name for item in stage.plane.get("gpurollouts")["items"])


def delete(stage: LightStage, name: str) -> None:
    """Delete it as a person does, and wait until it is gone."""
    stage.plane.kubectl("delete", "gpurollout", name, "--wait=false")
    stage.history.wait_for(
        lambda: not is_there(stage, name), what=f"{name} to be gone", timeout_seconds=60, check=stage.controller.check
    )


def told(stage: LightStage, name: str) -> list[str]:
    """The Events about a rollout that is gone."""
    events = stage.plane.get("events", "-n", "default")["items"]
    return [each["message"] for each in events if each["involvedObject"].get("name") == name]


def published(stage: LightStage) -> str:
    return str(stage.plane.get("clusterpolicy", POLICY)["spec"]["driver"]["version"])


def test_a_rollout_carries_our_finalizer_before_anything_is_written_for_it(stage: LightStage) -> None:
    stage.begin("guarded", approvals={"manual": ["canary"]})
    stage.wait_held("approval-pending")
    assert stage.plane.get("gpurollout", "guarded")["metadata"]["finalizers"] == [keys.FINALIZER]
    first = next(each for each in stage.writes("gpurollouts") if each.verb == "patch")
    assert first.subresource != "status"
    delete(stage, "guarded")
    assert "Deleted; nothing is left half-way, and nodes keep their driver and record" in told(stage, "guarded")


def test_deleted_mid_wave_and_left_it_takes_its_marks_off_and_tells_what_stays(stage: LightStage) -> None:
    stage.begin("left", waves=WATCHED)
    stage.wait_held("wave-pause")
    assert stage.marks()
    delete(stage, "left")
    assert not stage.marks()
    assert not stage.cordoned()
    assert published(stage) == stage.target
    assert sorted(stage.fleet.driver_versions().values()).count(stage.target) == 2
    (said,) = (text for text in told(stage, "left") if text.startswith("Deleted; this stays: "))
    assert f"{RESOURCE} has {stage.target}, and had {stage.running} before" in said
    assert f"2 of 3 nodes run {stage.target}" in said
    assert any(" left behind " in line for line in stage.log_lines()[stage.said_before :])


def test_deleted_mid_wave_and_led_back_everything_is_as_it_was(stage: LightStage) -> None:
    stage.begin("led-back", waves=WATCHED, onDelete="revert")
    stage.wait_held("wave-pause")
    delete(stage, "led-back")
    assert published(stage) == stage.running
    assert set(stage.fleet.driver_versions().values()) == {stage.running}
    assert not stage.marks()
    assert not stage.cordoned()
    assert "Deleted; nothing is left half-way, and nodes keep their driver and record" in told(stage, "led-back")


def test_a_rollout_without_a_campaign_leaves_nobody_half_way(stage: LightStage) -> None:
    selector = {manifests.FLEET_LABEL: PREFIX}
    spec = {
        "target": {"driver": stage.target},
        "nodeSelector": selector,
        "limits": {"maxParallelUpgrades": 1, "maxUnavailable": 1},
    }
    stage.set_version(stage.target)
    stage.rollout = "plain"
    stage.made.append("plain")
    body = {"apiVersion": "seatrial.dev/v1alpha1", "kind": "GPURollout", "metadata": {"name": "plain"}, "spec": spec}
    stage.plane.apply([body])
    stage.wait(lambda: bool(stage.touched()), "the first node to be under way")
    delete(stage, "plain")
    # What is seen of the nodes may be a moment behind what is seen of the rollout.
    stage.wait(lambda: not stage.cordoned(), "every node to be open again")
    states = {name: moment.state for name, moment in stage.history.latest().items()}
    assert set(states.values()) <= {"upgrade-done", ""}, states
    assert any(text.startswith("Deleted; ") for text in told(stage, "plain"))


@pytest.mark.long
def test_one_that_has_ended_goes_at_once_while_another_is_under_way(stage: LightStage) -> None:
    stage.begin("first")
    stage.wait_phase("Done")
    stage.running, stage.target = stage.target, stage.running
    stage.begin("second", waves=WATCHED)
    stage.wait_held("wave-pause")
    delete(stage, "first")
    assert stage.phases()[-1] == "Waving"
    assert stage.marks()
