"""A repository with a matrix and a file for a deployer, and a campaign that goes from 570.124.06 to 580.105.08."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar, cast

import pytest

from seatrial.adapters.git.clone import Remote
from seatrial.adapters.git.repository import Repository
from seatrial.adapters.kube.shapes import models
from seatrial.controller.git_home import GitHome, GitPlaces
from seatrial.core.actions.at_home import MarkBad, Promote, Publish, RevertCommits
from seatrial.core.model.campaign import PublishStep, RolloutPhase, SourceFacts, Via
from seatrial.core.words import commits
from tests.adapters.git.remotes import ROBOT, Bare, Person, bare
from tests.builders import NEW, OLD, POLICY, a_campaign, a_campaign_record, an_intent

Act = TypeVar("Act", Publish, RevertCommits, MarkBad, Promote)

ROLLOUT = "spring-1a2b3c4d"
MATRIX, PUBLISHED = "gpu-version-matrix.yaml", "cluster/gpu.yaml"
NOW = 1000.0
WHY = "gate smoke failed on n1: 3 % slower"

INTENT = an_intent(campaign=a_campaign(publish=Via.GIT, has_source=True))
RECORD = a_campaign_record(RolloutPhase.WAVING, date="2026-10-01", baked_seconds=172_800.0, why=WHY)


def worded(act: Act) -> Act:
    """An act with the words it gets from its campaign."""
    return cast("Act", commits.worded(act, INTENT, RECORD))


CANARY = worded(Publish(rollout="spring", step=PublishStep.CANARY, versions=((POLICY, NEW.version),), via=Via.GIT))
PROMOTE = worded(Promote(rollout="spring", date="2026-10-01", tag_base="v2026-10-stable"))
BAD = worded(MarkBad(rollout="spring", driver=NEW.version, why=WHY))


def matrix_of(current: str = OLD.version, canary: str = NEW.version, *, more: str = "") -> str:
    return (
        f'versions:\n  current:\n    driver: "{current}"\n    status: production\n'
        f'  canary:\n    driver: "{canary}"  # to be tried\n    status: testing\n{more}'
    )


def policy_of(version: str = OLD.version) -> str:
    return (
        "apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata:\n  name: gpu\n"
        f'spec:\n  driver:\n    version: "{version}"  # by the matrix\n'
    )


def a_machine_of_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No identity, key or helper of whoever runs the tests."""
    (folder / "gitconfig").write_text("")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(folder / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("HOME", str(folder))


def a_remote(folder: Path, matrix: str = "") -> tuple[Bare, Person]:
    """A remote with both files, and somebody with a clone of it."""
    folder.mkdir(exist_ok=True)
    remote = bare(folder)
    ada = remote.person()
    ada.write(MATRIX, matrix or matrix_of(), "The matrix")
    ada.write(PUBLISHED, policy_of(), "The cluster as it is")
    return remote, ada


def a_home(remote: Bare, folder: str = "ours", **places: Any) -> GitHome:
    said = GitPlaces(**({"matrix": MATRIX, "entry": "canary", "published": PUBLISHED} | places))
    repository = Repository(Remote(url=str(remote.path)), remote.folder / folder, author=ROBOT)
    return GitHome(repository, rollout=ROLLOUT, places=said)


def a_revert(facts: SourceFacts) -> RevertCommits:
    """What a campaign asks for that takes back what it finds of its own."""
    steps = (PublishStep.PROMOTION, PublishStep.FLEET, PublishStep.CANARY)
    found = tuple(sha for step in steps if (sha := facts.commit_of(step)))
    return worded(RevertCommits(rollout="spring", commits=found, driver=NEW.version))


def a_rollout(
    remote: Bare,
    name: str = "spring",
    *,
    uid: str = "1a2b3c4d-0000",
    entry: str = "canary",
    is_by_request: bool = False,
    **git_places: str,
) -> models.Rollout:
    matrix = models.RolloutMatrix(git=models.RolloutGit(url=str(remote.path), path=MATRIX, **git_places), entry=entry)
    publish = models.RolloutPublish(
        via="git", git=models.RolloutPublishGit(path=PUBLISHED, pull_requests=is_by_request)
    )
    return models.Rollout(
        metadata=models.ObjectMeta(name=name, uid=uid), spec=models.RolloutSpec(matrix=matrix, publish=publish)
    )
