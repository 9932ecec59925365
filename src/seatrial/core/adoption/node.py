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
machine that proved or restarted a driver before that would do so for the version it is to leave. adopt_plan.py looks at
the fleet as a whole.

Tests: tests/core/test_adopt.py
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from seatrial.core.model.instants import Instant
from seatrial.core.model.snapshot import NodeFacts, NodePhase, NodeRecord, NodeSeen, RecordFault
from seatrial.core.node import closing
from seatrial.core.node.phases import RESUMING, is_under_way
from seatrial.core.node.progress import is_same, wants
from seatrial.core.node.step import RESTARTS_MAX
from seatrial.core.node.writing import PAUSED, record_of
from seatrial.core.pace import ways as pace_ways


class Fate(StrEnum):
    """What becomes of a node."""

    FINISH = "finish"
    """Somebody began its upgrade; it goes on from there."""
    UNDO = "undo"
    """Somebody began its upgrade, or ended it; it goes back."""
    START = "start"
    """Its upgrade begins, or begins anew, when its turn comes."""
    LEAVE = "leave"
    """It stays as it is until somebody acts."""
    NOTHING = "nothing"
    """It is in order."""


class Trace(StrEnum):
    """What others, or we ourselves, left on a node and nobody needs any more."""

    STATE = "NVIDIA's state label"
    INITIAL_STATE = "NVIDIA's note that the node was cordoned before"
    JOBS_TIMER = "NVIDIA's note since when it waits for jobs"
    VALIDATION_TIMER = "NVIDIA's note since when it validates"
    REQUESTOR = "NVIDIA's note that a maintenance operator empties the node"
    SKIP = "the skip label of a rollout that is over"
    SKIP_NOTE = "the note on a skip label that is gone"
    CANARY = "the canary label of a rollout that is over"
    WAKE = "the label of `seatrial pace`"
    LABEL = "our state label, which has no record"


class Whose(StrEnum):
    """Whose cordon is on a node."""

    NOBODYS = "nobody's"
    """There is none."""
    OURS = "ours"
    NVIDIAS = "NVIDIA's"
    SOMEBODYS = "somebody's"


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """What only an adoption looks at on a node."""

    cordoned_by: str = ""
    """Who set the cordon, by the name it gave to the API server; empty where that is not kept."""
    found: frozenset[Trace] = frozenset()
    """Those that are annotations; the labels are among the node's facts."""
    is_record_newer: bool = False
    """The record was written by a later release, which alone knows what it means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Where to, and what else has to be known for one node."""

    target: str
    now: Instant
    is_back: bool = False
    released: frozenset[str] = frozenset()
    """Nodes whose cordon somebody says belongs to the upgrade."""
    alive: frozenset[str] = frozenset()
    """Rollouts that have not ended: their marks on nodes are theirs."""
    admitted: Mapping[str, int] = field(default_factory=dict)
    """The ledger of the rollout that takes the nodes up, where it is there already."""
    has_operator: bool = False
    """Whether a GPU Operator owns NVIDIA's state label here."""
    is_published: bool = True
    """Whether every DaemonSet carries the target, as far as it can be seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """The one write with which a node is taken up, bound to the version of it that was looked at."""

    node: str
    expect: str
    record: NodeRecord | None = None
    labels: tuple[tuple[str, str], ...] = ()
    """Deploy labels that get back the value they had."""
    drops: frozenset[Trace] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """One node: how it was found, what becomes of it, and what is written for that."""

    node: str
    fate: Fate
    found: str
    why: str
    phase: NodePhase | None = None
    """Where our machine takes it up; None where it looks for itself."""
    write: Write | None = None

    def is_as_announced(self, other: Adoption) -> bool:
        """Whether another look has come to the same, at whatever version of the node and at whatever time."""
        return (self.fate, self.phase, _undated(self.write)) == (other.fate, other.phase, _undated(other.write))


def _undated(write: Write | None) -> Write | None:
    if write is None:
        return None
    record = replace(write.record, entered_at=0.0) if write.record is not None else None
    return replace(write, expect="", record=record)


OUR_WRITERS: Final = ("seatrial",)
NVIDIA_WRITERS: Final = ("gpu-operator", "driver-manager")
"""The names under which NVIDIA's controllers write: those of their programs, since they give no other."""

