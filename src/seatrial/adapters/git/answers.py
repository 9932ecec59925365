"""What git's words mean. It answers in sentences and with three exit codes, so the sentences are read, in English.

Law of this file: text in, an error or a word out. Nothing is run here.

Tests: tests/adapters/git/test_answers.py
"""

from __future__ import annotations

import re
from typing import Final

from seatrial.adapters import trust
from seatrial.adapters.git.errors import GitError, GitRefused, GitUnavailable, SetupInvalid
from seatrial.core.base.values import dataclass
from seatrial.core.text import foreign

REASON_MAX: Final = 800

_NO_LOGIN: Final = (
    "authentication failed",
    "could not read username",
    "could not read password",
    "terminal prompts disabled",
    "permission denied (",
    "host key verification failed",
    "unprotected private key",
    "returned error: 401",
    "returned error: 403",
)
_NO_ACCESS: Final = re.compile(r"unable to access '[^']*': (?P<why>[^\n]*)")
"""How git tells what its library for HTTP says. The address before it may have any word in it."""
_UNTRUSTED: Final = ("certificate", "ssl ca cert", "trust anchors")
_REDIRECTED: Final = ("returned error: 30",)
_NO_BRANCH: Final = ("couldn't find remote ref",)
_NO_ANSWER: Final = (
    "could not resolve",
    "name or service not known",
    "connection refused",
    "connection reset",
    "connection closed",
    "timed out",
    "too slow",
    "failed to connect",
    "unable to connect",
    "unreachable",
    "no route to host",
    "empty reply",
    "hung up",
    "early eof",
    "unable to access",
    "not found",
    "does not appear to be a git repository",
    "could not read from remote repository",
)

_PROGRESS: Final = re.compile(r"(remote: )?(?P<what>[A-Z][a-z]+ [a-z]+):? +((?P<percent>\d{1,3})%|\d+)")

_MOVED: Final = ("stale info", "fetch first", "non-fast-forward", "already exists", "incorrect old value", "is at ")
_UNCLEAR: Final = ("failed to update ref", "cannot lock ref", "failed to lock", "atomic")


def progress(line: str) -> str:
    """How far git says that it is, in steps of ten percent; empty for a line that says something else."""
    found = _PROGRESS.match(line)
    if found is None:
        return ""
    what = found["what"].lower()
    return f"{what}, {int(found['percent']) // 10 * 10} %" if found["percent"] else what


def remote_error(err: str, *, url: str, branch: str) -> GitError | None:
    """Why the remote gave nothing; None when it is not about the remote, so that our own clone must be at fault."""
    lower = err.lower()
    if any(words in lower for words in _NO_LOGIN):
        return GitRefused(
            f"The Git remote {url} does not let us in: {reason(err)}. "
            "Check the secret or the credential helper, and that this account may read and push."
        )
    if any(words in lower for words in _REDIRECTED):
        return SetupInvalid(
            f"The Git remote {url} answers with a redirect, and none is followed: a login would go along. "
            "Name the address that it leads to; at some forges that is the same one with .git at its end."
        )
    no_access = _NO_ACCESS.search(lower)
    if no_access is not None and any(words in no_access["why"] for words in _UNTRUSTED):
        return SetupInvalid(trust.distrust(f"The Git remote {url}", reason(err)))
    if any(words in lower for words in _NO_BRANCH):
        return SetupInvalid(f"The Git remote {url} has no branch {branch!r}. Name one that exists, or push it first.")
    if any(words in lower for words in _NO_ANSWER):
        return GitUnavailable(
            f"The Git remote {url} cannot be reached: {reason(err)}. "
            "Check the address, and that it answers from here: git ls-remote."
        )
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A push that the remote answered with no."""

    why: str
    is_moved: bool
    """The remote has something else by now than we had seen."""
    is_unclear: bool
    """It may have been that; only another look can tell."""


def rejection(out: str, err: str) -> Rejection | None:
    """What a failed `git push --porcelain` says about the refs; None when it never came that far."""
    words = [line.split("\t")[-1] for line in out.splitlines() if line.startswith("!\t")]
    if not words:
        return None
    text = " ".join(words).lower()
    remote = [line.removeprefix("remote:").strip() for line in err.splitlines() if line.startswith("remote:")]
    said = " ".join(line.removeprefix("error: ") for line in remote if line)
    is_moved = any(each in text for each in _MOVED)
    return Rejection(
        why=_cut("; ".join(dict.fromkeys(words)) + (f": {said}" if said else "")),
        is_moved=is_moved,
        is_unclear=not is_moved and "hook declined" not in text and any(each in text for each in _UNCLEAR),
    )


def reason(err: str) -> str:
    """The telling lines of what git wrote to its error output, as one text."""
    lines = [line.strip() for line in err.replace("\r", "\n").splitlines()]
    remote = [line.removeprefix("remote:").strip() for line in lines if line.startswith("remote:")]
    own = [line for line in lines if line and not line.startswith(("remote:", "hint:", "warning:"))]
    for prefix in ("fatal: ", "error: "):
        own = [line.removeprefix(prefix) for line in own]
    told = " ".join([*(line for line in remote if line), *own[:1]])
    return _cut(told.rstrip(".")) or "no reason given"


def _cut(text: str) -> str:
    return foreign.line(text, REASON_MAX)
