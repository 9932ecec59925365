"""How much of the fleet may be touched at once: the budget, the ledger, and `admit`.

Budgets are sets of names, never sums of counts, so that a node which is both cordoned and admitted is counted once. The
ledger (RolloutRecord.admitted) is the truth about who may be disrupted: a node starts only when its name is *seen* there,
and the ledger changes by compare-and-set only. A view may be old; a ledger write made from an old view is refused.

    taken = nodes seen unavailable ∪ nodes in the ledger          |taken ∪ {node}| ≤ unavailable_max
    under way = nodes in the ledger                               |under way| < parallel_max

Tests: tests/core/test_capacity.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from seatrial.core import node as node_machine
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.intent import Limits
from seatrial.core.snapshot import Admission, NodePhase, NodeSeen


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What may be spent, and what is spent before anybody new is admitted."""

    parallel_max: int
    unavailable_max: int
    failed_max: int
    unavailable: frozenset[str]
    failed: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """The ledger as it should be, and why the others wait."""

    ledger: tuple[Admission, ...]
    holds: tuple[Hold, ...]


def budget_of(nodes: Mapping[str, NodeSeen], limits: Limits) -> Budget:
    """The budget of this fleet, as seen."""
    return Budget(
        # 0 means no limit of its own, and a fleet cannot have more nodes under way than it has nodes.
        parallel_max=limits.parallel_max or len(nodes),
        unavailable_max=limits.unavailable_max.of(len(nodes)),
        failed_max=limits.failed_max,
        unavailable=frozenset(name for name, node in nodes.items() if node.facts.is_unavailable),
        failed=tuple(
            sorted(
                name
                for name, node in nodes.items()
                if node.record is not None and node.record.phase is NodePhase.UPGRADE_FAILED
            )
        ),
    )


def admit(candidates: Iterable[Admission], ledger: Iterable[Admission], budget: Budget) -> Admitted:
    """Let candidates in, in order of name, while every limit holds."""
    admitted = list(ledger)
    under_way = {admission.node for admission in admitted}
    taken = set(budget.unavailable) | under_way
    holds = []
    for candidate in sorted(candidates):
        why_not = _why_not(candidate.node, under_way, taken, budget)
        if why_not is not None:
            holds.append(why_not)
            continue
        admitted.append(candidate)
        under_way.add(candidate.node)
        taken.add(candidate.node)
    return Admitted(ledger=tuple(sorted(admitted)), holds=tuple(holds))


def _why_not(name: str, under_way: set[str], taken: set[str], budget: Budget) -> Hold | None:
    if len(budget.failed) > budget.failed_max:
        return hold(
            name,
            HoldCode.FAILURE_BUDGET,
            failed=len(budget.failed),
            limit=budget.failed_max,
            nodes=_some(budget.failed),
        )
    if len(under_way) >= budget.parallel_max:
        return hold(name, HoldCode.PARALLEL_LIMIT, limit=budget.parallel_max, nodes=_some(under_way))
    # A node that is unavailable already costs nothing more, so it may be worked on even at the limit.
    if name not in taken and len(taken) >= budget.unavailable_max:
        return hold(
            name, HoldCode.UNAVAILABLE_LIMIT, limit=budget.unavailable_max, taken=len(taken), nodes=_some(taken)
        )
    return None


def still_admitted(ledger: Iterable[Admission], nodes: Mapping[str, NodeSeen]) -> tuple[Admission, ...]:
    """The ledger without those who are through: ended, on a later attempt, or gone from the cluster.

    What releases an admission is evidence that cannot become untrue: a record of the same or a later attempt. An old view
    shows an older record, never a newer one, so it can only keep a node in the ledger too long.
    """
    return tuple(admission for admission in ledger if _is_under_way(admission, nodes.get(admission.node)))


def _is_under_way(admission: Admission, node: NodeSeen | None) -> bool:
    if node is None:
        return False
    if node.record is None or node.record.attempt < admission.attempt:
        return True
    return node.record.attempt == admission.attempt and node.record.phase not in node_machine.ENDED


def _some(names: Iterable[str], limit: int = 4) -> str:
    ordered = sorted(names)
    rest = len(ordered) - limit
    return ", ".join(ordered[:limit]) + (f" and {rest} more" if rest > 0 else "")
