"""Campaigns by pull requests on a real Gitea over the real API server: our controller is a process, nodes are kwok's.

Gitea speaks TLS behind an authority that only the controller was told of. Its branch is protected: our account opens
requests, people review and merge them. What is merged is brought into the cluster by the stand-in of an engine; the
engines themselves are in tests/gitops.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from seatrial_lab.testbed import controller_process, errors
from seatrial_lab.testbed.neighbours.gitea import ADA, CAPTAIN, PASSWORD, ROBOT, Gitea
from seatrial_lab.testbed.plane.certificates import Authority, Pair
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.adapters.git.remotes import git
from tests.e2e.campaigns import MATRIX, PUBLISHED
from tests.e2e.light_stage import LONG_BAKE, POLICY, Home, LightStage, light_stage
from tests.forge.stage import secret

NAME, PREFIX = "gpu-cluster", "by-request"
BY_REQUEST = {"publish": {"via": "git", "git": {"path": PUBLISHED, "pullRequests": True}}}


@dataclass(frozen=True, kw_only=True)
class Yard:
    """A stage whose repository is on the forge."""

    stage: LightStage
    gitea: Gitea

    def opened(self) -> LightStage:
        """A story begins: the repository says what the cluster is, and what is next."""
        self.stage.open()
        self.stage.lay_out()
        return self.stage

    def api(self, method: str, path: str, body: Any = None, *, who: str = ADA) -> Any:
        return self.gitea.call(method, f"/repos/{CAPTAIN}/{NAME}{path}", body, who=who)

    def asked(self, step: str) -> list[dict[str, Any]]:
        """The requests of this story for a step, whatever became of them."""
        found = self.api("GET", "/pulls?state=all&limit=50")
        label = f"seatrial/{self.stage.rollout}-"
        return [
            each
            for each in found
            if each["head"]["label"].startswith(label) and each["head"]["label"].endswith(f"/{step}")
        ]

    def wait_asked(self, step: str) -> dict[str, Any]:
        """Wait until people are asked for a step."""

        def is_asked() -> bool:
            return any(each["state"] == "open" for each in self.asked(step))

        self.stage.wait(is_asked, f"people to be asked for the step {step}")
        return self.asked(step)[0]

    def merge(self, step: str) -> dict[str, Any]:
        """A person reviews the request of a step, and another one merges it."""
        number = self.wait_asked(step)["number"]
        self.api("POST", f"/pulls/{number}/reviews", {"event": "APPROVED"})

        def is_merged() -> bool:
            try:
                self.api("POST", f"/pulls/{number}/merge", {"Do": "merge"}, who=CAPTAIN)
            except errors.TestbedFailure as err:
                if "405" not in str(err):
                    raise
                return False  # Gitea has not found out yet whether it can be merged
            return True

        self.stage.wait(is_merged, f"the request for {step} to be merged")
        found: dict[str, Any] = self.api("GET", f"/pulls/{number}")
        return found


@pytest.fixture(scope="module")
def yard(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    folder, authority = tmp_path_factory.mktemp(PREFIX), Authority.make("forge")
    pair = authority.issue(
        Pair(certificate=folder / "tls" / "gitea.crt", key=folder / "tls" / "gitea.key"),
        name="gitea",
        hosts=("127.0.0.1",),
    )
    trusted = folder / "ca.crt"
    trusted.write_bytes(authority.pem)
    controller_process.install(plane)
    with pytest.MonkeyPatch.context() as machine, Gitea(folder=folder / "gitea", pair=pair, authority=trusted) as gitea:
        machine.delenv("GIT_SSL_CAINFO", raising=False)  # the person's clone says itself whom it trusts
        with light_stage(plane, folder, PREFIX, home=home_on(gitea, folder, trusted)) as stage:
            yield Yard(stage=stage, gitea=gitea)


def home_on(gitea: Gitea, folder: Path, trusted: Path) -> Home:
    """A repository on the forge, a person's clone of it, and what the controller is told of both."""
    url, prefix = gitea.repository(NAME), f"{gitea.url}/{CAPTAIN}"
    login = secret(folder / "login", username=ROBOT, password=PASSWORD)
    token = secret(folder / "forge", token=gitea.tokens[ROBOT])
    work, theirs = folder / "work", url.replace("https://", f"https://{CAPTAIN}:{PASSWORD}@")
    git(folder, "clone", "-q", "-c", f"http.sslCAInfo={trusted}", theirs, str(work))
    for key, value in (("user.name", "An Operator"), ("user.email", "ops@example.org")):
        git(work, "config", key, value)
    told = (
        *("--git-credentials", f"{prefix}={login}"),
        *("--forge", f"gitea:{prefix}={token}"),
        *("--git-authority", f"{gitea.url}={trusted}"),
    )
    return Home(remote=gitea.bare(NAME), work=work, url=url, told=told)


