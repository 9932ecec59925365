"""The real Flux waits for a GPURollout by its status: kstatus, which `wait` and `healthChecks` read.

nobody has looked at it, under way    InProgress    Flux waits, until its own timeout
Done                                  Current       Flux is ready
Reverted                              Failed        Flux gives up at once, and says which
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from seatrial_lab.testbed import waiting
from seatrial_lab.testbed.neighbours import engines
from seatrial_lab.testbed.neighbours.flux import NEWEST_FIRST
from seatrial_lab.testbed.neighbours.flux_objects import OFTEN, Follower, condition
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.light_stage import LONG_BAKE
from tests.gitops import files
from tests.gitops.flux_stage import FOLDER, FluxStage, flux_stage

pytestmark = [pytest.mark.cluster, pytest.mark.gitops]

PREFIX = "flux-health"


@pytest.fixture(scope="module")
def ground(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FluxStage]:
    """With the gate that has a new commit end the wait for the one before."""
    with flux_stage(plane, tmp_path_factory.mktemp(PREFIX), PREFIX, gates=NEWEST_FIRST) as made:
        yield made


def test_flux_waits_for_a_rollout_and_is_ready_when_that_is_done(ground: FluxStage) -> None:
    stage = ground.opened()
    with following(ground, wait=True, timeout="5m") as rollouts:
        commit = asked(ground, rollouts, "waited-for")
        stage.wait_holds("publish-pending")  # nobody brings its commit into the cluster yet
        wait_said(rollouts, "Healthy", "Unknown", "Running health checks")
        assert commit not in rollouts.applied
        assert stage.condition("Reconciling") == ("True", "PublishPending")
        with ground.kustomization(interval=OFTEN):
            stage.wait_phase("Done")
            engines.wait_applied(rollouts, commit)
        assert stage.condition("Ready") == ("True", "Done")
        wait_said(rollouts, "Ready", "True")


def test_a_health_check_of_one_rollout_ends_at_once_when_that_was_undone_and_says_which(ground: FluxStage) -> None:
    stage = ground.opened()
    one = {"apiVersion": "seatrial.dev/v1alpha1", "kind": "GPURollout", "name": "undone"}
    with following(ground, timeout="5m") as rollouts, ground.kustomization(interval=OFTEN):
        rollouts.change(healthChecks=[one])
        asked(ground, rollouts, "undone", **LONG_BAKE)
        stage.wait_phase("Baking")
        assert condition(rollouts.get(), "Healthy")["status"] == "Unknown"
        stage.do("rollout", "abort", "undone", "--reason", "it smokes", "-y")
        stage.wait_phase("Reverted")
        wait_said(rollouts, "Ready", "False", "GPURollout/undone status: 'Failed'")
        assert stage.condition("Stalled") == ("True", "Reverted")


def test_a_rollout_that_nobody_has_looked_at_is_not_through(ground: FluxStage) -> None:
    stage = ground.opened()
    with following(ground, wait=True, timeout="3s") as rollouts:
        stage.controller.stop()
        try:
            asked(ground, rollouts, "unseen")
            wait_said(rollouts, "Ready", "False", "GPURollout/unseen status: 'InProgress'")
            assert stage.plane.get("gpurollout", "unseen")["status"] == {"observedGeneration": -1}
        finally:
            stage.controller.start()


def test_a_rollout_beside_what_it_publishes_goes_through_where_a_new_commit_ends_the_wait(ground: FluxStage) -> None:
    stage = ground.opened()
    with ground.kustomization(interval=OFTEN, wait=True, timeout="10m") as follower:
        path = f"{FOLDER}/rollout.yaml"
        stage.commit("Ask for a rollout beside the ClusterPolicy", **{path: files.rollout(stage, "beside")})
        stage.wait(lambda: "beside" in names(ground), "Flux to bring the rollout")
        stage.wait_phase("Done")
        engines.wait_applied(follower, stage.fetched())
        stage.commit("Done with it", **{path: files.config_map("nothing")})


def following(ground: FluxStage, **settings: Any) -> Follower:
    """A Kustomization of the folder with the story's rollouts, which has none yet."""
    ground.stage.commit("Where rollouts are", **{f"{folder(ground)}/first.yaml": files.config_map("first")})
    return ground.kustomization(folder(ground), **settings)


def asked(ground: FluxStage, follower: Follower, name: str, **spec: Any) -> str:
    """Commit a GPURollout and have Flux bring it; the commit."""
    text = files.rollout(ground.stage, name, **spec)
    commit = ground.stage.commit(f"Ask for {name}", **{f"{folder(ground)}/{name}.yaml": text})
    follower.poke()
    # Also where our controller does not run.
    waiting.wait_for(lambda: name in names(ground), what=f"Flux to bring {name}", timeout_seconds=60)
    return commit


def folder(ground: FluxStage) -> str:
    return f"rollouts-{ground.stage.story}"


def names(ground: FluxStage) -> list[str]:
    return [each["metadata"]["name"] for each in ground.stage.plane.get("gpurollouts")["items"]]


def wait_said(follower: Follower, kind: str, status: str, saying: str = "") -> str:
    """Wait until Flux says so of its Kustomization; its words."""

    def look() -> str | None:
        found = condition(follower.get(), kind)
        return found["message"] if found.get("status") == status and saying in found["message"] else None

    return waiting.wait_for(
        look,
        what=f"{kind}={status} {saying}",
        timeout_seconds=engines.TIMEOUT_SECONDS,
        pause_seconds=0.2,
        describe=lambda: str(follower.get().get("status")),
    )
