"""GPUs that may stand idle because of us: behind our cordons, and of nodes that are emptied or reload.

    taken   = GPUs of nodes in the ledger, which are emptied at once, or sooner or later
    closed  = of nodes that are closed alone, by attrition, the GPUs that nobody holds
                                                                              GPUs of taken and closed ≤ gpus_max

Who is cordoned by others stands idle for them. Law of this file: it counts names, each with the GPUs of its node, so
that no node is counted twice. Tests: tests/core/budget/test_idle.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from seatrial.core.base.values import dataclass, field
from seatrial.core.budget.losses import gpu_count, idle_gpus
from seatrial.core.model.known import by
from seatrial.core.model.policy import Limits
from seatrial.core.model.seen.nodes import NodeSeen


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleBudget:
    """How many GPUs may stand idle because of us, and how many each node has."""

    gpus_max: int
    gpus_of: Mapping[str, int]
    idle_of: Mapping[str, int] = field(default_factory=dict)
    """Of nodes that are closed alone: GPUs that nobody holds."""

    def of(self, names: Iterable[str]) -> int:
        """The GPUs of these, and what stands idle on nodes that are closed alone; who is gone has none."""
        taken = set(names)
        closed = sum(count for name, count in self.idle_of.items() if name not in taken)
        return closed + sum(self.gpus_of.get(name, 0) for name in taken)

    def added_by(self, names: Iterable[str]) -> int:
        """The GPUs that stand idle once these are taken, and do not yet."""
        return sum(self.gpus_of.get(name, 0) - self.idle_of.get(name, 0) for name in set(names))

    def gpus(self, names: Iterable[str]) -> int:
        """The GPUs of these."""
        return sum(self.gpus_of.get(name, 0) for name in set(names))


def idle_budget(nodes: Mapping[str, NodeSeen], limits: Limits, ahead: Iterable[str] = ()) -> IdleBudget | None:
    """What a rollout allows of it; None where it says nothing. A percentage is one of all its GPUs."""
    if limits.idle_gpus_max is None:
        return None
    gpus_of = {name: count for count, names in by(nodes, gpu_count).items() for name in names}
    idle_of = {name: idle_gpus(nodes[name]) for name in ahead if name in nodes}
    return IdleBudget(gpus_max=limits.idle_gpus_max.of(sum(gpus_of.values())), gpus_of=gpus_of, idle_of=idle_of)
