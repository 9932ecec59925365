"""A rollout that is let go: what is taken off, who comes to its end first, and what stays and is told.

Somebody deletes it, or seatrial itself is uninstalled; then it stays, and is left in the same way.

    before the first write   GuardRollout: our finalizer keeps the rollout there until we have tidied up
    deleted, led back        on its way back already, or aborted, or spec.onDelete says so: it goes there first
    deleted, left            nobody starts any more; nodes whose driver is untouched are let go, the others come to
                             their end; our marks and the canary's pool go; then ReleaseRollout

What would move or change somebody if it were taken off stays, and becomes a person's: the skip label of a node that
NVIDIA's controller would move to the published version at once, and the pause of a pool whose change nobody has proved.

Law of this file: all of it follows from the deletion, which the API server remembers, and from what is seen. No record
is needed, so a crash between any two writes changes nothing about the end. Nobody new is disturbed.

Tests: tests/core/campaign/test_leaving.py
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from seatrial.core.actions.of_campaigns import CampaignAct, MarkNode
from seatrial.core.actions.on_rollouts import GuardRollout, Keeping, ReleaseRollout, guard_subject, rollout_subject
from seatrial.core.campaign import requests
from seatrial.core.campaign.course import Course, plain
from seatrial.core.holds import Hold, HoldCode, Trait, having, hold
from seatrial.core.model.campaign import ENDED, PublishStep, RolloutPhase
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent, OnDelete
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.requests import RequestState
from seatrial.core.model.seen.rollouts import RolloutRecord
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.movers import machine_pools, marks
from seatrial.core.movers.mover import mover_seen, view_of
from seatrial.core.movers.view import Outcome, View
from seatrial.core.node import maintenance
from seatrial.core.node.phases import is_under_way
from seatrial.core.node.progress import carried, carries, is_left_out, is_same
from seatrial.core.node.readiness import is_running_wanted, why_unproven, why_unproven_as_it_runs
from seatrial.core.node.step import step_node, why_unclear
from seatrial.core.node.writing import NOTHING, Orders, Step, open_phase, record_of, retry_at
from seatrial.core.text.names import a_few, number_of

WHY: Final = "the rollout was deleted"
NO_MATTER: Final = having(Trait.LETS_LEAVE)
SETTLED: Final = frozenset({HoldCode.LEAVING, HoldCode.RECORD_UNREADABLE, HoldCode.RECORD_EDITED})
"""Holds of nodes that nobody waits for."""
_WAITING: Final = frozenset({"", NodePhase.UPGRADE_DONE.value, NodePhase.UPGRADE_REQUIRED.value})
"""States of NVIDIA's in which a node has not begun."""
_EMPTYING: Final = frozenset(
    {
        NodePhase.WAIT_FOR_JOBS_REQUIRED,
        NodePhase.POD_DELETION_REQUIRED,
        NodePhase.DRAIN_REQUIRED,
        NodePhase.NODE_MAINTENANCE_REQUIRED,
    }
)


# ── whether ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def is_leaving(seen: Snapshot, intent: Intent) -> bool:
    """Whether the rollout is let go, and there is no way back to be gone first."""
    return seen.is_let_go and not goes_back(seen, intent)


def goes_back(seen: Snapshot, intent: Intent) -> bool:
    """Whether a deleted campaign is taken back first. One that is Done stays so: it was deleted, not undone."""
    record = seen.rollout.campaign
    if intent.campaign is None or record is None:
        return False
    phase = record.paused_in or record.phase
    if phase is RolloutPhase.REVERTING:
        return True
    if phase in (RolloutPhase.PROPOSED, RolloutPhase.REVERTED):
        return False
    is_asked = seen.is_deleting and intent.on_delete is OnDelete.REVERT
    return bool(intent.campaign.abort) or (is_asked and phase is not RolloutPhase.DONE)


def why_undone(seen: Snapshot, intent: Intent) -> str:
    """Why somebody wants a campaign undone; empty while nobody does."""
    abort = intent.campaign.abort if intent.campaign is not None else ""
    return abort or (WHY if seen.is_deleting and goes_back(seen, intent) else "")


def is_begun(rollout: RolloutRecord) -> bool:
    """Whether something was written for a rollout beyond its own status, and it has not ended."""
    if rollout.campaign is not None:
        return rollout.campaign.is_under_way
    return bool(rollout.admitted) or (rollout.summary is not None and rollout.summary.state != "done")


def why_unguarded(seen: Snapshot, intent: Intent) -> Hold | None:
    """Why nothing is written for a rollout yet: whoever deletes it could not be waited for."""
    if seen.is_guarded or seen.is_let_go or is_begun(seen.rollout):
        return None
    rebuff = seen.rebuffs.get(guard_subject(intent.rollout))
    return hold(intent.rollout, HoldCode.UNGUARDED, why=rebuff.detail if rebuff is not None else "it is being written")


# ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def step(node: NodeSeen, orders: Orders, rollout: RolloutRecord, now: Instant) -> Step:
    """The next step of a node whose rollout leaves."""
    record, facts = node.record, node.facts
    unclear = why_unclear(node)
    if unclear is not None:
        return Step(hold=unclear)
    if record is None or (is_left_out(facts) and not facts.is_ready):
        return _stays(node)
    rebuff = orders.rebuffs.get(node.name)
    if rebuff is not None and now < retry_at(rebuff):
        return Step(hold=hold(node.name, HoldCode.WRITE_REFUSED, until=retry_at(rebuff), why=rebuff.detail))
    if record.phase is NodePhase.UPGRADE_DONE:
        return maintenance.release_asked(node, orders) or NOTHING
    if record.phase is NodePhase.UPGRADE_FAILED:
        is_well = is_running_wanted(facts) and why_unproven(facts, record) is None
        return open_phase(node, NodePhase.UPGRADE_DONE, now) if is_well else _stays(node)
    if record.phase is NodePhase.UPGRADE_REQUIRED:
        if record.is_cordon_ours or not is_begun(rollout):
            return _stays(node)  # it has failed before, and nobody knows that its driver works
        return maintenance.release_asked(node, orders) or open_phase(node, NodePhase.UPGRADE_DONE, now)
    if orders.admitted.get(node.name) != record.attempt:
        return _stays(node)  # another rollout moves it
    return _step_under_way(node, orders, now)


def _step_under_way(node: NodeSeen, orders: Orders, now: Instant) -> Step:
    """Let a node go whose driver is untouched; the others come to their end."""
    record, facts = record_of(node), node.facts
    if record.phase is NodePhase.CORDON_REQUIRED:
        return open_phase(node, NodePhase.UPGRADE_DONE, now)
    if record.phase in _EMPTYING and _is_untouched(node):
        return open_phase(node, NodePhase.UNCORDON_REQUIRED, now)
    if record.phase is NodePhase.POD_RESTART_REQUIRED and _is_untouched(node) and _is_old(node):
        return open_phase(node, NodePhase.WAIT_FOR_JOBS_REQUIRED, now, is_restart_only=False)
    if record.phase is NodePhase.UNCORDON_REQUIRED and not facts.is_in_sync:
        lack = why_unproven_as_it_runs(facts, record)
        if lack is None:
            return open_phase(node, NodePhase.UPGRADE_DONE, now)
        return Step(hold=hold(node.name, lack.code, lack.params, since=record.entered_at))
    return step_node(node, orders, now)


def _is_untouched(node: NodeSeen) -> bool:
    """Whether a node runs the driver it ran before us. One that has failed since has to be proven."""
    driver = node.facts.driver
    is_running = driver is not None and driver.is_ready and not driver.is_terminating and not driver.is_orphaned
    return is_running and not record_of(node).failures


def _is_old(node: NodeSeen) -> bool:
    driver = node.facts.driver
    return driver is not None and driver.uid == record_of(node).old_pod


def _stays(node: NodeSeen) -> Step:
    return Step(
        hold=hold(node.name, HoldCode.LEAVING, cause="its rollout is being released", why="the node stays as it is")
    )


# ── the campaign ─────────────────────────────────────────────────────────────────────────────────────────────────────


def course_of(seen: Snapshot, intent: Intent, now: Instant, stop: Hold | None) -> Course:
    """What a campaign takes off when it leaves: nothing where it never began, and where there is none."""
    record = seen.rollout.campaign
    if intent.campaign is None or record is None:
        return plain()
    if stop is not None:
        return Course(record=record)
    view = view_of(seen, intent, intent.campaign, record, now)
    acts, holds = _unmark(view)
    if not acts and not holds:
        acts, holds = machine_pools.clear(view, is_leaving=True)
    if not acts and not holds:
        acts, holds = requests.withdraw_if_it_can_be(view)
    return Course(record=record, acts=acts, holds=holds)


def _unmark(view: View) -> Outcome:
    """Take our marks off; a skip label that keeps NVIDIA's controller from moving a node stays, without our name.

    Who is let in and has not been started is closed out first, as when a rollout is paused: nobody starts any more.
    """
    acts: list[MarkNode] = []
    for name, node in sorted(view.nodes.items()):
        facts = node.facts
        is_marked, is_ours = facts.canary_of == view.name, facts.skipped_by == view.name
        closes = not facts.is_skipped and _would_move(view, node) and facts.nvidia_state in _WAITING
        if is_marked or is_ours or closes:
            is_kept = is_ours and facts.is_skipped and _would_move(view, node)
            acts.append(
                MarkNode(
                    node=name,
                    rollout=view.name,
                    expect=facts.resource_version,
                    canary=False if is_marked else None,
                    skip=True if closes else False if is_ours and not is_kept else None,
                    is_handed_over=is_kept,
                )
            )
    if not acts:
        return (), ()
    due: tuple[CampaignAct, ...] = tuple(act for act in acts if view.may_act(act.subject))[: marks.MARKS_MAX]
    until = None if due else min((at for act in acts if (at := view.again_at(act.subject)) is not None), default=None)
    return due, (view.hold(HoldCode.MARKS_PENDING, count=len(acts), node=acts[0].node, until=until),)


