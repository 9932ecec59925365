"""Campaigns through the real Flux: back, and to the tag after it was suspended.

The fleet is played, everything between our commit and the ClusterPolicy is real: Git over HTTP, source-controller,
kustomize-controller or helm-controller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from seatrial_lab.testbed.neighbours import engines, gate_runs
from seatrial_lab.testbed.neighbours.flux_objects import OFTEN, Follower
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.light_stage import POLICY, LightStage
from tests.gitops.flux_stage import FluxStage, flux_stage

pytestmark = [pytest.mark.cluster, pytest.mark.gitops]

PREFIX = "by-flux"
ONE_GATE = [{"name": "smoke", "image": "example.invalid/smoke:1", "gpus": 1}]
WAYS: dict[str, Callable[..., Follower]] = {
    "kustomization": FluxStage.kustomization,
    "helm-release": FluxStage.helm_release,
}


@pytest.fixture(scope="module")
def ground(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FluxStage]:
    with flux_stage(plane, tmp_path_factory.mktemp(PREFIX), PREFIX) as made:
        yield made


def told(stage: LightStage, code: str) -> dict[str, Any]:
    """Wait until the rollout's status tells of this hold: why, and the next step."""
    waits: list[dict[str, Any]] = []

    def look() -> bool:
        waits[:] = [each for each in stage.status().get("waits", ()) if each["code"] == code]
        return bool(waits)

    stage.wait(look, f"the status to tell of {code}")
    return waits[0]


def version(stage: LightStage) -> str:
    """What the ClusterPolicy carries."""
    return str(stage.plane.get("clusterpolicy", POLICY)["spec"]["driver"]["version"])


@pytest.mark.parametrize("way", WAYS)
def test_a_campaign_comes_back_through_flux(ground: FluxStage, way: str) -> None:
    stage = ground.opened()
    gates = gate_runs.GateRuns(stage.plane, namespace="seatrial", answer=lambda _: "too slow")
    with gates, WAYS[way](ground, interval=OFTEN) as follower:
        stage.begin(f"back-{way}", gates=ONE_GATE, **stage.by_git())
        stage.wait_phase("Reverted")
        assert f'Revert "Driver {stage.target} for the canary {stage.canary}"' in stage.remote_log()
        engines.wait_applied(follower, stage.fetched())
    assert version(stage) == stage.running
    assert set(stage.fleet.driver_versions().values()) == {stage.running}
    assert stage.touched() == {stage.canary}


@pytest.mark.parametrize("way", WAYS)
def test_a_follower_that_is_suspended_is_named_with_how_to_resume_it(ground: FluxStage, way: str) -> None:
    stage = ground.opened()
    with WAYS[way](ground, interval=OFTEN) as follower:
        follower.suspend()
        stage.begin(f"suspended-{way}", **stage.by_git())
        held = told(stage, "sync-stopped")
        assert f"{follower.name} of Flux" in held["why"]
        assert "it is suspended" in held["why"]
        assert f"flux resume {way.replace('-', '')} {follower.name}" in held["next"]
        assert version(stage) == stage.running
        assert not stage.touched()
        follower.resume()
        stage.wait_phase("Done")
