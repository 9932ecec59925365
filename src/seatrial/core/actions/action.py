"""Any act, and what all of them are asked.

Law of this file: what is not in this union cannot be done. Tests: tests/core/test_actions.py
"""

from __future__ import annotations

from typing import TypeAlias

from seatrial.core.actions.of_campaigns import CampaignAct
from seatrial.core.actions.on_nodes import Disruptive, NodeAct, Operand, RestartPod
from seatrial.core.actions.on_rollouts import Keeping, WriteRolloutRecord

Action: TypeAlias = NodeAct | CampaignAct | WriteRolloutRecord | Keeping


def is_disruptive(action: Action) -> bool:
    """Whether the act itself takes something away from the users of the cluster.

    Restarting a validator or a DRA plugin takes nothing from running pods; asking the maintenance operator empties the
    node as our own evictions would.
    """
    if isinstance(action, RestartPod):
        return action.operand is Operand.DRIVER
    return isinstance(action, Disruptive)
