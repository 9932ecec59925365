"""Telemetry: what a monitoring system has seen of nodes and GPUs over a stretch of time.

Law of this file: a gap is a gap. Points are as they were scraped, and the time between two of them is covered only
where they are no further apart than the series promises; what an exporter did not tell is not filled in.

Tests: tests/core/model/test_telemetry.py
"""

from __future__ import annotations

from itertools import pairwise

from seatrial.core.base.values import dataclass
from seatrial.core.model.gates.figures import Unmeasured
from seatrial.core.model.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One figure of one GPU, or of one node, over time."""

    name: str
    node: str
    gap_seconds: float
    """Two points further apart than this have a gap between them."""
    points: tuple[tuple[Instant, float], ...] = ()
    """When and what, in order of time."""
    gpu: str = ""

    def covered(self, since: Instant, until: Instant) -> tuple[tuple[Instant, Instant], ...]:
        """The stretches between two instants for which there is data, in order."""
        found: list[tuple[Instant, Instant]] = []
        for (start, _), (end, _) in pairwise(self.points):
            low, high = max(start, since), min(end, until)
            if end - start > self.gap_seconds or low >= high:
                continue
            if found and found[-1][1] == low:
                found[-1] = found[-1][0], high
            else:
                found.append((low, high))
        return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Telemetry:
    """What was told of one stretch of time, and what could not be."""

    since: Instant
    until: Instant
    series: tuple[Series, ...] = ()
    unmeasured: tuple[Unmeasured, ...] = ()
    """What was asked for and not told, and why: a wrong query, no series, a silent exporter, a clock that is off."""

    def covered_seconds(self, name: str, node: str) -> float:
        """For how long every GPU of a node that has this series was watched; nothing where no series is there."""
        of_node = [each for each in self.series if (each.name, each.node) == (name, node)]
        return min(
            (sum(end - start for start, end in each.covered(self.since, self.until)) for each in of_node),
            default=0.0,
        )

    def watched_until(self, name: str, node: str) -> Instant:
        """Where the next look at a node begins: at the last sample that all of its GPUs have, and no later.

        The time behind it is covered by the sample that comes next, and by this look not at all; a next one that begins
        at `until` would lose it, which adds up to a good part of all time where looks are as frequent as scrapes.
        """
        of_node = [each for each in self.series if (each.name, each.node) == (name, node)]
        ends = [each.points[-1][0] if each.points else self.since for each in of_node]
        return min(max(min(ends, default=self.since), self.since), self.until)
