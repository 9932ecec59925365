"""What an undo would write in Git is read off the branch itself: which commits, by which way, and where nothing is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.git.repository import Edit
from seatrial.app.picking import Rollout
from seatrial.app.rollout import reverting, wishing
from tests.adapters.git.remotes import Bare, bare

UID = "0123456789ab"
IDENTITY = "spring-01234567"
FILE = "gpu.yaml"
MATRIX = "matrix.yaml"


def to(text: str) -> Edit:
    return lambda _before: text


@pytest.fixture
def remote(tmp_path: Path) -> Bare:
    """A repository in which a rollout published for its canary, and then for the fleet."""
    made = bare(tmp_path)
    ours = made.ours()
    for step, text in (("canary", "new: 1\n"), ("fleet", "new: 2\n")):
        ours.commit(rollout=IDENTITY, step=step, subject=f"Publish for {step}", edits={MATRIX: to(text)})
    return made


def rollout(url: str, *, via: str = "git", git: dict[str, Any] | None = None, **spec: Any) -> Rollout:
    """A rollout in its waves that publishes to this repository."""
    publish = {"via": via, **({"git": {"url": url, "path": FILE, **(git or {})}} if via == "git" else {})}
    body = {"target": {"driver": "580.105.08"}, "canary": {"count": 1}, "publish": publish, **spec}
    status = {"phase": "Waving", "campaign": {"phase": "Waving"}}
    return Rollout(raw={"metadata": {"name": "spring", "uid": UID}, "spec": body, "status": status})


def told(found: Rollout, **changes: Any) -> str:
    return "\n".join(wishing.what_is_undone(found, in_git=reverting.in_git(found), **changes))


def test_the_commits_that_one_new_commit_reverts_are_listed_the_newest_first(remote: Bare) -> None:
    canary, fleet = (each.sha for each in remote.ours("look").look(rollout=IDENTITY).commits)
    url = remote.remote.url
    assert reverting.in_git(rollout(url))[0].lines == [
        f"  one new commit on main of {url} reverts these, and no others:",
        f"    {fleet[:12]} (fleet)",
        f"    {canary[:12]} (canary)",
    ]


def test_on_a_protected_branch_it_is_a_pull_request_that_a_person_has_to_merge(remote: Bare) -> None:
    found = told(rollout(remote.remote.url, git={"pullRequests": True}))
    assert f"a pull request to main of {remote.remote.url}, which a person has to merge, reverts these" in found
    assert "(canary)" in found


def test_commits_of_another_rollout_are_not_among_them(remote: Bare) -> None:
    remote.ours("other").commit(rollout="autumn-1", step="canary", subject="Publish", edits={MATRIX: to("new: 3\n")})
    assert {step for step, _ in reverting.in_git(rollout(remote.remote.url))[0].commits} == {"fleet", "canary"}


def test_what_is_reverted_already_is_said_to_be(remote: Bare) -> None:
    ours = remote.ours("again")
    commits = [each.sha for each in reversed(ours.look(rollout=IDENTITY).commits)]
    ours.revert(rollout=IDENTITY, step="revert", commits=commits, subject="Revert")
    assert f"the commits on main of {remote.remote.url} are reverted already" in told(rollout(remote.remote.url))


def test_where_it_has_committed_nothing_that_is_said(remote: Bare) -> None:
    remote.person().write("README", "ours")
    found = rollout(remote.remote.url)
    found.raw["metadata"]["uid"] = "9876543210"
    assert "no commit of the rollout is on main" in told(found)


def test_a_branch_that_cannot_be_read_from_here_is_named_with_the_reason(tmp_path: Path) -> None:
    found = told(rollout(f"file://{tmp_path}/nowhere.git"))
    assert "reverts the rollout's commits, and no others; they cannot be listed here: " in found


def test_where_the_cluster_is_written_directly_a_promotion_in_git_is_reverted_too(remote: Bare) -> None:
    url = remote.remote.url
    matrix = {"entry": "canary", "git": {"url": url, "branch": "main", "path": MATRIX, "commit": remote.head()}}
    untouched = rollout(url, via="direct", matrix=matrix)
    untouched.raw["metadata"]["uid"] = "9876543210"
    assert "new commit" not in told(untouched)
    remote.ours("done").commit(rollout=IDENTITY, step="promotion", subject="Promote", edits={MATRIX: to("new: 4\n")})
    found = told(rollout(url, via="direct", matrix=matrix), marks_bad=True)
    assert "(promotion)" in found
    assert f"entry canary of the matrix is marked bad by a commit of its own to main of {url}" in found


def test_without_a_place_in_git_no_repository_is_asked() -> None:
    assert reverting.in_git(rollout("", via="direct")) == ()
