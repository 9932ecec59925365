"""What is written down of a rollout as a whole: the ledger, the campaign, and a summary for whoever looks.

Law of this file: the ledger is written at once when it changed; the summary goes with it, or at most every now and
then: soon where the rollout itself waits for something else, later where counts and words have changed. An edit of the
rollout is answered at once, since health checks wait for the answer. What is told in it does not change by itself:
instants are values, and how long ago they were is for the reader. Where the driver of decisions has a beat, an open
rollout is written again with every beat, so that people see that somebody looks.
Tests: tests/core/decision/test_decide.py, tests/core/decision/test_summary.py
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from operator import attrgetter
from typing import Final, TypeVar

from seatrial.core.actions.on_rollouts import WriteRolloutRecord, rollout_subject
from seatrial.core.budget import capacity, losses
from seatrial.core.campaign.course import Course
from seatrial.core.decision.inheriting import blocker_of, inherited
from seatrial.core.holds import Hold, HoldCode, Trait, having
from seatrial.core.model.campaign import ENDED, CampaignRecord, RolloutPhase
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.model.seen.rollouts import Admission, Cost, RolloutRecord, Summary, Told, Waiting
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.movers.mover import mover_seen
from seatrial.core.node.progress import Progress, is_left_out
from seatrial.core.node.writing import retry_at
from seatrial.core.text import foreign
from seatrial.core.text.names import a_few
from seatrial.core.words import causes, explain
from seatrial.core.words.causes import NEEDS_SOMEBODY

SUMMARY_SECONDS: Final = 15.0
"""The summary for people is written with the ledger, or at most this often by itself."""
NEWS_SECONDS: Final = 1.0
"""It is written at most this often where the rollout itself waits for something else than it says, or where something
else is in the way of nodes."""
OVER: Final = frozenset({"done", "reverted"})
TOLD_MAX: Final = 8
"""How many waits of the rollout itself its status tells in words."""
NAMED_MAX: Final = 5
"""How many nodes that wait for one reason the rollout's status names."""
FAILED_MAX: Final = 2
"""How many failed nodes a column names."""
TOLD_WORDS_MAX: Final = 3_000
"""How long the words for one wait of the rollout itself may be: a text to paste may be in them."""
WORDS_MAX: Final = 1_000
"""How long the words for one reason may be: others' words may be in them, and there may be many reasons."""
MOMENTS: Final = having(Trait.MOMENT)
CAUSE_PARAMS: Final = ("why", "diagnosis", "lack")
"""Parameters by which failed nodes differ in their cause; each has a few values."""
REBUFFS_MAX: Final = 50
"""How many writes that were turned down the rollout's status names."""

T = TypeVar("T", bound=Told)


def write_rollout(
    seen: Snapshot,
    ledger: tuple[Admission, ...],
    summary: Summary,
    now: Instant,
    campaign: CampaignRecord | None = None,
    cost: Cost | None = None,
) -> tuple[tuple[WriteRolloutRecord, ...], Instant | None]:
    """The ledger at once when it changed; the summary with it, or by itself as often as its news is worth."""
    before = seen.rollout
    subject = rollout_subject(before.name)
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
        cost=cost,
        rebuffs=tuple(sorted(seen.rebuffs.items()))[:REBUFFS_MAX],
        attentive_since=seen.attentive_since,
        campaign=campaign,
        generation=before.generation,
        observed_generation=before.generation,
    )
    # To be deleted counts as an edit, and is answered by going away.
    is_answer = before.generation != before.observed_generation and not seen.is_deleting
    is_news = is_answer or before.summary is None or before.summary.state != summary.state
    if ledger != before.admitted or campaign != before.campaign or is_news:
        return (WriteRolloutRecord(record=record),), None
    if before.summary is not None and not before.summary.waiting:
        # A release that told of no nodes wrote it. It is told of them with the next write: our upgrade is no news.
        summary = replace(summary, waiting=())
    if (summary, record.rebuffs) == (before.summary, before.rebuffs):
        return _looked(seen, record, now)
    # A summary from the future is of a clock that was put back, and is not waited for.
    due_at = before.summarised_at + _rest_seconds(before.summary, summary) if before.summarised_at <= now else now
    return ((WriteRolloutRecord(record=record),), None) if now >= due_at else ((), due_at)


