"""What we promise of each node: recorded first, left alone where it is somebody else's, proven before it takes work.

Law of this file: a promise is about what is decided, whoever decided it.

Tests: tests/core/promises/test_invariants.py, tests/core/promises/test_promises_alone.py
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from seatrial.core.actions.action import is_disruptive
from seatrial.core.actions.of_campaigns import MarkNode, PausePool
from seatrial.core.actions.on_nodes import (
    AskCheckpoint,
    Cordon,
    EvictPods,
    NodeAct,
    PauseClients,
    RequestMaintenance,
    RestartPod,
    Uncordon,
    WriteNodeRecord,
)
from seatrial.core.budget.attrition import clock
from seatrial.core.decision.decide import Decision
from seatrial.core.decision.stops import CONTRADICTED
from seatrial.core.decision.turns import goal_of
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen import marks
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeSeen
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.pods import Pod, PodOwner
from seatrial.core.model.seen.snapshot import PODS_STREAM, Snapshot
from seatrial.core.model.selectors import NETWORK_DRAIN_SKIP_KEY
from seatrial.core.model.target import parts_of
from seatrial.core.movers.mover import mover_seen
from seatrial.core.node.aiming import is_misled
from seatrial.core.node.phases import CLOSING, TRANSITIONS, is_under_way
from seatrial.core.node.progress import is_label_left_over, is_same
from seatrial.core.node.readiness import why_unproven, why_unproven_as_it_runs
from seatrial.core.node.visiting import VISITS
from seatrial.core.promises.breach import Breach, breach, closes_again, is_bare, is_exposed, is_start, is_within

_CLEARING: Final = frozenset(
    {NodePhase.POD_DELETION_REQUIRED, NodePhase.DRAIN_REQUIRED, NodePhase.POD_RESTART_REQUIRED}
)
ACTS_IN: Final = {
    AskCheckpoint: frozenset({NodePhase.POD_DELETION_REQUIRED, NodePhase.DRAIN_REQUIRED}),
    EvictPods: _CLEARING | {NodePhase.VALIDATION_REQUIRED},  # who slipped in while the node was open
    PauseClients: _CLEARING,
    RequestMaintenance: frozenset({NodePhase.NODE_MAINTENANCE_REQUIRED}),
    RestartPod: frozenset({NodePhase.POD_RESTART_REQUIRED}),
    # Upgrade-required: where nothing that is loaded changes, a node is cordoned with its restart. Pod-restart-required:
    # it was visited for what needs no cordon, and something else is due by now that does.
    Cordon: frozenset({NodePhase.CORDON_REQUIRED, NodePhase.UPGRADE_REQUIRED, NodePhase.POD_RESTART_REQUIRED}),
}
"""In which phase each act that takes something away, or asks for it, may happen."""
FOLLOWING: Final = frozenset({Operand.VALIDATOR, Operand.DRA_PLUGIN})
"""Operands that restart as they are, too: after a driver, or whatever else they have to be younger than."""
_HARMLESS: Final = frozenset(
    {
        Operand.DISCOVERY,
        Operand.DCGM,
        Operand.EXPORTER,
        Operand.MIG_MANAGER,
        Operand.STATUS_EXPORTER,
        Operand.VALIDATOR,
    }
)
"""Operands that restart on an open node, with its users at work."""
_RESIDENT: Final = (PodOwner.DAEMON_SET, PodOwner.KUBELET)
"""Who keeps pods that no drain moves."""
VISITING: Final = frozenset({NodePhase.POD_RESTART_REQUIRED, NodePhase.VALIDATION_REQUIRED})
"""The phases of a visit in which pods are restarted."""


def recorded(seen: Snapshot, _intent: Intent, decision: Decision) -> Iterator[Breach]:
    """No disruptive act before its record has been seen."""
    for action in decision.actions:
        if not isinstance(action, NodeAct) or not (is_disruptive(action) or isinstance(action, AskCheckpoint)):
            continue
        record = seen.nodes[action.node].record
        if closes_again(seen, action):
            continue  # what it takes away was taken before, on the record of the delete
        if record is None or record.phase not in ACTS_IN[type(action)]:
            yield breach("recorded", action.node, f"{type(action).__name__} while the record seen is {record}")
        elif isinstance(action, RestartPod) and action.operand is Operand.DRIVER and action.uid != record.old_pod:
            yield breach("recorded", action.node, f"driver pod {action.uid} is deleted, and not on record")


def visited(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """No operand restarts outside a visit, needlessly, or with less taken than its restart takes."""
    ledger = {(each.node, each.attempt) for each in seen.rollout.admitted if not each.is_ahead}
    for action in decision.actions:
        if not isinstance(action, RestartPod) or action.operand not in VISITS:
            continue
        node = seen.nodes[action.node]
        facts, record = node.facts, node.record
        is_visit = record is not None and record.phase in VISITING and record.attempt == action.attempt
        if not is_visit or (action.node, action.attempt) not in ledger:
            yield breach("visited", action.node, f"{action.operand} restarts outside a visit")
        found = next((each for each in facts.operands if each.operand is action.operand), None)
        is_due = found is not None and found.is_old and found.pod is not None and found.pod.uid == action.uid
        if not is_due and action.operand not in FOLLOWING:
            yield breach("visited", action.node, f"{action.operand} restarts, and runs what is wanted")
        is_harmless = action.operand in _HARMLESS or (action.operand in FOLLOWING and not is_due)
        if not is_harmless and not facts.is_cordoned:
            yield breach("visited", action.node, f"{action.operand} restarts without a cordon")
        is_runtime = action.operand is Operand.TOOLKIT and found is not None and found.is_configured_anew
        under: list[Pod] = []
        if action.operand is Operand.NETWORK_DRIVER:
            under = _drained(facts, intent)
        elif action.operand is Operand.MPS or (is_runtime and intent.evicts_for_runtime):
            under = _users(facts)
        yield from (
            breach("visited", action.node, f"{action.operand} restarts under {pod.full_name}") for pod in under[:1]
        )
        driver = facts.driver
        is_late = action.operand is Operand.NETWORK_DRIVER and (driver is None or driver.is_terminating)
        if is_late:
            yield breach("visited", action.node, "the network driver restarts after the GPU's was taken away")


def _drained(facts: NodeFacts, intent: Intent) -> list[Pod]:
    """Pods that have to leave before the network driver does: all that could go, unless their labels spare them."""
    selector, spared = intent.policy_for(facts).drain.selector, (NETWORK_DRAIN_SKIP_KEY, "true")
    found = (pod for pod in facts.pods if pod.keeper not in _RESIDENT and selector.matches(dict(pod.labels)))
    return [pod for pod in found if spared not in pod.labels]


def one_cordon(seen: Snapshot, _intent: Intent, decision: Decision) -> Iterator[Breach]:
    """A visit closes its node once: who opens it meanwhile is not overruled, but while its driver is replaced."""
    for action in decision.actions:
        if not isinstance(action, Cordon) or closes_again(seen, action):
            continue
        record = seen.nodes[action.node].record
        is_same_visit = record is not None and record.attempt == action.record.attempt
        if is_same_visit and record is not None and record.closed_at is not None:
            yield breach("one_cordon", action.node, f"attempt {record.attempt} closes it a second time")


def aside(seen: Snapshot, _intent: Intent, decision: Decision) -> Iterator[Breach]:
    """Nobody is closed, emptied or opened where the SR-IOV operator is at work, unless a driver of ours is away."""
    for action in decision.actions:
        if not isinstance(action, Cordon | Uncordon | EvictPods | RestartPod | RequestMaintenance):
            continue
        node = seen.nodes[action.node]
        is_proving = node.record is not None and node.record.phase is NodePhase.VALIDATION_REQUIRED
        is_operand_away = any(not each.is_old and not each.is_up for each in node.facts.operands)
        is_away = is_proving or is_bare(node) or is_operand_away or seen.is_let_go
        if node.facts.sriov and not is_away and not closes_again(seen, action):
            yield breach("aside", action.node, f"{type(action).__name__} while the SR-IOV operator is at work")


def hands_off(seen: Snapshot, _intent: Intent, decision: Decision) -> Iterator[Breach]:
    """A node cordoned, or marked, by somebody else stays so; so do the mark of another campaign and a pool."""
    for action in decision.actions:
        if isinstance(action, PausePool):
            yield from _unpaused(seen, action)
        if isinstance(action, MarkNode):
            yield from _unmarked(seen, action)
        if not isinstance(action, NodeAct):
            continue
        node = seen.nodes[action.node]
        if isinstance(action, WriteNodeRecord):
            yield from _unkept(node, action)
        if isinstance(action, Uncordon) and not (node.record is not None and node.record.is_cordon_ours):
            yield breach("hands_off", action.node, "uncordon of a node that somebody else cordoned")
        starts = isinstance(action, Cordon) or (isinstance(action, WriteNodeRecord) and is_start(seen, action))
        if node.facts.is_skipped and starts and not closes_again(seen, action):
            yield breach("hands_off", action.node, "start of a node marked skip")


def _unkept(node: NodeSeen, action: WriteNodeRecord) -> Iterator[Breach]:
    """A cordon, or marks for neighbours, that an act would make ours, change, or lose from record."""
    was_ours = node.record is not None and node.record.is_cordon_ours
    is_set_now = isinstance(action, Cordon) and not node.facts.is_cordoned
    # What an admin lifted before the visit is gone; what was lifted with the driver away is put back as theirs.
    is_theirs = node.record is not None and node.record.is_cordon_theirs and is_exposed(node)
    if action.record.is_cordon_ours and not was_ours and (not is_set_now or is_theirs):
        yield breach("hands_off", action.node, "a cordon of somebody else's is taken for ours")
    recorded = dict(node.record.marks).keys() if node.record is not None else set()
    there, noted = dict(node.facts.marks), dict(action.record.marks).keys()
    for mark in action.marks:
        if mark.key in there or mark.key not in noted:
            yield breach("hands_off", action.node, f"{mark.key} is set that was there, or is not on record")
    for mark in action.lifted:
        if mark.key not in recorded or there.get(mark.key) != mark.value:
            yield breach("hands_off", action.node, f"{mark.key} is taken off and is somebody else's")
    lifted = {mark.key for mark in action.lifted}
    for mark in marks.ours(node.facts, node.record):
        if mark.key not in noted and mark.key not in lifted:
            yield breach("hands_off", action.node, f"{mark.key} stays on the node, and nobody would know whose it is")


def _unmarked(seen: Snapshot, action: MarkNode) -> Iterator[Breach]:
    """Marks that an act would change although somebody else set them."""
    facts = seen.nodes[action.node].facts
    if action.skip is False and facts.skipped_by != action.rollout:
        yield breach("hands_off", action.node, f"a skip label of {facts.skipped_by or 'a person'} is taken away")
    if action.skip and facts.is_skipped and not is_label_left_over(facts, action.rollout, seen.others):
        yield breach("hands_off", action.node, "a skip label that is there already is made ours")
    if action.is_handed_over and facts.skipped_by != action.rollout:
        yield breach("hands_off", action.node, "a skip label that is not ours is given away")
    if action.canary is not None and facts.canary_of not in ("", action.rollout):
        yield breach("hands_off", action.node, f"the mark of {facts.canary_of} is changed")


def _unpaused(seen: Snapshot, action: PausePool) -> Iterator[Breach]:
    """Pauses that an act would change although somebody else made or ended them."""
    for pool in seen.machine_pools:
        if pool.name != action.name:
            continue
        if not action.value and pool.paused_by != action.rollout:
            yield breach("hands_off", action.subject, f"a pause of {pool.paused_by or 'a person'} is ended")
        if action.value and pool.is_paused and not pool.paused_by:
            yield breach("hands_off", action.subject, "a pause of a person is made ours")
        if action.value and pool.paused_by == action.rollout:
            yield breach("hands_off", action.subject, "a pool that somebody resumed is paused again")


def no_lost_node(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """Each member is moving, done, or held with a reason; a campaign touches nobody before their turn."""
    accounted = {held.subject for held in decision.holds} | {action.subject for action in decision.actions}
    for name, node in seen.nodes.items():
        is_done = node.record is not None and node.record.phase is NodePhase.UPGRADE_DONE
        is_untouched = intent.campaign is not None and node.record is None and node.facts.is_in_sync
        if name not in accounted and not is_done and not is_untouched:
            yield breach("no_lost_node", name, f"neither moving nor held, record {node.record}")


_NOTES: Final = (
    "is_cordon_ours",
    "is_cordon_theirs",
    "paused",
    "old_pod",
    "has_lost_driver",
    "reopened_count",
    "closed_at",
    "marks",
    "marked_by",
)
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
            yield breach("table", action.node, f"{before} → {action.record.phase}")


def proven(seen: Snapshot, _intent: Intent, decision: Decision) -> Iterator[Breach]:
    """No node takes work again unless its driver, and what moved with it, is proven."""
    for action in decision.actions:
        if not isinstance(action, Uncordon):
            continue
        node = seen.nodes[action.node]
        if action.record.phase is NodePhase.UPGRADE_REQUIRED:
            # Closed for its jobs to end, and given back as it was: nobody has touched its driver.
            if is_bare(node) or node.record is None or node.record.phase not in CLOSING:
                yield breach("proven", action.subject, "given back after its driver was touched")
            continue
        # Whose rollout leaves is given back with the driver it has, whatever its DaemonSet wants by now.
        why = why_unproven_as_it_runs if seen.is_let_go else why_unproven
        lack = why(node.facts, node.record)
        unshown = lack.code if lack is not None else _unshown(node, as_it_runs=seen.is_let_go)
        if unshown:
            yield breach("proven", action.subject, f"uncordon in spite of {unshown}")
        came = node.record is not None and node.record.reopened_count and not node.record.is_restart_only
        slipped = [pod for pod in node.facts.gpu_pods if pod.keeper not in _RESIDENT and not pod.is_probe]
        if came and slipped and is_bare(node):
            yield breach("proven", action.subject, f"uncordon over {slipped[0].full_name}, which slipped in")


def _unshown(node: NodeSeen, *, as_it_runs: bool) -> str:
    """What the pods and the offer of a node do not show, as a reader of the cluster would look at them; or empty."""
    facts, driver, validator = node.facts, node.facts.driver, node.facts.validator
    if driver is None or driver.is_terminating or not driver.is_ready or driver.loaded_at is None:
        return "a driver that is not Ready"
    if not as_it_runs and (facts.wanted is None or facts.wanted.hash != driver.revision):
        return "a driver that is not the wanted one"
    if validator is None or validator.is_terminating or not validator.is_ready:
        return "a validator that is not Ready"
    if validator.ready_since is None or validator.ready_since < driver.loaded_at:
        return "a validator that is older than the driver"
    before = node.record.before if node.record is not None and not facts.is_loss_accepted else None
    now = dict(facts.offer.resources)
    if before is not None and any(now.get(name, 0) < count for name, count in before.resources):
        return "fewer GPUs than before"
    return next((f"{each.operand} that is not up" for each in facts.operands if not each.is_up), "")


def held_off(seen: Snapshot, _intent: Intent, decision: Decision) -> Iterator[Breach]:
    """No driver is taken from under a pod that uses it, or that may have come unheard, unless what is loaded stays."""
    for action in decision.actions:
        if not isinstance(action, RestartPod) or action.operand not in (Operand.DRIVER, Operand.NETWORK_DRIVER):
            continue
        node = seen.nodes[action.node]
        is_unheard = _is_unheard(node, seen, decision.at if decision.at is not None else math.inf)
        if action.operand is Operand.NETWORK_DRIVER:
            if is_unheard:
                yield breach("held_off", action.node, "network driver restart on old word of pods")
            continue
        is_harmless = node.record is not None and node.record.is_restart_only and node.facts.is_restart_enough
        if not is_harmless and _users(node.facts):
            yield breach("held_off", action.node, f"driver restart under {_users(node.facts)[0].full_name}")
        if not is_harmless and is_unheard:
            yield breach("held_off", action.node, "driver restart, and pods were last heard of before it was closed")


def _users(facts: NodeFacts) -> list[Pod]:
    """Pods that hold a GPU. A DaemonSet's that merely runs under NVIDIA's runtime class may hold none, and stays."""

    def is_idle(pod: Pod) -> bool:
        is_resident = pod.keeper is PodOwner.DAEMON_SET and not pod.deploy_label
        return pod.gpu is None or (pod.gpu is GpuUse.RUNTIME_CLASS and is_resident)

    return [pod for pod in facts.pods if not is_idle(pod)]


def _is_unheard(node: NodeSeen, seen: Snapshot, now: Instant) -> bool:
    """Whether any word of pods is from before the node was closed, or there is no saying when it was."""
    heard = [stream.heard_at for stream in seen.freshness if stream.source == PODS_STREAM]
    if node.record is None or not heard:
        return False
    since = node.record.closed_at if node.record.closed_at is not None else node.record.entered_at
    if since > now and seen.put_back_at is not None:
        since = seen.put_back_at
    return min(heard) < since


def aimed(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """Nobody is disrupted for a driver that the rollout does not want, or that nobody would bring."""
    for action in decision.actions:
        if not isinstance(action, NodeAct) or not is_disruptive(action) or closes_again(seen, action):
            continue
        node = seen.nodes[action.node]
        goal = goal_of(node, seen, intent)
        if is_misled(node, goal) or _is_unknown(node, seen, intent):
            yield breach("aimed", action.node, f"{type(action).__name__}, and {goal} is not what is published")
        if _is_abandoned(node):
            yield breach("aimed", action.node, f"{type(action).__name__}, and no new driver would come")


def _is_abandoned(node: NodeSeen) -> bool:
    """Whether nothing would replace the driver of a node: its DaemonSet is gone, and no person asked for this."""
    facts, driver, record = node.facts, node.facts.driver, node.record
    is_asked = record is not None and record.is_requested
    is_replaced = bool(facts.owner) and facts.wanted is not None  # an NVIDIADriver brings another DaemonSet
    is_orphan = driver is not None and driver.is_orphaned and not driver.is_terminating
    return is_orphan and not is_asked and not is_replaced


def _is_unknown(node: NodeSeen, seen: Snapshot, intent: Intent) -> bool:
    """Whether a node under way would get another driver than the target's, while its rollout goes forward."""
    facts, record = node.facts, seen.rollout.campaign
    is_led = intent.campaign is None or (record is not None and record.phase not in _NOT_FORWARD)
    is_there = facts.driver is not None and not facts.driver.is_terminating
    if not is_led or not is_there or not is_under_way(node.record) or facts.wanted is None or facts.is_driver_in_sync:
        return False
    driver, _ = parts_of(intent.target.published)
    return bool(driver) and not is_same(facts.wanted.version, driver)


