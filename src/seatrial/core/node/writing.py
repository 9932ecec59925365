"""What a step of the node machine is made of: orders in, one step out, and the few ways to write a record.

Law of this file: a phase is opened by exactly one write, bound to the version of the node that was looked at. What must
be atomic with it (cordon, uncordon, deploy labels, answered requests) rides in the same write.

Tests: tests/core/node/test_node.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from seatrial.core.actions.on_nodes import Cordon, NodeAct, Request, Uncordon, WriteNodeRecord
from seatrial.core.base.values import dataclass, field, replace
from seatrial.core.errors import CoreBug
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model import troubles
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.policy import Policy
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeRecord, NodeSeen, Taken
from seatrial.core.model.seen.rollouts import Rebuff
from seatrial.core.node import closing
from seatrial.core.node.phases import RESUMING, TRANSITIONS, FailureCode

RETRY_SECONDS: Final = 5.0
RETRY_SECONDS_MAX: Final = 30.0
PATIENCE: Final = 12
"""An eviction that a budget turned down is asked for every 5 s this often: budgets free up by the second."""

EMPTYING: Final = frozenset({NodePhase.POD_DELETION_REQUIRED, NodePhase.DRAIN_REQUIRED})
"""Phases in which pods are asked to leave."""
PAUSED: Final = "paused-for-driver-upgrade"
"""NVIDIA's own word on a deploy label: its operator leaves such labels alone, and its driver manager restores them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """What a closed node waits for, and what that costs."""

    jobs: int
    idle: int
    """GPUs of it that nobody holds."""
    kept: str = ""
    """Why no time can be given at which it is emptied: `late`, its deadline has passed and something else keeps it; or
    `size`, its job is on more GPUs than may stand idle. Empty while the deadline is what it waits for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How things stand by attrition, as far as single nodes have to know."""

    idle_max: int
    evicted_at: Instant | None = None
    """When nobody is waited for any longer; None while the deadline stands still, and once it has passed."""
    closed: Mapping[str, Closed] = field(default_factory=dict)
    """By name, those who wait for their jobs."""
    taken: Mapping[str, Taken] = field(default_factory=dict)
    """Why those are emptied who were closed before, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What a step has to know beyond its node."""

    intent: Intent
    admitted: Mapping[str, int]
    """The ledger as seen: who may be disrupted, for which attempt."""
    recalled: frozenset[str]
    """Who was admitted but no longer fits the budget: it hands its admission back unless it has begun."""
    rebuffs: Mapping[str, Rebuff]
    attentive_since: Instant
    ahead: frozenset[str] = frozenset()
    """Who is in the ledger to be closed alone: by attrition they wait for their jobs."""
    attrition: Standing | None = None
    """How things stand by attrition; None where nodes are evicted as their turn comes."""
    given_back: frozenset[str] = frozenset()
    """Who of those who are closed alone is opened again."""

    def policy(self, node: NodeSeen) -> Policy:
        return self.intent.policy_for(node.facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one node does next: one action, or a wish to start, or a hold, or (done) nothing."""

    action: NodeAct | None = None
    hold: Hold | None = None
    beside: Hold | None = None
    """What is told beside the act, or while its answer is awaited: a refusal stands until a try has succeeded."""
    wants_admission: bool = False


BLANK: Final = NodeRecord(phase=NodePhase.UPGRADE_REQUIRED, attempt=0, entered_at=0.0)
"""What the record of a new attempt begins as, where nothing is kept of an earlier one."""
NOTHING: Final = Step()
WISH: Final = Step(wants_admission=True)


def retry_at(rebuff: Rebuff) -> Instant:
    """When a write that was turned down may be tried again: 5 s, doubling to 30 s; budgets get more patience."""
    count = rebuff.count - (PATIENCE if rebuff.code == "blocked" else 0)
    return rebuff.at + min(RETRY_SECONDS * float(2 ** min(max(count - 1, 0), 8)), RETRY_SECONDS_MAX)


def open_phase(
    node: NodeSeen,
    phase: NodePhase,
    now: Instant,
    *,
    cordon: bool = False,
    reason: FailureCode | None = None,
    attempt: int = 0,
    **changes: object,
) -> Step:
    """Open a phase; cordon and uncordon ride in the same PATCH as the record, so they are atomic with it."""
    facts, before = node.facts, node.record
    if phase not in TRANSITIONS[before.phase if before else None]:
        raise CoreBug(f"{node.name}: {before} may not be followed by {phase}; see TRANSITIONS in core/node/phases.py.")
    was_ours = before is not None and before.is_cordon_ours
    is_done, has_failed = phase is NodePhase.UPGRADE_DONE, phase is NodePhase.UPGRADE_FAILED
    is_ours = not is_done and (was_ours or (cordon and not facts.is_cordoned))
    is_restarting = phase is NodePhase.POD_RESTART_REQUIRED
    # What an attempt has gathered is remembered until the node is done; what it offered before, until the next one, so
    # that a GPU lost after the proof is missed. Who accepts a loss has the node measured anew.
    offer = before.before if before is not None and not facts.is_loss_accepted else None
    has_moved = before is not None and before.moves_network
    blank = NodeRecord(phase=phase, attempt=attempt, entered_at=now, before=offer, moves_network=has_moved)
    kept = before if before is not None and not is_done else blank
    record = replace(
        kept,
        phase=phase,
        attempt=before.attempt if before else attempt,
        entered_at=now,
        # The resourceVersion we expect ties this answer to the very object we looked at: a cordon found there that is
        # not ours already is somebody else's, because ours is only ever set by this same write.
        is_cordon_ours=is_ours,
        closed_at=now if cordon else kept.closed_at,
        boot_id=facts.boot_id if cordon else kept.boot_id,
        is_cordon_theirs=not is_ours and (kept.is_cordon_theirs or (is_restarting and facts.is_cordoned)),
        reason=reason or "",
        trouble="",
        waived=_waived(before, facts),
        moves_network=kept.moves_network or facts.is_network_due,
        old_pod=_pod_to_replace(node, phase) or kept.old_pod,
        has_lost_driver=not is_done and closing.has_lost_driver(node),
        **changes,  # type: ignore[arg-type]
    )
    if has_failed:
        record = _failed(record, facts)
    writing = WriteNodeRecord
    if cordon and not facts.is_cordoned:
        writing = Cordon
    elif is_done and was_ours and facts.is_cordoned:
        writing = Uncordon
    resumed = _resumed(before, facts) if before is not None and phase in RESUMING else ()
    answers = (Request.ACCEPT_LOSS,) if is_done and facts.is_loss_accepted else ()
    return Step(
        action=writing(node=node.name, record=record, expect=facts.resource_version, labels=resumed, answers=answers)
    )


def _waived(record: NodeRecord | None, facts: NodeFacts) -> GpuOffer | None:
    if record is None:
        return None
    return record.waived or (record.before if facts.is_loss_accepted else None)


def _pod_to_replace(node: NodeSeen, phase: NodePhase) -> str:
    """The driver pod that must not outlive the restart that begins now; empty where the one there may stay.

    Written down before it is deleted: a view that still shows the pod afterwards proves nothing, whatever is wanted by
    then.
    """
    driver = node.facts.driver if phase is NodePhase.POD_RESTART_REQUIRED else None
    return driver.uid if driver is not None and (driver.is_orphaned or not node.facts.is_driver_in_sync) else ""


def _resumed(before: NodeRecord, facts: NodeFacts) -> tuple[tuple[str, str], ...]:
    """The deploy labels that are still as we paused them, with the values to give back."""
    return tuple((key, value) for key, value in before.paused if PAUSED in facts.labels.get(key, ""))


def _failed(record: NodeRecord, facts: NodeFacts) -> NodeRecord:
    diagnosis = diagnose(facts)
    is_operand_late = record.reason == FailureCode.OPERAND_TIMEOUT
    is_for_operands = (record.is_restart_only or is_operand_late) and not record.old_pod
    wanted = facts.wanted_revision or record.failed_revision
    return replace(
        record,
        trouble=diagnosis.trouble.value if diagnosis else "",
        failures=record.failures + 1 if wanted == record.failed_revision else 1,
        failed_revision=wanted,
        # Who came for the operands alone leaves the driver as it is, the next time as well.
        old_pod=record.old_pod if is_for_operands or facts.driver is None else facts.driver.uid,
    )


def new_attempt(node: NodeSeen, orders: Orders, now: Instant) -> Step:
    """Begin anew: whatever was admitted or asked for before, this attempt has to be admitted by itself."""
    before, facts = node.record, node.facts
    is_settled = before is None or before.phase is NodePhase.UPGRADE_DONE
    is_requested = (facts.is_requested or node.is_retry_asked) if is_settled else facts.is_requested
    kept = BLANK if before is None or is_settled else before
    record = replace(
        kept,
        phase=NodePhase.UPGRADE_REQUIRED,
        # Above the ledger too: a record that somebody removed must not come back under an old admission.
        attempt=max(before.attempt if before else 0, orders.admitted.get(node.name, 0)) + 1,
        entered_at=now,
        reason="",
        trouble="",
        is_restart_only=False,
        closed_at=None,
        boot_id="",
        taken=None,
        # After an accepted loss the node is measured again.
        before=None if facts.is_loss_accepted else kept.before,
        waived=_waived(kept, facts),
        moves_network=kept.moves_network or facts.is_network_due,
        is_requested=is_requested or kept.is_requested,
        old_pod=facts.driver.uid if is_requested and facts.driver else kept.old_pod,
        has_lost_driver=closing.has_lost_driver(node),
    )
    answers = (Request.UPGRADE,) if facts.is_requested else ()
    return Step(action=WriteNodeRecord(node=node.name, record=record, expect=facts.resource_version, answers=answers))


def give_back(node: NodeSeen, orders: Orders, now: Instant) -> Step:
    """Open a node again that was closed for its jobs to end: nothing was taken, and its place goes back."""
    step = new_attempt(node, orders, now)
    action, before = step.action, node.record
    if before is None or not isinstance(action, WriteNodeRecord):
        return step
    is_opened = before.is_cordon_ours and node.facts.is_cordoned
    writing = Uncordon if is_opened else WriteNodeRecord
    record = replace(action.record, is_cordon_ours=False, before=None, taken=None, returned_at=now)
    return Step(
        action=writing(node=node.name, record=record, expect=action.expect, answers=action.answers),
    )


def has_returned(node: NodeSeen, orders: Orders) -> bool:
    """Whether a node that was let in came back without what we wrote on it: reinstalled, or made anew by its name."""
    return node.record is None and node.name in orders.admitted


def is_let_in(node: NodeSeen, orders: Orders) -> bool:
    """Whether a node that waits for its turn was let in, and has not begun."""
    record = node.record
    if record is None or record.phase is not NodePhase.UPGRADE_REQUIRED:
        return False
    return orders.admitted.get(node.name) == record.attempt


def write_again(node: NodeSeen, record: NodeRecord, *answers: Request) -> Step:
    """Write a record of the same phase: a repair, or an answer to a request."""
    return Step(
        action=WriteNodeRecord(
            node=node.name, record=record, expect=node.facts.resource_version, answers=tuple(answers)
        )
    )


def wait(
    node: NodeSeen,
    code: HoldCode,
    deadline: Instant | None,
    failure: FailureCode,
    now: Instant,
    look_again_at: Instant | None = None,
    params: Mapping[str, object] | None = None,
    **more: object,
) -> Step:
    """Hold until the deadline, then give the node up."""
    if deadline is not None and now >= deadline:
        return open_phase(node, NodePhase.UPGRADE_FAILED, now, reason=failure)
    until = min((instant for instant in (deadline, look_again_at) if instant is not None), default=None)
    words = {**(params or {}), **more, **reopened(record_of(node)), **taken_words(record_of(node))}
    return Step(hold=hold(node.name, code, words, since=record_of(node).entered_at, until=until))


def reopened(record: NodeRecord) -> dict[str, object]:
    """How often a node was opened under us, as a parameter of its holds; nothing where it never was."""
    return {"reopened": record.reopened_count} if record.reopened_count else {}


def taken_words(record: NodeRecord) -> dict[str, object]:
    """Why a node is emptied before its jobs have ended, as parameters of its holds; nothing where nobody has to go."""
    taken = record.taken if record.phase in EMPTYING else None
    if taken is None:
        return {}
    costs = {"waiting": f"{taken.waiting_gpu_hours:.1f}", "evicting": f"{taken.evicting_gpu_hours:.1f}"}
    return {"taken": taken.why, **costs}


def deadline_of(record: NodeRecord, orders: Orders, timeout_seconds: float) -> Instant:
    """When a phase has lasted too long; time in which we were not free to act does not count."""
    return max(record.entered_at, orders.attentive_since) + timeout_seconds


def record_of(node: NodeSeen) -> NodeRecord:
    """The record of a node in a phase."""
    if node.record is None:
        raise CoreBug(f"{node.name}: a phase without a record.")
    return node.record


def diagnose(facts: NodeFacts) -> troubles.Diagnosis | None:
    """Which of the known troubles the driver of a node has, as far as can be seen."""
    symptoms = (*(facts.driver.symptoms if facts.driver else ()), *facts.symptoms)
    return troubles.diagnose(symptoms) if symptoms else None


def told(facts: NodeFacts) -> dict[str, object]:
    """What is known of a driver's trouble, as parameters of a hold."""
    params: dict[str, object] = {
        "pod": facts.driver.name if facts.driver else "",
        "trouble": facts.driver.trouble if facts.driver else "",
    }
    diagnosis = diagnose(facts)
    if diagnosis is not None:
        params |= {"diagnosis": diagnosis.trouble.value, "found": diagnosis.found, "kernel": kernel_of(facts)}
    return params


def kernel_of(facts: NodeFacts) -> str:
    """The kernel a node runs, where node feature discovery tells."""
    return facts.labels.get("feature.node.kubernetes.io/kernel-version.full", "")
