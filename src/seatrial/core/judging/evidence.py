"""Evidence: all that is kept of an upgrade between two looks at it.

Law of this file: sums and names, no lists of values. It is the same whether a round or a stretch of telemetry is added
once or, after a crash, again. Canaries have figures, hours and events; nodes of later waves add hours and events.

Tests: tests/core/test_judging_evidence.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from seatrial.core.judging.comparing import Comparison, Round
from seatrial.core.judging.exposure import Exposure
from seatrial.core.judging.rare import EXPECTED, Rare, rises
from seatrial.core.model.gates.telemetry import Telemetry
from seatrial.core.model.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was seen of an upgrade so far."""

    comparisons: tuple[Comparison, ...] = ()
    exposures: tuple[Exposure, ...] = ()
    rare: tuple[Rare, ...] = ()
    watched_until: Instant = 0.0
    """Until when telemetry is in it."""

    @property
    def watched_hours(self) -> float:
        """For how long every canary was watched."""
        return min((each.watched_seconds for each in self.exposures), default=0.0) / 3600

    @property
    def loaded_gpu_hours(self) -> float:
        """How many GPU-hours the canaries worked meanwhile."""
        return sum(each.loaded_gpu_hours for each in self.exposures)

    @property
    def load(self) -> float:
        """The smallest share of its time for which a canary worked."""
        return min((each.load for each in self.exposures), default=0.0)


def begun(controls: Mapping[str, Iterable[str]], events: Iterable[str] = EXPECTED) -> Evidence:
    """Evidence of nothing yet: canaries with their controls, and the kinds of event to count.

    Both are said beforehand. What is looked for has its share of the false-alarm rate from the beginning, or looking
    for more after a glance would raise it.
    """
    return Evidence(
        comparisons=tuple(Comparison(canary=name, controls=tuple(others)) for name, others in controls.items()),
        exposures=tuple(Exposure(node=name) for name in controls),
        rare=tuple(Rare(name=name) for name in events),
    )


def measured(evidence: Evidence, seen: Round) -> Evidence:
    """With one more round of figures, before the upgrade or after it."""
    return replace(evidence, comparisons=tuple(each.added(seen) for each in evidence.comparisons))


def watched(
    evidence: Evidence,
    seen: Telemetry,
    *,
    with_pods: Iterable[str],
    upgraded: Iterable[str] = (),
) -> Evidence:
    """With one more stretch of telemetry from after the upgrade.

    `with_pods` are the nodes on which somebody's pods were seen, `upgraded` the nodes that followed the canaries: they
    and the canaries are what events are counted on, against the controls that have not followed yet. The stretch may
    begin before `watched_until`, and had better: a rise is seen between two points, of which one is from before.
    """
    since = evidence.watched_until
    if seen.until <= since:
        return evidence
    busy = set(with_pods)
    canaries = {each.canary for each in evidence.comparisons}
    new = canaries | set(upgraded)
    old = {name for each in evidence.comparisons for name in each.controls} - new
    waves = [Exposure(node=name).added(seen, since, has_pods=name in busy) for name in sorted(new)]
    loaded = sum(each.loaded_gpu_hours for each in waves)
    return replace(
        evidence,
        exposures=tuple(each.added(seen, since, has_pods=each.node in busy) for each in evidence.exposures),
        rare=tuple(_counted(each, seen, since, new, old, loaded) for each in evidence.rare),
        watched_until=seen.until,
    )


def _counted(rare: Rare, seen: Telemetry, since: Instant, new: set[str], old: set[str], loaded_hours: float) -> Rare:
    events, hours = rises(seen, rare.name, new, since)
    control_events, control_hours = rises(seen, rare.name, old, since)
    return rare.counted(
        events=events,
        hours=hours,
        loaded_hours=loaded_hours,
        control_events=control_events,
        control_hours=control_hours,
    )
