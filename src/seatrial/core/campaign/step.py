"""The campaign: `step_rollout` says what a rollout does next, and who may move at all.

    Proposed ─ preflight ─▶ Canary ─ done ─▶ Gating ─ passed ─▶ Baking ─ evidence ─▶ Waving ─ all ─▶ Promoting ─▶ Done
        │                     ▲ └─ the canary is another node than it was ──┘           │                 │          │
        │ aborted             │                                                         │                 │          │
        ▼                     └──────── failed, or somebody wants it undone ────────────┴──────┬──────────┴──────────┘
    Reverted ◀─ all nodes back, a rejected entry marked ─ Reverting ◀──────────────────────────┘

Law of this file: a pass either writes the next record or acts upon the record it has seen, never both; so a crash
between any two writes loses nothing. Everything outside of the nodes is done at most once and found again by name: a
commit by its step, a probe by its round, a mark by the node's label. Who is not open is not touched.

    course.py     the table of phases, and how one is opened     publishing.py  which resource carries which version
    preflight.py  what has to be so before the first write      marks.py       canary and skip labels, OpenShift's pools
    gating.py     gates and bake                                going_back.py  the way back
    stragglers.py members that cannot start

Tests: tests/core/campaign/test_rollout.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final, assert_never

from seatrial.core.actions.at_home import Promote
from seatrial.core.campaign import baking, canary, comparing, leaving, preflight, stragglers
from seatrial.core.campaign import evidence as watching
from seatrial.core.campaign.course import WAY_FORWARD, Course, fail, remembered, turn_to
from seatrial.core.campaign.gating import step_baking, step_gating, step_round_in_waves, why_failed
from seatrial.core.campaign.going_back import step_reverting
from seatrial.core.campaign.proving import exposing
from seatrial.core.campaign.waves import wave_order
from seatrial.core.errors import CoreBug
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.campaign import (
    ENDED,
    NOWHERE,
    CampaignRecord,
    Places,
    Point,
    PublishStep,
    RolloutPhase,
    Turn,
)
from seatrial.core.model.gates import default_suite
from seatrial.core.model.gates.suite import Suite
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.movers import machine_pools, marks, publishing
from seatrial.core.movers.mover import view_of
from seatrial.core.movers.view import View
from seatrial.core.node.phases import BEFORE_THE_DRIVER as UNTRIED
from seatrial.core.node.progress import Progress, wants
from seatrial.core.text.moments import dated
from seatrial.core.text.names import a_few, number_of

UNSETTLED: Final = "the last wave is over, and these nodes are left: "
"""How the turn to Promoting begins while a person has yet to say whether to go on without the failed nodes."""
ASKED_ANEW: Final = frozenset({RolloutPhase.GATING, RolloutPhase.BAKING, RolloutPhase.WAVING})
"""Phases that rest on rounds of gates, and after a pause go on with a new one."""


def step_rollout(seen: Snapshot, intent: Intent, now: Instant, stop: Hold | None = None) -> Course:
    """The next step of a campaign."""
    campaign = intent.campaign
    if campaign is None:
        raise CoreBug(f"{intent.rollout} is no campaign; decide moves its nodes without one.")
    record = seen.rollout.campaign
    if record is None:
        record = CampaignRecord(entered_at=now, history=(Turn(phase=RolloutPhase.PROPOSED, at=now),))
        view = view_of(seen, intent, campaign, record, now)
        return Course(record=record, holds=preflight.behind(view))
    view = view_of(seen, intent, campaign, record, now)
    if intent.is_paused:
        course = _pause(view)
        return replace(course, holds=(*course.holds, *machine_pools.told(view)))
    if record.phase is RolloutPhase.PAUSED:
        return _resume(view)
    if stop is not None:
        return Course(record=record)  # nothing is decided on a view that is not to be trusted; decide says why
    undone = leaving.why_undone(seen, intent)
    if undone and record.phase not in (RolloutPhase.REVERTING, RolloutPhase.REVERTED):
        to = RolloutPhase.REVERTED if record.phase is RolloutPhase.PROPOSED else RolloutPhase.REVERTING
        # Who undoes it while a verdict of ours waits for them does not take the verdict back.
        course = turn_to(view, to, why=undone, rejected=record.rejected or _why_rejected(view))
    elif record.places is None and record.canaries and record.phase not in ENDED and _places(view) is not None:
        # Written by a release that did not keep them: what the spec says now is the best that is known.
        course = Course(record=replace(record, places=_places(view)))
    else:
        course = _step(view)
        course = replace(course, holds=_with_moved(view, course.holds))
    course = replace(
        course, holds=(*course.holds, *machine_pools.told(view), *stragglers.told(view), *_in_the_way(view))
    )
    if record.phase in (RolloutPhase.GATING, RolloutPhase.BAKING) and not course.acts:
        acts, holds = marks.prepare(view, view.with_units(record.canaries))
        course = replace(course, acts=acts, holds=(*course.holds, *holds))
    course = replace(course, wake_at=_earliest(course, view.closes_at))
    if course.record.phase in ENDED and record.phase not in ENDED:
        # An end rests on nothing being left, and what we have written but not seen yet would be.
        unseen = sorted(subject for subject in seen.busy if subject in seen.nodes or view.is_ours(subject))
        if unseen:
            told = view.hold(HoldCode.WRITE_IN_FLIGHT, until=seen.busy[unseen[0]])
            return Course(record=record, holds=(told,), wake_at=told.until)
    # Record first: acts wait until the record they rest on has been seen.
    return course if course.record == record else replace(course, acts=(), open=frozenset())


def _step(view: View) -> Course:
    if view.record.phase in WAY_FORWARD:
        failed = _why_rejected(view)
        if failed:
            return fail(view, failed, is_final=True)
        faulty = exposing.why_faulty(view.record)
        if faulty:
            return fail(view, faulty, is_final=True, is_verdict=False)
        if view.record.rejected:
            # Found anew by each pass: a node that was mended takes the verdict with it.
            view = replace(view, record=replace(view.record, rejected=""))
    match view.record.phase:
        case RolloutPhase.PROPOSED:
            return _propose(view)
        case RolloutPhase.CANARY:
            return _move_canaries(view)
        case RolloutPhase.GATING:
            return step_gating(view)
        case RolloutPhase.BAKING:
            return step_baking(view)
        case RolloutPhase.WAVING:
            return _wave(view)
        case RolloutPhase.PROMOTING:
            return _promote(view)
        case RolloutPhase.REVERTING:
            return step_reverting(view)
        case RolloutPhase.DONE:
            return _follow(view) or Course(record=view.record, open=_late(view))
        case RolloutPhase.REVERTED:
            return Course(record=view.record)
        case RolloutPhase.PAUSED:
            raise CoreBug("a pause is ended before anything else is decided")
        case _:
            assert_never(view.record.phase)


def _why_rejected(view: View) -> str:
    """What was found against the version, by what was written down: nothing washes it off. Empty while nothing was."""
    record = view.record
    failed = why_failed(record) or exposing.why_failed(record.exposed)
    if not failed and record.phase is RolloutPhase.BAKING:
        failed = comparing.why_failed(record, view.campaign)
    return failed


# ── forward ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _propose(view: View) -> Course:
    chosen = canary.choose(view.nodes, view.campaign.canary)
    holds = preflight.why_not(view, chosen)
    if holds:
        return Course(record=view.record, holds=holds)
    return turn_to(
        view,
        RolloutPhase.CANARY,
        mode=view.mover.mode,
        canaries=chosen,
        watched=watching.begun(view, chosen),
        baseline=view.mover.baseline(view),
        switches=view.mover.switches(view),
        places=_places(view),
        suite=_suite(view, chosen),
    )


def _suite(view: View, canaries: Iterable[str], before: Suite | None = None) -> Suite | None:
    """The gates that come with seatrial, where nobody has named any: by what these nodes show before their upgrade."""
    return default_suite.chosen(view.campaign.suite_image or "", (view.nodes[each].facts for each in canaries), before)


def _places(view: View) -> Places | None:
    return view.campaign.places if view.campaign.places != NOWHERE else None


def _move_canaries(view: View) -> Course:
    record = view.record
    gone = [name for name in record.canaries if name not in view.nodes]
    if gone:
        return _replace_canaries(view, gone, stragglers.instead(view, gone), "is gone")
    progress = {name: view.progress(name) for name in record.canaries}
    failed = [name for name, how in progress.items() if how is Progress.FAILED and not _is_retried(view, name)]
    if failed:
        tried = _tried(view, failed)
        why = f"canary {a_few(failed)} failed: {_why_failed(view, (tried or failed)[0])}"
        return fail(view, why, is_verdict=bool(tried))
    if all(map(view.is_through, record.canaries)):
        # A round's number is never used again: what was measured for it before is of the canary as it was then.
        number = record.round + 1
        return turn_to(
            view,
            RolloutPhase.GATING,
            round=number,
            round_at=view.now,
            gates=(),
            baked_seconds=0.0,
            unwell_since=0.0,
            setback="",
        )
    late, stuck = stragglers.stuck_canaries(view)
    if found := stragglers.instead(view, late):
        return _replace_canaries(view, late[: len(found)], found, "cannot start")
    course = _start_canaries(view)
    return course if stuck is None else replace(course, holds=(*course.holds, stuck))


def _start_canaries(view: View) -> Course:
    record, waiting = view.record, _waits(view)
    first = view.with_units(record.canaries)
    acts, holds = marks.prepare(view, first)
    if waiting is None and not holds:
        before = comparing.step_baseline(view)  # who is kept out is marked by now: somebody else may publish meanwhile
        if before is not None:
            return before
        acts, holds = view.mover.publish(view, PublishStep.CANARY, publishing.resources_of(view, first))
    elif waiting is not None:
        acts, holds = (), (waiting,)
    if acts or holds:
        return Course(record=record, acts=acts, holds=holds)
    told = view.hold(HoldCode.CANARY_AT_WORK, nodes=", ".join(record.canaries))
    told = preflight.why_crowded(view) or view.mover.at_work(view, record.canaries, told)
    # Who was to go with a canary that another node has replaced: the places it holds may be all that there are.
    return replace(_let_start(view, first, told), recalled=_named(view) - first)


def _let_start(view: View, names: frozenset[str], told: Hold) -> Course:
    """Open these nodes, as far as a window is open and the mover has them ready."""
    closed = view.closed()
    if closed is not None:
        return Course(record=view.record, holds=(closed,))
    start = view.mover.start(view, names)
    return Course(record=start.record, acts=start.acts, open=start.ready, holds=(told, *start.holds))


def _replace_canaries(view: View, lost: list[str], found: tuple[str, ...], why: str) -> Course:
    """Canaries that are no more take their evidence with them; these nodes go first in their place."""
    left = tuple(name for name in view.record.canaries if name not in lost)
    if not left and not found:
        return Course(record=view.record, holds=(view.hold(HoldCode.NO_CANARY, wanted=len(lost), found=0, why=""),))
    why = f"canary {', '.join(lost)} {why}" + (f"; {', '.join(found)} goes first instead" if found else "")
    canaries = tuple(sorted((*left, *found)))
    watched = (*(each for each in view.record.watched if each.node in left), *watching.begun(view, found))
    turn = Turn(phase=RolloutPhase.CANARY, at=view.now, why=why)
    known, history = comparing.reopened(view.record), remembered(view.record, turn)
    suite = _suite(view, found, view.record.suite) if view.record.suite is not None else None
    record = replace(view.record, canaries=canaries, watched=watched, compared=known, history=history, suite=suite)
    return Course(record=replace(record, entered_at=view.now))  # the time that they have to start begins anew


def _wave(view: View) -> Course:
    asked = step_round_in_waves(view)
    if asked is not None:
        closing, _ = marks.close_out(view, frozenset())
        return replace(asked, acts=(*closing, *asked.acts))
    view = replace(view, record=exposing.noticed(view))
    record = view.record
    bounds, names = _wave_names(view)
    progress = {name: view.progress(name) for name in names}
    failed = view.mover.failed(view, names)
    if len(failed) > view.intent.failed_max:
        return _stop_wave(view, failed, names)
    stuck = view.mover.why_stuck(view, names)
    left = _left_behind(view, stuck)
    at_work = sorted(
        name for name, how in progress.items() if how in (Progress.AWAY, Progress.MOVING) and name not in left
    )
    if not at_work:
        seen = exposing.followed(view, names)
        if seen != record:
            return Course(record=seen)
        return _end_wave(view, len(bounds), {name: stuck[name] for name in left})
    waiting, open_ = _waits(view), names | _named(view)
    acts, holds = marks.prepare(view, open_)
    if waiting is not None:
        acts, holds = (), (waiting,)
    elif not holds:
        wanted = (*publishing.resources_of(view, view.nodes), *publishing.vacant(view))
        acts, holds = view.mover.publish(view, PublishStep.FLEET, wanted)
    if acts or holds:
        return Course(record=record, acts=acts, holds=holds)
    where = {"wave": record.wave + 1, "waves": max(1, len(bounds)), "left": len(at_work)}
    told = view.mover.at_work(view, at_work, view.hold(HoldCode.WAVE_AT_WORK, **where))
    told = stragglers.blocked(view, [name for name in at_work if name not in stuck], failed, where) or told
    acts, holds = machine_pools.let_go(view)
    if acts or holds:
        return Course(record=record, acts=acts, holds=holds)
    course = _let_start(view, open_, told)
    return replace(course, holds=(*course.holds, stragglers.waited_for(view, stuck))) if stuck else course


def _named(view: View) -> frozenset[str]:
    """The nodes in the ledger keep their turn when the waves are drawn again: otherwise their places are never free."""
    return frozenset(each.node for each in view.seen.rollout.admitted if each.node in view.nodes)


def _stop_wave(view: View, failed: list[str], names: frozenset[str]) -> Course:
    """More have failed than may: nobody starts, and a person says whether to mend them or to go back."""
    limit, tried = view.intent.failed_max, _tried(view, failed)
    nodes = number_of(len(tried), "node")
    why = (
        f"{nodes} failed in the waves, and the limit is {limit} (maxFailed): {a_few(tried)}"
        if len(tried) > limit
        else ""
    )
    record = replace(view.record, rejected=f"{why}; {tried[0]}: {_why_failed(view, tried[0])}" if why else "")
    undo = "marks" if view.campaign.rejects(record) else "leaves"
    told = view.hold(HoldCode.FAILURE_BUDGET, failed=len(failed), limit=limit, nodes=a_few(failed), undo=undo)
    closing, _ = marks.close_out(view, names)
    # Before it is written down: NVIDIA's controller may start at any moment who waits for it.
    return Course(record=view.seen.rollout.campaign or record if closing else record, acts=closing, holds=(told,))


def _left_behind(view: View, stuck: Mapping[str, HoldCode]) -> frozenset[str]:
    """Who cannot start and is not waited for any more: its time is up, or a wave before this one went on without it."""
    if view.now >= stragglers.patience_until(view):
        return frozenset(stuck)
    before = _wave_names(replace(view, record=replace(view.record, wave=view.record.wave - 1)))[1]
    return frozenset(stuck) & before if view.record.wave else frozenset()


def _end_wave(view: View, count: int, left: Mapping[str, HoldCode]) -> Course:
    """A wave is over: the next one, after the pause between them; or promotion, after the last."""
    record, now = view.record, view.now
    without = _without(left)
    if record.wave + 1 >= count:
        # Where the canaries are all there is, no wave has published anything.
        acts, holds = view.mover.publish(view, PublishStep.FLEET, publishing.vacant(view))
        if acts or holds:
            return Course(record=record, acts=acts, holds=holds)
        failed = stragglers.failed(view)
        waiting = view.unapproved(Point.PROMOTION)
        if waiting is not None:  # one approval is enough: it is given in view of what has failed
            is_asked = failed and not view.campaign.accepts_failures
            crashed = (stragglers.why_unpromoted(view, failed),) if is_asked else ()
            return Course(record=record, holds=(waiting, *crashed))
        if failed and not view.campaign.accepts_failures:
            without = f"{UNSETTLED}{stragglers.named({**left, **failed})}"
        else:
            without = _without({**left, **failed})
        day = dated(now)
        named = {"date": f"{day:%Y-%m-%d}", "tag_base": f"v{day:%Y-%m}-stable"}
        return turn_to(view, RolloutPhase.PROMOTING, why=without, **named)
    pause_seconds = view.campaign.waves.pause_seconds
    if pause_seconds and record.settled_at < record.entered_at:
        # Not before it began: with a clock that was put back, it would be written anew in every pass.
        return Course(record=replace(record, settled_at=max(now, record.entered_at)))
    next_at = record.settled_at + pause_seconds
    if pause_seconds and now < next_at:
        told, waiting = view.hold(HoldCode.WAVE_PAUSE, wave=record.wave + 1, waves=count, until=next_at), _waits(view)
        return Course(record=record, holds=(told,) if waiting is None else (waiting, told))
    why = f"wave {record.wave + 2} of {count}" + (f", {without}" if without else "")
    turn = Turn(phase=RolloutPhase.WAVING, at=now, why=why)
    return Course(record=replace(record, wave=record.wave + 1, entered_at=now, history=remembered(record, turn)))


def _promote(view: View) -> Course:
    record = view.record
    waits = _wait_for_failed(view)
    if waits is not None:
        return waits
    record = _settled(view)
    if record != view.record:
        return Course(record=record)
    moved = preflight.why_moved(view)
    if moved is not None:
        return Course(record=record, holds=(moved,))
    if view.campaign.has_source:
        source = view.source
        if source is None or source.trouble:
            return Course(record=record, holds=(view.unreachable(),))
        stale = view.outdated()
        if stale is not None:
            return Course(record=record, holds=(stale,))
        is_begun = bool(source.commit_of(PublishStep.PROMOTION))
        waiting = None if is_begun else preflight.why_source(view)
        if waiting is not None:
            return Course(record=record, holds=(waiting,))
        if not is_begun or not source.tag:
            act = Promote(rollout=view.name, date=record.date, tag_base=record.tag_base)
            acts, holds = view.act(act, HoldCode.PROMOTION_PENDING, tag=record.tag_base)
            return Course(record=record, acts=acts, holds=holds)
    return _follow(view) or turn_to(view, RolloutPhase.DONE)


def _without(left: Mapping[str, HoldCode]) -> str:
    return f"without {stragglers.named(left)}" if left else ""


def _settled(view: View) -> CampaignRecord:
    """The record with the nodes that are left behind by now, where that was open when the last wave ended."""
    *turns, last = view.record.history or (Turn(phase=RolloutPhase.PROMOTING, at=view.now),)
    if not last.why.startswith(UNSETTLED):
        return view.record
    left = {**view.mover.why_stuck(view, view.nodes), **stragglers.failed(view)}
    return replace(view.record, history=(*turns, replace(last, why=_without(left))))


def _wait_for_failed(view: View) -> Course | None:
    """Wait while members have failed and no person has accepted that, or one of them is tried again."""
    is_begun = view.source is not None and bool(view.source.commit_of(PublishStep.PROMOTION))
    if view.campaign.accepts_failures or is_begun:
        return None
    failed, again = stragglers.failed(view), stragglers.tried_again(view)
    if failed:
        told = stragglers.why_unpromoted(view, failed)
    elif again:
        wave = view.record.wave + 1
        told = view.mover.at_work(view, again, view.hold(HoldCode.WAVE_AT_WORK, wave=wave, waves=wave, left=len(again)))
    else:
        return None
    late = _late(view) if len(view.mover.failed(view, view.nodes)) <= view.intent.failed_max else frozenset()
    acts, holds = marks.prepare(view, late)
    if acts or holds:
        return Course(record=view.record, acts=acts, holds=(told, *holds))
    if not again and view.closed() is not None:
        return Course(record=view.record, holds=(told,))  # no node is waiting for the window to open
    course = _let_start(view, late, told)
    return course if told in course.holds else replace(course, holds=(told, *course.holds))


def _follow(view: View) -> Course | None:
    """Take our marks off, of nodes left behind as the ledger names them; None where nothing is due."""
    late = _late(view)
    acts, holds = marks.clear(view, late)
    return Course(record=view.record, acts=acts, holds=holds, open=late) if acts or holds else None


def _late(view: View) -> frozenset[str]:
    """Who may still follow after the last wave: nodes that failed and are tried again, nodes that came later."""
    if view.seen.others:
        return frozenset()  # another campaign on its way back may want what we wanted, and moves the nodes itself
    if view.closed() is not None:
        return frozenset()
    return frozenset(name for name, node in view.nodes.items() if wants(node.facts, view.target))


# ── pausing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _pause(view: View) -> Course:
    """Freeze; the one thing written is our skip label, on nodes that NVIDIA's controller might still start."""
    record = view.record
    if record.phase is RolloutPhase.PAUSED:
        acts, holds = marks.close_out(view, frozenset())
        return Course(record=record, acts=acts, holds=holds)
    if record.phase in ENDED:
        return Course(record=record)
    return turn_to(view, RolloutPhase.PAUSED, why=view.intent.paused_because, paused_in=record.phase)


