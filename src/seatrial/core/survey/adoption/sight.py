"""A node that somebody left half-way, looked at once: who was at it, how far its driver is, what can be given back.

Law of this file: facts win over labels. A label says how far somebody meant to be; whether it is so is read off the
driver pod and the cordon. Tests: tests/core/survey/test_adopt.py
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from seatrial.core.base.values import dataclass, replace
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeRecord, NodeSeen, RecordFault
from seatrial.core.movers.pace import ways as pace_ways
from seatrial.core.node import closing
from seatrial.core.node.phases import RESUMING
from seatrial.core.node.progress import is_same, wants
from seatrial.core.node.step import RESTARTS_MAX
from seatrial.core.node.writing import PAUSED
from seatrial.core.survey.adoption.cordons import CORDONING, whose_cordon
from seatrial.core.survey.adoption.traces import Adoption, Trace, Traces, Treatment, Whose, Wish, Write
from seatrial.core.survey.adoption.words import found

AT_WORK: Final = CORDONING | {NodePhase.CORDON_REQUIRED.value, NodePhase.NODE_MAINTENANCE_REQUIRED.value}


class Driver(StrEnum):
    """How the driver of a node stands towards the target."""

    MISSING = "missing"
    LEAVING = "leaving"
    ANOTHER = "another"
    STARTING = "starting"
    CRASHING = "crashing"
    READY = "ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
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
        is_reloading = self.driver in (Driver.MISSING, Driver.LEAVING, Driver.STARTING, Driver.CRASHING)
        return is_reloading and self.whose is Whose.SOMEBODYS

    @property
    def driver(self) -> Driver:
        pod, facts = self.facts.driver, self.facts
        if pod is None:
            return Driver.MISSING
        if pod.is_terminating:
            return Driver.LEAVING
        # The same version under another revision is another driver too, once the target is what the DaemonSet carries.
        is_new = facts.is_in_sync if wants(facts, self.wish.target) else is_same(pod.version, self.wish.target)
        if pod.is_orphaned or not is_new:
            return Driver.ANOTHER
        if pod.is_ready:
            return Driver.READY
        return Driver.CRASHING if pod.restart_count > RESTARTS_MAX else Driver.STARTING

    @property
    def is_begun(self) -> bool:
        """Whether anybody has begun with the node, so that something was taken from it or is about to be."""
        record, facts, driver = self.node.record, self.facts, self.driver
        has_failed = record is not None and (record.phase is NodePhase.UPGRADE_FAILED or record.is_cordon_ours)
        is_reloading = driver in (Driver.LEAVING, Driver.STARTING, Driver.CRASHING)
        # Labelled, but neither cordoned nor without its driver: whoever wrote the label got no further.
        is_labelled = facts.nvidia_state in AT_WORK and (facts.is_cordoned or driver is not Driver.ANOTHER)
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
        return is_known and self.driver is Driver.READY

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
        return Adoption(
            node=self.node.name, fate=Treatment.LEAVE, found=found(self.node, self.traces, self.wish), why=why
        )

    def adopted(
        self, fate: Treatment, why: str, phase: NodePhase | None = None, record: NodeRecord | None = None
    ) -> Adoption:
        """The answer, with a write where one is needed."""
        labels = self.paused if self.resumes(phase) else ()
        drops = frozenset(self._drops(record))
        said, kept = [why], self.facts.maintenance
        if labels:
            said.append("operands paused for the driver resume")
        if kept is not None and not kept.is_deleting:
            said.append(f"NodeMaintenance {kept.namespace}/{kept.name} stays until its owner removes it")
        write = Write(
            node=self.node.name, expect=self.facts.resource_version, record=record, labels=labels, drops=drops
        )
        return Adoption(
            node=self.node.name,
            fate=Treatment.UNDO if self.wish.is_back and fate in (Treatment.FINISH, Treatment.START) else fate,
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
        return f"{why}; somebody else's cordon{by} stays"

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


def resumed_value(value: str) -> str:
    """The value of a paused deploy label before it was paused, as NVIDIA's driver manager gives it back."""
    return "true" if value == PAUSED else value.replace(f"_{PAUSED}", "")
