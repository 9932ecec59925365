"""What is wanted: the target and the limits of one rollout, as its resource says. Values only.

Defaults are those of NVIDIA's upgradePolicy where it has the field, so that moving over changes nothing by surprise.

Tests: tests/core/test_intent.py
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field

from seatrial.core import versions


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A count of nodes, or a percentage of them."""

    amount: int
    is_percent: bool = False

    def of(self, total: int) -> int:
        """The count for a fleet of `total` nodes; a percentage is rounded up, as NVIDIA's controller does."""
        return -(-self.amount * total // 100) if self.is_percent else self.amount

    @classmethod
    def parse(cls, text: int | str) -> Share:
        """Read `3` or `"25%"`; anything else is a ValueError that says so."""
        if isinstance(text, int) and not isinstance(text, bool) and text >= 0:
            return cls(amount=text)
        if isinstance(text, str) and text.endswith("%") and text[:-1].isascii() and text[:-1].isdigit():
            return cls(amount=int(text[:-1]), is_percent=True)
        if isinstance(text, str) and text.isascii() and text.isdigit():
            return cls(amount=int(text))
        raise ValueError(f"maxUnavailable {text!r} is neither a count such as 3 nor a percentage such as 25%.")

    def __str__(self) -> str:
        return f"{self.amount}%" if self.is_percent else str(self.amount)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much of the fleet may be touched at once."""

    parallel_max: int = 1
    """Nodes under way at once; 0 means no limit but the others."""
    unavailable_max: Share = field(default_factory=lambda: Share(amount=25, is_percent=True))
    failed_max: int = 1
    """Failures tolerated; one more and no further node starts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Eviction:
    """What may be done to GPU pods that stand in the way."""

    force: bool = False
    """Also evict pods that nothing will recreate."""
    delete_empty_dir: bool = False
    """Also evict pods whose emptyDir data is lost with them."""
    timeout_seconds: float = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """One rollout's wish."""

    rollout: str
    target: versions.DriverVersion
    limits: Limits = field(default_factory=Limits)
    eviction: Eviction = field(default_factory=Eviction)
    restart_timeout_seconds: float = 1800.0
    validation_timeout_seconds: float = 600.0
    is_paused: bool = False


def is_member(node: str, labels: Mapping[str, str], selector: Mapping[str, str], admitted: Container[str]) -> bool:
    """Whether a node belongs to a rollout: its labels say so, or the ledger does.

    A label that flaps must not leave a node behind, half way and cordoned, with its admission given to another.
    """
    return node in admitted or all(labels.get(key) == value for key, value in selector.items())
