"""A bundle for Flux, brought in by the real Flux: the hook runs when the stack has changed, and only then."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from seatrial_lab.testbed import errors, waiting
from seatrial_lab.testbed.neighbours.flux import NAMESPACE, Flux
from seatrial_lab.testbed.neighbours.flux_objects import REPOSITORY, REQUESTED, commit_of, condition
from seatrial_lab.testbed.neighbours.git_server import GitServer
from tests.e2e.campaigns import make_remote
from tests.gitops import bundle_stage
from tests.gitops.bundle_stage import AFTER, BEFORE, DEPLOY_SECONDS, BundleStage

pytestmark = [pytest.mark.cluster, pytest.mark.gitops, pytest.mark.own_plane]

Object = dict[str, Any]
NAME = "seatrial-bundle"
PATH = "clusters/east"
RELEASES = ("network-operator", "gpu-operator", "nvidia-dra-driver-gpu", "gpu-operator-post")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BundleStage]:
    with bundle_stage.opened(tmp_path_factory.mktemp("bundled")) as made, Flux.start(made.plane):
        yield made


class Fleet:
    """A repository with a bundle in it, which Flux follows."""

    def __init__(self, stage: BundleStage, server: GitServer, work: Path) -> None:
        self.stage, self.server, self.work = stage, server, work
        self.bundle = work / PATH

    def write(self, driver: str) -> None:
        url = f"{self.server.url}/fleet.git"
        words = ("--repo", url, "--repo-secret", "git-login", "--path", PATH)
        self.bundle.parent.mkdir(parents=True, exist_ok=True)
        self.stage.write("flux", self.bundle, *words, driver=driver)

    def follow(self) -> None:
        """What the README says: the source by hand, and a Kustomization."""
        login = {"username": self.server.username, "password": self.server.password}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": named("git-login"), "stringData": login}
        source = yaml.safe_load((self.bundle / "sources" / f"{NAME}.yaml").read_text(encoding="utf-8"))
        readme = (self.bundle / "README.md").read_text(encoding="utf-8")
        kustomization = yaml.safe_load(readme.partition("```yaml\n")[2].partition("```")[0])
        self.stage.plane.apply([secret, source, kustomization])

    def release(self, name: str) -> Object:
        try:
            return self.stage.plane.get("helmrelease", name, "-n", NAMESPACE)
        except errors.KubectlFailed:
            return {}

    def wait_ready(self, what: str) -> None:
        waiting.wait_for(
            lambda: all(is_ready(self.release(name)) for name in RELEASES),
            what=f"every release to be there {what}",
            timeout_seconds=DEPLOY_SECONDS,
            describe=lambda: str({name: condition(self.release(name), "Ready") for name in RELEASES}),
        )

    def wait_brought(self, commit: str) -> None:
        """Flux has looked at the commit, and applied what it says."""
        self.stage.plane.kubectl("annotate", REPOSITORY, NAME, "-n", NAMESPACE, f"{REQUESTED}={commit}", "--overwrite")
        waiting.wait_for(
            lambda: self._applied() == commit,
            what=f"Flux to apply {commit}",
            timeout_seconds=120,
            describe=self._applied,
        )

    def _applied(self) -> str:
        found = self.stage.plane.get("kustomizations.kustomize.toolkit.fluxcd.io", NAME, "-n", NAMESPACE)
        return commit_of(found.get("status", {}).get("lastAppliedRevision", ""))


def pushed(work: Path, subject: str) -> str:
    """Commit everything and push it; the commit."""
    for words in (("add", "-A"), ("commit", "--quiet", "-m", subject), ("push", "--quiet", "origin", "HEAD:main")):
        subprocess.run(["git", "-C", str(work), *words], check=True, capture_output=True, timeout=60)
    found = subprocess.run(["git", "-C", str(work), "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return found.stdout.strip()


def named(name: str) -> dict[str, str]:
    return {"name": name, "namespace": NAMESPACE}


def is_ready(found: Object) -> bool:
    """Ready, and of what it says now."""
    ready = condition(found, "Ready")
    return ready.get("status") == "True" and ready.get("observedGeneration") == found["metadata"]["generation"]


def test_the_stack_comes_in_order_and_the_hook_runs_when_it_changes(stage: BundleStage, tmp_path: Path) -> None:
    make_remote(tmp_path / "fleet.git", tmp_path / "work")
    with GitServer(root=tmp_path) as server:
        fleet = Fleet(stage, server, tmp_path / "work")
        fleet.write(BEFORE)
        pushed(fleet.work, "A bundle")
        fleet.follow()
        fleet.wait_ready("for the first time")
        assert (stage.driver(), stage.target()["driver"], stage.hook_runs()) == (BEFORE, BEFORE, 1)
        first = [fleet.release(name)["status"]["history"][-1]["firstDeployed"] for name in RELEASES]
        assert first == sorted(first)

        (fleet.work / "elsewhere.txt").write_text("of another team")
        fleet.wait_brought(pushed(fleet.work, "Something else in the repository"))
        fleet.wait_ready("after a commit that is not about them")
        assert [len(fleet.release(name)["status"]["history"]) for name in RELEASES] == [1, 1, 1, 1]
        assert stage.hook_runs() == 1

        fleet.write(AFTER)
        fleet.wait_brought(pushed(fleet.work, "Another driver"))
        waiting.wait_for(lambda: stage.hook_runs() == 2, what="the hook to run again", timeout_seconds=DEPLOY_SECONDS)
        fleet.wait_ready("with another driver")
        assert (stage.driver(), stage.target()["driver"]) == (AFTER, AFTER)
        assert [len(fleet.release(name)["status"]["history"]) for name in RELEASES] == [1, 2, 1, 2]
