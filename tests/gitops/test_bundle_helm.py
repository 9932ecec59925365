"""A bundle for helm, deployed by its own script with the real helm: each run of it runs the hook."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial_lab.testbed.neighbours.operator_chart import find_helm
from tests.gitops import bundle_stage
from tests.gitops.bundle_stage import AFTER, BEFORE, DEPLOY_SECONDS, BundleStage

pytestmark = [pytest.mark.cluster, pytest.mark.gitops, pytest.mark.own_plane]

ALL = {"network-operator", "gpu-operator", "nvidia-dra-driver-gpu", "gpu-operator-post"}


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BundleStage]:
    with bundle_stage.opened(tmp_path_factory.mktemp("bundled")) as made:
        yield made


def deploy(stage: BundleStage, bundle: Path) -> subprocess.CompletedProcess[str]:
    path = f"{find_helm().parent}:{os.environ['PATH']}"
    return subprocess.run(
        [bundle / "deploy.sh"],
        env={**os.environ, "PATH": path, "KUBECONFIG": str(stage.plane.kubeconfig)},
        capture_output=True,
        text=True,
        timeout=DEPLOY_SECONDS,
    )


def test_the_stack_comes_and_each_upgrade_runs_the_hook(stage: BundleStage, tmp_path: Path) -> None:
    bundle = stage.write("helm", tmp_path / "stack")
    done = deploy(stage, bundle)
    assert done.returncode == 0, done.stderr
    assert stage.releases() == dict.fromkeys(ALL, "deployed")
    assert (stage.driver(), stage.target()["driver"], stage.hook_runs()) == (BEFORE, BEFORE, 1)
    before = stage.target()["digest"]

    assert deploy(stage, bundle).returncode == 0  # helm runs hooks whether something differs or not
    assert (stage.target()["digest"], stage.hook_runs()) == (before, 2)

    stage.write("helm", bundle, driver=AFTER)
    done = deploy(stage, bundle)
    assert done.returncode == 0, done.stderr
    assert (stage.driver(), stage.target()["driver"], stage.hook_runs()) == (AFTER, AFTER, 3)
    assert stage.target()["digest"] != before
