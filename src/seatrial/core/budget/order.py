"""Who goes first among the nodes that may start: order policies, each a sort key. The name always decides a tie.

Tests: tests/core/budget/test_order.py
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from seatrial.core.budget.capacity import domain_of
from seatrial.core.model.intent import PRIORITY_LABEL, Intent, Order
from seatrial.core.model.known import by, of_each
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.node import phases

Key: TypeAlias = Callable[[NodeSeen], tuple[float | str, ...]]


def ordered(names: Iterable[str], nodes: Mapping[str, NodeSeen], intent: Intent) -> list[str]:
    """The names in the order in which they may start."""
    if intent.order is Order.NAME:
        return sorted(names)
    row, way = list(names), _WAYS[intent.order](nodes, intent)
    found = of_each(nodes, row, way.trait, *way.given)
    return [name for _, name in sorted(zip(map(way.rank, found) if way.rank else found, row, strict=True))]


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
    way = _WAYS[intent.order](nodes, intent)
    rank = way.rank or (lambda found: (found,))
    return lambda node: (*rank(way.trait(node, *way.given)), node.name)


class Way(NamedTuple):
    """What of a node its place depends on, and which place that is."""

    trait: Callable[..., float | str]
    given: tuple[Hashable, ...] = ()
    rank: Callable[[Any], tuple[float | str, ...]] | None = None
    """None where it is the place itself."""


def _by_name(_nodes: Mapping[str, NodeSeen], _intent: Intent) -> Way:
    return Way(_none)


def _none(_node: NodeSeen) -> int:
    return 0


def _idle_first(_nodes: Mapping[str, NodeSeen], _intent: Intent) -> Way:
    return Way(_gpu_pod_count)


def _gpu_pod_count(node: NodeSeen) -> int:
    return len(node.facts.gpu_pods)


def _domain_by_domain(nodes: Mapping[str, NodeSeen], intent: Intent) -> Way:
    """Domains that have begun first, those with most nodes begun before others; nodes without a domain last."""
    label = intent.domains[0].label if intent.domains else ""
    begun = {domain: len(names) for domain, names in by(nodes, _begun_in, label).items()}
    return Way(_domain, (label,), lambda domain: (not domain, -begun.get(domain, 0), domain))


def _domain(node: NodeSeen, label: str) -> str:
    return domain_of(node.facts, label)


def _begun_in(node: NodeSeen, label: str) -> str | None:
    """The domain in which a node has begun; None where it has not."""
    has_begun = node.record is not None and node.record.phase not in phases.NOT_STARTED
    return domain_of(node.facts, label) if has_begun else None


def _priority(_nodes: Mapping[str, NodeSeen], _intent: Intent) -> Way:
    return Way(_minus_priority)


def _minus_priority(node: NodeSeen) -> int:
    return -_number(node.facts.labels.get(PRIORITY_LABEL, ""))


def _number(text: str) -> int:
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() else 0


_WAYS: Final[Mapping[Order, Callable[[Mapping[str, NodeSeen], Intent], Way]]] = {
    Order.NAME: _by_name,
    Order.IDLE_FIRST: _idle_first,
    Order.DOMAIN_BY_DOMAIN: _domain_by_domain,
    Order.PRIORITY: _priority,
}
