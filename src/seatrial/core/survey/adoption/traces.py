"""What an upgrade that somebody left half-way shows of itself, and what becomes of its node.

Law of this file: values; nothing is decided here. Tests: tests/core/survey/test_adopt.py
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from seatrial.core.base.values import dataclass, field, replace
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.nodes import NodePhase, NodeRecord


class Treatment(StrEnum):
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
    REQUESTOR = "NVIDIA's note that a maintenance operator drains the node"
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
    fate: Treatment
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
