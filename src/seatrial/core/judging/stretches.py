"""Stretches: the samples of some minutes become sums, before anybody keeps them.

Law of this file: a stretch ends at the last sample that all nodes which told anything have; the time behind it belongs
to the next one. Whoever told nothing holds nobody up, and was not watched. Where nobody told anything the stretch has
no length, so that a monitoring system that was away for a while may still tell of it; after LONGEST_SECONDS that time
is given up, and counts as not watched.

Tests: tests/core/judging/test_judging_stretches.py
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from seatrial.core.judging.exposure import UTILISATION, summed_up
from seatrial.core.judging.rare import EXPECTED, rises
from seatrial.core.model.gates.exposed import Rises, Stretch, Watch
from seatrial.core.model.gates.telemetry import Telemetry
from seatrial.core.model.instants import Instant
from seatrial.core.text import foreign

LONGEST_SECONDS: Final = 3600.0
"""How much is looked at, at once."""
WATCHED: Final = (UTILISATION, *EXPECTED)
"""The signals that are made something of: nobody need be asked for others."""
LACKS_MAX: Final = 3
LACK_LENGTH_MAX: Final = 300


def stretch_of(seen: Telemetry, nodes: Iterable[str]) -> Stretch:
    """What was told of these nodes, summed up."""
    names = sorted(set(nodes))
    until = _end(seen, names)
    return Stretch(since=seen.since, until=until, nodes=tuple(_watch(seen, name, until) for name in names))


def _end(seen: Telemetry, names: Iterable[str]) -> Instant:
    ends = [seen.watched_until(UTILISATION, name) for name in names]
    told = [end for end in ends if end > seen.since]
    if told:
        return round(min(told), 3)  # to the millisecond, as records keep it
    return seen.until if seen.until - seen.since >= LONGEST_SECONDS else seen.since


def _watch(seen: Telemetry, node: str, until: Instant) -> Watch:
    ended = replace(seen, until=until)
    found = []
    for name in EXPECTED:
        events, hours = rises(ended, name, (node,), seen.since)
        if events or hours:
            found.append(Rises(name=name, events=events, hours=hours))
    lacking = dict.fromkeys(
        f"{each.name}{f' of {each.gpu}' if each.gpu else ''}: {each.why}"
        for each in seen.unmeasured
        if each.node == node and each.name in WATCHED
    )
    lacks = tuple(foreign.line(each, LACK_LENGTH_MAX) for each in lacking)[:LACKS_MAX]
    return replace(summed_up(seen, node, seen.since, until), rises=tuple(found), lacks=lacks)
