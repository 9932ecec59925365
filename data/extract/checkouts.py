"""Git repositories that a maintainer has fetched, with or without a work tree; read only, offline.

Tests: tests/data/test_extract.py
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """One repository."""

    name: str
    """Owner and name, as in a source: NVIDIA/gpu-operator."""
    path: Path

    def text(self, ref: str, file: str) -> str | None:
        """A file at a tag, branch or commit; None where there is none."""
        return _git(self.path, "show", f"{ref}:{file}")

    def day(self, ref: str) -> str:
        """The day of a tag's commit; empty where there is no such tag."""
        return (_git(self.path, "log", "-1", "--format=%cs", ref) or "").strip()

    def tags(self) -> tuple[str, ...]:
        return tuple((_git(self.path, "tag") or "").split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkouts:
    """All of them, in one folder: as owner+name/repo, owner/name or name."""

    folder: Path

    def of(self, name: str) -> Checkout | None:
        """The repository of this name; None where nobody fetched it."""
        owner, _, short = name.partition("/")
        for path in (self.folder / f"{owner}+{short}" / "repo", self.folder / name, self.folder / short):
            if path.is_dir() and _git(path, "rev-parse", "--git-dir") is not None:
                return Checkout(name=name, path=path)
        return None


@cache
def _git(path: Path, *arguments: str) -> str | None:
    done = subprocess.run(
        ["git", "-C", str(path), *arguments],
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
        errors="replace",
    )
    return done.stdout if done.returncode == 0 else None
