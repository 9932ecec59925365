"""Which reasons only a person can end, and which of them a person ordered.

Law of this file: codes, and nothing else; conditions, exit codes and the order of causes are read off them. Tests:
tests/core/words/test_conditions.py
"""

from __future__ import annotations

from typing import Final

from seatrial.core.holds import HoldCode

NEEDS_SOMEBODY: Final = frozenset(
    {
        HoldCode.LEADERLESS,
        HoldCode.PAUSED,
        HoldCode.MODE_CONTRADICTION,
        HoldCode.NOBODY_MOVES,
        HoldCode.SANDBOXED,
        HoldCode.ROLLS_BY_ITSELF,
        HoldCode.OPERANDS_DELEGATED,
        HoldCode.OPERANDS_BY_POOL,
        HoldCode.ATTRITION_DELEGATED,
        HoldCode.KUEUE_UNSEEN,
        HoldCode.NETWORK_DELEGATED,
        HoldCode.NETWORK_UNSEEN,
        HoldCode.DRA_BY_OPERATOR,
        HoldCode.JOURNAL_UNWRITABLE,
        HoldCode.PROMISE_BROKEN,
        HoldCode.TARGET_NOT_PUBLISHED,
        HoldCode.AFTER_UNDONE,
        HoldCode.ACCESS_DENIED,
        HoldCode.NO_CANARY,
        HoldCode.NO_WAY_BACK,
        HoldCode.NOTHING_TO_PUBLISH,
        HoldCode.NOBODY_MAY_START,
        HoldCode.RELEASE_UNSEEN,
        HoldCode.RELEASE_PINNED,
        HoldCode.RELEASE_ONE_WAY,
        HoldCode.RELEASE_AUTOMATIC,
        HoldCode.RELEASE_UNPLANNED,
        HoldCode.RELEASE_BY_HAND,
        HoldCode.RELEASE_UNCLEAR,
        HoldCode.RELEASE_FAILED,
        HoldCode.RELEASE_STAYS,
        HoldCode.POOL_MISSING,
        HoldCode.CANARIES_CROWDED,
        HoldCode.IDLE_GPUS_TOO_FEW,
        HoldCode.UNIT_NEVER_FITS,
        HoldCode.DEADLINE_TOO_SHORT,
        HoldCode.HALF_DONE,
        HoldCode.MATRIX_PROBLEM,
        HoldCode.MATRIX_CHANGED,
        HoldCode.HISTORY_REWRITTEN,
        HoldCode.SOURCE_BARRED,
        HoldCode.PLACES_CHANGED,
        HoldCode.ENTRY_BAD,
        HoldCode.APPROVAL_PENDING,
        HoldCode.WRITTEN_BY_ANOTHER,
        HoldCode.TAKEN_OVER,
        HoldCode.MERGE_PENDING,
        HoldCode.SYNC_STOPPED,
        HoldCode.SYNC_FAILED,
        HoldCode.SYNC_OVERWRITTEN,
        HoldCode.MERGE_OVERDUE,
        HoldCode.REQUEST_DECLINED,
        HoldCode.IMAGE_NOT_PULLED,
        HoldCode.GATE_STUCK,
        HoldCode.GATE_REFUSED,
        HoldCode.GATE_UNATTESTED,
        HoldCode.BY_HAND_PENDING,
        HoldCode.BY_HAND_BACK,
        HoldCode.NO_WAY_BACK_BY_HAND,
        HoldCode.ROLLBACK_PENDING,
        HoldCode.REVERT_CONFLICT,
        HoldCode.FAILURE_BUDGET,
        HoldCode.NODES_FAILED,
    }
)
"""Holds of a rollout as a whole that last until somebody acts."""
FAILED: Final = frozenset(
    {
        HoldCode.PROMISE_BROKEN,
        HoldCode.AFTER_UNDONE,
        HoldCode.RELEASE_FAILED,
        HoldCode.SYNC_FAILED,
        HoldCode.MERGE_OVERDUE,
        HoldCode.REQUEST_DECLINED,
        HoldCode.REVERT_CONFLICT,
        HoldCode.FAILURE_BUDGET,
    }
)
"""Those of them after which something has failed, or a deadline has passed."""
ASKED_FOR: Final = frozenset(
    {
        HoldCode.PAUSED,
        HoldCode.APPROVAL_PENDING,
        HoldCode.GATE_UNATTESTED,
        HoldCode.MERGE_PENDING,
        HoldCode.BY_HAND_PENDING,
        HoldCode.BY_HAND_BACK,
        HoldCode.RELEASE_BY_HAND,
        HoldCode.ROLLBACK_PENDING,
    }
)
"""Those of them that were ordered so: a person is waited for, and nothing is wrong."""
