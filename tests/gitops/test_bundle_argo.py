"""A bundle for Argo CD, brought in by the real one: the hook runs after a sync, and nothing is synced that is the same.

One story, told in order: each test goes on where the one before ended. As it is installed, Argo CD knows nothing of the
health of Applications, so that none waits for another. Needs root: left out without.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from seatrial_lab.testbed import errors, waiting
from seatrial_lab.testbed.neighbours.argo_application import KIND
from seatrial_lab.testbed.neighbours.argo_cd import NAMESPACE, ArgoCd
from tests import real_nodes
from tests.chart import post
from tests.chart.charts import helm
from tests.gitops import bundle_stage
from tests.gitops.bundle_stage import AFTER, BEFORE, DEPLOY_SECONDS, RELEASES, BundleStage, Remote

pytestmark = [pytest.mark.cluster, pytest.mark.gitops, pytest.mark.own_plane]

real_nodes.needed()

Object = dict[str, Any]
ROOT = "seatrial-stack"
HOOK = RELEASES[-1]
POLL_SECONDS = 15
"""How often it looks by itself: while it learns of new definitions, it may miss that something became healthy."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BundleStage]:
    with bundle_stage.opened(tmp_path_factory.mktemp("bundled")) as made:
        yield made


@pytest.fixture(scope="module")
def followed(stage: BundleStage) -> Iterator[Followed]:
    with (
        ArgoCd.start(stage.plane, poll_seconds=POLL_SECONDS, jitter_seconds=0) as argo,
        stage.remote("argocd") as remote,
    ):
        yield Followed(stage=stage, argo=argo, remote=remote)


@dataclass(kw_only=True)
class Followed:
    """A repository with a bundle in it, which Argo CD follows."""

    stage: BundleStage
    argo: ArgoCd
    remote: Remote

    def log_in(self) -> None:
        """Have Argo CD know the repository, as whoever runs it does."""
        server = self.remote.server
        login = {"type": "git", "url": self.remote.url, "username": server.username, "password": server.password}
        labels = {"argocd.argoproj.io/secret-type": "repository"}
        about = {"name": "fleet", "namespace": NAMESPACE, "labels": labels}
        self.stage.plane.apply([{"apiVersion": "v1", "kind": "Secret", "metadata": about, "stringData": login}])

    def application(self, name: str) -> Object:
        self.argo.check()
        try:
            return self.stage.plane.get(KIND, name, "-n", NAMESPACE)
        except errors.KubectlFailed:
            return {}

    def bring(self, commit: str, *, names: tuple[str, ...] = (ROOT, *RELEASES)) -> None:
        """Tell Argo CD of a push, and return when every Application is at that commit and at rest."""
        self.argo.push_event(self.remote.url, "main")
        waiting.wait_for(
            lambda: all(is_at(self.application(name), commit) for name in names),
            what=f"every Application to be at {commit}",
            timeout_seconds=DEPLOY_SECONDS,
            pause_seconds=0.5,
            describe=lambda: json.dumps({name: told(self.application(name)) for name in names}, indent=1),
        )

    def sync_by_hand(self, name: str) -> None:
        """Have everything of an Application synced once, as the button does."""
        before = self.application(name)
        options = before["spec"]["syncPolicy"]["syncOptions"]
        operation = {"operation": {"sync": {"revision": "main", "syncOptions": options}}}
        self.stage.plane.kubectl("patch", KIND, name, "-n", NAMESPACE, "--type=merge", "-p", json.dumps(operation))
        began = before["status"]["operationState"]["startedAt"]
        commit = before["status"]["sync"]["revision"]
        waiting.wait_for(
            lambda: (
                (found := self.application(name))["status"]["operationState"]["startedAt"] != began
                and is_at(found, commit)
            ),
            what=f"{name} to be synced",
            timeout_seconds=DEPLOY_SECONDS,
            pause_seconds=0.5,
            describe=lambda: json.dumps(told(self.application(name)), indent=1),
        )

    def edit_target(self) -> None:
        """Edit an object of the hook's in the cluster, and return when Argo CD has put it back and is at rest."""
        before = self.stage.target()
        edit = json.dumps({"data": {"driver": "999.99.99"}})
        words = ("dra-reroll-target", "-n", bundle_stage.NAMESPACE, "--type=merge", "-p", edit)
        self.stage.plane.kubectl("patch", "configmap", *words)
        waiting.wait_for(
            lambda: self.stage.target() == before,
            what="Argo CD to put the target back",
            timeout_seconds=DEPLOY_SECONDS,
            pause_seconds=0.5,
        )
        self.bring(self.application(HOOK)["status"]["sync"]["revision"])

    def operations(self) -> dict[str, str]:
        """When each Application was synced last."""
        return {name: self.application(name)["status"]["operationState"]["startedAt"] for name in RELEASES}


