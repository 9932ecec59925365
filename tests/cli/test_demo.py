"""The demo, as a user runs it: two rollouts, real commits, a page."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from seatrial.adapters.files.matrix_yaml import read_matrix
from seatrial.cli import main
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.run.demo import GOOD, RUNNING, SLOW
from seatrial.cli.run.demo_stage import MATRIX, PUBLISHED, Workshop
from seatrial.core.compat.matrix import Component, Matrix, Role


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=True, timeout=30)
    return done.stdout


def drivers(matrix: Matrix) -> dict[Role, str]:
    found = ((role, entry.stack[Component.GPU_DRIVER]) for role, entry in matrix.entries.items())
    return {role: value.text for role, value in found if value is not None}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of one demo, and what it said."""
    folder = tmp_path_factory.mktemp("demo") / "new"
    with pytest.MonkeyPatch.context() as patch:
        said: list[str] = []
        patch.setattr("sys.stdout", Lines(said))
        assert main.main(["demo", "--folder", str(folder), "--seed", "7"]) == ExitCode.OK
    return folder, "".join(said)


class Lines:
    """Somewhere to print to that is no terminal."""

    encoding = "utf-8"

    def __init__(self, said: list[str]) -> None:
        self._said = said

    def write(self, text: str) -> int:
        self._said.append(text)
        return len(text)

    def flush(self) -> None:
        """Nothing is kept back."""

    def isatty(self) -> bool:
        return False


def told(said: str, rollout: str) -> list[str]:
    """The words at the beginning of a rollout's lines, in order."""
    chapter = said.partition(f"Rollout {rollout}:")[2].partition("\n\n")[0]
    return [line[13:23].strip() for line in chapter.splitlines()[1:]]


def phases(words: list[str]) -> list[str]:
    found = [word for word in words if word[:1].isupper()]
    return [word for index, word in enumerate(found) if index == 0 or word != found[index - 1]]


def test_the_first_rollout_goes_from_the_check_to_the_tag(played: tuple[Path, str]) -> None:
    words = told(played[1], "autumn")
    assert words[:3] == ["check", "warn", "plan"]
    assert phases(words) == ["Proposed", "Canary", "Gating", "Baking", "Waving", "Promoting", "Done"]
    assert words.count("commit") == 2
    assert "2 d of evidence, 47 rounds of gates passed" in played[1]


def test_the_second_is_caught_in_its_bake_and_taken_back(played: tuple[Path, str]) -> None:
    words = told(played[1], "winter")
    assert phases(words) == ["Proposed", "Canary", "Gating", "Baking", "Reverting", "Reverted"]
    assert "gate throughput failed on gpu-00: 3.1 % less throughput than the nodes beside it" in played[1]


def test_every_wait_has_its_reason(played: tuple[Path, str]) -> None:
    waits = [line for line in played[1].splitlines() if line[13:].startswith("  waits")]
    assert len(waits) > 8
    assert all(len(line[24:].split()) > 3 for line in waits)


def test_the_repository_has_one_commit_for_every_step_and_one_tag(played: tuple[Path, str]) -> None:
    remote = played[0] / "remote.git"
    subjects = git(remote, "log", "--format=%s", "main").splitlines()
    assert subjects == [
        f"Mark driver {SLOW} as bad",
        f'Revert "Driver {SLOW} for the canary gpu-00"',
        f"Driver {SLOW} for the canary gpu-00",
        f"Try driver {SLOW} on a canary",
        f"Promote driver {GOOD} to production",
        f"Driver {GOOD} for the canary gpu-00",
        f"Try driver {GOOD} on a canary",
        f"The fleet runs driver {RUNNING}",
    ]
    (tag,) = git(remote, "tag").split()
    assert re.fullmatch(r"v\d{4}-\d\d-stable", tag)
    assert git(remote, "log", "-1", "--format=%s", tag).strip() == f"Promote driver {GOOD} to production"
    for line in git(remote, "log", "--oneline", "--decorate", "main").splitlines():
        assert f"  {line}" in played[1].splitlines()


def test_the_matrix_at_the_end_names_what_runs_and_what_is_bad(played: tuple[Path, str]) -> None:
    remote = played[0] / "remote.git"
    matrix = read_matrix(git(remote, "show", f"main:{MATRIX}"), MATRIX).matrix
    assert matrix is not None
    assert drivers(matrix) == {Role.PRODUCTION: GOOD, Role.CANARY: SLOW, Role.ROLLBACK: RUNNING}
    assert "throughput" in matrix.entries[Role.CANARY].bad
    assert f'version: "{GOOD}"' in git(remote, "show", f"main:{PUBLISHED}")


class Page(HTMLParser):
    """What a page is made of, and what it would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.pictures = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.pictures += tag == "svg"
        self.fetched += [value or "" for key, value in attrs if key in ("src", "href")]
        if tag not in ("meta", "!doctype"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Opened and closed at once."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_fetches_nothing(played: tuple[Path, str]) -> None:
    text = (played[0] / "report.html").read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    assert (page.open, page.fetched, page.pictures) == ([], [], 4)
    for expected in (GOOD, SLOW, "47 of 47", "Reverted", "git log --oneline --decorate", "Mark driver"):
        assert expected in text
    assert str(played[0] / "report.html") in played[1]


@pytest.mark.long
def test_the_same_seed_tells_the_same_story(played: tuple[Path, str], tmp_path: Path) -> None:
    def story(said: str) -> list[str]:
        """Without the names of commits, which depend on the time of day, and of folders."""
        whole = re.sub(r" in \d+\.\d s\)", ")", said.partition("\nReport: ")[0])
        return re.sub(r"\b[0-9a-f]{7}\b", "", whole).splitlines()

    again = subprocess.run(
        [sys.executable, "-m", "seatrial", "demo", "--seed", "7", "--folder", str(tmp_path / "new")],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert story(again.stdout) == story(played[1])


def test_a_folder_that_is_in_use_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").write_text("mine", encoding="utf-8")
    assert main.main(["demo", "--folder", str(tmp_path)]) == ExitCode.ERROR
    assert "is not empty, and the demo makes a repository there. Name another folder." in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_without_git_the_demo_says_what_it_needs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main.main(["demo", "--folder", str(tmp_path / "new")]) == ExitCode.ERROR
    assert "git is not installed" in capsys.readouterr().err


def test_the_next_driver_takes_the_place_of_the_one_before_in_the_canary_entry(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path, production=RUNNING)
    workshop.propose(GOOD)
    workshop.propose(SLOW)
    matrix = read_matrix(workshop.matrix.read_text(encoding="utf-8"), MATRIX).matrix
    assert matrix is not None
    assert drivers(matrix) == {Role.PRODUCTION: RUNNING, Role.CANARY: SLOW}
