"""The rollout's own record: who was admitted to disruption, where the campaign stands, and what people are told.

Law of this file: the record is small however large the fleet is, and is written over what was seen only.
Tests: tests/core/test_snapshot.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from seatrial.core.model.campaign import CampaignRecord
from seatrial.core.model.instants import Instant

UNKNOWN: Final = "unknown"
UNKNOWN_MAX: Final = 3
"""After so many acts in a row of unknown outcome the rollout is set aside."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Admission:
    """A node's right to be disrupted, for one attempt."""

    node: str
    attempt: int
    is_ahead: bool = False
    """It may be closed for new work, and nobody on it be disturbed: it waits for its jobs, and takes no slot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Why somebody waits, in words: the reason, the next step, since when, and until when at the latest."""

    code: str
    why: str
    next_step: str
    since: Instant | None = None
    until: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting(Told):
    """Nodes that wait for one reason; the words are those of the first."""

    nodes: tuple[str, ...]
    """The first of them by name: a status has to stay small."""
    count: int
    """All of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a rollout's status tells people: counts by phase, holds by code, why it waits itself, which nodes do."""

    state: str
    counts: tuple[tuple[str, int], ...] = ()
    holds: tuple[tuple[str, int], ...] = ()
    told: tuple[Told, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    done: int = 0
    """Nodes that are seen to run what this rollout is after; what an earlier one did counts for nothing."""
    total: int = 0
    failed: str = ""
    """How many nodes have failed on their way there, and which: `2 (n1, n3)`; those that people left out are not in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuff:
    """A write of ours the cluster turned down; remembered by the driver so that core can back off."""

    at: Instant
    count: int
    code: str
    """`failed`, `blocked`, or UNKNOWN where a bug of ours hides how it ended."""
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a rollout by attrition has cost, by cause, and what to evict everybody at once would have cost."""

    idle_gpu_seconds: float = 0.0
    """GPUs that nobody held on closed nodes, while a pod waited that would have fit."""
    thrown_gpu_seconds: float = 0.0
    """Work that evictions threw away, and the time until it went on."""
    reload_gpu_seconds: float = 0.0
    """GPUs of nodes that were emptied and upgraded."""
    evictions: int = 0
    """Jobs that had to start again; a gang counts once."""
    evicting_gpu_seconds: float = 0.0
    """What it would have cost to evict each job when its node was closed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutRecord:
    """The status of the GPURollout. `admitted` is the ledger: changed by compare-and-set only."""

    name: str
    resource_version: str = ""
    admitted: tuple[Admission, ...] = ()
    summary: Summary | None = None
    summarised_at: Instant = 0.0
    """When it was written."""
    lost_gpu_seconds: float = 0.0
    """What the rollout had cost by then; losses.py has the rule."""
    cost: Cost | None = None
    """The same by cause, where nodes are taken by attrition; account.py has the rule."""
    rebuffs: tuple[tuple[str, Rebuff], ...] = ()
    """Writes that were turned down, by subject: so that `seatrial why` knows what the controller knows."""
    attentive_since: Instant = 0.0
    """Since when the controller has been free to act: deadlines count from there."""
    campaign: CampaignRecord | None = None
    """Where the campaign stands; None before it began, and where there is none."""
    generation: int = 0
    """Of the wish as it was seen, which counts up with every edit; 0 where nobody counts."""
    observed_generation: int = 0
    """Of the wish that this record answers: what else it says may be of an earlier one."""
