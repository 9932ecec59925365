"""The rollout's own record: who was admitted to disruption, where the campaign stands, and what people are told.

Law of this file: the record is small however large the fleet is, and is written over what was seen only.
Tests: tests/core/model/test_snapshot.py
"""

from __future__ import annotations

from typing import Final

from seatrial.core.base.values import dataclass, field
from seatrial.core.model.campaign import CampaignRecord
from seatrial.core.model.fields import kept
from seatrial.core.model.instants import Instant

UNKNOWN: Final = "unknown"
UNKNOWN_MAX: Final = 3
"""After so many acts in a row of unknown outcome the rollout is set aside."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Admission:
    """A node's right to be disrupted, for one attempt."""

    node: str
    attempt: int
    is_ahead: bool = field(
        default=False,
        metadata=kept("By attrition: it may be closed for new work. It waits for its jobs, and takes no slot."),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Why somebody waits, in words: the reason, the next step, since when, and until when at the latest."""

    code: str = ""
    why: str = field(default="", metadata=kept(is_long=True))
    next_step: str = field(default="", metadata=kept("What to do about it.", name="next", is_long=True))
    since: Instant | None = None
    until: Instant | None = field(default=None, metadata=kept("When it ends at the latest."))


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting(Told):
    """Nodes that wait for one reason; the words are those of the first."""

    nodes: tuple[str, ...] = field(default=(), metadata=kept("The first five by name: a status has to stay small."))
    count: int = field(default=0, metadata=kept("How many nodes wait for this."))


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a rollout's status tells people: counts by phase, holds by code, why it waits itself, which nodes do."""

    state: str = field(default="", metadata=kept(is_always_written=True))
    counts: tuple[tuple[str, int], ...] = field(
        default=(),
        metadata=kept("How many nodes are in each state, whatever brought them there.", is_always_written=True),
    )
    holds: tuple[tuple[str, int], ...] = field(
        default=(),
        metadata=kept("How many nodes wait, by reason; `seatrial why NODE` explains.", is_always_written=True),
    )
    told: tuple[Told, ...] = field(
        default=(),
        metadata=kept(
            "Why the rollout as a whole waits, what to do about it, and until when.",
            name="waits",
            is_always_written=True,
            is_informative=True,
        ),
    )
    waiting: tuple[Waiting, ...] = field(
        default=(),
        metadata=kept(
            "Which nodes wait, one entry for each reason.",
            name="nodesWaiting",
            is_always_written=True,
            is_informative=True,
        ),
    )
    done: int = field(default=0, metadata=kept(is_left_out=True))
    """Nodes that are seen to run what this rollout is after; what an earlier one did counts for nothing."""
    total: int = field(default=0, metadata=kept(is_left_out=True))
    failed: str = field(
        default="",
        metadata=kept("How many nodes have failed on the way there, and which: `2 (n1, n3)`. Without those left out."),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuff:
    """A write of ours the cluster turned down; remembered by the driver so that core can back off."""

    at: Instant
    count: int = field(default=1, metadata=kept(is_always_written=True))
    code: str = field(
        default="",
        metadata=kept("`failed`, `blocked`, or `unknown` where a bug hides how it ended.", is_always_written=True),
    )
    detail: str = field(default="", metadata=kept(is_long=True, is_always_written=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a rollout by attrition has cost, by cause, and what to evict everybody at once would have cost."""

    idle_gpu_seconds: float = field(
        default=0.0,
        metadata=kept("Idle GPUs of closed nodes, while a pod waited that would have fit.", is_always_written=True),
    )
    thrown_gpu_seconds: float = field(
        default=0.0,
        metadata=kept("Work that evictions threw away, and the time until it went on.", is_always_written=True),
    )
    reload_gpu_seconds: float = field(
        default=0.0, metadata=kept("GPUs of nodes that were emptied and upgraded.", is_always_written=True)
    )
    evictions: int = field(
        default=0, metadata=kept("Jobs that had to start again; a gang counts once.", is_always_written=True)
    )
    evicting_gpu_seconds: float = field(
        default=0.0,
        metadata=kept("What it would have cost to evict each job when its node was closed.", is_always_written=True),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutRecord:
    """The status of the GPURollout. `admitted` is the ledger: changed by compare-and-set only."""

    name: str = field(metadata=kept(is_left_out=True))
    resource_version: str = field(default="", metadata=kept(is_left_out=True))
    admitted: tuple[Admission, ...] = field(
        default=(),
        metadata=kept(
            "The ledger of nodes admitted to disruption; changed by compare-and-set only.", is_always_written=True
        ),
    )
    summary: Summary | None = field(default=None, metadata=kept(is_left_out=True))
    summarised_at: Instant = field(
        default=0.0,
        metadata=kept(
            "When this was last written: at every change, and once a minute while the rollout is open.",
            is_always_written=True,
            is_informative=True,
        ),
    )
    lost_gpu_seconds: float = field(
        default=0.0,
        metadata=kept(
            "GPUs of the nodes in the ledger, times how long they were in it, until summarisedAt.",
            is_always_written=True,
        ),
    )
    """losses.py has the rule."""
    cost: Cost | None = field(
        default=None, metadata=kept("By attrition: what the rollout has cost until summarisedAt, by cause.")
    )
    """account.py has the rule."""
    rebuffs: tuple[tuple[str, Rebuff], ...] = field(
        default=(),
        metadata=kept(
            "Writes the cluster refused (an eviction by pod uid, a record by node), fifty at most.",
            name="turnedDown",
            pair=("subject", ""),
            is_always_written=True,
            is_informative=True,
        ),
    )
    attentive_since: Instant = field(
        default=0.0,
        metadata=kept(
            "Since when the controller has been free to act; deadlines count from there.",
            is_always_written=True,
            is_informative=True,
        ),
    )
    campaign: CampaignRecord | None = field(default=None, metadata=kept(is_left_out=True))
    """Where the campaign stands; None before it began, and where there is none."""
    generation: int = field(default=0, metadata=kept(is_left_out=True))
    """Of the spec as it was seen, which counts up with every edit; 0 where nothing counts it."""
    observed_generation: int = field(
        default=0,
        metadata=kept("The generation of the spec that this status answers; -1 before a controller has looked at it."),
    )
