"""The campaign: phases as a table, and `step_rollout`, which says what a rollout does next and who may move at all.

    Proposed ─ preflight ─▶ Canary ─ done ─▶ Gating ─ passed ─▶ Baking ─ evidence ─▶ Waving ─ all ─▶ Promoting ─▶ Done
        │                     ▲ └─ the canary is another node than it was ──┘           │                 │          │
        │ aborted             │                                                         │                 │          │
        ▼                     └──────── failed, or somebody wants it undone ────────────┴──────┬──────────┴──────────┘
    Reverted ◀─ all nodes back, entry marked ─ Reverting ◀─────────────────────────────────────┘

Law of this file: a pass either writes the next record or acts upon the record it has seen, never both; so a crash
between any two writes loses nothing. Everything outside of the nodes is done at most once and found again by name: a
commit by its step, a probe by its round, a mark by the node's label. Who is not open is not touched.

    preflight.py  what has to be so before the first write     publishing.py  which resource carries which version
    baking.py     rounds of gates, and evidence                 marks.py       canary and skip labels, the canary's pool

docs/reference/rollout-phases.md and its diagram are drawn from TRANSITIONS. Tests: tests/core/test_rollout.py
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, assert_never

from seatrial.core import (
    baking,
    by_hand,
    canary,
    capacity,
    delegating,
    marks,
    order,
    preflight,
    prepulling,
    publishing,
    waves,
    windows,
)
from seatrial.core.actions import CampaignAct, MarkBad, Promote, RevertCommits, StartProbe
from seatrial.core.campaign import (
    PUBLISHING,
    CampaignRecord,
    Mode,
    Point,
    PublishStep,
    RolloutPhase,
    SourceFacts,
    Turn,
    Via,
)
from seatrial.core.errors import CoreBug
from seatrial.core.gates import TRIES_MAX, Verdict
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.instants import Instant
from seatrial.core.intent import Intent
from seatrial.core.readiness import why_unproven
from seatrial.core.snapshot import NodePhase, NodeSeen, Snapshot
from seatrial.core.standing import Standing, is_same, wants
from seatrial.core.views import View

_MIDDLE: Final = frozenset({RolloutPhase.REVERTING, RolloutPhase.PAUSED})

TRANSITIONS: Final[Mapping[RolloutPhase, frozenset[RolloutPhase]]] = {
    RolloutPhase.PROPOSED: frozenset({RolloutPhase.CANARY, RolloutPhase.REVERTED, RolloutPhase.PAUSED}),
    RolloutPhase.CANARY: frozenset({RolloutPhase.GATING, *_MIDDLE}),
    RolloutPhase.GATING: frozenset({RolloutPhase.BAKING, RolloutPhase.CANARY, *_MIDDLE}),
    RolloutPhase.BAKING: frozenset({RolloutPhase.WAVING, RolloutPhase.CANARY, *_MIDDLE}),
    RolloutPhase.WAVING: frozenset({RolloutPhase.PROMOTING, *_MIDDLE}),
    RolloutPhase.PROMOTING: frozenset({RolloutPhase.DONE, *_MIDDLE}),
    RolloutPhase.DONE: frozenset({RolloutPhase.REVERTING}),
    RolloutPhase.PAUSED: frozenset(
        {
            RolloutPhase.PROPOSED,
            RolloutPhase.CANARY,
            RolloutPhase.GATING,
            RolloutPhase.BAKING,
            RolloutPhase.WAVING,
            RolloutPhase.PROMOTING,
            RolloutPhase.REVERTING,
        }
    ),
    RolloutPhase.REVERTING: frozenset({RolloutPhase.REVERTED, RolloutPhase.PAUSED}),
    RolloutPhase.REVERTED: frozenset(),
}

ENDED: Final = frozenset({RolloutPhase.DONE, RolloutPhase.REVERTED})
HISTORY_MAX: Final = 40
"""How many changes of phase the status remembers; the journal remembers all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What a campaign does next: its record as it should be, acts of its own, who may start, and why it waits."""

    record: CampaignRecord
    acts: tuple[CampaignAct, ...] = ()
    open: frozenset[str] = frozenset()
    """The nodes that may start; whoever is under way goes on in any case."""
    holds: tuple[Hold, ...] = ()
    wake_at: Instant | None = None


def step_rollout(seen: Snapshot, intent: Intent, now: Instant, stop: Hold | None = None) -> Course:
    """The next step of a campaign."""
    campaign = intent.campaign
    if campaign is None:
        raise CoreBug(f"{intent.rollout} is no campaign; decide moves its nodes without one.")
    record = seen.rollout.campaign
    if record is None:
        record = CampaignRecord(entered_at=now, history=(Turn(phase=RolloutPhase.PROPOSED, at=now),))
        view = View(seen=seen, intent=intent, campaign=campaign, record=record, now=now)
        return Course(record=record, holds=preflight.behind(view))
    view = View(seen=seen, intent=intent, campaign=campaign, record=record, now=now)
    if intent.is_paused:
        return _pause(view)
    if record.phase is RolloutPhase.PAUSED:
        return _resume(view)
    if stop is not None:
        return Course(record=record)  # nothing is decided on a view that is not to be trusted; decide says why
    if campaign.abort and record.phase not in (RolloutPhase.REVERTING, RolloutPhase.REVERTED):
        to = RolloutPhase.REVERTED if record.phase is RolloutPhase.PROPOSED else RolloutPhase.REVERTING
        course = _turn(view, to, why=campaign.abort)
    else:
        course = _step(view)
    clock = marks.paused_pool(view)
    course = replace(course, holds=(*course.holds, clock)) if clock is not None else course
    if record.phase in (RolloutPhase.GATING, RolloutPhase.BAKING) and not course.acts:
        acts, holds = marks.prepare(view, _with_units(view, record.canaries))
        course = replace(course, acts=acts, holds=(*course.holds, *holds))
    course = replace(course, wake_at=_earliest(course))
    if course.record.phase in ENDED and record.phase not in ENDED:
        # An end rests on nothing being left, and what we have written but not seen yet would be.
        unseen = sorted(subject for subject in seen.busy if subject in seen.nodes or view.is_ours(subject))
        if unseen:
            told = view.hold(HoldCode.WRITE_IN_FLIGHT, until=seen.busy[unseen[0]])
            return Course(record=record, holds=(told,), wake_at=told.until)
    # Record first: acts wait until the record they rest on has been seen.
    return course if course.record == record else replace(course, acts=(), open=frozenset())


def _step(view: View) -> Course:
    match view.record.phase:
        case RolloutPhase.PROPOSED:
            return _propose(view)
        case RolloutPhase.CANARY:
            return _move_canaries(view)
        case RolloutPhase.GATING:
            return _gate(view)
        case RolloutPhase.BAKING:
            return _bake(view)
        case RolloutPhase.WAVING:
            return _wave(view)
        case RolloutPhase.PROMOTING:
            return _promote(view)
        case RolloutPhase.REVERTING:
            return _revert(view)
        case RolloutPhase.DONE:
            return Course(record=view.record, open=_late(view))
        case RolloutPhase.REVERTED:
            return Course(record=view.record)
        case RolloutPhase.PAUSED:
            raise CoreBug("a pause is ended before anything else is decided")
        case _:
            assert_never(view.record.phase)


# ── forward ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _propose(view: View) -> Course:
    chosen = canary.choose(view.nodes, view.campaign.canary)
    holds = preflight.why_not(view, chosen)
    if holds:
        return Course(record=view.record, holds=holds)
    before = by_hand.before(view) if view.mode is Mode.BY_HAND else publishing.baseline(view)
    return _turn(view, RolloutPhase.CANARY, mode=view.mode, canaries=chosen, baseline=before)


def _move_canaries(view: View) -> Course:
    record = view.record
    gone = [name for name in record.canaries if name not in view.nodes]
    if gone:
        return _replace_canaries(view, gone)
    standing = {name: view.standing(name) for name in record.canaries}
    failed = [name for name, how in standing.items() if how is Standing.FAILED and not _is_retried(view, name)]
    if failed:
        return _fail(view, f"canary {', '.join(failed)} failed: {_why_failed(view, failed[0])}")
    if all(how is Standing.DONE for how in standing.values()):
        # A round's number is never used again: what was measured for it before is of the canary as it was then.
        number = record.round + 1
        return _turn(view, RolloutPhase.GATING, round=number, round_at=view.now, gates=(), baked_seconds=0.0)
    waiting = _waits_for_source(view)
    acts, holds = marks.prepare(view, _with_units(view, record.canaries))
    if waiting is None and not holds:
        acts, holds = publishing.publish(view, PublishStep.CANARY, publishing.resources_of(view, record.canaries))
    elif waiting is not None:
        acts, holds = (), (waiting,)
    if acts or holds:
        return Course(record=record, acts=acts, holds=holds)
    told = (
        by_hand.due(view, record.canaries)
        if view.mode is Mode.BY_HAND
        else view.hold(HoldCode.CANARY_AT_WORK, nodes=", ".join(record.canaries))
    )
    return _let_start(view, _with_units(view, record.canaries), told)


def _let_start(view: View, names: frozenset[str], told: Hold) -> Course:
    """Open these nodes, as far as a window is open and the image is there."""
    closed = _closed(view)
    if closed is not None:
        return Course(record=view.record, holds=(closed,))
    if view.mode is not Mode.DIRECT:  # they are let in already, by the skip label that is gone, or moved by people
        return Course(record=view.record, open=names, holds=(told,))
    ready, acts, holds = prepulling.bring(view, names)
    return Course(record=view.record, acts=acts, open=ready, holds=(told, *holds))


def _replace_canaries(view: View, gone: list[str]) -> Course:
    """A canary that left the cluster takes its evidence with it; another node goes first in its place."""
    left = tuple(name for name in view.record.canaries if name not in gone)
    rest = {name: node for name, node in view.nodes.items() if name not in left}
    # What is published is published: a node that another resource owns would need a step that is taken already.
    same = {name: node for name, node in rest.items() if publishing.is_published(view, name)}
    rest = same or rest
    wanted = replace(view.campaign.canary, count=len(gone), nodes=())
    found = canary.choose(rest, wanted)
    if not left and not found:
        return Course(record=view.record, holds=(view.hold(HoldCode.NO_CANARY, wanted=len(gone), found=0, why=""),))
    why = f"canary {', '.join(gone)} is gone" + (f"; {', '.join(found)} goes first instead" if found else "")
    canaries = tuple(sorted((*left, *found)))
    turn = Turn(phase=RolloutPhase.CANARY, at=view.now, why=why)
    return Course(record=replace(view.record, canaries=canaries, history=_history(view.record, turn)))


def _gate(view: View) -> Course:
    lost = _lost_canaries(view)
    if lost:
        return _turn(view, RolloutPhase.CANARY, why=lost, gates=())
    looked = _look(view)
    record = replace(view.record, gates=looked.results)
    match looked.verdict:
        case Verdict.FAILED:
            return _fail(view, _evidence(looked), gates=looked.results)
        case Verdict.PASSED:
            return _turn(view, RolloutPhase.BAKING, gates=looked.results, baked_until=view.now)
        case Verdict.UNKNOWN:
            return _ask_again(view, record, looked)
        case Verdict.PENDING:
            return Course(record=record, acts=_probes(view, looked), holds=(_running(view, looked),))
        case _:
            assert_never(looked.verdict)


def _bake(view: View) -> Course:
    lost = _lost_canaries(view)
    if lost:
        return _turn(view, RolloutPhase.CANARY, why=lost, gates=())
    record, now = view.record, view.now
    if record.baked_until >= record.round_at:  # the last round is over and accounted for
        return _between_rounds(view)
    looked = _look(view)
    record = replace(record, gates=looked.results)
    match looked.verdict:
        case Verdict.FAILED:
            return _fail(view, _evidence(looked), gates=looked.results)
        case Verdict.PASSED:
            return Course(record=baking.counted(record, view.seen.attentive_since, now))
        case Verdict.UNKNOWN:
            return Course(record=baking.uncounted(record, now))
        case Verdict.PENDING:
            return Course(record=record, acts=_probes(view, looked), holds=(_running(view, looked),))
        case _:
            assert_never(looked.verdict)


def _between_rounds(view: View) -> Course:
    record, campaign = view.record, view.campaign
    # A round that a pause cut short has no verdicts, and those of nobody are no pass.
    has_passed = bool(record.gates) and all(each.verdict is Verdict.PASSED for each in record.gates)
    if baking.is_ended(record, campaign) and has_passed:
        waiting = _approval(view, Point.WAVES)
        if waiting is None:
            return _turn(view, RolloutPhase.WAVING, wave=0)
    else:
        waiting = None
    due_at = baking.round_due_at(record, campaign)
    if view.now >= due_at:
        return Course(record=baking.next_round(record, view.now))
    if waiting is not None:  # asked again all the same: who says yes in three days is to rest on today's evidence
        return Course(record=record, holds=(waiting,), wake_at=due_at)
    unknown = [each for each in record.gates if each.verdict is Verdict.UNKNOWN]
    if unknown:
        return Course(record=record, holds=(_unmeasured(view, unknown[0].gate, unknown[0].node, due_at),))
    left_seconds = campaign.bake.seconds - record.baked_seconds
    told = view.hold(
        HoldCode.BAKING,
        hours=f"{record.baked_seconds / 3600:.1f}",
        asked=f"{campaign.bake.seconds / 3600:.1f}",
        left=f"{left_seconds / 3600:.1f}",
        until=due_at,
    )
    return Course(record=record, holds=(told,))


def _wave(view: View) -> Course:
    record = view.record
    bounds, names = _wave_names(view)
    standing = {name: view.standing(name) for name in names}
    failed = sorted(name for name, how in standing.items() if how is Standing.FAILED)
    if len(failed) > view.intent.failed_max:
        limit, nodes = view.intent.failed_max, _some(failed)
        told = view.hold(HoldCode.FAILURE_BUDGET, failed=len(failed), limit=limit, nodes=nodes)
        return Course(record=record, holds=(told,))
    at_work = sorted(name for name, how in standing.items() if how in (Standing.AWAY, Standing.MOVING))
    if not at_work:
        return _end_wave(view, len(bounds))
    waiting = _waits_for_source(view)
    acts, holds = marks.prepare(view, set(names))
    if waiting is not None:
        acts, holds = (), (waiting,)
    elif not holds:
        acts, holds = publishing.publish(view, PublishStep.FLEET, publishing.resources_of(view, view.nodes))
    if acts or holds:
        return Course(record=record, acts=acts, holds=holds)
    told = (
        by_hand.due(view, at_work)
        if view.mode is Mode.BY_HAND
        else view.hold(HoldCode.WAVE_AT_WORK, wave=record.wave + 1, waves=max(1, len(bounds)), left=len(at_work))
    )
    return _let_start(view, names, told)


def _end_wave(view: View, count: int) -> Course:
    """A wave is over: the next one, after the pause between them; or promotion, after the last."""
    record, now = view.record, view.now
    if record.wave + 1 >= count:
        waiting = _approval(view, Point.PROMOTION)
        if waiting is not None:
            return Course(record=record, holds=(waiting,))
        day = datetime.fromtimestamp(now, UTC)
        return _turn(view, RolloutPhase.PROMOTING, date=f"{day:%Y-%m-%d}", tag_base=f"v{day:%Y-%m}-stable")
    pause_seconds = view.campaign.waves.pause_seconds
    if pause_seconds and record.settled_at < record.entered_at:
        return Course(record=replace(record, settled_at=now))
    next_at = record.settled_at + pause_seconds
    if pause_seconds and now < next_at:
        told = view.hold(HoldCode.WAVE_PAUSE, wave=record.wave + 1, waves=count, until=next_at)
        return Course(record=record, holds=(told,))
    turn = Turn(phase=RolloutPhase.WAVING, at=now, why=f"wave {record.wave + 2} of {count}")
    return Course(record=replace(record, wave=record.wave + 1, entered_at=now, history=_history(record, turn)))


def _promote(view: View) -> Course:
    record = view.record
    if view.campaign.has_source:
        source = view.source
        if source is None or source.trouble:
            return Course(record=record, holds=(_unreachable(view, source),))
        is_begun = bool(source.commit_of(PublishStep.PROMOTION))
        waiting = None if is_begun else preflight.why_source(view)
        if waiting is not None:
            return Course(record=record, holds=(waiting,))
        if not is_begun or not source.tag:
            act = Promote(rollout=view.name, date=record.date, tag_base=record.tag_base)
            acts, holds = view.act(act, HoldCode.PROMOTION_PENDING, tag=record.tag_base)
            return Course(record=record, acts=acts, holds=holds)
    acts, holds = marks.clear(view)
    if acts or holds:
        return Course(record=record, acts=acts, holds=holds, open=_late(view))
    return _turn(view, RolloutPhase.DONE)


def _late(view: View) -> frozenset[str]:
    """Who may still follow after the last wave: nodes that failed and are tried again, nodes that came later."""
    if view.seen.others:
        return frozenset()  # another campaign on its way back may want what we wanted, and moves the nodes itself
    return frozenset(name for name, node in view.nodes.items() if wants(node.facts, view.target))


# ── back ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _fail(view: View, why: str, **changes: object) -> Course:
    """Something failed: undo it, or ask a person whether to."""
    if Point.ROLLBACK in view.campaign.manual and Point.ROLLBACK not in view.campaign.approved:
        record = replace(view.record, **changes)  # type: ignore[arg-type]
        return Course(record=record, holds=(view.hold(HoldCode.ROLLBACK_PENDING, why=why),))
    return _turn(view, RolloutPhase.REVERTING, why=why, **changes)


def _revert(view: View) -> Course:
    """Back to what was before: the same machine, with the old version wanted."""
    record = view.record
    acts, holds = _unpublish(view)
    if not acts and view.campaign.has_source:
        source = view.source
        is_marked = source is not None and bool(source.bad or source.commit_of(PublishStep.BAD))
        if source is None or source.trouble:
            told = _unreachable(view, source)
            holds = holds if is_marked or told in holds else (*holds, told)
        elif not is_marked:
            acts, pending = view.act(MarkBad(rollout=view.name, why=record.why), HoldCode.REVERT_PENDING)
            holds = (*holds, *pending)
    if view.mode is Mode.BY_HAND:
        return _revert_by_hand(view, acts, holds)
    touched = {name for name, node in view.nodes.items() if _is_touched(node)}
    back = {name for name in touched if _is_back(view, name)}
    open_ = frozenset(name for name in touched - back if wants(view.nodes[name].facts, view.way_back(name)))
    if touched - back:
        if view.mode is Mode.DELEGATED and not acts:
            acts = marks.let_back(view, open_)  # and NVIDIA's controller leaves a failed node alone until it is asked
        holds = (*holds, view.hold(HoldCode.NODES_GOING_BACK, nodes=_some(sorted(touched - back))))
        return Course(record=record, acts=acts, holds=holds, open=open_)
    if acts or holds:
        return Course(record=record, acts=acts, holds=holds)
    if view.mode is Mode.DELEGATED:
        record = delegating.forgetting(view)
        acts, holds = delegating.forget(view)
        if record != view.record or acts or holds:
            return Course(record=record, acts=acts, holds=holds)
    acts, holds = marks.clear(view)
    if acts or holds:
        return Course(record=record, acts=acts, holds=holds)
    return _turn(view, RolloutPhase.REVERTED, why=record.why)


def _revert_by_hand(view: View, acts: tuple[CampaignAct, ...], holds: tuple[Hold, ...]) -> Course:
    """People take it back, or say that it stays where no way leads back."""
    still = by_hand.still_there(view)
    if still:
        holds = (*holds, by_hand.going_back(view, still))
    if not acts and not holds:
        acts, holds = marks.clear(view)
    if acts or holds:
        return Course(record=view.record, acts=acts, holds=holds)
    return _turn(view, RolloutPhase.REVERTED, why=view.record.why)


def _unpublish(view: View) -> tuple[tuple[CampaignAct, ...], tuple[Hold, ...]]:
    """Have every resource carry again what it carried before us, and the matrix say what it said."""
    if view.campaign.publish is Via.GIT:
        acts, holds = _take_back(view)
        return (acts, holds) if acts or holds else publishing.await_carried(view, view.record.baseline)
    acts, holds = publishing.publish(view, PublishStep.REVERT, view.record.baseline)
    if acts or not _is_promoted(view.source):
        return acts, holds
    # The nodes do not wait for the matrix: what we write ourselves goes back even while its home cannot be reached.
    acts, told = _take_back(view)
    return acts, (*holds, *told)


def _take_back(view: View) -> tuple[tuple[CampaignAct, ...], tuple[Hold, ...]]:
    """What is due so that our commits are reverted; nothing when there are none, or they are."""
    source = view.source
    if source is None or source.trouble:
        return (), (_unreachable(view, source),)
    commits = tuple(commit for step in reversed(PUBLISHING) if (commit := source.commit_of(step)))
    if not commits or source.commit_of(PublishStep.REVERT):
        return (), ()
    if source.conflict:
        return (), (view.hold(HoldCode.REVERT_CONFLICT, why=source.conflict),)
    act = RevertCommits(rollout=view.name, commits=commits, why=view.record.why)
    return view.act(act, HoldCode.REVERT_PENDING)


def _is_promoted(source: SourceFacts | None) -> bool:
    return source is not None and bool(source.commit_of(PublishStep.PROMOTION))


def _is_touched(node: NodeSeen) -> bool:
    """Whether the way back concerns a node: we have a record of it, or it does not run what is wanted."""
    return node.record is not None or bool(node.facts.nvidia_state) or not node.facts.is_in_sync


def _is_back(view: View, name: str) -> bool:
    """Whether a node runs what it ran before, and nothing is under way there."""
    node, version = view.nodes[name], view.way_back(name)
    how = view.standing(name, version)
    if how is Standing.DONE:
        return True
    # Who never left the old driver has nowhere to go back to, also while its DaemonSet still carries the new one.
    is_idle = node.record is None or node.record.phase is NodePhase.UPGRADE_DONE
    is_moving = how in (Standing.MOVING, Standing.FAILED)
    driver = node.facts.driver
    return is_idle and not is_moving and driver is not None and driver.is_ready and is_same(driver.version, version)


# ── pausing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _pause(view: View) -> Course:
    record = view.record
    if record.phase in ENDED or record.phase is RolloutPhase.PAUSED:
        return Course(record=record)
    return _turn(view, RolloutPhase.PAUSED, paused_in=record.phase)


def _resume(view: View) -> Course:
    """Go on where we were; the time in between is no evidence of anything."""
    return _turn(view, view.record.paused_in or RolloutPhase.PROPOSED, paused_in=None, baked_until=view.now)


# ── parts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _turn(view: View, to: RolloutPhase, why: str = "", **changes: object) -> Course:
    """Open a phase; the table says whether it may follow."""
    record = view.record
    if to not in TRANSITIONS[record.phase]:
        raise CoreBug(f"{view.name}: {record.phase} may not be followed by {to}; see TRANSITIONS in core/rollout.py.")
    turn = Turn(phase=to, at=view.now, why=why)
    is_undone = to in (RolloutPhase.REVERTING, RolloutPhase.REVERTED)
    changes = {"why": why} | changes if is_undone and why else changes
    new = replace(record, phase=to, entered_at=view.now, history=_history(record, turn), **changes)  # type: ignore[arg-type]
    return Course(record=new)


def _history(record: CampaignRecord, turn: Turn) -> tuple[Turn, ...]:
    return (*record.history, turn)[-HISTORY_MAX:]


def _approval(view: View, point: Point) -> Hold | None:
    is_due = point in view.campaign.manual and point not in view.campaign.approved
    return view.hold(HoldCode.APPROVAL_PENDING, point=point) if is_due else None


def _closed(view: View) -> Hold | None:
    """Why nobody may start now; those under way go on."""
    if windows.is_open(view.campaign.openings, view.now):
        return None
    return view.hold(HoldCode.OUTSIDE_WINDOW, until=windows.next_opening(view.campaign.openings, view.now))


def _waits_for_source(view: View) -> Hold | None:
    """Why the matrix does not stand behind the target any more; checked before anything new is published or started."""
    return preflight.why_source(view) if view.campaign.has_source else None


def _unreachable(view: View, source: SourceFacts | None) -> Hold:
    why = source.trouble if source is not None else "it was not looked at yet"
    return view.hold(HoldCode.SOURCE_UNREACHABLE, why=why)


def _lost_canaries(view: View) -> str:
    """Why the evidence so far is of another canary; empty while it is of this one."""
    for name in view.record.canaries:
        node = view.nodes.get(name)
        if node is None:
            return f"canary {name} is gone"
        if view.campaign.by_hand is not None:
            if by_hand.shows(node.facts, view.campaign.by_hand.component, view.target):
                continue
            return f"canary {name} is not seen to have {view.campaign.by_hand.component.value} {view.target} any more"
        if view.mode is Mode.DIRECT and (node.record is None or node.record.phase is not NodePhase.UPGRADE_DONE):
            return f"canary {name} is at work again"
        if view.mode is Mode.DIRECT and node.facts.is_requested:
            return f"canary {name} is asked to be upgraded again"
        if not (wants(node.facts, view.target) and (node.facts.driver is None or node.facts.is_in_sync)):
            return f"canary {name} does not run {view.target} any more"
    return ""


def _look(view: View) -> baking.Round:
    """How the round stands. A canary that is not well has as long as a validation may take, then it has failed."""
    well = frozenset(name for name in view.record.canaries if _is_well(view, name))
    patience_until = _attentive_since(view) + view.intent.validation_timeout_seconds
    return baking.look_at(view.record, view.campaign, view.seen.measurements, well, patience_until, view.now)


def _is_well(view: View, name: str) -> bool:
    """Whether a canary is done, and proven still; of NVIDIA's controller no more than its word can be had."""
    node = view.nodes[name]
    is_proven = view.mode is Mode.DELEGATED or why_unproven(node.facts, node.record) is None
    return view.standing(name) is Standing.DONE and is_proven