def _would_move(view: View, node: NodeSeen) -> bool:
    """Whether somebody else would begin with a node that is not kept out any more."""
    return is_begun(view.seen.rollout) and view.mover.would_begin(node.facts)


# ── the rollout itself ───────────────────────────────────────────────────────────────────────────────────────────────


def keep(
    seen: Snapshot, intent: Intent, steps: Mapping[str, Step], course: Course, stop: Hold | None, now: Instant
) -> tuple[tuple[Keeping, ...], tuple[Hold, ...]]:
    """Our finalizer: put on before the first write, taken away when the rollout has left; and why not yet."""
    subject, version = guard_subject(seen.rollout.name), seen.rollout.resource_version
    rebuff = seen.rebuffs.get(subject)
    is_free = subject not in seen.busy and (rebuff is None or now >= retry_at(rebuff))
    again_at = retry_at(rebuff) if rebuff is not None and not is_free else None
    if not seen.is_let_go:
        guard = GuardRollout(rollout=intent.rollout, expect=version)
        return ((guard,) if not seen.is_guarded and is_free else ()), ()
    if not is_leaving(seen, intent) or stop is not None:
        return (), ()
    waited = sorted(name for name, each in steps.items() if _is_waited_for(each))
    if waited:
        why = f"waiting for nodes to be released or to finish: {a_few(waited)}"
        return (), (_leaving(seen, intent, why),)
    if course.acts or course.holds:
        return (), (_leaving(seen, intent, "its labels and marks are removed first"),)
    ours = rollout_subject(seen.rollout.name)
    unseen = sorted(each for each in seen.busy if each in seen.nodes or each.startswith(ours))
    until = min((at for each in unseen if (at := seen.busy[each]) is not None), default=again_at)
    told = _leaving(seen, intent, "nothing of it is under way, so it is released now", until)
    is_due = seen.is_guarded and is_free and not unseen
    release = ReleaseRollout(rollout=intent.rollout, expect=version, left=left_of(seen, intent))
    return ((release,) if is_due else ()), (told,)


def _leaving(seen: Snapshot, intent: Intent, why: str, until: Instant | None = None) -> Hold:
    cause = "the rollout was deleted" if seen.is_deleting else "seatrial is being uninstalled"
    return hold(intent.rollout, HoldCode.LEAVING, until=until, cause=cause, why=why)


def has_left(seen: Snapshot, actions: Collection[object], holds: Iterable[Hold], stop: Hold | None) -> bool:
    """Whether nothing of a rollout that leaves is under way any more, and our finalizer is off it."""
    is_quiet = stop is None and not actions and not seen.busy and not seen.is_guarded
    return is_quiet and all(each.code in SETTLED for each in holds)


def _is_waited_for(found: Step) -> bool:
    return found.action is not None or (found.hold is not None and found.hold.code not in SETTLED)


def left_of(seen: Snapshot, intent: Intent) -> tuple[str, ...]:
    """What of a rollout stays in the cluster, one sentence each; nothing where it left no trace."""
    return tuple(found for found in _left(seen, intent) if found)


def _left(seen: Snapshot, intent: Intent) -> Iterable[str]:
    nodes, target = sorted(seen.nodes.items()), intent.target.published
    record = seen.rollout.campaign
    if record is not None and (record.paused_in or record.phase) not in ENDED:
        for resource, before in record.baseline:
            found = carried(resource, seen.operator, before)
            yield f"{resource} has {found}, and had {before} before" if not is_same(found, before) else ""
        steps = seen.source.steps if seen.source is not None else ()
        commits = [commit for step_, commit in steps if step_ not in (PublishStep.REVERT, PublishStep.BAD)]
        yield f"the commits {', '.join(commits)} stay in the repository" if commits else ""
    asked = seen.source.requests if seen.source is not None else ()
    urls = [each.url for _, each in asked if each.state is RequestState.OPEN]
    yield f"pull requests stay open, and publish if merged: {a_few(urls)}" if urls else ""
    if is_begun(seen.rollout):
        there = [name for name, node in nodes if carries(node.facts, target)]
        yield (
            f"{len(there)} of {number_of(len(nodes), 'node runs', 'nodes run')} {target}: {a_few(there)}"
            if there
            else ""
        )
    ledger = {admission.node: admission.attempt for admission in seen.rollout.admitted}
    closed = [
        name
        for name, node in nodes
        if node.record is not None
        and node.record.is_cordon_ours
        and (not is_under_way(node.record) or ledger.get(name) == node.record.attempt)
    ]
    yield f"nodes stay cordoned, since their driver is not validated: {a_few(closed)}" if closed else ""
    kept = [name for name, node in nodes if is_left_out(node.facts)] if mover_seen(seen).starts_by_itself else []
    yield f"nodes keep the skip label, otherwise NVIDIA's controller may move them: {a_few(kept)}" if kept else ""
    pools = [pool.name for pool in seen.machine_pools if pool.paused_by == seen.rollout.name and pool.is_paused]
    yield f"pools stay paused, since what they would get is unproven: {a_few(pools)}" if pools else ""
