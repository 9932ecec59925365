"""That nobody is in charge: what whoever looks at a cluster says where no controller is there to say anything.

Law of this file: no controller ever decides by it, since one that decides is there.
Tests: tests/core/words/test_explain.py
"""

from __future__ import annotations

from seatrial.core.decision import summary
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.rollouts import Told
from seatrial.core.text import spans


def leaderless(rollout: str, holder: str, heard_at: Instant | None) -> Hold:
    """Nothing moves: who led last, if anybody ever did, was last heard of then."""
    if heard_at is None:
        how = "none has ever run here"
    else:
        how = f"{holder} stopped responding" if holder else "the last one stepped down"
    return hold(rollout, HoldCode.LEADERLESS, since=heard_at, how=how)


def unled(holder: str, heard_at: Instant | None, now: Instant) -> str:
    """Which controller was seen last, where none is in charge."""
    if heard_at is None:
        return "no controller has ever run here"
    seen = f"seen {spans.span(max(0.0, now - heard_at))} ago"
    return f"{holder} was last {seen}" if holder else f"the last one was {seen}"


def told(rollout: str, holder: str, heard_at: Instant | None) -> Told:
    """The same in words."""
    (found,) = summary.told_of([leaderless(rollout, holder, heard_at)])
    return found
