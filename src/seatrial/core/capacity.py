"""How much of the fleet may be touched at once: the budget, the ledger, and `admit`.

Budgets are sets of names, never sums of counts, so that a node which is both cordoned and admitted is counted once.
The ledger (RolloutRecord.admitted) is the truth about who may be disrupted: a node starts only when its name is *seen*
there, and the ledger changes by compare-and-set only. A view may be old; a write made from an old view is refused.

    taken = nodes seen unavailable ∪ nodes in the ledger                  |taken ∪ {node}| ≤ unavailable_max
    under way = nodes in the ledger whose attempt has not ended           |under way| < parallel_max

The same holds in every scope a node is in: the rollout, the pool of its NVIDIADriver, its rack or NVLink clique. A unit
(a clique that must not run two drivers) is let in as a whole or not at all.

A node stays in the ledger as long as our cordon is on it: a failed node is not under way, but it is gone for its users,
and whoever has not seen its failure yet must count it too. A node whose record says that it is under way is put back
into a ledger that lost it, whatever the limits say.

Tests: tests/core/test_capacity.py
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from seatrial.core import phases
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.intent import Intent
from seatrial.core.policy import Limits
from seatrial.core.snapshot import Admission, NodeFacts, NodePhase, NodeRecord, NodeSeen


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A set of nodes with limits of its own."""

    name: str
    """For people, such as `rack r12`; empty for the rollout itself."""
    parallel_max: int
    unavailable_max: int
    unavailable: frozenset[str]
    under_way: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What may be spent, and what is spent before anybody new is admitted."""

    failed_max: int
    failed: tuple[str, ...]
    scopes: Mapping[str, Scope]
    scopes_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The scopes a node is in besides the rollout's own."""
    unit_of: Mapping[str, str] = field(default_factory=dict)
    """The unit a node is upgraded with, where it is in one."""

    @property
    def whole(self) -> Scope:
        """The rollout's own scope."""
        return self.scopes[WHOLE]

    def around(self, name: str) -> tuple[str, ...]:
        """Every scope a node is in."""
        return (WHOLE, *self.scopes_of.get(name, ()))


WHOLE = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """The ledger as it should be, and why the others wait."""

    ledger: tuple[Admission, ...]
    holds: tuple[Hold, ...]


def budget_of(nodes: Mapping[str, NodeSeen], ledger: Iterable[Admission], intent: Intent) -> Budget:
    """The budget of this fleet, as seen."""
    unavailable = frozenset(name for name, node in nodes.items() if node.facts.is_unavailable)
    moving = under_way(ledger, nodes)
    members, limits, units = _scopes(nodes, intent)
    scopes = {WHOLE: _scope(WHOLE, intent.limits, len(nodes), unavailable, moving)}
    scopes_of: dict[str, list[str]] = defaultdict(list)
    for name, inside in members.items():
        scopes[name] = _scope(name, limits[name], len(inside), unavailable & inside, moving & inside)
        for node in inside:
            scopes_of[node].append(name)
    return Budget(
        failed_max=intent.failed_max,
        failed=tuple(
            sorted(
                name
                for name, node in nodes.items()
                if node.record is not None and node.record.phase is NodePhase.UPGRADE_FAILED
            )
        ),
        scopes=scopes,
        scopes_of={node: tuple(names) for node, names in scopes_of.items()},
        unit_of=units,
    )


def _scope(name: str, limits: Limits, total: int, unavailable: frozenset[str], moving: frozenset[str]) -> Scope:
    return Scope(
        name=name,
        # 0 means no limit of its own, and a set cannot have more nodes under way than it has nodes.
        parallel_max=limits.parallel_max or total,
        unavailable_max=limits.unavailable_max.of(total),
        unavailable=unavailable,
        under_way=moving,
    )


