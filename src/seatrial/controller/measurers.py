"""Who measures which gate: a Job on the node, or whoever else its kind says.

Law of this file: it knows where a gate goes, and nothing of how it is measured.

Tests: tests/controller/test_measurers.py
"""

from __future__ import annotations

from dataclasses import dataclass

from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.ports import Measurer, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurers:
    """A measurer for every kind of gate."""

    jobs: Measurer
    prometheus: Measurer

    async def measure(self, act: StartProbe, /) -> Outcome:
        chosen = self.prometheus if act.gate.prometheus is not None else self.jobs
        return await chosen.measure(act)
