"""Which version of a component people moved is on a node, and how the node stands towards the one that is wanted.

Law of this file: what nobody observed is not there. Two components every kubelet tells of; of the others somebody says
what is there (`seatrial rollout observed`). Tests: tests/core/movers/test_by_hand.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from seatrial.core.compat.matrix import Component
from seatrial.core.model.seen.nodes import NodeFacts
from seatrial.core.node.progress import Progress, is_same_part

SHOWN: Final[Mapping[Component, str]] = {
    Component.KERNEL: "status.nodeInfo.kernelVersion",
    Component.KUBERNETES: "status.nodeInfo.kubeletVersion",
}
"""Components that every kubelet tells of, and where on the node."""
OURS: Final = frozenset({Component.GPU_DRIVER})
"""Components that we move ourselves."""


def observed(facts: NodeFacts, component: Component) -> str:
    """The version of a component on a node; empty where nobody observed one."""
    return next((text for name, text in facts.components if name == component.value), "")


def shows(facts: NodeFacts, component: Component, version: str) -> bool:
    """Whether a node was observed to have this version."""
    return is_same(component, observed(facts, component), version)


def is_same(component: Component, one: str, other: str) -> bool:
    """Whether two texts name the same version of a component; what cannot be read is the same as itself alone."""
    return is_same_part(component, one, other)


def progress_of(facts: NodeFacts, component: Component, version: str) -> Progress:
    """How a node stands towards a version of a component."""
    if shows(facts, component, version):
        return Progress.DONE if facts.is_ready else Progress.MOVING
    return Progress.SKIPPED if facts.is_skipped else Progress.AWAY
