"""A busy cluster that nobody has seen: nodes all alike, with jobs of a kind (traces.py) at the same load.

Tests: tests/sim/test_frontier.py
"""

from __future__ import annotations

from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.sim.forecast.busy import traces
from seatrial.sim.forecast.busy.cluster import RELOAD
from seatrial.sim.forecast.busy.playing import Warm, warm
from seatrial.sim.forecast.busy.traces import HOUR, Kind

MADE_FOR: Final = 1024
"""GPUs that the kinds are written for."""
WARM_HOURS: Final = {"published": 24.0}
"""At work before the upgrade begins: a queue that is never empty is soon as it stays."""
WARM_LONG: Final = 168.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Imagined:
    """Nodes all alike, at work since days."""

    kind: Kind
    count: int
    gpus: int = 8
    reload_seconds: float = RELOAD

    def begin(self, seed: int, until: float) -> Warm:
        """The cluster after days of work, and who comes; the same for the same seed."""
        hours = WARM_HOURS.get(self.kind.name, WARM_LONG)
        begun = warm(self.scaled, seed, hours, hours * HOUR + until, self.count, self.gpus)
        begun[0].reload_seconds = self.reload_seconds
        return begun

    def past(self, seed: int, owner: str) -> tuple[float, ...]:
        """How long finished jobs of an owner ran."""
        return traces.past(self.scaled, seed, owner)

    @property
    def scaled(self) -> Kind:
        """The kind at the same load on these GPUs."""
        return traces.scaled(self.kind, self.count * self.gpus / MADE_FOR)
