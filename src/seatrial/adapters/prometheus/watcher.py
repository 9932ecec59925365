"""Watches nodes and GPUs through a Prometheus: all samples of a stretch of time, and a reason where there is none.

Law of this file: nothing is raised. Whatever goes wrong is `Unmeasured` for the signals and nodes it went wrong for.

Tests: tests/adapters/prometheus/test_watcher.py, with a real Prometheus
"""

from __future__ import annotations

from collections.abc import Collection

from seatrial.adapters.prometheus import dcgm
from seatrial.adapters.prometheus.calling import TIMEOUT_SECONDS, calling
from seatrial.adapters.prometheus.errors import PrometheusError
from seatrial.adapters.prometheus.looking import Look
from seatrial.adapters.prometheus.places import Place
from seatrial.adapters.prometheus.queries import Query
from seatrial.core.base.values import dataclass
from seatrial.core.model.gates.telemetry import Telemetry
from seatrial.core.model.instants import Instant
from seatrial.ports import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class PrometheusWatcher:
    """Asks one Prometheus about nodes."""

    place: Place
    clock: Clock
    queries: tuple[Query, ...] = dcgm.QUERIES
    interval_seconds: float | None = None
    """How often exporters are scraped, where it cannot say itself: what stands before several has no targets."""
    node_label: str = ""
    """The one label that names the node, where several do."""
    timeout_seconds: float = TIMEOUT_SECONDS

    async def watch(self, nodes: Collection[str], since: Instant, until: Instant) -> Telemetry:
        """Every sample of these nodes between two instants, and the last before them; and what could not be had."""
        look = Look(
            nodes=frozenset(nodes),
            since=since,
            until=until,
            interval_seconds=self.interval_seconds,
            node_label=self.node_label,
            matchers=self.place.matchers,
        )
        if nodes and since < until:
            try:
                async with calling(self.place, timeout_seconds=self.timeout_seconds) as caller:
                    await look.at_all(self.queries, caller, self.clock)
            except PrometheusError as err:  # its secret, or its authority: nobody was asked
                look.lacks(self.queries, nodes, str(err))
        return Telemetry(since=since, until=until, series=tuple(look.series), unmeasured=tuple(look.unmeasured))