_NOT_FORWARD: Final = frozenset({RolloutPhase.PROPOSED, RolloutPhase.REVERTING, RolloutPhase.REVERTED})


def until_when(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """A node closed until its jobs end states a time that is still to come, or that something else keeps it."""
    record = seen.rollout.campaign
    phase = (record.paused_in or record.phase) if record is not None else None
    is_waited_for = intent.attrition is not None and phase in clock.RUNNING
    openings = intent.campaign.openings if intent.campaign is not None else None
    # When a window closes, the clock runs on record until the next write: nobody is told then, and nobody evicted.
    is_open = decision.at is None or is_within(openings, decision.at)
    is_running = record is not None and bool(record.waving_since) and not intent.is_paused and is_open
    for held in decision.holds:
        is_closed = held.code is HoldCode.CLOSED_AHEAD
        if is_closed and not is_waited_for:
            yield breach("until_when", held.subject, "closed for its jobs, and nobody waits for them")
        elif is_closed and held.until is not None and decision.at is not None and held.until <= decision.at:
            yield breach("until_when", held.subject, "closed for its jobs, and the time it is told has passed")
        elif (
            is_closed
            and is_running
            and held.until is None
            and decision.stop is None
            and "kept" not in dict(held.params)
        ):
            yield breach("until_when", held.subject, "closed for its jobs, and not told until when")


_WAITING_TO_WRITE: Final = frozenset(
    {
        HoldCode.WRITE_IN_FLIGHT,
        HoldCode.WRITE_REFUSED,
        HoldCode.PASS_FULL,
        HoldCode.RECORD_UNREADABLE,
        HoldCode.RECORD_EDITED,
        HoldCode.UNREADABLE_OBJECT,
        *CONTRADICTED,
    }
)
"""Why a node that is seen open is not closed in this pass, and may not be."""


def closed(seen: Snapshot, _intent: Intent, decision: Decision) -> Iterator[Breach]:
    """A node seen open between the delete of its driver and its proof is closed, unless a write to it has to wait."""
    if not mover_seen(seen).closes:
        return
    acted = {action.subject for action in decision.actions if isinstance(action, Cordon | MarkNode)}
    waiting = {held.subject for held in decision.holds if held.code in _WAITING_TO_WRITE}
    for name, node in seen.nodes.items():
        # On a view that may be old or incomplete, a driver pod that is not seen may well be there.
        is_told = node.facts.driver is not None or (node.record is not None and node.record.has_lost_driver)
        if is_told and is_exposed(node) and name not in acted and name not in waiting:
            yield breach("closed", name, f"left open on an unproven driver, record {node.record}")