_CORDONING: Final = frozenset(
    {
        NodePhase.WAIT_FOR_JOBS_REQUIRED.value,
        NodePhase.POD_DELETION_REQUIRED.value,
        NodePhase.DRAIN_REQUIRED.value,
        NodePhase.POD_RESTART_REQUIRED.value,
        NodePhase.VALIDATION_REQUIRED.value,
        NodePhase.UNCORDON_REQUIRED.value,
        NodePhase.UPGRADE_FAILED.value,
    }
)
"""States of NVIDIA's in which its own cordon is on the node, unless it noted another."""
_AT_WORK: Final = _CORDONING | {NodePhase.CORDON_REQUIRED.value, NodePhase.NODE_MAINTENANCE_REQUIRED.value}

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


class _Driver(StrEnum):
    """How the driver of a node stands towards the target."""

    MISSING = "missing"
    LEAVING = "leaving"
    ANOTHER = "another"
    STARTING = "starting"
    CRASHING = "crashing"
    READY = "ready"


def classify(node: NodeSeen, traces: Traces, wish: Wish) -> Adoption:
    """What becomes of one node, and why."""
    sight = _Sight(node=node, traces=traces, wish=wish)
    if traces.is_record_newer:
        return sight.left("a later release of seatrial wrote its record; run `seatrial rollout adopt` of that one")
    if is_under_way(node.record):
        return _under_way(sight)
    if not sight.is_begun and not sight.is_asked_for and sight.driver is _Driver.READY:
        return sight.adopted(Fate.NOTHING, sight.with_cordon("it runs the target"))
    if node.facts.is_skipped and not node.facts.skipped_by:
        again = " and adopt again" if sight.is_begun else ""
        return sight.left(f"somebody marked it skip; `seatrial node unskip {node.name}`{again} lets it be upgraded")
    if node.facts.owner_conflict:
        return sight.left(f"it is unclear which NVIDIADriver it belongs to: {node.facts.owner_conflict}")
    return _taken_up(sight) if sight.is_begun else _not_begun(sight)


def whose_cordon(node: NodeSeen, traces: Traces, wish: Wish) -> Whose:
    """Whose cordon is on a node.

    Who wrote it is the best evidence there is: switched off and on again, NVIDIA's controller takes its own cordon for
    an administrator's, notes it so, and would leave it for ever.
    """
    if not node.facts.is_cordoned:
        return Whose.NOBODYS
    if node.name in wish.released or (node.record is not None and node.record.is_cordon_ours):
        return Whose.OURS
    if traces.cordoned_by:
        is_ours, is_nvidias = traces.cordoned_by in OUR_WRITERS, traces.cordoned_by in NVIDIA_WRITERS
        return Whose.OURS if is_ours else Whose.NVIDIAS if is_nvidias else Whose.SOMEBODYS
    is_nvidias = node.facts.nvidia_state in _CORDONING and Trace.INITIAL_STATE not in traces.found
    return Whose.NVIDIAS if is_nvidias else Whose.SOMEBODYS


