"""Nodes that one job holds, or that are one unit, are closed, evicted and given back together.

Tests: tests/core/budget/test_attrition.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from seatrial.core.budget.attrition.values import Job, Load


class Group(NamedTuple):
    """Nodes that belong together for the jobs on them; one by itself where no gang holds it."""

    nodes: tuple[Load, ...]
    jobs: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(node.name for node in self.nodes)

    @property
    def busy(self) -> int:
        return sum(node.busy for node in self.nodes)

    @property
    def idle(self) -> int:
        return sum(node.idle for node in self.nodes)

    @property
    def is_free_to_close(self) -> bool:
        """Whether nothing stands idle until all of it is empty: full, and one job on it."""
        return len(self.jobs) == 1 and not self.idle


def grouped(nodes: Iterable[Load], all_nodes: Mapping[str, Load], jobs: Mapping[str, Job]) -> list[Group]:
    """These nodes with whom they belong together; nodes that are through, or not ours, are left out."""
    found: list[Group] = []
    seen: set[str] = set()
    units: dict[str, list[Load]] = {}
    for each in all_nodes.values():
        if each.unit:
            units.setdefault(each.unit, []).append(each)
    for node in nodes:
        if node.name in seen:
            continue
        members, waiting, inside = {node.name: node}, [node], set()
        while waiting:
            each = waiting.pop()
            for other in units.get(each.unit, ()):
                if other.name not in members:
                    members[other.name] = other
                    waiting.append(other)
            for name in each.jobs:
                if name in inside:
                    continue
                inside.add(name)
                for held, _ in jobs[name].parts:
                    if held not in members and held in all_nodes:
                        members[held] = all_nodes[held]
                        waiting.append(all_nodes[held])
        seen.update(members)
        found.append(Group(tuple(members.values()), tuple(sorted(inside))))
    return found
