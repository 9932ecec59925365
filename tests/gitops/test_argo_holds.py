"""What holds a commit up on its way through the real Argo CD, what the rollout says of it, and what ends it.

It is stopped, it is skipped while a revert waits, it fails, it looks rarely, it waits for a wave, its self-heal would
fight us, somebody writes over it.
Argo CD is as it is installed: it looks every two or three minutes, and at once when the forge's webhook tells it to.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from seatrial_lab.testbed import controller_process
from seatrial_lab.testbed.neighbours.argo_application import Application
from seatrial_lab.testbed.neighbours.argo_cd import ArgoCd
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.campaigns import BAD, PUBLISHED, served
from tests.e2e.light_stage import LONG_BAKE, RESOURCE, LightStage, light_stage
from tests.gitops import files
from tests.gitops.looks import told, version, wait_committed, wait_version

pytestmark = [pytest.mark.cluster, pytest.mark.gitops]

NAMES = itertools.count(1)
FIRST = "cluster/first.yaml"


@pytest.fixture(scope="module")
def shared(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LightStage]:
    """The stage of the failures."""
    controller_process.install(plane)
    with light_stage(plane, tmp_path_factory.mktemp("argo-holds"), "argo") as made:
        yield made


@pytest.fixture(scope="module")
def argo(shared: LightStage) -> Iterator[ArgoCd]:
    """As it is installed."""
    with ArgoCd.start(shared.plane) as started:
        yield started


@pytest.fixture
def stage(shared: LightStage) -> LightStage:
    """The stage, with nothing left of the story before, and the repository as the cluster is."""
    shared.open()
    shared.lay_out()
    return shared


@contextmanager
def application(argo: ArgoCd, stage: LightStage, *, is_healing: bool = False) -> Iterator[Application]:
    with (
        served(stage.remote) as place,
        Application(argo, f"gpu-{next(NAMES)}", place, is_healing=is_healing) as app,
    ):
        yield app


def test_an_application_whose_automated_sync_is_off_holds_the_commit_and_the_way_back(
    stage: LightStage, argo: ArgoCd
) -> None:
    with application(argo, stage) as app:
        app.suspend()
        stage.begin("by-hand", **stage.by_git())
        held = told(stage, "sync-stopped", saying="since its automated sync is off")
        assert f"Application argocd/{app.name} of Argo CD brings nothing into the cluster" in held["why"]
        assert f"`argocd app sync {app.name}`" in held["next"]
        assert not stage.touched()
        app.resume()
        app.poke()
        stage.wait_phase("Done")


def test_an_application_that_is_skipped_never_applies_a_revert(stage: LightStage, argo: ArgoCd) -> None:
    with application(argo, stage) as app:
        stage.begin("skipped", **stage.by_git(**LONG_BAKE))
        wait_committed(stage)
        app.poke()
        stage.wait_phase("Baking")
        app.skip()
        stage.do("rollout", "abort", "skipped", "--reason", "let it be", "-y")
        held = told(stage, "sync-stopped", saying="skip-reconcile")
        assert "a revert in Git does not reach the cluster either" in held["next"]
        assert version(stage) == stage.target
        app.skip(is_skipped=False)
        app.poke()
        stage.wait_phase("Reverted")
        assert stage.touched() == {stage.canary}


def test_a_sync_that_fails_is_told_in_argo_cds_words_and_mended_by_a_commit(stage: LightStage, argo: ArgoCd) -> None:
    with application(argo, stage) as app:
        good = stage.shown(PUBLISHED)
        stage.commit("Break it", **{PUBLISHED: f"{good}    enabled: perhaps\n"})
        stage.begin("failing", **stage.by_git())
        wait_committed(stage)
        app.poke()
        held = told(stage, "sync-failed")
        assert "spec.driver.enabled" in held["why"]
        assert f"`argocd app terminate-op {app.name}`" in held["next"]
        assert not stage.touched()
        mended = stage.shown(PUBLISHED).replace("    enabled: perhaps\n", "")
        stage.commit("Mend it", **{PUBLISHED: mended})
        app.poke()
        stage.wait_phase("Done")


def test_between_two_looks_it_is_said_what_the_cluster_has_and_a_webhook_ends_the_wait(
    stage: LightStage, argo: ArgoCd
) -> None:
    with application(argo, stage) as app:
        at = app.applied[-1]
        stage.begin("rarely", **stage.by_git())
        held = told(stage, "publish-pending", saying=at[:12])
        assert f"Application argocd/{app.name} of Argo CD, now at {at[:12]}, applies our commit" in held["next"]
        assert f"`argocd app get {app.name} --refresh`" in held["next"]
        app.poke()
        stage.wait_phase("Done")


def test_a_sync_wave_that_does_not_get_healthy_is_named_and_the_commit_behind_it_waits(
    stage: LightStage, argo: ArgoCd
) -> None:
    with application(argo, stage) as app:
        stage.commit("Something before it", **{FIRST: files.deployment("first", wave=-1)})
        stage.begin("wave", **stage.by_git())
        wait_committed(stage)
        app.poke()
        held = told(stage, "sync-waiting", saying="waiting for healthy state of apps/Deployment/first")
        assert (
            f"Application argocd/{app.name} of Argo CD, which applies it to the cluster, is itself waiting"
            in held["why"]
        )
        assert f"check what Application argocd/{app.name} of Argo CD waits for" in held["next"]
        assert version(stage) == stage.running, "Argo CD applies the wave of the ClusterPolicy after the one before it"
        assert not stage.touched()
        stage.plane.kubectl("scale", "deployment", "first", "-n", "default", "--replicas=0")
        stage.wait_phase("Done")
    stage.commit("Nothing before it", **{FIRST: files.config_map("nothing")})
    stage.plane.kubectl("delete", "deployment", "first", "-n", "default")


def test_what_self_heal_would_undo_is_not_written_at_all(stage: LightStage, argo: ArgoCd) -> None:
    with application(argo, stage, is_healing=True):
        stage.begin("direct")
        held = told(stage, "written-by-another")
        assert f"{RESOURCE} should have {stage.target}, but argocd-controller writes it" in held["why"]
        assert "spec.publish.via: git" in held["next"]
        stage.set_version(BAD)
        wait_version(stage, stage.running)
        assert not stage.writes("clusterpolicies")
        assert not stage.touched()


def test_self_heal_that_takes_over_in_the_middle_of_a_direct_rollout_is_named_and_not_fought(
    stage: LightStage, argo: ArgoCd
) -> None:
    stage.begin("taken", **LONG_BAKE)
    stage.wait_phase("Baking")
    written = len(stage.writes("clusterpolicies"))
    with application(argo, stage, is_healing=True):
        held = told(stage, "written-by-another")
        assert f"{RESOURCE} should have {stage.target}, but argocd-controller writes it" in held["why"]
        assert version(stage) == stage.running
        stage.do("rollout", "abort", "taken", "--reason", "by git then", "-y")
        stage.wait_phase("Reverted")
        assert len(stage.writes("clusterpolicies")) <= written + 1, "no more than the note of the way back"
    assert stage.touched() == {stage.canary}


def test_what_somebody_writes_over_our_commit_is_named_with_the_command_that_puts_it_back(
    stage: LightStage, argo: ArgoCd
) -> None:
    with application(argo, stage) as app:
        stage.begin("drift", **stage.by_git(**LONG_BAKE))
        wait_committed(stage)
        app.poke()
        stage.wait_phase("Baking")
        stage.set_version(stage.running)
        held = told(stage, "sync-overwritten", saying=f"kubectl-edit overwrote it with {stage.running}")
        assert f"Application argocd/{app.name} of Argo CD applied the commit" in held["why"]
        assert f"Restore what Git says: `argocd app sync {app.name}`" in held["next"]
        app.sync()
        wait_version(stage, stage.target)
        stage.patch(bake={"durationSeconds": 1, "everySeconds": 1})
        stage.wait_phase("Done")


def test_what_somebody_writes_over_our_commit_is_put_back_by_self_heal_and_the_rollout_goes_on(
    stage: LightStage, argo: ArgoCd
) -> None:
    with application(argo, stage, is_healing=True) as app:
        stage.begin("healed", **stage.by_git(**LONG_BAKE))
        wait_committed(stage)
        app.poke()
        stage.wait_phase("Baking")
        stage.set_version(stage.running)
        wait_version(stage, stage.target)
        stage.patch(bake={"durationSeconds": 1, "everySeconds": 1})
        stage.wait_phase("Done")
        assert not stage.writes("clusterpolicies"), "a rollout by Git writes nothing there"
