"""The work of a cluster beside what runs: how long jobs ran that have ended, who waits for GPUs, who may be disturbed.

    finished    by line (whose jobs are alike), the latest of them; and by namespace, for lines that few tell of
    waiting     pods that the scheduler found no node for, by the GPUs that each of them asks for
    budgets     PodDisruptionBudgets, and how many disruptions each of them allows now

Law of this file: ends and waits are bounded, whatever the cluster does; an end is noted once, when it is first seen,
and outlives its pod. Nothing is promised by any: an eviction is refused by the API server, not here.
Tests: tests/core/model/test_work.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from seatrial.core.base.values import dataclass, field
from seatrial.core.model.selectors import Selector

ENDS_MAX: Final = 30
"""So many ends of a line are kept, the latest."""
LINES_MAX: Final = 500
"""So many lines are kept, those that ended something last."""
ENDS_FEW: Final = 5
"""With fewer a line says too little, and its namespace is asked."""


class Ended(NamedTuple):
    """A pod that has finished its work."""

    line: str
    seconds: float
    """For how long it ran."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodBudget:
    """A PodDisruptionBudget: the pods that it is over, and how many of them may be disrupted now."""

    namespace: str
    name: str
    selector: Selector
    allowed: int

    @property
    def full_name(self) -> str:
        return f"{self.namespace}/{self.name}"

    def covers(self, namespace: str, labels: Iterable[tuple[str, str]]) -> bool:
        """Whether a pod with these labels is one of those that it is over."""
        return namespace == self.namespace and self.selector.matches(dict(labels))


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkSeen:
    """What has ended, what waits, and what may be disturbed."""

    finished: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """By line, and by namespace with a slash behind it: how long the latest ran, in seconds, in the order of their
    ends. Who ended something last comes last."""
    waiting: tuple[tuple[int, int], ...] = ()
    """GPUs that a pod asks for, and how many such pods wait; the smallest first."""
    budgets: tuple[PodBudget, ...] = ()
    """By namespace and name; none where nobody takes nodes by attrition."""

    @property
    def smallest_waiting(self) -> int:
        """GPUs of the smallest pod that waits; 0 where none does."""
        return self.waiting[0][0] if self.waiting else 0

    def ran(self, line: str) -> tuple[float, ...]:
        """How long finished jobs like those of a line ran, the shortest first; none where nobody knows."""
        own = self.finished.get(line, ())
        found = own if len(own) >= ENDS_FEW else self.finished.get(_namespace(line), ())
        return tuple(sorted(found))

    def fits(self, idle_gpus: int) -> bool:
        """Whether somebody waits who would fit on a node with so many GPUs to spare."""
        return 0 < self.smallest_waiting <= idle_gpus


def noted(finished: Mapping[str, tuple[float, ...]], ends: Iterable[Ended]) -> dict[str, tuple[float, ...]]:
    """What is known of finished jobs after these ends as well."""
    known = dict(finished)
    for end in ends:
        for key in (end.line, _namespace(end.line)):
            known[key] = (*known.pop(key, ()), end.seconds)[-ENDS_MAX:]
    return dict(list(known.items())[-LINES_MAX:])


def counted(asked: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Who waits, from the GPUs that each pod asks for."""
    counts: dict[int, int] = {}
    for gpus in asked:
        counts[gpus] = counts.get(gpus, 0) + 1
    return tuple(sorted(counts.items()))


def _namespace(line: str) -> str:
    return line.partition("/")[0] + "/"
