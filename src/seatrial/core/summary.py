"""What is written down of a rollout as a whole: the ledger, the campaign, and a summary for whoever looks.

Law of this file: the ledger is written at once when it changed; the summary goes with it, or at most every now and
then. Tests: tests/core/test_decide.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from seatrial.core import actions as acts
from seatrial.core import foreign
from seatrial.core.actions import WriteRolloutRecord
from seatrial.core.budget import capacity, losses
from seatrial.core.campaign.course import Course
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.campaign import ENDED, ByHand, CampaignRecord, Mode, RolloutPhase
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.snapshot import (
    Admission,
    NodePhase,
    NodeSeen,
    RolloutRecord,
    Snapshot,
    Summary,
    Told,
)
from seatrial.core.node import observed
from seatrial.core.node.progress import Standing
from seatrial.core.node.writing import retry_at
from seatrial.core.words import explain

SUMMARY_SECONDS: Final = 15.0
"""The summary for people is written with the ledger, or at most this often by itself."""
TOLD_MAX: Final = 8
"""How many waits of the rollout itself its status tells in words."""
REBUFFS_MAX: Final = 50
"""How many writes that were turned down the rollout's status names."""
_STATES: Final = frozenset(phase.value for phase in NodePhase)


def write_rollout(
    seen: Snapshot,
    ledger: tuple[Admission, ...],
    summary: Summary,
    now: Instant,
    campaign: CampaignRecord | None = None,
) -> tuple[tuple[WriteRolloutRecord, ...], Instant | None]:
    """The ledger at once when it changed; the summary with it, or at most every SUMMARY_SECONDS."""
    before = seen.rollout
    subject = acts.rollout_subject(before.name)
    rebuff = seen.rebuffs.get(subject)
    if subject in seen.busy:
        return (), seen.busy[subject]
    if rebuff is not None and now < retry_at(rebuff):
        return (), retry_at(rebuff)
    record = RolloutRecord(
        name=before.name,
        resource_version=before.resource_version,
        admitted=ledger,
        summary=summary,
        summarised_at=now,
        lost_gpu_seconds=losses.lost_gpu_seconds(seen, now),
        rebuffs=tuple(sorted(seen.rebuffs.items()))[:REBUFFS_MAX],
        attentive_since=seen.attentive_since,
        campaign=campaign,
    )
    is_news = before.summary is None or before.summary.state != summary.state
    if ledger != before.admitted or campaign != before.campaign or is_news:
        return (WriteRolloutRecord(record=record),), None
    if (summary, record.rebuffs) == (before.summary, before.rebuffs):
        return (), None
    # A summary from the future is of a clock that was put back, and is not waited for.
    due_at = before.summarised_at + SUMMARY_SECONDS if before.summarised_at <= now else now
    return ((WriteRolloutRecord(record=record),), None) if now >= due_at else ((), due_at)


def summed_up(
    seen: Snapshot, holds: Iterable[Hold], stop: Hold | None, intent: Intent, course: Course, kept: tuple[Hold, ...]
) -> Summary:
    """The summary of a pass: of the nodes, and of the campaign where there is one."""
    step = intent.campaign.by_hand if intent.campaign is not None else None
    summary = summarise(seen, holds, stop, step)
    if course.is_plain:
        return summary
    state = state_of(course.record, stop, is_moving=summary.state == "progressing")
    return replace(summary, state=state, told=told_of((*course.holds, *kept) if stop is None else (stop,)))


def told_of(holds: Iterable[Hold]) -> tuple[Told, ...]:
    """Why a campaign waits, in words: who reads its status has no controller to ask."""
    return tuple(
        # As it will be read again: what is not the same then would be written on every pass.
        Told(
            code=held.code,
            why=foreign.lines(explain.why(held)),
            next_step=foreign.lines(explain.next_step(held)),
            until=held.until,
        )
        for held in list(holds)[:TOLD_MAX]
        if held.code is not HoldCode.WRITE_IN_FLIGHT
    )


def state_of(record: CampaignRecord, stop: Hold | None, *, is_moving: bool) -> str:
    """A campaign's state in one word: it is over only when its last phase is."""
    if record.phase in ENDED:
        return "done" if record.phase is RolloutPhase.DONE else "reverted"
    return "progressing" if is_moving and stop is None else "waiting"


def summarise(seen: Snapshot, holds: Iterable[Hold], stop: Hold | None, step: ByHand | None = None) -> Summary:
    """Counts by phase, holds by code; `done` only when every member is, `waiting` when stopped or nobody is under way.

    A stopped rollout is not done even when every node is in order: they may all be in order on the old driver. In a
    step by hand nodes are done that have what people bring.
    """
    record = seen.rollout.campaign
    is_delegated = record is not None and record.mode is Mode.DELEGATED
    phases = Counter(_phase_of(node, is_delegated, step) for node in seen.nodes.values())
    return summary_of(seen, phases, Counter(held.code for held in holds), stop)


def _phase_of(node: NodeSeen, is_delegated: bool, step: ByHand | None) -> NodePhase | None:
    """Where a node stands, by the word of whoever moves it."""
    if step is not None:
        is_done = observed.standing_of(node.facts, step) is Standing.DONE
        return NodePhase.UPGRADE_DONE if is_done else NodePhase.UPGRADE_REQUIRED
    if not is_delegated:
        return node.record.phase if node.record else None
    state = node.facts.nvidia_state
    return NodePhase(state) if state in _STATES else None


def summary_of(
    seen: Snapshot, phases: Mapping[NodePhase | None, int], codes: Mapping[HoldCode, int], stop: Hold | None
) -> Summary:
    """The same, from how many are in which phase and held for which reason; looks at the ledger's nodes only."""
    told = {code: count for code, count in codes.items() if code is not HoldCode.WRITE_IN_FLIGHT}
    is_done = bool(seen.nodes) and phases.get(NodePhase.UPGRADE_DONE) == len(seen.nodes) and not told
    at_work = (admission for admission in seen.rollout.admitted if capacity.is_at_work(admission, seen.nodes))
    is_moving = any(at_work) or HoldCode.LEDGER_PENDING in told
    return Summary(
        state="waiting" if stop is not None else "done" if is_done else "progressing" if is_moving else "waiting",
        counts=tuple(sorted((phase.value if phase else "unknown", count) for phase, count in phases.items())),
        holds=tuple(sorted((code.value, count) for code, count in told.items())),
    )
