"""Where a branch protects itself, a step is a branch of ours and the text of a request."""

from __future__ import annotations

import subprocess

import pytest

from seatrial.adapters.git.errors import GitRefused
from seatrial.adapters.git.proposals import Proposal
from seatrial.adapters.git.repository import Repository
from tests.adapters.git.remotes import MATRIX, Bare, git
from tests.adapters.git.test_repository import PROMOTION, promote

BRANCH = "seatrial/driver-580/promote"


def propose(ours: Repository) -> Proposal:
    return ours.propose(
        rollout="driver-580",
        step="promote",
        edits=PROMOTION,
        subject="Promote driver 580.65.06",
        body="Every gate passed.",
    )


@pytest.fixture
def protected(remote: Bare) -> Bare:
    remote.hook("update", '[ "$1" = refs/heads/main ] && { echo "open a pull request"; exit 1; }; exit 0')
    return remote


def test_a_proposal_is_a_branch_and_the_text_for_a_person(protected: Bare) -> None:
    made = propose(protected.ours())
    assert made.branch == BRANCH
    assert protected.git("rev-parse", BRANCH) == made.commit
    assert (protected.text(), protected.text(commit=BRANCH)) == (MATRIX, MATRIX.replace("570.86.15", "580.65.06"))
    assert made.title == "Promote driver 580.65.06"
    assert made.body == (
        "Every gate passed.\n\nSeatrial-Rollout: driver-580\nSeatrial-Step: promote\n\n"
        "Keep the Seatrial-Rollout and Seatrial-Step lines when merging: they\nidentify the change."
    )
    assert all(part in made.text for part in (made.title, made.body, *made.commands))
    assert not made.is_merged


def test_a_proposal_made_twice_is_one_branch_with_one_commit(protected: Bare) -> None:
    ours = protected.ours()
    first = propose(ours)
    protected.git("config", "receive.denyNonFastForwards", "true")
    assert propose(ours) == propose(protected.ours("after-a-crash")) == first
    assert protected.git("rev-list", "--count", f"main..{BRANCH}") == "1"


def test_a_merged_proposal_is_done(remote: Bare) -> None:
    ours, ada = remote.ours(), remote.person()
    made = propose(ours)
    typed = "\n".join(command for command in made.commands if not command.startswith("git log"))
    subprocess.run(["sh", "-ec", typed], cwd=ada.clone, check=True, capture_output=True)
    again = propose(ours)
    assert (again.is_merged, again.commit) == (True, made.commit)
    assert promote(ours) == made.commit, "the step is the same, whoever merged it"


def test_a_branch_of_somebody_else_is_left_alone(remote: Bare) -> None:
    ada = remote.person()
    (ada.clone / "x").write_text("x")
    git(ada.clone, "add", ".")
    git(ada.clone, "commit", "-q", "-m", "Something else")
    git(ada.clone, "push", "-q", "origin", f"HEAD:{BRANCH}")
    theirs = remote.git("rev-parse", BRANCH)
    with pytest.raises(GitRefused, match="somebody else's"):
        propose(remote.ours())
    assert remote.git("rev-parse", BRANCH) == theirs


def test_a_branch_deleted_with_its_request_is_pushed_again(protected: Bare) -> None:
    ours = protected.ours()
    propose(ours)
    protected.git("branch", "-D", BRANCH)
    assert protected.git("rev-parse", propose(ours).branch)


def test_a_revert_is_proposed_the_same_way(remote: Bare) -> None:
    ours = remote.ours()
    sha = promote(ours)
    made = ours.propose_revert(rollout="driver-580", step="revert", commits=[sha])
    assert (made.branch, made.title) == (
        "seatrial/driver-580/revert",
        'Revert "Promote driver 580.65.06 to production"',
    )
    assert f"This reverts commit {sha}." in made.body
    assert remote.text(commit=made.branch) == MATRIX
    assert remote.head() == sha
