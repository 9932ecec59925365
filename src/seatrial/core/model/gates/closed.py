"""Canaries that stay closed: a gate finds the GPUs of a new driver free, because nobody was let back to them yet.

Law of this file: whoever comes back to a canary first finds it measured. It is opened when every gate that wants GPUs
has passed there once; gates that need none (a word, a query, what tenants show) are asked of an open node, since they
may be about the work on it. On the way back it stays closed until it runs its old driver again. Only a node that we
close ourselves can stay closed: NVIDIA's controller opens its own.

Tests: tests/core/campaign/test_closed_canaries.py
"""

from __future__ import annotations

from typing import Final

from seatrial.core.model.campaign import Campaign, CampaignRecord, RolloutPhase
from seatrial.core.model.gates.gate import GateVerdict

BEFORE_WORK: Final = frozenset({RolloutPhase.CANARY, RolloutPhase.GATING, RolloutPhase.REVERTING})
"""Phases in which a canary takes no work on a driver that its gates have not passed, paused or not."""


def kept_closed(record: CampaignRecord | None, campaign: Campaign | None) -> frozenset[str]:
    """The canaries on which a gate has not passed: no job may run there on the new driver."""
    if record is None or campaign is None or (record.paused_in or record.phase) not in BEFORE_WORK:
        return frozenset()
    wanted = [gate for gate in campaign.gates if gate.wants_gpus and not gate.is_soak]
    through = (each for each in record.gates if each.verdict is GateVerdict.PASSED or each.is_left_out)
    passed = {(each.gate, each.asked, each.node) for each in through}
    return frozenset(
        node
        for node in record.canaries
        if any((gate.name, gate.mark, node) not in passed for gate in wanted if node not in gate.not_on)
    )
