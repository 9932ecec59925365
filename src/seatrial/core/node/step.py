"""The node machine: one node, one step. The table (phases.py) says which phases may follow which.

Law of this file: a step either opens the next phase (a record), or acts within a phase whose record has been *seen*, or
holds with a reason; never two of these at once. So a crash between any two writes loses nothing. A deadline is looked
at only when there is nothing left for us to do but wait. Where we differ from NVIDIA's controller, see
docs/deviations.md.

    here          who starts, restarts, is proven, fails         clearing.py   jobs, checkpoints, eviction, drain
    readiness.py  what counts as proven                          operating.py  operands, and the network driver
                                                                 maintenance.py  a maintenance operator empties it

A cordon is ours only as long as we see it in place: once somebody lifted it, the next one is theirs and stays. Between
the delete of a driver and the proof of the next one it is put back instead: see closing.py.

Tests: tests/core/node/test_node.py, tests/core/node/test_upstream_scenarios.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, assert_never

from seatrial.core.actions.on_nodes import Cordon, Request, RestartPod, Uncordon
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen import sriov
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeRecord, NodeSeen, RecordFault
from seatrial.core.model.seen.operands import Operand
from seatrial.core.node import aiming, clearing, closing, fresh, maintenance, operating
from seatrial.core.node.phases import UNDER_WAY, FailureCode
from seatrial.core.node.progress import is_left_out
from seatrial.core.node.readiness import is_running_wanted, offered, why_unproven
from seatrial.core.node.visiting import Takes
from seatrial.core.node.writing import (
    NOTHING,
    WISH,
    Orders,
    Step,
    deadline_of,
    give_back,
    has_returned,
    new_attempt,
    open_phase,
    record_of,
    reopened,
    retry_at,
    told,
    wait,
    write_again,
)

RESTARTS_MAX: Final = 10
"""A driver container restarted more often than this has failed (NVIDIA's threshold)."""
_PROVING: Final = frozenset({NodePhase.VALIDATION_REQUIRED, NodePhase.UNCORDON_REQUIRED})
"""Phases in which the new driver is there, and nothing is restarted any more but what proves it."""
VALIDATOR_SECONDS: Final = 60.0
"""How long a validator older than the driver may take to start anew by itself before we restart it."""


def step_node(node: NodeSeen, orders: Orders, now: Instant, goal: str = "") -> Step:
    """The next step of one node; `goal` is the version that the rollout wants there, empty where it wants none."""
    unclear = why_unclear(node)
    if unclear is not None:
        return Step(hold=unclear)
    if (rebuff := orders.rebuffs.get(node.facts.name)) is not None and now < retry_at(rebuff):
        return Step(hold=hold(node.name, HoldCode.WRITE_REFUSED, until=retry_at(rebuff), why=rebuff.detail))
    if closing.is_opened(node):
        # At once, and whatever else is due: the node takes work on a driver that nobody has proven.
        record = closing.closed_again(record_of(node), now)
        return Step(action=Cordon(node=node.name, record=record, expect=node.facts.resource_version))
    repaired = _repaired(node)
    if repaired is not None:
        return write_again(node, repaired)
    phase = node.record.phase if node.record else None
    if phase in UNDER_WAY and not _is_admitted(node, orders):
        # The ledger was lost or is older than the record: nothing more is done before it names the node again.
        return Step(hold=hold(node.name, HoldCode.LEDGER_PENDING))
    aside = _step_aside(node, orders, now) if node.facts.sriov else None
    if aside is not None:
        return aside
    if closing.is_opened_by_reboot(node):
        return new_attempt(node, orders, now)
    step = _step_in_phase(node, phase, orders, now, goal)
    if node.facts.sriov and isinstance(step.action, Uncordon):
        return Step(hold=why_at_work(node.facts))  # whatever led there: it would be opened under the operator's drain
    return step


def _step_in_phase(node: NodeSeen, phase: NodePhase | None, orders: Orders, now: Instant, goal: str) -> Step:
    match phase:
        case None | NodePhase.UPGRADE_DONE:
            return _step_settled(node, orders, now)
        case NodePhase.UPGRADE_REQUIRED:
            return _step_waiting_for_turn(node, orders, now)
        case NodePhase.CORDON_REQUIRED:
            return _step_cordoning(node, orders, now)
        case NodePhase.WAIT_FOR_JOBS_REQUIRED:
            return _let_go(node, orders, now) or clearing.step_waiting_for_jobs(
                node, orders, now, kept=_abandoned(node)
            )
        case NodePhase.POD_DELETION_REQUIRED:
            return _let_go(node, orders, now) or _abandoned(node) or clearing.step_evicting(node, orders, now)
        case NodePhase.DRAIN_REQUIRED:
            return _let_go(node, orders, now) or _abandoned(node) or clearing.step_draining(node, orders, now)
        case NodePhase.NODE_MAINTENANCE_REQUIRED:
            return _let_go(node, orders, now) or _abandoned(node) or _step_under_maintenance(node, orders, now)
        case NodePhase.POD_RESTART_REQUIRED:
            return _step_restarting(node, orders, now)
        case NodePhase.VALIDATION_REQUIRED:
            return _step_validating(node, orders, now)
        case NodePhase.UNCORDON_REQUIRED:
            return open_phase(node, NodePhase.UPGRADE_DONE if _is_well(node) else NodePhase.VALIDATION_REQUIRED, now)
        case NodePhase.UPGRADE_FAILED:
            return _step_failed(node, orders, now, goal)
        case _:
            assert_never(phase)


def _step_aside(node: NodeSeen, orders: Orders, now: Instant) -> Step | None:
    """Out of the way of the SR-IOV operator, as long as nothing was taken away that only we bring back."""
    record = node.record
    if record is None or record.phase not in UNDER_WAY - _PROVING:
        return None
    if record.phase is NodePhase.POD_RESTART_REQUIRED and closing.is_between(node):
        return None
    # Its drain would be met by ours, and its uncordon would open the node under us: the visit begins anew after it.
    return new_attempt(node, orders, now)


def why_at_work(facts: NodeFacts) -> Hold | None:
    """That the SR-IOV operator is at work on a node; None where it is not."""
    does = sriov.means(facts.sriov)
    return hold(facts.name, HoldCode.SRIOV_AT_WORK, state=facts.sriov, does=does) if facts.sriov else None


def is_proven(node: NodeSeen) -> bool:
    """Whether nothing is left to do for a node but to give it back to its users."""
    return node.record is not None and node.record.phase is NodePhase.UNCORDON_REQUIRED and _is_well(node)


def why_unclear(node: NodeSeen) -> Hold | None:
    """Why it cannot be told where a node stands: what we wrote on it is not as we wrote it."""
    if node.fault is None:
        return None
    if node.fault is RecordFault.UNREADABLE:
        return hold(node.name, HoldCode.RECORD_UNREADABLE, found=node.fault_text)
    if node.fault is RecordFault.EDITED:
        recorded = node.record.phase if node.record else "nothing"
        return hold(node.name, HoldCode.RECORD_EDITED, found=node.fault_text, recorded=recorded)
    assert_never(node.fault)


def _is_admitted(node: NodeSeen, orders: Orders) -> bool:
    return node.record is not None and orders.admitted.get(node.facts.name) == node.record.attempt


def _repaired(node: NodeSeen) -> NodeRecord | None:
    """The record as the facts have it; None when it needs no repair."""
    record = node.record
    if record is not None and closing.is_cordon_lifted(node):
        # Were it still called ours, we would one day lift the cordon they set next.
        return replace(record, is_cordon_ours=False)
    return record if node.is_label_lost else None


def _is_well(node: NodeSeen) -> bool:
    """Whether the wanted driver runs and is proven to work, so that there is nothing to upgrade (any more)."""
    is_running = is_running_wanted(node.facts) and not _is_still_asked_for(node) and not closing.slipped_in(node)
    return is_running and why_unproven(node.facts, node.record) is None


def _is_still_asked_for(node: NodeSeen) -> bool:
    """Whether the wanted revisions run, and yet one of the drivers is to be loaded anew, or for the first time."""
    return clearing.is_still_asked_for(node) or node.facts.awaits_network_load


def _let_go(node: NodeSeen, orders: Orders, now: Instant) -> Step | None:
    """Reverted while its driver is untouched: nobody else has to leave. Where it is not proven, that comes first."""
    if not is_running_wanted(node.facts) or _is_still_asked_for(node):
        return None
    if node.name in orders.ahead and not closing.has_lost_driver(node):
        return give_back(node, orders, now)  # a later phase would evict for it, should the version come back
    return open_phase(node, NodePhase.UNCORDON_REQUIRED, now)


def is_abandoned(node: NodeSeen) -> bool:
    """Whether nobody would put a driver in place of the one that runs: its DaemonSet was taken away from over it.

    The DaemonSet of an NVIDIADriver that owns the node would, once the old pod is gone. And whoever asks for the
    upgrade of this very node has decided about it.
    """
    facts, driver = node.facts, node.facts.driver
    if driver is None or not driver.is_orphaned or driver.is_terminating:
        return False
    is_asked = node.record is not None and node.record.is_requested
    return not is_asked and not (facts.owner and facts.wanted is not None)


def _abandoned(node: NodeSeen) -> Step | None:
    """The hold of a node that keeps its place, and its users, because no new driver would come."""
    driver = node.facts.driver
    if driver is None or not is_abandoned(node):
        return None
    return Step(hold=hold(node.name, HoldCode.DRIVER_ORPHANED, since=record_of(node).entered_at, pod=driver.name))


def _needs_nothing(node: NodeSeen) -> bool:
    """Whether a node that waits to start runs what is wanted.

    Nothing was taken from a node that never began, so nothing has to be proven about it; after a failure it has.
    """
    if not is_running_wanted(node.facts):
        return False  # as most nodes that wait, and there are thousands of them
    record = record_of(node)
    has_begun = record.is_cordon_ours or bool(record.old_pod) or bool(record.failures)
    return _is_well(node) or not (_is_still_asked_for(node) or has_begun)


# ── not started ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _step_settled(node: NodeSeen, orders: Orders, now: Instant) -> Step:
    facts = node.facts
    ours = maintenance.ours(node, orders)
    if node.record is not None and ours is not None:
        return maintenance.release(node, orders, ours)
    if has_returned(node, orders) and not is_running_wanted(facts):
        # Its admission would be held for ever; only a write bound to the node as it is now can hand it back.
        return new_attempt(node, orders, now)
    if facts.driver is None:
        return Step(hold=hold(node.name, HoldCode.DRIVER_POD_MISSING))
    if facts.is_requested or facts.awaits_safe_load or facts.awaits_network_load or node.is_retry_asked:
        return new_attempt(node, orders, now)
    if facts.driver.is_orphaned:
        if is_abandoned(node):
            return Step(hold=hold(node.name, HoldCode.DRIVER_ORPHANED, pod=facts.driver.name))
        return new_attempt(node, orders, now)
    if facts.wanted is None:
        return Step(hold=hold(node.name, HoldCode.REVISION_UNKNOWN, pod=facts.driver.name))
    if not facts.is_in_sync:
        return new_attempt(node, orders, now)
    if not facts.driver.is_ready and facts.is_ready:
        return new_attempt(node, orders, now)  # the wanted driver came without a visit: its time begins on record
    if node.record is not None:
        return NOTHING
    if not facts.driver.is_ready:
        return Step(hold=hold(node.name, HoldCode.DRIVER_NOT_READY, told(facts)))
    return open_phase(node, NodePhase.UPGRADE_DONE, now, attempt=orders.admitted.get(node.name, 0))


def _step_waiting_for_turn(node: NodeSeen, orders: Orders, now: Instant) -> Step:
    facts, record = node.facts, record_of(node)
    if facts.is_requested:
        return new_attempt(node, orders, now)  # which answers the request, so that it is not served twice
    if _needs_nothing(node):
        return open_phase(node, NodePhase.UPGRADE_DONE, now)
    is_admitted = _is_admitted(node, orders)
    why_not = why_not_startable(node)
    if is_admitted and (why_not is not None or node.name in orders.recalled):
        # An admission is bound to an attempt: a new attempt hands it back, and only a write that the API server accepts
        # can do so. Releasing it from a view alone could release a node that has in truth started.
        return new_attempt(node, orders, now)
    ours = maintenance.ours(node, orders)
    has_failed = record.is_cordon_ours or bool(record.old_pod)
    if ours is not None and not ours.is_deleting and not is_admitted and not has_failed:
        # Asked for in an attempt that was handed back before the answer was seen: nobody else would take it back.
        return maintenance.release(node, orders, ours)
    if why_not is not None:
        return Step(hold=why_not)
    if not is_admitted:
        return _step_coming(node, orders, now) or WISH
    before = record.before or offered(facts)
    needed = operating.takes_now(facts, orders)
    if clearing.keeps_driver(node) and needed < Takes.EVICTION and not facts.is_network_due:
        # Nobody has to leave. Where a cordon is needed, it keeps new pods away until all is proven again.
        is_closed = needed is Takes.CORDON
        return open_phase(
            node, NodePhase.POD_RESTART_REQUIRED, now, cordon=is_closed, is_restart_only=True, before=before
        )
    if orders.intent.requestor is not None:
        return open_phase(node, NodePhase.NODE_MAINTENANCE_REQUIRED, now, before=before)
    is_asked = record.is_requested or facts.awaits_safe_load or bool(record.old_pod)
    if facts.is_restart_enough and not is_asked and not facts.is_network_due:
        # Nothing that is loaded changes. The cordon keeps new pods away until the driver is proven again.
        return open_phase(node, NodePhase.POD_RESTART_REQUIRED, now, cordon=True, is_restart_only=True, before=before)
    return open_phase(node, NodePhase.CORDON_REQUIRED, now)


def _step_coming(node: NodeSeen, orders: Orders, now: Instant) -> Step | None:
    """The wait for a wanted driver that came without a visit: after a reboot, or a pod that somebody deleted.

    One that is not Ready in time gets a visit, which replaces its pod once the users have left: they may be what keeps
    the module from being loaded. None where there is nothing to wait for.
    """
    facts, record = node.facts, record_of(node)
    is_asked = record.is_requested or bool(record.old_pod) or _is_still_asked_for(node)
    if is_asked or not facts.is_in_sync or facts.driver is None or facts.driver.is_orphaned or facts.driver.is_ready:
        return None
    deadline = deadline_of(record, orders, orders.intent.restart_timeout_seconds)
    if now < deadline:
        code = HoldCode.DRIVER_NOT_READY
        return Step(hold=hold(node.name, code, told(facts), since=record.entered_at, until=deadline))
    return write_again(node, replace(record, old_pod=facts.driver.uid))


def why_not_startable(node: NodeSeen) -> Hold | None:
    """Why an upgrade that began on a node now could not end there."""
    facts = node.facts
    if facts.is_skipped:
        return hold(facts.name, HoldCode.NETWORK_SKIPPED if facts.is_network_skipped else HoldCode.SKIPPED)
    if not facts.is_ready:
        return hold(facts.name, HoldCode.NODE_NOT_READY)
    if (at_work := why_at_work(facts)) is not None:
        return at_work
    if facts.owner_conflict:
        return hold(facts.name, HoldCode.OWNER_UNCLEAR, why=facts.owner_conflict)
    if facts.driver is None:
        return hold(facts.name, HoldCode.DRIVER_POD_MISSING)
    if is_abandoned(node):
        return hold(facts.name, HoldCode.DRIVER_ORPHANED, pod=facts.driver.name)
    if facts.wanted is None and not facts.driver.is_orphaned:
        return hold(facts.name, HoldCode.REVISION_UNKNOWN, pod=facts.driver.name)
    return None


# ── under way ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _step_cordoning(node: NodeSeen, orders: Orders, now: Instant) -> Step:
    """The last look before something is taken away: a pause may lie between the admission and this."""
    if _needs_nothing(node):
        return open_phase(node, NodePhase.UPGRADE_DONE, now)
    if node.name in orders.recalled or why_not_startable(node) is not None:
        return new_attempt(node, orders, now)
    before = record_of(node).before or offered(node.facts)
    return open_phase(node, NodePhase.WAIT_FOR_JOBS_REQUIRED, now, cordon=True, before=before)


def _step_under_maintenance(node: NodeSeen, orders: Orders, now: Instant) -> Step:
    is_asked = maintenance.ours(node, orders) is not None
    if not is_asked and (node.name in orders.recalled or why_not_startable(node) is not None):
        return new_attempt(node, orders, now)
    return maintenance.step_emptying(node, orders, now)


def _step_restarting(node: NodeSeen, orders: Orders, now: Instant) -> Step:
    facts, record, driver = node.facts, record_of(node), node.facts.driver
    deadline = deadline_of(record, orders, orders.intent.restart_timeout_seconds)
    timeout = FailureCode.DRIVER_TIMEOUT
    network = operating.step_network(node, orders, deadline, now)
    if network is not None:
        return network
    if driver is None:
        return wait(node, HoldCode.DRIVER_POD_MISSING, deadline, timeout, now)
    if driver.is_terminating:
        return wait(node, HoldCode.DRIVER_STOPPING, deadline, timeout, now, pod=driver.name)
    if facts.wanted is None and not driver.is_orphaned:
        return wait(node, HoldCode.REVISION_UNKNOWN, deadline, timeout, now, pod=driver.name)
    if not facts.is_driver_in_sync or driver.is_orphaned or driver.uid == record.old_pod:
        abandoned = _abandoned(node)
        if abandoned is not None:
            return abandoned
        return _step_replacing(node, orders, deadline, now)
    if facts.awaits_safe_load:
        return write_again(node, record, Request.SAFE_LOAD)
    slipped = clearing.step_slipped(node, orders, deadline, now)
    if slipped is not None:
        return slipped
    if driver.is_ready:
        return operating.step_around(node, orders, deadline, now) or open_phase(
            node, NodePhase.VALIDATION_REQUIRED, now
        )
    if driver.restart_count > RESTARTS_MAX:
        return open_phase(node, NodePhase.UPGRADE_FAILED, now, reason=FailureCode.DRIVER_CRASH_LOOP)
    return wait(node, HoldCode.DRIVER_STARTING, deadline, timeout, now, params=told(facts))


def _step_replacing(node: NodeSeen, orders: Orders, deadline: Instant, now: Instant) -> Step:
    """Delete the driver pod once nobody uses it. Facts before records: whoever came back is dealt with first."""
    facts, record, driver = node.facts, record_of(node), node.facts.driver
    is_lost = not facts.is_cordoned and record.closed_at is not None
    if record.is_restart_only and not facts.is_restart_enough and not is_lost:
        return clearing.begin(node, now)
    if not record.is_restart_only and clearing.users(facts):
        return clearing.step_returned(node, orders, deadline, now)
    if not facts.is_cordoned or driver is None:
        return wait(node, HoldCode.CORDON_LOST, deadline, FailureCode.CORDON_LOST, now)
    pausing = None if record.is_restart_only else clearing.step_pausing(node)
    if pausing is not None:
        return pausing
    # The last look before it is deleted: which pod, and whose cordon.
    has_lost_driver = closing.has_lost_driver(node)  # a version published meanwhile makes the next pod the old one
    is_theirs = not record.is_cordon_ours
    noted = replace(record, old_pod=driver.uid, is_cordon_theirs=is_theirs, has_lost_driver=has_lost_driver)
    if noted != record:
        return write_again(node, noted)
    return Step(
        action=RestartPod(
            node=node.name,
            attempt=record.attempt,
            operand=Operand.DRIVER,
            namespace=driver.namespace,
            pod=driver.name,
            uid=driver.uid,
        )
    )


def _step_validating(node: NodeSeen, orders: Orders, now: Instant) -> Step:
    facts, record = node.facts, record_of(node)
    is_old = facts.driver is not None and facts.wanted is not None and not facts.is_in_sync
    if is_old or facts.awaits_network_load:
        return open_phase(node, NodePhase.POD_RESTART_REQUIRED, now)
    if facts.awaits_safe_load:
        return write_again(node, record, Request.SAFE_LOAD)
    deadline = deadline_of(record, orders, orders.intent.validation_timeout_seconds)
    slipped = clearing.step_slipped(node, orders, deadline, now)
    if slipped is not None:
        return slipped
    lack = why_unproven(facts, record)
    if lack is None:
        return open_phase(node, NodePhase.UNCORDON_REQUIRED, now)
    if now < deadline:
        freshening = _step_freshening(node, lack.code, now)
        if freshening is not None:
            return freshening
    params = lack.params | (told(facts) if lack.code is HoldCode.DRIVER_NOT_READY else {})
    look_again_at = record.entered_at + VALIDATOR_SECONDS if lack.code is HoldCode.VALIDATOR_STALE else None
    if look_again_at is not None and look_again_at <= now:
        look_again_at = None
    return wait(
        node, lack.code, deadline, FailureCode.VALIDATION_TIMEOUT, now, look_again_at=look_again_at, params=params
    )


def _step_freshening(node: NodeSeen, code: HoldCode, now: Instant) -> Step | None:
    """Restart what outlived the old driver; None when that is not what is missing."""
    facts, record = node.facts, record_of(node)
    if code is HoldCode.VALIDATOR_STALE and facts.validator is not None and facts.validator.uid:
        if now < record.entered_at + VALIDATOR_SECONDS:
            return None
        operand, pod = Operand.VALIDATOR, (facts.validator.namespace, facts.validator.name, facts.validator.uid)
    elif code is HoldCode.DRA_PLUGIN_STALE and facts.dra is not None and not fresh.unpreparing(facts):
        operand, pod = Operand.DRA_PLUGIN, (facts.dra.namespace, facts.dra.name, facts.dra.uid)
    else:
        return None
    namespace, name, uid = pod
    return Step(
        action=RestartPod(
            node=node.name, attempt=record.attempt, operand=operand, namespace=namespace, pod=name, uid=uid
        )
    )


def _still_lacking(node: NodeSeen) -> dict[str, str]:
    """What a driver that was not validated in time lacks to this moment, as the parameters of a failure."""
    record = record_of(node)
    if record.reason != FailureCode.VALIDATION_TIMEOUT or record.trouble:
        return {}
    lack = why_unproven(node.facts, record)
    return {**{key: str(value) for key, value in lack.params.items()}, "lack": lack.code.value} if lack else {}


def _step_failed(node: NodeSeen, orders: Orders, now: Instant, goal: str) -> Step:
    record, wanted = record_of(node), node.facts.wanted_revision
    # A third version that somebody published tells nothing of the one that failed, and nobody would bring it here.
    is_misaimed = aiming.is_misaimed(node.facts, goal)
    if node.is_retry_asked or (wanted and wanted != record.failed_revision and not is_misaimed):
        return new_attempt(node, orders, now)
    if _is_well(node):
        # Straight to done: the node has no admission any more, and giving capacity back needs none.
        return open_phase(node, NodePhase.UPGRADE_DONE, now)
    if is_misaimed:
        return aiming.misled(node, goal)
    retries = orders.intent.retries
    again_at = None
    failures = max(record.failures, 1)  # records of an earlier release do not count them
    if failures <= retries.count_max:
        pause_seconds = retries.pause_seconds * float(2 ** (failures - 1))
        again_at = deadline_of(record, orders, pause_seconds)
        if now >= again_at:
            return new_attempt(node, orders, now)
    slipped = closing.slipped_in(node)
    if slipped and is_running_wanted(node.facts) and why_unproven(node.facts, record) is None:
        params = {"pod": slipped[0].full_name, "count": len(slipped)} | reopened(record)
        return Step(hold=hold(node.name, HoldCode.SLIPPED_IN, params, since=record.entered_at, until=again_at))
    # What was recognised then is kept in the record; its words are shown as long as the pod that said them is there.
    is_same_pod = node.facts.driver is not None and node.facts.driver.uid == record.old_pod
    said = told(node.facts) if is_same_pod and record.trouble else {}
    params = {"diagnosis": record.trouble} | said | _still_lacking(node) | {"why": record.reason} | reopened(record)
    params |= {"skipped": "yes"} if is_left_out(node.facts) else {}
    return Step(hold=hold(node.name, HoldCode.FAILED, params, since=record.entered_at, until=again_at))
