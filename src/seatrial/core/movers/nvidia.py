"""NVIDIA's upgrade controller moves the nodes: we publish, and let it in to those whose turn it is.

    letting_in    who is let in, and its states as records     marks         the skip labels that keep it out
    forgetting    how it forgets who waited                     slots         its own limits, and who uses them up

Law of this file: done is what its label says, and the driver and its validator are seen Ready on the version. Nothing
that we write moves a node; it may start anybody who is not kept out. Tests: tests/core/movers/test_movers.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import ClassVar, Final

from seatrial.core.actions.of_campaigns import CampaignAct
from seatrial.core.budget import capacity
from seatrial.core.holds import Hold, HoldCode, Lack, hold
from seatrial.core.model.campaign import CampaignRecord, Mode, Switch, Via
from seatrial.core.model.intent import Intent
from seatrial.core.model.known import by
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeSeen
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.movers import forgetting, letting_in, marks, returning, slots
from seatrial.core.movers.drivers import Drivers
from seatrial.core.movers.pace.ways import STATE_LABEL
from seatrial.core.movers.view import Need, Outcome, Start, View
from seatrial.core.node import progress
from seatrial.core.node.aiming import misled
from seatrial.core.node.phases import UNDER_WAY
from seatrial.core.node.progress import Progress, is_left_out, is_out_of_reach, wants
from seatrial.core.node.readiness import why_doubted
from seatrial.core.node.writing import NOTHING, WISH, Orders, Step, told
from seatrial.core.text.names import a_few

LATE_SECONDS: Final = 120.0
"""NVIDIA's controller looks at least this often: so much later a node that was let in may be started."""
GIVEN_UP: Final = "NVIDIA's own upgrade controller has it at upgrade-failed, without a reason"
_STATES: Final = frozenset(phase.value for phase in NodePhase)
_AT_WORK: Final = frozenset(phase.value for phase in UNDER_WAY)


