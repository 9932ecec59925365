"""Campaigns through the real Flux: to the tag and back, by kustomize-controller and by helm-controller.

The fleet is played, everything between our commit and the ClusterPolicy is real: Git over HTTP, source-controller,
kustomize-controller or helm-controller. What holds them up is in test_flux_holds.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from seatrial_lab.testbed.neighbours import engines, gate_runs
from seatrial_lab.testbed.neighbours.flux_objects import OFTEN
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.light_stage import POLICY
from tests.gitops.flux_stage import MANAGERS, WAYS, FluxStage, flux_stage
from tests.gitops.looks import version

pytestmark = [pytest.mark.cluster, pytest.mark.gitops]

PREFIX = "by-flux"
ONE_GATE = [{"name": "smoke", "image": "example.invalid/smoke:1", "gpus": 1}]


@pytest.fixture(scope="module")
def ground(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FluxStage]:
    with flux_stage(plane, tmp_path_factory.mktemp(PREFIX), PREFIX) as made:
        yield made


@pytest.mark.parametrize("way", WAYS)
def test_a_campaign_goes_to_the_tag_through_flux(ground: FluxStage, way: str) -> None:
    stage, tags = ground.opened(), ground.stage.tags()
    with WAYS[way](ground, interval=OFTEN) as follower:
        stage.begin(f"through-{way}", **stage.by_git())
        stage.wait_phase("Done")
        assert stage.remote_log()[-2:] == [
            f"Driver {stage.target} for the canary {stage.canary}",
            f"Promote driver {stage.target} to production",
        ]
        engines.wait_applied(follower, stage.fetched())
    assert set(stage.fleet.driver_versions().values()) == {stage.target}
    assert len(stage.tags()) == len(tags) + 1
    assert not stage.marks()
    assert not stage.writes("clusterpolicies")
    policy = stage.plane.get("clusterpolicy", POLICY, "--show-managed-fields")
    assert MANAGERS[way] in {each["manager"] for each in policy["metadata"]["managedFields"]}


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
