"""`seatrial check --post-status`: the result beside the commit on a forge, and nowhere else."""

from __future__ import annotations

import asyncio
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from seatrial.adapters.forge.places import Kind
from seatrial.cli.main import main
from tests.adapters.forge.stand import PROJECT, TOKEN, Stand
from tests.adapters.http.test_webhook import serving
from tests.cli.test_check import GOOD, ON

BAD = GOOD.replace('cuda: "12.4"', 'cuda: "13.0"')


@contextmanager
def standing(stand: Stand) -> Iterator[str]:
    """The stand in a thread of its own, since the command has a loop of its own; gives its address."""
    loop, ready, over = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    found: list[str] = []

    async def serve() -> None:
        async with serving(stand.handle) as url:
            found.append(url.removesuffix("/save"))
            ready.set()
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield found[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(10)
        loop.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A checkout with a matrix, whose origin is on a forge."""

    stand: Stand
    url: str
    folder: Path
    head: str

    def check(self, *arguments: str, text: str = GOOD) -> int:
        (self.folder / "gpu-version-matrix.yaml").write_text(text, encoding="utf-8")
        return main(
            ["check", *ON, "--post-status", f"{self.stand.kind}:{self.url}={self.folder / 'token'}", *arguments]
        )

    def posted(self, commit: str = "") -> list[str]:
        return [each["state"] for each in self.stand.statuses.get(commit or self.head, {}).values()]


def git(folder: Path, *arguments: str) -> str:
    settings = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", "-C", str(folder), *settings, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture(params=list(Kind))
def scene(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    (tmp_path / "token").mkdir()
    (tmp_path / "token" / "token").write_text(TOKEN)
    stand = Stand(kind=request.param)
    with standing(stand) as url:
        git(tmp_path, "init", "-q")
        (tmp_path / "gpu-version-matrix.yaml").write_text(GOOD)
        git(tmp_path, "add", "gpu-version-matrix.yaml")
        git(tmp_path, "commit", "-q", "-m", "The matrix")
        # As CI checks it out: with a login in the address.
        git(tmp_path, "remote", "add", "origin", f"{url.replace('http://', 'http://ci:pass@')}/{PROJECT}.git")
        yield Scene(stand=stand, url=url, folder=tmp_path, head=git(tmp_path, "rev-parse", "HEAD"))


def test_a_matrix_that_is_well_passes_beside_its_commit(scene: Scene) -> None:
    assert scene.check() == 0
    assert scene.posted() == ["success"]
    ((name, sent),) = scene.stand.statuses[scene.head].items()
    assert (name, "0 fail" in sent["description"]) == ("seatrial check", True)


def test_one_that_is_not_fails_and_the_exit_code_is_as_ever(scene: Scene) -> None:
    assert scene.check(text=BAD) == 8
    assert scene.posted() in (["failure"], ["failed"])


def test_another_commit_and_repository_may_be_named(scene: Scene) -> None:
    sha = "0123456789abcdef0123456789abcdef01234567"
    git(scene.folder, "remote", "remove", "origin")
    assert scene.check("--commit", sha, "--repository", f"{scene.url}/{PROJECT}") == 0
    assert (scene.posted(sha), scene.posted()) == (["success"], [])


def test_nothing_is_sent_to_a_forge_that_the_token_is_not_bound_to(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    assert scene.check("--repository", "https://elsewhere.example.test/gpu/cluster") not in (0, 8)
    assert "is behind no address" in capsys.readouterr().err
    assert scene.stand.heard == []


def test_a_result_that_cannot_be_shown_is_no_pass(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    (scene.folder / "token" / "token").write_text("another-one")
    assert scene.check() != 0
    said = capsys.readouterr()
    assert "refuses" in said.err
    assert "another-one" not in said.err + said.out


def test_without_a_remote_that_is_said(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    git(scene.folder, "remote", "remove", "origin")
    assert scene.check() != 0
    assert "--repository" in capsys.readouterr().err
