"""A bundle for helmfile, deployed by the real one: `apply` runs the hook when the stack has changed, `sync` always.

One story, told in order: each test goes on where the one before ended. Needs root: left out without.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from seatrial_lab.testbed.building import build, toolchain
from seatrial_lab.testbed.neighbours.operator_chart import find_helm
from tests import real_nodes
from tests.gitops import bundle_stage
from tests.gitops.bundle_stage import AFTER, DEPLOY_SECONDS, RELEASES, BundleStage

pytestmark = [pytest.mark.cluster, pytest.mark.gitops, pytest.mark.own_plane]

real_nodes.needed()


class Helmfile:
    """The real one, with the plugin of helm that it needs, and no folder of whoever runs it."""

    def __init__(self, stage: BundleStage) -> None:
        self.stage = stage
        self.bundle = stage.write("helmfile", stage.folder / "stack")
        self._home = stage.folder / "helmfile"
        self._program, differing = build.helmfile()
        plugin = self._home / "plugins" / "diff"
        (plugin / "bin").mkdir(parents=True)
        (plugin / "bin" / "diff").symlink_to(differing)
        module = toolchain.module_folder(build.HELM_DIFF.folder, build.HELM_DIFF.module)
        shutil.copy(module / "plugin.yaml", plugin)

    def run(self, *words: str) -> str:
        """Call it in the folder of the bundle, as its README says."""
        done = subprocess.run(
            [self._program, "--no-color", *words],
            cwd=self.bundle,
            env={
                **os.environ,
                "PATH": f"{find_helm().parent}:{os.environ['PATH']}",
                "HOME": str(self._home),
                "KUBECONFIG": str(self.stage.plane.kubeconfig),
                "HELM_PLUGINS": str(self._home / "plugins"),
                "HELMFILE_UPGRADE_NOTICE_DISABLED": "true",  # else it asks the internet for a newer one
            },
            capture_output=True,
            text=True,
            timeout=DEPLOY_SECONDS,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def apply(self) -> None:
        self.run("apply")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BundleStage]:
    with bundle_stage.opened(tmp_path_factory.mktemp("bundled")) as made:
        yield made


@pytest.fixture(scope="module")
def helmfile(stage: BundleStage) -> Helmfile:
    return Helmfile(stage)


def test_the_stack_comes_and_the_hook_finds_nothing_to_do(stage: BundleStage, helmfile: Helmfile) -> None:
    stage.install(helmfile.apply)
    assert stage.releases() == dict.fromkeys(RELEASES, "deployed")
    assert stage.revisions() == [1, 1, 1, 1]


def test_an_apply_that_changes_nothing_upgrades_nothing_and_runs_no_hook(
    stage: BundleStage, helmfile: Helmfile
) -> None:
    with stage.unchanged(hook_runs=0):
        helmfile.apply()
    assert stage.revisions() == [1, 1, 1, 1]


def test_a_sync_runs_the_hook_and_touches_no_plugin(stage: BundleStage, helmfile: Helmfile) -> None:
    with stage.unchanged(hook_runs=1):
        helmfile.run("sync")
    assert stage.revisions() == [2, 2, 2, 2]


def test_with_another_driver_each_plugin_goes_once_its_own_node_has_settled(
    stage: BundleStage, helmfile: Helmfile
) -> None:
    stage.write("helmfile", helmfile.bundle, driver=AFTER)
    stage.upgrade(helmfile.apply)
    assert stage.revisions() == [2, 3, 2, 3]


def test_after_that_an_apply_changes_nothing(stage: BundleStage, helmfile: Helmfile) -> None:
    with stage.unchanged(hook_runs=0):
        helmfile.apply()
    assert stage.revisions() == [2, 3, 2, 3]
