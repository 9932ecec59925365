"""Steps that people take: firmware by the BMC, OpenShift, operators. Who is through, who is due, and the way back.

    kernel, kubernetes    the kubelet says which version the node runs
    everything else       a person says it: annotation seatrial.dev/observed-COMPONENT on the node

Law of this file: nothing is moved and nothing is published here. A node is through when the version was observed and
the node is Ready; what nobody observed is not there. What a kubelet says, nobody can say better. Tests:
tests/core/test_by_hand.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import ClassVar, Final

from seatrial.core.actions import CampaignAct
from seatrial.core.errors import CoreBug
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.campaign import ByHand, CampaignRecord, Mode, Point, PublishStep, Switch, Via
from seatrial.core.model.intent import Intent
from seatrial.core.model.snapshot import NodeFacts, NodePhase, NodeSeen, OperatorFacts, Snapshot
from seatrial.core.movers import machine_pools
from seatrial.core.movers.view import Mover, Need, Outcome, Return, Start, Versions, View
from seatrial.core.node.observed import SHOWN, is_same, observed, progress_of, shows
from seatrial.core.node.progress import Progress, is_left_out
from seatrial.core.node.writing import Orders, Step
from seatrial.core.text.names import a_few

NODES_SHOWN: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Hand(Mover):
    """People bring it to the nodes; we say whose turn it is, and watch."""

    asked: ByHand | None
    drivers: Mover
    """Who moves the drivers of the cluster meanwhile."""

    mode: ClassVar[Mode | None] = Mode.BY_HAND
    who: ClassVar[str] = "people"
    who_moves: ClassVar[str] = "people move it"
    moves_drivers: ClassVar[bool] = False
    is_automatic: ClassVar[bool] = False

    @property
    def step(self) -> ByHand:
        """What they are asked to do."""
        if self.asked is None:
            raise CoreBug("there is no step by hand in the rollout that people are to move")
        return self.asked

    def target(self, intent: Intent) -> str:
        return self.step.version

    def baseline(self, view: View) -> Versions:
        return before(view)

    def switches(self, view: View) -> tuple[Switch, ...]:
        return ()

    def loud(self, view: View) -> tuple[Hold, ...]:
        return ()

    def publish(self, view: View, step: PublishStep, wanted: Versions) -> Outcome:
        return (), ()

    def why_unpublishable(self, view: View) -> tuple[Hold, ...]:
        return ()

    # who may start

    def why_contradicted(self, rollout: str, operator: OperatorFacts, other: str, *, is_free: bool) -> Hold | None:
        return None

    def half_done(self, view: View) -> list[str]:
        return self.drivers.half_done(view)

    def kept_out(self, view: View, open_: AbstractSet[str]) -> set[str]:
        return set()

    def start(self, view: View, names: frozenset[str]) -> Start:
        return Start(record=view.record, ready=names)

    def at_work(self, view: View, names: Iterable[str], told: Hold) -> Hold:
        return due(view, names)

    # how far a node is

    def progress(self, node: NodeSeen, version: str) -> Progress:
        return progress_of(node.facts, self.step, version)

    def phase_of(self, node: NodeSeen) -> NodePhase | None:
        is_done = progress_of(node.facts, self.step) is Progress.DONE
        return NodePhase.UPGRADE_DONE if is_done else NodePhase.UPGRADE_REQUIRED

    def recorded(self, seen: Snapshot, intent: Intent) -> Mapping[str, NodeSeen]:
        return seen.nodes

    def why_stuck(self, view: View, names: Iterable[str]) -> dict[str, HoldCode]:
        return {}

    # a node, in one pass

    def may_step(self, node: NodeSeen, *, is_open: bool) -> bool:
        return False

    def hands_back(self, node: NodeSeen, orders: Orders) -> bool:
        return False

    def step_elsewhere(self, node: NodeSeen, orders: Orders, goal: str, *, is_back: bool) -> Step | None:
        return None

    def why_busy(self, node: NodeSeen) -> Hold | None:
        return None

    def was_let_in(self, node: NodeSeen, record: CampaignRecord) -> bool:
        return True  # which driver it runs is nobody's question here

    # proof

    def why_lost(self, view: View, name: str) -> str:
        if shows(view.nodes[name].facts, self.step.component, self.step.version):
            return ""
        return f"canary {name} is not seen to have {self.step.component.value} {self.step.version} any more"

    # rights

    def needs(self, publish: Via) -> frozenset[Need]:
        return frozenset()

    # undo, and what stays

    def whose_turn_back(self, view: View) -> frozenset[str]:
        return frozenset()

    def undo(self, view: View, acts: tuple[CampaignAct, ...], holds: tuple[Hold, ...]) -> Return:
        """People take it back, or say that it stays where no way leads back."""
        pauses, pending = machine_pools.hold_still(view)  # whatever moves the nodes of a pool stops moving them
        acts, holds = (*pauses, *acts), (*pending, *holds)
        there = still_there(view)
        out = tuple(name for name in there if is_left_out(view.nodes[name].facts))
        still = tuple(name for name in there if name not in out)
        if still:
            holds = (*holds, going_back(view, still))
        return Return(record=view.record, acts=acts, holds=holds, out=out)

    def would_begin(self, facts: NodeFacts) -> bool:
        return False


def before(view: View) -> tuple[tuple[str, str], ...]:
    """The way back: what most nodes were observed to have, else what the plan comes from."""
    asked = _asked(view)
    texts = Counter(observed(node.facts, asked.component) for _, node in sorted(view.nodes.items()))
    found = [
        (count, text) for text, count in texts.items() if text and not is_same(asked.component, text, asked.version)
    ]
    text = max(found)[1] if found else asked.before
    return ((asked.component.value, text),) if text else ()


def due(view: View, names: Iterable[str]) -> Hold:
    """Whose turn it is, from which version to which, and how it is observed."""
    asked, waiting = _asked(view), sorted(name for name in names if view.progress(name) is not Progress.DONE)
    silent = sorted(name for name in waiting if shows(view.nodes[name].facts, asked.component, asked.version))
    seen = sorted({observed(view.nodes[name].facts, asked.component) for name in waiting} - {""})
    return view.hold(
        HoldCode.BY_HAND_PENDING,
        component=asked.component.value,
        version=asked.version,
        before=", ".join(seen) or dict(view.record.baseline).get(asked.component.value, "") or "unknown",
        nodes=a_few(waiting, NODES_SHOWN),
        names=" ".join(waiting[:NODES_SHOWN]),
        silent=a_few(silent, NODES_SHOWN),
        instructions=asked.instructions,
        shown=SHOWN.get(asked.component, ""),
    )


def still_there(view: View) -> tuple[str, ...]:
    """The nodes that have to go back: those observed to have the version that is undone."""
    asked = _asked(view)
    if asked.is_one_way and Point.ROLLBACK in view.campaign.approved:
        return ()  # a person says that it stays
    return tuple(name for name, node in sorted(view.nodes.items()) if shows(node.facts, asked.component, asked.version))


def going_back(view: View, names: tuple[str, ...]) -> Hold:
    """What people have to do so that these nodes are as they were, or to say where that cannot be."""
    asked = _asked(view)
    return view.hold(
        HoldCode.NO_WAY_BACK_BY_HAND if asked.is_one_way else HoldCode.BY_HAND_BACK,
        component=asked.component.value,
        version=asked.version,
        before=dict(view.record.baseline).get(asked.component.value, "") or "what was there before",
        nodes=a_few(names, NODES_SHOWN),
        names=" ".join(names[:NODES_SHOWN]),
        shown=SHOWN.get(asked.component, ""),
    )


def _asked(view: View) -> ByHand:
    if view.campaign.by_hand is None:
        raise CoreBug(f"{view.name} is no step by hand.")
    return view.campaign.by_hand
