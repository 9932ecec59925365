"""The limits of NVIDIA's own controller: which of them leaves no room for another node, and which nodes use it up.

It counts every node that it has begun and not finished, and a failed node is never finished. So a failure that we
tolerate may stop it all the same, and by default the first one does. Law of this file: its limits are read; what we let
in is bound by ours alone (letting_in.py). Tests: tests/core/movers/test_slots.py
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.policy import Limits, PolicyWish
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.movers.view import View
from seatrial.core.node.phases import UNDER_WAY
from seatrial.core.text.names import a_few

DEFAULTS: Final = Limits()
"""What its controller uses where its resource sets no limit."""


class Full(NamedTuple):
    """A limit that is used up by nodes that do not come back by themselves."""

    setting: str
    limit: int
    nodes: tuple[str, ...]


def policy_of(node: NodeFacts, operator: OperatorFacts) -> PolicyWish:
    """The upgrade policy that the node's owner gives it."""
    return next((pool.policy for pool in operator.pools if pool.name == node.owner), operator.policy)


def full(view: View, names: Iterable[str]) -> dict[str, Full]:
    """Which of these waiting nodes its controller cannot start, each with the limit; a cordoned node needs no room."""
    by_owner: dict[str, Full | None] = {}
    found: dict[str, Full] = {}
    for name in sorted(names):
        facts = view.nodes[name].facts
        owner = facts.owner if view.operator.pools else ""  # each NVIDIADriver has limits of its own
        if owner not in by_owner:
            counted = [each.facts for each in view.nodes.values() if not owner or each.facts.owner == owner]
            by_owner[owner] = _full(view, facts, counted)
        limit = by_owner[owner]
        if limit is not None and not facts.is_cordoned:
            found[name] = limit
    return found


def _full(view: View, facts: NodeFacts, counted: Sequence[NodeFacts]) -> Full | None:
    policy = policy_of(facts, view.operator)
    parallel_max = DEFAULTS.parallel_max if policy.parallel_max is None else policy.parallel_max
    failed = tuple(sorted(each.name for each in counted if each.nvidia_state == NodePhase.UPGRADE_FAILED))
    if 0 < parallel_max <= len(failed):
        return Full("maxParallelUpgrades", parallel_max, failed)
    unavailable_max = (policy.unavailable_max or DEFAULTS.unavailable_max).of(len(counted))
    gone = tuple(sorted(each.name for each in counted if each.is_unavailable and each.nvidia_state not in UNDER_WAY))
    return Full("maxUnavailable", unavailable_max, gone) if unavailable_max <= len(gone) else None


def why_full(view: View, names: Iterable[str]) -> Hold | None:
    """That its controller starts none of these, and what has to give way."""
    found = full(view, names)
    if not found:
        return None
    first = min(found)
    setting, limit, nodes = found[first]
    return view.hold(
        HoldCode.NVIDIA_FULL,
        waiting=a_few([name for name, limited in found.items() if limited == found[first]]),
        setting=setting,
        resource=view.resource_of(first),
        limit=limit,
        nodes=a_few(nodes, none="no node at all"),
    )
