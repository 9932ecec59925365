"""Who goes first among the nodes that may start: order policies, each a sort key. The name always decides a tie.

Tests: tests/core/test_order.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from seatrial.core.budget.capacity import domain_of
from seatrial.core.model.intent import PRIORITY_LABEL, Intent, Order
from seatrial.core.model.snapshot import NodeSeen
from seatrial.core.node import phases

Key: TypeAlias = Callable[[NodeSeen], tuple[float | str, ...]]


def ordered(wishing: Iterable[NodeSeen], nodes: Mapping[str, NodeSeen], intent: Intent) -> list[NodeSeen]:
    """The nodes in the order in which they may start."""
    return sorted(wishing, key=key_of(nodes, intent))


def fixed(nodes: Iterable[NodeSeen], intent: Intent) -> list[NodeSeen]:
    """An order that the work itself does not change, so that a wave has the same nodes whenever it is looked at."""
    label = intent.domains[0].label if intent.domains and intent.order is Order.DOMAIN_BY_DOMAIN else ""
    by_priority = intent.order is Order.PRIORITY

    def key(node: NodeSeen) -> tuple[float | str, ...]:
        domain = domain_of(node.facts, label) if label else ""
        number = -_number(node.facts.labels.get(PRIORITY_LABEL, "")) if by_priority else 0
        return (bool(label) and not domain, domain, number, node.name)

    return sorted(nodes, key=key)


def key_of(nodes: Mapping[str, NodeSeen], intent: Intent) -> Key:
    """What the nodes are sorted by."""
    key = _KEYS[intent.order](nodes, intent)
    return lambda node: (*key(node), node.name)


def _by_name(_nodes: Mapping[str, NodeSeen], _intent: Intent) -> Key:
    return lambda _node: ()


def _idle_first(_nodes: Mapping[str, NodeSeen], _intent: Intent) -> Key:
    return lambda node: (len(node.facts.gpu_pods),)


def _domain_by_domain(nodes: Mapping[str, NodeSeen], intent: Intent) -> Key:
    """Domains that have begun first, those with most nodes begun before others; nodes without a domain last."""
    label = intent.domains[0].label if intent.domains else ""
    begun = Counter(
        domain_of(node.facts, label)
        for node in nodes.values()
        if node.record is not None and node.record.phase not in phases.NOT_STARTED
    )

    def key(node: NodeSeen) -> tuple[float | str, ...]:
        domain = domain_of(node.facts, label)
        return (not domain, -begun[domain], domain)

    return key


def _priority(_nodes: Mapping[str, NodeSeen], _intent: Intent) -> Key:
    return lambda node: (-_number(node.facts.labels.get(PRIORITY_LABEL, "")),)


def _number(text: str) -> int:
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() else 0


_KEYS: Final[Mapping[Order, Callable[[Mapping[str, NodeSeen], Intent], Key]]] = {
    Order.NAME: _by_name,
    Order.IDLE_FIRST: _idle_first,
    Order.DOMAIN_BY_DOMAIN: _domain_by_domain,
    Order.PRIORITY: _priority,
}