def _scopes(
    nodes: Mapping[str, NodeSeen], intent: Intent
) -> tuple[dict[str, set[str]], dict[str, Limits], dict[str, str]]:
    """Who is in which scope, with which limits, and who is in which unit."""
    members: dict[str, set[str]] = defaultdict(set)
    limits: dict[str, Limits] = {}
    units: dict[str, str] = {}
    if not intent.pools and not intent.domains:
        return members, limits, units
    for name, node in nodes.items():
        owner = node.facts.owner
        if owner in intent.pools:
            members[f"NVIDIADriver {owner}"].add(name)
            limits[f"NVIDIADriver {owner}"] = intent.pools[owner].limits
        for domain in intent.domains:
            scope = domain_of(node.facts, domain.label)
            if not scope:
                continue
            if domain.is_unit:
                units[name] = scope
            if domain.unavailable_max is not None:
                members[scope].add(name)
                limits[scope] = Limits(parallel_max=0, unavailable_max=domain.unavailable_max)
    return members, limits, units


def domain_of(facts: NodeFacts, label: str) -> str:
    """The domain of a node, for people: the last word of its label and the value; empty when it has none."""
    value = facts.labels.get(label, "")
    return f"{label.rpartition('/')[2]} {value}" if value else ""


# ── letting in ───────────────────────────────────────────────────────────────────────────────────────────────────────


def admit(
    candidates: Sequence[Admission],
    ledger: Iterable[Admission],
    budget: Budget,
    coming: frozenset[str] = frozenset(),
) -> Admitted:
    """Let candidates in, in the order given, while every limit holds; `coming` are about to ask for it, too.

    Why the others wait is told as things stand when everybody who fits is in: so all who wait for one limit are told
    the same.
    """
    admitted = {admission.node: admission for admission in ledger}
    tally = _Tally(budget, admitted)
    late: dict[str, list[str]] = defaultdict(list)
    for name in sorted(coming & budget.unit_of.keys()):
        late[budget.unit_of[name]].append(name)
    left: list[tuple[list[str], list[str] | None]] = []
    for group in _groups(candidates, budget):
        names = [candidate.node for candidate in group]
        missing = late.get(budget.unit_of.get(names[0], ""))
        if missing or tally.why_not(names) is not None:
            left.append((names, missing))
            continue
        tally.add(names)
        admitted |= {candidate.node: candidate for candidate in group}
    holds = []
    for names, missing in left:
        why_not = _unit_incomplete(missing) if missing else tally.why_not(names)
        holds += [hold(name, *why_not) for name in names if why_not is not None]
    return Admitted(ledger=tuple(sorted(admitted.values())), holds=tuple(holds))


def _unit_incomplete(late: list[str]) -> tuple[HoldCode, dict[str, object]]:
    return HoldCode.UNIT_INCOMPLETE, {"nodes": _some(tuple(late))}


def _groups(candidates: Iterable[Admission], budget: Budget) -> Iterable[list[Admission]]:
    """One by one, or a unit at once, where its first member stands in the order."""
    groups: dict[str, list[Admission]] = {}
    for candidate in candidates:
        # A node's name has no space and a unit's has one, so the two never meet.
        groups.setdefault(budget.unit_of.get(candidate.node, candidate.node), []).append(candidate)
    return groups.values()


class _Tally:
    """What is spent in each scope while candidates are let in, one after the other."""

    def __init__(self, budget: Budget, admitted: Iterable[str]) -> None:
        self._budget = budget
        self._moving = {name: set(scope.under_way) for name, scope in budget.scopes.items()}
        self._taken = {name: set(scope.unavailable) for name, scope in budget.scopes.items()}
        for node in admitted:
            for scope in budget.around(node):
                self._taken[scope].add(node)

    def add(self, names: Iterable[str]) -> None:
        for node in names:
            for scope in self._budget.around(node):
                self._moving[scope].add(node)
                self._taken[scope].add(node)

    def why_not(self, names: list[str]) -> tuple[HoldCode, dict[str, object]] | None:
        """The first limit that these together would break; None when none."""
        budget = self._budget
        if len(budget.failed) > budget.failed_max:
            params = {"failed": len(budget.failed), "limit": budget.failed_max, "nodes": _some(budget.failed)}
            return HoldCode.FAILURE_BUDGET, params
        scopes = dict.fromkeys(scope for node in names for scope in budget.around(node))
        return next((why for scope in scopes if (why := self._why_not_in(scope, names)) is not None), None)

    def _why_not_in(self, name: str, names: list[str]) -> tuple[HoldCode, dict[str, object]] | None:
        scope, moving, taken = self._budget.scopes[name], self._moving[name], self._taken[name]
        inside = [node for node in names if name in self._budget.around(node)]
        where = {"scope": name} if name else {}
        # A node that is unavailable already costs nothing more, so it may be worked on even at the limit.
        new = [node for node in inside if node not in taken]
        if len(inside) > 1 and (len(inside) > scope.parallel_max or len(new) > scope.unavailable_max):
            limit = min(scope.parallel_max, scope.unavailable_max)
            return HoldCode.UNIT_TOO_LARGE, where | {"size": len(inside), "limit": limit}
        if len(moving) + len(inside) > scope.parallel_max:
            return HoldCode.PARALLEL_LIMIT, where | {"limit": scope.parallel_max, "nodes": _some(frozenset(moving))}
        if new and len(taken) + len(new) > scope.unavailable_max:
            params = {"limit": scope.unavailable_max, "taken": len(taken), "nodes": _some(frozenset(taken))}
            return HoldCode.UNAVAILABLE_LIMIT, where | params
        return None


