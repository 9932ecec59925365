"""Given: what an expression is about, a node in one round, put together when it is asked.

Law of this file: values only; who puts them together is core/judging/kinds/expressing.py.
Tests: tests/core/test_expressing.py
"""

from __future__ import annotations

from seatrial.core.base.values import dataclass
from seatrial.core.model.gates.figures import Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What the other gates of the round have said of a node."""

    verdicts: tuple[tuple[str, str], ...] = ()
    """By gate."""
    figures: tuple[tuple[str, Figure], ...] = ()
    """By gate. One that was not measured on every GPU, or is no number on one, is not among them at all."""
    facts: tuple[tuple[str, str], ...] = ()
    """What is seen of the node: its name, the driver that it runs, its product."""
