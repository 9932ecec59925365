"""Exposure: for how long a node was watched, and for how many GPU-hours it worked meanwhile.

Law of this file: only time with data counts. Two hours of which one was watched are one hour; a GPU that nobody saw
working did not work; and a stretch counts once, however often its telemetry is told. A stretch of a GPU is under load
where its utilisation was at least LOAD_MIN at both ends and somebody's pods were seen on the node.

Tests: tests/core/test_judging_exposure.py
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from seatrial.core.model.gates.telemetry import Series, Telemetry
from seatrial.core.model.instants import Instant

UTILISATION: Final = "gpu-utilisation"
"""The series that says for how much of the time a GPU worked, in percent."""
LOAD_MIN: Final = 10.0
HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """What was seen of one node so far."""

    node: str
    watched_seconds: float = 0.0
    """Time with data of all of its GPUs."""
    watched_gpu_hours: float = 0.0
    loaded_gpu_hours: float = 0.0

    @property
    def load(self) -> float:
        """The share of what was watched that was under load."""
        return self.loaded_gpu_hours / self.watched_gpu_hours if self.watched_gpu_hours else 0.0

    def added(self, seen: Telemetry, since: Instant, *, has_pods: bool) -> Exposure:
        """With what was told of the time after an instant."""
        own = [each for each in seen.series if (each.name, each.node) == (UTILISATION, self.node)]
        start = max(since, seen.since)
        watched = sum(_seconds(series, start, seen.until) for series in own)
        loaded = sum(_seconds(series, start, seen.until, LOAD_MIN) for series in own) if has_pods else 0.0
        fresh = replace(seen, since=min(start, seen.until))
        return replace(
            self,
            watched_seconds=self.watched_seconds + fresh.covered_seconds(UTILISATION, self.node),
            watched_gpu_hours=self.watched_gpu_hours + watched / HOUR,
            loaded_gpu_hours=self.loaded_gpu_hours + loaded / HOUR,
        )


def steps(series: Series, since: Instant, until: Instant) -> Iterator[tuple[float, float, float]]:
    """Every stretch between two points without a gap: how many seconds of it are ours, and the values at its ends."""
    for (start, first), (end, last) in pairwise(series.points):
        seconds = min(end, until) - max(start, since)
        if end - start <= series.gap_seconds and seconds > 0:
            yield seconds, first, last


def _seconds(series: Series, since: Instant, until: Instant, value_min: float = 0.0) -> float:
    return sum(seconds for seconds, *ends in steps(series, since, until) if min(ends) >= value_min)