def version(stage: LightStage) -> str:
    """What the ClusterPolicy carries."""
    return str(stage.plane.get("clusterpolicy", POLICY)["spec"]["driver"]["version"])


def test_a_campaign_goes_to_its_tag_by_requests_that_people_merge_and_past_a_controller_that_is_killed(
    yard: Yard,
) -> None:
    stage = yard.opened()
    with stage.synced():
        stage.begin("forward", **stage.by_git(**BY_REQUEST))
        asked = yard.wait_asked("canary")
        assert (asked["user"]["login"], asked["title"]) == (
            ROBOT,
            f"Driver {stage.target} for the canary {stage.canary}",
        )
        assert asked["html_url"] in stage.wait_held("merge-pending")
        assert not stage.touched(), "nothing moves before a person has merged it"
        stage.controller.kill()
        stage.controller.start()
        assert asked["html_url"] in stage.wait_held("merge-pending", count=2)
        assert len(yard.asked("canary")) == 1, "who takes over asks nobody again"

        assert yard.merge("canary")["merged_by"]["login"] == CAPTAIN
        promoted = yard.merge("promotion")
        stage.wait_phase("Done")
    assert promoted["title"] == f"Promote driver {stage.target} to production"
    assert set(stage.fleet.driver_versions().values()) == {stage.target} == {version(stage)}
    (tag,) = stage.tags()
    assert tag.endswith("-stable")
    tagged = git(stage.remote, "rev-parse", f"{tag}^{{commit}}")
    assert git(stage.remote, "merge-base", "--is-ancestor", tagged, "main") == ""
    production = git(stage.remote, "show", f"{tag}:{MATRIX}").partition("canary:")[0]
    assert f'driver: "{stage.target}"' in production
    assert not stage.marks()
    assert not stage.writes("clusterpolicies"), "who publishes by Git writes no ClusterPolicy"


def test_an_abort_that_rejects_the_version_asks_for_the_revert_and_for_the_mark(yard: Yard) -> None:
    stage, tags = yard.opened(), yard.stage.tags()
    with stage.synced():
        stage.begin("back", **stage.by_git(**BY_REQUEST, **LONG_BAKE))
        yard.merge("canary")
        stage.wait_phase("Baking")
        canary = stage.canary
        assert stage.fleet.driver_versions()[canary] == stage.target == version(stage)
        stage.do("rollout", "abort", "back", "--reason", "it hangs under load", "--mark-bad", "-y")
        asked = yard.wait_asked("revert")
        assert "it hangs under load" in asked["body"]
        assert stage.fleet.driver_versions()[canary] == stage.target, "people decide, also about the way back"
        assert yard.merge("revert")["title"] == f"Revert driver {stage.target}"
        yard.merge("bad")
        stage.wait_phase("Reverted")
    assert set(stage.fleet.driver_versions().values()) == {stage.running} == {version(stage)}
    assert stage.touched() == {canary}
    assert "it hangs under load" in stage.matrix().partition("canary:")[2]
    assert stage.tags() == tags, "nothing is tagged that was taken back"
    assert not stage.marks()


def test_what_nobody_merged_is_closed_when_the_rollout_is_aborted_and_no_node_was_touched(yard: Yard) -> None:
    stage = yard.opened()
    with stage.synced():
        stage.begin("withdrawn", **stage.by_git(**BY_REQUEST))
        number = yard.wait_asked("canary")["number"]
        stage.do("rollout", "abort", "withdrawn", "--reason", "not this month", "-y")
        stage.wait(lambda: yard.asked("canary")[0]["state"] == "closed", "the request to be closed")
        closed = yard.api("GET", f"/pulls/{number}")
        assert (closed["merged"], "not this month" in closed["body"]) == (False, True)
        stage.wait_phase("Reverted")
    assert not yard.asked("bad"), "who changed their mind has nothing against the version"
    assert "bad:" not in stage.matrix()
    assert not stage.touched()
    assert set(stage.fleet.driver_versions().values()) == {stage.running} == {version(stage)}
    assert not stage.marks()