def _attentive_since(view: View) -> Instant:
    """Since when a round has been ours to watch: no outage and no pause of ours fails anybody."""
    return max(view.record.round_at, view.record.entered_at, view.seen.attentive_since)


def _probes(view: View, looked: baking.Round) -> tuple[CampaignAct, ...]:
    gates = {gate.name: gate for gate in view.campaign.gates}
    probes = (
        StartProbe(rollout=view.name, gate=gates[gate], node=node, round=view.record.round, attempt=attempt)
        for gate, node, attempt in looked.due
    )
    return tuple(probe for probe in probes if view.may_act(probe.subject))


def _running(view: View, looked: baking.Round) -> Hold:
    names = sorted({f"{each.gate} on {each.node}" for each in looked.of(Verdict.PENDING)})
    # Everything that is measured has a limit of its own; the longest of them is when we know at the latest.
    seconds = TRIES_MAX * max((gate.timeout_seconds for gate in view.campaign.gates), default=0.0)
    until = _attentive_since(view) + max(seconds, view.intent.validation_timeout_seconds)
    return view.hold(HoldCode.GATES_RUNNING, gates=_some(names), until=until if until > view.now else None)


def _ask_again(view: View, record: CampaignRecord, looked: baking.Round) -> Course:
    """A first round without a verdict is asked anew after a while."""
    due_at = record.round_at + view.campaign.bake.every_seconds
    if view.now >= due_at:
        return Course(record=baking.next_round(record, view.now))
    unknown = looked.of(Verdict.UNKNOWN)[0]
    return Course(record=record, holds=(_unmeasured(view, unknown.gate, unknown.node, due_at),))


