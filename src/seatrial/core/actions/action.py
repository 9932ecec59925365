"""Any act, and what all of them are asked.

Law of this file: what is not in this union cannot be done. Tests: tests/core/actions/test_actions.py
"""

from __future__ import annotations

from typing import TypeAlias

from seatrial.core.actions.of_campaigns import CampaignAct
from seatrial.core.actions.on_nodes import Disruptive, NodeAct, RestartPod
from seatrial.core.actions.on_rollouts import Keeping, WriteRolloutRecord
from seatrial.core.model.seen.operands import Operand

Action: TypeAlias = NodeAct | CampaignAct | WriteRolloutRecord | Keeping


def is_disruptive(action: Action) -> bool:
    """Whether the act itself takes something away from the users of the cluster.

    Restarting a validator or a DRA plugin takes nothing from running pods; other operands are what a rollout is for.
    Asking the maintenance operator empties the node as our own evictions would.
    """
    if isinstance(action, RestartPod):
        return action.operand not in (Operand.VALIDATOR, Operand.DRA_PLUGIN)
    return isinstance(action, Disruptive)
