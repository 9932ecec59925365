"""What is asked for: a signal of ours, and the metrics that tell it. No I/O.

Law of this file: a query selects samples and computes nothing. PromQL's functions look across gaps, guess at the edges
of a window and forget where a value came from; what is made of samples is made in core, where it can be tested.

Tests: tests/adapters/prometheus/test_queries.py
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from seatrial.core.base.values import dataclass
from seatrial.core.model.gates.signals import Signal

INSTANCE = "instance"
"""The label in which a port may stand behind the name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One signal, and where it is found."""

    signal: Signal
    metrics: tuple[str, ...]
    """Its names, of which a cluster has one: exporters rename what they tell."""

    def selector(self, label: str, nodes: Iterable[str], matchers: str = "") -> str:
        """The series of these nodes, where this label names them and the matchers hold."""
        of_nodes = _one_of(nodes) + ("(:[0-9]+)?" if label.endswith(INSTANCE) else "")
        parts = [f'__name__=~"{_one_of(self.metrics)}"', f'{label}=~"{of_nodes}"']
        return "{" + ",".join([*parts, *([matchers] if matchers else [])]) + "}"


def over(selector: str, seconds: float) -> str:
    """Every sample of the last so many seconds."""
    return f"{selector}[{max(round(seconds * 1000), 1)}ms]"


def _one_of(words: Collection[str] | Iterable[str]) -> str:
    # Letters, digits, dashes and dots are all that names of nodes and metrics have; a dot means any letter otherwise.
    return "(" + "|".join(word.replace(".", "\\\\.") for word in sorted(words)) + ")"
