"""What holds a commit up on its way through the real Argo CD, what the rollout says of it, and what ends it.

It is stopped, it is skipped while a revert waits, it fails, it looks rarely.
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
from tests.e2e.campaigns import PUBLISHED, served
from tests.e2e.light_stage import LONG_BAKE, POLICY, LightStage, light_stage

pytestmark = [pytest.mark.cluster, pytest.mark.gitops]

NAMES = itertools.count(1)


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
        told = stage.wait_held("sync-stopped", saying="since its automated sync is off")
        assert f"Application argocd/{app.name} of Argo CD brings nothing into the cluster" in told
        assert f"`argocd app sync {app.name}`" in said(stage)
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
        stage.wait_held("sync-stopped", saying="skip-reconcile")
        assert "what is reverted in Git does not reach the cluster either" in said(stage)
        assert stage.plane.get("clusterpolicy", POLICY)["spec"]["driver"]["version"] == stage.target
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
        told = stage.wait_held("sync-failed")
        assert "spec.driver.enabled" in told
        assert f"`argocd app terminate-op {app.name}`" in said(stage)
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
        stage.wait_held("publish-pending")
        told = f"which has {at[:12]} in the cluster now, brings our commit there; `argocd app get {app.name} --refresh`"
        stage.wait(lambda: told in said(stage), "the rollout to say what it has")
        app.poke()
        stage.wait_phase("Done")


def wait_committed(stage: LightStage) -> None:
    """Wait until our own commit is the newest."""
    stage.wait(lambda: stage.remote_log()[-1].startswith(f"Driver {stage.target} for "), "our commit to be in Git")


def said(stage: LightStage) -> str:
    """What `seatrial why` says of the rollout, on one line."""
    return " ".join(stage.run("why", stage.rollout).stdout.split())
