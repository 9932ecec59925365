"""GPUs that may stand idle because of us: those of every node in the ledger, which is emptied sooner or later.

    taken = GPUs of nodes in the ledger                                   GPUs of taken ∪ {node} ≤ gpus_max

Who is cordoned by others stands idle for them. Law of this file: it counts names, each with the GPUs of its node, so
that nobody is counted twice. Tests: tests/core/test_idle.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from seatrial.core.budget.losses import gpu_count
from seatrial.core.model.known import by
from seatrial.core.model.policy import Limits
from seatrial.core.model.seen.nodes import NodeSeen


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleBudget:
    """How many GPUs may stand idle because of us, and how many each node has."""

    gpus_max: int
    gpus_of: Mapping[str, int]

    def of(self, names: Iterable[str]) -> int:
        """The GPUs of these; who is gone has none."""
        return sum(self.gpus_of.get(name, 0) for name in set(names))


def idle_budget(nodes: Mapping[str, NodeSeen], limits: Limits) -> IdleBudget | None:
    """What a rollout allows of it; None where it says nothing. A percentage is one of all its GPUs."""
    if limits.idle_gpus_max is None:
        return None
    gpus_of = {name: count for count, names in by(nodes, gpu_count).items() for name in names}
    return IdleBudget(gpus_max=limits.idle_gpus_max.of(sum(gpus_of.values())), gpus_of=gpus_of)