def _looked(
    seen: Snapshot, record: RolloutRecord, now: Instant
) -> tuple[tuple[WriteRolloutRecord, ...], Instant | None]:
    """That somebody still looks, now and then while the rollout is open: who reads an old status knows nothing."""
    is_open = record.summary is not None and record.summary.state not in OVER
    if not seen.beat_seconds or not is_open:
        return (), None
    due_at = min(record.summarised_at, seen.rollout.summarised_at) + seen.beat_seconds
    return ((WriteRolloutRecord(record=record),), None) if now >= due_at else ((), due_at)


def _rest_seconds(before: Summary | None, after: Summary) -> float:
    """How long what is written may stay as it is, by what is new."""
    is_other = before is None or {each.code for each in before.told} != {each.code for each in after.told}
    is_news = is_other or before is None or _obstacles(before) != _obstacles(after)
    return NEWS_SECONDS if is_news else SUMMARY_SECONDS


def _obstacles(summary: Summary) -> frozenset[str]:
    """What is in somebody's way."""
    return frozenset(code for code, _ in summary.holds if causes.is_obstacle(code))


def summed_up(
    seen: Snapshot, holds: tuple[Hold, ...], stop: Hold | None, intent: Intent, course: Course, kept: tuple[Hold, ...]
) -> Summary:
    """The summary of a pass: of the nodes, and of the campaign where there is one."""
    summary = summarise(seen, holds, stop, intent)
    # While nobody is free to act, no deadline comes nearer: it would be another one in every pass.
    is_timed = stop is None and HoldCode.TARGET_NOT_PUBLISHED not in dict(summary.holds)
    told = told_of((*course.holds, *kept) if stop is None else (stop,))
    blocker = blocker_of(told)
    if course.is_plain:
        return replace(summary, waiting=waiting_of(waits_of(holds, stop), blocker, is_timed=is_timed))
    state = state_of(course.record, stop, is_moving=summary.state == "progressing")
    mine = (held for held in holds if held.subject in seen.nodes)
    return replace(summary, state=state, told=told, waiting=waiting_of(mine, blocker, is_timed=is_timed))


def waits_of(holds: tuple[Hold, ...], stop: Hold | None) -> tuple[Hold, ...]:
    """Every hold to tell people of: the rollout's own, too, where no node shows it."""
    return holds if stop is None or any(held.code is stop.code for held in holds) else (*holds, stop)


def told_of(holds: Iterable[Hold], blocker: Told | None = None) -> tuple[Told, ...]:
    """Why a campaign or a node waits, in words: who reads its status has no controller to ask."""
    return tuple(
        # As it will be read again: what is not the same then would be written on every pass.
        _cut(
            Told(
                code=held.code,
                why=explain.why(held),
                next_step=explain.next_step(held),
                since=_written(held.since),
                until=_written(held.until),
            ),
            blocker,
            TOLD_WORDS_MAX,
        )
        for held in sorted(holds, key=_place)[:TOLD_MAX]
        if held.code is not HoldCode.WRITE_IN_FLIGHT
    )


def _cut(told: T, blocker: Told | None, length_max: int) -> T:
    """With what keeps the rollout, where that keeps the node, and no longer than a status has room for."""
    said = inherited(told, blocker)
    return replace(said, why=foreign.lines(said.why, length_max), next_step=foreign.lines(said.next_step, length_max))


def _place(held: Hold) -> tuple[int, int]:
    return causes.place(held.code)


