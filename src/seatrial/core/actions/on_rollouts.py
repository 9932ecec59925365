"""What is done to the rollout itself.

    WriteRolloutRecord  the ledger, the campaign and the summary, by compare-and-set
    GuardRollout        put our finalizer on the rollout, before anything else is written for it
    ReleaseRollout      take it away again: the rollout was deleted, and nothing of ours is left that is not told

Law of this file: each is written only over what was seen. Tests: tests/core/actions/test_actions.py
"""

from __future__ import annotations

from typing import TypeAlias

from seatrial.core.base.values import dataclass
from seatrial.core.model.seen.rollouts import RolloutRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRolloutRecord:
    """Write the ledger and the summary, if nobody else did since `record.resource_version`."""

    record: RolloutRecord

    @property
    def id(self) -> str:
        return f"{self.record.name}/ledger/{self.record.resource_version}"

    @property
    def subject(self) -> str:
        return rollout_subject(self.record.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardRollout:
    """Put our finalizer on the rollout, if it still is as it was seen."""

    rollout: str
    expect: str

    @property
    def id(self) -> str:
        return f"{self.rollout}/guard@{self.expect}"

    @property
    def subject(self) -> str:
        return guard_subject(self.rollout)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRollout:
    """Take our finalizer from a rollout that was deleted, if it still is as it was seen; what stays is told before."""

    rollout: str
    expect: str
    left: tuple[str, ...] = ()
    """What of the rollout stays in the cluster, one sentence each."""

    @property
    def id(self) -> str:
        return f"{self.rollout}/release@{self.expect}"

    @property
    def subject(self) -> str:
        return guard_subject(self.rollout)


Keeping: TypeAlias = GuardRollout | ReleaseRollout
"""What is done to the rollout itself, so that it does not go unnoticed."""


def rollout_subject(name: str) -> str:
    """The subject of writes to a rollout; a node's name cannot contain a slash, so the two never meet."""
    return f"rollout/{name}"


def guard_subject(name: str) -> str:
    """The subject of our finalizer on a rollout: where it is refused, the ledger is written all the same."""
    return f"{rollout_subject(name)}/guard"
