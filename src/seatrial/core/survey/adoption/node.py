"""What becomes of a node that somebody left half-way: where our own node machine takes it up, and with which record.

Law of this file: facts win over labels. A label says how far somebody meant to be; whether it is so is read off the
driver pod and the cordon. Nothing is given back that is not known to belong to the upgrade: a cordon is of whoever the
API server says wrote it, and one that nobody can be named for stays.

    the node's driver                 begun by anybody                                      not begun
    ────────────────────────────────  ────────────────────────────────────────────────────  ──────────────────────────
    of the target, Ready              validation-required: proven, then given back          nothing
      and not published yet           upgrade-required: given back once it is published     nothing
    of the target, starting           pod-restart-required: waited for                      (that is a beginning)
    missing                           pod-restart-required: waited for                      begins when it is there
    leaving                           pod-restart-required: waited for                      (that is a beginning)
    of the target, crashing           upgrade-required: begins anew, with a fresh pod       (that is a beginning)
    another, and the node cordoned    where NVIDIA's label says, as far as that can be so   upgrade-required
    another, and it is not cordoned   upgrade-required: begins anew                         upgrade-required

A record of our own that is under way needs none of this: it goes on. Published is what the node's DaemonSet carries: a
machine that proved or restarted a driver before that would do so for the version it is to leave. fleet.py looks at
the fleet as a whole.

Tests: tests/core/survey/test_adopt.py
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from shlex import quote
from typing import Final

from seatrial.core.model.seen.nodes import NodePhase, NodeRecord, NodeSeen, RecordFault
from seatrial.core.node import closing
from seatrial.core.node.phases import RESUMING, is_under_way
from seatrial.core.node.writing import record_of
from seatrial.core.survey.adoption.sight import AT_WORK, Driver, Sight
from seatrial.core.survey.adoption.traces import Adoption, Traces, Treatment, Wish

_NEXT: Final[Mapping[str, NodePhase]] = {
    NodePhase.CORDON_REQUIRED.value: NodePhase.WAIT_FOR_JOBS_REQUIRED,
    NodePhase.WAIT_FOR_JOBS_REQUIRED.value: NodePhase.WAIT_FOR_JOBS_REQUIRED,
    NodePhase.POD_DELETION_REQUIRED.value: NodePhase.POD_DELETION_REQUIRED,
    NodePhase.DRAIN_REQUIRED.value: NodePhase.DRAIN_REQUIRED,
    NodePhase.POD_RESTART_REQUIRED.value: NodePhase.POD_RESTART_REQUIRED,
}
"""With the node cordoned and another driver running: NVIDIA's state, and the phase that fits it."""
_UNCORDONED: Final = frozenset({NodePhase.CORDON_REQUIRED, NodePhase.NODE_MAINTENANCE_REQUIRED})
"""Phases of ours under way in which no cordon is on the node yet."""


def classify(node: NodeSeen, traces: Traces, wish: Wish) -> Adoption:
    """What becomes of one node, and why."""
    sight = Sight(node=node, traces=traces, wish=wish)
    if traces.is_record_newer:
        return sight.left("a later release of seatrial wrote its record; run `seatrial rollout adopt` of that one")
    if is_under_way(node.record):
        return _under_way(sight)
    if not sight.is_begun and not sight.is_asked_for and sight.driver is Driver.READY:
        return sight.adopted(Treatment.NOTHING, sight.with_cordon("it runs the target"))
    if node.facts.is_skipped and not node.facts.skipped_by:
        again = " and adopt again" if sight.is_begun else ""
        return sight.left(
            f"somebody marked it skip; `seatrial node unskip {quote(node.name)}`{again} lets it be upgraded"
        )
    if node.facts.owner_conflict:
        return sight.left(f"it is unclear which NVIDIADriver it belongs to: {node.facts.owner_conflict}")
    return _taken_up(sight) if sight.is_begun else _not_begun(sight)


# ── the cases ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _under_way(sight: Sight) -> Adoption:
    """A record of ours that is under way: where it stands is known, and only what is wrong with it is mended."""
    node, record = sight.node, record_of(sight.node)
    if sight.is_ahead:
        return _awaiting(sight)
    is_open = not sight.facts.is_cordoned and record.phase not in _UNCORDONED
    if is_open and sight.driver is Driver.ANOTHER:
        return _anew(sight, "somebody uncordoned it, and another driver runs: it starts over")
    found_paused = dict(sight.paused).keys() - dict(record.paused).keys()
    paused = {**dict(sight.paused), **dict(record.paused)} if record.phase not in RESUMING and found_paused else {}
    mended = replace(
        record,
        is_cordon_ours=sight.is_cordon_taken or (closing.is_opened(node) and record.is_cordon_ours),
        is_cordon_theirs=record.is_cordon_theirs or sight.is_cordon_theirs,
        paused=tuple(sorted(paused.items())) if paused else record.paused,
    )
    is_mended = mended != record or node.fault is RecordFault.EDITED
    why = sight.with_cordon(f"our own record is at {record.phase}: it continues from there")
    return sight.adopted(Treatment.FINISH, why, record.phase, mended if is_mended else None)


