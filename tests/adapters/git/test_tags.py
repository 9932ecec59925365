"""Tags: annotated, one per rollout, numbered where a name is taken, and signed where Git is set up so."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from seatrial.adapters.git.errors import GitRefused, SetupInvalid, Stale
from tests.adapters.git.remotes import Bare, git
from tests.adapters.git.test_repository import promote

BASE = "v2026-11-stable"


def tag(remote: Bare, rollout: str = "driver-580", base: str = BASE) -> str:
    return remote.ours().tag(
        rollout=rollout, base=base, commit=remote.head(), message="Stable: driver 580.65.06\n\n48 h of bake."
    )


def test_a_tag_is_annotated_and_says_whose_it_is(remote: Bare) -> None:
    assert tag(remote) == BASE
    assert remote.git("cat-file", "-t", BASE) == "tag"
    assert remote.git("rev-parse", f"{BASE}^{{commit}}") == remote.head()
    assert remote.git("for-each-ref", "--format=%(contents)", f"refs/tags/{BASE}") == (
        "Stable: driver 580.65.06\n\n48 h of bake.\n\nSeatrial-Rollout: driver-580"
    )


def test_the_same_rollout_has_the_same_tag_also_in_another_month(remote: Bare) -> None:
    assert [tag(remote), tag(remote), tag(remote, base="v2026-12-stable")] == [BASE] * 3
    assert remote.git("tag", "--list") == BASE


def test_a_name_that_is_taken_gets_a_number(remote: Bare) -> None:
    remote.git("tag", BASE, "main")
    assert [tag(remote, "one"), tag(remote, "two"), tag(remote, "one")] == [f"{BASE}.2", f"{BASE}.3", f"{BASE}.2"]


def test_a_tag_of_somebody_who_was_faster_is_never_moved(remote: Bare, tmp_path: Path, bare_machine: Path) -> None:
    # The hook runs between our tag and its arrival.
    before = remote.head()
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "pre-push").write_text(
        f"#!/bin/sh\nunset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE\ngit -C {remote.path} tag {BASE} {before}\n"
    )
    (hooks / "pre-push").chmod(0o755)
    bare_machine.write_text(f"[core]\n\thooksPath = {hooks}\n")
    with pytest.raises((Stale, GitRefused)):
        tag(remote)
    assert remote.git("cat-file", "-t", BASE) == "commit", "theirs"
    bare_machine.write_text("")
    assert tag(remote) == f"{BASE}.2"


def test_a_tag_that_could_not_be_pushed_does_not_count_as_taken(remote: Bare) -> None:
    remote.hook("pre-receive", "exit 1")
    with pytest.raises(GitRefused):
        tag(remote)
    (remote.path / "hooks" / "pre-receive").unlink()
    assert tag(remote) == BASE


def test_a_commit_outside_of_the_branch_gets_no_tag(remote: Bare) -> None:
    with pytest.raises(SetupInvalid, match="gets no tag"):
        remote.ours().tag(rollout="r", base=BASE, commit="1" * 40, message="x")


@pytest.mark.parametrize("base", ["", "-d", "a b", "a..b", "a/b", "x.lock", "x."])
def test_a_name_that_is_no_tag_is_refused(remote: Bare, base: str) -> None:
    with pytest.raises(SetupInvalid, match="not a name for a tag"):
        tag(remote, base=base)


def test_commits_and_tags_are_signed_where_git_is_set_up_so(remote: Bare, signing: Path) -> None:
    ours = remote.ours()
    sha = promote(ours)
    name = ours.tag(rollout="driver-580", base=BASE, commit=sha, message="Stable")
    assert remote.git("log", "-1", "--format=%G? %GS", sha) == "G seatrial@example.com"
    git(remote.path, "verify-tag", name)
    undone = ours.revert(rollout="driver-580", step="revert", commits=[sha])
    assert remote.git("log", "-1", "--format=%G?", undone) == "G"


def test_a_signed_tag_is_found_again(remote: Bare, signing: Path) -> None:
    assert [tag(remote), tag(remote)] == [BASE, BASE]
    assert [each.name for each in remote.ours("other").look(rollout="driver-580").tags] == [BASE]


def test_a_signing_key_that_is_missing_is_said_and_nothing_is_written(remote: Bare, signing: Path) -> None:
    signing.with_name("key").unlink()
    with pytest.raises(GitRefused, match="signing key"):
        promote(remote.ours())
    with pytest.raises(GitRefused, match="signing key"):
        tag(remote)
    assert (remote.count(), remote.git("tag", "--list")) == (1, "")


@pytest.mark.parametrize("rollout", ["", "driver 580", "driver-580\nSeatrial-Rollout: another"])
def test_a_tag_is_of_nobody_whose_name_would_be_read_as_something_else(remote: Bare, rollout: str) -> None:
    with pytest.raises(SetupInvalid, match="not a name for a rollout"):
        tag(remote, rollout)
    assert remote.git("tag", "--list") == ""


# ── tags that bear our line, and are somebody else's ─────────────────────────────────────────────────────────────────

OURS = "Stable\n\nSeatrial-Rollout: driver-580"


def test_a_tag_of_a_commit_that_is_not_part_of_the_branch_is_not_ours(remote: Bare) -> None:
    ada = remote.person()
    git(ada.clone, "commit", "-q", "--allow-empty", "-m", "Aside")
    git(ada.clone, "tag", "-a", "-m", OURS, BASE)
    git(ada.clone, "push", "-q", "origin", BASE)
    assert remote.ours().look(rollout="driver-580").tags == ()
    assert tag(remote) == f"{BASE}.2"


def test_a_tag_of_another_commit_does_not_keep_the_promotion_from_having_its_own(remote: Bare) -> None:
    ada = remote.person()
    git(ada.clone, "tag", "-a", "-m", OURS, "v1")
    git(ada.clone, "push", "-q", "origin", "v1")
    head = ada.write("README.md", "Later.\n")
    assert tag(remote) == BASE
    assert remote.git("rev-parse", f"{BASE}^{{commit}}") == head


@pytest.mark.parametrize("setting", ["gpgSign", "forceSignAnnotated"])
def test_where_tags_are_signed_one_without_our_signature_is_not_ours(
    remote: Bare, signing: Path, bare_machine: Path, tmp_path: Path, setting: str
) -> None:
    ours = bare_machine.read_text().replace("[tag]\n\tgpgSign", f"[tag]\n\t{setting}")
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    bare_machine.write_text(ours.replace(str(signing.with_name("key")), str(other)))
    ada = remote.person()
    git(ada.clone, "tag", "-s", "-m", OURS, BASE)
    git(ada.clone, "tag", "-a", "--no-sign", "-m", OURS, "unsigned")
    git(ada.clone, "push", "-q", "origin", BASE, "unsigned")
    bare_machine.write_text(ours)
    assert remote.ours().look(rollout="driver-580").tags == ()
    assert [tag(remote), tag(remote)] == [f"{BASE}.2"] * 2
    assert [each.name for each in remote.ours().look(rollout="driver-580").tags] == [f"{BASE}.2"]


def test_while_the_key_that_signs_our_tags_is_missing_no_tag_is_ours(remote: Bare, signing: Path) -> None:
    ada = remote.person()
    git(ada.clone, "tag", "-a", "--no-sign", "-m", OURS, BASE)
    git(ada.clone, "push", "-q", "origin", BASE)
    for part in ("key", "key.pub"):
        signing.with_name(part).unlink()
    assert remote.ours().look(rollout="driver-580").tags == ()
