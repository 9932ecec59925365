"""By attrition, why nodes wait: which limit leaves a node open, and what happens to closed ones outside windows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.on_nodes import EvictPods, WriteNodeRecord
from seatrial.core.budget import capacity
from seatrial.core.budget.losses import COUNT_LABEL
from seatrial.core.decision.decide import Decision
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model.campaign import Campaign, CampaignRecord
from seatrial.core.model.intent import Domain
from seatrial.core.model.policy import Attrition
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.pods import Pod
from seatrial.core.model.seen.rollouts import Admission
from seatrial.core.model.seen.work import WorkSeen
from seatrial.core.words import explain
from tests.builders import NOW, OLD, a_driver, a_node
from tests.core.budget.test_attrition_books import (
    ALL,
    HOUR,
    WAVING,
    a_job,
    ahead,
    closed,
    codes,
    decided,
    given_back,
    ledger,
    node,
    seen,
    wish,
)

# ── why the others are left open ─────────────────────────────────────────────────────────────────────────────────────


def held_alone(decision: Decision, name: str) -> Hold:
    (found,) = (held for held in decision.holds if held.subject == name)
    return found


def test_a_node_with_more_gpus_than_may_stand_idle_is_never_closed_and_says_what_it_needs() -> None:
    decision = decided(seen(node("n1", a_job("j", "n1")), node("n2", labels={COUNT_LABEL: "2"})), wish(idle=4))
    assert ledger(decision) == {"n2": True}
    told = held_alone(decision, "n1")
    assert told == hold("n1", HoldCode.IDLE_GPUS_TOO_FEW, limit=4, gpus=8, part="the node")
    assert explain.next_step(told) == "Set spec.limits.maxIdleGPUs of the rollout to 8 or more."


def test_a_unit_with_more_gpus_than_may_stand_idle_is_never_closed() -> None:
    nodes = [node(name, a_job(name, name), labels={"clique": "c1"}) for name in ("n1", "n2")]
    decision = decided(seen(*nodes), wish(idle=8, domains=(Domain(label="clique", is_unit=True),)))
    told = held_alone(decision, "n1")
    assert told == hold("n1", HoldCode.IDLE_GPUS_TOO_FEW, limit=8, gpus=16, part="its unit (clique c1)")


@pytest.mark.parametrize("pods", [(), (a_job("j", "n1"),)], ids=["empty", "full"])
def test_a_closed_node_with_more_gpus_than_may_stand_idle_by_now_is_given_back(pods: tuple[Pod, ...]) -> None:
    assert given_back(decided(seen(closed("n1", *pods), admitted=ahead("n1")), wish(idle=4))) == {"n1"}


@pytest.mark.parametrize("record", [WAVING, replace(WAVING, waving_since=NOW - 30 * HOUR)], ids=["early", "late"])
@pytest.mark.parametrize("pods", [(), (a_job("k", "n2", 2),)], ids=["empty", "at work"])
def test_a_unit_with_more_gpus_than_may_stand_idle_by_now_is_given_back_and_stays_open(
    record: CampaignRecord, pods: tuple[Pod, ...]
) -> None:
    clique: dict[str, Any] = {"labels": {"clique": "c1"}}
    intent, work = wish(idle=14, domains=(Domain(label="clique", is_unit=True),)), a_job("j", "n1", 2)
    for mate, admitted in ((closed, ahead("n1", "n2")), (node, ahead("n1"))):
        shut = seen(closed("n1", work, **clique), mate("n2", *pods, **clique), admitted=admitted, record=record)
        assert given_back(decided(shut, intent)) == {each.node for each in admitted}
    decision = decided(seen(node("n1", work, **clique), node("n2", *pods, **clique), record=record), intent)
    assert not ledger(decision)
    assert HoldCode.IDLE_GPUS_TOO_FEW in codes(decision, "n1")


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        ({"parallel_max": 1, "idle": 24}, HoldCode.PARALLEL_LIMIT),
        ({"unavailable_max": 1, "idle": 24}, HoldCode.UNAVAILABLE_LIMIT),
        ({"idle": 8}, HoldCode.IDLE_GPU_LIMIT),
    ],
)
def test_an_empty_node_that_a_limit_leaves_open_names_that_limit(limits: dict[str, Any], code: HoldCode) -> None:
    decision = decided(seen(closed("n1"), node("n2"), node("n3"), admitted=ahead("n1")), wish(**limits))
    assert codes(decision, "n2") == codes(decision, "n3") == {code}


def test_empty_nodes_behind_others_that_a_limit_on_nodes_keeps_open_do_not_blame_idle_gpus() -> None:
    theirs = node("n0", is_cordoned=True)
    decision = decided(seen(theirs, node("n1"), node("n2"), node("n3")), wish(idle=16, unavailable_max=1))
    told = {name: held_alone(decision, name) for name in ("n1", "n2", "n3")}
    assert told == {name: hold(name, HoldCode.UNAVAILABLE_LIMIT, limit=1, taken=1, nodes="n0") for name in told}


def test_a_node_that_the_share_closed_ahead_leaves_open_says_so() -> None:
    nodes = (closed("n1", a_job("j", "n1")), node("n2", a_job("k", "n2")))
    decision = decided(seen(*nodes, admitted=ahead("n1")), wish(attrition=Attrition(close_ahead=0.5)))
    assert held_alone(decision, "n2") == hold("n2", HoldCode.CLOSE_AHEAD_LIMIT, limit=1, nodes="n1")


def test_at_the_deadline_a_closed_node_that_finds_no_room_names_who_takes_it() -> None:
    record = {"is_cordon_ours": True, "has_lost_driver": True}
    failed = node("n9", phase=NodePhase.UPGRADE_FAILED, is_cordoned=True, record=record)
    waits = closed("n1", a_job("j", "n1"))
    admitted = (*ahead("n1"), Admission(node="n9", attempt=1))
    late = replace(WAVING, waving_since=NOW - 30 * HOUR)
    decision = decided(seen(failed, waits, admitted=admitted, record=late), wish(idle=8, failed_max=1))
    assert codes(decision, "n1") == {HoldCode.CLOSED_AHEAD, HoldCode.IDLE_GPU_LIMIT}


def test_closed_and_open_nodes_state_the_same_last_call() -> None:
    many = [a_job(f"j{each}", "n2", 1) for each in range(8)]
    nodes = [closed("n1", a_job("j", "n1")), node("n2", *many), node("n3", is_ready=False)]
    snapshot = replace(seen(*nodes, admitted=ahead("n1")), work=WorkSeen(waiting=((1, 1),)))
    decision = decided(snapshot, wish(idle=8, attrition=Attrition(evicts_early=False)))
    shut, left = held_alone(decision, "n1"), held_alone(decision, "n2")
    assert (shut.code, left.code) == (HoldCode.CLOSED_AHEAD, HoldCode.LEFT_OPEN)
    assert shut.until == left.until, "else a service is closed at its last call, and given back before it"


# ── outside windows ──────────────────────────────────────────────────────────────────────────────────────────────────


def outside_windows(*nodes: NodeSeen, admitted: tuple[Admission, ...]) -> Decision:
    campaign = Campaign(waves=ALL, openings=((NOW + HOUR, NOW + 2 * HOUR),))
    stopped = replace(WAVING, waving_since=0.0, waved_seconds=60.0)
    return decided(seen(*nodes, admitted=admitted, record=stopped), replace(wish(), campaign=campaign))


def test_a_closed_node_that_is_empty_outside_windows_is_upgraded_for_it_is_under_way() -> None:
    assert ledger(outside_windows(closed("n1"), admitted=ahead("n1"))) == {"n1": False}
    decision = outside_windows(closed("n1"), admitted=(Admission(node="n1", attempt=1),))
    assert [act.node for act in decision.actions if isinstance(act, WriteNodeRecord)] == ["n1"]


def test_a_closed_node_that_is_at_work_outside_windows_is_neither_evicted_nor_given_back() -> None:
    decision = outside_windows(closed("n1", a_job("j", "n1")), admitted=ahead("n1"))
    assert not any(isinstance(act, EvictPods | WriteNodeRecord) for act in decision.actions)
    assert codes(decision, "n1") == {HoldCode.CLOSED_AHEAD}


# ── closed, and the version is put back ──────────────────────────────────────────────────────────────────────────────


def test_a_closed_node_at_work_is_given_back_while_the_version_that_it_runs_is_published() -> None:
    """As one that is proven it would still be closed when ours is published again, and its jobs would be evicted."""
    shut = closed("n1", a_job("j1", "n1"), wanted=OLD)
    decision = decided(seen(shut, node("n2", wanted=OLD), admitted=ahead("n1")), wish())
    assert given_back(decision) == {"n1"}


# ── closed in vain, past the deadline ────────────────────────────────────────────────────────────────────────────────

LATE = replace(WAVING, waving_since=NOW - 30 * HOUR)


def failed(name: str) -> NodeSeen:
    record = {"is_cordon_ours": True, "has_lost_driver": True}
    return node(name, phase=NodePhase.UPGRADE_FAILED, is_cordoned=True, record=record)


def half_full(name: str, **changes: Any) -> NodeSeen:
    return closed(name, a_job(f"j{name}", name, 4), **changes)


@pytest.mark.parametrize("limits", [{"unavailable_max": 1, "idle": 16}, {"idle": 15}])
def test_a_node_that_a_failed_node_leaves_no_room_is_opened_and_stays_open(limits: dict[str, Any]) -> None:
    intent, admitted = wish(failed_max=1, **limits), (Admission(node="n9", attempt=1),)
    shut = decided(seen(failed("n9"), half_full("n1"), admitted=(*ahead("n1"), *admitted), record=LATE), intent)
    assert given_back(shut) == {"n1"}
    opened = seen(failed("n9"), node("n1", a_job("j1", "n1", 4)), admitted=admitted, record=LATE)
    told = held_alone(decided(opened, intent), "n1")
    assert told.code in {HoldCode.UNAVAILABLE_LIMIT, HoldCode.IDLE_GPU_LIMIT}
    assert dict(told.params)["nodes"] == "n9"


def test_a_node_without_room_names_closed_nodes_with_idle_gpus_among_those_that_take_it() -> None:
    nodes = [failed("n9"), half_full("n1"), closed("n3", a_job("j3", "n3")), node("n2", a_job("j2", "n2", 4))]
    admitted = (*ahead("n1", "n3"), Admission(node="n9", attempt=1))
    decision = decided(seen(*nodes, admitted=admitted, record=LATE), wish(idle=15, failed_max=1))
    told = hold("n2", HoldCode.IDLE_GPU_LIMIT, limit=15, taken=12, gpus=8, nodes="n1, n9")
    assert held_alone(decision, "n2") == told


def test_past_the_deadline_open_nodes_of_a_gang_larger_than_the_idle_budget_say_whose_gpus_are_too_many() -> None:
    gang = [node(name, a_job("gang", name, 4)) for name in ("n1", "n2")]
    told = held_alone(decided(seen(*gang, record=LATE), wish(idle=8)), "n1")
    assert told == hold("n1", HoldCode.IDLE_GPU_LIMIT, limit=8, taken=0, gpus=16, nodes="none", together="n1, n2")
    assert "the nodes that are emptied together (n1, n2) have 16, and 0 are taken: none" in explain.why(told)


def test_closed_nodes_whose_idle_gpus_leave_each_other_no_room_are_opened_until_one_has_it() -> None:
    nodes = [closed(name, a_job(name, name, 1)) for name in ("n1", "n2")]
    decision = decided(seen(*nodes, admitted=ahead("n1", "n2"), record=LATE), wish(idle=14))
    assert given_back(decision) == {"n2"}
    alone = seen(nodes[0], node("n2", a_job("n2", "n2", 1)), admitted=ahead("n1"), record=LATE)
    assert ledger(decided(alone, wish(idle=14))) == {"n1": False}


def test_a_closed_node_that_others_cordoned_is_counted_by_those_that_wait_for_room_beside_it() -> None:
    clique: dict[str, Any] = {"labels": {"clique": "c1"}}
    theirs = closed("n3", record={"is_cordon_ours": False}, labels={"clique": "c2"})
    nodes = [theirs, half_full("n4", labels={"clique": "c2"}), closed("n1", **clique), half_full("n2", **clique)]
    intent = wish(unavailable_max=2, idle=32, domains=(Domain(label="clique", is_unit=True),))
    decision = decided(seen(*nodes, admitted=ahead("n1", "n2", "n3", "n4"), record=LATE), intent)
    assert given_back(decision) == {"n1", "n2"}, "n3 stays cordoned when its unit is through"


def test_a_node_that_waits_for_one_that_reloads_stays_closed() -> None:
    moving = node("n9", phase=NodePhase.POD_RESTART_REQUIRED, is_cordoned=True, record={"is_cordon_ours": True})
    admitted = (*ahead("n1"), Admission(node="n9", attempt=1))
    decision = decided(seen(moving, half_full("n1"), admitted=admitted, record=LATE), wish(idle=24, unavailable_max=1))
    assert given_back(decision) == set()


def test_a_unit_that_a_failed_node_leaves_no_room_is_opened_as_one_although_a_member_is_open() -> None:
    clique: dict[str, Any] = {"labels": {"clique": "c1"}}
    intent = wish(unavailable_max=2, idle=32, failed_max=1, domains=(Domain(label="clique", is_unit=True),))
    member = node("n2", a_job("j2", "n2", 4), **clique)
    shut = closed("n1", a_job("j1", "n1", 4), **clique)
    admitted = (Admission(node="n9", attempt=1),)
    decision = decided(seen(failed("n9"), shut, member, admitted=(*ahead("n1"), *admitted), record=LATE), intent)
    assert given_back(decision) == {"n1"}
    opened = seen(failed("n9"), node("n1", a_job("j1", "n1", 4), **clique), member, admitted=admitted, record=LATE)
    assert codes(decided(opened, intent), "n1") == codes(decided(opened, intent), "n2") == {HoldCode.UNAVAILABLE_LIMIT}


# ── closed by an earlier attempt ─────────────────────────────────────────────────────────────────────────────────────


def again(name: str, **changes: Any) -> NodeSeen:
    """A node behind our cordon that waits for another attempt; the ledger still has the first."""
    record = {"is_cordon_ours": True, "attempt": 2}
    return node(name, is_cordoned=True, record=record, **changes)


@pytest.mark.parametrize("is_ahead", [True, False], ids=["closed alone", "taken"])
@pytest.mark.parametrize("sriov", ["Draining", ""], ids=["aside", "free"])
def test_an_idle_node_behind_our_cordon_counts_while_it_waits_for_another_attempt(sriov: str, is_ahead: bool) -> None:
    admitted = (Admission(node="n1", attempt=1, is_ahead=is_ahead),)
    half = node("n2", *(a_job(f"j{each}", "n2", 1) for each in range(4)))
    snapshot = seen(again("n1", sriov=sriov), half, admitted=admitted)
    decision = decided(snapshot, wish(idle=8))
    assert set(ledger(decision)) == {"n1"}, "n2 would leave four more GPUs idle than the eight that may be"


@pytest.mark.parametrize(("is_ready", "gone"), [(True, set()), (False, {"n1"})], ids=["serves", "its driver is away"])
def test_a_closed_node_at_work_is_unavailable_once_its_driver_is(is_ready: bool, gone: set[str]) -> None:
    busy = closed("n1", a_job("j1", "n1"), driver=a_driver("n1", is_ready=is_ready))
    budget = capacity.budget_of({"n1": busy, "n2": node("n2")}, ahead("n1"), wish())
    assert budget.whole.unavailable == gone


UNITED = (Domain(label="clique", is_unit=True),)


def in_clique(unit: str, *nodes: NodeSeen) -> list[NodeSeen]:
    return [replace(each, facts=replace(each.facts, labels={**each.facts.labels, "clique": unit})) for each in nodes]


@pytest.mark.parametrize(
    ("is_ours", "back"), [(True, {"n3", "n4"}), (False, {"n1", "n2"})], ids=["all ours", "n3 closed by a person"]
)
def test_of_two_units_that_leave_each_other_no_room_one_is_opened(is_ours: bool, back: set[str]) -> None:
    first = in_clique("c1", closed("n1"), closed("n2", a_job("j2", "n2", 1)))
    theirs = closed("n3", record={"is_cordon_ours": is_ours})
    second = in_clique("c2", theirs, closed("n4", a_job("j4", "n4", 1)))
    late = seen(*first, *second, admitted=ahead("n1", "n2", "n3", "n4"), record=LATE)
    assert given_back(decided(late, wish(unavailable_max=2, idle=32, domains=UNITED))) == back


def test_in_a_pause_a_node_that_was_let_in_and_is_still_open_is_none_of_those_that_stay_closed() -> None:
    still_open = a_node("n1", NodePhase.CORDON_REQUIRED, labels={COUNT_LABEL: "8"})
    paused = decided(seen(still_open, closed("n2"), admitted=ahead("n1", "n2")), wish(idle=16, is_paused=True))
    assert held_alone(paused, "spring") == hold("spring", HoldCode.CLOSED_IN_PAUSE, nodes=1, gpus=8)
