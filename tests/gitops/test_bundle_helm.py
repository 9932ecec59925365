"""A bundle for helm, deployed by its own script with the real helm: each run of it runs the hook.

One story, told in order: each test goes on where the one before ended. Needs root: left out without.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial_lab.testbed.neighbours.operator_chart import find_helm
from tests import real_nodes
from tests.gitops import bundle_stage
from tests.gitops.bundle_stage import AFTER, DEPLOY_SECONDS, RELEASES, BundleStage

pytestmark = [pytest.mark.cluster, pytest.mark.gitops, pytest.mark.own_plane]

real_nodes.needed()


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BundleStage]:
    with bundle_stage.opened(tmp_path_factory.mktemp("bundled")) as made:
        yield made


@pytest.fixture(scope="module")
def bundle(stage: BundleStage) -> Path:
    return stage.write("helm", stage.folder / "stack")


def deploy(stage: BundleStage, bundle: Path) -> None:
    path = f"{find_helm().parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [bundle / "deploy.sh"],
        env={**os.environ, "PATH": path, "KUBECONFIG": str(stage.plane.kubeconfig)},
        capture_output=True,
        text=True,
        timeout=DEPLOY_SECONDS,
    )
    assert done.returncode == 0, done.stderr


def test_the_stack_comes_and_the_hook_finds_nothing_to_do(stage: BundleStage, bundle: Path) -> None:
    stage.install(lambda: deploy(stage, bundle))
    assert stage.releases() == dict.fromkeys(RELEASES, "deployed")


def test_the_same_again_runs_the_hook_and_touches_no_plugin(stage: BundleStage, bundle: Path) -> None:
    before = stage.target()["digest"]
    with stage.unchanged(hook_runs=1):  # helm runs hooks whether something differs or not
        deploy(stage, bundle)
    assert stage.target()["digest"] == before


def test_with_another_driver_each_plugin_goes_once_its_own_node_has_settled(stage: BundleStage, bundle: Path) -> None:
    before = stage.target()["digest"]
    stage.write("helm", bundle, driver=AFTER)
    stage.upgrade(lambda: deploy(stage, bundle))
    assert stage.target()["digest"] != before


def test_after_that_the_same_again_touches_no_plugin(stage: BundleStage, bundle: Path) -> None:
    with stage.unchanged(hook_runs=1):
        deploy(stage, bundle)
