"""Everything that is seen, at once: all that `decide` may look at, and how fresh it is.

Law of this file: the parts are of different ages, and each says how old it is. Tests: tests/core/model/test_snapshot.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from seatrial.core.base.values import dataclass, field
from seatrial.core.model.campaign import RolloutPhase, SourceFacts
from seatrial.core.model.deployers import Follower
from seatrial.core.model.gates.exposed import TelemetryFacts
from seatrial.core.model.gates.gate import Measurement
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.operators import MachinePool, OperatorFacts
from seatrial.core.model.seen.problems import UnreadableObject
from seatrial.core.model.seen.rollouts import Rebuff, RolloutRecord
from seatrial.core.model.seen.work import WorkSeen

PODS_STREAM: Final = "pods"
"""The stream that tells who uses the GPUs of a node."""
STALE_SECONDS: Final = 150.0
"""A stream that says nothing for this long (bookmarks come every minute) is not to be trusted with a disruption."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """When a stream was last heard of; a stream not yet listed is not synced."""

    source: str
    is_synced: bool
    heard_at: Instant


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
    put_back_at: Instant | None = None
    """When we last noticed that our clock had been put back, by what it said then; None where it never was."""
    beat_seconds: float = 0.0
    """How often the record of an open rollout is written anew though nothing has changed; 0 for never."""
    source: SourceFacts | None = None
    """What the home of the matrix shows; None where there is none, or before it was looked at."""
    measurements: tuple[Measurement, ...] = ()
    """What gates have measured."""
    telemetry: TelemetryFacts | None = None
    """What a monitoring system shows; None where we were told of none."""
    others: tuple[str, ...] = ()
    """Other campaigns over the same component that have begun and not ended."""
    denied: tuple[str, ...] | None = ()
    """What we would have to do and may not, by the API server's own word; None while it was not asked yet."""
    machine_pools: tuple[MachinePool, ...] = ()
    """MachineConfigPools; none outside of OpenShift."""
    followers: tuple[Follower, ...] = ()
    """What brings repositories into the cluster, as far as it may be looked at. It explains, and decides nothing."""
    is_guarded: bool = True
    """Whether the rollout carries our finalizer, so that it cannot go before we have tidied up after it."""
    is_deleting: bool = False
    """Somebody has deleted the rollout, and it goes as soon as nobody's finalizer is on it any more."""
    is_uninstalling: bool = False
    """Seatrial itself goes: the rollout is left as a deleted one is, and stays."""
    predecessor: RolloutPhase | None = None
    """Where the rollout stands that this one comes after; None where it is not there, or it comes after none."""
    journal_trouble: str = ""
    """Why what we do cannot be written down at the moment, for whoever asked for a journal; empty where it can."""
    kueue_trouble: str = ""
    """Why Workloads of Kueue cannot be seen, for a rollout that is to switch them off; empty where they can."""
    unreadable: tuple[tuple[str, str], ...] = ()
    """Other rollouts that cannot be read, and why: nothing is done for them, and nothing is written to them."""
    unreadable_objects: tuple[UnreadableObject, ...] = ()
    """Objects that decisions rest on, are about no single node, and cannot be read."""
    set_aside: tuple[tuple[str, str], ...] = ()
    """Other rollouts that are set aside for a while after a bug of ours, and why."""
    work: WorkSeen = field(default_factory=WorkSeen)
    """What has ended and who waits, for a rollout that has a budget of idle GPUs; nothing for any other."""

    @property
    def is_let_go(self) -> bool:
        """Whether the rollout is left, for it or seatrial itself goes."""
        return self.is_deleting or self.is_uninstalling
