"""Who measures which gate: a Job on the node, or whoever else its kind says.

Law of this file: it knows where a gate goes, and nothing of how it is measured.

Tests: tests/controller/test_measurers.py
"""

from __future__ import annotations

from typing import Protocol

from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.base.values import dataclass
from seatrial.core.model.gates.gate import Gate, Measurement
from seatrial.ports import Measurer, Outcome


class Remembering(Measurer, Protocol):
    """A measurer whose answers are in no cluster."""

    def measurements(self, uid: str) -> tuple[Measurement, ...]:
        """What was answered for a rollout."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Askers:
    """Who answers where no Job does."""

    prometheus: Remembering
    expressions: Remembering
    webhooks: Remembering

    def of(self, gate: Gate) -> Remembering | None:
        """Who answers a gate; None where a Job does."""
        if gate.prometheus is not None:
            return self.prometheus
        return self.expressions if gate.expression else self.webhooks if gate.webhook else None

    def measurements(self, uid: str) -> tuple[Measurement, ...]:
        """What was answered for a rollout by any of them."""
        every = (self.prometheus, self.expressions, self.webhooks)
        return tuple(found for each in every for found in each.measurements(uid))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurers:
    """A measurer for every kind of gate."""

    jobs: Measurer
    askers: Askers

    async def measure(self, act: StartProbe, /) -> Outcome:
        return await (self.askers.of(act.gate) or self.jobs).measure(act)
