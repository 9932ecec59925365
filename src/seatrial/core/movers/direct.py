"""We move the nodes ourselves: our own machine takes each step (core/node), by records of our own.

Law of this file: done is what our record says and the facts agree with. Before anybody is chosen (Unchosen), who is
under way for an earlier rollout goes on all the same. Tests: tests/core/movers/test_movers.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import ClassVar, Final

from seatrial.core.actions.of_campaigns import CampaignAct
from seatrial.core.budget import capacity, units
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model.campaign import CampaignRecord, Mode, RolloutPhase, Switch, Via
from seatrial.core.model.intent import Intent
from seatrial.core.model.known import by
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeSeen
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.movers import driver_manager, prepulling, publishing
from seatrial.core.movers.drivers import Drivers
from seatrial.core.movers.view import Need, Outcome, Start, View
from seatrial.core.node import closing, progress, step
from seatrial.core.node.phases import is_under_way, phase_of
from seatrial.core.node.progress import Progress, is_out_of_reach
from seatrial.core.node.writing import Orders, Step, has_returned, is_let_in

_PROVEN: Final = (NodePhase.UNCORDON_REQUIRED, NodePhase.UPGRADE_DONE)
"""Where a canary stands whose driver is proven: still closed, or open."""


class Direct(Drivers):
    """Nodes are cordoned, emptied, restarted and proven by us."""

    mode: ClassVar[Mode | None] = Mode.DIRECT
    who: ClassVar[str] = "seatrial"
    who_moves: ClassVar[str] = "seatrial moves the nodes"
    counts_losses: ClassVar[bool] = True
    closes: ClassVar[bool] = True

    def switches(self, view: View) -> tuple[Switch, ...]:
        return publishing.switches_before(view) if view.campaign.publish is not Via.NOBODY else ()

    def in_the_way(self, view: View) -> tuple[Hold, ...]:
        if view.campaign.publish is not Via.NOBODY:
            return ()
        return driver_manager.told_loud(view.operator, view.nodes, view.name)

    # who may start

    def why_contradicted(self, rollout: str, operator: OperatorFacts, other: str, *, is_free: bool) -> Hold | None:
        return hold(rollout, HoldCode.MODE_CONTRADICTION, owner=other) if other else None

    def half_done(self, view: View) -> list[str]:
        return sorted(
            name
            for name, node in view.nodes.items()
            if is_under_way(node.record) and not is_out_of_reach(node, self.progress(node, view.target))
        )

    def kept_out(self, view: View, open_: AbstractSet[str]) -> set[str]:
        return set()

    def start(self, view: View, names: frozenset[str]) -> Start:
        return prepulling.bring(view, names)

    # how far a node is

    def progress(self, node: NodeSeen, version: str) -> Progress:
        return progress.by_our_record(node, version)

    def phases(self, nodes: Mapping[str, NodeSeen]) -> Mapping[NodePhase | None, AbstractSet[str]]:
        return by(nodes, phase_of)

    def standings(self, nodes: Mapping[str, NodeSeen], version: str) -> Mapping[Progress, AbstractSet[str]]:
        return by(nodes, progress.by_our_record, version)

    def recorded(self, seen: Snapshot, intent: Intent) -> Mapping[str, NodeSeen]:
        return seen.nodes

    def failed(self, view: View, names: Iterable[str]) -> list[str]:
        # Our records know towards which version a node failed.
        known = capacity.failed_of(view.nodes, view.intent)
        return [name for name in super().failed(view, names) if name in known]

    def unfit(self, view: View, unit_of: Mapping[str, str]) -> set[str]:
        return set(units.unfit(view.nodes, unit_of))

    def why_unclear(self, node: NodeSeen) -> Hold | None:
        return step.why_unclear(node)

    # a node, in one pass

    def may_step(self, node: NodeSeen, *, is_open: bool) -> bool:
        # Who has failed may be tried again by whoever says so; it gets no further than to ask for its turn.
        return is_open or is_under_way(node.record) or capacity.has_failed(node.record) or closing.is_opened(node)

    def hands_back(self, node: NodeSeen, orders: Orders) -> bool:
        # In any phase, since other nodes wait for the place: a node that came back without its record, one that is
        # called back before it has begun, and one that is in the ledger for a cordon of ours that was lifted.
        is_called_back = node.name in orders.recalled and is_let_in(node, orders)
        return has_returned(node, orders) or is_called_back or closing.is_cordon_lifted(node)

    def step_elsewhere(self, node: NodeSeen, orders: Orders, goal: str, *, is_back: bool) -> Step | None:
        return None

    def why_busy(self, node: NodeSeen) -> Hold | None:
        return self.why_unclear(node)

    def was_let_in(self, node: NodeSeen, record: CampaignRecord) -> bool:
        """It is a canary, or ended its work since we began."""
        begun_at = min((turn.at for turn in record.history if turn.phase is RolloutPhase.CANARY), default=0.0)
        return node.name in record.canaries or (node.record is not None and node.record.entered_at >= begun_at)

    # proof

    def is_proven(self, node: NodeSeen) -> bool:
        return step.is_proven(node)

    def why_lost(self, view: View, name: str) -> str:
        node = view.nodes[name]
        if node.record is None or node.record.phase not in _PROVEN:
            return f"canary {name} is being upgraded again"
        if node.facts.is_requested:
            return f"somebody asked for another upgrade of canary {name}"
        return super().why_lost(view, name)

    # rights

    def needs(self, publish: Via) -> frozenset[Need]:
        moving = frozenset({Need.EVICT, Need.DELETE_DRIVERS})
        # The driver manager's switches stand in a list: it is read before it is written.
        writing = frozenset({Need.WRITE_CARRIERS, Need.READ_CARRIERS})
        return moving | writing if publish is Via.DIRECT else moving

    # undo, and what stays

    def start_back(self, view: View, open_: frozenset[str]) -> tuple[CampaignAct, ...]:
        return ()

    def settle(self, view: View) -> tuple[CampaignRecord, Outcome]:
        return view.record, ((), ())

    def would_begin(self, facts: NodeFacts) -> bool:
        return False


class Unchosen(Direct):
    """Who moves the nodes is not written down yet."""

    mode: ClassVar[Mode | None] = None
    minds_sandbox: ClassVar[bool] = True

    def why_contradicted(self, rollout: str, operator: OperatorFacts, other: str, *, is_free: bool) -> Hold | None:
        return None

    def hands_back(self, node: NodeSeen, orders: Orders) -> bool:
        return False

    def why_busy(self, node: NodeSeen) -> Hold | None:
        return None


DIRECT: Final = Direct()
UNCHOSEN: Final = Unchosen()