def _not_begun(sight: Sight) -> Adoption:
    """Nothing was taken from it: our machine begins when the node's turn comes, and needs no record for that."""
    turn = "goes back" if sight.wish.is_back else "is upgraded"
    why = f"not started yet: it {turn} when its turn comes"
    if sight.is_asked_for:
        why = "somebody asked for its upgrade: it starts when its turn comes"
    elif sight.driver is Driver.MISSING:
        why = "it has no driver pod: it starts once there is one"
    return sight.adopted(Treatment.START, sight.with_cordon(why))


def _taken_up(sight: Sight) -> Adoption:
    """Somebody began with it: where our machine goes on is read off its driver."""
    pod = sight.facts.driver
    uid = pod.uid if pod is not None else ""
    if not sight.facts.is_ready:
        return _anew(sight, "its kubelet does not answer: it starts over once the node is Ready")
    match sight.driver:
        case Driver.READY:
            return _awaiting(sight) if sight.is_ahead else _proven(sight)
        case Driver.ANOTHER:
            return _replaced(sight)
        case Driver.CRASHING:
            return _anew(sight, "its driver keeps crashing: it starts over with a new pod", old_pod=uid)
        case Driver.STARTING:
            return _awaited(sight, "its driver is starting: we wait for it")
        case Driver.MISSING:
            return _awaited(sight, "its driver pod is gone: we wait for the next one")
        case Driver.LEAVING:
            return _awaited(sight, "its driver pod is terminating: we wait for the next one", old_pod=uid)


def _proven(sight: Sight) -> Adoption:
    """The driver that is wanted runs: what is left is to prove it, and to give the node back."""
    given = ", and its cordon is lifted" if sight.is_cordon_taken else ""
    record = sight.record(NodePhase.VALIDATION_REQUIRED)
    why = sight.with_cordon(f"the target runs: it is validated{given}")
    return sight.adopted(Treatment.FINISH, why, record.phase, record)


def _awaiting(sight: Sight) -> Adoption:
    """The driver to go back to was never touched: the node keeps it, and is given back once that is what is wanted."""
    given = " and its cordon is lifted" if sight.is_cordon_taken else ""
    return _anew(sight, f"the target still runs: it stays{given}, once its DaemonSet has it", old_pod="")


def _awaited(sight: Sight, why: str, old_pod: str | None = None) -> Adoption:
    """Its driver is being replaced: the machine waits for the next one, and proves it."""
    if not sight.facts.is_cordoned and not sight.wish.is_published:
        # What comes is not the target, and without a cordon it could not be replaced from here.
        return _anew(sight, "its driver pod is being replaced: it starts once the next one is there")
    record = sight.record(NodePhase.POD_RESTART_REQUIRED, old_pod=old_pod)
    return sight.adopted(Treatment.FINISH, sight.with_cordon(why), record.phase, record)


def _replaced(sight: Sight) -> Adoption:
    """Another driver runs: the way goes on where somebody left it, if the node is cordoned for it."""
    facts, pod = sight.facts, sight.facts.driver
    phase = _NEXT.get(facts.nvidia_state) if facts.is_cordoned else None
    if phase is None:
        is_labelled = facts.nvidia_state in AT_WORK
        said = f"labelled {facts.nvidia_state}, but" if is_labelled else "already started, and"
        return _anew(sight, f"{said} another driver runs: it starts over")
    is_restarting = pod is not None and phase is NodePhase.POD_RESTART_REQUIRED
    record = sight.record(phase, old_pod=pod.uid if pod is not None and is_restarting else None)
    why = sight.with_cordon(f"NVIDIA's controller left it at {facts.nvidia_state}: it continues from {phase}")
    return sight.adopted(Treatment.FINISH, why, phase, record)


def _anew(sight: Sight, why: str, old_pod: str | None = None) -> Adoption:
    """It waits for its turn like everybody else, within the limits; what has to be remembered of it is written down.

    `old_pod` is a driver pod that must not outlive the attempt; None leaves what is recorded.
    """
    before, phase, has_fault = sight.node.record, NodePhase.UPGRADE_REQUIRED, sight.node.fault is not None
    record: NodeRecord | None = sight.record(phase, old_pod=old_pod)
    if before is not None and before.phase is phase:
        # It waits already: the same attempt, so that an admission it may have is not lost.
        pod = before.old_pod if old_pod is None else old_pod
        has_lost_driver = closing.has_lost_driver(sight.node)
        mended = replace(before, is_cordon_ours=sight.is_cordon_taken, old_pod=pod, has_lost_driver=has_lost_driver)
        record = mended if mended != before or has_fault else None
    elif record is not None and not has_fault and (before is None or before.phase is NodePhase.UPGRADE_DONE):
        is_needed = record.is_cordon_ours or record.old_pod or record.paused
        record = record if is_needed else None
    return sight.adopted(Treatment.START, sight.with_cordon(why), phase, record)
