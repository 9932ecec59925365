"""How a node may be upgraded: limits, whom to wait for, whom to evict, when to drain. Who says so, and who wins.

Three may speak: the rollout itself, the NVIDIADriver that owns the node, the ClusterPolicy. What the rollout says wins,
field by field; what nobody says is NVIDIA's default. A wish is what one of them says, with gaps; a policy has none.

    rollout's wish ─┐
    owner's wish ───┼─▶ first who speaks ─▶ Policy
    defaults ───────┘

Tests: tests/core/model/test_policy.py
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeVar

from seatrial.core.base.values import dataclass, field, fields
from seatrial.core.model.selectors import Selector, drain_selector

NumberT = TypeVar("NumberT", int, float)

LONGEST_SECONDS: Final = 86_400.0
"""What NVIDIA calls 0 for evictions and drains is "for ever"; a wait that never ends helps nobody, so it is a day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A count of nodes or GPUs, or a percentage of them."""

    amount: int
    is_percent: bool = False

    def of(self, total: int) -> int:
        """The count for a fleet of `total` nodes; a percentage is rounded up, as NVIDIA's controller does."""
        return -(-self.amount * total // 100) if self.is_percent else self.amount

    @classmethod
    def parse(cls, text: int | str) -> Share:
        """Read `3` or `"25%"`; anything else, and more than all of them, is a ValueError that says so."""
        if isinstance(text, int) and not isinstance(text, bool) and text >= 0:
            return cls(amount=text)
        if isinstance(text, str) and text.endswith("%") and text[:-1].isascii() and text[:-1].isdigit():
            if len(text.lstrip("0")) > len("100%") or int(text[:-1]) > 100:  # the first, for int() has a limit itself
                raise ValueError(f"maxUnavailable {text!r} is more than all of the nodes; the most is 100%.")
            return cls(amount=int(text[:-1]), is_percent=True)
        if isinstance(text, str) and text.isascii() and text.isdigit():
            return cls(amount=int(text))
        raise ValueError(f"maxUnavailable {text!r} is neither a count such as 3 nor a percentage such as 25%.")

    def __str__(self) -> str:
        return f"{self.amount}%" if self.is_percent else str(self.amount)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much of a set of nodes may be touched at once."""

    parallel_max: int = 1
    """Nodes under way at once; 0 means no limit but the others."""
    unavailable_max: Share = field(default_factory=lambda: Share(amount=25, is_percent=True))
    idle_gpus_max: Share | None = None
    """GPUs that may stand idle because of us; None is no limit of its own."""


NO_LIMITS: Final = Limits(parallel_max=0, unavailable_max=Share(amount=100, is_percent=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class JobWait:
    """Which pods are to finish by themselves before anybody is evicted."""

    selector: Selector | None = None
    """None waits for nobody."""
    timeout_seconds: float = 0.0
    """How long, before they are evicted after all; 0 is as long as they run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Eviction:
    """What may be done to GPU pods that stand in the way."""

    force: bool = False
    """Also evict pods that nothing will recreate."""
    delete_empty_dir: bool = False
    """Also evict pods whose emptyDir data is lost with them."""
    timeout_seconds: float = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """Whether all pods may be moved away when the GPU pods alone would not go."""

    is_enabled: bool = False
    selector: Selector = field(default_factory=lambda: drain_selector(""))
    rules: Eviction = field(default_factory=Eviction)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """All of it, without gaps."""

    limits: Limits = field(default_factory=Limits)
    jobs: JobWait = field(default_factory=JobWait)
    eviction: Eviction = field(default_factory=Eviction)
    drain: Drain = field(default_factory=Drain)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attrition:
    """Nodes are taken when their jobs end: until when, how many are closed meanwhile, whether anybody is hurried."""

    deadline_seconds: float = 86_400.0
    """From the opening of the waves; it stands still outside windows and in pauses."""
    close_ahead: float = 0.9
    """The share of the members that may be closed while they are busy. The others take work whatever becomes of us."""
    evicts_early: bool = True
    """Whether anybody is evicted before the deadline because waiting costs more."""


IDLE_BY_ATTRITION: Final = Share(amount=10, is_percent=True)
"""GPUs that may stand idle by attrition where nobody says how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyWish:
    """What one of them says; None where it says nothing."""

    parallel_max: int | None = None
    unavailable_max: Share | None = None
    idle_gpus_max: Share | None = None
    jobs_selector: str | None = None
    jobs_timeout_seconds: float | None = None
    eviction_force: bool | None = None
    eviction_delete_empty_dir: bool | None = None
    eviction_timeout_seconds: float | None = None
    drain_enable: bool | None = None
    drain_force: bool | None = None
    drain_delete_empty_dir: bool | None = None
    drain_selector: str | None = None
    drain_timeout_seconds: float | None = None

    @property
    def says_limits(self) -> bool:
        said = (self.parallel_max, self.unavailable_max, self.idle_gpus_max)
        return any(limit is not None for limit in said)


def policy_of(wishes: Iterable[PolicyWish]) -> Policy:
    """The policy of these wishes, the first that speaks winning; a selector that cannot be read is a ValueError."""
    said = list(wishes)
    merged = PolicyWish(
        **{
            each.name: next((value for wish in said if (value := getattr(wish, each.name)) is not None), None)
            for each in fields(PolicyWish)
        }
    )
    defaults = Policy()
    return Policy(
        limits=Limits(
            parallel_max=_or(merged.parallel_max, defaults.limits.parallel_max),
            unavailable_max=merged.unavailable_max or defaults.limits.unavailable_max,
            idle_gpus_max=merged.idle_gpus_max,
        ),
        jobs=JobWait(
            selector=Selector.parse(merged.jobs_selector) if merged.jobs_selector else None,
            timeout_seconds=_or(merged.jobs_timeout_seconds, 0.0),
        ),
        eviction=_eviction(
            merged.eviction_force, merged.eviction_delete_empty_dir, merged.eviction_timeout_seconds, defaults.eviction
        ),
        drain=Drain(
            is_enabled=bool(merged.drain_enable),
            selector=drain_selector(merged.drain_selector or ""),
            rules=_eviction(
                merged.drain_force, merged.drain_delete_empty_dir, merged.drain_timeout_seconds, defaults.drain.rules
            ),
        ),
    )


def both(first: PolicyWish, second: PolicyWish) -> PolicyWish:
    """What two say together: the first where it speaks; of two limits on nodes at once, the narrower (0 is none)."""
    limits = [limit for limit in (first.parallel_max, second.parallel_max) if limit]
    said = {
        each.name: second_word if (first_word := getattr(first, each.name)) is None else first_word
        for each in fields(PolicyWish)
        for second_word in (getattr(second, each.name),)
    }
    return PolicyWish(**(said | ({"parallel_max": min(limits)} if limits else {})))


def _eviction(
    force: bool | None, delete_empty_dir: bool | None, timeout_seconds: float | None, default: Eviction
) -> Eviction:
    seconds = default.timeout_seconds if timeout_seconds is None else timeout_seconds or LONGEST_SECONDS
    return Eviction(force=bool(force), delete_empty_dir=bool(delete_empty_dir), timeout_seconds=seconds)


def _or(value: NumberT | None, default: NumberT) -> NumberT:
    return default if value is None else value
