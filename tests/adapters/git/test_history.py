"""A file's text at a revision, from a real repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from seatrial.adapters.git.errors import GitUnavailable
from seatrial.adapters.git.history import text_at


def git(folder: Path, *arguments: str) -> None:
    settings = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *settings, *arguments], check=True, capture_output=True)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "deep").mkdir()
    file = tmp_path / "deep" / "matrix.yaml"
    git(tmp_path, "init", "-q")
    file.write_text("one\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")
    git(tmp_path, "tag", "first")
    file.write_text("two\n")
    git(tmp_path, "commit", "-qam", "two")
    file.write_text("three\n")
    return file


def test_the_last_commit_and_an_older_one(file: Path) -> None:
    assert (text_at(file, "HEAD"), text_at(file, "first")) == ("two\n", "one\n")


def test_a_file_that_did_not_exist_then_has_no_text(file: Path) -> None:
    assert text_at(file.with_name("other.yaml"), "HEAD") is None


def test_a_revision_that_is_not_there_is_said(file: Path) -> None:
    with pytest.raises(GitUnavailable, match="nowhere"):
        text_at(file, "nowhere")


def test_a_revision_is_never_taken_for_an_option(file: Path) -> None:
    with pytest.raises(GitUnavailable):
        text_at(file, "--output=/dev/null")


def test_outside_of_a_repository_there_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(GitUnavailable):
        text_at(tmp_path / "matrix.yaml", "HEAD")


def test_without_git_there_is_no_answer(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(GitUnavailable, match="not installed"):
        text_at(file, "HEAD")
