"""What a node says while its rollout waits for something that does not end by itself: that, and what ends it.

    it waits for its turn          any such blocker: an approval, a changed matrix, a pause, a failed node in the way
    it promises to go on           a stop: whatever the node waits for, nothing follows while the rollout is stopped
    NVIDIA's controller has it     what keeps that controller from moving any node

Law of this file: no node promises to continue on its own while only a person can end the wait. Tests:
tests/core/decision/test_inheriting.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final, TypeVar

from seatrial.core.holds import HoldCode, Trait, having
from seatrial.core.model.seen.rollouts import Told
from seatrial.core.words import causes
from seatrial.core.words.causes import NEEDS_SOMEBODY

PROMISING: Final = having(Trait.PROMISES)
STANDSTILLS: Final = frozenset(
    {HoldCode.LEADERLESS, HoldCode.PROMISE_BROKEN, *(code for code in having(Trait.STOPS) if causes.is_obstacle(code))}
)
"""Blockers under which no node goes on at all."""
NVIDIAS: Final = frozenset({HoldCode.NOBODY_MOVES, HoldCode.SANDBOXED, HoldCode.NVIDIA_STALLED, HoldCode.NVIDIA_FULL})
"""Blockers under which NVIDIA's controller moves no node that it has."""
AGAIN: Final = "It continues once a controller is in charge again."

_SENTENCES: Final = re.compile(r"(?<=\.) +(?=[A-Z])")
_PROMISE: Final = re.compile(
    r"automatically|(?<!kubelet retries )on its own|by itself|, then continues"
    r"|^It (?:continues|starts|begins|follows|goes|is (?:resumed|restarted|added))\b"
)
"""How a sentence begins, or what is in it, that says what a controller will do; a kubelet goes on without one."""

T = TypeVar("T", bound=Told)


def blocker_of(rollout: Iterable[Told]) -> Told | None:
    """What the rollout as a whole waits for that does not end by itself; None where it goes on."""
    return min(filter(_lasts, rollout), key=lambda each: causes.place(each.code), default=None)


def inherited(told: T, blocker: Told | None) -> T:
    """What a node says, with the blocker of its rollout and the step that ends it, where that keeps the node."""
    if blocker is None or blocker.code == told.code:
        return told
    if blocker.code == HoldCode.LEADERLESS:
        # Only a controller keeps deadlines and promises; what people are asked to do has still to be done.
        return replace(told, next_step=without_promises(told.next_step), until=None)
    if blocker.code == HoldCode.PAUSED:
        told = replace(told, until=None)  # no deadline passes in a pause, and a node's begins again after it
    if not _keeps(blocker.code, told.code):
        return told
    why = f"{told.why}; the rollout waits ({blocker.code}): {blocker.why}"
    return replace(told, why=why, next_step=blocker.next_step)


def without_promises(next_step: str) -> str:
    """A next step without its sentences about what a controller does by itself, and when that begins again."""
    kept = [each for each in _SENTENCES.split(next_step) if not _PROMISE.search(each)]
    is_whole = len(kept) == len(_SENTENCES.split(next_step))
    return next_step if is_whole else " ".join((*kept, AGAIN))


def _lasts(told: Told) -> bool:
    """Whether it lasts until a person acts; an obstacle with a deadline of its own ends without one."""
    return told.code in NEEDS_SOMEBODY or (causes.is_obstacle(told.code) and told.until is None)


def _keeps(blocker: str, code: str) -> bool:
    if code in causes.TURN:
        return True
    if code == HoldCode.MOVED_BY_NVIDIA:
        return blocker in NVIDIAS
    return code in PROMISING and blocker in STANDSTILLS
