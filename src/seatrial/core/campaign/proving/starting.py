"""The one place where a campaign says what a probe is: of which gate, on which node, and how it asks for GPUs there.

Tests: tests/core/campaign/test_asking.py
"""

from __future__ import annotations

from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.model.gates.figures import Given
from seatrial.core.model.gates.gate import Gate
from seatrial.core.movers.view import View


def probe(
    view: View, gate: Gate, node: str, attempt: int = 1, given: Given | None = None, gang: tuple[str, ...] = ()
) -> StartProbe:
    """Have a gate measured on a node, in the round that is open."""
    return StartProbe(
        rollout=view.name,
        gate=gate,
        node=node,
        round=view.record.round,
        attempt=attempt,
        given=given,
        by_claim=gate.is_job and gate.gpus > 0 and view.nodes[node].facts.gives_by_claim,
        gang=gang,
    )
