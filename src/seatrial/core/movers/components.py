"""Components beside the driver: what is so whoever moves them. Nothing is published; the version is seen on the node.

    kernel, kubernetes    the kubelet says which version the node runs
    everything else       a person says it: annotation seatrial.dev/observed-COMPONENT on the node

Law of this file: who moves the nodes is not known here; who/by_hand.py says what differs. A node is through when the
version was observed and the node is Ready; what nobody observed is not there. What a kubelet says, nobody can say
better. Tests: tests/core/movers/test_by_hand.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import ClassVar

from seatrial.core.base.values import dataclass
from seatrial.core.compat.matrix import Component
from seatrial.core.errors import CoreBug
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.campaign import ByHand, CampaignRecord, PublishStep, Switch
from seatrial.core.model.intent import Intent
from seatrial.core.model.known import by
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeSeen
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.movers.view import Mover, Outcome, View
from seatrial.core.node.observed import is_same, observed, progress_of, shows
from seatrial.core.node.progress import Progress, Versions
from seatrial.core.node.writing import Orders, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Components(Mover):
    """A component is seen on the node, and published nowhere."""

    asked: ByHand | None
    version: str
    """What the nodes are to have of it."""
    drivers: Mover
    """Who moves the drivers of the cluster meanwhile."""

    moves_drivers: ClassVar[bool] = False
    moves_operands: ClassVar[bool] = False

    @property
    def step(self) -> ByHand:
        """What is asked for."""
        if self.asked is None:
            raise CoreBug("there is no manual step in a rollout that moves no driver")
        return self.asked

    def target(self, intent: Intent) -> str:
        return self.version

    def baseline(self, view: View) -> Versions:
        return before(view, self.step, self.version)

    def switches(self, view: View) -> tuple[Switch, ...]:
        return ()

    def in_the_way(self, view: View) -> tuple[Hold, ...]:
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

    # how far a node is

    def progress(self, node: NodeSeen, version: str) -> Progress:
        return progress_of(node.facts, self.step.component, version or self.version)

    def phases(self, nodes: Mapping[str, NodeSeen]) -> Mapping[NodePhase | None, AbstractSet[str]]:
        return by(nodes, _phase_of, self.step.component, self.version)

    def standings(self, nodes: Mapping[str, NodeSeen], version: str) -> Mapping[Progress, AbstractSet[str]]:
        return by(nodes, _standing, self.step.component, version or self.version)

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
        if shows(view.nodes[name].facts, self.step.component, self.version):
            return ""
        return f"canary {name} no longer shows {self.step.component.value} {self.version}"

    # undo, and what stays

    def whose_turn_back(self, view: View) -> frozenset[str]:
        return frozenset()

    def would_begin(self, facts: NodeFacts) -> bool:
        return False


def _standing(node: NodeSeen, component: Component, version: str) -> Progress:
    return progress_of(node.facts, component, version)


def _phase_of(node: NodeSeen, component: Component, version: str) -> NodePhase:
    is_done = progress_of(node.facts, component, version) is Progress.DONE
    return NodePhase.UPGRADE_DONE if is_done else NodePhase.UPGRADE_REQUIRED


def before(view: View, asked: ByHand, version: str) -> tuple[tuple[str, str], ...]:
    """The way back: what most nodes were observed to have, else what the plan comes from."""
    texts = Counter(observed(node.facts, asked.component) for _, node in sorted(view.nodes.items()))
    found = [(count, text) for text, count in texts.items() if text and not is_same(asked.component, text, version)]
    text = max(found)[1] if found else asked.before
    return ((asked.component.value, text),) if text else ()
