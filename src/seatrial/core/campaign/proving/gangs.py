"""Which canaries have room for a gate that runs on several of them at once.

Law of this file: nobody leaves a GPU for it. A canary whose GPUs somebody uses is left out and named. Before the bake
has begun such a gate is waited for; in a round after that one that cannot be had is left out, since it was had before.

Tests: tests/core/judging/test_ganging.py
"""

from __future__ import annotations

from seatrial.core.campaign.proving.controls import tenants
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.gates.gate import GANG_MIN, GPU_RESOURCE, Gang, Gate
from seatrial.core.model.seen.nodes import NodeFacts
from seatrial.core.movers.view import View


def gang_of(view: View) -> Gang:
    """Who of the canaries can be measured together now."""
    wanted = [gate for gate in view.campaign.gates if gate.is_gang]
    canaries = [name for name in view.record.canaries if name in view.nodes]
    if not wanted or not canaries:
        return Gang(may_be_left_out=True)
    by_claim = view.nodes[canaries[0]].facts.gives_by_claim
    left_out = {name: _why_out(view.nodes[name].facts, wanted, by_claim=by_claim) for name in canaries}
    return Gang(
        nodes=tuple(name for name, why in left_out.items() if not why),
        left_out=tuple((name, why) for name, why in left_out.items() if why),
        may_be_left_out=len(canaries) < GANG_MIN or view.record.phase is not RolloutPhase.GATING,
    )


def _why_out(facts: NodeFacts, gates: list[Gate], *, by_claim: bool) -> str:
    """Why a canary has no room in a gang; empty where it has."""
    if not facts.is_ready:
        return "it is not Ready"
    if facts.gives_by_claim is not by_claim:
        return "its GPUs are allocated differently from those of the others"
    wanted = max(gate.gpus for gate in gates)
    offered = dict(facts.offer.resources).get(GPU_RESOURCE)
    if offered is not None and offered < wanted:
        return f"it offers {offered} of {wanted} GPUs"
    found = tenants(facts)
    return f"its GPUs are in use by {found[0].full_name}" if found else ""
