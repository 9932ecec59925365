"""A word is a word: whatever a user names, git never reads it as an option.

A program named git stands before the real one and writes down what it is called with; everything else is real.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from seatrial.adapters.git import at_commit, history
from seatrial.adapters.git.clone import Remote
from seatrial.adapters.git.errors import GitError
from seatrial.adapters.git.repository import NewTag, Repository
from tests.adapters.git.remotes import MATRIX, ROBOT, Bare

ENDS: Final = ("--end-of-options", "--")
WHOLE: Final = ("-c", "-C")
"""Options of git itself that take the next word."""
OURS: Final = frozenset(
    {"HEAD", "HEAD^{commit}", "origin", "refs/tags", "blob", "GIT_COMMITTER_IDENT", "add", "get-url"}
)
"""Words that no user chooses."""
DASHED: Final = "-matrix.yaml"


class Calls:
    """What git was called with."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "calls"
        real, program = shutil.which("git"), folder / "bin" / "git"
        program.parent.mkdir()
        # Every word ends with a NUL, every call with one more.
        program.write_text(
            f'#!/bin/sh\n{{ printf "%s\\0" "$@"; printf "\\0"; }} >> "{self.file}"\nexec "{real}" "$@"\n'
        )
        program.chmod(0o755)
        self.path = f"{program.parent}:{os.environ['PATH']}"

    def __iter__(self) -> Iterator[list[str]]:
        text = self.file.read_text() if self.file.exists() else ""
        return (call.split("\0") for call in text.split("\0\0") if call)


def exposed(call: list[str]) -> list[str]:
    """The words of a call that git could take for an option, or that nobody here has chosen."""
    words = iter(call)
    command = ""
    for word in words:
        if word in WHOLE:
            next(words)
        elif not word.startswith("-"):
            command = word
            break
    rest = list(words)
    ends = [rest.index(end) for end in ENDS if end in rest]
    before = rest[: min(ends)] if ends else rest
    if command in ("config", "update-index"):
        return []  # a setting by a name of ours; mode, object and path in one word that begins with the mode
    if command == "checkout":  # it knows `--` alone, and before that comes what git itself has named
        before = [word for word in before if not re.fullmatch("[0-9a-f]{40}", word)]
    return [word for word in before if not word.startswith("-") and word not in OURS]


def test_every_word_of_a_user_stands_behind_the_end_of_the_options(
    tmp_path: Path, remote: Bare, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every operation of ours on a repository whose file has a name that begins with a dash."""
    person, ours = remote.person(), remote.ours()
    person.write(DASHED, MATRIX)
    calls = Calls(tmp_path)
    monkeypatch.setenv("PATH", calls.path)
    first = ours.commit(
        rollout="spring",
        step="canary",
        edits={DASHED: lambda _: "b\n"},
        subject="b",
        tag=NewTag(base="v1", message="m"),
    )
    ours.propose(rollout="spring", step="fleet", edits={DASHED: lambda _: "c\n"}, subject="c")
    ours.propose_revert(rollout="spring", step="undo", commits=[first])
    ours.look(rollout="spring", pinned=first)
    assert ours.text_at(first, DASHED) == "b\n"
    ours.texts_under(first, "folder")
    ours.revert(rollout="spring", step="revert", commits=[first])
    ours.tag(rollout="summer", base="v1", commit=first, message="m")
    at_commit.files_at(f"file://{remote.path}", first, "", wanted=lambda name: name == DASHED, bytes_max=10_000)
    file = person.clone / DASHED
    history.text_at(file, "HEAD")
    assert history.head_of(file)
    assert history.origin_of(file)

    made = list(calls)
    commands = {next(word for word in call if word in HEARD) for call in made if HEARD & set(call)}
    assert commands == HEARD
    assert [(call, left) for call in made if (left := exposed(call))] == []


HEARD: Final = frozenset(
    {
        *(
            "cat-file",
            "checkout",
            "checkout-index",
            "clean",
            "commit",
            "config",
            "fetch",
            "for-each-ref",
            "hash-object",
        ),
        *("init", "log", "ls-tree", "merge-base", "merge-tree", "push", "remote", "rev-list", "rev-parse", "revert"),
        *("show", "tag", "update-index"),
    }
)
"""The commands that are heard: a test that calls none proves nothing."""


def test_a_revision_that_is_an_option_writes_no_file(tmp_path: Path, remote: Bare) -> None:
    """`git show --output=FILE` would: `seatrial check --base` takes the word from a user, or from a job of CI."""
    file = remote.person().clone / "matrix.yaml"
    (tmp_path / "stolen:.").mkdir()
    with pytest.raises(GitError, match="knows no revision"):
        history.text_at(file, f"--output={tmp_path}/stolen")
    assert list((tmp_path / "stolen:.").iterdir()) == []


OPTION: Final = "--upload-pack=touch stolen"
Asked = Callable[[Bare, Path], object]
WORDS: Final[dict[str, Asked]] = {
    "an address": lambda _, folder: Repository(Remote(url=OPTION), folder, author=ROBOT).look(rollout="spring"),
    "a branch": lambda remote, folder: Repository(Remote(url=str(remote.path), branch=OPTION), folder).look(
        rollout="spring"
    ),
    "a rollout": lambda remote, _: remote.ours().look(rollout=OPTION),
    "a pinned commit": lambda remote, _: remote.ours().look(rollout="spring", pinned=OPTION),
    "a commit to read": lambda remote, _: remote.ours().text_at(OPTION, "matrix.yaml"),
    "a commit to list": lambda remote, _: remote.ours().texts_under(OPTION, "folder"),
    "a step": lambda remote, _: remote.ours().commit(rollout="spring", step=OPTION, edits={}, subject="x"),
    "a commit to undo": lambda remote, _: remote.ours().revert(rollout="spring", step="undo", commits=[OPTION]),
    "a tag": lambda remote, _: remote.ours().tag(rollout="spring", base=OPTION, commit=remote.head(), message="m"),
    "a tagged commit": lambda remote, _: remote.ours().tag(rollout="spring", base="v1", commit=OPTION, message="m"),
    "an address of facts": lambda remote, _: at_commit.files_at(
        OPTION, remote.head(), "", wanted=lambda _: True, bytes_max=1
    ),
    "a commit of facts": lambda remote, _: at_commit.files_at(
        f"file://{remote.path}", OPTION, "", wanted=lambda _: True, bytes_max=1
    ),
    "a path of facts": lambda remote, _: at_commit.files_at(
        f"file://{remote.path}", remote.head(), OPTION, wanted=lambda _: True, bytes_max=1
    ),
    "a revision": lambda remote, _: history.text_at(remote.person().clone / "matrix.yaml", OPTION),
}


@pytest.mark.parametrize("what", WORDS)
def test_a_word_that_begins_with_a_dash_is_refused_or_found_nowhere_and_starts_nothing(
    what: str, tmp_path: Path, remote: Bare, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GitError) as caught:
        WORDS[what](remote, tmp_path / "ours")
    assert OPTION in str(caught.value) or "--upload-pack" in str(caught.value)
    assert not list(tmp_path.rglob("stolen"))
