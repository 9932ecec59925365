"""Rules that remember: a rule asked about ten thousand stacks reads few different values, and answers each only once.

A rule is a pure function of the stacks it is given, so its answer depends on what it read and on nothing else.
`AnswerCache` watches which components a rule reads, in which order, and keeps the answers in a tree:

    gpuop-openshift   reads gpu_operator ── v25.3.4 ── reads openshift ── 4.16.23 ── (ok)
                                        │                            └── 4.20.34 ── (warn)
                                        └── v26.7.0 ── reads openshift ── …

Values are told apart by identity, not by comparison: whoever asks keeps its values alive, and uses one object for one
version. A rule that reads everything gains nothing here, and loses little.

Tests: tests/core/compat/test_plan_memory.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from seatrial.core.compat.findings import Finding
from seatrial.core.compat.matrix import Component, Hardware, Stack, Value

Values: TypeAlias = Mapping[Component, Value]
Rule: TypeAlias = Callable[..., Iterable[Finding]]
"""Takes one stack, or the stacks before and after a change."""

Question: TypeAlias = tuple[int, Component]
"""Which stack, which component."""


@dataclass(slots=True, kw_only=True)
class _Fork:
    """What a rule reads next, and where each value leads."""

    question: Question
    leads_to: dict[int, _Fork | _Leaf] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Leaf:
    answer: tuple[Finding, ...]


class AnswerCache:
    """One rule and the answers it has given."""

    def __init__(self, rule: Rule, hardware: Hardware) -> None:
        self._rule = rule
        self._hardware = hardware
        self._root: _Fork | _Leaf | None = None
        self.reads: set[Component] = set()
        """Every component the rule has read so far, in whichever stack."""

    def ask(self, *stacks: Values) -> tuple[Finding, ...]:
        """The rule's findings, computed the first time only."""
        node = self._root
        while isinstance(node, _Fork):
            side, component = node.question
            node = node.leads_to.get(id(stacks[side].get(component)))
        return self._learn(stacks) if node is None else node.answer

    def _learn(self, stacks: Sequence[Values]) -> tuple[Finding, ...]:
        asked: dict[Question, int] = {}
        watched = [
            Stack(values=_Watched(values, side, asked), hardware=self._hardware) for side, values in enumerate(stacks)
        ]
        leaf = _Leaf(answer=tuple(self._rule(*watched)))
        self.reads.update(component for _, component in asked)
        node: _Fork | None = None
        came_by = 0
        for question, value in asked.items():
            below = self._root if node is None else node.leads_to.get(came_by)
            if not isinstance(below, _Fork):
                below = _Fork(question=question)
                self._hang(node, came_by, below)
            node, came_by = below, value
        self._hang(node, came_by, leaf)
        return leaf.answer

    def _hang(self, node: _Fork | None, came_by: int, what: _Fork | _Leaf) -> None:
        if node is None:
            self._root = what
        else:
            node.leads_to[came_by] = what


class _Watched(Mapping[Component, Value]):
    """The values of a stack, noting every question asked."""

    def __init__(self, values: Values, side: int, asked: dict[Question, int]) -> None:
        self._values = values
        self._side = side
        self._asked = asked

    def __getitem__(self, component: Component) -> Value:
        self._note(component)
        return self._values[component]

    def __contains__(self, component: object) -> bool:
        if isinstance(component, Component):
            self._note(component)
        return component in self._values

    def __iter__(self) -> Iterator[Component]:
        for component in Component:  # what is absent was seen to be absent
            self._note(component)
        return iter(self._values)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _note(self, component: Component) -> None:
        self._asked.setdefault((self._side, component), id(self._values.get(component)))
