"""Which of several reasons stands first: the one that the others follow from.

    1  the rollout as a whole waits for somebody         paused, leaderless, an approval, a matrix that cannot be read
    2  something is in the way on a node                 a budget that says no, a write turned down, a driver that fails
    3  a node, or the rollout, waits for the world       jobs that run, a driver that starts, a sync
    4  what follows from nodes that wait                 the wave is at work, the canary is at work
    5  whoever waits for others                          the parallel limit, not its turn

Law of this file: an order, and nothing else; every code has its place. Tests: tests/core/words/test_causes.py
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from seatrial.core.holds import HoldCode
from seatrial.core.model.seen.rollouts import Told
from seatrial.core.words.somebody import NEEDS_SOMEBODY

IN_THE_WAY: Final = frozenset(
    {
        HoldCode.WRITE_REFUSED,
        HoldCode.CORDON_LOST,
        HoldCode.EVICTION_BLOCKED,
        HoldCode.POD_WITHOUT_CONTROLLER,
        HoldCode.POD_WITH_EMPTY_DIR,
        HoldCode.DAEMON_SET_HOLDS_GPU,
        HoldCode.STATIC_POD_HOLDS_GPU,
        HoldCode.NODE_NOT_READY,
        HoldCode.NVIDIA_STALLED,
        HoldCode.SRIOV_AT_WORK,
        HoldCode.DRIVER_POD_MISSING,
        HoldCode.DRIVER_ORPHANED,
        HoldCode.OWNER_UNCLEAR,
        HoldCode.REVISION_UNKNOWN,
        HoldCode.RECORD_UNREADABLE,
        HoldCode.UNREADABLE_OBJECT,
        HoldCode.RECORD_EDITED,
        HoldCode.LOADED_VERSION_WRONG,
        HoldCode.OFFER_REDUCED,
        HoldCode.RUNTIME_HANDLER_MISSING,
        HoldCode.DRA_PLUGIN_MISSING,
        HoldCode.DRA_VERSION_WRONG,
        HoldCode.NODE_PROBLEM,
        HoldCode.UNIT_UNFIT,
        HoldCode.UNIT_TOO_LARGE,
        HoldCode.WAVE_BLOCKED,
        HoldCode.NVIDIA_FULL,
        HoldCode.MEMBERS_STUCK,
        HoldCode.CANARY_STUCK,
        HoldCode.CANARY_UNWELL,
    }
)
"""What keeps one node until somebody, or the world, gives way; it comes before what waits for that node."""
FOLLOWING: Final = frozenset(
    {
        HoldCode.CANARY_AT_WORK,
        HoldCode.CANARY_CLOSED,
        HoldCode.WAVE_AT_WORK,
        HoldCode.WAVE_PAUSE,
        HoldCode.CLOSED_IN_PAUSE,
        HoldCode.NODES_GOING_BACK,
        HoldCode.STATES_PENDING,
        HoldCode.MEMBERS_LEFT,
        HoldCode.MEMBERS_WITHOUT_GPU,
        HoldCode.POOLS_LEFT,
    }
)
"""What is told of the rollout because its nodes are as they are."""
TURN: Final = frozenset({HoldCode.NOT_ITS_TURN, HoldCode.CANARY_CLOSED})
"""What is told of nodes because the rollout as a whole is where it is: they wait for it, and it does not for them."""
QUEUEING: Final = frozenset(
    {
        HoldCode.OTHER_ROLLOUT,
        HoldCode.AFTER_PENDING,
        HoldCode.NOT_ITS_TURN,
        HoldCode.UNDONE,
        HoldCode.MOVED_BY_NVIDIA,
        HoldCode.PARALLEL_LIMIT,
        HoldCode.UNAVAILABLE_LIMIT,
        HoldCode.IDLE_GPU_LIMIT,
        HoldCode.CLOSE_AHEAD_LIMIT,
        HoldCode.LEFT_OPEN,
        HoldCode.DISRUPTION_LIMIT,
        HoldCode.GIVEN_BACK,
        HoldCode.UNIT_INCOMPLETE,
        HoldCode.LEDGER_PENDING,
        HoldCode.PASS_FULL,
        HoldCode.WRITE_IN_FLIGHT,
        HoldCode.SKIPPED,
    }
)
"""Waiting for others: their turn comes when whatever stands before this is over."""


def _tier(code: HoldCode) -> int:
    for tier, codes in enumerate((NEEDS_SOMEBODY, IN_THE_WAY)):
        if code in codes:
            return tier
    return 3 if code in FOLLOWING else 4 if code in QUEUEING else 2


_PLACE: Final = {code.value: (_tier(code), number) for number, code in enumerate(HoldCode)}
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