def _resume(view: View) -> Course:
    """Go on where we were. The time in between is no evidence, and what was proven before it is asked for anew."""
    record, to = view.record, view.record.paused_in or RolloutPhase.PROPOSED
    if to in ASKED_ANEW and not why_failed(record):
        anew = baking.next_round(record, view.now)
        return turn_to(
            view, to, paused_in=None, round=anew.round, round_at=anew.round_at, gates=(), well_since=view.now
        )
    return turn_to(view, to, paused_in=None)


# ── parts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _in_the_way(view: View) -> tuple[Hold, ...]:
    """What is in the way of those who move the nodes, as long as any are to be moved."""
    return () if view.record.phase in ENDED else view.mover.in_the_way(view)


def _waits(view: View) -> Hold | None:
    """Why nothing new is published or started: the matrix does not stand behind it, or nobody may start any more."""
    waiting = preflight.why_moved(view) or (preflight.why_source(view) if view.campaign.has_source else None)
    return waiting or preflight.why_nobody(view)


def _with_moved(view: View, holds: tuple[Hold, ...]) -> tuple[Hold, ...]:
    """These, and that the places have changed: told while the canary bakes, and not when its evidence is complete."""
    moved = preflight.why_moved(view) if view.record.phase in (RolloutPhase.GATING, RolloutPhase.BAKING) else None
    return holds if moved is None else (*holds, moved)