def recalled(ledger: Iterable[Admission], budget: Budget) -> frozenset[str]:
    """Who was admitted but no longer fits: the fleet lost nodes, or the limits were lowered, since.

    Between an admission and its cordon may lie a pause of days, so the budget is looked at once more before the cordon.
    """
    if len(budget.failed) > budget.failed_max:
        return budget.whole.under_way
    admitted = [admission.node for admission in ledger]
    back: set[str] = set()
    for name, scope in budget.scopes.items():
        taken = scope.unavailable | {node for node in admitted if name in budget.around(node)}
        if len(scope.under_way) > scope.parallel_max:
            back |= scope.under_way
        elif len(taken) > scope.unavailable_max:
            back |= scope.under_way - scope.unavailable
    return frozenset(back)


def under_way(ledger: Iterable[Admission], nodes: Mapping[str, NodeSeen]) -> frozenset[str]:
    """Who in the ledger may be at work, or about to be: everybody not seen to have ended the attempt."""
    return frozenset(
        admission.node
        for admission in ledger
        if admission.node not in nodes or not _has_ended(admission, nodes[admission.node].record)
    )


def still_admitted(ledger: Iterable[Admission], nodes: Mapping[str, NodeSeen], intent: Intent) -> tuple[Admission, ...]:
    """The ledger without those who are gone or through and free of our cordon, and with all who are under way.

    What releases an admission is evidence that cannot become untrue: a record of the same or a later attempt. An old
    view shows an older record, never a newer one, so it can only keep a node in the ledger too long.
    """
    held = {admission.node: admission for admission in ledger if _is_held(admission, nodes.get(admission.node), intent)}
    for name, node in nodes.items():
        if node.record is not None and phases.is_under_way(node.record):
            held[name] = Admission(node=name, attempt=node.record.attempt)
    return tuple(sorted(held.values()))


def _is_held(admission: Admission, node: NodeSeen | None, intent: Intent) -> bool:
    if node is None:
        return False
    is_cordon_ours = node.record is not None and node.record.is_cordon_ours
    return is_cordon_ours or _is_emptied_for_us(node, intent) or not _has_ended(admission, node.record)


def _is_emptied_for_us(node: NodeSeen, intent: Intent) -> bool:
    """Whether a maintenance operator keeps the node cordoned in our name."""
    found = node.facts.maintenance
    return found is not None and intent.requestor is not None and found.is_wanted_by(intent.requestor.id)


def _has_ended(admission: Admission, record: NodeRecord | None) -> bool:
    if record is None or record.attempt < admission.attempt:
        return False
    return record.attempt > admission.attempt or record.phase in phases.ENDED


@lru_cache(maxsize=8)  # thousands wait for the same few: the same set is named again and again
def _some(names: frozenset[str] | tuple[str, ...], limit: int = 4) -> str:
    ordered = sorted(names)
    rest = len(ordered) - limit
    return (", ".join(ordered[:limit]) or "none") + (f" and {rest} more" if rest > 0 else "")
