"""How long a campaign will take yet: one estimate with what it rests on, or none.

    Proposed, Canary   at least the whole bake
    Gating, Baking     at least what is left of the bake
    Waving             the nodes that are left, at the pace of those that are through; none before anybody is
    any of them        unknown, and why, while a node has failed or only a person lets it or the rollout go on

Law of this file: an estimate for people; nothing is decided by it, and nothing is drawn out of time in which others
were waited for: how long the canary took says little about a node. Where something counts that nobody can know, a yes,
a window, the hands of people, it says so: it will take at least as long. Tests: tests/core/campaign/test_outlook.py
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.campaign.waves import wave_order
from seatrial.core.model.campaign import Point, RolloutPhase
from seatrial.core.model.gates.gate import GateVerdict
from seatrial.core.model.seen.rollouts import Told, Waiting
from seatrial.core.movers.view import View
from seatrial.core.node.progress import Progress
from seatrial.core.text.names import a_few
from seatrial.core.words import causes
from seatrial.core.words.causes import NEEDS_SOMEBODY

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

    seconds: float | None
    """None while it is unknown."""
    is_floor: bool = False
    """It will take longer by something that nobody can know."""
    rests_on: str
    """Why we believe it, in a few words; or why it is unknown."""


def outlook(view: View, rollout: Iterable[Told] = (), nodes: Iterable[Waiting] = ()) -> Outlook | None:
    """How long until the fleet is through; None where nothing is to be foreseen.

    `rollout` is what is told of the rollout as a whole, `nodes` what is told of its nodes.
    """
    record, campaign = view.record, view.campaign
    phase = record.paused_in or record.phase
    if phase not in AHEAD:
        return None
    unknown = _why_unknown(view, rollout, nodes)
    if unknown:
        return Outlook(seconds=None, rests_on=unknown)
    if phase is RolloutPhase.WAVING:
        return _waves_left(view, is_up_to_others=_waits_for_somebody(view, phase))
    baked = record.baked_seconds if phase in MEASURING else 0.0
    bake = max(0.0, campaign.bake.seconds - baked)
    if not bake:
        return None
    # How long a node takes, nobody has shown yet: the canary waited for commits, pulls and people besides.
    return Outlook(seconds=bake, is_floor=True, rests_on="the bake alone" if not baked else "what is left of the bake")


def _why_unknown(view: View, rollout: Iterable[Told], nodes: Iterable[Waiting]) -> str:
    """Why no time can be given: how long a person takes to mend or to decide something, no pace shows."""
    record = view.record
    if record.phase is RolloutPhase.PAUSED:
        return "the rollout is paused"
    kept = next((each.code for each in rollout if each.code in NEEDS_SOMEBODY), "")
    if kept:
        return f"the rollout waits: {kept}"
    if any(each.verdict is GateVerdict.FAILED for each in record.gates):
        return "a gate has failed"
    failed = sorted(name for name in view.nodes if view.progress(name) is Progress.FAILED)
    if failed:
        return f"{a_few(failed)} {'has' if len(failed) == 1 else 'have'} failed"
    held = next((each for each in nodes if causes.is_obstacle(each.code)), None)
    if held is None:
        return ""
    return f"{a_few(held.nodes, count=held.count)} {'is' if held.count == 1 else 'are'} held up: {held.code}"


def _waits_for_somebody(view: View, phase: RolloutPhase) -> bool:
    campaign = view.campaign
    is_asked = any(point in campaign.manual and point not in campaign.approved for point in AHEAD[phase])
    return is_asked or campaign.openings is not None or not view.mover.is_automatic


def _waves_left(view: View, *, is_up_to_others: bool) -> Outlook | None:
    """How long the waves take yet, at the pace of those that are through; None before anybody is."""
    bounds, names = wave_order(view)
    left = [name for name in names if view.progress(name) in (Progress.AWAY, Progress.MOVING)]
    through = len(names) - len(left)
    pace = _pace_seconds(view, through)
    if not left or pace is None:
        return None
    pauses = max(0, len(bounds) - 1 - view.record.wave) * view.campaign.waves.pause_seconds
    whom = "the node that is done" if through == 1 else f"the {through} nodes that are done"
    return Outlook(seconds=len(left) * pace + pauses, is_floor=is_up_to_others, rests_on=f"the pace of {whom}")


def _pace_seconds(view: View, through: int) -> float | None:
    """How long a node took so far, with as many at once as there were."""
    # The history is cut where it gets long; one that begins in the waves does not say when they began.
    begun = next((turn.at for turn in view.record.history if turn.phase is RolloutPhase.WAVING), None)
    if begun is None or begun == view.record.history[0].at or not through:
        return None
    rested = view.record.wave * view.campaign.waves.pause_seconds
    return max(0.0, view.now - begun - rested) / through
