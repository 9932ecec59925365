"""What a file was at a revision. Reads only.

Tests: tests/adapters/git/test_history.py
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from seatrial.core.errors import SeatrialError

TIMEOUT_SECONDS = 20


class GitUnavailable(SeatrialError):  # noqa: N818 — says what is, like the other errors of the outside world
    """Git cannot answer: no repository, no such revision, or no Git."""


def text_at(path: Path, revision: str) -> str | None:
    """The file's text at a revision; None where it did not exist then. GitUnavailable where Git cannot say."""
    # `rev:./name` counts from the folder Git runs in, so the root of the repository need not be known.
    shown = _git(path, "show", f"{revision}:./{path.name}")
    if shown.returncode == 0:
        return shown.stdout.decode("utf-8", errors="replace")
    known = _git(path, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if known.returncode == 0:
        return None
    raise GitUnavailable(
        f"Git knows no revision {revision!r} for {path}: {_reason(shown)}. Name a commit, a branch or a tag."
    )


def _reason(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = done.stderr.decode("utf-8", errors="replace").strip().splitlines()
    return lines[0].removeprefix("fatal: ").rstrip(".") if lines else "no reason given"


def _git(path: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ["git", "-C", str(path.absolute().parent), *arguments],
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except FileNotFoundError as err:
        raise GitUnavailable("git is not installed. Install it, or check without --base.") from err
    except subprocess.TimeoutExpired as err:
        raise GitUnavailable(f"git did not answer within {TIMEOUT_SECONDS} s. Try again.") from err
