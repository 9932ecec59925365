"""All we promise, as code. Checked by the explorer, the property tests, the simulator, and live just before executing.

Each promise is a function of (Snapshot, Intent, Decision) that returns what is broken about it; `broken` runs them all.
A breach live stops the pass: nothing of it is executed, and the journal says what was about to happen.

    capacity       our disruptions never take more of the fleet than the limits allow
    recorded       no disruptive act before its record has been seen
    admitted       no disruptive act on a node that the ledger does not name
    hands_off      a node cordoned, or marked skip, by somebody else stays so
    no_lost_node   each member is moving, done, or held with a reason
    one_act        at most one act per node per pass
    bounded        no more than ACTIONS_MAX acts a pass
    table          every phase opened is one the table allows
    proven         no node takes work again unless its driver is proven
    held_off       no driver is taken from under a pod that uses it
    whole          nobody of a unit is let in while a member of it cannot start; on the way back each goes by itself
    aimed          nobody is disrupted for a driver that the rollout does not want, or that would not come
    closed         a node seen open between the delete of its driver and its proof is closed

Of a campaign, besides:

    turn           its record walks along the table of phases, and what was proven or written down is not lost
    record_first   nothing is done in the pass that changes the record
    bake           the fleet follows, and the matrix is promoted, only after every gate passed for as long as asked
    way_back       no version is published without one to go back to
    unopened       nobody starts before their turn
    on_time        nobody starts outside a window or while paused, whoever moves the nodes
    let_in         NVIDIA's controller may start only whom the ledger names, within the failures tolerated
    one_thing      nothing new is published while another campaign is under way

Tests: tests/core/test_invariants.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from seatrial.core.actions import (
    AskCheckpoint,
    CampaignAct,
    Cordon,
    EvictPods,
    MarkNode,
    NodeAct,
    Operand,
    PauseClients,
    PausePool,
    Promote,
    Publish,
    RequestMaintenance,
    RestartPod,
    Uncordon,
    WriteNodeRecord,
    WriteRolloutRecord,
    is_disruptive,
)
from seatrial.core.budget import capacity, units
from seatrial.core.campaign import baking, course, leaving
from seatrial.core.decide import ACTIONS_MAX, Decision
from seatrial.core.holds import HoldCode
from seatrial.core.model import windows
from seatrial.core.model.campaign import CampaignRecord, Mode, PublishStep, RolloutPhase
from seatrial.core.model.gates import Verdict
from seatrial.core.model.intent import Intent
from seatrial.core.model.snapshot import Admission, NodePhase, Snapshot
from seatrial.core.movers import letting_in
from seatrial.core.movers.view import LATE_SECONDS
from seatrial.core.node import clearing, closing
from seatrial.core.node.phases import TRANSITIONS, is_under_way
from seatrial.core.node.progress import is_same, resource_of
from seatrial.core.node.readiness import why_unproven, why_unproven_as_it_runs
from seatrial.core.node.step import is_abandoned
from seatrial.core.stops import CONTRADICTED
from seatrial.core.turns import goal_of, is_misled


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """A promise about to be broken, and by what."""

    promise: str
    subject: str
    detail: str

    def __str__(self) -> str:
        return f"{self.promise} broken at {self.subject}: {self.detail}"


Promise: TypeAlias = Callable[[Snapshot, Intent, Decision], Iterator[Breach]]

_CLEARING: Final = frozenset(
    {NodePhase.POD_DELETION_REQUIRED, NodePhase.DRAIN_REQUIRED, NodePhase.POD_RESTART_REQUIRED}
)
ACTS_IN: Final = {
    AskCheckpoint: frozenset({NodePhase.POD_DELETION_REQUIRED}),
    EvictPods: _CLEARING | {NodePhase.VALIDATION_REQUIRED},  # who slipped in while the node was open
    PauseClients: _CLEARING,
    RequestMaintenance: frozenset({NodePhase.NODE_MAINTENANCE_REQUIRED}),
    RestartPod: frozenset({NodePhase.POD_RESTART_REQUIRED}),
    # Upgrade-required: where nothing that is loaded changes, a node is cordoned with its restart.
    Cordon: frozenset({NodePhase.CORDON_REQUIRED, NodePhase.UPGRADE_REQUIRED}),
}
"""In which phase each act that takes something away, or asks for it, may happen."""


def broken(seen: Snapshot, intent: Intent, decision: Decision) -> tuple[Breach, ...]:
    """Every promise this decision would break; empty when it may be executed."""
    return tuple(breach for promise in PROMISES for breach in promise(seen, intent, decision))


def capacity_kept(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """Our disruptions never take more of the fleet, a pool or a domain than the limits allow."""
    nodes = letting_in.recorded(seen, intent)
    is_back = capacity.is_going_back(seen.rollout)
    budget = capacity.budget_of(nodes, seen.rollout.admitted, intent, is_back=is_back)
    before = {admission.node for admission in capacity.still_admitted(seen.rollout.admitted, nodes, intent)}
    under_way = {name for name, node in nodes.items() if is_under_way(node.record)}
    for action in decision.actions:
        if isinstance(action, Cordon):
            yield from _overdrawn(budget, action.node, before | {action.node}, {action.node})
        if not isinstance(action, WriteRolloutRecord):
            continue
        # Who is under way already is not let in but put back.
        new = set(action.record.admitted) - set(seen.rollout.admitted)
        added = {admission.node for admission in new} - under_way
        if not added:
            continue
        if len(budget.failed) > budget.failed_max:
            yield _breach("capacity", action.record.name, f"{len(budget.failed)} failed, limit {budget.failed_max}")
        for name, scope in budget.scopes.items():
            inside = {node for node in added if name in budget.around(node)}
            moving = scope.under_way | {node for node in under_way if name in budget.around(node)} | inside
            if inside and len(moving) > scope.parallel_max:
                detail = f"{len(moving)} nodes under way, limit {scope.parallel_max}{_in(name)}"
                yield _breach("capacity", action.record.name, detail)
        # A new attempt of a node that the ledger names already takes nothing more from anybody.
        taken = {admission.node for admission in action.record.admitted}
        yield from _overdrawn(budget, action.record.name, taken, added - before)


def _overdrawn(budget: capacity.Budget, subject: str, taken: set[str], added: set[str]) -> Iterator[Breach]:
    """Scopes in which those added make too many unavailable."""
    for name, scope in budget.scopes.items():
        new = {node for node in added if name in budget.around(node)} - scope.unavailable
        gone = scope.unavailable | {node for node in taken if name in budget.around(node)}
        if new and len(gone) > scope.unavailable_max:
            yield _breach("capacity", subject, f"{len(gone)} unavailable, limit {scope.unavailable_max}{_in(name)}")


def _in(scope: str) -> str:
    return f" in {scope}" if scope else ""


def recorded(seen: Snapshot, _intent: Intent, decision: Decision) -> Iterator[Breach]:
    """No disruptive act before its record has been seen."""
    for action in decision.actions:
        if not isinstance(action, NodeAct) or not (is_disruptive(action) or isinstance(action, AskCheckpoint)):
            continue
        record = seen.nodes[action.node].record
        if _closes_again(seen, action):
            continue  # what it takes away was taken before, on the record of the delete
        if record is None or record.phase not in ACTS_IN[type(action)]:
            yield _breach("recorded", action.node, f"{type(action).__name__} while the record seen is {record}")
        elif isinstance(action, RestartPod) and action.uid != record.old_pod:
            yield _breach("recorded", action.node, f"driver pod {action.uid} is deleted, and not on record")


def admitted(seen: Snapshot, _intent: Intent, decision: Decision) -> Iterator[Breach]:
    """No node starts, and no disruptive act happens, without the ledger naming it."""
    ledger = frozenset(seen.rollout.admitted)
    for action in decision.actions:
        if not isinstance(action, NodeAct):
            continue
        starts = isinstance(action, WriteNodeRecord) and _starts(seen, action)
        admission = Admission(node=action.node, attempt=action.attempt)
        takes = is_disruptive(action) and not _closes_again(seen, action)
        if (starts or takes) and admission not in ledger:
            detail = f"{type(action).__name__} of attempt {action.attempt} is not in the ledger"
            yield _breach("admitted", action.node, detail)


def hands_off(seen: Snapshot, _intent: Intent, decision: Decision) -> Iterator[Breach]:
    """A node cordoned, or marked skip, by somebody else stays so; so do the mark of another campaign and a pool."""
    for action in decision.actions:
        if isinstance(action, PausePool):
            yield from _unpaused(seen, action)
        if isinstance(action, MarkNode):
            yield from _unmarked(seen, action)
        if not isinstance(action, NodeAct):
            continue
        node = seen.nodes[action.node]
        if isinstance(action, Uncordon) and not (node.record is not None and node.record.is_cordon_ours):
            yield _breach("hands_off", action.node, "uncordon of a node that somebody else cordoned")
        starts = isinstance(action, Cordon) or (isinstance(action, WriteNodeRecord) and _starts(seen, action))
        if node.facts.is_skipped and starts and not _closes_again(seen, action):
            yield _breach("hands_off", action.node, "start of a node marked skip")


def _unmarked(seen: Snapshot, action: MarkNode) -> Iterator[Breach]:
    """Marks that an act would change although somebody else set them."""
    facts = seen.nodes[action.node].facts
    if action.skip is False and facts.skipped_by != action.rollout:
        yield _breach("hands_off", action.node, f"a skip label of {facts.skipped_by or 'a person'} is taken away")
    if action.skip and facts.is_skipped:
        yield _breach("hands_off", action.node, "a skip label that is there already is made ours")
    if action.is_handed_over and facts.skipped_by != action.rollout:
        yield _breach("hands_off", action.node, "a skip label that is not ours is given away")
    if action.canary is not None and facts.canary_of not in ("", action.rollout):
        yield _breach("hands_off", action.node, f"the mark of {facts.canary_of} is changed")


def _unpaused(seen: Snapshot, action: PausePool) -> Iterator[Breach]:
    """Pauses that an act would change although somebody else made or ended them."""
    for pool in seen.machine_pools:
        if pool.name != action.name:
            continue
        if not action.value and pool.paused_by != action.rollout:
            yield _breach("hands_off", action.subject, f"a pause of {pool.paused_by or 'a person'} is ended")
        if action.value and pool.is_paused and not pool.paused_by:
            yield _breach("hands_off", action.subject, "a pause of a person is made ours")
        if action.value and pool.paused_by == action.rollout:
            yield _breach("hands_off", action.subject, "a pool that somebody resumed is paused again")


def no_lost_node(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """Each member is moving, done, or held with a reason; a campaign touches nobody before their turn."""
    accounted = {held.subject for held in decision.holds} | {action.subject for action in decision.actions}
    for name, node in seen.nodes.items():
        is_done = node.record is not None and node.record.phase is NodePhase.UPGRADE_DONE
        is_untouched = intent.campaign is not None and node.record is None and node.facts.is_in_sync
        if name not in accounted and not is_done and not is_untouched:
            yield _breach("no_lost_node", name, f"neither moving nor held, record {node.record}")


def one_act(_seen: Snapshot, _intent: Intent, decision: Decision) -> Iterator[Breach]:
    """At most one act per subject per pass."""
    for subject, count in Counter(action.subject for action in decision.actions).items():
        if count > 1:
            yield _breach("one_act", subject, f"{count} acts in one pass")


def bounded(_seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """No more than ACTIONS_MAX acts on nodes a pass."""
    moves = [action for action in decision.actions if not isinstance(action, WriteRolloutRecord)]
    if len(moves) > ACTIONS_MAX:
        yield _breach("bounded", intent.rollout, f"{len(moves)} acts in one pass, limit {ACTIONS_MAX}")


_NOTES: Final = ("is_cordon_ours", "is_cordon_theirs", "paused", "old_pod", "has_lost_driver", "reopened_count")
"""What a write may change of a record without opening a phase."""


def table(seen: Snapshot, _intent: Intent, decision: Decision) -> Iterator[Breach]:
    """Every phase opened is one the table allows."""
    for action in decision.actions:
        if not isinstance(action, WriteNodeRecord):
            continue
        node = seen.nodes[action.node]
        before = node.record.phase if node.record else None
        # A repair or a pause changes the notes of a phase, never the phase or when it was entered.
        kept = replace(
            action.record,
            **{name: getattr(node.record, name) for name in _NOTES} if node.record else {},
        )
        is_repair = kept == node.record
        if action.record.phase not in TRANSITIONS[before] and not is_repair:
            yield _breach("table", action.node, f"{before} → {action.record.phase}")


def proven(seen: Snapshot, _intent: Intent, decision: Decision) -> Iterator[Breach]:
    """No node takes work again unless its driver is proven."""
    for action in decision.actions:
        if not isinstance(action, Uncordon):
            continue
        node = seen.nodes[action.node]
        # Whose rollout leaves is given back with the driver it has, whatever its DaemonSet wants by now.
        why = why_unproven_as_it_runs if seen.is_deleting else why_unproven
        lack = why(node.facts, node.record)
        if lack is not None:
            yield _breach("proven", action.subject, f"uncordon in spite of {lack.code}")
        slipped = closing.slipped_in(node)
        if slipped:
            yield _breach("proven", action.subject, f"uncordon over {slipped[0].full_name}, which slipped in")


def held_off(seen: Snapshot, _intent: Intent, decision: Decision) -> Iterator[Breach]:
    """No driver is taken from under a pod that uses it, unless nothing that is loaded changes."""
    for action in decision.actions:
        if not isinstance(action, RestartPod) or action.operand is not Operand.DRIVER:
            continue
        node = seen.nodes[action.node]
        is_harmless = node.record is not None and node.record.is_restart_only and node.facts.is_restart_enough
        if not is_harmless and clearing.users(node.facts):
            yield _breach("held_off", action.node, f"driver restart under {clearing.users(node.facts)[0].full_name}")


def whole(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """Nobody of a unit is let in while another member of it cannot start, but on the way back."""
    if not any(domain.is_unit for domain in intent.domains) or capacity.is_going_back(seen.rollout):
        return
    nodes = letting_in.recorded(seen, intent)
    unit_of = capacity.budget_of(nodes, (), intent).unit_of
    lame = units.unfit(nodes, unit_of)
    for action in decision.actions:
        if not isinstance(action, WriteRolloutRecord):
            continue
        for admission in sorted(set(action.record.admitted) - set(seen.rollout.admitted)):
            name, unit = admission.node, unit_of.get(admission.node, "")
            is_new = name in nodes and not is_under_way(nodes[name].record)
            if is_new and unit in lame:
                yield _breach("whole", name, f"let in without {lame[unit][0]} of {unit}")


def aimed(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """Nobody is disrupted for a driver that the rollout does not want, or that nobody would bring."""
    for action in decision.actions:
        if not isinstance(action, NodeAct) or not is_disruptive(action) or _closes_again(seen, action):
            continue
        node = seen.nodes[action.node]
        goal = goal_of(node, seen, intent)
        if is_misled(node, goal):
            yield _breach("aimed", action.node, f"{type(action).__name__}, and {goal} is not what is published")
        if is_abandoned(node):
            yield _breach("aimed", action.node, f"{type(action).__name__}, and no new driver would come")


_WAITING_TO_WRITE: Final = frozenset(
    {
        HoldCode.WRITE_IN_FLIGHT,
        HoldCode.WRITE_REFUSED,
        HoldCode.PASS_FULL,
        HoldCode.RECORD_UNREADABLE,
        HoldCode.RECORD_EDITED,
        *CONTRADICTED,
    }
)
"""Why a node that is seen open is not closed in this pass, and may not be."""


def closed(seen: Snapshot, _intent: Intent, decision: Decision) -> Iterator[Breach]:
    """A node seen open between the delete of its driver and its proof is closed, unless a write to it has to wait."""
    record = seen.rollout.campaign
    if record is not None and record.mode not in (None, Mode.DIRECT):
        return
    acted = {action.subject for action in decision.actions if isinstance(action, Cordon | MarkNode)}
    waiting = {held.subject for held in decision.holds if held.code in _WAITING_TO_WRITE}
    for name, node in seen.nodes.items():
        if closing.is_surely_opened(node) and name not in acted and name not in waiting:
            yield _breach("closed", name, f"left open on an unproven driver, record {node.record}")


def _closes_again(seen: Snapshot, action: CampaignAct | NodeAct) -> bool:
    """Whether an act puts a cordon back that was there when the driver was deleted, and does nothing else."""
    if not isinstance(action, Cordon):
        return False
    node = seen.nodes[action.node]
    return node.record is not None and closing.is_opened(node) and action.record == closing.closed_again(node.record)


# ── campaigns ────────────────────────────────────────────────────────────────────────────────────────────────────────


def turn(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """A campaign's record walks along the table of phases, and nothing of it goes backwards."""
    before = seen.rollout.campaign
    for action in decision.actions:
        if isinstance(action, WriteRolloutRecord):
            after = action.record.campaign
            if after is None and before is not None:
                yield _breach("turn", intent.rollout, "the campaign's record is lost")
            elif after is not None:
                yield from (_breach("turn", intent.rollout, detail) for detail in _backwards(before, after))


