"""Which of several rollouts is worked on, and which others are under way. One at a time: they share the nodes.

    deleted, and not under way ─▶ it is let go at once, so that nobody waits for it in vain
    under way ─▶ the oldest of them       none under way ─▶ the oldest not begun      all ended ─▶ the youngest

One that was Done and is to be undone has work again. Of those not begun, who comes after a rollout that is not Done
stands behind those who do not, and so does who waits for half-done nodes, since another may be there to finish them;
and of those that ended, who moved no driver stands behind those who did, since nodes that come late still want theirs.

Tests: tests/core/campaign/test_choosing.py
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import ENDED, RolloutPhase
from seatrial.core.model.seen.rollouts import RolloutRecord
from seatrial.core.movers.mover import mover_of


def whose_turn(
    records: Iterable[tuple[str, RolloutRecord]],
    after: Mapping[str, str] | None = None,
    undone: Collection[str] = (),
    deleted: Collection[str] = (),
) -> str:
    """The name of the rollout to work on, among records with when each was made; empty when there is none.

    `after` says which rollout comes after which other one; `undone` are those that somebody wants undone, and `deleted`
    those that somebody has deleted and that wait for us.
    """
    found = [(made, record.name, record) for made, record in records]
    leaving = [each for each in found if each[1] in deleted and (_has_ended(each[2]) or not _has_begun(each[2]))]
    if leaving:
        return min(leaving, key=lambda each: each[:2])[1]
    going = [each for each in found if not _has_ended(each[2]) or _goes_back(each[2], undone)]
    done = {record.name for _, _, record in found if phase_of(record) is RolloutPhase.DONE}
    waiting = {name for name, other in (after or {}).items() if other and other not in done}
    waiting |= {record.name for _, _, record in found if _waits_for_half_done(record)}
    if going:
        return min(going, key=lambda each: (not _has_begun(each[2]), each[1] in waiting, each[0], each[1]))[1]
    return max(found, key=lambda each: place_of_past(each[0], each[2]))[1] if found else ""


def is_past(record: RolloutRecord, *, is_undone: bool) -> bool:
    """Whether a rollout has ended and is not undone: it has a turn where it was deleted, or no other has work."""
    return _has_ended(record) and not (is_undone and _goes_back(record, {record.name}))


def place_of_past(made: str, record: RolloutRecord) -> tuple[bool, str, str]:
    """Of those that ended the one with the greatest place has the turn."""
    return (_moved_drivers(record), made, record.name)


def phase_of(record: RolloutRecord) -> RolloutPhase:
    """Where a rollout stands; one without a campaign is Done or not begun, which is all that others may rest on."""
    if record.campaign is not None:
        return record.campaign.phase
    return RolloutPhase.DONE if _has_ended(record) else RolloutPhase.PROPOSED


def others(records: Iterable[tuple[str, RolloutRecord]], name: str) -> tuple[str, ...]:
    """Campaigns beside this one that have begun and not ended."""
    return tuple(
        sorted(
            record.name
            for _, record in records
            if record.name != name and record.campaign is not None and record.campaign.is_under_way
        )
    )


def _has_begun(record: RolloutRecord) -> bool:
    if record.campaign is not None:
        return record.campaign.is_under_way
    return bool(record.admitted) or (record.summary is not None and record.summary.state == "progressing")


def _has_ended(record: RolloutRecord) -> bool:
    if record.campaign is not None:
        return record.campaign.phase in ENDED
    return record.summary is not None and record.summary.state == "done"


def _waits_for_half_done(record: RolloutRecord) -> bool:
    return record.summary is not None and HoldCode.HALF_DONE.value in dict(record.summary.holds)


def _goes_back(record: RolloutRecord, undone: Collection[str]) -> bool:
    """Whether a rollout that was Done has work again."""
    is_done = record.campaign is not None and record.campaign.phase is RolloutPhase.DONE
    return is_done and record.name in undone


def _moved_drivers(record: RolloutRecord) -> bool:
    return record.campaign is None or mover_of(record.campaign.mode).moves_drivers
