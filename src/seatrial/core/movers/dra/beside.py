"""Whether a controller of ours is at work in the cluster: then it restarts the plugins, and the command waits for it.

The time in its Lease is on its own clock, so it is not read as one: a Lease that changes is kept by somebody alive, and
one that has not changed for a while, on our clock, is not.

Law of this file: an answer that did not come is no sign of life, and no sign of death. Tests:
tests/core/movers/test_dra_standing.py
"""

from __future__ import annotations

from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.model.instants import ApiInstant, Instant

SILENT_SECONDS: Final = 45.0
"""Three times what a lease lasts: after so long without a change nobody keeps it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What its Lease said last, and since when it has said so."""

    renewed_at: ApiInstant | None = None
    """None where there is no Lease, or it was given up."""
    since: Instant = 0.0

    def is_at_work(self, now: Instant) -> bool:
        """Whether somebody keeps it; at the first look that is taken for granted."""
        return self.renewed_at is not None and now < self.since + SILENT_SECONDS


def heard(before: Heard | None, renewed_at: ApiInstant | None, now: Instant) -> Heard:
    """What is known after one more look at the Lease."""
    if before is not None and before.renewed_at == renewed_at:
        return before
    return Heard(renewed_at=renewed_at, since=now)