# ── one node, looked at once ─────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sight:
    """One node with everything that its fate is read off."""

    node: NodeSeen
    traces: Traces
    wish: Wish

    @property
    def facts(self) -> NodeFacts:
        return self.node.facts

    @property
    def whose(self) -> Whose:
        return whose_cordon(self.node, self.traces, self.wish)

    @property
    def is_cordon_taken(self) -> bool:
        """Whether the cordon belongs to the upgrade, so that whoever ends it lifts it."""
        return self.whose in (Whose.OURS, Whose.NVIDIAS)

    @property
    def is_cordon_theirs(self) -> bool:
        """Whether somebody's cordon is on a node whose driver is gone, so that it is put back when it is lost."""
        is_reloading = self.driver in (_Driver.MISSING, _Driver.LEAVING, _Driver.STARTING, _Driver.CRASHING)
        return is_reloading and self.whose is Whose.SOMEBODYS

    @property
    def driver(self) -> _Driver:
        pod, facts = self.facts.driver, self.facts
        if pod is None:
            return _Driver.MISSING
        if pod.is_terminating:
            return _Driver.LEAVING
        # The same version under another revision is another driver too, once the target is what the DaemonSet carries.
        is_new = facts.is_in_sync if wants(facts, self.wish.target) else is_same(pod.version, self.wish.target)
        if pod.is_orphaned or not is_new:
            return _Driver.ANOTHER
        if pod.is_ready:
            return _Driver.READY
        return _Driver.CRASHING if pod.restart_count > RESTARTS_MAX else _Driver.STARTING

    @property
    def is_begun(self) -> bool:
        """Whether anybody has begun with the node, so that something was taken from it or is about to be."""
        record, facts, driver = self.node.record, self.facts, self.driver
        has_failed = record is not None and (record.phase is NodePhase.UPGRADE_FAILED or record.is_cordon_ours)
        is_reloading = driver in (_Driver.LEAVING, _Driver.STARTING, _Driver.CRASHING)
        # Labelled, but neither cordoned nor without its driver: whoever wrote the label got no further.
        is_labelled = facts.nvidia_state in _AT_WORK and (facts.is_cordoned or driver is not _Driver.ANOTHER)
        is_unclear = self.node.fault is not None
        is_touched = self.is_cordon_taken or bool(facts.paused_labels) or is_reloading
        return has_failed or is_touched or is_labelled or is_unclear

    @property
    def is_asked_for(self) -> bool:
        """Whether somebody asked for an upgrade of the node, needed or not."""
        return self.facts.is_requested or self.facts.awaits_safe_load or self.node.is_retry_asked

    @property
    def is_ahead(self) -> bool:
        """Whether the target runs while its DaemonSet carries another version still."""
        is_known = self.facts.wanted is not None and not wants(self.facts, self.wish.target)
        return is_known and self.driver is _Driver.READY

    @property
    def paused(self) -> tuple[tuple[str, str], ...]:
        """The deploy labels that say paused, with the values they had."""
        return tuple((key, resumed_value(self.facts.labels.get(key, PAUSED))) for key in self.facts.paused_labels)

    def resumes(self, phase: NodePhase | None) -> bool:
        """Whether paused clients come back with this very write: a driver runs, and is not about to go.

        NVIDIA's driver manager works before the driver does, so where one runs its labels are left-overs.
        """
        pod = self.facts.driver
        is_at_rest = pod is not None and pod.is_ready and not pod.is_terminating
        return is_at_rest and (phase in RESUMING or phase in (None, NodePhase.UPGRADE_REQUIRED))

    # ── what is answered ─────────────────────────────────────────────────────────────────────────────────────────────

    def left(self, why: str) -> Adoption:
        """It stays as it is."""
        return Adoption(node=self.node.name, fate=Fate.LEAVE, found=found(self.node, self.traces, self.wish), why=why)

    def adopted(
        self, fate: Fate, why: str, phase: NodePhase | None = None, record: NodeRecord | None = None
    ) -> Adoption:
        """The answer, with a write where one is needed."""
        labels = self.paused if self.resumes(phase) else ()
        drops = frozenset(self._drops(record))
        said, kept = [why], self.facts.maintenance
        if labels:
            said.append("what was paused for the driver comes back")
        if kept is not None and not kept.is_deleting:
            said.append(f"NodeMaintenance {kept.namespace}/{kept.name} stays until whoever asked for it takes it back")
        write = Write(
            node=self.node.name, expect=self.facts.resource_version, record=record, labels=labels, drops=drops
        )
        return Adoption(
            node=self.node.name,
            fate=Fate.UNDO if self.wish.is_back and fate in (Fate.FINISH, Fate.START) else fate,
            found=found(self.node, self.traces, self.wish),
            why="; ".join(said),
            phase=phase,
            write=write if record is not None or labels or drops else None,
        )

    def with_cordon(self, why: str) -> str:
        """With what is to be said of a cordon that stays."""
        if self.whose is not Whose.SOMEBODYS:
            return why
        by = f" ({self.traces.cordoned_by})" if self.traces.cordoned_by else ""
        return f"{why}; its cordon is somebody's{by} and stays"

    def record(self, phase: NodePhase, *, old_pod: str | None = None) -> NodeRecord:
        """A record for a new attempt, with what an earlier one of ours has gathered and not yet given back."""
        before = self.node.record
        is_over = before is None or before.phase is NodePhase.UPGRADE_DONE
        kept = NodeRecord(phase=phase, attempt=0, entered_at=self.wish.now) if before is None or is_over else before
        paused = {} if self.resumes(phase) else {**dict(self.paused), **dict(kept.paused)}
        return replace(
            kept,
            phase=phase,
            # Above the ledger too, and never an attempt that was seen to end: an old view must not release this one.
            attempt=max(before.attempt if before else 0, self.wish.admitted.get(self.node.name, 0)) + 1,
            entered_at=self.wish.now,
            is_cordon_ours=self.is_cordon_taken,
            is_cordon_theirs=self.is_cordon_theirs,
            reason="",
            trouble="",
            is_restart_only=False,
            paused=tuple(sorted(paused.items())),
            old_pod=kept.old_pod if old_pod is None else old_pod,
            has_lost_driver=phase is not NodePhase.UPGRADE_DONE and closing.has_lost_driver(self.node),
        )

    def _drops(self, record: NodeRecord | None) -> Iterator[Trace]:
        facts, mine = self.facts, record or self.node.record
        # Where no operator runs, NVIDIA's label mirrors our record, so a record that is written takes its place.
        mirrored = mine.phase.value if mine is not None and not self.wish.has_operator else ""
        is_stale = facts.nvidia_state not in ("", NodePhase.UPGRADE_DONE.value, mirrored)
        if is_stale and (record is None or self.wish.has_operator):
            yield Trace.STATE
        yield from self.traces.found - {Trace.SKIP_NOTE}
        if facts.skipped_by and facts.skipped_by not in self.wish.alive:
            yield Trace.SKIP
        elif Trace.SKIP_NOTE in self.traces.found and not facts.is_skipped:
            yield Trace.SKIP_NOTE
        if facts.canary_of and facts.canary_of not in self.wish.alive:
            yield Trace.CANARY
        if facts.labels.get(pace_ways.WAKE_LABEL) == pace_ways.WAKE_VALUE:
            yield Trace.WAKE
        if self.node.fault is RecordFault.EDITED and mine is None:
            yield Trace.LABEL


