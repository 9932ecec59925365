"""Evidence: all that is kept of an upgrade between two looks at it.

Law of this file: sums and names, no lists of values. It is the same whether a round or a stretch of telemetry is added
once or, after a crash, again. Canaries have figures, hours and events; nodes of later waves add hours and events.

Tests: tests/core/judging/test_judging_evidence.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from seatrial.core.base.values import dataclass, field, replace
from seatrial.core.judging import comparing
from seatrial.core.judging.comparing import Round
from seatrial.core.judging.exposure import added
from seatrial.core.judging.rare import EXPECTED
from seatrial.core.model.campaign import CampaignRecord
from seatrial.core.model.gates.compared import Comparison
from seatrial.core.model.gates.exposed import Exposed, Exposure, Rare, Stretch
from seatrial.core.model.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was seen of an upgrade so far."""

    comparisons: tuple[Comparison, ...] = ()
    exposed: Exposed = field(default_factory=Exposed)


def begun(controls: Mapping[str, Iterable[str]], events: Iterable[str] = EXPECTED) -> Evidence:
    """Evidence of nothing yet: canaries with their controls, and the kinds of event to count.

    Both are said beforehand. What is looked for has its share of the false-alarm rate from the beginning, or looking
    for more after a glance would raise it.
    """
    named = {canary: tuple(others) for canary, others in controls.items()}
    return Evidence(
        comparisons=tuple(Comparison(canary=name, controls=others) for name, others in named.items()),
        exposed=exposed_of(named, {name for others in named.values() for name in others}, events=events),
    )


def kept(record: CampaignRecord) -> Evidence:
    """What a campaign has written down."""
    comparisons = record.compared.comparisons if record.compared is not None else ()
    return Evidence(comparisons=comparisons, exposed=record.exposed or Exposed())


def exposed_of(
    canaries: Iterable[str], controls: Iterable[str], *, at: Instant = 0.0, events: Iterable[str] = EXPECTED
) -> Exposed:
    """What telemetry has shown when nobody has looked yet."""
    return Exposed(
        canaries=tuple(Exposure(node=name) for name in canaries),
        controls=tuple(sorted(controls)),
        rare=tuple(Rare(name=name) for name in events),
        since=at,
        watched_until=at,
    )


def measured(evidence: Evidence, seen: Round) -> Evidence:
    """With one more round of figures, before the upgrade or after it."""
    return replace(evidence, comparisons=tuple(comparing.added(each, seen) for each in evidence.comparisons))


def watched(exposed: Exposed, seen: Stretch, *, with_pods: Iterable[str], with_ours: Iterable[str] = ()) -> Exposed:
    """With one more stretch of telemetry from after the upgrade; the same, where it does not follow the last one.

    `with_pods` are the nodes on which somebody's pods were seen, `with_ours` those with nobody's but of gates. Events
    are counted on canaries and on nodes that have followed them, against the controls that have not.
    """
    if seen.since != exposed.watched_until or seen.until <= seen.since:
        return exposed
    busy, ours = set(with_pods), set(with_ours)
    new = {each.node for each in exposed.canaries} | set(exposed.followers)
    old = set(exposed.controls) - new
    loaded = sum(seen.of(name).busy_gpu_hours for name in new & busy)
    return replace(
        exposed,
        canaries=tuple(
            added(each, seen.of(each.node), has_pods=each.node in busy, is_ours=each.node in ours)
            for each in exposed.canaries
        ),
        rare=tuple(_counted(each, seen, new, old, loaded) for each in exposed.rare),
        watched_until=seen.until,
    )


def _counted(rare: Rare, seen: Stretch, new: Iterable[str], old: Iterable[str], loaded_hours: float) -> Rare:
    events, hours = _sums(seen, rare.name, new)
    control_events, control_hours = _sums(seen, rare.name, old)
    return rare.counted(
        events=events,
        hours=hours,
        loaded_hours=loaded_hours,
        control_events=control_events,
        control_hours=control_hours,
    )


def _sums(seen: Stretch, name: str, nodes: Iterable[str]) -> tuple[int, float]:
    found = [seen.of(node).events_of(name) for node in sorted(nodes)]
    return sum(events for events, _ in found), sum(hours for _, hours in found)
