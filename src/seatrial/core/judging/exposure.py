"""Exposure: for how long a node was watched, and for how many GPU-hours it worked meanwhile.

Law of this file: only time with data counts. Two hours of which one was watched are one hour; a GPU that nobody saw
working did not work; and a stretch counts once, however often its telemetry is told. A stretch of a GPU is under load
where its utilisation was at least LOAD_MIN at both ends and somebody's pods were seen on the node.

Tests: tests/core/judging/test_judging_exposure.py
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Final

from seatrial.core.model.gates.exposed import Exposure, Watch
from seatrial.core.model.gates.telemetry import Series, Telemetry
from seatrial.core.model.instants import Instant

UTILISATION: Final = "load"
"""The signal that says for how much of the time a GPU worked, in percent."""
LOAD_MIN: Final = 10.0
HOUR: Final = 3600.0


def summed_up(seen: Telemetry, node: str, since: Instant, until: Instant) -> Watch:
    """How long a node was watched between two instants, and how much of that it worked; events are not in it."""
    own = [each for each in seen.series if (each.name, each.node) == (UTILISATION, node)]
    start = max(since, seen.since)
    fresh = replace(seen, since=min(start, until), until=until)
    return Watch(
        node=node,
        seconds=fresh.covered_seconds(UTILISATION, node),
        gpu_hours=sum(_seconds(series, start, until) for series in own) / HOUR,
        busy_gpu_hours=sum(_seconds(series, start, until, LOAD_MIN) for series in own) / HOUR,
    )


def added(exposure: Exposure, watch: Watch, *, has_pods: bool, is_ours: bool = False) -> Exposure:
    """With one more stretch; without pods on the node nobody worked there, whatever was at work."""
    worked = watch.busy_gpu_hours if has_pods else 0.0
    return replace(
        exposure,
        watched_seconds=exposure.watched_seconds + watch.seconds,
        watched_gpu_hours=exposure.watched_gpu_hours + watch.gpu_hours,
        loaded_gpu_hours=exposure.loaded_gpu_hours + worked,
        soaked_gpu_hours=exposure.soaked_gpu_hours + (worked if is_ours else 0.0),
    )


def steps(series: Series, since: Instant, until: Instant) -> Iterator[tuple[float, float, float]]:
    """Every stretch between two points without a gap: how many seconds of it are ours, and the values at its ends."""
    for (start, first), (end, last) in pairwise(series.points):
        seconds = min(end, until) - max(start, since)
        if end - start <= series.gap_seconds and seconds > 0:
            yield seconds, first, last


def _seconds(series: Series, since: Instant, until: Instant, value_min: float = 0.0) -> float:
    return sum(seconds for seconds, *ends in steps(series, since, until) if min(ends) >= value_min)
