"""A bundle for Flux, brought in by the real Flux: the hook runs when the stack has changed, and only then.

One story, told in order: each test goes on where the one before ended. Needs root: left out without.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from seatrial_lab.testbed import errors, waiting
from seatrial_lab.testbed.neighbours.flux import NAMESPACE, Flux
from seatrial_lab.testbed.neighbours.flux_objects import REPOSITORY, REQUESTED, commit_of, condition
from tests import real_nodes
from tests.gitops import bundle_stage
from tests.gitops.bundle_stage import AFTER, BEFORE, DEPLOY_SECONDS, PATH, RELEASES, BundleStage, Remote

pytestmark = [pytest.mark.cluster, pytest.mark.gitops, pytest.mark.own_plane]

real_nodes.needed()

Object = dict[str, Any]
NAME = "seatrial-bundle"
KUSTOMIZATION = "kustomizations.kustomize.toolkit.fluxcd.io"
FORCED = "reconcile.fluxcd.io/forceAt"
LOGIN = "git-login"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BundleStage]:
    with bundle_stage.opened(tmp_path_factory.mktemp("bundled")) as made, Flux.start(made.plane):
        yield made


@pytest.fixture(scope="module")
def followed(stage: BundleStage) -> Iterator[Followed]:
    with stage.remote("flux", "--repo-secret", LOGIN) as remote:
        yield Followed(stage=stage, remote=remote)


@dataclass(kw_only=True)
class Followed:
    """A repository with a bundle in it, which Flux follows."""

    stage: BundleStage
    remote: Remote

    def follow(self) -> None:
        """What the README says: the source by hand, and a Kustomization."""
        login = {"username": self.remote.server.username, "password": self.remote.server.password}
        about = {"name": LOGIN, "namespace": NAMESPACE}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": about, "stringData": login}
        source = yaml.safe_load((self.remote.bundle / "sources" / f"{NAME}.yaml").read_text(encoding="utf-8"))
        readme = (self.remote.bundle / "README.md").read_text(encoding="utf-8")
        kustomization = yaml.safe_load(readme.partition("```yaml\n")[2].partition("```")[0])
        self.stage.plane.apply([secret, source, kustomization])

    def release(self, name: str) -> Object:
        try:
            return self.stage.plane.get("helmrelease", name, "-n", NAMESPACE)
        except errors.KubectlFailed:
            return {}

    def history_counts(self) -> list[int]:
        """How often each release was installed or upgraded."""
        return [len(self.release(name)["status"]["history"]) for name in RELEASES]

    def wait_ready(self, what: str) -> None:
        waiting.wait_for(
            lambda: all(is_ready(self.release(name)) for name in RELEASES),
            what=f"every release to be there {what}",
            timeout_seconds=DEPLOY_SECONDS,
            pause_seconds=0.5,
            describe=lambda: str({name: condition(self.release(name), "Ready") for name in RELEASES}),
        )

    def bring(self, commit: str) -> None:
        """Flux has looked at the commit, applied what it says, and released it."""
        self.stage.plane.kubectl("annotate", REPOSITORY, NAME, "-n", NAMESPACE, f"{REQUESTED}={commit}", "--overwrite")
        waiting.wait_for(
            lambda: self._applied() == commit,
            what=f"Flux to apply {commit}",
            timeout_seconds=DEPLOY_SECONDS,
            pause_seconds=0.5,
            describe=self._applied,
        )
        self.wait_ready(f"with {commit}")

    def _applied(self) -> str:
        found = self.stage.plane.get(KUSTOMIZATION, NAME, "-n", NAMESPACE)
        return commit_of(found.get("status", {}).get("lastAppliedRevision", ""))

    def reconcile(self, token: str, *, is_forced: bool = False) -> None:
        """What `flux reconcile helmrelease` does, for all of them, or by force for the hook's alone."""
        names = RELEASES[-1:] if is_forced else RELEASES
        words = [f"{each}={token}" for each in ([REQUESTED, FORCED] if is_forced else [REQUESTED])]
        self.stage.plane.kubectl("annotate", "helmrelease", *names, "-n", NAMESPACE, *words, "--overwrite")
        handled = "lastHandledForceAt" if is_forced else "lastHandledReconcileAt"
        waiting.wait_for(
            lambda: all(self.release(name)["status"].get(handled) == token for name in names),
            what=f"Flux to reconcile {', '.join(names)}",
            timeout_seconds=DEPLOY_SECONDS,
            pause_seconds=0.5,
        )
        self.wait_ready("reconciled")


def is_ready(found: Object) -> bool:
    """Ready, and of what it says now."""
    ready = condition(found, "Ready")
    return ready.get("status") == "True" and ready.get("observedGeneration") == found["metadata"]["generation"]


def test_the_stack_comes_in_order_and_the_hook_finds_nothing_to_do(stage: BundleStage, followed: Followed) -> None:
    def bring() -> None:
        followed.remote.push("A bundle", driver=BEFORE)
        followed.follow()
        followed.wait_ready("for the first time")

    stage.install(bring)
    first = [followed.release(name)["status"]["history"][-1]["firstDeployed"] for name in RELEASES]
    assert first == sorted(first)


def test_a_commit_about_something_else_runs_no_hook(stage: BundleStage, followed: Followed) -> None:
    with stage.unchanged(hook_runs=0):
        (followed.remote.work / "elsewhere.txt").write_text("of another team")
        followed.bring(followed.remote.push("Something else in the repository"))
        (followed.remote.work / PATH / "notes.txt").write_text("beside the bundle")
        followed.bring(followed.remote.push("Something beside the bundle"))
    assert followed.history_counts() == [1, 1, 1, 1]


def test_a_reconciliation_that_changes_nothing_runs_no_hook(stage: BundleStage, followed: Followed) -> None:
    with stage.unchanged(hook_runs=0):
        followed.reconcile("asked-for-by-hand")
    assert followed.history_counts() == [1, 1, 1, 1]


def test_with_another_driver_each_plugin_goes_once_its_own_node_has_settled(
    stage: BundleStage, followed: Followed
) -> None:
    (followed.remote.work / PATH / "notes.txt").unlink()
    stage.upgrade(lambda: followed.bring(followed.remote.push("Another driver", driver=AFTER)))
    assert followed.history_counts() == [1, 2, 1, 2]


def test_a_release_that_is_forced_runs_the_hook_and_touches_no_plugin(stage: BundleStage, followed: Followed) -> None:
    with stage.unchanged(hook_runs=1):
        followed.reconcile("by-force", is_forced=True)
