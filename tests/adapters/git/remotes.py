"""Real remotes to test with: a bare repository, and other people who push to it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from seatrial.adapters.git.clone import Remote
from seatrial.adapters.git.repository import Author, Repository

ROBOT = Author(name="seatrial", email="seatrial@example.com")
MATRIX = "production: 570.86.15  # known good\ncanary: 580.65.06\nrollback: 565.57.01\n"


def git(folder: Path, *arguments: str, env: Mapping[str, str] | None = None) -> str:
    """Run git as somebody else, and return what it prints."""
    who = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.com"}
    who |= {name.replace("AUTHOR", "COMMITTER"): value for name, value in who.items()}
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        env={**os.environ, **who, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"git {' '.join(arguments)}: {done.stderr}"
    return done.stdout.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody with a clone of their own."""

    clone: Path

    def write(self, path: str, text: str | bytes, subject: str = "An edit by hand") -> str:
        """Push a file as one commit on what the remote has now; gives the commit."""
        git(self.clone, "fetch", "-q", "origin")
        git(self.clone, "reset", "-q", "--hard", "origin/main")
        file = self.clone / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        git(self.clone, "add", ".")
        git(self.clone, "commit", "-q", "-m", subject)
        git(self.clone, "push", "-q", "origin", "HEAD:main")
        return git(self.clone, "rev-parse", "HEAD")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bare:
    """A bare repository on disk, and how to ask it directly."""

    path: Path
    folder: Path

    @property
    def remote(self) -> Remote:
        return Remote(url=str(self.path))

    def ours(self, name: str = "ours", *, author: Author | None = ROBOT) -> Repository:
        """A repository of ours, with a clone of its own."""
        return Repository(self.remote, self.folder / name, author=author)

    def person(self, name: str = "ada") -> Person:
        """Somebody else, who has just cloned it."""
        clone = self.folder / name
        git(self.folder, "clone", "-q", str(self.path), str(clone))
        return Person(clone=clone)

    def git(self, *arguments: str) -> str:
        return git(self.path, *arguments)

    def head(self) -> str:
        return self.git("rev-parse", "main")

    def text(self, path: str = "matrix.yaml", commit: str = "main") -> str:
        return self.git("show", f"{commit}:{path}") + "\n"

    def message(self, commit: str = "main") -> str:
        return self.git("log", "-1", "--format=%B", commit)

    def count(self) -> int:
        return int(self.git("rev-list", "--count", "main"))

    def hook(self, name: str, script: str) -> None:
        """Install a hook of the server."""
        file = self.path / "hooks" / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)


def bare(folder: Path) -> Bare:
    """A remote with one file in one commit."""
    path = folder / "fleet.git"
    git(folder, "init", "-q", "--bare", "--initial-branch=main", str(path))
    made = Bare(path=path, folder=folder)
    first = folder / "first"
    git(folder, "init", "-q", "--initial-branch=main", str(first))
    (first / "matrix.yaml").write_text(MATRIX)
    git(first, "add", ".")
    git(first, "commit", "-q", "-m", "The fleet as it is")
    git(first, "push", "-q", str(path), "main")
    return made


def slow(folder: Path, config: Path, *, step_seconds: float, is_told: bool = True) -> None:
    """Have every remote of this machine take its time to pack, and tell how far it is, or not."""
    script = folder / "pack"
    words = "printf 'Counting objects: %d%% (1/1)\\r' $n >&2" if is_told else ":"
    script.write_text(f'#!/bin/sh\nfor n in 10 20 30 40 50 60; do {words}; sleep {step_seconds}; done\nexec "$@"\n')
    script.chmod(0o700)
    config.write_text(f"{config.read_text()}[uploadpack]\n\tpackObjectsHook = {script}\n")
