"""How long a campaign will take yet: the bake by what is asked, the fleet at the canary's pace, then at its own.

    Proposed, Canary   the whole bake; how long a node takes, nobody has shown yet
    Gating, Baking     what is left of the bake; then the waves, each node as long as the canary, as many at once as may
    Waving             the nodes that are left, at the pace of those that are through

Law of this file: an estimate for people; nothing is decided by it. Where something counts that nobody can know, a yes,
a window, a proof, the hands of people, it says so: it will take at least as long. Tests: tests/core/test_outlook.py
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from seatrial.core.budget import capacity
from seatrial.core.campaign.step import wave_order
from seatrial.core.model.campaign import Point, RolloutPhase
from seatrial.core.movers.view import View
from seatrial.core.node.progress import Progress

AHEAD: Final = {
    RolloutPhase.PROPOSED: (Point.CANARY, Point.WAVES, Point.PROMOTION),
    RolloutPhase.CANARY: (Point.WAVES, Point.PROMOTION),
    RolloutPhase.GATING: (Point.WAVES, Point.PROMOTION),
    RolloutPhase.BAKING: (Point.WAVES, Point.PROMOTION),
    RolloutPhase.WAVING: (Point.PROMOTION,),
}
"""Where a person may have to say yes before the end, by phase; in other phases there is nothing to foresee."""
MEASURING: Final = frozenset({RolloutPhase.GATING, RolloutPhase.BAKING})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """How long it will take yet."""

    seconds: float
    is_floor: bool = False
    """It will take longer by something that nobody can know."""


def outlook(view: View) -> Outlook | None:
    """How long until the fleet is through; None where nothing is to be foreseen."""
    record, campaign = view.record, view.campaign
    phase = record.paused_in or record.phase
    if phase not in AHEAD:
        return None
    baked = record.baked_seconds if phase in MEASURING else 0.0
    bake = 0.0 if phase is RolloutPhase.WAVING else max(0.0, campaign.bake.seconds - baked)
    fleet = _fleet_seconds(view, phase)
    is_asked = any(point in campaign.manual and point not in campaign.approved for point in AHEAD[phase])
    is_to_prove = bool(campaign.bake.exclude) and phase is not RolloutPhase.WAVING
    others = any(gate.attest is not None or gate.tenant is not None for gate in campaign.gates)
    is_up_to_others = phase is not RolloutPhase.WAVING and others
    is_open = is_asked or is_to_prove or is_up_to_others
    is_waiting = is_open or campaign.openings is not None or not view.mover.is_automatic
    return Outlook(seconds=bake + (fleet or 0.0), is_floor=fleet is None or is_waiting)


def _fleet_seconds(view: View, phase: RolloutPhase) -> float | None:
    """How long the waves take that are still to come; None where no node has shown it."""
    bounds, names = wave_order(view)
    current = view.record.wave if phase is RolloutPhase.WAVING else 0
    pauses = max(0, len(bounds) - 1 - current) * view.campaign.waves.pause_seconds
    left = [name for name in names if view.progress(name) in (Progress.AWAY, Progress.MOVING)]
    if not left:
        return 0.0
    pace = _pace_seconds(view, len(names) - len(left)) if phase is RolloutPhase.WAVING else None
    if pace is not None:
        return len(left) * pace + pauses
    each = _canary_seconds(view)
    if each is None:
        return None
    whole = capacity.budget_of(view.nodes, (), view.intent).whole
    places = max(1, min(whole.parallel_max, whole.unavailable_max))
    sizes = [bound - before for before, bound in pairwise((0, *bounds))][current:]
    return sum(-(-size // places) for size in sizes) * each + pauses


def _pace_seconds(view: View, through: int) -> float | None:
    """How long a node took so far, with as many at once as there were."""
    # The history is cut where it gets long; one that begins in the waves does not say when they began.
    begun = next((turn.at for turn in view.record.history if turn.phase is RolloutPhase.WAVING), None)
    if begun is None or begun == view.record.history[0].at or not through:
        return None
    rested = view.record.wave * view.campaign.waves.pause_seconds
    return max(0.0, view.now - begun - rested) / through


def _canary_seconds(view: View) -> float | None:
    """How long the canary took, from its turn to its gates, the last time it did."""
    found = [
        after.at - turn.at
        for turn, after in pairwise(view.record.history)
        if (turn.phase, after.phase) == (RolloutPhase.CANARY, RolloutPhase.GATING)
    ]
    return found[-1] if found else None
