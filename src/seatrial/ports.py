"""The seams between deciding and doing. Plain values only; implemented by adapters (live) and by sim (virtual).

A pass is synchronous: observe, decide, submit. Only waiting is asynchronous, so the same pass drives a real cluster and
a virtual one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from seatrial.core.actions import Action
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What is seen and what is wanted, at one moment."""

    seen: Snapshot
    intent: Intent
    era: int = 0
    """How often the cluster was seen to go back in time, as one does that is restored from a backup."""


class Result(StrEnum):
    """How an act ended."""

    DONE = "done"
    STALE = "stale"
    """The world had moved on; normal, the next pass looks again."""
    BLOCKED = "blocked"
    """Turned down by a rule of the users', such as a PodDisruptionBudget."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The cluster's answer to one act."""

    action: Action
    result: Result
    detail: str = ""
    blocked: tuple[tuple[str, str], ...] = ()
    """For an eviction: which pods (by uid) were turned down, and why."""


class Observer(Protocol):
    """Sees."""

    def observe(self) -> Sight | None:
        """What is seen now; None while there is nothing to look at (no rollout, nothing listed yet)."""
        ...

    async def wait(self, until: Instant | None) -> bool:
        """Return when something changed or at `until`; False when nothing will ever change again."""
        ...


class Executor(Protocol):
    """Does, one try each; never retries and never gives up, those are decisions."""

    def submit(self, action: Action) -> None:
        """Start an act; its outcome comes with `collect`."""
        ...

    def in_flight(self) -> frozenset[str]:
        """The subjects of acts that have not been answered."""
        ...

    def collect(self) -> tuple[Outcome, ...]:
        """The outcomes since the last call."""
        ...


class Journal(Protocol):
    """Remembers for people and for replay, never for deciding."""

    def append(self, at: Instant, kind: str, fields: Mapping[str, object]) -> None:
        """Add one entry."""
        ...


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> Instant:
        """Seconds since the epoch."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Everything a loop needs from outside."""

    observer: Observer
    executor: Executor
    journal: Journal
    clock: Clock
