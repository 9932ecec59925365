"""What we promise of a fleet: the limits, the ledger, units, and how much a pass does.

Law of this file: a promise is about what is decided, whoever decided it.

Tests: tests/core/test_invariants.py, tests/core/test_promises_alone.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from seatrial.core.actions.action import is_disruptive
from seatrial.core.actions.on_nodes import AskCheckpoint, Cordon, EvictPods, NodeAct, RestartPod, WriteNodeRecord
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.budget import capacity, units
from seatrial.core.budget.idle import idle_budget
from seatrial.core.decide import ACTIONS_MAX, Decision
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.rollouts import Admission
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.movers.mover import mover_seen
from seatrial.core.node.phases import is_under_way
from seatrial.core.promises.breach import Breach, breach, closes_again, is_start


def capacity_kept(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """Our disruptions never take more of the fleet, a pool or a domain than the limits allow."""
    nodes = mover_seen(seen).recorded(seen, intent)
    is_back = capacity.is_going_back(seen.rollout)
    kept = capacity.still_admitted(seen.rollout.admitted, nodes, intent)
    budget = capacity.budget_of(nodes, kept, intent, is_back=is_back)
    ahead = {admission.node for admission in kept if admission.is_ahead}
    before = {admission.node for admission in kept} - ahead
    under_way = {name for name, node in nodes.items() if is_under_way(node.record)} - ahead
    for action in decision.actions:
        if isinstance(action, Cordon) and action.node not in ahead:
            yield from _overdrawn(budget, action.node, before | {action.node}, {action.node})
        if not isinstance(action, WriteRolloutRecord):
            continue
        # Who is under way already is not let in but put back; who is closed alone takes nothing but what stands idle.
        new = set(action.record.admitted) - set(seen.rollout.admitted)
        added = {admission.node for admission in new if not admission.is_ahead} - under_way
        if new and budget.idle is not None:
            yield from _idle(seen, intent, nodes, action)
        if not added:
            continue
        if len(budget.failed) > budget.failed_max:
            yield breach("capacity", action.record.name, f"{len(budget.failed)} failed, limit {budget.failed_max}")
        for name, scope in budget.scopes.items():
            inside = {node for node in added if name in budget.around(node)}
            moving = scope.under_way | {node for node in under_way if name in budget.around(node)} | inside
            if inside and len(moving) > scope.parallel_max:
                detail = f"{len(moving)} nodes under way, limit {scope.parallel_max}{_in(name)}"
                yield breach("capacity", action.record.name, detail)
        # A new attempt of a node that the ledger names already takes nothing more from anybody.
        taken = {admission.node for admission in action.record.admitted if not admission.is_ahead}
        yield from _overdrawn(budget, action.record.name, taken, added - before)


def _idle(
    seen: Snapshot, intent: Intent, nodes: Mapping[str, NodeSeen], action: WriteRolloutRecord
) -> Iterator[Breach]:
    """More GPUs that stand idle because of us than may, by what is let in; what jobs' own ends add is given back."""
    budget = idle_budget(nodes, intent.limits)
    if budget is None:
        return
    kept = capacity.still_admitted(seen.rollout.admitted, nodes, intent)
    before, after = (_idles(ledger, nodes, intent) for ledger in (kept, action.record.admitted))
    if after > budget.gpus_max and after > before:
        yield breach("capacity", action.record.name, f"{after} GPUs taken, limit {budget.gpus_max}")


def _idles(ledger: Iterable[Admission], nodes: Mapping[str, NodeSeen], intent: Intent) -> int:
    named = tuple(ledger)
    budget = idle_budget(nodes, intent.limits, [each.node for each in named if each.is_ahead])
    return budget.of(each.node for each in named if not each.is_ahead) if budget is not None else 0


def _overdrawn(budget: capacity.Budget, subject: str, taken: set[str], added: set[str]) -> Iterator[Breach]:
    """Scopes in which those added make too many unavailable."""
    for name, scope in budget.scopes.items():
        new = {node for node in added if name in budget.around(node)} - scope.unavailable
        gone = scope.unavailable | {node for node in taken if name in budget.around(node)}
        if new and len(gone) > scope.unavailable_max:
            yield breach("capacity", subject, f"{len(gone)} unavailable, limit {scope.unavailable_max}{_in(name)}")


def _in(scope: str) -> str:
    return f" in {scope}" if scope else ""


def admitted(seen: Snapshot, _intent: Intent, decision: Decision) -> Iterator[Breach]:
    """No node starts, and no disruptive act happens, without the ledger naming it."""
    ledger = {(each.node, each.attempt): each.is_ahead for each in seen.rollout.admitted}
    for action in decision.actions:
        if not isinstance(action, NodeAct):
            continue
        starts = isinstance(action, WriteNodeRecord) and is_start(seen, action)
        takes = is_disruptive(action) and not closes_again(seen, action)
        if (starts or takes) and (action.node, action.attempt) not in ledger:
            detail = f"{type(action).__name__} of attempt {action.attempt} is not in the ledger"
            yield breach("admitted", action.node, detail)
        elif isinstance(action, EvictPods | AskCheckpoint | RestartPod) and ledger.get((action.node, action.attempt)):
            yield breach("admitted", action.node, f"{type(action).__name__} on a node that is to be closed alone")


def one_act(_seen: Snapshot, _intent: Intent, decision: Decision) -> Iterator[Breach]:
    """At most one act per subject per pass."""
    for subject, count in Counter(action.subject for action in decision.actions).items():
        if count > 1:
            yield breach("one_act", subject, f"{count} acts in one pass")


def bounded(_seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """No more than ACTIONS_MAX acts on nodes a pass."""
    moves = [action for action in decision.actions if not isinstance(action, WriteRolloutRecord)]
    if len(moves) > ACTIONS_MAX:
        yield breach("bounded", intent.rollout, f"{len(moves)} acts in one pass, limit {ACTIONS_MAX}")


def whole(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """Nobody of a unit is let in while another member of it cannot start, but on the way back."""
    if not any(domain.is_unit for domain in intent.domains) or capacity.is_going_back(seen.rollout):
        return
    nodes = mover_seen(seen).recorded(seen, intent)
    unit_of = capacity.budget_of(nodes, (), intent).unit_of
    unfit = units.unfit(nodes, unit_of)
    for action in decision.actions:
        if not isinstance(action, WriteRolloutRecord):
            continue
        for admission in sorted(set(action.record.admitted) - set(seen.rollout.admitted)):
            name, unit = admission.node, unit_of.get(admission.node, "")
            is_new = name in nodes and not is_under_way(nodes[name].record)
            if is_new and unit in unfit:
                yield breach("whole", name, f"let in without {unfit[unit][0]} of {unit}")
