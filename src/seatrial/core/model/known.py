"""Nodes by a trait: who is alike in one respect. `Known` remembers it of every node that is still the same object.

    by(nodes, is_away)             ──▶ {True: {"n7"}, False: {"n1", …}}
    Known.see(nodes)               what was worked out of those who changed is forgotten, and nothing else

Law of this file: a trait follows from its node and from what is given besides, and from nothing else. Facts are frozen,
so a node that is the same object has the same traits; what is given is compared by value. So nothing here can change an
answer: whoever loses a `Known`, or never had one, gets the same by looking at everybody.

Tests: tests/core/test_known.py
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from collections.abc import Set as AbstractSet
from itertools import compress
from operator import is_not
from typing import Any, Final, TypeVar

from seatrial.core.model.snapshot import NodeSeen

T = TypeVar("T", bound=Hashable)
NOBODY: Final[frozenset[str]] = frozenset()
MANY: Final = 8
"""Where more than one in so many has changed, it is faster to look at everybody."""


def by(nodes: Mapping[str, NodeSeen], trait: Callable[..., T], *given: object) -> Mapping[T, AbstractSet[str]]:
    """The names of nodes by what a trait says of each, under values that somebody has; it moves on with the looks."""
    return nodes.by(trait, *given) if isinstance(nodes, Known) else _groups(nodes, trait, given)


def those(nodes: Mapping[str, NodeSeen], trait: Callable[..., bool], *given: object) -> AbstractSet[str]:
    """The names of those of whom it is true."""
    return by(nodes, trait, *given).get(True, NOBODY)


class Known(dict[str, NodeSeen]):
    """Nodes as last seen, in their order, and what was asked about them so far."""

    def __init__(self) -> None:
        super().__init__()
        self._groups: dict[Callable[..., Any], tuple[tuple[object, ...], dict[Any, set[str]]]] = {}

    def see(self, nodes: Mapping[str, NodeSeen]) -> frozenset[str]:
        """Take in how the nodes are now; who is new, another than before, or gone."""
        is_same_row = list(self) == list(nodes)
        if is_same_row:
            changed = frozenset(compress(nodes, map(is_not, self.values(), nodes.values())))
        else:
            gone = self.keys() - nodes.keys()
            changed = frozenset(name for name, node in nodes.items() if self.get(name) is not node) | gone
        if len(changed) * MANY > len(nodes):
            self._groups.clear()
        for trait, (given, groups) in self._groups.items():
            self._regroup(trait, given, groups, changed, nodes)
        if not is_same_row:
            self.clear()
        self.update(nodes)
        return changed

    def by(self, trait: Callable[..., T], *given: object) -> Mapping[T, AbstractSet[str]]:
        """The names by what a trait says, as in the function of the same name."""
        found = self._groups.get(trait)
        if found is None or found[0] != given:
            found = self._groups[trait] = given, _groups(self, trait, given)
        return found[1]

    def _regroup(
        self,
        trait: Callable[..., Hashable],
        given: tuple[object, ...],
        groups: dict[Any, set[str]],
        changed: Collection[str],
        nodes: Mapping[str, NodeSeen],
    ) -> None:
        for name in changed:
            before, after = self.get(name), nodes.get(name)
            if before is not None:
                value = trait(before, *given)
                groups[value].discard(name)
                if not groups[value]:
                    del groups[value]
            if after is not None:
                groups.setdefault(trait(after, *given), set()).add(name)


def _groups(nodes: Mapping[str, NodeSeen], trait: Callable[..., T], given: tuple[object, ...]) -> dict[T, set[str]]:
    groups: dict[T, set[str]] = {}
    for name, node in nodes.items():
        value = trait(node, *given)
        if value in groups:
            groups[value].add(name)
        else:
            groups[value] = {name}
    return groups
