"""Where a rollout by attrition stands: how much of its deadline is used, what it has cost, and what it would have.

Law of this file: a sight in, lines or data out; nothing is forecast here. Tests: tests/cli/test_status_attrition.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from seatrial.cli.terminal import wrapped
from seatrial.core.base.values import dataclass
from seatrial.core.budget.attrition import clock
from seatrial.core.model import windows
from seatrial.core.model.campaign import BACK, ENDED, RolloutPhase
from seatrial.core.text.moments import moment
from seatrial.core.text.spans import span
from seatrial.core.words import accounts

if TYPE_CHECKING:
    from seatrial.core.model.instants import Instant
    from seatrial.ports import Sight

MARGIN = " " * 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """The time of a deadline."""

    spent_seconds: float
    deadline_seconds: float
    runs_out_at: Instant | None
    """By the windows as they are known; None while it stands still, or where they do not reach it."""
    still: str
    """Why no time counts; empty where it does."""

    @property
    def text(self) -> str:
        """How much is used, and whether it runs."""
        used = f"{span(self.spent_seconds)} of {span(self.deadline_seconds)} used"
        left = self.deadline_seconds - self.spent_seconds
        if self.still:
            return f"{used}; the deadline stands still: {self.still}"
        return f"{used}, {span(left)} left" if left > 0 else f"{used}: the deadline is over by {span(-left)}"


def used(sight: Sight, now: Instant) -> Used | None:
    """How much of the deadline is used; None without attrition, and when the rollout has ended."""
    record, way, campaign = sight.seen.rollout.campaign, sight.intent.attrition, sight.intent.campaign
    if way is None or record is None or campaign is None or record.phase in ENDED:
        return None
    spent, still = clock.spent(record, campaign.openings, now), _still(sight, now)
    left = max(0.0, way.deadline_seconds - spent)
    return Used(
        spent_seconds=spent,
        deadline_seconds=way.deadline_seconds,
        runs_out_at=None if still else clock.runs_out_at(left, campaign.openings, now),
        still=still,
    )


def _still(sight: Sight, now: Instant) -> str:
    record, campaign = sight.seen.rollout.campaign, sight.intent.campaign
    if record is None or campaign is None:
        return ""
    if sight.intent.is_paused or record.phase is RolloutPhase.PAUSED:
        return "the rollout is paused"
    if record.phase in BACK:
        return "the rollout goes back"
    if record.phase not in clock.RUNNING:
        return "the waves have not opened"
    if not windows.is_open(campaign.openings, now):
        opens = windows.next_opening(campaign.openings, now)
        return f"no window is open until {moment(opens)}" if opens is not None else "no window is open"
    return ""


def lines(sight: Sight, now: Instant, width: int) -> Iterator[str]:
    """The deadline, then what it has cost by cause."""
    found, cost = used(sight, now), sight.seen.rollout.cost
    if found is not None:
        yield from wrapped(found.text, width, first="Attrition ", then=MARGIN)
    if cost is not None:
        yield from wrapped(f"GPU-hours lost: {accounts.by_cause(cost)}", width, first=MARGIN, then=MARGIN)


def as_data(sight: Sight, now: Instant) -> dict[str, Any]:
    """The same for scripts; nothing without attrition."""
    found, cost = used(sight, now), sight.seen.rollout.cost
    if sight.intent.attrition is None:
        return {}
    told: dict[str, Any] = {"deadlineSeconds": sight.intent.attrition.deadline_seconds}
    if found is not None:
        told |= {
            "usedSeconds": round(found.spent_seconds),
            "runsOutAt": moment(found.runs_out_at),
            "standsStill": found.still or None,
        }
    if cost is not None:
        told["cost"] = {
            "idleGPUHours": round(cost.idle_gpu_seconds / 3600, 2),
            "thrownAwayGPUHours": round(cost.thrown_gpu_seconds / 3600, 2),
            "reloadGPUHours": round(cost.reload_gpu_seconds / 3600, 2),
            "evictions": cost.evictions,
            "evictingAllGPUHours": round(cost.evicting_gpu_seconds / 3600, 2),
        }
    return {"attrition": told}
