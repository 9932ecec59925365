"""Campaigns by pull requests on a real Gitea, to the tag and back: opened by us, reviewed and merged by a person.

The branch is protected: our account may not push to it, and nothing is merged without a review. Nodes are simulated.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from seatrial.cli.main import main
from seatrial.core.model.campaign import PublishStep, RolloutPhase
from seatrial.core.model.seen.requests import Request
from seatrial_lab.testbed import errors
from seatrial_lab.testbed.neighbours.gitea import ADA, CAPTAIN, PASSWORD, ROBOT, Gitea
from tests.adapters.git.remotes import git
from tests.builders import NEW, OLD
from tests.cli.test_check import GOOD, ON
from tests.controller.git_stage import a_machine_of_its_own
from tests.e2e.campaigns import MATRIX
from tests.forge.stage import Stage, decline, merge, secret
from tests.sim.test_outside import BACK, drivers, phases

CHECK = "seatrial check"


@pytest.fixture
def stage(gitea: Gitea, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    a_machine_of_its_own(tmp_path, monkeypatch)
    for key, value in (("user.name", "An Operator"), ("user.email", "ops@example.org")):
        subprocess.run(["git", "config", "--global", key, value], check=True)
    return Stage(gitea=gitea, name=name, folder=tmp_path)


def is_asked(stage: Stage) -> bool:
    return "merge-pending" in stage.holds


def is_pushed(stage: Stage) -> bool:
    source = stage.world.outside.source
    return source is not None and bool(source.unasked)


def test_the_branch_is_closed_to_our_account(stage: Stage) -> None:
    ours = stage.place.url.replace("http://", f"http://{ROBOT}:{PASSWORD}@")
    git(stage.clone, "commit", "-q", "--allow-empty", "-m", "Without asking anybody")
    push = ["git", "-C", str(stage.clone), "push", ours, "HEAD:refs/heads/main"]
    refused = subprocess.run(push, capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert "protected branch" in refused.stderr


def test_a_campaign_goes_to_its_tag_by_requests_that_a_person_reviews_and_merges(stage: Stage) -> None:
    stage.play(until=is_asked)
    (asked,) = stage.asked("canary")
    assert (asked["user"]["login"], asked["state"]) == (ROBOT, "open")
    assert asked["title"] == f"Driver {NEW.version} for the canary n2"
    for part in ("### The plan", "`ClusterPolicy/cluster-policy` gets", "### The evidence", "none yet"):
        assert part in asked["body"]
    assert asked["html_url"] in stage.holds["merge-pending"]
    assert "nobody has reviewed it" in stage.holds["merge-pending"]
    with pytest.raises(errors.TestbedFailure, match="405"):
        stage.api("POST", f"/pulls/{asked['number']}/merge", {"Do": "merge"}, who=ADA)
    assert drivers(stage.world) == [OLD.version] * 4

    stage.restart()
    stage.answer = merge
    stage.play()
    assert phases(stage.world)[-1] is RolloutPhase.DONE
    assert drivers(stage.world) == [NEW.version] * 4
    (promoted,) = stage.asked("promotion")
    assert "smoke on n2: passed" in promoted["body"]
    assert (promoted["merged"], len(stage.asked("canary"))) == (True, 1)
    assert stage.git("tag").startswith("v")
    assert f'driver: "{NEW.version}"' in stage.git("show", f"origin/main:{MATRIX}").partition("rollback")[0]


def test_an_abort_that_rejects_the_version_is_taken_back_and_marked_by_requests_of_their_own(stage: Stage) -> None:
    stage.answer = merge
    stage.play(until=lambda it: phases(it.world)[-1] is RolloutPhase.BAKING)
    stage.abort("it hangs under load", marks_bad=True)
    stage.play()
    assert phases(stage.world)[-2:] == BACK
    assert drivers(stage.world) == [OLD.version] * 4
    (revert,) = stage.asked("revert")
    assert (revert["title"], revert["merged"]) == (f"Revert driver {NEW.version}", True)
    assert "it hangs under load" in revert["body"]
    assert "it hangs under load" in stage.git("show", f"origin/main:{MATRIX}")


def test_what_nobody_merged_is_closed_when_the_rollout_is_aborted(stage: Stage) -> None:
    stage.play(until=is_asked)
    stage.abort("not this month")

    def answer(_it: Stage, step: PublishStep, _request: Request) -> None:
        pytest.fail(f"nobody is asked for anything any more, and {step} is")

    stage.answer = None
    stage.play(until=lambda it: not [each for each in it.asked("canary") if each["state"] == "open"])
    stage.answer = answer
    stage.play()
    assert stage.asked("bad") == [], "who changed their mind has nothing against the version"
    (closed,) = stage.asked("canary")
    assert (closed["state"], closed["merged"], "not this month" in closed["body"]) == ("closed", False, True)
    assert phases(stage.world)[-2:] == BACK
    assert drivers(stage.world) == [OLD.version] * 4


def test_what_a_person_closes_is_a_no_that_is_told_until_it_is_opened_again(stage: Stage) -> None:
    stage.answer = decline
    stage.play()
    (asked,) = stage.asked("canary")
    assert asked["html_url"] in stage.holds["request-declined"]
    stage.restart()
    stage.play()
    assert len(stage.asked("canary")) == 1, "a no is not asked about again, by another controller either"
    stage.api("PATCH", f"/pulls/{asked['number']}", {"state": "open"})
    stage.answer = merge
    stage.play()
    assert phases(stage.world)[-1] is RolloutPhase.DONE


def test_a_controller_that_dies_between_the_push_and_the_request_opens_one(stage: Stage) -> None:
    stage.play(until=is_pushed)
    assert stage.asked("canary") == []
    for _ in range(2):
        stage.restart()
        stage.play(until=is_asked)
        assert len(stage.asked("canary")) == 1


def test_nothing_is_merged_before_the_check_has_passed_beside_it(
    gitea: Gitea, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_machine_of_its_own(tmp_path, monkeypatch)
    url, repo = gitea.repository(name, checks=(CHECK,)), f"/repos/{CAPTAIN}/{name}"
    clone, token = tmp_path / "clone", secret(tmp_path / "forge", token=gitea.tokens[ROBOT])
    git(tmp_path, "clone", "-q", url.replace("http://", f"http://{ROBOT}:{PASSWORD}@"), str(clone))
    (clone / "gpu-version-matrix.yaml").write_text(GOOD)
    git(clone, "checkout", "-q", "-b", "next")
    git(clone, "add", "-A")
    git(clone, "-c", "user.name=r", "-c", "user.email=r@example.org", "commit", "-q", "-m", "A matrix")
    git(clone, "push", "-q", "origin", "next")
    asked = gitea.call("POST", f"{repo}/pulls", {"head": "next", "base": "main", "title": "A matrix"}, who=ROBOT)
    gitea.call("POST", f"{repo}/pulls/{asked['number']}/reviews", {"event": "APPROVED"}, who=ADA)
    with pytest.raises(errors.TestbedFailure, match="405"):
        gitea.call("POST", f"{repo}/pulls/{asked['number']}/merge", {"Do": "merge"}, who=ADA)
    monkeypatch.chdir(clone)
    assert main(["check", *ON, "--post-status", f"gitea:{gitea.url}/{CAPTAIN}={token}"]) == 0
    gitea.call("POST", f"{repo}/pulls/{asked['number']}/merge", {"Do": "merge"}, who=CAPTAIN)
    assert gitea.call("GET", f"{repo}/pulls/{asked['number']}")["merged"]