# ── the cases ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _under_way(sight: _Sight) -> Adoption:
    """A record of ours that is under way: where it stands is known, and only what is wrong with it is mended."""
    node, record = sight.node, record_of(sight.node)
    if sight.is_ahead:
        return _awaiting(sight)
    is_open = not sight.facts.is_cordoned and record.phase not in _UNCORDONED
    if is_open and sight.driver is _Driver.ANOTHER:
        return _anew(sight, "somebody lifted its cordon, and another driver runs: it begins anew")
    found_paused = dict(sight.paused).keys() - dict(record.paused).keys()
    paused = {**dict(sight.paused), **dict(record.paused)} if record.phase not in RESUMING and found_paused else {}
    mended = replace(
        record,
        is_cordon_ours=sight.is_cordon_taken or (closing.is_opened(node) and record.is_cordon_ours),
        is_cordon_theirs=record.is_cordon_theirs or sight.is_cordon_theirs,
        paused=tuple(sorted(paused.items())) if paused else record.paused,
    )
    is_mended = mended != record or node.fault is RecordFault.EDITED
    why = sight.with_cordon(f"our own record is at {record.phase}: it goes on from there")
    return sight.adopted(Fate.FINISH, why, record.phase, mended if is_mended else None)


def _not_begun(sight: _Sight) -> Adoption:
    """Nothing was taken from it: our machine begins when the node's turn comes, and needs no record for that."""
    turn = "goes back" if sight.wish.is_back else "is upgraded"
    why = f"nobody has begun with it: it {turn} when its turn comes"
    if sight.is_asked_for:
        why = "somebody asked for its upgrade: it begins when its turn comes"
    elif sight.driver is _Driver.MISSING:
        why = "it has no driver pod: it begins once there is one"
    return sight.adopted(Fate.START, sight.with_cordon(why))


def _taken_up(sight: _Sight) -> Adoption:
    """Somebody began with it: where our machine goes on is read off its driver."""
    pod = sight.facts.driver
    uid = pod.uid if pod is not None else ""
    if not sight.facts.is_ready:
        return _anew(sight, "its kubelet is silent: it begins anew once the node is Ready")
    match sight.driver:
        case _Driver.READY:
            return _awaiting(sight) if sight.is_ahead else _proven(sight)
        case _Driver.ANOTHER:
            return _replaced(sight)
        case _Driver.CRASHING:
            return _anew(sight, "its driver keeps crashing: it begins anew, with a fresh pod", old_pod=uid)
        case _Driver.STARTING:
            return _awaited(sight, "its driver is starting: it is waited for")
        case _Driver.MISSING:
            return _awaited(sight, "its driver pod is gone: the next one is waited for")
        case _Driver.LEAVING:
            return _awaited(sight, "its driver pod is going: the next one is waited for", old_pod=uid)


def _proven(sight: _Sight) -> Adoption:
    """The driver that is wanted runs: what is left is to prove it, and to give the node back."""
    given = ", and its cordon is lifted" if sight.is_cordon_taken else ""
    record = sight.record(NodePhase.VALIDATION_REQUIRED)
    why = sight.with_cordon(f"the target runs: it is proven{given}")
    return sight.adopted(Fate.FINISH, why, record.phase, record)


