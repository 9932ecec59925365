"""Units: nodes that are upgraded together or not at all, such as an NVLink clique or a rack.

Law of this file: a member that cannot start keeps the others from starting, and calls them back as long as none of them
is cordoned. After that a unit is finished as far as it can be. On the way back nobody is waited for: to keep a whole
clique on a rejected driver for the sake of one dead node would be the worse tear.

Tests: tests/core/budget/test_units.py
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from seatrial.core.budget import capacity
from seatrial.core.budget.capacity import Budget
from seatrial.core.holds import HoldCode
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.node import step as node
from seatrial.core.node.phases import is_under_way
from seatrial.core.node.progress import is_without_gpu


def unfit(nodes: Mapping[str, NodeSeen], unit_of: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """By unit, the members that keep it waiting, each with the reason."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, unit in sorted(unit_of.items()):
        code = why_unfit(nodes[name])
        if code is not None:
            found[unit].append(f"{name} ({code})")
    return {unit: tuple(members) for unit, members in found.items()}


def why_unfit(member: NodeSeen) -> HoldCode | None:
    """Why a member cannot start with the others; None where it can, has begun, or needs nothing."""
    unclear = node.why_unclear(member)
    if unclear is not None:
        return unclear.code
    facts, record = member.facts, member.record
    if record is not None and capacity.has_failed(record):
        is_anew = facts.wanted is not None and facts.wanted_revision != record.failed_revision
        return None if is_anew or member.is_retry_asked else HoldCode.FAILED
    held = node.why_not_startable(member) if _is_left(member) else None
    return held.code if held is not None else None


def not_asking(nodes: Mapping[str, NodeSeen], budget: Budget, asking: Collection[str]) -> frozenset[str]:
    """Members that have not begun, neither ask to start nor may, and will have to: their unit waits for them."""
    named = budget.whole.under_way | budget.ahead | set(asking)
    return frozenset(name for name in budget.unit_of.keys() - named if _is_left(nodes[name]))


def _is_left(member: NodeSeen) -> bool:
    """Whether a node is still to get the driver, and nothing has begun there."""
    facts = member.facts
    if _has_begun(member) or is_without_gpu(facts):
        return False
    return not facts.is_in_sync or facts.driver is None or facts.driver.is_orphaned


def called_back(
    nodes: Mapping[str, NodeSeen], budget: Budget, unfit: Collection[str], recalled: frozenset[str]
) -> frozenset[str]:
    """Who hands its admission back with a member that cannot start, or does not fit any more."""
    if not budget.unit_of:
        return frozenset()
    begun = {unit for name, unit in budget.unit_of.items() if _has_begun(nodes[name])}
    torn = ({unit for name, unit in budget.unit_of.items() if name in recalled} | set(unfit)) - begun
    return frozenset(name for name, unit in budget.unit_of.items() if unit in torn and name in budget.whole.under_way)


def _has_begun(member: NodeSeen) -> bool:
    """Whether something was taken from the users of a node: the phase after the admission takes nothing yet."""
    record = member.record
    return record is not None and is_under_way(record) and record.phase is not NodePhase.CORDON_REQUIRED
