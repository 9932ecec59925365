"""The marks of a campaign: set before what they are for, ours alone, and all gone before it ends."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.core.actions.of_campaigns import MarkNode
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import Mode, RolloutPhase
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.movers import marks
from seatrial.core.movers.view import View
from tests.builders import (
    NEW,
    NOW,
    OLD,
    a_campaign,
    a_campaign_record,
    a_ledger,
    a_rebuff,
    a_snapshot,
    a_view,
    a_well_node,
    an_intent,
    an_old_node,
    an_operator,
)

OURS: dict[str, Any] = {"is_skipped": True, "skipped_by": "spring"}
PERSONS: dict[str, Any] = {"is_skipped": True}
THEIRS: dict[str, Any] = {"is_skipped": True, "skipped_by": "winter"}


def view(
    *nodes: NodeSeen,
    phase: RolloutPhase = RolloutPhase.CANARY,
    mode: Mode = Mode.DIRECT,
    **changes: Any,
) -> View:
    record = a_campaign_record(phase, mode=mode)
    seen = a_snapshot(*nodes, campaign=record, operator=an_operator(), **changes)
    return a_view(seen, an_intent(parallel_max=0, unavailable_max=9, campaign=a_campaign()))


def mark(node: str, **changes: Any) -> MarkNode:
    return MarkNode(node=node, rollout="spring", expect="7", **changes)


def test_where_we_move_the_nodes_only_the_canary_is_marked() -> None:
    acts, holds = marks.prepare(view(an_old_node(), an_old_node("n2")), {"n1"})
    assert acts == (mark("n1", canary=True),)
    assert dict(holds[0].params) == {"count": "1", "node": "n1"}


def test_where_nvidias_controller_does_everybody_is_kept_out_until_the_ledger_names_them() -> None:
    nodes = (
        an_old_node(),
        an_old_node("n2"),
        an_old_node("n3", **PERSONS),
        an_old_node("n4", **THEIRS),
        an_old_node("n5", **OURS),
    )
    acts, _ = marks.prepare(view(*nodes, mode=Mode.DELEGATED, others=("winter",)), {"n1"})
    assert acts == (mark("n1", canary=True, skip=True), mark("n2", skip=True))


def test_the_label_that_an_earlier_rollout_left_on_a_node_becomes_ours() -> None:
    nodes = (an_old_node(canary_of="spring", **OURS), an_old_node("n2", **THEIRS))
    acts, _ = marks.prepare(view(*nodes, mode=Mode.DELEGATED), {"n1"})
    assert acts == (mark("n2", skip=True),)
    assert marks.prepare(view(*nodes, mode=Mode.DELEGATED, others=("winter",)), {"n1"}) == ((), ())


@pytest.mark.parametrize("phase", [RolloutPhase.PROMOTING, RolloutPhase.DONE])
def test_a_node_left_behind_keeps_our_label_until_the_ledger_names_it(phase: RolloutPhase) -> None:
    required: dict[str, Any] = {**OURS, "nvidia_state": "upgrade-required"}
    nodes = (an_old_node(wanted=NEW, is_ready=False, **required), an_old_node("n2", wanted=NEW, **required))
    at_the_end = view(*nodes, phase=phase, mode=Mode.DELEGATED)
    assert marks.clear(at_the_end, {"n1", "n2"}) == ((), ())
    named = view(*nodes, phase=phase, mode=Mode.DELEGATED, admitted=a_ledger("n1", "n2", attempt=0))
    assert marks.clear(named, {"n1", "n2"})[0] == (mark("n2", skip=False),)


def test_who_has_another_resource_than_the_canary_is_kept_out_when_the_waves_begin() -> None:
    nodes = (an_old_node(owner="a", canary_of="spring", **OURS), an_old_node("n2", owner="b"))
    assert marks.prepare(view(*nodes, mode=Mode.DELEGATED), {"n1"}) == ((), ())
    acts, _ = marks.prepare(view(*nodes, phase=RolloutPhase.WAVING, mode=Mode.DELEGATED), {"n1"})
    assert acts == (mark("n2", skip=True),)


def test_one_who_is_no_canary_any_more_loses_the_mark() -> None:
    nodes = (an_old_node(canary_of="spring"), an_old_node("n2", canary_of="spring"))
    assert marks.prepare(view(*nodes), {"n1"})[0] == (mark("n2", canary=False),)


def test_everything_of_ours_goes_and_what_others_marked_stays() -> None:
    nodes = (
        an_old_node(canary_of="spring", **OURS),
        an_old_node("n2", canary_of="winter", **PERSONS),
        an_old_node("n3", **THEIRS),
    )
    acts, _ = marks.clear(view(*nodes))
    assert acts == (mark("n1", canary=False, skip=False),)
    assert marks.clear(view(*nodes[1:])) == ((), ())


def test_a_skip_label_of_ours_that_somebody_took_away_comes_back_and_what_is_left_of_it_is_cleared() -> None:
    bare = an_old_node("n2", skipped_by="spring")
    acts, _ = marks.prepare(view(an_old_node(canary_of="spring", **OURS), bare, mode=Mode.DELEGATED), {"n1"})
    assert acts == (mark("n2", skip=True),)
    assert marks.clear(view(bare))[0] == (mark("n2", skip=False),)


def test_a_mark_under_way_is_not_set_twice_and_one_turned_down_waits() -> None:
    acts, holds = marks.prepare(view(an_old_node(), busy={"n1": NOW + 3}), {"n1"})
    assert (acts, holds[0].code, holds[0].until) == ((), HoldCode.MARKS_PENDING, NOW + 3)
    acts, holds = marks.prepare(view(an_old_node(), rebuffs={"n1": a_rebuff()}), {"n1"})
    assert (acts, holds[0].until) == ((), NOW + 5)


def test_not_everybody_is_marked_in_one_pass() -> None:
    nodes = [an_old_node(f"x{number:03}") for number in range(marks.MARKS_MAX + 20)]
    acts, holds = marks.prepare(view(an_old_node(), *nodes, mode=Mode.DELEGATED), {"n1"})
    assert len(acts) == marks.MARKS_MAX
    assert dict(holds[0].params)["count"] == str(marks.MARKS_MAX + 21)


def test_nodes_are_let_in_without_our_label_and_failed_ones_are_tried_again_on_the_way_back() -> None:
    nodes = (
        a_well_node("n1", wanted=OLD, **OURS),
        a_well_node("n2", wanted=OLD, nvidia_state="upgrade-failed"),
        a_well_node("n3", wanted=OLD, nvidia_state="upgrade-required"),
        a_well_node("n4", wanted=OLD, **PERSONS),
        a_well_node("n5", wanted=OLD, **OURS),
        a_well_node("n6", wanted=OLD, **OURS),
    )
    names = ("n1", "n2", "n3", "n4", "n5")
    changes: dict[str, Any] = {"busy": {"n5": None}, "admitted": a_ledger(*names, attempt=1)}
    found = marks.let_in(view(*nodes, phase=RolloutPhase.REVERTING, mode=Mode.DELEGATED, **changes), {*names, "n6"})
    assert found == (mark("n1", skip=False), mark("n2", is_retry=True))
