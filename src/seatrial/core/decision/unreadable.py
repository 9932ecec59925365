"""What waits for an object that cannot be read, and nothing else does.

    the Node itself, or an operand's pod    every step of that node: what we believe about it may be wrong
    a tenant's pod                          steps that would disturb that pod; the node's deadlines run on
    an object that is about no node         every disruption, as while a stream is out of date (stops.py)

Tests: tests/core/decision/test_unreadable.py
"""

from __future__ import annotations

from collections.abc import Iterable

from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.problems import UnreadableObject


def why_unreadable(subject: str, found: Iterable[UnreadableObject]) -> Hold | None:
    """The hold for the first of these objects by name; None where there are none."""
    first = min(found, key=lambda each: each.full_name, default=None)
    if first is None:
        return None
    return hold(subject, HoldCode.UNREADABLE_OBJECT, object=first.full_name, why=first.why, get=first.command)


def why_untrusted(node: NodeSeen) -> Hold | None:
    """Why nothing that is believed about a node can be trusted; None where it can."""
    return why_unreadable(node.name, (each for each in node.facts.unreadable if not each.is_tenants))


def why_undisturbed(node: NodeSeen) -> Hold | None:
    """Why the pods of a node must not be disturbed: one of them cannot be read; None where all can."""
    return why_unreadable(node.name, (each for each in node.facts.unreadable if each.is_tenants))
