"""The numbers worth watching: what is counted, how long states last, and whom the waiting is charged to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.decision import measures
from seatrial.core.decision.decide import Decision, decide
from seatrial.core.decision.measures import Figures, Meter, Stay, follow, measure, stays
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model.campaign import Mode, RolloutPhase
from seatrial.core.model.policy import Limits, Policy, Share
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.operators import OperatorFacts
from tests.builders import (
    NOW,
    a_campaign,
    a_campaign_record,
    a_decision,
    a_fleet,
    a_ledger,
    a_node,
    a_snapshot,
    a_well_node,
    an_intent,
)

PENDING, DONE, FAILED = NodePhase.UPGRADE_REQUIRED, NodePhase.UPGRADE_DONE, NodePhase.UPGRADE_FAILED


def figures_of(*nodes: NodeSeen, admitted: tuple[Any, ...] = (), **intent: Any) -> Figures:
    """What is measured of these nodes when nothing holds them."""
    return measure(a_snapshot(*nodes, admitted=admitted), an_intent(**intent), a_decision())


def holding(*holds: Hold) -> Decision:
    return a_decision(holds=holds)


def named(prefix: str, count: int, phase: NodePhase | None = None, **changes: Any) -> tuple[NodeSeen, ...]:
    return tuple(a_node(f"{prefix}{number}", phase, **changes) for number in range(count))


# ── how things stand ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_state_and_every_code_is_counted_zero_included() -> None:
    figures = figures_of()
    assert figures.nodes == {"unknown": 0} | {phase.value: 0 for phase in NodePhase}
    assert figures.holds == dict.fromkeys(HoldCode, 0)


def test_nodes_are_counted_by_state_and_holds_by_code() -> None:
    nodes = (*named("u", 2), a_node("n3", PENDING), a_node("n4", DONE))
    held = holding(hold("u0", HoldCode.SKIPPED), hold("u1", HoldCode.SKIPPED), hold("n3", HoldCode.EVICTING))
    figures = measure(a_snapshot(*nodes), an_intent(), held)
    assert {state: count for state, count in figures.nodes.items() if count} == {
        "unknown": 2,
        "upgrade-required": 1,
        "upgrade-done": 1,
    }
    assert {code: count for code, count in figures.holds.items() if count} == {
        HoldCode.SKIPPED: 2,
        HoldCode.EVICTING: 1,
    }


def test_where_nvidias_controller_moves_the_nodes_its_word_is_counted() -> None:
    nodes = (a_node("n1", nvidia_state="upgrade-failed"), a_node("n2", nvidia_state="upgrade-done"), a_node("n3"))
    campaign = a_campaign_record(RolloutPhase.WAVING, mode=Mode.DELEGATED)
    found = measure(a_snapshot(*nodes, campaign=campaign), an_intent(campaign=a_campaign()), a_decision())
    assert (found.failed_count, found.done_count) == (1, 1)
    assert {state: count for state, count in found.nodes.items() if count} == {
        "unknown": 1,
        "upgrade-failed": 1,
        "upgrade-done": 1,
    }


@pytest.mark.parametrize("phase", [None, *NodePhase])
def test_all_but_unknown_required_and_done_are_in_progress_and_so_is_a_failed_node(phase: NodePhase | None) -> None:
    is_at_rest = phase in (None, NodePhase.UPGRADE_REQUIRED, NodePhase.UPGRADE_DONE)
    assert figures_of(a_node("n1", phase)).in_progress_count == (0 if is_at_rest else 1)


def test_pending_counts_who_is_marked_skip_as_nvidia_does() -> None:
    figures = figures_of(*named("s", 2, NodePhase.UPGRADE_REQUIRED, is_skipped=True), *named("p", 3))
    assert (figures.pending_count, figures.done_count, figures.failed_count) == (2, 0, 0)


def test_done_and_failed_are_the_sizes_of_their_states() -> None:
    figures = figures_of(*named("d", 3, NodePhase.UPGRADE_DONE), *named("f", 2, NodePhase.UPGRADE_FAILED), failed_max=5)
    assert (figures.pending_count, figures.done_count, figures.failed_count) == (0, 3, 2)


@pytest.mark.parametrize(
    ("nodes", "parallel_max", "unavailable_max", "slots"),
    [
        (named("p", 8, PENDING), 1, "25%", 1),
        (named("p", 10, PENDING), 0, "25%", 3),
        (named("p", 10, PENDING), 5, "25%", 3),
        (named("p", 1, PENDING), 1, "25%", 1),
        ((*named("p", 3, PENDING), *named("c", 2, PENDING, is_cordoned=True)), 0, "50%", 1),
        ((*named("p", 3, PENDING), *named("c", 2, DONE, is_cordoned=True)), 0, "50%", 1),
        ((*named("p", 3, PENDING), *named("c", 1, DONE, is_cordoned=True)), 1, "25%", 0),
        ((*named("p", 3, PENDING), *named("c", 1, DONE, is_ready=False)), 1, "25%", 0),
        ((*named("p", 9, PENDING), *named("f", 1, FAILED, is_cordon_ours=True)), 4, "25%", 2),
        (named("p", 4, PENDING), 1, 0, 0),
        ((*named("p", 2, PENDING), *named("c", 2, PENDING, is_cordoned=True)), 0, 8, 4),
        ((*named("s", 2, PENDING, is_skipped=True), *named("p", 3, PENDING)), 2, "100%", 2),
        (named("c", 5, PENDING, is_cordoned=True), 1, 1, 0),
        ((*named("p", 80, PENDING), *named("c", 20, DONE, is_ready=False)), 0, "25%", 5),
        ((*named("p", 2, PENDING), *named("c", 2, DONE, is_cordoned=True)), 0, "100%", 2),
    ],
)
def test_the_free_slots_are_those_nvidias_controller_would_publish(
    nodes: tuple[NodeSeen, ...], parallel_max: int, unavailable_max: int | str, slots: int
) -> None:
    figures = figures_of(*nodes, parallel_max=parallel_max, unavailable_max=unavailable_max)
    assert figures.available_count == slots


@pytest.mark.parametrize(("parallel_max", "unavailable_max"), [(4, 9), (9, 4)])
def test_whoever_is_admitted_takes_a_slot_before_his_cordon_is_seen(parallel_max: int, unavailable_max: int) -> None:
    nodes = (*named("s", 3, NodePhase.CORDON_REQUIRED), *named("p", 2, PENDING))
    limits = {"parallel_max": parallel_max, "unavailable_max": unavailable_max}
    assert figures_of(*nodes, admitted=a_ledger("s0", "s1", "s2"), **limits).available_count == 1


def test_slots_are_never_negative_when_a_limit_was_lowered_under_way() -> None:
    started = named("s", 3, NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True)
    ledger = a_ledger("s0", "s1", "s2")
    figures = figures_of(*started, *named("p", 7, PENDING), admitted=ledger, parallel_max=1, unavailable_max="50%")
    assert figures.available_count == 0


def test_a_failed_node_holds_no_slot_until_there_are_too_many() -> None:
    failed = named("f", 1, FAILED, is_cordon_ours=True)
    assert figures_of(*named("p", 9, PENDING), *failed, failed_max=1).available_count == 1
    assert figures_of(*named("p", 9, PENDING), *failed, failed_max=0).available_count == 0


def test_a_node_that_is_through_gives_its_slot_back_before_the_ledger_is_written() -> None:
    figures = figures_of(
        a_well_node("n1", DONE), *named("p", 3, PENDING), admitted=a_ledger("n1"), parallel_max=1, unavailable_max=1
    )
    assert figures.available_count == 1


def test_a_stopped_rollout_has_no_free_slot() -> None:
    stopped = a_decision(stop=hold("spring", HoldCode.PAUSED))
    assert measure(a_snapshot(*a_fleet(8, PENDING)), an_intent(), stopped).available_count == 0


@pytest.mark.parametrize("parallel_max", [0, 1, 3, 20])
def test_as_many_nodes_are_let_in_as_slots_were_free(parallel_max: int) -> None:
    busy = a_node("n0", NodePhase.VALIDATION_REQUIRED, is_cordon_ours=True)
    seen = a_snapshot(busy, *a_fleet(16, PENDING), admitted=a_ledger("n0"))
    wish = an_intent(parallel_max=parallel_max, unavailable_max="50%")
    decision = decide(seen, wish, NOW)
    (ledger,) = [action.record.admitted for action in decision.actions if isinstance(action, WriteRolloutRecord)]
    assert measure(seen, wish, decision).available_count == len(ledger) - 1


def test_a_pool_has_slots_of_its_own_within_those_of_the_whole() -> None:
    def pooled(nodes: tuple[NodeSeen, ...], owner: str) -> list[NodeSeen]:
        return [replace(node, facts=replace(node.facts, owner=owner)) for node in nodes]

    nodes = [*pooled(named("a", 8, PENDING), "a"), *pooled(named("b", 8, PENDING), "b"), *named("c", 2, PENDING)]
    one_each = Policy(limits=Limits(parallel_max=1, unavailable_max=Share.parse("25%")))
    pools = {"a": one_each, "b": one_each}
    assert figures_of(*nodes, parallel_max=0, unavailable_max="100%", pools=pools).available_count == 1 + 1 + 2
    assert figures_of(*nodes, parallel_max=3, unavailable_max="100%", pools=pools).available_count == 3
    (started,) = pooled((a_node("a0", NodePhase.CORDON_REQUIRED),), "a")
    figures = figures_of(
        started, *nodes[1:], admitted=a_ledger("a0"), parallel_max=0, unavailable_max="100%", pools=pools
    )
    assert figures.available_count == 0 + 1 + 2


@pytest.mark.parametrize(
    ("is_paused", "is_nvidias_on", "is_automated"),
    [(False, False, True), (True, False, False), (False, True, True), (True, True, True)],
)
def test_upgrades_are_automated_by_us_unless_paused_or_by_nvidia(
    is_paused: bool, is_nvidias_on: bool, is_automated: bool
) -> None:
    operator = OperatorFacts(kind="ClusterPolicy/cluster-policy", is_auto_upgrading=is_nvidias_on)
    figures = measure(a_snapshot(a_node(), operator=operator), an_intent(is_paused=is_paused), a_decision())
    assert figures.is_automated is is_automated


# ── how long each state lasts ────────────────────────────────────────────────────────────────────────────────────────


def test_a_phase_lasts_from_its_record_to_the_next() -> None:
    before = a_snapshot(
        a_node("n2", NodePhase.CORDON_REQUIRED, entered_at=900.0), a_node("n1", PENDING, entered_at=100.0)
    )
    after = a_snapshot(
        a_node("n2", NodePhase.WAIT_FOR_JOBS_REQUIRED, entered_at=901.5),
        a_node("n1", NodePhase.CORDON_REQUIRED, entered_at=700.0),
    )
    assert stays(before, after) == (
        Stay(node="n1", phase=PENDING, seconds=600.0),
        Stay(node="n2", phase=NodePhase.CORDON_REQUIRED, seconds=1.5),
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (a_node("n1", PENDING), a_node("n1", PENDING)),
        (a_node("n1", PENDING, attempt=1, entered_at=900.0), a_node("n1", PENDING, attempt=2, entered_at=950.0)),
        (a_node("n1", None), a_node("n1", PENDING)),
        (a_node("n1", PENDING), a_node("n1", None)),
        (a_node("n1", PENDING), a_node("n2", NodePhase.CORDON_REQUIRED)),
    ],
    ids=["nothing changed", "the next attempt", "a first record", "a lost record", "a node that is gone"],
)
def test_who_did_not_leave_a_phase_for_another_has_no_stay(before: NodeSeen, after: NodeSeen) -> None:
    assert stays(a_snapshot(before), a_snapshot(after)) == ()


def test_the_same_nodes_seen_again_have_no_stay() -> None:
    seen = a_snapshot(*a_fleet(3, PENDING))
    assert stays(seen, seen) == ()


def test_nobody_leaves_before_he_came_even_when_a_clock_was_set_back() -> None:
    before = a_snapshot(a_node("n1", PENDING, entered_at=900.0))
    after = a_snapshot(a_node("n1", DONE, entered_at=800.0))
    assert stays(before, after) == (Stay(node="n1", phase=PENDING, seconds=0.0),)


# ── what the waiting costs ───────────────────────────────────────────────────────────────────────────────────────────


def test_nothing_is_lost_before_the_second_look() -> None:
    meter = follow(Meter(), holding(hold("n1", HoldCode.SKIPPED)), 100.0)
    assert meter.lost == {}
    assert Meter().longest == {}


def test_time_is_charged_by_node_to_what_held_it_at_the_look_before() -> None:
    meter = follow(Meter(), holding(hold("n1", HoldCode.EVICTING), hold("n2", HoldCode.EVICTING)), 100.0)
    meter = follow(meter, holding(hold("n1", HoldCode.DRIVER_STARTING)), 110.0)
    assert meter.lost == {HoldCode.EVICTING: 20.0}
    meter = follow(meter, holding(), 113.0)
    assert meter.lost == {HoldCode.DRIVER_STARTING: 3.0}
    assert follow(meter, holding(), 120.0).lost == {}


def test_a_wait_counts_from_when_the_hold_says_or_else_from_when_it_was_first_seen() -> None:
    told, untold = hold("n1", HoldCode.EVICTING, since=40.0), hold("n2", HoldCode.PARALLEL_LIMIT)
    meter = follow(Meter(), holding(told, untold), 100.0)
    assert meter.longest == {HoldCode.EVICTING: 60.0, HoldCode.PARALLEL_LIMIT: 0.0}
    assert follow(meter, holding(told, untold), 130.0).longest == {
        HoldCode.EVICTING: 90.0,
        HoldCode.PARALLEL_LIMIT: 30.0,
    }


def test_the_longest_wait_is_the_oldest_that_still_lasts() -> None:
    old, new = hold("n1", HoldCode.EVICTING, since=10.0), hold("n2", HoldCode.EVICTING, since=90.0)
    meter = follow(Meter(), holding(old, new), 100.0)
    assert meter.longest == {HoldCode.EVICTING: 90.0}
    assert follow(meter, holding(new), 101.0).longest == {HoldCode.EVICTING: 11.0}


def test_a_wait_that_was_over_begins_anew() -> None:
    held = holding(hold("n1", HoldCode.PARALLEL_LIMIT))
    meter = follow(follow(follow(Meter(), held, 100.0), holding(), 110.0), held, 120.0)
    assert meter.longest == {HoldCode.PARALLEL_LIMIT: 0.0}


def test_a_wait_for_another_reason_is_another_wait() -> None:
    meter = follow(Meter(), holding(hold("n1", HoldCode.PARALLEL_LIMIT)), 100.0)
    meter = follow(meter, holding(hold("n1", HoldCode.UNAVAILABLE_LIMIT)), 110.0)
    assert meter.longest == {HoldCode.UNAVAILABLE_LIMIT: 0.0}


def test_while_nothing_is_seen_nobody_is_known_to_wait() -> None:
    meter = follow(follow(Meter(), holding(hold("n1", HoldCode.SKIPPED)), 100.0), None, 110.0)
    assert meter.lost == {HoldCode.SKIPPED: 10.0}
    assert meter.longest == {}
    assert follow(meter, holding(hold("n1", HoldCode.SKIPPED)), 500.0).lost == {}


def test_a_clock_that_was_set_back_gives_no_time_back() -> None:
    held = holding(hold("n1", HoldCode.EVICTING, since=95.0))
    meter = follow(follow(Meter(), held, 100.0), held, 90.0)
    assert meter.lost == {HoldCode.EVICTING: 0.0}
    assert meter.longest == {HoldCode.EVICTING: 0.0}


def test_every_state_there_is_can_be_published() -> None:
    assert set(measures.STATES) == {"unknown", *(phase.value for phase in NodePhase)}
