"""Whether a campaign may be promoted: what of the evidence is missing. Tests: tests/app/test_promoting.py"""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import BACK, RolloutPhase
from seatrial.core.node.progress import Progress
from seatrial.core.text.names import number_of

if TYPE_CHECKING:
    from seatrial.app.picture import Picture


def why_not(picture: Picture) -> str:
    """What of the evidence is missing; empty when a yes is all that is."""
    record = picture.record
    if record.phase in BACK:
        return f"it is undone ({record.why or 'no reason was recorded'})"
    if record.phase is RolloutPhase.PAUSED:
        return f"it is paused; continue with `seatrial rollout resume {quote(picture.name)}`"
    if record.phase is RolloutPhase.PROMOTING and any(told.code == HoldCode.NODES_FAILED for told in picture.told):
        return ""
    if record.phase is RolloutPhase.WAVING and any(told.code == HoldCode.APPROVAL_PENDING for told in picture.told):
        return ""  # the only yes that is asked for while waves go is that to the promotion
    if record.phase is RolloutPhase.WAVING:
        left = picture.count(Progress.AWAY) + picture.count(Progress.MOVING)
        return (
            f"wave {record.wave + 1} of {max(1, len(picture.wave_sizes))} is under way, {number_of(left, 'node')} to go"
        )
    reasons = [told.why for told in picture.told]
    return f"it is in {record.phase.value}" + (f": {'; '.join(reasons)}" if reasons else "")
