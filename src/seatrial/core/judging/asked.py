"""What is asked of a bake, with the defaults.

Law of this file: every number that decides is here, or a constant with its reason beside the rule it belongs to.
"""

from __future__ import annotations

from seatrial.core.base.values import dataclass, replace
from seatrial.core.model.campaign import Bake


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked of a bake."""

    exclude: float = 0.03
    """The loss that is to be excluded, as a share."""
    confidence: float = 0.99
    """Of what is excluded."""
    false_alarms: float = 0.01
    """The share of sound upgrades that may be taken for bad ones, over all figures, canaries, events and looks."""
    tolerate: float = 0.01
    """The loss that is nobody's alarm: what nodes wander by themselves, and what nobody minds."""
    wander: float = 0.005
    """What a node is thought to wander from hour to hour; what is excluded is told with this on top."""

    @property
    def error_rate(self) -> float:
        """How often something is excluded that is so."""
        return 1 - self.confidence


def asked_of(bake: Bake) -> Asked:
    """What a campaign asks of its bake; which loss is looked at where it asks for none, is said above."""
    asked = Asked(confidence=bake.confidence)
    return replace(asked, exclude=bake.exclude) if bake.exclude else asked
