"""Nodes that failed use up the limits of NVIDIA's own controller: who waits for them is named, and what helps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.decision.decide import decide
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.campaign import Growth, Mode, RolloutPhase, Waves
from seatrial.core.model.gates.gate import GateResult, GateVerdict
from seatrial.core.model.policy import PolicyWish, Share
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.words import explain
from seatrial.sim import outside as outer
from tests.builders import (
    NEW,
    NOW,
    POLICY,
    a_campaign,
    a_campaign_record,
    a_ledger,
    a_node,
    a_snapshot,
    a_starting_driver,
    a_well_node,
    an_intent,
    an_operator,
)

PASSED = GateResult(gate="smoke", node="n1", round=1, verdict=GateVerdict.PASSED)
PROVEN: dict[str, Any] = {"gates": (PASSED,), "round": 1, "baked_seconds": 172_800.0}
WAVES = Waves(growth=Growth.FIXED, first=Share(amount=9))
INTENT = an_intent(campaign=a_campaign(waves=WAVES), parallel_max=9, unavailable_max=9, failed_max=3)
FORWARD = an_operator(NEW.version, is_auto_upgrading=True)


def let_in(name: str, **changes: Any) -> NodeSeen:
    return a_node(name, nvidia_state="upgrade-required", **changes)


def failed(name: str, **changes: Any) -> NodeSeen:
    return a_node(name, nvidia_state="upgrade-failed", driver=a_starting_driver(name), **changes)


def told(*nodes: NodeSeen, policy: PolicyWish | None = None, operator: OperatorFacts = FORWARD) -> list[Hold]:
    """What the rollout says of itself while its wave is open; every node is in its ledger."""
    canary = a_well_node(canary_of="spring", nvidia_state="upgrade-done")
    if policy is not None:
        operator = replace(operator, policy=policy)
    seen = a_snapshot(
        canary,
        *nodes,
        campaign=a_campaign_record(RolloutPhase.WAVING, mode=Mode.DELEGATED, **PROVEN),
        operator=operator,
        admitted=a_ledger(*(node.name for node in nodes), attempt=0),
    )
    return [held for held in decide(seen, INTENT, NOW).holds if held.subject == "spring"]


def limits(parallel_max: int, unavailable_max: str) -> PolicyWish:
    return PolicyWish(parallel_max=parallel_max, unavailable_max=Share.parse(unavailable_max))


def test_one_that_failed_keeps_the_only_slot_of_nvidias_controller_and_that_is_told() -> None:
    (held,) = told(failed("n2"), let_in("n3"))
    assert explain.why(held) == (
        "NVIDIA's upgrade controller does not start n3: maxParallelUpgrades in the upgradePolicy of "
        f"{POLICY} leaves it room for 1 node, and that is used up by n2"
    )
    assert "raise maxParallelUpgrades there" in explain.next_step(held)


@pytest.mark.parametrize(
    ("policy", "code"),
    [
        (limits(2, "100%"), HoldCode.WAVE_AT_WORK),
        (limits(0, "100%"), HoldCode.WAVE_AT_WORK),
        (limits(0, "1"), HoldCode.NVIDIA_FULL),
        (limits(0, "2"), HoldCode.WAVE_AT_WORK),
    ],
)
def test_a_limit_with_room_left_is_not_blamed(policy: PolicyWish, code: HoldCode) -> None:
    assert [held.code for held in told(failed("n2", is_cordoned=True), let_in("n3"), policy=policy)] == [code]


def test_who_is_at_work_will_make_room_and_is_not_blamed() -> None:
    moving = a_node("n2", nvidia_state="pod-restart-required", is_cordoned=True, driver=a_starting_driver("n2"))
    assert [held.code for held in told(moving, let_in("n3"))] == [HoldCode.WAVE_AT_WORK]


def test_a_cordoned_node_needs_no_slot() -> None:
    assert [held.code for held in told(failed("n2"), let_in("n3", is_cordoned=True))] == [HoldCode.WAVE_AT_WORK]


@pytest.mark.parametrize(("owner", "code"), [("a", HoldCode.NVIDIA_FULL), ("b", HoldCode.WAVE_AT_WORK)])
def test_every_nvidia_driver_has_limits_of_its_own(owner: str, code: HoldCode) -> None:
    pools = outer.driver_pools(NEW.version, "a", "b", is_auto_upgrading=True)
    found = told(failed("n2", owner="a"), let_in("n3", owner=owner), operator=pools)
    assert code in [held.code for held in found]
