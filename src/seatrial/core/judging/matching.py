"""Matching: which nodes a canary is held against.

Law of this file: a control is of the same product and pool, under the same class of load, and stays as it is. A node
that differs in one of them says nothing about the canary, so none is better than a wrong one.
Tests: tests/core/judging/test_judging_comparing.py
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from seatrial.core.base.values import dataclass

CONTROLS_MAX: Final = 4
"""More of them measure better, and are asked to measure: beyond four the canary's own noise is what is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A node, as far as it matters to whom it may be compared."""

    node: str
    product: str
    pool: str
    load: str = ""
    """The class of its load, such as `training`, `inference`, or empty for idle."""


def controls_for(canary: Peer, peers: Iterable[Peer], count_max: int = CONTROLS_MAX) -> tuple[str, ...]:
    """Who matches the canary, by name, at most so many; who is upgraded himself must not be among the peers."""
    alike = (
        each.node
        for each in peers
        if each.node != canary.node
        and (each.product, each.pool, each.load) == (canary.product, canary.pool, canary.load)
    )
    return tuple(sorted(alike)[:count_max])
