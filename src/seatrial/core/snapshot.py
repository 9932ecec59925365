"""What is seen: facts (observed), records (written by us), and how fresh both are. Values only, hardly any behaviour.

    the cluster ──watch──▶ NodeFacts    cordoned? driver revision running? GPU pods present?     facts
                           NodeRecord   phase, attempt, since when, whose cordon                  records
                           RolloutRecord  the ledger: who was admitted to disruption              records

A record is the little that cannot be observed. A label is a bookmark for people, not the truth: when facts and records
disagree, facts win, and the disagreement is a Hold or a repair. Several streams feed one Snapshot, each with its own
delay, so every reader must be safe under any mix of ages.

Tests: tests/core/test_snapshot.py
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

Instant: TypeAlias = float
"""Seconds since the epoch on *our* clock, unless a name says otherwise."""

ApiInstant: TypeAlias = float
"""Seconds since the epoch as written by the API server or a kubelet; compared with its like only."""


class NodePhase(StrEnum):
    """Where a node stands, in NVIDIA's own words; the text is the label's value."""

    UPGRADE_REQUIRED = "upgrade-required"
    CORDON_REQUIRED = "cordon-required"
    WAIT_FOR_JOBS_REQUIRED = "wait-for-jobs-required"
    POD_DELETION_REQUIRED = "pod-deletion-required"
    POD_RESTART_REQUIRED = "pod-restart-required"
    VALIDATION_REQUIRED = "validation-required"
    UNCORDON_REQUIRED = "uncordon-required"
    UPGRADE_DONE = "upgrade-done"
    UPGRADE_FAILED = "upgrade-failed"


class Mode(StrEnum):
    """Who moves the nodes: we (direct), or NVIDIA's upgrade controller (delegated)."""

    DIRECT = "direct"
    DELEGATED = "delegated"


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuPod:
    """A pod that holds a GPU of the node and would have to leave before the driver does."""

    namespace: str
    name: str
    uid: str
    is_terminating: bool = False
    has_controller: bool = True
    has_empty_dir: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverRevision:
    """What a driver DaemonSet wants to run: the newest revision of its template."""

    hash: str
    version: str
    """Driver version read from the image tag; empty when the tag does not say (a digest, a precompiled image)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverPod:
    """The driver pod of a node."""

    namespace: str
    name: str
    uid: str
    revision: str
    version: str = ""
    is_ready: bool = False
    ready_since: ApiInstant | None = None
    is_terminating: bool = False
    restart_count: int = 0
    trouble: str = ""
    """Why a container waits, in the kubelet's word (ImagePullBackOff, CrashLoopBackOff); empty when none says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatorPod:
    """The validator pod of a node; its checks run when it starts, so *when* it became ready is what counts."""

    name: str
    is_ready: bool = False
    ready_since: ApiInstant | None = None
    is_terminating: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """What can be observed of one node, joined from nodes, pods and revisions."""

    name: str
    resource_version: str = ""
    is_cordoned: bool = False
    is_ready: bool = True
    is_skipped: bool = False
    nvidia_state: str = ""
    """The value under NVIDIA's own key; ours only where no GPU Operator runs."""
    wanted: DriverRevision | None = None
    driver: DriverPod | None = None
    validator: ValidatorPod | None = None
    gpu_pods: tuple[GpuPod, ...] = ()

    @property
    def is_unavailable(self) -> bool:
        """Whether the node takes no new work, for whatever reason."""
        return self.is_cordoned or not self.is_ready

    @property
    def is_in_sync(self) -> bool:
        """Whether the running driver pod is of the revision its DaemonSet wants."""
        return self.wanted is not None and self.driver is not None and self.driver.revision == self.wanted.hash


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRecord:
    """What we wrote down about a node; kept in one annotation, its phase mirrored in a label."""

    phase: NodePhase
    attempt: int
    entered_at: Instant
    is_cordon_ours: bool = False
    reason: str = ""
    """Why the node failed: a FailureCode's text; empty otherwise."""
    failed_revision: str = ""
    """The revision wanted when the node last failed: another one is worth a new attempt by itself."""
    failed_pod: str = ""
    """The uid of the driver pod the node last failed with: a retry starts with a fresh one."""


class RecordFault(StrEnum):
    """How a node's record can contradict itself."""

    UNREADABLE = "unreadable"
    """The annotation cannot be read."""
    EDITED = "edited"
    """The label was changed by somebody to a value other than a retry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSeen:
    """One node: what is observed and what we wrote."""

    facts: NodeFacts
    record: NodeRecord | None = None
    is_retry_asked: bool = False
    """Somebody set the label to upgrade-required by hand."""
    is_label_lost: bool = False
    """The record is there but its label is not; the label is written again."""
    fault: RecordFault | None = None
    fault_text: str = ""

    @property
    def name(self) -> str:
        return self.facts.name


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Admission:
    """A node's right to be disrupted, for one attempt."""

    node: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What the rollout's status tells people: counts by phase, holds by code."""

    state: str
    counts: tuple[tuple[str, int], ...] = ()
    holds: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuff:
    """A write of ours the cluster turned down; remembered by the driver so that core can back off."""

    at: Instant
    count: int
    code: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutRecord:
    """The status of the GPURollout. `admitted` is the ledger: changed by compare-and-set only."""

    name: str
    resource_version: str = ""
    admitted: tuple[Admission, ...] = ()
    summary: Summary | None = None
    summarised_at: Instant = 0.0
    rebuffs: tuple[tuple[str, Rebuff], ...] = ()
    """Writes that were turned down, by subject: so that `seatrial why` knows what the controller knows."""
    attentive_since: Instant = 0.0
    """Since when the controller has been free to act: deadlines count from there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """When a stream was last heard of; a stream not yet listed is not synced."""

    source: str
    is_synced: bool
    heard_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorFacts:
    """What is seen of NVIDIA's GPU Operator."""

    kind: str = ""
    """The resource that owns the drivers, e.g. `ClusterPolicy/cluster-policy`; empty when there is none."""
    is_auto_upgrading: bool = False
    driver_version: str = ""
    state: str = ""

    @property
    def mode(self) -> Mode:
        """Who moves the nodes, as the cluster itself has it."""
        return Mode.DELEGATED if self.is_auto_upgrading else Mode.DIRECT


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything `decide` may look at."""

    nodes: Mapping[str, NodeSeen]
    rollout: RolloutRecord
    freshness: tuple[Freshness, ...] = ()
    operator: OperatorFacts = field(default_factory=OperatorFacts)
    rebuffs: Mapping[str, Rebuff] = field(default_factory=dict)
    """By subject: a pod's uid for an eviction, a node's name for its record, the rollout's name for the ledger."""
    busy: Mapping[str, Instant | None] = field(default_factory=dict)
    """Subjects with a write of ours under way: unanswered (None), or answered but not to be seen here yet, and until
    when we wait to see it."""
    attentive_since: Instant = 0.0
    """Since when we have been looking and free to act; deadlines count from here, so an outage of ours fails nobody."""
