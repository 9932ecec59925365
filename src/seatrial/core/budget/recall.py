"""What does not fit any more: the fleet lost nodes, the limits were lowered, or jobs ended, since it was let in.

    recalled    admitted, and nothing taken from anybody yet: the admission is handed back
    surplus     closed for its jobs to end, by attrition, and empty: the node is given back to its users
    in vain     closed, due to be emptied, and behind a limit that nothing under way will free: given back as well

Law of this file: it looks at the budget as it stands, and admits no node. Tests: tests/core/budget/test_capacity.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from seatrial.core.budget.capacity import WHOLE, Budget, Tally, has_failed, taken_in
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.rollouts import Admission


def recalled(ledger: Iterable[Admission], budget: Budget) -> frozenset[str]:
    """Who was admitted but no longer fits: the fleet lost nodes, or the limits were lowered, since.

    Between an admission and its cordon may lie a pause of days, so the budget is looked at once more before the cordon.
    """
    if len(budget.failed) > budget.failed_max:
        return frozenset(admission.node for admission in ledger if admission.is_ahead) | budget.whole.under_way
    admitted = [admission.node for admission in ledger if not admission.is_ahead]
    taken = taken_in(budget, admitted)
    back: set[str] = set()
    if budget.idle is not None and budget.idle.of(admitted) > budget.idle.gpus_max:
        back |= budget.whole.under_way - budget.whole.unavailable
    for name in {WHOLE}.union(*(budget.scopes_of.get(node, ()) for node in admitted)):
        scope = budget.scopes[name]
        if len(scope.under_way) > scope.parallel_max:
            back |= scope.under_way
        elif len(scope.unavailable) + len(taken[name]) > scope.unavailable_max:
            back |= scope.under_way - scope.unavailable
    return frozenset(back)


def surplus(ledger: Iterable[Admission], budget: Budget, nodes: Mapping[str, NodeSeen]) -> frozenset[str]:
    """Closed nodes that are empty and above a limit on nodes, because several jobs ended at once or others were lost.

    Nodes whose cordon is not seen yet go back first; of the rest the first ones by name stay, for they are upgraded
    next. A node that would be unavailable all the same makes no room.
    """
    empty = {name for name in budget.ahead - budget.busy if _takes_work(nodes[name])}
    taken = taken_in(budget, [admission.node for admission in ledger])
    line = sorted(empty, key=lambda name: (not nodes[name].facts.is_cordoned, name), reverse=True)
    back: set[str] = set()
    for scope in (*sorted({scope for name in empty for scope in budget.scopes_of.get(name, ())}), WHOLE):
        inside = [name for name in line if scope in budget.around(name)]
        found = budget.scopes[scope]
        over = len(found.unavailable) + len(taken[scope]) - found.unavailable_max - len(back.intersection(inside))
        back.update([name for name in inside if name not in back][: max(0, over)])
    return frozenset(back)


def lasting(
    ledger: Iterable[Admission],
    budget: Budget,
    nodes: Mapping[str, NodeSeen],
    closed: AbstractSet[str] = frozenset(),
) -> Tally:
    """What stays spent when all that is under way is through and only these are closed ahead: failures, what others
    took, nodes of ours among it that they cordoned, and what stands idle on these."""
    moving, failed = _moving_and_failed(ledger, nodes)
    coming_back = {name for name in moving if name not in nodes or not _is_theirs(nodes[name])}
    coming_back |= {name for name in budget.ahead - closed if _takes_work(nodes[name])}
    scopes = {
        name: replace(scope, unavailable=scope.unavailable - coming_back, under_way=frozenset())
        for name, scope in budget.scopes.items()
    }
    idle_of = {name: gpus for name, gpus in budget.idle.idle_of.items() if name in closed} if budget.idle else {}
    idle = replace(budget.idle, idle_of=idle_of) if budget.idle is not None else None
    return Tally(replace(budget, scopes=scopes, idle=idle), failed | closed)


def in_vain(
    rows: Sequence[Sequence[str]],
    kept: AbstractSet[str],
    ledger: Sequence[Admission],
    budget: Budget,
    nodes: Mapping[str, NodeSeen],
) -> frozenset[str]:
    """Closed nodes that cannot be emptied, of rows that go together and are due, the next one first.

    A row that has no room even by itself waits for somebody to act. And where each has room by itself but none beside
    what is empty or idle of the others, nothing would ever move: the first that is not `kept` goes, the others stay
    closed as far as they leave it room.
    """
    spent = lasting(ledger, budget, nodes)
    back = frozenset(name for row in rows if spent.why_not(row) is not None for name in row)
    moving, _ = _moving_and_failed(ledger, nodes)
    now = Tally(budget, (each.node for each in ledger))
    due = [row for row in rows if not kept & set(row)]
    if back or moving or not due or any(now.why_not(row) is None for row in due):
        return back
    staying: AbstractSet[str] = frozenset()
    for row in (each for each in rows if each is not due[0]):
        more = staying | (budget.ahead & set(row))
        if lasting(ledger, budget, nodes, more).why_not(due[0]) is None:
            staying = more
        else:
            back |= frozenset(row)
    return back


def _moving_and_failed(
    ledger: Iterable[Admission], nodes: Mapping[str, NodeSeen]
) -> tuple[frozenset[str], frozenset[str]]:
    """The nodes that were taken: those that will be back by themselves, and those that were given up."""
    taken = frozenset(each.node for each in ledger if not each.is_ahead)
    failed = frozenset(name for name in taken & nodes.keys() if has_failed(nodes[name].record))
    return taken - failed, failed


def _takes_work(node: NodeSeen) -> bool:
    """Whether a node that is given back takes work again: nothing but our own cordon keeps it from that."""
    return node.facts.is_ready and not _is_theirs(node)


def _is_theirs(node: NodeSeen) -> bool:
    """Whether a cordon of others is on the node, which we do not lift."""
    return node.facts.is_cordoned and not (node.record is not None and node.record.is_cordon_ours)
