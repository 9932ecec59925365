"""The ledger of one pass, opened: who is in it, what it leaves of the budget, and who else is let in.

Law of this file: it puts the parts of this room together and adds no rule. Tests: tests/core/decision/test_decide.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from seatrial.core.actions.on_nodes import WriteNodeRecord
from seatrial.core.base.values import dataclass
from seatrial.core.budget import capacity, losses, order, recall, units
from seatrial.core.budget.attrition import account, booking
from seatrial.core.budget.attrition.terms import Terms
from seatrial.core.budget.capacity import Admitted, Budget
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.known import of_each
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.rollouts import Admission, Cost
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.node import clearing
from seatrial.core.node.writing import Orders, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """What is spent of the budget, by whom, and which units cannot start."""

    nodes: Mapping[str, NodeSeen]
    intent: Intent
    ledger: tuple[Admission, ...]
    budget: Budget
    unfit: Mapping[str, tuple[str, ...]]
    terms: Terms | None = None
    """What attrition goes by; None where nodes are evicted as their turn comes."""

    @property
    def _pages(self) -> booking.Pages | None:
        if self.terms is None:
            return None
        return booking.Pages(nodes=self.nodes, ledger=self.ledger, budget=self.budget, terms=self.terms)

    def orders(self, seen: Snapshot, over: AbstractSet[str] = frozenset()) -> Orders:
        """What every node has to know of the others; `over` are those whose turn is over."""
        recalled = recall.recalled(self.ledger, self.budget) | over
        ahead = capacity.ahead_of(seen.rollout.admitted, self.nodes)
        pages, standing, given_back = self._pages, None, ahead
        if pages is not None:
            view = pages.view()
            standing, given_back = pages.standing(view), pages.given_back(view)
        return Orders(
            intent=self.intent,
            admitted={admission.node: admission.attempt for admission in seen.rollout.admitted},
            recalled=recalled | given_back | units.called_back(self.nodes, self.budget, self.unfit, recalled),
            rebuffs=seen.rebuffs,
            attentive_since=seen.attentive_since,
            ahead=ahead,
            attrition=standing,
            given_back=given_back,
        )

    def cost(self, seen: Snapshot, admitted: Admitted, now: Instant) -> Cost | None:
        """What the rollout has cost by cause when this ledger is written; as it stands where nothing is counted."""
        pages = self._pages
        if pages is None:
            return seen.rollout.cost
        cost = account.cost_of(seen, now)
        if not admitted.taken and not admitted.closed:
            return cost
        view = pages.view(admitted.closed)
        cost = account.with_evicted(cost, admitted.taken, view, self.nodes)
        return account.with_closed(cost, admitted.closed, view, self.nodes)

    def frozen(self, intent: Intent) -> list[Hold]:
        """What nodes cost that stay closed in a pause; nothing where none does."""
        ahead = capacity.ahead_of(self.ledger, self.nodes) if intent.is_paused else frozenset()
        closed = [self.nodes[name] for name in ahead if _is_behind_ours(self.nodes[name])]
        if not closed:
            return []
        gpus = sum(map(losses.idle_gpus, closed))
        return [hold(intent.rollout, HoldCode.CLOSED_IN_PAUSE, nodes=len(closed), gpus=gpus)]

    def admit(self, steps: Mapping[str, Step], marked: AbstractSet[str]) -> Admitted:
        """Let in who wishes to start, in the order of the intent; `marked` are written to now, and ask in the next."""
        wishing = order.ordered((name for name, step in steps.items() if step.wants_admission), self.nodes, self.intent)
        coming = _coming(steps) | marked if self.budget.unit_of else frozenset()
        if self.budget.unit_of:
            coming |= units.not_asking(self.nodes, self.budget, wishing)
        pages = self._pages
        if pages is not None:
            spared = [name for name in wishing if clearing.spares_users(self.nodes[name], self.intent)]
            asking = booking.Asking(wishing, spared, frozenset(coming), self.unfit, _misled(steps))
            return booking.enter(pages, asking, self._wish, self._tell)
        return capacity.admit(wishing, self._wish, self.ledger, self.budget, coming, self.unfit, tell=self._tell)

    def _wish(self, name: str) -> Admission:
        """The admission that a node asks for; one that has failed asks for another than it had."""
        record = self.nodes[name].record
        return Admission(node=name, attempt=(record.attempt if record else 0) + capacity.has_failed(record))

    def _tell(self, told: Hold, names: Sequence[str]) -> list[Hold]:
        return of_each(self.nodes, names, _held, told)

    def new(self, admitted: Admitted) -> list[str]:
        """Who is let in now, and has to wait until the ledger is seen to say so."""
        return sorted(admission.node for admission in set(admitted.ledger) - set(self.ledger))


def opened(
    seen: Snapshot, nodes: Mapping[str, NodeSeen], intent: Intent, *, is_kept: bool, terms: Terms | None = None
) -> Book:
    """The book of this pass; kept as it is, or without those who have ended."""
    ledger = seen.rollout.admitted if is_kept else capacity.still_admitted(seen.rollout.admitted, nodes, intent)
    budget = capacity.budget_of(nodes, ledger, intent, is_back=capacity.is_going_back(seen.rollout))
    unfit = units.unfit(nodes, budget.unit_of)
    return Book(nodes=nodes, intent=intent, ledger=ledger, budget=budget, unfit=unfit, terms=terms)


def _is_behind_ours(node: NodeSeen) -> bool:
    """Whether our cordon is on a node; one that was let in before the pause may still be open."""
    return node.facts.is_cordoned and node.record is not None and node.record.is_cordon_ours


def _coming(steps: Mapping[str, Step]) -> frozenset[str]:
    """Who does not ask to start yet, but is about to: a unit waits for them."""
    return frozenset(
        name
        for name, step in steps.items()
        if (step.hold is not None and step.hold.code in (HoldCode.WRITE_IN_FLIGHT, HoldCode.WRITE_REFUSED))
        or (isinstance(step.action, WriteNodeRecord) and step.action.record.phase is NodePhase.UPGRADE_REQUIRED)
    )


def _misled(steps: Mapping[str, Step]) -> frozenset[str]:
    """The nodes that would get another version than the rollout wants."""
    held = {name: step.hold for name, step in steps.items() if step.hold is not None}
    return frozenset(name for name, each in held.items() if each.code is HoldCode.TARGET_NOT_PUBLISHED)


def _held(node: NodeSeen, told: Hold) -> Hold:
    return Hold(subject=node.facts.name, code=told.code, params=told.params)
