"""Which of several reasons stands first: the one that the others follow from.

The five tiers, and which code is of which, are in core/holds.py. Tests: tests/core/words/test_causes.py
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from seatrial.core.holds import HoldCode, Tier, Trait, having, standing
from seatrial.core.model.seen.rollouts import Told

TURN: Final = frozenset({HoldCode.NOT_ITS_TURN, HoldCode.CANARY_CLOSED})
"""What is told of nodes because the rollout as a whole is where it is: they wait for it, and it does not for them."""
NEEDS_SOMEBODY: Final = standing(Tier.SOMEBODY)
IN_THE_WAY: Final = standing(Tier.IN_THE_WAY)
QUEUEING: Final = standing(Tier.QUEUES)
FAILED: Final = having(Trait.FAILURE)
ASKED_FOR: Final = having(Trait.ORDERED)

_PLACE: Final = {code.value: (code.tier, number) for number, code in enumerate(HoldCode)}
"""Within a tier in the order of the codes: what concerns the rollout as a whole first."""
_LAST: Final = (len(_PLACE), len(_PLACE))


def place(code: str) -> tuple[int, int]:
    """Where a code stands among others; one that a later release wrote comes last."""
    return _PLACE.get(code, _LAST)


def is_obstacle(code: str) -> bool:
    """Whether it is in somebody's way until somebody acts, or gives way: that is news, and nobody waits to be told."""
    return place(code)[0] <= 1


def is_stuck(waits: Iterable[Told]) -> bool:
    """Whether a node has failed for good, or something is in its way, and all others are done or queue behind it."""
    in_front = [each for each in waits if each.code not in QUEUEING]
    return bool(in_front) and all(_is_final(each) or each.code in IN_THE_WAY for each in in_front)


def _is_final(told: Told) -> bool:
    """Whether it is a failure that is not retried automatically."""
    return told.code == HoldCode.FAILED and told.until is None


def in_order(codes: Iterable[str]) -> list[str]:
    """Codes, the root cause first."""
    return sorted(codes, key=place)
