"""Seatrial goes, on a real API server: rollouts are left and stay, proven nodes lose our marks, others are named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial.cli.exit_codes import ExitCode
from seatrial_lab.testbed.nodes import manifests
from tests.e2e.campaigns import LEASE_SECONDS
from tests.e2e.light_stage import LightStage

pytestmark = pytest.mark.cluster

PREFIX = "uninstall"
LEASE = ("--lease-seconds", str(LEASE_SECONDS))


@contextmanager
def nobody_leads(stage: LightStage) -> Iterator[None]:
    """The controller is stopped, as it is when its Deployment runs none."""
    stage.controller.stop()
    try:
        yield
    finally:
        stage.controller.start()


def ours(stage: LightStage) -> dict[str, list[str]]:
    """What of ours is on the nodes."""
    found = {}
    for name in stage.fleet.nodes:
        meta = stage.node(name)
        marks = [key for key in (*meta["labels"], *meta["annotations"]) if key.startswith(keys.PREFIX)]
        if marks:
            found[name] = sorted(marks)
    return found


def finalizers(stage: LightStage) -> list[str]:
    found: list[str] = stage.plane.get("gpurollout", stage.rollout)["metadata"].get("finalizers", [])
    return found


def done(stage: LightStage) -> set[str]:
    return {name for name, moment in stage.history.latest().items() if moment.state == "upgrade-done"}


def begin_plain(stage: LightStage, name: str, **spec: Any) -> None:
    """A rollout without a campaign."""
    stage.set_version(stage.target)
    stage.rollout = name
    stage.made.append(name)
    selector = {manifests.FLEET_LABEL: PREFIX}
    body = {"target": {"driver": stage.target}, "nodeSelector": selector, **spec}
    kind = {"apiVersion": "seatrial.dev/v1alpha1", "kind": "GPURollout"}
    stage.plane.apply([{**kind, "metadata": {"name": name}, "spec": body}])


def test_uninstalled_mid_wave_the_rollout_stays_and_every_node_is_open_and_without_our_marks(
    stage: LightStage,
) -> None:
    stage.begin("spring", waves={"growth": "fixed", "first": 1, "pauseSeconds": 3600}, onDelete="revert")
    stage.wait_held("wave-pause")
    before = ours(stage)
    with nobody_leads(stage):
        told = stage.do("uninstall", "--dry-run")
        assert "GPURollout spring is under way" in told
        assert "would lose our labels and annotations" in told
        assert (ours(stage), finalizers(stage)) == (before, [keys.FINALIZER]), "a dry run writes nothing"
        said = stage.do("uninstall", *LEASE)
        assert "GPURollout spring is left. It stays, and continues when a controller runs again" in said
        assert (ours(stage), finalizers(stage)) == ({}, [])
        assert not stage.marks()
        stage.history.wait_for(lambda: not stage.cordoned(), what="every node to be open", timeout_seconds=20)
        assert stage.plane.get("clusterpolicy", "cluster-policy")["spec"]["driver"]["version"] == stage.target
        assert "0 nodes lost our labels" in stage.do("uninstall", *LEASE), "a second run finds nothing"
    stage.patch(waves={"growth": "percentages", "percentages": [100], "pauseSeconds": 0})
    stage.wait_phase("Done")


@pytest.mark.long
def test_a_node_that_nobody_has_proved_stays_closed_and_is_named(stage: LightStage) -> None:
    broken, *others = stage.fleet.nodes
    stage.fleet.break_driver(broken, "module-load", restart_count=10)
    begin_plain(stage, "plain", limits={"maxParallelUpgrades": 0, "maxUnavailable": "100%", "maxFailed": 3})
    stage.wait_held("failed", broken)
    stage.wait(lambda: done(stage) == set(others), "the others to be done")
    with nobody_leads(stage):
        said = stage.do("uninstall", *LEASE)
        assert f"Node {broken} stays as it is: we cordoned it, and its driver is not validated" in said
        assert f"{len(others)} nodes lost our labels and annotations" in said
        assert ours(stage).keys() == {broken}
        assert finalizers(stage) == []
        assert stage.cordoned() == [broken]
    stage.fleet.mend(broken)
    stage.wait(lambda: not stage.cordoned(), "the node to be taken up again by the next controller")


@pytest.mark.long
def test_while_a_controller_leads_nothing_is_touched(stage: LightStage) -> None:
    stage.begin("held")
    stage.wait_phase("Done")
    before = ours(stage)
    done = stage.run("uninstall", "--lease-seconds", "2", "--patience-seconds", "1")
    assert done.returncode == ExitCode.HELD
    assert "Another controller leads" in done.stderr
    assert "--stop DEPLOYMENT" in done.stderr
    assert ours(stage) == before
