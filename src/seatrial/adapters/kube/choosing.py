"""Which of several rollouts is worked on, and which others are under way. One at a time: they share the nodes.

    under way ─▶ the oldest of them       none under way ─▶ the oldest not begun      all ended ─▶ the youngest

Tests: tests/adapters/kube/test_choosing.py
"""

from __future__ import annotations

from collections.abc import Iterable

from seatrial.core.campaign import CampaignRecord, RolloutPhase
from seatrial.core.rollout import ENDED
from seatrial.core.snapshot import RolloutRecord


def whose_turn(records: Iterable[tuple[str, RolloutRecord]]) -> str:
    """The name of the rollout to work on, among records with when each was made; empty when there is none."""
    found = [(made, record.name, record) for made, record in records]
    going = [each for each in found if not _has_ended(each[2])]
    if going:
        return min(going, key=lambda each: (not _has_begun(each[2]), each[0], each[1]))[1]
    return max(found, key=lambda each: (each[0], each[1]))[1] if found else ""


def others(records: Iterable[tuple[str, RolloutRecord]], name: str) -> tuple[str, ...]:
    """Campaigns beside this one that have begun and not ended."""
    return tuple(
        sorted(
            record.name
            for _, record in records
            if record.name != name and record.campaign is not None and _is_under_way(record.campaign)
        )
    )


def _has_begun(record: RolloutRecord) -> bool:
    if record.campaign is not None:
        return _is_under_way(record.campaign)
    return bool(record.admitted) or (record.summary is not None and record.summary.state == "progressing")


def _has_ended(record: RolloutRecord) -> bool:
    if record.campaign is not None:
        return record.campaign.phase in ENDED
    return record.summary is not None and record.summary.state == "done"


def _is_under_way(campaign: CampaignRecord) -> bool:
    phase = campaign.paused_in if campaign.phase is RolloutPhase.PAUSED else campaign.phase
    return phase not in (None, RolloutPhase.PROPOSED, *ENDED)
