"""When a run that restarts plugins has ended: with nothing left to wait for, or with its time.

    a run that        ends as soon as
    goes on for ever  never: something may always come
    waits             every node is done, or cannot be helped
    does not wait     that, or: what is left has not settled, or is left to a controller of ours

Where it is not sure of what it sees, nothing ends it but its time: behind a watch that is cut, nodes may have changed.

Law of this file: one look, its moment, and how long somebody wants to wait; nothing else. Tests:
tests/core/movers/test_dra_standing.py
"""

from __future__ import annotations

from enum import StrEnum

from seatrial.core.base.values import dataclass
from seatrial.core.model.instants import Instant
from seatrial.core.movers.dra.values import Rerolling


class Course(StrEnum):
    """Where a run stands after a look."""

    GOING_ON = "going-on"
    ENDED = "ended"
    LATE = "late"
    """Its time is up, and something is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long somebody wants to wait, and for what."""

    is_waiting: bool = False
    """Whether nodes that have not settled are waited for."""
    is_endless: bool = False
    """Whether it goes on when everything is done, for what comes."""
    until: Instant


def course_of(found: Rerolling, patience: Patience, now: Instant, *, is_sure: bool, is_left: bool) -> Course:
    """Whether a run goes on after this look. `is_left` says that a controller of ours restarts the plugins."""
    is_done = found.is_over or (not patience.is_waiting and (is_left or found.is_all_pending))
    if is_done and is_sure and not patience.is_endless:
        return Course.ENDED
    return Course.LATE if now >= patience.until else Course.GOING_ON