def _is_retried(view: View, name: str) -> bool:
    """Whether a failed node is going to be tried again by itself, or somebody asked for it."""
    node = view.nodes[name]
    # Records of an earlier release do not count their failures, and one there was.
    is_due = node.record is not None and max(node.record.failures, 1) <= view.intent.retries.count_max
    return is_due or node.is_retry_asked


def _tried(view: View, failed: Iterable[str]) -> list[str]:
    """Who of these failed with the new driver: who could not be emptied says nothing about it."""
    return [name for name in failed if (found := view.nodes[name].record) is None or found.reason not in UNTRIED]


def _why_failed(view: View, name: str) -> str:
    record = view.nodes[name].record
    return record.reason if record is not None and record.reason else "its upgrade failed"


def _wave_names(view: View) -> tuple[tuple[int, ...], frozenset[str]]:
    """How large the waves are, and who is in the current one or one before it."""
    bounds, rest = wave_order(view)
    reached = bounds[min(view.record.wave, len(bounds) - 1)] if bounds else 0
    first = [name for name in view.record.canaries if name in view.nodes]
    return bounds, view.with_units((*first, *rest[:reached]))


def _earliest(course: Course, closes_at: Instant | None) -> Instant | None:
    due = (course.wake_at, closes_at, *(held.until for held in course.holds))
    return min((instant for instant in due if instant is not None), default=None)
