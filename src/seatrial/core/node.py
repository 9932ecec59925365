"""The node machine: one node, one step. The table says which phases may follow which; code may only walk along it.

Law of this file: a step either opens the next phase (a record), or acts within a phase whose record has been *seen*, or
holds with a reason; never two of these at once. So a crash between any two writes loses nothing. A deadline is looked
at only when there is nothing left for us to do but wait. The phases are NVIDIA's; where we differ from its controller,
see docs/deviations.md.

    upgrade-required ─ admitted ─▶ cordon-required ─ cordon ─▶ wait-for-jobs-required ─▶ pod-deletion-required
                                                                                             │ no GPU pod left
    upgrade-done ◀─ uncordon ─ uncordon-required ◀─ validated ─ validation-required ◀─ Ready ─ pod-restart-required

A cordon is ours only as long as we see it in place: once somebody lifted it, the next one is theirs and stays.

Tests: tests/core/test_node.py
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from seatrial.core.actions import Action, Cordon, EvictPods, RestartDriverPod, Uncordon, WriteNodeRecord
from seatrial.core.errors import CoreBug
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.intent import Intent
from seatrial.core.snapshot import (
    GpuPod,
    Instant,
    NodeFacts,
    NodePhase,
    NodeRecord,
    NodeSeen,
    Rebuff,
    RecordFault,
)

TRANSITIONS: Final[Mapping[NodePhase | None, frozenset[NodePhase]]] = {
    None: frozenset({NodePhase.UPGRADE_REQUIRED, NodePhase.UPGRADE_DONE}),
    NodePhase.UPGRADE_DONE: frozenset({NodePhase.UPGRADE_REQUIRED}),
    NodePhase.UPGRADE_REQUIRED: frozenset(
        {
            NodePhase.CORDON_REQUIRED,
            NodePhase.UPGRADE_DONE,  # the version was reverted before the node started: let it go
            NodePhase.UPGRADE_REQUIRED,  # a new attempt: the admission is handed back
        }
    ),
    NodePhase.CORDON_REQUIRED: frozenset(
        {
            NodePhase.WAIT_FOR_JOBS_REQUIRED,
            NodePhase.UPGRADE_DONE,  # reverted before the cordon: let it go
            NodePhase.UPGRADE_REQUIRED,  # the node, or the fleet, is no longer fit for it: the admission is handed back
        }
    ),
    NodePhase.WAIT_FOR_JOBS_REQUIRED: frozenset(
        {
            NodePhase.POD_DELETION_REQUIRED,
            NodePhase.UNCORDON_REQUIRED,  # reverted: nothing was taken from anybody yet
        }
    ),
    NodePhase.POD_DELETION_REQUIRED: frozenset(
        {NodePhase.POD_RESTART_REQUIRED, NodePhase.UNCORDON_REQUIRED, NodePhase.UPGRADE_FAILED}
    ),
    NodePhase.POD_RESTART_REQUIRED: frozenset({NodePhase.VALIDATION_REQUIRED, NodePhase.UPGRADE_FAILED}),
    NodePhase.VALIDATION_REQUIRED: frozenset(
        {
            NodePhase.UNCORDON_REQUIRED,
            NodePhase.POD_RESTART_REQUIRED,  # the version changed again meanwhile
            NodePhase.UPGRADE_FAILED,
        }
    ),
    NodePhase.UNCORDON_REQUIRED: frozenset(
        {
            NodePhase.UPGRADE_DONE,
            NodePhase.VALIDATION_REQUIRED,  # what was proven is no longer so
        }
    ),
    NodePhase.UPGRADE_FAILED: frozenset(
        {
            NodePhase.UPGRADE_REQUIRED,  # retried by somebody, or another version is wanted
            NodePhase.UPGRADE_DONE,  # driver and validator became well after all
        }
    ),
}

NOT_STARTED: Final = frozenset({None, NodePhase.UPGRADE_REQUIRED, NodePhase.UPGRADE_DONE})
ENDED: Final = frozenset({NodePhase.UPGRADE_DONE, NodePhase.UPGRADE_FAILED})

RESTARTS_MAX: Final = 10
"""A driver container restarted more often than this has failed (NVIDIA's threshold)."""
RETRY_SECONDS: Final = 5.0
RETRY_SECONDS_MAX: Final = 30.0


class FailureCode(StrEnum):
    """Why a node was given up."""

    EVICTION_TIMEOUT = "eviction-timeout"
    DRIVER_CRASH_LOOP = "driver-crash-loop"
    DRIVER_TIMEOUT = "driver-timeout"
    VALIDATION_TIMEOUT = "validation-timeout"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one node does next: one action, or a wish to start, or a hold, or (done) nothing."""

    action: Action | None = None
    hold: Hold | None = None
    wants_admission: bool = False


NOTHING: Final = Step()


def retry_at(rebuff: Rebuff) -> Instant:
    """When a write that was turned down may be tried again: 5 s, doubling to 30 s."""
    return rebuff.at + min(RETRY_SECONDS * float(2 ** min(rebuff.count - 1, 8)), RETRY_SECONDS_MAX)


def step_node(node: NodeSeen, orders: Orders, now: Instant) -> Step:
    """The next step of one node."""
    if node.fault is RecordFault.UNREADABLE:
        return Step(hold=hold(node.name, HoldCode.RECORD_UNREADABLE, found=node.fault_text))
    if node.fault is RecordFault.EDITED:
        return Step(hold=hold(node.name, HoldCode.RECORD_EDITED, found=node.fault_text, recorded=_phase_text(node)))
    rebuff = orders.rebuffs.get(node.name)
    if rebuff is not None and now < retry_at(rebuff):
        return Step(hold=hold(node.name, HoldCode.WRITE_REFUSED, until=retry_at(rebuff), why=rebuff.detail))
    repaired = _repaired(node)
    if repaired is not None:
        return Step(action=WriteNodeRecord(node=node.name, record=repaired, expect=node.facts.resource_version))
    if is_under_way(node.record) and not _is_admitted(node, orders):
        # The ledger was lost or is older than the record: nothing more is done before it names the node again.
        return Step(hold=hold(node.name, HoldCode.LEDGER_PENDING))
    phase = node.record.phase if node.record else None
    match phase:
        case None | NodePhase.UPGRADE_DONE:
            return _step_settled(node, orders, now)
        case NodePhase.UPGRADE_REQUIRED:
            return _step_waiting_for_turn(node, orders, now)
        case NodePhase.CORDON_REQUIRED:
            return _step_cordoning(node, orders, now)
        case NodePhase.WAIT_FOR_JOBS_REQUIRED:
            return _open(node, NodePhase.UNCORDON_REQUIRED if _is_well(node) else NodePhase.POD_DELETION_REQUIRED, now)
        case NodePhase.POD_DELETION_REQUIRED:
            return _step_evicting(node, orders, now)
        case NodePhase.POD_RESTART_REQUIRED:
            return _step_restarting(node, orders, now)
        case NodePhase.VALIDATION_REQUIRED:
            return _step_validating(node, orders, now)
        case NodePhase.UNCORDON_REQUIRED:
            return _open(node, NodePhase.UPGRADE_DONE if _is_well(node) else NodePhase.VALIDATION_REQUIRED, now)
        case NodePhase.UPGRADE_FAILED:
            return _step_failed(node, orders, now)


def is_under_way(record: NodeRecord | None) -> bool:
    """Whether the node has started and not ended."""
    return record is not None and record.phase not in NOT_STARTED and record.phase not in ENDED


def _is_admitted(node: NodeSeen, orders: Orders) -> bool:
    return node.record is not None and orders.admitted.get(node.name) == node.record.attempt


def _repaired(node: NodeSeen) -> NodeRecord | None:
    """The record as the facts have it; None when it needs no repair."""
    record = node.record
    if record is not None and record.is_cordon_ours and not node.facts.is_cordoned:
        # Somebody lifted our cordon. Were it still called ours, we would one day lift the cordon they set next.
        return replace(record, is_cordon_ours=False)
    return record if node.is_label_lost else None


# ── not started ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _step_settled(node: NodeSeen, orders: Orders, now: Instant) -> Step:
    facts = node.facts
    if facts.driver is None:
        return Step(hold=hold(node.name, HoldCode.DRIVER_POD_MISSING))
    if facts.wanted is None:
        return Step(hold=hold(node.name, HoldCode.REVISION_UNKNOWN, pod=facts.driver.name))
    if not facts.is_in_sync:
        return _new_attempt(node, orders, now)
    if node.record is not None:
        return NOTHING
    if not facts.driver.is_ready:
        return Step(
            hold=hold(node.name, HoldCode.DRIVER_NOT_READY, pod=facts.driver.name, trouble=facts.driver.trouble)
        )
    return _open(node, NodePhase.UPGRADE_DONE, now, attempt=orders.admitted.get(node.name, 0))


def _step_waiting_for_turn(node: NodeSeen, orders: Orders, now: Instant) -> Step:
    facts, record = node.facts, _record(node)
    # Nothing was taken from a node that never began, so nothing has to be proven about it; after a failure it has.
    has_begun = record.is_cordon_ours or bool(record.failed_pod)
    if _is_well(node) or (_is_running_wanted(facts) and not has_begun):
        return _open(node, NodePhase.UPGRADE_DONE, now)
    is_admitted = _is_admitted(node, orders)
    why_not = _why_not_startable(facts)
    if is_admitted and (why_not is not None or node.name in orders.recalled):
        # An admission is bound to an attempt: a new attempt hands it back, and only a write that the API server accepts
        # can do so. Releasing it from a view alone could release a node that has in truth started.
        return _new_attempt(node, orders, now)
    if why_not is not None:
        return Step(hold=why_not)
    return _open(node, NodePhase.CORDON_REQUIRED, now) if is_admitted else Step(wants_admission=True)


def _why_not_startable(facts: NodeFacts) -> Hold | None:
    if facts.is_skipped:
        return hold(facts.name, HoldCode.SKIPPED)
    if not facts.is_ready:
        return hold(facts.name, HoldCode.NODE_NOT_READY)
    if facts.driver is None:
        return hold(facts.name, HoldCode.DRIVER_POD_MISSING)
    if facts.wanted is None:
        return hold(facts.name, HoldCode.REVISION_UNKNOWN, pod=facts.driver.name)
    return None


# ── under way ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _step_cordoning(node: NodeSeen, orders: Orders, now: Instant) -> Step:
    """The last look before something is taken away: a pause may lie between the admission and this."""
    if _is_well(node):
        return _open(node, NodePhase.UPGRADE_DONE, now)
    if node.name in orders.recalled or _why_not_startable(node.facts) is not None:
        return _new_attempt(node, orders, now)
    return _open(node, NodePhase.WAIT_FOR_JOBS_REQUIRED, now, cordon=True)


def _step_evicting(node: NodeSeen, orders: Orders, now: Instant) -> Step:
    if _is_well(node):
        return _open(node, NodePhase.UNCORDON_REQUIRED, now)
    deadline = _deadline(_record(node), orders, orders.intent.eviction.timeout_seconds)
    evicting = _evict(node, orders, deadline, now)
    return evicting if evicting is not None else _open(node, NodePhase.POD_RESTART_REQUIRED, now)


def _evict(node: NodeSeen, orders: Orders, deadline: Instant, now: Instant) -> Step | None:
    """Move the GPU pods away; None when there are none."""
    facts, record = node.facts, _record(node)
    if not facts.gpu_pods:
        return None
    if not facts.is_cordoned:
        return _wait(node, HoldCode.CORDON_LOST, deadline, FailureCode.EVICTION_TIMEOUT, now)
    staying = [pod for pod in facts.gpu_pods if not pod.is_terminating]
    for pod in staying:
        protected = _why_protected(pod, orders)
        if protected is not None:
            return _wait(node, protected, deadline, FailureCode.EVICTION_TIMEOUT, now, pod=_full_name(pod))
    due = tuple(pod for pod in staying if pod.uid not in orders.rebuffs or now >= retry_at(orders.rebuffs[pod.uid]))
    if due and now < deadline:
        return Step(action=EvictPods(node=node.name, attempt=record.attempt, pods=due))
    blocked = [(pod, orders.rebuffs[pod.uid]) for pod in staying if pod.uid in orders.rebuffs]
    if blocked:
        pod, rebuff = min(blocked, key=lambda pair: (retry_at(pair[1]), pair[0].uid))
        return _wait(
            node,
            HoldCode.EVICTION_BLOCKED,
            deadline,
            FailureCode.EVICTION_TIMEOUT,
            now,
            look_again_at=retry_at(rebuff),
            pod=_full_name(pod),
            why=rebuff.detail,
            count=len(blocked),
        )
    leaving = facts.gpu_pods[0]
    return _wait(
        node,
        HoldCode.EVICTING,
        deadline,
        FailureCode.EVICTION_TIMEOUT,
        now,
        pod=_full_name(leaving),
        count=len(facts.gpu_pods),
    )


def _why_protected(pod: GpuPod, orders: Orders) -> HoldCode | None:
    if not pod.has_controller and not orders.intent.eviction.force:
        return HoldCode.POD_WITHOUT_CONTROLLER
    if pod.has_empty_dir and not orders.intent.eviction.delete_empty_dir:
        return HoldCode.POD_WITH_EMPTY_DIR
    return None


def _step_restarting(node: NodeSeen, orders: Orders, now: Instant) -> Step:
    facts, record, driver = node.facts, _record(node), node.facts.driver
    deadline = _deadline(record, orders, orders.intent.restart_timeout_seconds)
    timeout = FailureCode.DRIVER_TIMEOUT
    if driver is None:
        return _wait(node, HoldCode.DRIVER_POD_MISSING, deadline, timeout, now)
    if driver.is_terminating:
        return _wait(node, HoldCode.DRIVER_STOPPING, deadline, timeout, now, pod=driver.name)
    if facts.wanted is None:
        return _wait(node, HoldCode.REVISION_UNKNOWN, deadline, timeout, now, pod=driver.name)
    if not facts.is_in_sync or driver.uid == record.failed_pod:
        # Facts before records: a GPU pod that came back, or a cordon that was lifted, is dealt with first.
        evicting = _evict(node, orders, deadline, now)
        if evicting is not None:
            return evicting
        if not facts.is_cordoned:
            return _wait(node, HoldCode.CORDON_LOST, deadline, timeout, now)
        return Step(
            action=RestartDriverPod(
                node=node.name, attempt=record.attempt, namespace=driver.namespace, pod=driver.name, uid=driver.uid
            )
        )
    if driver.is_ready:
        return _open(node, NodePhase.VALIDATION_REQUIRED, now)
    if driver.restart_count > RESTARTS_MAX:
        return _open(node, NodePhase.UPGRADE_FAILED, now, reason=FailureCode.DRIVER_CRASH_LOOP)
    return _wait(node, HoldCode.DRIVER_STARTING, deadline, timeout, now, pod=driver.name, trouble=driver.trouble)


def _step_validating(node: NodeSeen, orders: Orders, now: Instant) -> Step:
    facts, record = node.facts, _record(node)
    if facts.driver is not None and facts.wanted is not None and not facts.is_in_sync:
        return _open(node, NodePhase.POD_RESTART_REQUIRED, now)
    why_not = why_not_validated(facts)
    if why_not is None:
        return _open(node, NodePhase.UNCORDON_REQUIRED, now)
    deadline = _deadline(record, orders, orders.intent.validation_timeout_seconds)
    pod, trouble = (facts.driver.name, facts.driver.trouble) if facts.driver else ("", "")
    return _wait(node, why_not, deadline, FailureCode.VALIDATION_TIMEOUT, now, pod=pod, trouble=trouble)


def why_not_validated(facts: NodeFacts) -> HoldCode | None:
    """Why the node's driver is not proven to work; None when it is.

    The validator's checks run when its pod starts, so one that was Ready before the driver proves nothing about it.
    """
    if not facts.is_ready:
        return HoldCode.NODE_NOT_READY  # its kubelet is silent, so what is seen of its pods is from before
    if facts.driver is None:
        return HoldCode.DRIVER_POD_MISSING
    if facts.wanted is None:
        return HoldCode.REVISION_UNKNOWN
    if not facts.is_in_sync or not facts.driver.is_ready or facts.driver.is_terminating:
        return HoldCode.DRIVER_NOT_READY
    if facts.validator is None or facts.validator.is_terminating:
        return HoldCode.VALIDATOR_MISSING
    if not facts.validator.is_ready:
        return HoldCode.VALIDATOR_NOT_READY
    if facts.validator.ready_since is None or facts.driver.ready_since is None:
        return HoldCode.VALIDATOR_STALE
    return HoldCode.VALIDATOR_STALE if facts.validator.ready_since < facts.driver.ready_since else None


def _is_well(node: NodeSeen) -> bool:
    """Whether the wanted driver runs and is proven to work, so that there is nothing to upgrade (any more)."""
    return why_not_validated(node.facts) is None


def _is_running_wanted(facts: NodeFacts) -> bool:
    return facts.is_in_sync and facts.driver is not None and facts.driver.is_ready and not facts.driver.is_terminating


def _step_failed(node: NodeSeen, orders: Orders, now: Instant) -> Step:
    record, wanted = _record(node), node.facts.wanted
    if node.is_retry_asked or (wanted is not None and wanted.hash != record.failed_revision):
        return _new_attempt(node, orders, now)
    if _is_well(node):
        # Straight to done: the node has no admission any more, and giving capacity back needs none.
        return _open(node, NodePhase.UPGRADE_DONE, now)
    return Step(hold=hold(node.name, HoldCode.FAILED, since=record.entered_at, why=record.reason))


# ── writing records ──────────────────────────────────────────────────────────────────────────────────────────────────


def _open(
    node: NodeSeen,
    phase: NodePhase,
    now: Instant,
    *,
    cordon: bool = False,
    reason: FailureCode | None = None,
    attempt: int = 0,
) -> Step:
    """Open a phase; cordon and uncordon ride in the same PATCH as the record, so they are atomic with it."""
    facts, before = node.facts, node.record
    if phase not in TRANSITIONS[before.phase if before else None]:
        raise CoreBug(f"{node.name}: {before} may not be followed by {phase}; see TRANSITIONS in core/node.py.")
    was_ours = before is not None and before.is_cordon_ours
    is_done, has_failed = phase is NodePhase.UPGRADE_DONE, phase is NodePhase.UPGRADE_FAILED
    record = NodeRecord(
        phase=phase,
        attempt=before.attempt if before else attempt,
        entered_at=now,
        # The resourceVersion we expect ties this answer to the very object we looked at: a cordon found there that is
        # not ours already is somebody else's, because ours is only ever set by this same write.
        is_cordon_ours=not is_done and (was_ours or (cordon and not facts.is_cordoned)),
        reason=reason or "",
        failed_revision=facts.wanted.hash if has_failed and facts.wanted else _kept(before, "failed_revision", phase),
        failed_pod=facts.driver.uid if has_failed and facts.driver else _kept(before, "failed_pod", phase),
    )
    writing = WriteNodeRecord
    if cordon and not facts.is_cordoned:
        writing = Cordon
    elif is_done and was_ours and facts.is_cordoned:
        writing = Uncordon
    return Step(action=writing(node=node.name, record=record, expect=facts.resource_version))


def _kept(before: NodeRecord | None, name: str, phase: NodePhase) -> str:
    """What a failure left behind is remembered until the node is done."""
    return "" if before is None or phase is NodePhase.UPGRADE_DONE else str(getattr(before, name))


def _new_attempt(node: NodeSeen, orders: Orders, now: Instant) -> Step:
    before = node.record
    record = NodeRecord(
        phase=NodePhase.UPGRADE_REQUIRED,
        # Above the ledger too: a record that somebody removed must not come back under an old admission.
        attempt=max(before.attempt if before else 0, orders.admitted.get(node.name, 0)) + 1,
        entered_at=now,
        is_cordon_ours=before is not None and before.is_cordon_ours,
        failed_pod=before.failed_pod if before else "",
    )
    return Step(action=WriteNodeRecord(node=node.name, record=record, expect=node.facts.resource_version))


def _wait(
    node: NodeSeen,
    code: HoldCode,
    deadline: Instant,
    failure: FailureCode,
    now: Instant,
    look_again_at: Instant | None = None,
    **params: object,
) -> Step:
    """Hold until the deadline, then give the node up."""
    if now >= deadline:
        return _open(node, NodePhase.UPGRADE_FAILED, now, reason=failure)
    until = deadline if look_again_at is None else min(deadline, look_again_at)
    return Step(hold=hold(node.name, code, since=_record(node).entered_at, until=until, **params))


def _deadline(record: NodeRecord, orders: Orders, timeout_seconds: float) -> Instant:
    return max(record.entered_at, orders.attentive_since) + timeout_seconds


def _record(node: NodeSeen) -> NodeRecord:
    if node.record is None:
        raise CoreBug(f"{node.name}: a phase without a record.")
    return node.record


def _phase_text(node: NodeSeen) -> str:
    return node.record.phase if node.record else "nothing"


def _full_name(pod: GpuPod) -> str:
    return f"{pod.namespace}/{pod.name}"
