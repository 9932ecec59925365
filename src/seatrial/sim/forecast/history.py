"""How long things took last time: durations learned from the acts that a controller wrote to its journal.

    Cordon …/wait-for-jobs-required ─▶ …/pod-deletion-required        jobs finish
    EvictPods …/evict ─▶ …/pod-restart-required                       pods leave
    RestartPod …/restart-driver ─▶ …/validation-required              the driver is replaced and gets ready
    …/validation-required ─▶ …/uncordon-required                      the validator and the rest of the proof
    …/upgrade-failed                                                  an attempt that failed

Only acts that were answered `done` count. A stage seen fewer than SAMPLES_MIN times keeps its default, and says so.

Tests: tests/sim/test_forecast_history.py
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final, NamedTuple

from seatrial.core.base.values import dataclass, replace
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.passes import Entry
from seatrial.sim.forecast.durations import (
    FROM_RELOAD,
    FROM_VALIDATION,
    Behaviours,
    Duration,
    Empirical,
    Seconds,
    lumped,
)

SAMPLES_MIN: Final = 5
SHORTEST_SECONDS: Final = 1.0
"""A node that was not kept waiting by a job or a pod says nothing about how long they take."""


class _Stage(NamedTuple):
    """From which act to which, and which reactions that was."""

    name: str
    begins: str
    ends: NodePhase
    reactions: tuple[str, ...]
    into: str
    """The reaction that is given the whole of it."""
    least: Seconds = 0.0


_STAGES: Final = (
    _Stage(
        "jobs finish",
        NodePhase.WAIT_FOR_JOBS_REQUIRED,
        NodePhase.POD_DELETION_REQUIRED,
        ("job finishes",),
        "job finishes",
        SHORTEST_SECONDS,
    ),
    _Stage("pods leave", "evict", NodePhase.POD_RESTART_REQUIRED, ("pods leave",), "pods leave"),
    _Stage("driver reload", "restart-driver", NodePhase.VALIDATION_REQUIRED, FROM_RELOAD, "driver gets ready"),
    _Stage(
        "validation",
        NodePhase.VALIDATION_REQUIRED,
        NodePhase.UNCORDON_REQUIRED,
        FROM_VALIDATION,
        "validator passes",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What a journal taught."""

    samples: dict[str, tuple[Seconds, ...]]
    """By stage."""
    attempt_count: int
    failure_count: int

    def told(self) -> list[str]:
        """One sentence for each stage and for the failures: learned from how many, or kept as it was."""
        lines = [
            f"{stage.name}: {Empirical(found)}, from {len(found)} in the history"
            if len(found := self.samples.get(stage.name, ())) >= SAMPLES_MIN
            else f"{stage.name}: {len(found)} in the history, fewer than {SAMPLES_MIN}; the default stays"
            for stage in _STAGES
        ]
        few = "" if self.attempt_count >= SAMPLES_MIN else f", fewer than {SAMPLES_MIN}; the default stays"
        return [*lines, f"failures: {self.failure_count} in {self.attempt_count} attempts{few}"]

    def applied_to(self, behaviours: Behaviours) -> Behaviours:
        """The behaviours with what was learned in place of what was assumed."""
        after = behaviours
        for stage in _STAGES:
            found = self.samples.get(stage.name, ())
            if len(found) >= SAMPLES_MIN:
                durations: dict[str, Duration] = lumped(stage.reactions, stage.into, Empirical(found))
                after = after.with_durations(f"learned from {len(found)} in the history", durations)
        if self.attempt_count >= SAMPLES_MIN:
            after = replace(
                after,
                failure_rate=self.failure_count / self.attempt_count,
                sources={**after.sources, "failure rate": f"learned from {self.attempt_count} attempts in the history"},
            )
        return after


def learn(entries: Iterable[Entry]) -> Learned:
    """Learn from the entries of a journal, oldest first."""
    by_attempt: dict[tuple[str, str], dict[str, Instant]] = defaultdict(dict)
    asked: dict[str, Instant] = {}
    for entry in entries:
        act = str(entry.fields.get("id", ""))
        if entry.kind == "act":
            asked[act] = entry.at
        elif entry.kind == "outcome" and entry.fields.get("result") == "done" and act in asked:
            node, what, attempt = _parts(act)
            if attempt:
                # The last eviction is the one that was heard; everything else happens once.
                by_attempt[node, attempt][what] = asked.pop(act)
    samples: dict[str, tuple[Seconds, ...]] = {}
    for stage in _STAGES:
        spans = [
            seen[stage.ends] - seen[stage.begins]
            for seen in by_attempt.values()
            if stage.begins in seen and stage.ends in seen
        ]
        samples[stage.name] = tuple(round(span, 3) for span in spans if span >= stage.least)
    begun = [
        seen for seen in by_attempt.values() if NodePhase.WAIT_FOR_JOBS_REQUIRED in seen or "restart-driver" in seen
    ]
    return Learned(
        samples=samples,
        attempt_count=len(begun),
        failure_count=sum(NodePhase.UPGRADE_FAILED in seen for seen in begun),
    )


def _parts(act: str) -> tuple[str, str, str]:
    """Node, what was done, and for which attempt; an act on the rollout has no attempt here."""
    parts = act.split("/")
    if len(parts) < 3 or parts[1] == "ledger":
        return "", "", ""
    return parts[0], parts[1], parts[2].partition("@")[0]
