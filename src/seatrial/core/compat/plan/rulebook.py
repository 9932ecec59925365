"""The rules as a plan needs them: asked thousands of times, answered in short, each answer kept.

An Opinion says which rules fail and how many doubts remain; the findings themselves are there for the asking.

Tests: tests/core/compat/test_plan.py
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from functools import partial
from typing import Final

from seatrial.core.base.values import dataclass, replace
from seatrial.core.compat import rules
from seatrial.core.compat.facts import Facts
from seatrial.core.compat.findings import Finding, Verdict, worst
from seatrial.core.compat.matrix import COMPONENTS, GROUPS, Component, Group, Hardware, Stack, Value
from seatrial.core.compat.plan.memory import AnswerCache, Rule, Values
from seatrial.core.compat.plan.search import NO_DOUBTS, Doubts
from seatrial.core.compat.rules import change
from seatrial.core.compat.rules.cases import Case, Step

_DOUBTFUL: Final = (Verdict.WARN, Verdict.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Opinion:
    """What the rules say about one stack or one change."""

    failing: frozenset[str] = frozenset()
    """The rules that fail."""
    doubts: Doubts = NO_DOUBTS


def stack_rules(facts: Facts, on: date) -> list[Rule]:
    """The built-in rules on one stack, each on its own.

    What is vulnerable forbids no station: the way out may lead over releases that are. A plan that ends on one is
    refused by make_plan.
    """
    without = replace(facts, vulnerabilities=())
    return [partial(_on_stack, rule, without if rule is rules.KNOWN_BAD else facts, on) for rule in rules.STACK_RULES]


def change_rules(facts: Facts, on: date) -> list[Rule]:
    """The built-in rules on a change, each on its own."""
    return [partial(_on_change, rule, facts, on) for rule in rules.CHANGE_RULES]


def _on_stack(rule: rules.Rule, facts: Facts, on: date, stack: Stack) -> tuple[Finding, ...]:
    found = rule.on_stack(Case(stack=stack, facts=facts, on=on))
    return () if found is None else (found,)


def _on_change(rule: rules.Rule, facts: Facts, on: date, before: Stack, after: Stack) -> tuple[Finding, ...]:
    step = Step(before=Case(stack=before, facts=facts, on=on), after=Case(stack=after, facts=facts, on=on))
    found = rule.on_change(step)
    return () if found is None else (found,)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side(Stack):
    """One side of a change that knows beforehand what moves: every rule asks, and comparing versions is what costs."""

    moved: tuple[Component, ...]

    def differing(self, other: Stack) -> tuple[Component, ...]:
        is_pair = isinstance(other, _Side) and other.moved is self.moved
        return self.moved if is_pair else Stack.differing(self, other)


class _BridgeInShort:
    """The rule about crossings, without its words: asked of each platform step, and made of rules that remember."""

    def __init__(self, facts: Facts, on: date, hardware: Hardware) -> None:
        self._rules = [AnswerCache(partial(_on_stack, rule, facts, on), hardware) for rule in change.BRIDGES]

    def __call__(self, before: Stack, after: Stack) -> tuple[Finding, ...]:
        if not any(_moves(before[part], after[part]) for part in change.PLATFORM):
            return ()
        found = [finding for side in (before, after) for rule in self._rules for finding in rule.ask(_on(side, after))]
        return (Finding(rule=change.BRIDGE.id, verdict=worst(found), message=""),)


def _moves(here: Value | None, there: Value | None) -> bool:
    return here is not None and there is not None and here is not there


def _on(side: Stack, after: Stack) -> Values:
    """The platform of one side under the operators of the stack after."""
    sides = ((part, (side if GROUPS[part] is Group.PLATFORM else after)[part]) for part in change.CROSSED)
    return {part: value for part, value in sides if value is not None}


class Rulebook:
    """All rules, for one hardware."""

    def __init__(
        self,
        hardware: Hardware,
        stack_rules: Sequence[Rule],
        change_rules: Sequence[Rule],
        limits: Sequence[Rule] = (),
        accepted: Iterable[str] = (),
    ) -> None:
        self.hardware = hardware
        self.stack_rules = [AnswerCache(rule, hardware) for rule in stack_rules]
        self._change_rules = (*limits, *change_rules)  # without a memory: they compare whole stacks
        self._short_rules = tuple(map(self._in_short, self._change_rules))
        self._limits = tuple(limits)
        self._accepted = frozenset(accepted)
        self._opinions: dict[int, Opinion] = {}

    def stack_findings(self, values: Values) -> tuple[Finding, ...]:
        """Every finding about a stack."""
        return self.marked(finding for rule in self.stack_rules for finding in rule.ask(values))

    def change_findings(self, before: Values, after: Values) -> tuple[Finding, ...]:
        """Every finding about a change."""
        return self.marked(self._asked(self._change_rules, before, after))

    def on_stack(self, values: Values) -> Opinion:
        """What the rules say about a stack, in short."""
        return add(self.weigh(rule.ask(values)) for rule in self.stack_rules)

    def on_change(self, before: Values, after: Values) -> Opinion:
        """What the rules say about a change, in short."""
        return self._summed(self._asked(self._short_rules, before, after))

    def _in_short(self, rule: Rule) -> Rule:
        if isinstance(rule, partial) and rule.func is _on_change and rule.args[0] is change.BRIDGE:
            _, facts, on = rule.args
            return _BridgeInShort(facts, on, self.hardware)
        return rule

    def on_limits(self, before: Values, after: Values) -> Opinion:
        """What the limits alone say about a change: they are quick, and forbid most of what is forbidden."""
        return self._summed(self._asked(self._limits, before, after))

    def _asked(self, rules_: Sequence[Rule], before: Values, after: Values) -> list[Finding]:
        moved = tuple(part for part in COMPONENTS if before.get(part) is not after.get(part))
        old, new = (_Side(values=values, hardware=self.hardware, moved=moved) for values in (before, after))
        return [finding for rule in rules_ for finding in rule(old, new)]

    def weigh(self, findings: tuple[Finding, ...]) -> Opinion:
        """One rule's findings in short."""
        # A memory hands out the same tuple again and again, and keeps it alive: its identity is a good key.
        opinion = self._opinions.get(id(findings))
        if opinion is None:
            opinion = self._opinions[id(findings)] = self._summed(findings)
        return opinion

    def _summed(self, findings: Sequence[Finding]) -> Opinion:
        verdicts = [each.verdict for each in findings if each.rule not in self._accepted]
        return Opinion(
            frozenset(each.rule for each in findings if each.verdict is Verdict.FAIL),
            Doubts(verdicts.count(Verdict.UNKNOWN), verdicts.count(Verdict.WARN)),
        )

    def marked(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Findings with the mark of those that somebody has accepted."""
        return tuple(
            replace(each, is_accepted=True) if each.rule in self._accepted and each.verdict in _DOUBTFUL else each
            for each in findings
        )


def add(opinions: Iterable[Opinion]) -> Opinion:
    """What several rules say together."""
    failing: frozenset[str] = frozenset()
    unknown_count = warn_count = 0
    for opinion in opinions:
        if opinion.failing:
            failing |= opinion.failing
        unknown_count += opinion.doubts.unknown_count
        warn_count += opinion.doubts.warn_count
    return Opinion(failing, Doubts(unknown_count, warn_count))
