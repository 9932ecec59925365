"""What holds a commit up on its way through the real Flux, what the rollout says of it, and what ends it.

It is suspended, it fails, it looks rarely, it waits for something else, its drift correction would fight us, somebody
writes over it. Flux looks at its repository often or, where a story needs that, never by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from seatrial_lab.testbed.neighbours.flux_objects import OFTEN, RARELY, condition
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.campaigns import BAD, PUBLISHED
from tests.e2e.light_stage import LONG_BAKE, RESOURCE, LightStage
from tests.gitops import files
from tests.gitops.flux_stage import FOLDER, MANAGERS, WAYS, FluxStage, flux_stage
from tests.gitops.looks import told, version, wait_committed, wait_version

pytestmark = [pytest.mark.cluster, pytest.mark.gitops]

PREFIX = "held-by-flux"
KINDS = {"kustomization": "Kustomization", "helm-release": "HelmRelease"}
RESTORES = {"kustomization": "flux reconcile kustomization", "helm-release": "kubectl patch helmrelease"}
BESIDE = "beside"
"""A folder that a Kustomization of its own follows."""


@pytest.fixture(scope="module")
def ground(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FluxStage]:
    with flux_stage(plane, tmp_path_factory.mktemp(PREFIX), PREFIX) as made:
        yield made


@pytest.mark.parametrize("way", WAYS)
def test_a_follower_that_is_suspended_is_named_with_how_to_resume_it(ground: FluxStage, way: str) -> None:
    stage = ground.opened()
    with WAYS[way](ground, interval=OFTEN) as follower:
        follower.suspend()
        stage.begin(f"suspended-{way}", **stage.by_git())
        held = told(stage, "sync-stopped")
        assert f"{KINDS[way]} flux-system/{follower.name} of Flux brings nothing into the cluster" in held["why"]
        assert "it is suspended" in held["why"]
        assert f"`flux resume {KINDS[way].lower()} {follower.name} -n flux-system`" in held["next"]
        assert version(stage) == stage.running
        assert not stage.touched()
        follower.resume()
        stage.wait_phase("Done")


def test_a_revert_that_a_suspended_kustomization_keeps_back_is_told(ground: FluxStage) -> None:
    stage = ground.opened()
    with ground.kustomization(interval=OFTEN) as follower:
        stage.begin("kept-back", **stage.by_git(**LONG_BAKE))
        stage.wait_phase("Baking")
        follower.suspend()
        stage.do("rollout", "abort", "kept-back", "--reason", "let it be", "-y")
        held = told(stage, "sync-stopped")
        assert "a revert in Git does not reach the cluster either" in held["next"]
        assert stage.status()["phase"] == "Reverting"
        assert version(stage) == stage.target
        follower.resume()
        stage.wait_phase("Reverted")
        assert stage.touched() == {stage.canary}


@pytest.mark.parametrize("way", WAYS)
def test_what_flux_cannot_apply_is_told_in_its_words_and_mended_by_a_commit(ground: FluxStage, way: str) -> None:
    stage = ground.opened()
    with WAYS[way](ground, interval=OFTEN) as follower:
        stage.commit("Break it", **{PUBLISHED: with_enabled(stage, "perhaps")})
        stage.begin(f"failing-{way}", **stage.by_git())
        held = told(stage, "sync-failed")
        assert f"{KINDS[way]} flux-system/{follower.name} of Flux could not apply it to the cluster" in held["why"]
        assert "spec.driver.enabled" in held["why"]
        reconcile = f"`flux reconcile {KINDS[way].lower()} {follower.name} -n flux-system --with-source`"
        assert f"{reconcile} makes it try now" in held["next"]
        assert version(stage) == stage.running
        assert not stage.touched()
        wait_committed(stage)
        stage.commit("Mend it", **{PUBLISHED: with_enabled(stage, True)})
        stage.wait_phase("Done")


@pytest.mark.parametrize("way", WAYS)
def test_what_flux_looks_at_rarely_is_waited_for_until_a_webhook_tells_it(ground: FluxStage, way: str) -> None:
    stage = ground.opened()
    with WAYS[way](ground, interval=RARELY) as follower:
        before = follower.applied[-1]
        stage.begin(f"rarely-{way}", **stage.by_git())
        wait_committed(stage)
        held = told(stage, "publish-pending", saying=before[:12])
        assert f"flux-system/{follower.name} of Flux, now at {before[:12]}, applies our commit" in held["next"]
        assert f"`flux reconcile {KINDS[way].lower()} {follower.name} -n flux-system --with-source`" in held["next"]
        assert version(stage) == stage.running
        assert follower.applied[-1] == before
        follower.push()
        stage.wait_phase("Done")


def test_a_kustomization_that_depends_on_another_is_said_to_wait_and_not_to_fail(ground: FluxStage) -> None:
    stage = ground.opened()
    stage.commit("Something before it", **{f"{BESIDE}/first.yaml": files.config_map("nothing")})
    with (
        ground.kustomization(BESIDE, interval=RARELY, wait=True, timeout="5m") as first,
        ground.kustomization(interval=OFTEN, dependsOn=[{"name": first.name}]) as follower,
    ):
        stage.commit("It takes its time", **{f"{BESIDE}/first.yaml": files.deployment("first")})
        first.push()
        stage.wait(lambda: condition(first.get(), "Ready").get("status") != "True", "the first to wait")
        stage.begin("depends", **stage.by_git())
        held = told(stage, "sync-waiting", saying="dependency")
        assert f"dependency 'flux-system/{first.name}' is not ready" in held["why"]
        assert f"check what Kustomization flux-system/{follower.name} of Flux waits for" in held["next"]
        assert version(stage) == stage.running
        assert not stage.touched()
        wait_committed(stage)
        stage.commit("It is not needed", **{f"{BESIDE}/first.yaml": files.deployment("first", replica_count=0)})
        first.poke()
        stage.plane.kubectl("scale", "deployment", "first", "-n", "default", "--replicas=0")  # what it waits for
        stage.wait_phase("Done")
    stage.plane.kubectl("delete", "deployment", "first", "-n", "default")


def test_a_commit_behind_one_whose_health_check_still_runs_waits_for_that(ground: FluxStage) -> None:
    stage = ground.opened()
    with ground.kustomization(interval=OFTEN, wait=True, timeout="5m") as follower:
        stage.commit("Another team's Deployment", **{f"{FOLDER}/slow.yaml": files.deployment("slow")})
        stage.wait(lambda: condition(follower.get(), "Ready").get("status") == "Unknown", "Flux to wait for it")
        stage.begin("behind", **stage.by_git())
        held = told(stage, "sync-waiting", saying="Running health checks")
        assert f"Kustomization flux-system/{follower.name} of Flux, which applies it to the cluster" in held["why"]
        assert version(stage) == stage.running
        assert not stage.touched()
        stage.plane.kubectl("scale", "deployment", "slow", "-n", "default", "--replicas=0")
        wait_committed(stage)
        stage.commit("Without it", **{f"{FOLDER}/slow.yaml": files.config_map("nothing")})
        stage.wait_phase("Done")
    stage.plane.kubectl("delete", "deployment", "slow", "-n", "default")


@pytest.mark.parametrize("way", WAYS)
def test_what_drift_correction_would_undo_is_not_written_at_all(ground: FluxStage, way: str) -> None:
    stage = ground.opened()
    with WAYS[way](ground, interval=RARELY, is_healing=True):
        stage.begin(f"direct-{way}")
        held = told(stage, "written-by-another")
        assert f"{RESOURCE} should have {stage.target}, but {MANAGERS[way]} writes it from a repository" in held["why"]
        assert "spec.publish.via: git" in held["next"]
        stage.set_version(BAD)
        wait_version(stage, stage.running)
        assert not stage.writes("clusterpolicies")
        assert not stage.touched()


@pytest.mark.parametrize("way", WAYS)
def test_what_somebody_writes_over_our_commit_is_named_with_what_puts_it_back(ground: FluxStage, way: str) -> None:
    stage = ground.opened()
    with WAYS[way](ground, interval=OFTEN) as follower:
        stage.begin(f"drift-{way}", **stage.by_git(**LONG_BAKE))
        stage.wait_phase("Baking")
        stage.set_version(stage.running)
        held = told(stage, "sync-overwritten")
        assert f"{follower.name} of Flux applied the commit" in held["why"]
        assert f"kubectl-edit overwrote it with {stage.running}" in held["why"]
        assert f"Restore what Git says: `{RESTORES[way]} {follower.name} -n flux-system" in held["next"]
        follower.restore()
        wait_version(stage, stage.target)
        stage.patch(bake={"durationSeconds": 1, "everySeconds": 1})
        stage.wait_phase("Done")


@pytest.mark.parametrize("way", WAYS)
def test_what_somebody_writes_over_our_commit_is_put_back_by_drift_correction(ground: FluxStage, way: str) -> None:
    stage = ground.opened()
    with WAYS[way](ground, interval=OFTEN, is_healing=True):
        stage.begin(f"healed-{way}", **stage.by_git(**LONG_BAKE))
        stage.wait_phase("Baking")
        stage.set_version(stage.running)
        wait_version(stage, stage.target)
        stage.patch(bake={"durationSeconds": 1, "everySeconds": 1})
        stage.wait_phase("Done")
        assert not stage.writes("clusterpolicies"), "a rollout by Git writes nothing there"


def with_enabled(stage: LightStage, value: Any) -> str:
    """The published file, saying this of whether there is a driver at all."""
    made = yaml.safe_load(stage.shown(PUBLISHED))
    made["spec"]["driver"]["enabled"] = value
    return yaml.safe_dump(made, sort_keys=False)
