"""Making NVIDIA's controller forget: off while states are in the way, on again when none is, and never for nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.of_campaigns import SetAutoUpgrade
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import Mode, RolloutPhase
from seatrial.core.model.owners import DriverClaim
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.operators import OperatorFacts, Pool
from seatrial.core.movers import forgetting as delegating
from seatrial.core.movers.view import View
from tests.builders import NEW, POLICY, a_campaign_record, a_snapshot, a_view, an_old_node, an_operator

ON, OFF = an_operator(is_auto_upgrading=True), an_operator()
WAITS = an_old_node("n2", nvidia_state="upgrade-required")
DONE = an_old_node("n2", nvidia_state="upgrade-done")
PLAIN = an_old_node("n2")


def view(*nodes: NodeSeen, operator: OperatorFacts = ON, is_forgetting: bool = True, **changes: Any) -> View:
    record = a_campaign_record(RolloutPhase.REVERTING, mode=Mode.DELEGATED, is_forgetting=is_forgetting)
    return a_view(a_snapshot(*nodes, campaign=record, operator=operator, **changes))


@pytest.mark.parametrize(
    ("node", "operator", "was", "found"),
    [
        (DONE, ON, False, False),
        (WAITS, ON, False, True),
        (WAITS, OFF, True, True),
        (PLAIN, OFF, True, True),
        (PLAIN, ON, True, False),
    ],
    ids=["nothing in the way", "it begins", "it goes on", "it is not on again yet", "it ends"],
)
def test_whether_states_are_forgotten_is_written_down(
    node: NodeSeen, operator: OperatorFacts, was: bool, found: bool
) -> None:
    assert delegating.forgetting(view(node, operator=operator, is_forgetting=was)).is_forgetting is found


def switch(value: bool, resource: str = POLICY) -> tuple[SetAutoUpgrade, ...]:
    return (SetAutoUpgrade(rollout="spring", resource=resource, value=value),)


@pytest.mark.parametrize(
    ("node", "operator", "acts"),
    [
        (WAITS, ON, switch(False)),
        (WAITS, OFF, ()),
        (DONE, OFF, ()),
        (PLAIN, OFF, switch(True)),
        (PLAIN, ON, ()),
    ],
    ids=["off", "off, and still there", "off, and others still there", "on again", "on, and nothing to forget"],
)
def test_the_controller_is_switched(node: NodeSeen, operator: OperatorFacts, acts: tuple[SetAutoUpgrade, ...]) -> None:
    found, holds = delegating.forget(view(node, operator=operator))
    assert found == acts
    assert [held.code for held in holds] == [HoldCode.STATES_PENDING]


def test_nothing_is_switched_before_it_is_written_down() -> None:
    assert delegating.forget(view(WAITS, is_forgetting=False)) == ((), ())


def test_every_nvidia_driver_has_a_switch_of_its_own() -> None:
    pools = (
        Pool(name="blue", claim=None, is_auto_upgrading=False),  # type: ignore[arg-type]
        Pool(name="red", claim=None, is_auto_upgrading=True),  # type: ignore[arg-type]
    )
    found, _ = delegating.forget(view(WAITS, operator=OperatorFacts(pools=pools)))
    assert found == switch(False, "NVIDIADriver/red")


def test_a_node_that_runs_another_driver_would_only_get_its_state_again() -> None:
    kept_out = replace(WAITS, facts=replace(WAITS.facts, is_skipped=True, wanted=NEW))
    assert not delegating.forgetting(view(kept_out, is_forgetting=False)).is_forgetting
    assert not delegating.forgetting(view(kept_out)).is_forgetting
    assert delegating.forget(view(kept_out))[0] == ()


def test_each_pool_is_switched_on_again_though_the_nodes_of_another_have_states_by_then() -> None:
    pools = (
        Pool(name="a", claim=DriverClaim(name="a"), is_auto_upgrading=True),
        Pool(name="b", claim=DriverClaim(name="b"), is_auto_upgrading=False),
    )
    nodes = (
        an_old_node(owner="a", nvidia_state="upgrade-done"),
        an_old_node("n2", owner="b"),
    )
    found, _ = delegating.forget(view(*nodes, operator=OperatorFacts(kind=POLICY, pools=pools)))
    assert [(act.resource, act.value) for act in found if isinstance(act, SetAutoUpgrade)] == [("NVIDIADriver/b", True)]