def is_at(found: Object, commit: str) -> bool:
    """Synced and Healthy with a commit, and no operation is under way or to come."""
    status = found.get("status", {})
    sync = status.get("sync", {})
    is_resting = "operation" not in found and status.get("operationState", {}).get("phase") == "Succeeded"
    is_well = status.get("health", {}).get("status") == "Healthy"
    return is_resting and is_well and (sync.get("status"), sync.get("revision")) == ("Synced", commit)


def told(found: Object) -> Object:
    """What an Application says of itself, for an error message."""
    status = found.get("status", {})
    operation = status.get("operationState", {})
    differing = [each for each in status.get("resources", ()) if each.get("status") != "Synced"]
    return {
        "sync": {name: status.get("sync", {}).get(name) for name in ("status", "revision")},
        "health": status.get("health"),
        "conditions": status.get("conditions"),
        "operation": {name: operation.get(name) for name in ("phase", "message", "retryCount")},
        "differing": [(each["kind"], each["name"], each.get("status")) for each in differing],
    }


def test_the_stack_comes_and_the_hook_finds_nothing_to_do(stage: BundleStage, followed: Followed) -> None:
    def bring() -> None:
        commit = followed.remote.push("A bundle", driver=BEFORE)
        followed.log_in()
        stage.plane.kubectl("apply", "-f", str(followed.remote.bundle / "app-of-apps.yaml"))
        followed.bring(commit)

    stage.install(bring)
    jobs = [each["metadata"]["name"] for each in stage.plane.get("jobs", "-A")["items"]]
    assert post.BACK not in jobs, "Argo CD knows no rollback, and leaves its Job out"


def test_an_object_that_is_put_back_runs_no_hook(stage: BundleStage, followed: Followed) -> None:
    with stage.unchanged(hook_runs=0):
        followed.edit_target()


def test_a_commit_that_changes_nothing_syncs_nothing_and_runs_no_hook(stage: BundleStage, followed: Followed) -> None:
    before = followed.operations()
    with stage.unchanged(hook_runs=0):
        (followed.remote.work / "elsewhere.txt").write_text("of another team")
        followed.bring(followed.remote.push("Something else in the repository"))
    assert followed.operations() == before


def test_put_back_after_such_a_commit_everything_is_synced_and_the_hook_touches_no_plugin(
    stage: BundleStage, followed: Followed
) -> None:
    with stage.unchanged(hook_runs=1):
        followed.edit_target()


def test_with_another_driver_each_plugin_goes_once_its_own_node_has_settled(
    stage: BundleStage, followed: Followed
) -> None:
    stage.upgrade(lambda: followed.bring(followed.remote.push("Another driver", driver=AFTER)))


def test_a_sync_by_hand_runs_the_hook_and_touches_no_plugin(stage: BundleStage, followed: Followed) -> None:
    with stage.unchanged(hook_runs=1):
        followed.sync_by_hand(HOOK)


# ── the Applications as a chart ──────────────────────────────────────────────────────────────────────────────────────


def test_a_chart_of_the_same_applications_takes_over_and_runs_no_hook(stage: BundleStage, followed: Followed) -> None:
    """Deleting an Application leaves what it brought."""
    with stage.unchanged(hook_runs=0):
        stage.plane.kubectl("delete", KIND, ROOT, *RELEASES, "-n", NAMESPACE)
        shutil.rmtree(followed.remote.bundle)
        followed.remote.deployer = "argocd-helm"
        commit = followed.remote.push("A chart of Applications", driver=AFTER)
        install_chart(followed)
        waiting.wait_for(
            lambda: all(has_compared(followed.application(name), commit) for name in RELEASES),
            what=f"every Application to find everything as it should be at {commit}",
            timeout_seconds=DEPLOY_SECONDS,
            pause_seconds=0.5,
            describe=lambda: json.dumps({name: told(followed.application(name)) for name in RELEASES}, indent=1),
        )


def test_by_the_chart_another_driver_runs_the_hook_too(stage: BundleStage, followed: Followed) -> None:
    def bring() -> None:
        commit = followed.remote.push("The driver before", driver=BEFORE)
        install_chart(followed)
        followed.argo.push_event(followed.remote.url, "main")
        waiting.wait_for(
            lambda: (
                all(has_compared(followed.application(name), commit) for name in RELEASES)
                and is_at(followed.application(HOOK), commit)
            ),
            what=f"every Application to be at {commit}",
            timeout_seconds=DEPLOY_SECONDS,
            pause_seconds=0.5,
            describe=lambda: json.dumps({name: told(followed.application(name)) for name in RELEASES}, indent=1),
        )

    stage.upgrade(bring, BEFORE)


def has_compared(found: Object, commit: str) -> bool:
    """Synced with a commit, whether it had to be synced or was found so."""
    sync = found.get("status", {}).get("sync", {})
    return (sync.get("status"), sync.get("revision")) == ("Synced", commit)


def install_chart(followed: Followed) -> None:
    """What the README says."""
    words = ("--namespace", NAMESPACE, "--kubeconfig", followed.stage.plane.kubeconfig)
    helm("upgrade", "--install", ROOT, followed.remote.bundle, *words)
