"""A pull request as it is seen: how people are asked to merge a step of ours, and what became of it. Values only.

    open      somebody has to look at it: reviews and checks say how far they are
    merged    the forge says so; that the step is done is seen in Git alone
    closed    somebody said no, or we closed it when the rollout was undone

GitLab calls it a merge request; here it has one name. What we write at the end of its text says which text that is, so
that a text which people have edited is left alone until we have something else to say.

Tests: tests/core/model/test_requests.py
"""

from __future__ import annotations

import hashlib
import re
from enum import StrEnum
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.model.instants import Instant

_MARK: Final = re.compile(r"<!-- seatrial: ([0-9a-f]{12}) -->")


class RequestState(StrEnum):
    """What a forge says of a pull request."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"


class Review(StrEnum):
    """What people have said of it so far."""

    NONE = "nobody has reviewed it"
    APPROVED = "approved"
    CHANGES_ASKED = "changes are asked for"


class Checks(StrEnum):
    """What the statuses of its newest commit come to."""

    NONE = "none"
    PENDING = "pending"
    PASSED = "passed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One pull request, from a branch of ours."""

    branch: str
    number: int
    url: str
    """Where people look at it."""
    state: RequestState
    opened_at: Instant = 0.0
    mark: str = ""
    """Which text of ours it bears; empty where a person wrote all of it."""
    commit: str = ""
    review: Review = Review.NONE
    checks: Checks = Checks.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitStatus:
    """What a check has to say about one commit, where a forge shows it."""

    name: str
    """Under which it is shown; a later one of the same name takes its place."""
    state: Checks
    description: str = ""
    url: str = ""


def marked(text: str) -> str:
    """A text with the line that says which one it is; unseen where a forge draws it."""
    digest = hashlib.sha256(text.strip().encode()).hexdigest()[:12]
    return f"{text.strip()}\n\n<!-- seatrial: {digest} -->\n"


def mark_in(text: str) -> str:
    """Which text of ours this is, or was before somebody edited it; empty where it is none."""
    found = _MARK.findall(text)
    return found[-1] if found else ""