def _backwards(before: CampaignRecord | None, after: CampaignRecord) -> Iterator[str]:
    """What about a record may not follow the one before it."""
    if before is None:
        if after.phase is not RolloutPhase.PROPOSED:
            yield f"it begins as {after.phase}"
        return
    if after.phase is not before.phase and after.phase not in course.TRANSITIONS[before.phase]:
        yield f"{before.phase} → {after.phase}"
    if before.phase is RolloutPhase.PAUSED and after.phase not in (RolloutPhase.PAUSED, before.paused_in):
        yield f"paused in {before.paused_in}, resumed in {after.phase}"
    is_begun = before.phase is not RolloutPhase.PROPOSED and before.paused_in is not RolloutPhase.PROPOSED
    if is_begun and (after.mode, after.baseline, after.switches) != (before.mode, before.baseline, before.switches):
        yield "who moves the nodes, or the way back, is changed on the way"
    if after.round < before.round:
        yield f"round {before.round} → {after.round}: what was measured for it would be taken for new"
    if after.wave < before.wave:
        yield f"wave {before.wave} → {after.wave}"
    if (before.date or before.tag_base) and (after.date, after.tag_base) != (before.date, before.tag_base):
        yield "the promotion gets a second name"
    forgotten = [each for each in before.gates if each.verdict is Verdict.FAILED and each not in after.gates]
    if forgotten:
        yield f"gate {forgotten[0].gate} failed on {forgotten[0].node}, and is forgotten"
    if before.why and after.why != before.why and before.phase in _UNDOING:
        yield "why it is undone is changed"


