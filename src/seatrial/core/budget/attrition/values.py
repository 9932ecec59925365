"""What attrition looks at: nodes, the jobs on them, and how much may be lost. Values only.

Tests: tests/core/budget/test_attrition.py
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from seatrial.core.base.values import dataclass, field
from seatrial.core.model.instants import Instant
from seatrial.core.model.policy import Attrition as Attrition

RELOAD_SECONDS: Final = 360.0
"""From an empty node to one that takes work again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Who starts again as one: a pod, or the pods of a gang."""

    name: str
    parts: tuple[tuple[str, int], ...]
    """Its nodes, with the GPUs that it holds on each."""
    started_at: Instant
    saved_at: Instant | None = None
    """When it last saved its work; None where it does not say."""
    can_be_asked: bool = False
    """Whether it saves its work when asked to, so that hardly any of it is lost."""
    ends_by: Instant | None = None
    """When it is ended by its own limit; None where it has none."""
    finished: tuple[float, ...] = field(default=(), compare=False, repr=False)
    """How long finished jobs of the same owner ran, in seconds, the shortest first."""
    is_service: bool = False
    """Whether it is one of several that serve: it does not end by itself."""
    has_replicas: bool = False
    """Whether others answer for it while it starts elsewhere."""
    budgets: tuple[tuple[str, int], ...] = ()
    """The PodDisruptionBudgets over its pods, with how many of them are under each."""

    @property
    def gpus(self) -> int:
        """GPUs on all of its nodes."""
        return sum(count for _, count in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A node that still has to be upgraded, or is being upgraded: its GPUs and who is on them."""

    name: str
    gpus: int
    jobs: tuple[str, ...] = ()
    busy: int = 0
    """GPUs that jobs hold."""
    closed_at: Instant | None = None
    """Since when our cordon is on it; None while it takes work."""
    is_reloading: bool = False
    unit: str = ""
    """Whom it is upgraded with, all or nothing; empty for nobody."""

    @property
    def idle(self) -> int:
        """GPUs that nobody holds."""
        return self.gpus - self.busy

    @property
    def is_closed(self) -> bool:
        return self.closed_at is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Everything a turn is decided from."""

    now: Instant
    nodes: Mapping[str, Load]
    """Those that are not through."""
    jobs: Mapping[str, Job]
    way: Attrition
    deadline_at: Instant
    idle_max: int
    """GPUs that may stand idle because of us."""
    member_count: int
    """Of the rollout, those that are through included."""
    reload_seconds: float = RELOAD_SECONDS
    waiting_gpus: int = 1
    """GPUs of the smallest pod that waits for some; 0 where none does."""
    at_once_max: int | None = None
    """Nodes that may reload at once; None where nobody says."""
    beside: Mapping[str, int] = field(default_factory=dict)
    """By unit, the GPUs of its nodes that have to be upgraded with it and are not among these."""
    others: tuple[int, ...] = ()
    """GPUs of each other node that waits for its turn: the last call leaves time for it, too."""
    is_suspending: bool = False
    """Whether Workloads of Kueue are suspended, not evicted: all of one starts again together."""
    keeps: frozenset[str] = frozenset()
    """Who was given back a moment ago and is not closed again yet."""
    vain: frozenset[str] = frozenset()
    """Open nodes that no limit would let be emptied now: closed, their idle GPUs would serve nobody."""
    allowed: Mapping[str, int] = field(default_factory=dict)
    """By PodDisruptionBudget: pods that may be disrupted now, less those that were asked to and are still there."""

    @property
    def idle(self) -> int:
        """GPUs that stand idle because of us: behind our cordon without a job, or reloading."""
        return sum(node.idle for node in self.nodes.values() if node.is_closed)


class Reason(StrEnum):
    """Why a node is emptied before its jobs have ended."""

    EMPTY = "empty"
    SAVED = "saved"
    """Its job has just saved, and the next save comes too late."""
    REPLICAS = "replicas"
    """It serves, others answer for it elsewhere, and its PodDisruptionBudget allows a disruption now."""
    WAITING_COSTS_MORE = "waiting-costs-more"
    DEADLINE = "deadline"
    """Nobody can be waited for any longer."""


class Verb(StrEnum):
    """What becomes of a node."""

    CLOSE = "close"
    GIVE_BACK = "give-back"
    EVICT = "evict"
    RELOAD = "reload"


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One act."""

    verb: Verb
    nodes: tuple[str, ...]
    jobs: tuple[str, ...] = ()
    """Who is evicted."""


class Bound(StrEnum):
    """What keeps a node as it is although its turn has come."""

    IDLE = "idle"
    """No room: as many GPUs stand idle as may."""
    SIZE = "size"
    """There never is room: it has more GPUs, alone or with its unit, than may stand idle."""
    SHARE = "share"
    """As many nodes are closed as may be while their jobs run."""


class Turn(NamedTuple):
    """The acts of a turn, and by name what keeps other nodes from theirs."""

    acts: list[Act]
    left: dict[str, Bound]
