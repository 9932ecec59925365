"""How many nodes may have been upgraded after each wave, and in which order the nodes follow.

    fixed        4, 8, 12, …                        linear   2, then 4 more, then 6 more, …
    exponential  1, then 2 more, then 4 more, …     percentages   5 %, 25 %, 100 % of the fleet

Every wave has at least one node of its own, and the last one reaches the last node.
Tests: tests/core/campaign/test_waves.py
"""

from __future__ import annotations

from collections.abc import Iterator

from seatrial.core.budget import order
from seatrial.core.campaign import stragglers
from seatrial.core.model.campaign import Growth, Waves
from seatrial.core.movers.view import View


def wave_order(view: View) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """How many nodes may have started when each wave is open, and the order in which they follow the canary."""
    members = (node for node in view.nodes.values() if not stragglers.is_outside(view, node))
    names = (node.name for node in order.fixed(members, view.intent))
    rest = tuple(name for name in names if name not in view.record.canaries)
    return bounds(view.campaign.waves, len(rest)), rest


def bounds(waves: Waves, total: int) -> tuple[int, ...]:
    """How many of `total` nodes may have started when each wave is open; empty without nodes."""
    found: list[int] = []
    reached = 0
    for bound in _wished(waves, total):
        if reached >= total:
            break
        reached = min(max(bound, reached + 1), total)
        found.append(reached)
    return tuple(found)


def _wished(waves: Waves, total: int) -> Iterator[int]:
    """The bounds as asked for, without end or past the last node."""
    if waves.growth is Growth.SHARES:
        yield from sorted(share.of(total) for share in waves.shares)
        yield total
        return
    size, reached = max(1, waves.first.of(total)), 0
    while True:
        reached += size
        yield reached
        if waves.growth is Growth.LINEAR:
            size += max(0, waves.step.of(total))
        elif waves.growth is Growth.EXPONENTIAL:
            size *= max(1, waves.factor)
