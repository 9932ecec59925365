"""Whether a node is on its way to what the rollout wants: somebody may have published a third version meanwhile.

Law of this file: a node that would get another version goes no further until the right one is published again. It may
still be given back to its users. Tests: tests/core/decision/test_decide.py
"""

from __future__ import annotations

from typing import Final

from seatrial.core.holds import HoldCode, hold
from seatrial.core.model.seen.nodes import NodeFacts, NodeSeen
from seatrial.core.node.phases import is_under_way
from seatrial.core.node.progress import wants
from seatrial.core.node.writing import Step

NO_VERSION: Final = "an image without a driver version in its tag"


def is_misled(node: NodeSeen, goal: str) -> bool:
    """Whether the driver of a node under way is there, and would be replaced by one that the rollout does not want.

    Somebody published a third version. A node that has lost its driver has no way but forward, and ends on what is
    published, which is not the target; one that runs what is wanted there is let go.
    """
    facts = node.facts
    if not goal or not is_under_way(node.record) or facts.driver is None or facts.driver.is_terminating:
        return False
    return not facts.is_in_sync and is_misaimed(facts, goal)


def is_misaimed(facts: NodeFacts, goal: str) -> bool:
    """Whether what is published for a node is known, and is not what the rollout wants there."""
    return bool(goal) and facts.wanted is not None and not wants(facts, goal)


def misled(node: NodeSeen, goal: str) -> Step:
    """The hold of a node that goes no further until the right version is published again."""
    found = (node.facts.wanted.version if node.facts.wanted is not None else "") or NO_VERSION
    return Step(hold=hold(node.name, HoldCode.TARGET_NOT_PUBLISHED, found=found, target=goal))
