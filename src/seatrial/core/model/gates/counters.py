"""Counters: how far one rose, from the very samples that were scraped.

Law of this file: what nobody saw is not made up. Prometheus' `increase()` stretches what lies between the first and the
last sample to the edges of the window: one ECC error becomes 1.07 errors or 1.5, none at all where the window holds one
sample, and a gap is bridged without a word. Errors are whole, and few: here each rise that was seen counts once, and a
rise that cannot have been seen whole says that it is the least it was.

    3  3  5 ┊ 9   1  2        increase 2 + 4 + 1 + 1 = 8: the fall is a restart, which counts from nought
            └ a gap           at least 8: what was counted in the gap and lost by a restart there is not known

Tests: tests/core/test_counters.py
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from seatrial.core.model.gates.figures import Unmeasured
from seatrial.core.model.gates.telemetry import Series
from seatrial.core.model.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Increase:
    """How far a counter rose between two samples of it."""

    value: float
    since: Instant
    until: Instant
    """When the two samples were taken: nothing is said of the time before and after."""
    restarts: tuple[Instant, ...] = ()
    """When it was seen to stand lower than before: a driver was loaded, an exporter or a GPU reset."""
    gap_seconds: float = 0.0
    """How much of the time in between nobody looked."""

    @property
    def is_whole(self) -> bool:
        """Whether it is all that rose in between; otherwise it is at least that."""
        return not self.restarts and not self.gap_seconds


def increase(series: Series, since: Instant, until: Instant) -> Increase | Unmeasured:
    """How far a counter rose within a stretch of time, counted from the last sample before it where there is one."""
    points = _from_before(series, since, until)
    if len(points) < 2:
        seen = "one sample" if points else "no sample"
        why = f"a rise takes two samples, and there is {seen}"
        return Unmeasured(name=series.name, node=series.node, gpu=series.gpu, why=why)
    risen, restarts, gap = 0.0, list[Instant](), 0.0
    for (start, before), (end, value) in pairwise(points):
        risen += value - before if value >= before else value
        if value < before:
            restarts.append(end)
        if end - start > series.gap_seconds:
            gap += end - start
    return Increase(value=risen, since=points[0][0], until=points[-1][0], restarts=tuple(restarts), gap_seconds=gap)


def told(series: Series, since: Instant, until: Instant) -> tuple[tuple[Instant, int], ...]:
    """The codes that came up within a stretch of time, and when they were first seen, where the last one is kept.

    At least these: the same code twice in a row is seen once. One that stood there at the first sample is old.
    """
    points = _from_before(series, since, until)
    return tuple((at, int(code)) for (_, before), (at, code) in pairwise(points) if code not in (0.0, before))


def _from_before(series: Series, since: Instant, until: Instant) -> tuple[tuple[Instant, float], ...]:
    before = [each for each in series.points if each[0] <= since]
    within = [each for each in series.points if since < each[0] <= until]
    return (*before[-1:], *within)
