"""What the loop remembers between passes: what was turned down, and since when we have been free to act.

It may be lost at any moment: a restarted controller only tries a blocked eviction once more than it needed to.

Tests: tests/run/test_memory.py
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from seatrial.core.actions import Action, WriteNodeRecord, WriteRolloutRecord, rollout_subject
from seatrial.core.decide import Decision
from seatrial.core.snapshot import Instant, Rebuff, Snapshot
from seatrial.ports import Outcome, Result

STALE_SECONDS_MAX = 5.0
"""How long we wait to see the change that made a write of ours stale, before trying anyway."""


class Memory:
    """The loop's short-term memory."""

    def __init__(self, started_at: Instant) -> None:
        self._attentive_since = started_at
        self._rebuffs: dict[str, Rebuff] = {}
        self._stale: dict[str, tuple[str, Instant]] = {}

    def learn(self, outcomes: Iterable[Outcome], now: Instant) -> None:
        """Take in how acts ended."""
        for outcome in outcomes:
            self._learn(outcome, now)

    def note(self, decision: Decision, now: Instant) -> None:
        """A stopped rollout keeps nobody to a deadline: those count from when we are free to act again."""
        if decision.stop is not None:
            self._attentive_since = now

    def recall(self, seen: Snapshot, in_flight: frozenset[str], now: Instant) -> Snapshot:
        """The snapshot with what we remember laid over it."""
        self._forget_gone(seen, now)
        return replace(
            seen,
            rebuffs=dict(self._rebuffs),
            busy=in_flight | frozenset(self._stale),
            attentive_since=self._attentive_since,
        )

    def _learn(self, outcome: Outcome, now: Instant) -> None:
        subject = outcome.action.subject
        for uid, why in outcome.blocked:
            self._rebuff(uid, "blocked", why, now)
        match outcome.result:
            case Result.DONE:
                self._rebuffs.pop(subject, None)
            case Result.STALE:
                expected = _expected(outcome.action)
                if expected is not None:
                    self._stale[subject] = (expected, now + STALE_SECONDS_MAX)
            case Result.BLOCKED:
                pass  # remembered by pod, above; the node itself is not at fault
            case Result.FAILED:
                self._rebuff(subject, "failed", outcome.detail, now)

    def _rebuff(self, subject: str, code: str, detail: str, now: Instant) -> None:
        before = self._rebuffs.get(subject)
        self._rebuffs[subject] = Rebuff(at=now, count=before.count + 1 if before else 1, code=code, detail=detail)

    def _forget_gone(self, seen: Snapshot, now: Instant) -> None:
        versions = {name: node.facts.resource_version for name, node in seen.nodes.items()}
        versions[rollout_subject(seen.rollout.name)] = seen.rollout.resource_version
        self._stale = {
            subject: (expected, until)
            for subject, (expected, until) in self._stale.items()
            if versions.get(subject) == expected and now < until
        }
        alive = {pod.uid for node in seen.nodes.values() for pod in node.facts.gpu_pods} | set(versions)
        self._rebuffs = {subject: rebuff for subject, rebuff in self._rebuffs.items() if subject in alive}


def _expected(action: Action) -> str | None:
    match action:
        case WriteNodeRecord(expect=expect):
            return expect
        case WriteRolloutRecord(record=record):
            return record.resource_version
        case _:
            return None  # a pod that is gone or replaced shows in the next observation by itself