class Nvidia(Drivers):
    """Nodes are moved by NVIDIA's controller, as far as our labels let it in."""

    moves_operands: ClassVar[bool] = False
    mode: ClassVar[Mode | None] = Mode.DELEGATED
    who: ClassVar[str] = "NVIDIA's upgrade controller"
    who_moves: ClassVar[str] = "NVIDIA's controller moves the nodes"
    starts_by_itself: ClassVar[bool] = True
    minds_sandbox: ClassVar[bool] = True
    margin_seconds: ClassVar[float] = LATE_SECONDS

    def switches(self, view: View) -> tuple[Switch, ...]:
        """Its driver manager leaves the nodes alone by itself."""
        return ()

    def in_the_way(self, view: View) -> tuple[Hold, ...]:
        """A node that is NotReady stops its work in the whole fleet, also where we move none of its nodes."""
        found = sorted(name for name, node in view.nodes.items() if stalls(node.facts))
        return (view.hold(HoldCode.NVIDIA_STALLED, nodes=a_few(found)),) if found else ()

    # who may start

    def why_contradicted(self, rollout: str, operator: OperatorFacts, other: str, *, is_free: bool) -> Hold | None:
        if other or is_free:
            return None
        return hold(rollout, HoldCode.NOBODY_MOVES, owner=operator.kind or "no GPU Operator")

    def half_done(self, view: View) -> list[str]:
        """Nobody knows which version a node failed with, so no more may have than we tolerate."""
        states = {
            name: node.facts.nvidia_state
            for name, node in view.nodes.items()
            if not is_out_of_reach(node, self.progress(node, view.target))
        }
        failed = sorted(name for name, state in states.items() if state == NodePhase.UPGRADE_FAILED.value)
        found = sorted(name for name, state in states.items() if state in _AT_WORK)
        return found + (failed if len(failed) > view.intent.failed_max else [])

    def kept_out(self, view: View, open_: AbstractSet[str]) -> set[str]:
        return letting_in.kept_out(view, open_)

    def start(self, view: View, names: frozenset[str]) -> Start:
        closed_out = letting_in.why_closed_out(view, names)
        return Start(record=view.record, ready=names, acts=marks.let_in(view, names), holds=closed_out)

    def at_work(self, view: View, names: Iterable[str], told: Hold) -> Hold:
        """It says nothing itself when its own limits keep it from starting a node that is let in."""
        waiting = {name: view.nodes[name].facts for name in names}
        let_in = [
            name
            for name, facts in waiting.items()
            if facts.nvidia_state == NodePhase.UPGRADE_REQUIRED.value
            and not facts.is_skipped
            and letting_in.why_not(facts) is None
        ]
        return slots.why_full(view, let_in) or told

    # how far a node is

    def progress(self, node: NodeSeen, version: str) -> Progress:
        return progress.by_nvidias_word(node.facts, version)

    def phases(self, nodes: Mapping[str, NodeSeen]) -> Mapping[NodePhase | None, AbstractSet[str]]:
        return by(nodes, _phase_of)

    def standings(self, nodes: Mapping[str, NodeSeen], version: str) -> Mapping[Progress, AbstractSet[str]]:
        return by(nodes, _standing, version)

    def recorded(self, seen: Snapshot, intent: Intent) -> Mapping[str, NodeSeen]:
        return letting_in.recorded(seen, intent)

    def unfit(self, view: View, unit_of: Mapping[str, str]) -> set[str]:
        return set()

    def why_unclear(self, node: NodeSeen) -> Hold | None:
        return None

    def _why_stuck(self, view: View, member: NodeSeen) -> HoldCode | None:
        down = _why_down(member.facts)
        return down.hold.code if down is not None and down.hold is not None else super()._why_stuck(view, member)

    # a node, in one pass

    def may_step(self, node: NodeSeen, *, is_open: bool) -> bool:
        return False

    def hands_back(self, node: NodeSeen, orders: Orders) -> bool:
        return False

    def step_elsewhere(self, node: NodeSeen, orders: Orders, goal: str, *, is_back: bool) -> Step | None:
        """The ledger, or the end of it."""
        why_not = letting_in.why_not(node.facts)
        is_done = node.record is not None and node.record.phase is NodePhase.UPGRADE_DONE
        asks_again = is_back and capacity.has_failed(node.record)
        is_waiting = node.record is None or asks_again
        if why_not is not None and (is_done or is_waiting):
            return Step(hold=why_not)
        if is_done:
            return _why_down(node.facts) or NOTHING
        if is_waiting and not wants(node.facts, goal):
            return misled(node, goal)
        attempt = orders.admitted.get(node.name)
        if is_waiting and (attempt is None or (asks_again and not letting_in.is_retried(node, attempt))):
            return WISH
        return Step(hold=_moved(node))

    def why_busy(self, node: NodeSeen) -> Hold | None:
        state = node.facts.nvidia_state
        is_waiting = state == NodePhase.UPGRADE_REQUIRED.value
        if is_waiting and is_left_out(node.facts):
            return hold(node.name, HoldCode.SKIPPED)  # in its hands nothing will ever happen to it
        is_kept_out = is_waiting and bool(node.facts.skipped_by)
        return None if is_kept_out or state in ("", NodePhase.UPGRADE_DONE.value) else _moved(node)

    def was_let_in(self, node: NodeSeen, record: CampaignRecord) -> bool:
        return not node.facts.skipped_by

    # proof

    def lack(self, node: NodeSeen, before: GpuOffer | None) -> Lack | None:
        """Of NVIDIA's controller little more than its word is had."""
        return why_doubted(node.facts, before)

    # rights

    def needs(self, publish: Via) -> frozenset[Need]:
        """Switching it off and on again, on the way back, is a write of the resources that carry versions."""
        return frozenset({Need.WRITE_CARRIERS})

    # undo, and what stays

    def whose_turn_back(self, view: View) -> frozenset[str]:
        """Failed nodes go last: one may fail again, and nodes that can go must not wait behind it.

        Where failed nodes use up a limit of its controller, they go first: no other node can start before they have.
        """
        turn = returning.whose_turn(view)
        how = {name: view.progress(name, view.way_back(name)) for name in turn}
        able = {name for name in turn if letting_in.why_not(view.nodes[name].facts) is None}
        waiting = {name for name in able if how[name] is Progress.AWAY}
        failed = {name for name in turn if how[name] is Progress.FAILED}
        behind = {name for name, full in slots.full(view, waiting).items() if able & failed & set(full.nodes)}
        return turn - behind - (failed if waiting - behind else set())

    def start_back(self, view: View, open_: frozenset[str]) -> tuple[CampaignAct, ...]:
        """It leaves a failed node alone until it is asked."""
        return marks.let_in(view, open_)

    def settle(self, view: View) -> tuple[CampaignRecord, Outcome]:
        return forgetting.forgetting(view), forgetting.forget(view)

    def would_begin(self, facts: NodeFacts) -> bool:
        """It finds something to do there, as things are published now."""
        return not (facts.is_in_sync and facts.nvidia_state in ("", NodePhase.UPGRADE_DONE.value))


def stalls(facts: NodeFacts) -> bool:
    """Whether this node keeps NVIDIA's controller from moving any other.

    A NotReady node has a taint that the driver's DaemonSet does not tolerate, so that the DaemonSet wants no pod there.
    The pod that runs there already stays; NVIDIA's controller finds more pods than are wanted, and gives up its pass.
    """
    return facts.driver is not None and not facts.is_ready


def _why_down(facts: NodeFacts) -> Step | None:
    """That a node called done runs the wanted driver and is without it: NVIDIA's controller does not look again."""
    is_called_done = facts.nvidia_state == NodePhase.UPGRADE_DONE.value
    if not is_called_done or not facts.is_driver_in_sync or facts.driver is None or facts.driver.is_ready:
        return None
    return Step(hold=hold(facts.name, HoldCode.DRIVER_NOT_READY, told(facts)))


def _standing(node: NodeSeen, version: str) -> Progress:
    return progress.by_nvidias_word(node.facts, version)


def _phase_of(node: NodeSeen) -> NodePhase | None:
    state = node.facts.nvidia_state
    return NodePhase(state) if state in _STATES else None


def _moved(node: NodeSeen) -> Hold:
    """What is told of a node in its hands; one that it gave up moves no more until somebody says so."""
    if node.facts.nvidia_state == NodePhase.UPGRADE_FAILED.value:
        return hold(node.name, HoldCode.FAILED, told(node.facts), why=GIVEN_UP, label=STATE_LABEL)
    if not node.facts.is_ready:
        return hold(node.name, HoldCode.NODE_NOT_READY)  # its controller waits on, and its log says nothing of it
    return hold(node.name, HoldCode.MOVED_BY_NVIDIA, state=node.facts.nvidia_state or "none")


NVIDIA: Final = Nvidia()