def _awaiting(sight: _Sight) -> Adoption:
    """The driver to go back to was never touched: the node keeps it, and is given back once that is what is wanted."""
    given = " and its cordon is lifted" if sight.is_cordon_taken else ""
    return _anew(sight, f"the target runs still: it stays{given}, once its DaemonSet carries it", old_pod="")


def _awaited(sight: _Sight, why: str, old_pod: str | None = None) -> Adoption:
    """Its driver is being replaced: the machine waits for the next one, and proves it."""
    if not sight.facts.is_cordoned and not sight.wish.is_published:
        # What comes is not the target, and without a cordon it could not be replaced from here.
        return _anew(sight, "its driver pod is being replaced: it begins once the next one is there")
    record = sight.record(NodePhase.POD_RESTART_REQUIRED, old_pod=old_pod)
    return sight.adopted(Fate.FINISH, sight.with_cordon(why), record.phase, record)


def _replaced(sight: _Sight) -> Adoption:
    """Another driver runs: the way goes on where somebody left it, if the node is cordoned for it."""
    facts, pod = sight.facts, sight.facts.driver
    phase = _NEXT.get(facts.nvidia_state) if facts.is_cordoned else None
    if phase is None:
        is_labelled = facts.nvidia_state in _AT_WORK
        said = f"labelled {facts.nvidia_state}, but" if is_labelled else "it was begun with, and"
        return _anew(sight, f"{said} another driver runs: it begins anew")
    is_restarting = pod is not None and phase is NodePhase.POD_RESTART_REQUIRED
    record = sight.record(phase, old_pod=pod.uid if pod is not None and is_restarting else None)
    why = sight.with_cordon(f"NVIDIA's controller left it at {facts.nvidia_state}: it goes on from {phase}")
    return sight.adopted(Fate.FINISH, why, phase, record)


def _anew(sight: _Sight, why: str, old_pod: str | None = None) -> Adoption:
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
    return sight.adopted(Fate.START, sight.with_cordon(why), phase, record)


# ── in words ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def found(node: NodeSeen, traces: Traces, wish: Wish) -> str:
    """How a node was found, in a few words."""
    return ", ".join(_found(node, traces, wish))


def _found(node: NodeSeen, traces: Traces, wish: Wish) -> Iterator[str]:
    facts = node.facts
    if node.record is not None:
        yield f"ours: {node.record.phase}"
    if node.fault is not None:
        yield "our record cannot be read" if node.fault is RecordFault.UNREADABLE else "our label was edited"
    if facts.nvidia_state and (node.record is None or wish.has_operator):
        yield f"NVIDIA's: {facts.nvidia_state}"
    if facts.is_cordoned:
        known = {Whose.OURS: "seatrial", Whose.NVIDIAS: "NVIDIA"}
        yield f"cordoned by {traces.cordoned_by or known.get(whose_cordon(node, traces, wish), 'somebody')}"
    if not facts.is_ready:
        yield "not Ready"
    yield _driver_found(facts)
    if facts.paused_labels:
        yield f"{len(facts.paused_labels)} deploy labels paused"
    if facts.is_skipped:
        yield f"skip label of {facts.skipped_by}" if facts.skipped_by else "skip label"
    if facts.canary_of:
        yield f"canary label of {facts.canary_of}"


def _driver_found(facts: NodeFacts) -> str:
    pod = facts.driver
    if pod is None:
        return "no driver pod"
    state = "leaving" if pod.is_terminating else "Ready" if pod.is_ready else "not Ready"
    restarts = f", {pod.restart_count} restarts" if pod.restart_count and not pod.is_ready else ""
    orphaned = ", orphaned" if pod.is_orphaned else ""
    return f"driver {pod.version or 'without a version'} ({state}{restarts}{orphaned})"


def resumed_value(value: str) -> str:
    """The value of a paused deploy label before it was paused, as NVIDIA's driver manager gives it back."""
    return "true" if value == PAUSED else value.replace(f"_{PAUSED}", "")


def content(write: Write) -> tuple[str, ...]:
    """What a write changes on its node, thing by thing."""
    record = write.record
    cordon = ", the cordon is ours" if record is not None and record.is_cordon_ours else ""
    records = (f"record {record.phase}, attempt {record.attempt}{cordon}",) if record is not None else ()
    return (
        *records,
        *(f"label {key}={value}" for key, value in write.labels),
        *(f"remove {trace}" for trace in sorted(write.drops)),
    )
