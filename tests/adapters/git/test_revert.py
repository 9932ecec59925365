"""Undoing commits by `git revert`: exactly those, in one commit, or nothing at all and the commands for a person."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from seatrial.adapters.git.errors import GitRefused, NothingToChange, RevertConflict, SetupInvalid, Stale
from seatrial.adapters.git.repository import Repository
from tests.adapters.git.remotes import MATRIX, Bare, git
from tests.adapters.git.test_repository import swap


def step(ours: Repository, name: str, old: str, new: str) -> str:
    return ours.commit(rollout="r", step=name, edits={"matrix.yaml": swap(old, new)}, subject=f"Step {name}")


def undo(ours: Repository, *commits: str, name: str = "revert", body: str = "") -> str:
    return ours.revert(rollout="r", step=name, commits=commits, body=body)


def leftovers(ours: Path) -> list[str]:
    """What a half-made revert would leave in the clone."""
    status = git(ours / "clone", "status", "--porcelain").splitlines()
    return [*status, *(file.name for file in (ours / "clone" / ".git").glob("*REVERT*"))]


def test_a_revert_reads_as_git_revert_writes_it(remote: Bare) -> None:
    ours = remote.ours()
    sha = step(ours, "promote", "570.86.15", "580.65.06")
    undone = undo(ours, sha, body="Training lost 3 % of its throughput on node gpu-4.")
    assert remote.head() == undone
    assert remote.text() == MATRIX
    assert remote.message() == (
        f'Revert "Step promote"\n\nThis reverts commit {sha}.\n\n'
        "Training lost 3 % of its throughput on node gpu-4.\n\nSeatrial-Rollout: r\nSeatrial-Step: revert"
    )


def test_commits_of_others_in_between_stay(remote: Bare) -> None:
    ours, ada = remote.ours(), remote.person()
    first = step(ours, "one", "570.86.15", "575.57.08")
    ada.write("readme.md", "words of somebody")
    second = step(ours, "two", "575.57.08", "580.65.06")
    ada.write("readme.md", "more words of somebody")

    undo(ours, first, second)

    assert (remote.text(), remote.text("readme.md")) == (MATRIX, "more words of somebody\n")
    assert remote.message().startswith(
        f'Revert "Step two" and 1 more\n\nThis reverts commit {second}.\nThis reverts commit {first}.\n\n'
    )


def test_a_revert_asked_for_twice_is_one_commit(remote: Bare) -> None:
    ours = remote.ours()
    sha = step(ours, "promote", "570.86.15", "580.65.06")
    undone = undo(ours, sha)
    assert undo(ours, sha) == undo(remote.ours("after-a-crash"), sha) == undone
    assert remote.count() == 3


def test_what_somebody_undid_already_needs_no_commit(remote: Bare) -> None:
    ours, ada = remote.ours(), remote.person()
    sha = step(ours, "promote", "570.86.15", "580.65.06")
    ada.write("matrix.yaml", MATRIX, "Revert by hand")
    with pytest.raises(NothingToChange, match="undone already"):
        undo(ours, sha)


def test_a_merge_is_undone_towards_the_branch(remote: Bare) -> None:
    ada = remote.person()
    git(ada.clone, "switch", "-q", "-c", "topic")
    (ada.clone / "matrix.yaml").write_text("merged\n")
    git(ada.clone, "commit", "-q", "-a", "-m", "Topic")
    git(ada.clone, "switch", "-q", "main")
    git(ada.clone, "merge", "-q", "--no-ff", "-m", "Merge topic", "topic")
    git(ada.clone, "push", "-q", "origin", "main")
    undo(remote.ours(), remote.head())
    assert remote.text() == MATRIX


def test_a_conflict_names_the_files_and_leaves_nothing_behind(remote: Bare, tmp_path: Path) -> None:
    ours, ada = remote.ours(), remote.person()
    sha = step(ours, "promote", "570.86.15", "580.65.06")
    before = ada.write("matrix.yaml", remote.text().replace("580.65.06  # known good", "580.82.07  # by hand"))

    with pytest.raises(RevertConflict, match=r"later commits changed the same lines in matrix\.yaml") as caught:
        undo(ours, sha)

    assert caught.value.files == ("matrix.yaml",)
    assert remote.head() == before
    assert leftovers(tmp_path / "ours") == []
    step(ours, "next", "rollback: 565.57.01", "rollback: 570.86.15")
    assert "580.82.07" in remote.text()


def test_the_commands_of_a_conflict_do_what_the_revert_would_have_done(remote: Bare) -> None:
    ours, ada = remote.ours(), remote.person()
    first = step(ours, "one", "rollback: 565.57.01", "rollback: 570.86.15")
    sha = step(ours, "two", "production: 570.86.15", "production: 580.65.06")
    ada.write("matrix.yaml", remote.text().replace("580.65.06  # known good", "580.82.07  # by hand"))
    with pytest.raises(RevertConflict) as caught:
        undo(ours, sha, first)

    script = []
    for command in caught.value.commands:
        is_the_persons_part = command.startswith("# resolve")
        script.append(f"printf %s '{MATRIX}' > matrix.yaml" if is_the_persons_part else command)
    git(ada.clone, "config", "user.name", "Ada")
    git(ada.clone, "config", "user.email", "ada@example.com")
    clean = "git reset -q --hard && set -e\n"
    done = subprocess.run(
        [
            "sh",
            "-c",
            clean + "\n".join(script).replace("git revert --no-commit " + sha, f"git revert --no-commit {sha} || :"),
        ],
        cwd=ada.clone,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert remote.text() == MATRIX
    assert undo(ours, sha, first) == remote.head(), "the step is done, by hand"
    assert remote.message().startswith(f'Revert "Step two" and 1 more\n\nThis reverts commit {sha}.\n')


def test_a_commit_that_is_not_part_of_the_branch_is_refused(remote: Bare) -> None:
    with pytest.raises(SetupInvalid, match="history may have been rewritten"):
        undo(remote.ours(), "1" * 40)


@pytest.mark.parametrize("commits", [(), ("HEAD",), ("--no-edit",)])
def test_only_full_names_of_commits_are_undone(remote: Bare, commits: tuple[str, ...]) -> None:
    with pytest.raises(SetupInvalid):
        undo(remote.ours(), *commits)


def test_a_push_in_between_makes_a_revert_stale(remote: Bare, tmp_path: Path, bare_machine: Path) -> None:
    ours, ada = remote.ours(), remote.person()
    sha = step(ours, "promote", "570.86.15", "580.65.06")
    (ada.clone / "readme.md").write_text("words\n")
    git(ada.clone, "pull", "-q", "origin", "main")
    git(ada.clone, "add", ".")
    git(ada.clone, "commit", "-q", "-m", "Words")
    # A hook of our machine is the only moment between our commit and our push.
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "post-commit").write_text(
        f"#!/bin/sh\nunset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE\ngit -C {ada.clone} push -q origin HEAD:main\n"
    )
    (hooks / "post-commit").chmod(0o755)
    bare_machine.write_text(f"[core]\n\thooksPath = {hooks}\n")
    with pytest.raises(Stale):
        undo(ours, sha)
    assert remote.message() == "Words"


def test_a_protected_branch_refuses_a_revert(remote: Bare) -> None:
    ours = remote.ours()
    sha = step(ours, "promote", "570.86.15", "580.65.06")
    remote.hook("update", 'echo "GH006: Protected branch update failed for $1."; exit 1')
    with pytest.raises(GitRefused, match="GH006: Protected branch"):
        undo(ours, sha)
