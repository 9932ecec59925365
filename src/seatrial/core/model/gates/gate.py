"""Gates: an adapter measures, the core judges. Unknown is never a pass.

A gate is asked in rounds: first when the canary runs the new driver, then again and again while it bakes. In a round a
measurement that cannot be had is asked for anew, a few times; after that the round stays without a verdict, and the
rollout waits and says so. Tests: tests/core/test_gates.py
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from seatrial.core.model.instants import Instant
from seatrial.core.text import foreign

PREPULL: Final = "prepull"
"""The Job that brings a driver's image to a node before it is moved: measured like a gate, and no gate of anybody's."""
READINESS: Final = "readiness"
"""The gate that every canary has: it runs the new driver, and is proven as any other node."""
TRIES_MAX: Final = 3
"""How often one round asks a gate that cannot be measured."""
DETAIL_MAX: Final = 500
"""How much of what a gate said is kept; its Job keeps all of it for a day."""
DETAILS_MAX: Final = 50_000
"""How much of what all gates said on all canaries is kept: the status is one object, and its size has a limit."""


class GateVerdict(StrEnum):
    """A gate's answer, the worst last."""

    PASSED = "passed"
    PENDING = "pending"
    UNKNOWN = "unknown"
    FAILED = "failed"


_ORDER: Final = tuple(GateVerdict)


def worst(verdicts: Iterable[GateVerdict]) -> GateVerdict:
    """The worst of these; of none, unknown: nobody was asked."""
    return max(verdicts, key=_ORDER.index, default=GateVerdict.UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A check that the canary has to pass: a Job of any image on the node, which passes when it completes."""

    name: str
    image: str
    command: tuple[str, ...] = ()
    gpus: int = 1
    timeout_seconds: float = 600.0

    @property
    def mark(self) -> str:
        """What tells it from another gate under the same name; how long it may take does not."""
        told = ascii((self.image, self.command, self.gpus))
        return hashlib.sha256(told.encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What was measured for a gate on a node, in one try of one round."""

    gate: str
    node: str
    round: int
    attempt: int
    verdict: GateVerdict
    detail: str = ""
    """What it said; for a failure the evidence, and for one that is pending why its pod is not let in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """A gate's verdict on a node, as it is kept."""

    gate: str
    node: str
    round: int
    verdict: GateVerdict
    detail: str = ""
    at: Instant = 0.0
    asked: str = ""
    """The mark of the gate as it was asked; the same name may stand for another gate later."""


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
    last = max(tries, key=lambda each: each.attempt)
    last = replace(last, detail=foreign.line(last.detail, length_max))
    if last.verdict is not GateVerdict.UNKNOWN:
        return Judged(verdict=last.verdict, detail=last.detail)
    if last.attempt < TRIES_MAX:
        return Judged(verdict=GateVerdict.PENDING, detail=last.detail, due=last.attempt + 1)
    return Judged(verdict=GateVerdict.UNKNOWN, detail=last.detail)
