"""A bug of ours that was contained: which object, act or rollout it was about, and its traceback.

Unforeseen exceptions are contained in three places, so that one bad value costs one object, act or rollout:

    projection   adapters/kube/streams/projection.py    the object counts as unreadable
    act          run/routing.py                         the outcome is unknown
    decision     run/loop.py                            the rollout is set aside

Cancellation and MemoryError are never contained. Tests: tests/test_containment.py
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from enum import StrEnum
from typing import TypeAlias

from seatrial.core.base.values import dataclass
from seatrial.core.text import foreign
from seatrial.supervision import told

WHY_MAX = 300


class Guard(StrEnum):
    """Where an exception was contained."""

    PROJECTION = "projection"
    ACT = "act"
    DECISION = "decision"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """One exception that was contained."""

    guard: Guard
    subject: str
    """The object, the act's id or the rollout."""
    why: str
    traceback: str = ""


TellBug: TypeAlias = Callable[[Bug], None]


def why_of(error: Exception) -> str:
    """An exception in a few words that are safe to show; raises it again where it must not be contained."""
    if isinstance(error, MemoryError):
        raise error
    return foreign.line(told(error), WHY_MAX)


def bug_of(guard: Guard, subject: str, error: Exception) -> Bug:
    """What to report about an exception."""
    why = why_of(error)
    return Bug(guard=guard, subject=subject, why=why, traceback="".join(traceback.format_exception(error)))
