"""The tries of one round: a measurement that cannot be had is asked for anew, a few times, and then is unknown.

A gate is asked in rounds: first when the canary runs the new driver, then again and again while it bakes. A round that
stays without a verdict is waited for, and the rollout says so. A gate that asks for figures has passed only when they
are there and keep their limits (limits.py). Tests: tests/core/judging/test_gates.py
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from seatrial.core.base.values import dataclass, replace
from seatrial.core.judging import limits
from seatrial.core.model.gates.gate import Gate, GateVerdict, Measurement
from seatrial.core.text import foreign

TRIES_MAX: Final = 3
"""How often one round asks a gate that cannot be measured."""
DETAIL_MAX: Final = 500
"""How much of what a gate said is kept; its Job keeps all of it for a day."""
DETAILS_MAX: Final = 50_000
"""How much of what all gates said on all canaries is kept: the status is one object, and its size has a limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What one gate says of one node in one round, and which try is due, if one is."""

    verdict: GateVerdict
    detail: str = ""
    due: int | None = None


def detail_max(asked_count: int) -> int:
    """How much is kept of what one gate said on one node, where so many are asked."""
    return min(DETAIL_MAX, DETAILS_MAX // max(1, asked_count))


def judge(gate: Gate, node: str, number: int, measured: Iterable[Measurement], length_max: int = DETAIL_MAX) -> Judged:
    """The verdict of a round: the last try's, which is due anew while it is unknown and tries are left."""
    tries = [each for each in measured if (each.gate, each.node, each.round) == (gate.name, node, number)]
    if not tries:
        return Judged(verdict=GateVerdict.PENDING, due=1)
    last = limits.held_to(gate, max(tries, key=lambda each: each.attempt))
    last = replace(last, detail=foreign.line(last.detail, length_max))
    if last.verdict is not GateVerdict.UNKNOWN:
        return Judged(verdict=last.verdict, detail=last.detail)
    if last.attempt < TRIES_MAX:
        return Judged(verdict=GateVerdict.PENDING, detail=last.detail, due=last.attempt + 1)
    return Judged(verdict=GateVerdict.UNKNOWN, detail=last.detail)
