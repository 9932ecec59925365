"""How much of the fleet may be touched at once: the budget, the ledger, and `admit`.

Budgets are sets of names, never sums of counts, so that a node which is both cordoned and admitted is counted once.
The ledger (RolloutRecord.admitted) is the truth about who may be disrupted: a node starts only when its name is *seen*
there, and the ledger changes by compare-and-set only. A view may be old; a write made from an old view is refused.

    taken = nodes seen unavailable ∪ nodes in the ledger                  |taken ∪ {node}| ≤ unavailable_max
    under way = nodes in the ledger whose attempt has not ended           |under way| < parallel_max

A node stays in the ledger as long as our cordon is on it: a failed node is not under way, but it is gone for its users,
and whoever has not seen its failure yet must count it too. A node whose record says that it is under way is put back
into a ledger that lost it, whatever the limits say.

Tests: tests/core/test_capacity.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from seatrial.core import node as node_machine
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.intent import Limits
from seatrial.core.snapshot import Admission, NodePhase, NodeRecord, NodeSeen


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What may be spent, and what is spent before anybody new is admitted."""

    parallel_max: int
    unavailable_max: int
    failed_max: int
    unavailable: frozenset[str]
    under_way: frozenset[str]
    failed: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """The ledger as it should be, and why the others wait."""

    ledger: tuple[Admission, ...]
    holds: tuple[Hold, ...]


def budget_of(nodes: Mapping[str, NodeSeen], ledger: Iterable[Admission], limits: Limits) -> Budget:
    """The budget of this fleet, as seen."""
    return Budget(
        # 0 means no limit of its own, and a fleet cannot have more nodes under way than it has nodes.
        parallel_max=limits.parallel_max or len(nodes),
        unavailable_max=limits.unavailable_max.of(len(nodes)),
        failed_max=limits.failed_max,
        unavailable=frozenset(name for name, node in nodes.items() if node.facts.is_unavailable),
        under_way=under_way(ledger, nodes),
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
    admitted = {admission.node: admission for admission in ledger}
    moving = budget.under_way
    taken = budget.unavailable | set(admitted)
    holds = []
    for candidate in sorted(candidates):
        why_not = _why_not(candidate.node, moving, taken, budget)
        if why_not is not None:
            holds.append(why_not)
            continue
        admitted[candidate.node] = candidate
        moving |= {candidate.node}
        taken |= {candidate.node}
    return Admitted(ledger=tuple(sorted(admitted.values())), holds=tuple(holds))


def _why_not(name: str, moving: frozenset[str], taken: frozenset[str], budget: Budget) -> Hold | None:
    if len(budget.failed) > budget.failed_max:
        return hold(
            name,
            HoldCode.FAILURE_BUDGET,
            failed=len(budget.failed),
            limit=budget.failed_max,
            nodes=_some(budget.failed),
        )
    if len(moving) >= budget.parallel_max:
        return hold(name, HoldCode.PARALLEL_LIMIT, limit=budget.parallel_max, nodes=_some(moving))
    # A node that is unavailable already costs nothing more, so it may be worked on even at the limit.
    if name not in taken and len(taken) >= budget.unavailable_max:
        return hold(
            name, HoldCode.UNAVAILABLE_LIMIT, limit=budget.unavailable_max, taken=len(taken), nodes=_some(taken)
        )
    return None


def recalled(ledger: Iterable[Admission], budget: Budget) -> frozenset[str]:
    """Who was admitted but no longer fits: the fleet lost nodes, or the limits were lowered, since.

    Between an admission and its cordon may lie a pause of days, so the budget is looked at once more before the cordon.
    """
    if len(budget.failed) > budget.failed_max or len(budget.under_way) > budget.parallel_max:
        return budget.under_way
    taken = budget.unavailable | {admission.node for admission in ledger}
    return budget.under_way - budget.unavailable if len(taken) > budget.unavailable_max else frozenset()


def under_way(ledger: Iterable[Admission], nodes: Mapping[str, NodeSeen]) -> frozenset[str]:
    """Who in the ledger may be at work, or about to be: everybody not seen to have ended the attempt."""
    return frozenset(
        admission.node
        for admission in ledger
        if admission.node not in nodes or not _has_ended(admission, nodes[admission.node].record)
    )


def still_admitted(ledger: Iterable[Admission], nodes: Mapping[str, NodeSeen]) -> tuple[Admission, ...]:
    """The ledger without those who are gone or through and free of our cordon, and with all who are under way.

    What releases an admission is evidence that cannot become untrue: a record of the same or a later attempt. An old
    view shows an older record, never a newer one, so it can only keep a node in the ledger too long.
    """
    held = {admission.node: admission for admission in ledger if _is_held(admission, nodes.get(admission.node))}
    for name, node in nodes.items():
        if node.record is not None and node_machine.is_under_way(node.record):
            held[name] = Admission(node=name, attempt=node.record.attempt)
    return tuple(sorted(held.values()))


def _is_held(admission: Admission, node: NodeSeen | None) -> bool:
    if node is None:
        return False
    is_cordon_ours = node.record is not None and node.record.is_cordon_ours
    return is_cordon_ours or not _has_ended(admission, node.record)


def _has_ended(admission: Admission, record: NodeRecord | None) -> bool:
    if record is None or record.attempt < admission.attempt:
        return False
    return record.attempt > admission.attempt or record.phase in node_machine.ENDED


@lru_cache(maxsize=8)  # thousands wait for the same few: the same set is named again and again
def _some(names: frozenset[str] | tuple[str, ...], limit: int = 4) -> str:
    ordered = sorted(names)
    rest = len(ordered) - limit
    return (", ".join(ordered[:limit]) or "none") + (f" and {rest} more" if rest > 0 else "")
