"""The files of a folder at a commit, from a real remote."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatrial.adapters.git.at_commit import files_at
from seatrial.adapters.git.errors import FileUnusable, GitUnavailable, SetupInvalid
from tests.adapters.git.remotes import Bare, git


def yaml(name: str) -> bool:
    return name.endswith((".yaml", ".sig"))


def seen(url: str | Path, commit: str, path: str = "", bytes_max: int = 10_000) -> dict[str, bytes]:
    return files_at(str(url), commit, path, wanted=yaml, bytes_max=bytes_max)


def test_a_folder_is_read_as_it_was_at_the_commit(remote: Bare) -> None:
    ada = remote.person()
    first = ada.write("facts/a.yaml", "a: 1\n")
    ada.write("facts/a.yaml", "a: 2\n")
    ada.write("facts/deeper/b.yaml", "b: 1\n")
    last = ada.write("facts/README.md", "x\n")
    assert seen(remote.path, first, "facts") == {"a.yaml": b"a: 1\n"}
    assert seen(f"file://{remote.path}", last, "facts") == {"a.yaml": b"a: 2\n"}
    assert list(seen(remote.path, last)) == ["matrix.yaml"]


def test_one_file_comes_with_its_signature(remote: Bare) -> None:
    ada = remote.person()
    ada.write("facts/a.yaml", "a: 1\n")
    ada.write("facts/b.yaml", "b: 1\n")
    commit = ada.write("facts/a.yaml.sig", "sig\n")
    assert seen(remote.path, commit, "facts/a.yaml") == {"a.yaml": b"a: 1\n", "a.yaml.sig": b"sig\n"}


def test_a_commit_that_no_branch_names_any_more_is_found_or_said_to_be_missing(remote: Bare) -> None:
    gone = "1234567890" * 4
    with pytest.raises(GitUnavailable, match=f"no commit {gone}"):
        seen(remote.path, gone)


def test_what_may_move_is_no_commit(remote: Bare) -> None:
    for name in ("main", "HEAD", remote.head()[:12], "--upload-pack=x"):
        with pytest.raises(SetupInvalid, match="is not a commit"):
            seen(remote.path, name)


def test_links_folders_and_too_much_are_refused(remote: Bare) -> None:
    ada = remote.person()
    (ada.clone / "facts").mkdir()
    (ada.clone / "facts" / "link.yaml").symlink_to("/etc/passwd")
    git(ada.clone, "add", ".")
    git(ada.clone, "commit", "-q", "-m", "A link")
    git(ada.clone, "push", "-q", "origin", "HEAD:main")
    with pytest.raises(FileUnusable, match="not a plain file"):
        seen(remote.path, remote.head(), "facts")
    with pytest.raises(FileUnusable, match="more than 10 bytes"):
        seen(remote.path, remote.head(), bytes_max=10)
    with pytest.raises(FileUnusable, match="no files of facts in nowhere"):
        seen(remote.path, remote.head(), "nowhere")
    with pytest.raises(FileUnusable, match="leaves the repository"):
        seen(remote.path, remote.head(), "../x")


def test_a_remote_that_is_not_there_is_unreachable(tmp_path: Path) -> None:
    with pytest.raises(GitUnavailable, match="cannot be reached"):
        seen(tmp_path / "none.git", "0" * 40)


def test_nothing_of_the_remote_is_run_or_asked(remote: Bare) -> None:
    with pytest.raises(SetupInvalid, match="would start a program"):
        seen("ext::sh -c true".replace(" ", "%20"), "0" * 40)
