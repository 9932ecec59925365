"""What is wrong with a matrix, in the order it is found: each with its line, a rule's name and what to do next.

Tests: tests/adapters/files/test_matrix_yaml.py
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from seatrial.adapters.files import yaml_tree as tree
from seatrial.core.compat.findings import Finding, Verdict
from seatrial.core.compat.matrix import Span
from seatrial.core.text import foreign
from seatrial.core.text.names import a_few

FINDINGS_MAX: Final = 100

KINDS: Final = {"int": "a number", "float": "a number", "bool": "true or false", "timestamp": "a date"}


@dataclass(slots=True)
class Findings:
    """Collects what is wrong with one text."""

    places: tree.Places
    layer: tree.Layer
    """The one whose offsets are counted in; a matrix may lie inside of another document."""
    found: list[Finding] = field(default_factory=list)

    def told(self) -> tuple[Finding, ...]:
        """The findings in the order of the file, as many as anybody can read."""
        if len(self.found) <= FINDINGS_MAX:
            return tuple(sorted(self.found, key=lambda finding: finding.spans[0]))
        more = Finding(
            rule="too-many-findings",
            verdict=Verdict.FAIL,
            message=f"There are more than {FINDINGS_MAX} findings; the rest is left out.",
            next_step="Correct these first, or check that this file is meant to be a matrix.",
            spans=self.found[FINDINGS_MAX].spans,
        )
        return (*self.found[:FINDINGS_MAX], more)

    def unknown_keys(self, node: tree.MappingNode, place: str, known: Sequence[str]) -> None:
        """Say of every key that is none of these that it is not known."""
        for pair in node.pairs:
            if pair.key.text not in known:
                self.unknown(pair, place, known)

    def unknown(self, pair: tree.Pair, place: str, known: Sequence[str]) -> None:
        """Say that a key is not known, and which one may be meant."""
        if len(self.found) > FINDINGS_MAX:
            return  # looking for a similar name takes its time
        name = pair.key.text
        self.add(
            "unknown-key",
            Verdict.FAIL,
            f"`{cut(name)}` is not a key of {place}.",
            did_you_mean(name, known) or f"Remove it; there is {listed(known)}.",
            [self.span(pair.key.start)],
        )

    def twice(self, pair: tree.Pair, what: str, first: str, also: Span) -> None:
        """Say that something is given a second time."""
        self.add(
            "duplicate-key",
            Verdict.FAIL,
            f"`{cut(pair.key.text)}` gives {what} a second time; {cut(first)} came first, and counts.",
            "Keep one of the two.",
            [self.span(pair.key.start), also],
        )

    def wrong_type(self, pair: tree.Pair, wanted: str, next_step: str) -> None:
        """Say that a value is not of the kind it should be."""
        self.add(
            "wrong-type",
            Verdict.FAIL,
            f"`{cut(pair.key.text)}` is {described(pair.value)}; it should be {wanted}.",
            next_step,
            [self.span(pair.value.start)],
        )

    def bad_date(self, name: str, node: tree.ScalarNode) -> None:
        """Say that a date is none."""
        self.add(
            "date-unreadable",
            Verdict.FAIL,
            f"`{name}` is {cut(node.text)!r}, which is not a calendar date.",
            "Write it as YYYY-MM-DD.",
            [self.span(node.start)],
        )

    def add(self, rule: str, verdict: Verdict, message: str, next_step: str, spans: Iterable[Span]) -> None:
        """Say one thing that is wrong."""
        if len(self.found) <= FINDINGS_MAX:
            self.found.append(
                Finding(
                    rule=rule,
                    verdict=verdict,
                    message=foreign.line(message),
                    next_step=foreign.line(next_step),
                    spans=tuple(spans),
                )
            )

    def span(self, offset: int) -> Span:
        """Where an offset of the layer is in the file."""
        return self.places.span(self.layer.at(offset))


def is_null(node: tree.Node) -> bool:
    """Whether a key has no value."""
    return isinstance(node, tree.ScalarNode) and node.kind == "null"


def described(node: tree.Node) -> str:
    """What kind of value it is."""
    match node:
        case tree.MappingNode():
            return "a mapping"
        case tree.SequenceNode():
            return "a list"
        case _ if is_null(node):
            return "empty"
        case _:
            return KINDS.get(node.kind, "a text")


def close(name: str, known: Sequence[str]) -> list[str]:
    """The known name that this may be meant to be."""
    return difflib.get_close_matches(name[:40].lower().replace("-", "_"), known, 1, 0.7)


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """Advice where a known name is close; empty where none is."""
    near = close(name, known)
    return f"Did you mean `{near[0]}`?" if near else ""


def listed(names: Sequence[str]) -> str:
    """Names, as many as anybody reads."""
    return a_few([f"`{cut(name)}`" for name in names], 12, none="none")


def cut(text: str) -> str:
    """The beginning of a text."""
    return text if len(text) <= 60 else f"{text[:60]}…"
