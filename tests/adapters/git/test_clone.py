"""The clone is a cache: whatever happens to its folder, the next call works."""

from __future__ import annotations

import fcntl
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from seatrial.adapters.git import clone
from seatrial.adapters.git.clone import Remote
from seatrial.adapters.git.errors import GitUnavailable, SetupInvalid
from seatrial.adapters.git.repository import Repository
from tests.adapters.git.remotes import MATRIX, ROBOT, Bare, git, slow
from tests.adapters.git.test_repository import promote


def no_head(clone: Path) -> None:
    (clone / ".git" / "HEAD").unlink()


def no_git(clone: Path) -> None:
    shutil.rmtree(clone / ".git")


def a_file_instead(clone: Path) -> None:
    shutil.rmtree(clone)
    clone.write_text("not a folder")


def empty_objects(clone: Path) -> None:
    for file in (clone / ".git" / "objects").rglob("*"):
        if file.is_file():
            file.chmod(0o600)
            file.write_bytes(b"")


def no_objects(clone: Path) -> None:
    shutil.rmtree(clone / ".git" / "objects")
    (clone / ".git" / "objects").mkdir()


def locks_of_a_killed_git(clone: Path) -> None:
    for name in ("index.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "refs/remotes/origin/main.lock"):
        (clone / ".git" / name).write_text("")


def a_broken_index(clone: Path) -> None:
    (clone / ".git" / "index").write_bytes(b"DIRC nonsense")


def files_of_somebody(clone: Path) -> None:
    (clone / "matrix.yaml").write_text("half\n")
    (clone / "new.yaml").write_text("new\n")
    git(clone, "add", ".")


def a_broken_config(clone: Path) -> None:
    (clone / ".git" / "config").write_text("[core\n")


@pytest.mark.parametrize(
    "harm",
    [
        no_head,
        no_git,
        a_file_instead,
        empty_objects,
        no_objects,
        locks_of_a_killed_git,
        a_broken_index,
        files_of_somebody,
        a_broken_config,
    ],
)
def test_a_clone_that_came_to_harm_is_rebuilt(remote: Bare, tmp_path: Path, harm: Callable[[Path], None]) -> None:
    ours = remote.ours()
    promote(ours, "first", edits={"matrix.yaml": lambda _: MATRIX + "# one\n"})
    harm(tmp_path / "ours" / "clone")
    assert ours.look(rollout="driver-580").head == remote.head()
    promote(ours, "second", edits={"matrix.yaml": lambda text: f"{text}# two\n"})
    assert remote.text() == MATRIX + "# one\n# two\n"


def test_half_a_clone_left_by_a_crash_is_no_clone(remote: Bare, tmp_path: Path) -> None:
    half = tmp_path / "ours" / "clone.new" / ".git"
    half.mkdir(parents=True)
    (half / "HEAD").write_text("ref: refs/heads/main\n")
    assert remote.ours().look(rollout="r").head == remote.head()


def test_a_broken_clone_inside_of_another_repository_never_touches_that_one(remote: Bare, tmp_path: Path) -> None:
    ada = remote.person()
    ours = Repository(remote.remote, ada.clone / "cache", author=ROBOT)
    ours.look(rollout="r")
    (ada.clone / "matrix.yaml").write_text("work in progress\n")
    no_git(ada.clone / "cache" / "clone")
    promote(ours)
    assert (ada.clone / "matrix.yaml").read_text() == "work in progress\n"
    assert git(ada.clone, "rev-list", "--count", "HEAD") == "1"


def test_variables_that_name_another_repository_are_not_passed_on(
    remote: Bare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = remote.person()
    monkeypatch.setenv("GIT_DIR", str(ada.clone / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(ada.clone / ".git" / "index"))
    sha = promote(remote.ours())
    monkeypatch.undo()
    assert remote.head() == sha
    assert git(ada.clone, "status", "--porcelain") == ""


def test_another_address_gets_another_clone(remote: Bare, tmp_path: Path) -> None:
    remote.ours().look(rollout="r")
    other = tmp_path / "other.git"
    shutil.copytree(remote.path, other)
    remote.person().write("matrix.yaml", "new\n")
    moved = Repository(Remote(url=str(other)), tmp_path / "ours", author=ROBOT)
    assert moved.look(rollout="r").head == git(other, "rev-parse", "main")


def test_a_folder_that_somebody_works_in_is_left_alone(remote: Bare, tmp_path: Path) -> None:
    ours = remote.ours()
    ours.look(rollout="r")
    with (tmp_path / "ours" / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(GitUnavailable, match="Somebody else works in the clone"):
            ours.look(rollout="r")
    assert ours.look(rollout="r").head == remote.head()


def test_a_folder_that_cannot_be_made_is_said(remote: Bare, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SetupInvalid, match="No clone can be kept"):
        Repository(remote.remote, tmp_path / "file" / "clone", author=ROBOT).look(rollout="r")


def test_the_folder_is_for_us_alone(remote: Bare, tmp_path: Path) -> None:
    remote.ours().look(rollout="r")
    assert (tmp_path / "ours").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("url", ["", "--upload-pack=x", "ext::sh -c x", "ext::sh", "a b", "a\nb"])
def test_an_address_that_git_would_read_as_something_else_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(SetupInvalid):
        Repository(Remote(url=url), tmp_path / "x", author=ROBOT)


# ── the first clone of a large repository ────────────────────────────────────────────────────────────────────────────


def test_the_first_clone_takes_as_long_as_it_goes_on_and_tells_how_far_it_is(
    remote: Bare, tmp_path: Path, bare_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had two minutes, whatever its size: a repository of many gigabytes could never be used."""
    monkeypatch.setattr(clone, "PROGRESS_SECONDS", 0.0)
    slow(tmp_path, bare_machine, step_seconds=0.5)
    told: list[str] = []
    ours = Repository(remote.remote, tmp_path / "ours", remote_seconds=2.0, on_progress=told.append)
    assert ours.look(rollout="r").head == remote.head()
    assert told[:6] == [f"counting objects, {percent} %" for percent in range(10, 70, 10)]


def test_a_first_clone_that_says_nothing_is_given_up(remote: Bare, tmp_path: Path, bare_machine: Path) -> None:
    slow(tmp_path, bare_machine, step_seconds=2, is_told=False)
    with pytest.raises(GitUnavailable, match="said nothing for 1 s"):
        Repository(remote.remote, tmp_path / "ours", remote_seconds=1.0).look(rollout="r")


def test_a_first_clone_that_is_done_soon_says_nothing(remote: Bare, tmp_path: Path) -> None:
    told: list[str] = []
    Repository(remote.remote, tmp_path / "ours", on_progress=told.append).look(rollout="r")
    assert told == []


def test_what_comes_after_the_first_clone_has_its_limit(remote: Bare, tmp_path: Path, bare_machine: Path) -> None:
    ours = Repository(remote.remote, tmp_path / "ours", remote_seconds=2.0)
    ours.look(rollout="r")
    remote.person().write("matrix.yaml", "new\n")
    slow(tmp_path, bare_machine, step_seconds=0.6)
    with pytest.raises(GitUnavailable, match="did not answer within 2 s"):
        ours.look(rollout="r")


def test_a_remote_that_refuses_the_first_clone_is_told_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(GitUnavailable, match=r"cannot be reached: '.*nowhere\.git' does not appear to be a git repo"):
        Repository(Remote(url=str(tmp_path / "nowhere.git")), tmp_path / "ours").look(rollout="r")


def test_who_waits_too_long_for_the_clone_says_so(remote: Bare, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clone, "TURN_SECONDS", 0.01)
    ours, told = remote.ours(), list[str]()

    def meanwhile(text: str) -> str:
        def ask() -> None:
            with pytest.raises(GitUnavailable, match=r"was in use for 0\.01 s") as caught:
                ours.look(rollout="another")
            told.append(str(caught.value))

        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
        return f"{text}# one\n"

    promote(ours, "first", edits={"matrix.yaml": meanwhile})
    assert len(told) == 1
    assert ours.look(rollout="another").head == remote.head()
