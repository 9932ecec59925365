"""Rare events: uncorrected ECC errors, Xids, lost rows of memory; as a rate per GPU-hour.

    alarm    e against "the rate is at most what it was expected to be": a gamma mixture over higher rates
    bound    the rate that is excluded so far, at any look: a mixture over lower rates, so that none seen in T hours
             bounds it by about 5.5/T at 99 % (a rule of three that may be looked at every day)

Law of this file: events and hours add up over nodes and waves, and over nothing else. A rise between two looks is one
event: one broken row of memory counts up by thousands. Alarms are over all hours that were watched, because events are
counted in all of them; the bound is over hours under load alone, because an idle GPU proves little. Where the controls
have events of their own, the expected rate is theirs if that is higher: a bad day of the whole room is no upgrade's.

Tests: tests/core/judging/test_judging_rare.py
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from seatrial.core.judging.exposure import HOUR, steps
from seatrial.core.judging.shares import log_gamma_above, log_gamma_below
from seatrial.core.model.gates.exposed import RATIOS, Rare
from seatrial.core.model.gates.telemetry import Telemetry
from seatrial.core.model.instants import Instant

INTERRUPTIONS: Final = 419 / (16_384 * 54 * 24)
"""Per GPU-hour: the unexpected interruptions of a training run on 16,384 H100 over 54 days; about one in 50,000 h."""
EXPECTED: Final = {
    "ecc-uncorrected-volatile": INTERRUPTIONS,
    "xid": 10 * INTERRUPTIONS,  # most of them are a program's own fault
    "rows-remapped-uncorrected": INTERRUPTIONS,
}
"""How often each signal rises without an upgrade. Assumed from the above; controls correct it upwards."""
DEFECTS: Final = frozenset({"ecc-uncorrected-volatile", "rows-remapped-uncorrected"})
"""Events of which one is enough to send a GPU to repair."""

SHAPE: Final = 0.5
SCALE: Final = 0.001
"""The mixture of an alarm: a gamma of this shape over multiples of the expected rate, broad up to 1/SCALE of it."""


def expected(rare: Rare) -> float:
    """The rate per GPU-hour that it is held against."""
    stated = EXPECTED.get(rare.name, INTERRUPTIONS)
    seen = rare.control_events / rare.control_hours if rare.control_hours else 0.0
    return max(stated, seen)


def log_evidence(rare: Rare) -> float:
    """The logarithm of e against "as often as expected, and as on the controls": the mean of both."""
    against_rate = _log_alarm(rare.events, expected(rare) * rare.watched_hours)
    top = max(rare.log_ratios)
    against_controls = top + math.log(sum(math.exp(each - top) for each in rare.log_ratios) / len(RATIOS))
    high, low = max(against_rate, against_controls), min(against_rate, against_controls)
    return high + math.log1p(math.exp(low - high)) - math.log(2)


def most(rare: Rare, error_rate: float) -> float:
    """The rate per GPU-hour under load that is excluded, at any look; infinity where there was no load."""
    if rare.loaded_hours <= 0:
        return math.inf
    wanted = -math.log(error_rate)
    low = high = float(rare.events + 1)
    while _log_excess(rare.events, high) < wanted:
        low, high = high, 2 * high
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _log_excess(rare.events, middle) < wanted else (low, middle)
    return high / rare.loaded_hours


def rises(seen: Telemetry, name: str, nodes: Iterable[str], since: Instant) -> tuple[int, float]:
    """How many events of this name these nodes had after an instant, and over how many GPU-hours they were watched.

    A value that changes to something is an event, whether it is a counter that rose or was begun anew, or the code of
    the last error. What changed across a gap is an event, too: it happened, though nobody knows when.
    """
    among, start = set(nodes), max(since, seen.since)
    count, seconds = 0, 0.0
    for series in seen.series:
        if series.name != name or series.node not in among:
            continue
        seconds += sum(each for each, *_ in steps(series, start, seen.until))
        values = [(at, value) for at, value in series.points if at <= seen.until]
        count += sum(last != first and last > 0 for (_, first), (at, last) in pairwise(values) if at > start)
    return count, seconds / HOUR


def _log_alarm(events: int, expected: float) -> float:
    """e of this many events where so many were expected, against a mixture of higher rates only."""
    if expected <= 0:
        return 0.0
    shape, scale = SHAPE, SCALE
    return (
        expected
        + shape * math.log(scale)
        - math.lgamma(shape)
        - log_gamma_above(shape, scale)
        + math.lgamma(shape + events)
        - (shape + events) * math.log(scale + expected)
        + log_gamma_above(shape + events, scale + expected)
    )


def _log_excess(events: int, expected: float) -> float:
    """e of this few events where so many would be expected, against a mixture of lower rates only."""
    shape = SHAPE + events
    return (
        math.log(SHAPE) + expected + math.lgamma(shape) + log_gamma_below(shape, expected) - shape * math.log(expected)
    )
