"""Who measures which gate: a Job on the node, or whoever else its kind says.

Law of this file: it knows where a gate goes, and nothing of how it is measured.

Tests: tests/controller/test_measurers.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.model.gates.gate import Measurement
from seatrial.ports import Measurer, Outcome


class Remembering(Measurer, Protocol):
    """A measurer whose answers are in no cluster."""

    def measurements(self, uid: str) -> tuple[Measurement, ...]:
        """What was answered for a rollout."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurers:
    """A measurer for every kind of gate."""

    jobs: Measurer
    prometheus: Remembering
    expressions: Remembering

    async def measure(self, act: StartProbe, /) -> Outcome:
        gate = act.gate
        chosen = self.prometheus if gate.prometheus is not None else self.expressions if gate.expression else self.jobs
        return await chosen.measure(act)
