"""A monitoring system beside a World: what it would have scraped of nodes, with silences and errors in store.

Law of this file: it tells samples, as a real one does, and sums nothing up; what is made of them is made by the same
rules as live. Whoever looks begins where the rollout's record ends, and looks at the record's canaries and controls.

Tests: tests/sim/test_monitoring.py
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.campaign.proving import exposing
from seatrial.core.judging.exposure import UTILISATION
from seatrial.core.judging.stretches import LONGEST_SECONDS, WATCHED, stretch_of
from seatrial.core.model.campaign import CampaignRecord
from seatrial.core.model.gates.exposed import TelemetryFacts
from seatrial.core.model.gates.figures import Unmeasured
from seatrial.core.model.gates.telemetry import Series, Telemetry
from seatrial.core.model.instants import Instant

SCRAPE_SECONDS: Final = 30.0
GAP_SECONDS: Final = 1.5 * SCRAPE_SECONDS
GPUS: Final = ("GPU-0", "GPU-1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """Nobody hears of these nodes between two instants; of nobody at all where none is named."""

    since: Instant
    until: Instant
    nodes: tuple[str, ...] = ()

    def covers(self, node: str, at: Instant) -> bool:
        return self.since <= at < self.until and (not self.nodes or node in self.nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Error:
    """A signal rises on a node, by one."""

    at: Instant
    node: str
    signal: str = "ecc-uncorrected-volatile"


@dataclass(frozen=True, slots=True, kw_only=True)
class Monitoring:
    """What is in store for whoever watches."""

    silences: tuple[Silence, ...] = ()
    errors: tuple[Error, ...] = ()
    utilisation: float = 80.0

    def looked(self, record: CampaignRecord | None, now: Instant) -> TelemetryFacts:
        """What somebody shows who has looked just now."""
        exposed = record.exposed if record is not None and record.phase in exposing.WATCHED else None
        if exposed is None:
            return TelemetryFacts()
        nodes = exposed.nodes
        until = min(now, exposed.watched_until + LONGEST_SECONDS)
        return TelemetryFacts(stretch=stretch_of(self.told(nodes, exposed.watched_until, until), nodes))

    async def watch(self, nodes: Collection[str], since: Instant, until: Instant) -> Telemetry:
        """The port of whoever watches."""
        return self.told(nodes, since, until)

    def told(self, nodes: Iterable[str], since: Instant, until: Instant) -> Telemetry:
        """The samples between two instants, and the last before them."""
        series, unmeasured = [], []
        for node in nodes:
            times = [at for at in _scrapes(since, until) if not any(each.covers(node, at) for each in self.silences)]
            if not any(at > since for at in times):
                unmeasured.append(Unmeasured(name=UTILISATION, node=node, why="its exporter is silent"))
            series += [self._series(name, node, gpu, times) for name in WATCHED for gpu in GPUS]
        return Telemetry(since=since, until=until, series=tuple(series), unmeasured=tuple(unmeasured))

    def _series(self, name: str, node: str, gpu: str, times: Iterable[Instant]) -> Series:
        errors = [each.at for each in self.errors if (each.node, each.signal) == (node, name) and gpu == GPUS[0]]
        values = (
            (at, self.utilisation if name == UTILISATION else float(sum(error <= at for error in errors)))
            for at in times
        )
        return Series(name=name, node=node, gpu=gpu, gap_seconds=GAP_SECONDS, points=tuple(values))


def _scrapes(since: Instant, until: Instant) -> Iterable[Instant]:
    number = since // SCRAPE_SECONDS
    while number * SCRAPE_SECONDS <= until:
        yield number * SCRAPE_SECONDS
        number += 1
