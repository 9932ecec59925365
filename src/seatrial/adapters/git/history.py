"""What a file was at a revision, and where it is kept. Reads only.

Tests: tests/adapters/git/test_history.py
"""

from __future__ import annotations

from pathlib import Path

from seatrial.adapters.git.credentials import Cleaner
from seatrial.adapters.git.errors import GitUnavailable
from seatrial.adapters.git.process import Done, run

TIMEOUT_SECONDS = 20


def text_at(path: Path, revision: str) -> str | None:
    """The file's text at a revision; None where it did not exist then. GitUnavailable where Git cannot say."""
    # `rev:./name` counts from the folder Git runs in, so the root of the repository need not be known.
    shown = _git(path, "show", "--end-of-options", f"{revision}:./{path.name}")
    if shown.is_good:
        return shown.text
    known = _git(path, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if known.is_good:
        return None
    raise GitUnavailable(
        f"Git knows no revision {revision!r} for {path}: {_reason(shown)}. Name a commit, a branch or a tag."
    )


def head_of(path: Path) -> str:
    """The commit that a file's folder is checked out at."""
    found = _git(path, "rev-parse", "--verify", "HEAD^{commit}")
    if not found.is_good:
        raise GitUnavailable(f"Git knows no commit for {path}: {_reason(found)}. Name one with --commit.")
    return found.line


def origin_of(path: Path) -> str:
    """Where a file's repository comes from, without the login that CI may have put into the address."""
    found = _git(path, "remote", "get-url", "origin")
    if not found.is_good:
        raise GitUnavailable(f"Git knows no remote origin for {path}: {_reason(found)}. Name it with --repository.")
    url = found.line
    return Cleaner().clean(url) if url.startswith(("http://", "https://")) else url


def _reason(done: Done) -> str:
    lines = done.err.strip().splitlines()
    return lines[0].removeprefix("fatal: ").rstrip(".") if lines else "no reason given"


def _git(path: Path, *arguments: str) -> Done:
    return run(["-C", str(path.absolute().parent), *arguments], timeout_seconds=TIMEOUT_SECONDS)