def _unmeasured(view: View, gate: str, node: str, until: Instant) -> Hold:
    found = [each.detail for each in view.record.gates if (each.gate, each.node) == (gate, node)]
    return view.hold(HoldCode.GATE_UNKNOWN, gate=gate, node=node, why=(found or [""])[0], until=until)


def _evidence(looked: baking.Round) -> str:
    return "; ".join(
        f"gate {each.gate} failed on {each.node}" + (f": {each.detail}" if each.detail else "")
        for each in looked.of(Verdict.FAILED)
    )


def _is_retried(view: View, name: str) -> bool:
    """Whether a failed node is going to be tried again by itself, or somebody asked for it."""
    node = view.nodes[name]
    # Records of an earlier release do not count their failures, and one there was.
    is_due = node.record is not None and max(node.record.failures, 1) <= view.intent.retries.count_max
    return is_due or node.is_retry_asked


def _why_failed(view: View, name: str) -> str:
    record = view.nodes[name].record
    return record.reason if record is not None and record.reason else "its upgrade failed"


def _wave_names(view: View) -> tuple[tuple[int, ...], frozenset[str]]:
    """How large the waves are, and who is in the current one or one before it."""
    names = [node.name for node in order.fixed(view.nodes.values(), view.intent)]
    rest = [name for name in names if name not in view.record.canaries]
    bounds = waves.bounds(view.campaign.waves, len(rest))
    reached = bounds[min(view.record.wave, len(bounds) - 1)] if bounds else 0
    first = [name for name in view.record.canaries if name in view.nodes]
    return bounds, _with_units(view, (*first, *rest[:reached]))


def _with_units(view: View, names: tuple[str, ...]) -> frozenset[str]:
    """These nodes, and those that are upgraded with them or not at all."""
    if not any(domain.is_unit for domain in view.intent.domains):
        return frozenset(names)
    units = {name: capacity.place_of(node.facts, view.intent).unit for name, node in view.nodes.items()}
    wanted = {units[name] for name in names if units.get(name)}
    return frozenset(names) | {name for name, unit in units.items() if unit in wanted}


def _some(names: list[str], count: int = 5) -> str:
    shown = ", ".join(names[:count])
    return f"{shown} and {len(names) - count} more" if len(names) > count else shown


def _earliest(course: Course) -> Instant | None:
    due = (course.wake_at, *(held.until for held in course.holds))
    return min((instant for instant in due if instant is not None), default=None)