def waiting_of(holds: Iterable[Hold], blocker: Told | None = None, *, is_timed: bool = True) -> tuple[Waiting, ...]:
    """The nodes that wait, by reason: how many, the first of them by name, and the words of the very first."""
    groups: dict[tuple[str, ...], list[Hold]] = defaultdict(list)
    for held in holds:
        if held.code not in MOMENTS:
            groups[_reason(held)].append(held)
    ranked = sorted(groups, key=lambda reason: (causes.place(reason[0]), reason))
    waiting = [_waiting(groups[reason], is_timed=is_timed) for reason in ranked]
    # What one node waits for may hold up the whole rollout; it then stands first.
    blocker = blocker or next((each for each in waiting[:1] if each.code in NEEDS_SOMEBODY), None)
    return tuple(_cut(each, blocker, WORDS_MAX) for each in waiting)


def _reason(held: Hold) -> tuple[str, ...]:
    """What nodes have to share to be explained by the words of the first: the code, and of a failure its cause."""
    params = dict(held.params) if held.code is HoldCode.FAILED else {}
    return (held.code, *(params.get(name, "") for name in CAUSE_PARAMS)) if params else (held.code,)


def _waiting(group: list[Hold], *, is_timed: bool) -> Waiting:
    named = heapq.nsmallest(NAMED_MAX, group, key=attrgetter("subject"))
    return Waiting(
        code=named[0].code,
        why=explain.why(named[0]),
        next_step=explain.next_step(named[0]),
        since=_written(named[0].since),
        until=_written(named[0].until) if is_timed else None,
        nodes=tuple(held.subject for held in named),
        count=len(group),
    )


def _written(instant: Instant | None) -> Instant | None:
    """An instant as it will be read again: to the millisecond."""
    return round(instant, 3) if instant is not None else None


def state_of(record: CampaignRecord, stop: Hold | None, *, is_moving: bool) -> str:
    """A campaign's state in one word: it is over only when its last phase is."""
    if record.phase in ENDED:
        return "done" if record.phase is RolloutPhase.DONE else "reverted"
    return "progressing" if is_moving and stop is None else "waiting"


def summarise(seen: Snapshot, holds: Iterable[Hold], stop: Hold | None, intent: Intent | None = None) -> Summary:
    """Counts by phase, holds by code; `done` only when every member is, `waiting` when stopped or nobody is under way.

    A stopped rollout is not done even when every node is in order: they may all be in order on the old driver. In a
    step by hand nodes are done that have what people bring.
    """
    found = mover_seen(seen, intent).phases(seen.nodes)
    phases = {phase: len(names) for phase, names in found.items()}
    codes = Counter(map(attrgetter("code"), holds))
    told = {code: count for code, count in codes.items() if code is not HoldCode.WRITE_IN_FLIGHT}
    mover = mover_seen(seen, intent)
    standings = mover.standings(seen.nodes, mover.target(intent)) if intent is not None else {}
    on_target = standings.get(Progress.DONE, ())
    # Nodes whose records say done may be so for an earlier target: it is over when all were seen to run this one, and
    # stays so while nothing is asked for anew, also when a driver is started again.
    is_there = intent is None or len(on_target) == len(seen.nodes) or _was_done(seen)
    is_done = bool(seen.nodes) and phases.get(NodePhase.UPGRADE_DONE) == len(seen.nodes) and not told and is_there
    at_work = (admission for admission in seen.rollout.admitted if capacity.is_at_work(admission, seen.nodes))
    is_moving = any(at_work) or HoldCode.LEDGER_PENDING in told
    return Summary(
        state="waiting" if stop is not None else "done" if is_done else "progressing" if is_moving else "waiting",
        counts=tuple(sorted((phase.value if phase else "unknown", count) for phase, count in phases.items())),
        holds=tuple(sorted((code.value, count) for code, count in told.items())),
        done=len(on_target),
        total=len(seen.nodes),
        failed=_failed(seen, standings.get(Progress.FAILED, ())),
    )


def _failed(seen: Snapshot, names: Iterable[str]) -> str:
    """How many of these no person has left out, and which, in the room of a column."""
    failed = sorted(name for name in names if not is_left_out(seen.nodes[name].facts))
    return f"{len(failed)} ({a_few(failed, FAILED_MAX)})" if failed else ""


def _was_done(seen: Snapshot) -> bool:
    before = seen.rollout
    is_same = before.generation == before.observed_generation
    return before.summary is not None and before.summary.state == "done" and is_same
