"""What attrition goes by in one pass: until when, whether time counts, and which wave it is about.

Each wave has an equal share of the time that there is, so that the last one is not left with nothing; a wave that is
over early leaves the rest to those after it. Law of this file: it says when, never who.
Tests: tests/core/budget/test_attrition_clock.py
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from seatrial.core.base.values import dataclass, field, replace
from seatrial.core.budget.attrition import clock
from seatrial.core.holds import Hold, Trait, having
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.policy import Attrition
from seatrial.core.model.seen.rollouts import RolloutRecord
from seatrial.core.model.seen.work import WorkSeen

FAR_SECONDS: Final = 14 * 86_400.0
"""How far ahead the end is taken to be where no window that is known reaches it."""

LOOK_SECONDS: Final = 300.0
LATE_SECONDS, LATE_LOOK_SECONDS = 4 * 3600.0, 60.0
"""How often the rules are asked though nothing happens; towards the end more often."""
WAITING: Final = having(Trait.ATTRITION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a pass goes by."""

    way: Attrition
    """With the deadline of the wave that is open, counted from where the one before it ended."""
    now: Instant
    deadline_at: Instant
    """When the wave has to be through, by the windows as they are known."""
    is_running: bool
    """Whether time counts: outside windows and in pauses nobody new is closed, and nobody is evicted."""
    is_stopped: bool = False
    """The rollout as a whole disrupts nobody: the ledger stays as it is."""
    is_suspending: bool = False
    """Whether Workloads of Kueue are suspended, not evicted."""
    work: WorkSeen = field(default_factory=WorkSeen)
    """How long finished jobs ran, and who waits for GPUs: for guesses alone."""

    def look_at(self, holds: Iterable[Hold]) -> Instant | None:
        """When to look again though nothing happens: what may be done grows with time; None where nobody waits."""
        if not self.is_running or not any(held.code in WAITING for held in holds):
            return None
        is_late = self.deadline_at - self.now < LATE_SECONDS
        return self.now + (LATE_LOOK_SECONDS if is_late else LOOK_SECONDS)


def terms_of(
    rollout: RolloutRecord, intent: Intent, wave_count: int, now: Instant, *, is_stopped: bool = False
) -> Terms | None:
    """The terms of this pass; None where nodes are not taken by attrition: before the waves, and on the way back."""
    record, campaign = rollout.campaign, intent.campaign
    if intent.attrition is None or record is None or campaign is None:
        return None
    phase = record.paused_in or record.phase
    if phase not in clock.RUNNING:
        return None
    way, spent = intent.attrition, clock.spent(record, campaign.openings, now)
    wave = min(record.wave + 1, wave_count) if phase is RolloutPhase.WAVING else wave_count
    share = way.deadline_seconds * wave / max(1, wave_count)
    ends_at = clock.runs_out_at(max(0.0, share - spent), campaign.openings, now)
    return Terms(
        way=replace(way, deadline_seconds=way.deadline_seconds / max(1, wave_count)),
        now=now,
        deadline_at=now + FAR_SECONDS if ends_at is None else ends_at,
        is_running=clock.is_running(record, campaign.openings, now) and not intent.is_paused,
        is_stopped=is_stopped,
        is_suspending=intent.checkpoint.kueue,
    )
