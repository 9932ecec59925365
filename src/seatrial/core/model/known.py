"""Nodes by a trait: who is alike in one respect. `Known` remembers it of every node that is still the same object.

    by(nodes, is_away)                      ──▶ {True: {"n7"}, False: {"n1", …}}
    of_each(nodes, ["n1", "n7"], wish_of)   ──▶ [Admission(n1), Admission(n7)]
    Known.see(nodes)                        what was worked out of those who changed is forgotten, and no more

Law of this file: a trait follows from its node and from what is given besides, and from nothing else. Facts are frozen,
so a node that is the same object has the same traits; what is given is compared by value. So nothing here can change an
answer: whoever loses a `Known`, or never had one, gets the same by looking at everybody.

Tests: tests/core/model/test_known.py
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from itertools import compress
from operator import attrgetter, is_not
from typing import Any, Final, TypeVar

from seatrial.core.model.seen.nodes import NodeSeen

T = TypeVar("T", bound=Hashable)
V = TypeVar("V")
NOBODY: Final[frozenset[str]] = frozenset()
OWNER: Final[Callable[[NodeSeen], str]] = attrgetter("facts.owner")
"""The NVIDIADriver of a node, as a trait."""
MANY: Final = 8
"""Where more than one in so many has changed, it is faster to look at everybody."""


def by(nodes: Mapping[str, NodeSeen], trait: Callable[..., T], *given: object) -> Mapping[T, AbstractSet[str]]:
    """The names of nodes by what a trait says of each, under values that somebody has; it moves on with the looks."""
    return nodes.by(trait, *given) if isinstance(nodes, Known) else _groups(nodes, trait, given)


def those(nodes: Mapping[str, NodeSeen], trait: Callable[..., bool], *given: object) -> AbstractSet[str]:
    """The names of those of whom it is true."""
    return by(nodes, trait, *given).get(True, NOBODY)


def of_each(nodes: Mapping[str, NodeSeen], names: Iterable[str], trait: Callable[..., V], *given: Hashable) -> list[V]:
    """What a trait says of each of these, in their order."""
    known = nodes.answers(trait, *given) if isinstance(nodes, Known) else None
    if known:
        return list(map(known.__getitem__, names))
    row = list(names)
    found = [trait(nodes[name], *given) for name in row]
    if known is not None:
        known.update(zip(row, found, strict=True))
    return found


class Known(dict[str, NodeSeen]):
    """Nodes as last seen, in their order, and what was asked about them so far."""

    def __init__(self) -> None:
        super().__init__()
        self._groups: dict[Callable[..., Any], tuple[tuple[object, ...], dict[Any, set[str]]]] = {}
        self._answers: dict[tuple[Any, ...], Answers] = {}
        self._asked: set[tuple[Any, ...]] = set()

    def see(self, nodes: Mapping[str, NodeSeen]) -> frozenset[str]:
        """Take in how the nodes are now; who is new, another than before, or gone."""
        is_same_row = list(self) == list(nodes)
        if is_same_row:
            changed = frozenset(compress(nodes, map(is_not, self.values(), nodes.values())))
        elif not self:
            changed = frozenset(nodes)
        else:
            gone = self.keys() - nodes.keys()
            changed = frozenset(name for name, node in nodes.items() if self.get(name) is not node) | gone
        if len(changed) * MANY > len(nodes):
            self._groups.clear()
        for trait, (given, groups) in self._groups.items():
            self._regroup(trait, given, groups, changed, nodes)
        # What was not asked in the last pass is hardly asked again, and would be kept for ever.
        self._answers = {asked: self._answers[asked] for asked in self._asked}
        self._asked = set()
        for answers in self._answers.values():
            for name in changed:
                answers.pop(name, None)
        if is_same_row:
            self.update({name: nodes[name] for name in changed})
        else:
            self.clear()
            self.update(nodes)
        return changed

    def by(self, trait: Callable[..., T], *given: object) -> Mapping[T, AbstractSet[str]]:
        """The names by what a trait says, as in the function of the same name."""
        found = self._groups.get(trait)
        if found is None or found[0] != given:
            found = self._groups[trait] = given, _groups(self, trait, given)
        return found[1]

    def answers(self, trait: Callable[..., object], *given: Hashable) -> Answers:
        """What a trait says of each, worked out when it is asked for."""
        asked = (trait, *given)
        if asked not in self._answers:
            self._answers[asked] = Answers(self, trait, given)
        self._asked.add(asked)
        return self._answers[asked]

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


class Answers(dict[str, Any]):
    """What one trait says, by name."""

    def __init__(self, nodes: Mapping[str, NodeSeen], trait: Callable[..., object], given: tuple[object, ...]) -> None:
        super().__init__()
        self._nodes, self._trait, self._given = nodes, trait, given

    def __missing__(self, name: str) -> Any:
        self[name] = answer = self._trait(self._nodes[name], *self._given)
        return answer


def _groups(nodes: Mapping[str, NodeSeen], trait: Callable[..., T], given: tuple[object, ...]) -> dict[T, set[str]]:
    values = [trait(node, *given) for node in nodes.values()] if given else list(map(trait, nodes.values()))
    if len(kinds := set(values)) == 1:
        return {kinds.pop(): set(nodes)}
    groups: dict[T, set[str]] = defaultdict(set)
    for name, value in zip(nodes, values, strict=True):
        groups[value].add(name)
    return dict(groups)