_UNDOING: Final = frozenset({RolloutPhase.REVERTING, RolloutPhase.REVERTED})


def record_first(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """Nothing of a campaign is done in the pass that changes its record: a crash between the two loses nothing."""
    written = [action.record.campaign for action in decision.actions if isinstance(action, WriteRolloutRecord)]
    if not written or written[0] == seen.rollout.campaign:
        return
    for action in decision.actions:
        if isinstance(action, CampaignAct):
            yield _breach("record_first", intent.rollout, f"{type(action).__name__} before its record is seen")


def bake(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """The fleet follows, and the matrix is promoted, only when every gate has passed for as long as was asked."""
    for action in decision.actions:
        if isinstance(action, WriteRolloutRecord):
            lack = _opened_early(seen.rollout.campaign, action.record.campaign, intent)
            if lack:
                yield _breach("bake", intent.rollout, lack)
        is_fleet = isinstance(action, Publish) and action.step is PublishStep.FLEET
        is_fleet = is_fleet or (isinstance(action, PausePool) and _lets_go(seen, intent, action))
        if is_fleet or isinstance(action, Promote):
            lack = _unbaked(seen.rollout.campaign, intent)
            if lack:
                yield _breach("bake", action.subject, lack)


def _opened_early(before: CampaignRecord | None, after: CampaignRecord | None, intent: Intent) -> str:
    """What the evidence lacks with which waves are opened; empty when it is whole, or none are."""
    opens = after is not None and after.phase is RolloutPhase.WAVING
    if after is None or not opens or before is None or before.phase is not RolloutPhase.BAKING:
        return ""
    if intent.campaign is None:
        return "there is no record of a canary"
    asked_seconds = intent.campaign.bake.seconds
    if after.baked_seconds < asked_seconds:
        return f"baked {after.baked_seconds} of {asked_seconds} s"
    return baking.why_incomplete(after, intent.campaign)


def _lets_go(seen: Snapshot, intent: Intent, action: PausePool) -> bool:
    """Whether nodes of a pool get what the canary is to prove; not where everything was taken back."""
    is_paused = any(pool.name == action.name and pool.is_paused for pool in seen.machine_pools)
    is_by_hand = intent.campaign is not None and intent.campaign.by_hand is not None
    record = seen.rollout.campaign
    is_back = record is not None and record.phase is RolloutPhase.REVERTING and not is_by_hand
    return not action.value and is_paused and not is_back


def _unbaked(record: CampaignRecord | None, intent: Intent) -> str:
    """What the evidence lacks; empty when it is whole."""
    if record is None or intent.campaign is None:
        return "there is no record of a canary"
    if record.phase not in (RolloutPhase.WAVING, RolloutPhase.PROMOTING):
        return f"the campaign is at {record.phase}"
    unpassed = [each for each in record.gates if each.verdict is not Verdict.PASSED]
    if not record.gates or unpassed:
        return f"gate {unpassed[0].gate} is {unpassed[0].verdict}" if unpassed else "no gate was asked"
    # Once the fleet follows, what is asked for later changes nothing.
    asked_seconds = record.bake_asked_seconds
    asked_seconds = intent.campaign.bake.seconds if asked_seconds is None else asked_seconds
    return f"baked {record.baked_seconds} of {asked_seconds} s" if record.baked_seconds < asked_seconds else ""


def way_back(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """No version is published in a resource unless what it carried is on record, or nothing there would change."""
    record = seen.rollout.campaign
    known = dict(record.baseline) if record is not None else {}
    for action in decision.actions:
        if not isinstance(action, Publish) or action.step not in (PublishStep.CANARY, PublishStep.FLEET):
            continue
        for resource, version in action.versions:
            if resource not in known and _moves_somebody(seen, resource, version):
                yield _breach("way_back", intent.rollout, f"{resource} gets {version} with nothing to return to")


def _moves_somebody(seen: Snapshot, resource: str, version: str) -> bool:
    mine = (node.facts for node in seen.nodes.values() if resource_of(node.facts, seen.operator) == resource)
    return any(facts.driver is None or not is_same(facts.driver.version, version) for facts in mine)


OPENING: Final = frozenset({RolloutPhase.WAVING, RolloutPhase.PROMOTING, RolloutPhase.DONE, RolloutPhase.REVERTING})
"""Phases in which nodes other than the canaries may have their turn."""


def unopened(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """Nobody starts, and nobody is disrupted, before their turn; those that go with a canary as one have its turn."""
    if intent.campaign is None:
        return
    record = seen.rollout.campaign
    canaries = set(record.canaries) if record is not None else set()
    if record is not None and record.phase in OPENING:
        return
    units = {_unit_of(seen, intent, name) for name in canaries if name in seen.nodes} - {""}
    for action in decision.actions:
        if not isinstance(action, NodeAct) or is_under_way(seen.nodes[action.node].record):
            continue
        starts = isinstance(action, WriteNodeRecord) and _starts(seen, action)
        is_first = action.node in canaries or _unit_of(seen, intent, action.node) in units
        if (starts or is_disruptive(action)) and not is_first:
            where = record.phase if record is not None else "nowhere yet"
            yield _breach("unopened", action.node, f"{type(action).__name__} while the campaign is at {where}")


def _unit_of(seen: Snapshot, intent: Intent, name: str) -> str:
    return capacity.place_of(seen.nodes[name].facts, intent).unit


def on_time(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """Nobody starts outside a window or while paused, whoever moves the nodes; a way back waits for no window."""
    is_paused = intent.is_paused and not seen.is_deleting  # who deletes a rollout does not wait for its pause to end
    why = "paused" if is_paused else "outside of every window" if _is_shut(seen, intent, decision) else ""
    for action in decision.actions:
        starts = isinstance(action, WriteNodeRecord) and _starts(seen, action)
        if why and (starts or (isinstance(action, MarkNode) and _lets_in(seen, intent, action))):
            yield _breach("on_time", action.subject, f"it is started while the rollout is {why}")


def _is_shut(seen: Snapshot, intent: Intent, decision: Decision) -> bool:
    record = seen.rollout.campaign
    if intent.campaign is None or decision.at is None or (record is not None and letting_in.is_going_back(record)):
        return False
    margin_seconds = LATE_SECONDS if letting_in.is_delegated(seen) else 0.0
    return not windows.is_open(intent.campaign.openings, decision.at, margin_seconds)


def _lets_in(seen: Snapshot, intent: Intent, action: MarkNode) -> bool:
    """Whether NVIDIA's controller may start a node once this is done."""
    node, record = seen.nodes[action.node], seen.rollout.campaign
    if record is None or record.mode is not Mode.DELEGATED:
        return False
    if leaving.is_leaving(seen, intent):  # nothing more is published, so only what is published now can move it
        return action.is_retry or (action.skip is False and leaving.would_begin(node.facts))
    version = letting_in.version_for(node.facts, record, seen.operator, intent)
    return action.is_retry or (action.skip is False and letting_in.may_be_started(node, version))


def let_in(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """NVIDIA's controller is let in to nodes that the ledger names; on the way forward not after too many failures."""
    named = {admission.node for admission in seen.rollout.admitted}
    nodes = letting_in.recorded(seen, intent)
    is_back = seen.rollout.campaign is not None and letting_in.is_going_back(seen.rollout.campaign)
    failed = [] if is_back else [name for name, node in nodes.items() if capacity.has_failed(node.record)]
    for action in decision.actions:
        if not isinstance(action, MarkNode) or not _lets_in(seen, intent, action):
            continue
        if action.node not in named:
            yield _breach("let_in", action.node, "it is let in, and the ledger does not name it")
        if len(failed) > intent.failed_max:
            detail = f"it is let in after {len(failed)} failures, limit {intent.failed_max}"
            yield _breach("let_in", action.node, detail)


def one_thing(seen: Snapshot, _intent: Intent, decision: Decision) -> Iterator[Breach]:
    """Nothing new is published while another campaign is under way; going back is always right."""
    for action in decision.actions:
        is_new = isinstance(action, Publish) and action.step is not PublishStep.REVERT
        if seen.others and is_new:
            yield _breach("one_thing", action.subject, f"{seen.others[0]} is under way as well")


def _starts(seen: Snapshot, action: WriteNodeRecord) -> bool:
    before = seen.nodes[action.node].record
    return is_under_way(action.record) and not is_under_way(before)


PROMISES: Final[tuple[Promise, ...]] = (
    capacity_kept,
    recorded,
    admitted,
    hands_off,
    no_lost_node,
    one_act,
    bounded,
    table,
    proven,
    held_off,
    whole,
    aimed,
    closed,
    turn,
    record_first,
    bake,
    way_back,
    unopened,
    on_time,
    let_in,
    one_thing,
)


def _breach(promise: str, subject: str, detail: str) -> Breach:
    return Breach(promise=promise, subject=subject, detail=detail)
