"""Who may be touched at once: budgets as sets, scopes, units, the ledger, and what happens when the fleet changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.core.budget import capacity
from seatrial.core.budget.capacity import (
    WHOLE,
    Admitted,
    Budget,
    Scope,
    budget_of,
    domain_of,
    still_admitted,
    under_way,
)
from seatrial.core.budget.recall import recalled
from seatrial.core.holds import HoldCode, hold
from seatrial.core.model.intent import Domain, Intent, Requestor
from seatrial.core.model.policy import Limits, Policy, Share
from seatrial.core.model.seen.nodes import Maintenance, NodePhase, NodeSeen
from seatrial.core.model.seen.rollouts import Admission
from seatrial.core.node.writing import record_of
from tests.builders import a_fleet, a_ledger, a_node, an_intent

RACK, CLIQUE = "example.com/rack", "nvidia.com/gpu.clique"


def a_scope(name: str = WHOLE, **changes: Any) -> Scope:
    """A scope with room in every respect but those given."""
    roomy = Scope(name=name, parallel_max=9, unavailable_max=9, unavailable=frozenset(), under_way=frozenset())
    return replace(roomy, **changes)


def a_budget(
    *scopes: Scope,
    failed_max: int = 9,
    failed: tuple[str, ...] = (),
    scopes_of: Mapping[str, tuple[str, ...]] | None = None,
    unit_of: Mapping[str, str] | None = None,
    **changes: Any,
) -> Budget:
    """A budget with room in every respect but those given; further scopes besides the rollout's own."""
    return Budget(
        failed_max=failed_max,
        failed=failed,
        scopes={WHOLE: a_scope(**changes)} | {scope.name: scope for scope in scopes},
        scopes_of=scopes_of or {},
        unit_of=unit_of or {},
    )


def admit(candidates: Iterable[Admission], ledger: Iterable[Admission], budget: Budget, **more: Any) -> Admitted:
    """Let candidates in, each for the attempt given."""
    wishes = {candidate.node: candidate for candidate in candidates}
    return capacity.admit(tuple(wishes), wishes.__getitem__, ledger, budget, **more)


def by_name(*nodes: NodeSeen) -> dict[str, NodeSeen]:
    return {node.name: node for node in nodes}


# ── the budget ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_budget_counts_names_so_that_nobody_is_counted_twice() -> None:
    nodes = by_name(
        a_node("n1", is_cordoned=True, is_ready=False),
        a_node("n2", NodePhase.UPGRADE_FAILED, is_cordon_ours=True),
        a_node("n3", NodePhase.VALIDATION_REQUIRED, is_cordon_ours=True),
        a_node("n4"),
    )
    intent = an_intent(parallel_max=2, unavailable_max="50%", failed_max=0)
    assert budget_of(nodes, a_ledger("n2", "n3"), intent) == a_budget(
        parallel_max=2,
        unavailable_max=2,
        failed_max=0,
        unavailable=frozenset({"n1", "n2", "n3"}),
        under_way=frozenset({"n3"}),
        failed=("n2",),
    )


def test_no_parallel_limit_means_the_whole_fleet() -> None:
    assert budget_of(by_name(*a_fleet(5)), (), an_intent(parallel_max=0)).whole.parallel_max == 5


def test_each_pool_has_a_budget_of_its_own_members() -> None:
    nodes = by_name(
        a_node("n1", owner="blue", is_cordoned=True),
        a_node("n2", owner="blue", phase=NodePhase.CORDON_REQUIRED),
        a_node("n3", owner="red"),
        a_node("n4", owner="green"),
    )
    intent = an_intent(
        parallel_max=2,
        unavailable_max=3,
        pools={
            "blue": Policy(limits=Limits(parallel_max=0, unavailable_max=Share.parse("50%"))),
            "red": Policy(limits=Limits(parallel_max=3, unavailable_max=Share.parse(4))),
        },
    )
    assert budget_of(nodes, a_ledger("n2"), intent) == a_budget(
        a_scope(
            "NVIDIADriver blue",
            parallel_max=2,
            unavailable_max=1,
            unavailable=frozenset({"n1"}),
            under_way=frozenset({"n2"}),
        ),
        a_scope("NVIDIADriver red", parallel_max=3, unavailable_max=4),
        parallel_max=2,
        unavailable_max=3,
        unavailable=frozenset({"n1"}),
        under_way=frozenset({"n2"}),
        failed_max=1,
        scopes_of={"n1": ("NVIDIADriver blue",), "n2": ("NVIDIADriver blue",), "n3": ("NVIDIADriver red",)},
    )


def test_a_domain_with_a_floor_is_a_scope_and_a_unit_is_one_only_where_it_has_a_floor() -> None:
    nodes = by_name(
        a_node("n1", labels={RACK: "r1", CLIQUE: "c1"}, is_ready=False),
        a_node("n2", labels={RACK: "r1"}),
        a_node("n3", labels={RACK: "", CLIQUE: "c1"}),
    )
    domains = (Domain(label=RACK, unavailable_max=Share.parse("50%")), Domain(label=CLIQUE, is_unit=True))
    intent = an_intent(parallel_max=2, unavailable_max=2, domains=domains)
    assert budget_of(nodes, (), intent) == a_budget(
        a_scope(f"{RACK} r1", parallel_max=2, unavailable_max=1, unavailable=frozenset({"n1"})),
        parallel_max=2,
        unavailable_max=2,
        unavailable=frozenset({"n1"}),
        failed_max=1,
        scopes_of={"n1": (f"{RACK} r1",), "n2": (f"{RACK} r1",)},
        unit_of={"n1": "nvidia.com/gpu.clique c1", "n3": "nvidia.com/gpu.clique c1"},
    )


@pytest.mark.parametrize(
    ("label", "text"), [(RACK, f"{RACK} r1"), ("zone", "zone a"), ("example.com/none", ""), ("empty", "")]
)
def test_a_domain_is_called_by_its_label_and_its_value(label: str, text: str) -> None:
    assert domain_of(a_node(labels={RACK: "r1", "zone": "a", "empty": ""}).facts, label) == text


# ── letting in ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_candidates_are_let_in_as_they_stand_in_line_while_there_is_room() -> None:
    budget = a_budget(parallel_max=2)
    assert admit(a_ledger("n3", "n1", "n2"), (), budget) == Admitted(
        ledger=a_ledger("n1", "n3"),
        holds=(hold("n2", HoldCode.PARALLEL_LIMIT, limit=2, nodes="n1, n3"),),
    )


@pytest.mark.parametrize(
    ("budget", "ledger", "expected"),
    [
        (
            a_budget(parallel_max=1, under_way=frozenset({"n1"})),
            a_ledger("n1"),
            hold("n9", HoldCode.PARALLEL_LIMIT, limit=1, nodes="n1"),
        ),
        (
            a_budget(unavailable_max=2, unavailable=frozenset({"n1", "n2"})),
            a_ledger("n1"),
            hold("n9", HoldCode.UNAVAILABLE_LIMIT, limit=2, taken=2, nodes="n1, n2"),
        ),
        (
            a_budget(unavailable_max=0),
            (),
            hold("n9", HoldCode.UNAVAILABLE_LIMIT, limit=0, taken=0, nodes="none"),
        ),
        (
            a_budget(failed_max=1, failed=("n1", "n2")),
            (),
            hold("n9", HoldCode.FAILURE_BUDGET, failed=2, limit=1, nodes="n1, n2"),
        ),
        (
            a_budget(failed_max=0, failed=("n1", "n2", "n3", "n4", "n5", "n6")),
            (),
            hold("n9", HoldCode.FAILURE_BUDGET, failed=6, limit=0, nodes="n1, n2, n3, n4 and 2 more"),
        ),
    ],
)
def test_a_candidate_without_room_waits_and_is_told_who_takes_it(budget: Budget, ledger: Any, expected: Any) -> None:
    assert admit(a_ledger("n9"), ledger, budget) == Admitted(ledger=ledger, holds=(expected,))


def test_as_many_failures_as_tolerated_still_let_others_in() -> None:
    budget = a_budget(failed_max=1, failed=("n1",))
    assert admit(a_ledger("n9"), (), budget) == Admitted(ledger=a_ledger("n9"), holds=())


def test_a_node_unavailable_already_costs_nothing_more() -> None:
    budget = a_budget(unavailable_max=1, unavailable=frozenset({"n9"}))
    assert admit(a_ledger("n9"), (), budget) == Admitted(ledger=a_ledger("n9"), holds=())


def test_cordoned_nodes_do_not_bypass_the_parallel_limit() -> None:
    budget = a_budget(parallel_max=1, unavailable=frozenset({"n1", "n2"}))
    assert admit(a_ledger("n1", "n2"), (), budget).ledger == a_ledger("n1")


def test_a_failed_node_takes_room_but_no_parallel_slot() -> None:
    budget = a_budget(parallel_max=1, unavailable_max=2, failed=("n1",))
    assert admit(a_ledger("n8", "n9"), a_ledger("n1"), budget) == Admitted(
        ledger=a_ledger("n1", "n8"),
        holds=(hold("n9", HoldCode.PARALLEL_LIMIT, limit=1, nodes="n8"),),
    )


def test_a_retry_takes_the_place_of_the_attempt_before() -> None:
    retry = Admission(node="n1", attempt=2)
    assert admit([retry], a_ledger("n1", "n2"), a_budget()).ledger == (retry, *a_ledger("n2"))


# ── scopes ───────────────────────────────────────────────────────────────────────────────────────────────────────────

IN_R1 = {"n1": ("rack r1",), "n2": ("rack r1",), "n3": ("rack r1",)}


def test_a_full_domain_keeps_its_own_waiting_and_nobody_else() -> None:
    budget = a_budget(a_scope("rack r1", unavailable_max=1), scopes_of=IN_R1)
    assert admit(a_ledger("n1", "n2", "n9"), (), budget) == Admitted(
        ledger=a_ledger("n1", "n9"),
        holds=(hold("n2", HoldCode.UNAVAILABLE_LIMIT, scope="rack r1", limit=1, taken=1, nodes="n1"),),
    )


def test_a_full_pool_keeps_its_own_waiting_and_nobody_else() -> None:
    pool = a_scope("NVIDIADriver blue", parallel_max=1, under_way=frozenset({"n1"}))
    budget = a_budget(pool, scopes_of={"n1": (pool.name,), "n2": (pool.name,)}, under_way=frozenset({"n1"}))
    assert admit(a_ledger("n2", "n9"), a_ledger("n1"), budget) == Admitted(
        ledger=a_ledger("n1", "n9"),
        holds=(hold("n2", HoldCode.PARALLEL_LIMIT, scope="NVIDIADriver blue", limit=1, nodes="n1"),),
    )


def test_who_is_in_the_ledger_takes_room_in_every_scope_it_is_in() -> None:
    budget = a_budget(a_scope("rack r1", unavailable_max=1), scopes_of=IN_R1)
    assert admit(a_ledger("n2"), a_ledger("n1"), budget).ledger == a_ledger("n1")


def test_the_rollouts_own_limit_is_told_before_that_of_a_domain() -> None:
    budget = a_budget(a_scope("rack r1", unavailable_max=0), scopes_of=IN_R1, unavailable_max=0)
    assert admit(a_ledger("n1"), (), budget).holds == (
        hold("n1", HoldCode.UNAVAILABLE_LIMIT, limit=0, taken=0, nodes="none"),
    )


# ── units ────────────────────────────────────────────────────────────────────────────────────────────────────────────

UNIT = {"n1": "clique c1", "n2": "clique c1"}


def test_a_unit_is_let_in_as_a_whole_where_its_first_member_stands_in_line() -> None:
    budget = a_budget(unit_of=UNIT, parallel_max=3)
    assert admit(a_ledger("n1", "n8", "n9", "n2"), (), budget) == Admitted(
        ledger=a_ledger("n1", "n2", "n8"),
        holds=(hold("n9", HoldCode.PARALLEL_LIMIT, limit=3, nodes="n1, n2, n8"),),
    )


def test_a_unit_without_room_for_all_of_it_lets_nobody_in_but_others_may_pass() -> None:
    budget = a_budget(unit_of=UNIT, parallel_max=2, under_way=frozenset({"n7"}))
    assert admit(a_ledger("n1", "n2", "n9"), a_ledger("n7"), budget) == Admitted(
        ledger=a_ledger("n7", "n9"),
        holds=tuple(hold(name, HoldCode.PARALLEL_LIMIT, limit=2, nodes="n7, n9") for name in ("n1", "n2")),
    )


def test_a_unit_waits_until_there_is_room_for_all_of_it() -> None:
    budget = a_budget(unit_of=UNIT, unavailable_max=2, unavailable=frozenset({"n7"}))
    assert admit(a_ledger("n1", "n2"), (), budget) == Admitted(
        ledger=(),
        holds=tuple(hold(name, HoldCode.UNAVAILABLE_LIMIT, limit=2, taken=1, nodes="n7") for name in ("n1", "n2")),
    )


@pytest.mark.parametrize("changes", [{"parallel_max": 1}, {"unavailable_max": 1}])
def test_a_unit_larger_than_a_limit_is_told_that_it_will_never_fit(changes: dict[str, Any]) -> None:
    assert admit(a_ledger("n1", "n2"), (), a_budget(unit_of=UNIT, **changes)) == Admitted(
        ledger=(), holds=tuple(hold(name, HoldCode.UNIT_TOO_LARGE, size=2, limit=1) for name in ("n1", "n2"))
    )


def test_a_unit_too_large_for_a_domain_is_told_which() -> None:
    budget = a_budget(a_scope("rack r1", unavailable_max=1), scopes_of=IN_R1, unit_of=UNIT)
    assert admit(a_ledger("n1", "n2"), (), budget).holds == tuple(
        hold(name, HoldCode.UNIT_TOO_LARGE, scope="rack r1", size=2, limit=1) for name in ("n1", "n2")
    )


def test_members_of_a_unit_that_are_out_already_need_no_room() -> None:
    budget = a_budget(unit_of=UNIT, unavailable_max=1, unavailable=frozenset({"n1"}))
    assert admit(a_ledger("n1", "n2"), (), budget).holds == tuple(
        hold(name, HoldCode.UNAVAILABLE_LIMIT, limit=1, taken=1, nodes="n1") for name in ("n1", "n2")
    )
    emptied = a_budget(unit_of=UNIT, unavailable_max=0, unavailable=frozenset({"n1", "n2"}))
    assert admit(a_ledger("n1", "n2"), (), emptied).ledger == a_ledger("n1", "n2")


def test_a_unit_waits_for_those_who_are_about_to_ask() -> None:
    budget = a_budget(unit_of=UNIT | {"n3": "clique c2"})
    assert admit(a_ledger("n1", "n3"), (), budget, coming=frozenset({"n2", "n9"})) == Admitted(
        ledger=a_ledger("n3"), holds=(hold("n1", HoldCode.UNIT_INCOMPLETE, nodes="n2"),)
    )


def test_nodes_outside_of_units_wait_for_nobody() -> None:
    assert admit(a_ledger("n1"), (), a_budget(), coming=frozenset({"n2"})).ledger == a_ledger("n1")


def test_a_unit_is_stopped_by_failures_like_everybody() -> None:
    budget = a_budget(unit_of=UNIT, failed_max=0, failed=("n9",))
    assert [held.code for held in admit(a_ledger("n1", "n2"), (), budget).holds] == [HoldCode.FAILURE_BUDGET] * 2


# ── taking back ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (a_budget(under_way=frozenset({"n1", "n2"}), unavailable_max=2), frozenset()),
        (a_budget(under_way=frozenset({"n1", "n2"}), parallel_max=1), frozenset({"n1", "n2"})),
        (a_budget(under_way=frozenset({"n1", "n2"}), failed_max=0, failed=("n3",)), frozenset({"n1", "n2"})),
        (
            a_budget(under_way=frozenset({"n1", "n2"}), unavailable_max=2, unavailable=frozenset({"n2", "n7"})),
            frozenset({"n1"}),
        ),
    ],
)
def test_who_no_longer_fits_is_called_back(budget: Budget, expected: frozenset[str]) -> None:
    assert recalled(a_ledger("n1", "n2"), budget) == expected


def test_who_no_longer_fits_into_a_domain_is_called_back_and_others_are_not() -> None:
    rack = a_scope("rack r1", unavailable_max=1, unavailable=frozenset({"n3"}), under_way=frozenset({"n1"}))
    budget = a_budget(rack, scopes_of=IN_R1, under_way=frozenset({"n1", "n9"}), unavailable=frozenset({"n3"}))
    assert recalled(a_ledger("n1", "n9"), budget) == frozenset({"n1"})


def test_who_no_longer_fits_into_a_pool_is_called_back_and_others_are_not() -> None:
    pool = a_scope("NVIDIADriver blue", parallel_max=1, under_way=frozenset({"n1", "n2"}))
    scopes_of = {"n1": (pool.name,), "n2": (pool.name,)}
    budget = a_budget(pool, scopes_of=scopes_of, under_way=frozenset({"n1", "n2", "n9"}))
    assert recalled(a_ledger("n1", "n2", "n9"), budget) == frozenset({"n1", "n2"})


# ── the ledger ───────────────────────────────────────────────────────────────────────────────────────────────────────

LATER = 2
ALONE = an_intent()
BY_REQUEST = an_intent(requestor=Requestor(id="seatrial"))


@pytest.mark.parametrize(
    ("node", "is_under_way", "is_kept"),
    [
        (a_node(), True, True),  # an old view, from before the record
        (a_node(phase=NodePhase.UPGRADE_FAILED, attempt=0), True, True),  # an old view, of an earlier attempt
        (a_node(phase=NodePhase.UPGRADE_REQUIRED), True, True),
        (a_node(phase=NodePhase.CORDON_REQUIRED), True, True),
        (a_node(phase=NodePhase.UNCORDON_REQUIRED, is_cordon_ours=True), True, True),
        (a_node(phase=NodePhase.UPGRADE_DONE), False, False),
        (a_node(phase=NodePhase.UPGRADE_FAILED), False, False),
        (a_node(phase=NodePhase.UPGRADE_FAILED, is_cordon_ours=True), False, True),
        (a_node(phase=NodePhase.UPGRADE_REQUIRED, attempt=LATER), False, False),
        (a_node(phase=NodePhase.UPGRADE_REQUIRED, attempt=LATER, is_cordon_ours=True), False, True),
        (a_node(phase=NodePhase.UPGRADE_DONE, attempt=LATER), False, False),
    ],
)
def test_an_admission_ends_by_evidence_and_leaves_with_our_cordon(
    node: NodeSeen, is_under_way: bool, is_kept: bool
) -> None:
    ledger, nodes = a_ledger("n1"), by_name(node)
    assert (under_way(ledger, nodes), still_admitted(ledger, nodes, ALONE)) == (
        frozenset({"n1"} if is_under_way else ()),
        ledger if is_kept else (),
    )


def test_a_node_gone_from_the_cluster_leaves_the_ledger() -> None:
    nodes = by_name(a_node("n2", NodePhase.CORDON_REQUIRED))
    assert still_admitted(a_ledger("n1", "n2"), nodes, ALONE) == a_ledger("n2")


def test_a_ledger_that_was_lost_names_everybody_under_way_again() -> None:
    nodes = by_name(
        a_node("n1", NodePhase.VALIDATION_REQUIRED, attempt=3, is_cordon_ours=True),
        a_node("n2", NodePhase.UPGRADE_REQUIRED),
        a_node("n3", NodePhase.UPGRADE_FAILED, is_cordon_ours=True),
    )
    assert still_admitted((), nodes, ALONE) == (Admission(node="n1", attempt=3),)


def a_maintenance(requestor: str, *others: str) -> Maintenance:
    return Maintenance(namespace="default", name="m", uid="u", resource_version="1", requestor=requestor, others=others)


@pytest.mark.parametrize("phase", [NodePhase.UPGRADE_DONE, NodePhase.UPGRADE_FAILED])
@pytest.mark.parametrize(
    ("maintenance", "intent", "is_kept"),
    [
        (a_maintenance("seatrial"), BY_REQUEST, True),
        (a_maintenance("nic-operator", "seatrial"), BY_REQUEST, True),
        (a_maintenance("nic-operator"), BY_REQUEST, False),
        (a_maintenance("seatrial"), ALONE, False),
        (None, BY_REQUEST, False),
    ],
)
def test_a_node_kept_out_in_our_name_stays_in_the_ledger_though_it_has_ended(
    maintenance: Maintenance | None, intent: Intent, is_kept: bool, phase: NodePhase
) -> None:
    ledger, nodes = a_ledger("n1"), by_name(a_node(phase=phase, is_cordoned=True, maintenance=maintenance))
    assert (under_way(ledger, nodes), still_admitted(ledger, nodes, intent)) == (
        frozenset(),
        ledger if is_kept else (),
    )


# ── whatever the fleet ───────────────────────────────────────────────────────────────────────────────────────────────

RANDOM_FLEETS = st.lists(
    st.builds(
        lambda phase, rack, clique, owner, is_ready: (phase, {RACK: rack, CLIQUE: clique}, owner, is_ready),
        st.sampled_from([NodePhase.UPGRADE_REQUIRED, NodePhase.UPGRADE_DONE, NodePhase.CORDON_REQUIRED]),
        st.sampled_from(["", "r1", "r2"]),
        st.sampled_from(["", "c1", "c2"]),
        st.sampled_from(["", "blue"]),
        st.sampled_from([True, True, True, False]),
    ),
    min_size=1,
    max_size=10,
).map(
    lambda rows: by_name(
        *(
            a_node(f"n{number}", phase, labels=labels, owner=owner, is_ready=is_ready)
            for number, (phase, labels, owner, is_ready) in enumerate(rows)
        )
    )
)
RANDOM_INTENTS = st.builds(
    lambda parallel, out, floor, pool: an_intent(
        parallel_max=parallel,
        unavailable_max=out,
        domains=(Domain(label=RACK, unavailable_max=Share(amount=floor)), Domain(label=CLIQUE, is_unit=True)),
        pools={"blue": Policy(limits=Limits(parallel_max=pool, unavailable_max=Share.parse("50%")))},
    ),
    st.integers(0, 6),
    st.integers(0, 6),
    st.integers(0, 3),
    st.integers(0, 3),
)


def overdrawn(nodes: dict[str, NodeSeen], ledger: Iterable[Admission], new: set[str], intent: Intent) -> list[str]:
    """The scopes, counted the long way, in which those let in now break a limit."""
    admitted = {admission.node for admission in ledger}
    scopes = [("whole", set(nodes), intent.limits)]
    scopes += [("pool", {n for n in nodes if nodes[n].facts.owner == "blue"}, intent.pools["blue"].limits)]
    floor = Limits(parallel_max=0, unavailable_max=intent.domains[0].unavailable_max or Share(amount=0))
    for rack in ("r1", "r2"):
        scopes += [(rack, {n for n in nodes if nodes[n].facts.labels[RACK] == rack}, floor)]
    found = []
    for name, inside, limits in scopes:
        gone = {n for n in inside if n in admitted or nodes[n].facts.is_unavailable}
        moving = {n for n in inside & admitted if record_of(nodes[n]).phase is not NodePhase.UPGRADE_DONE}
        costs = {n for n in inside & new if not nodes[n].facts.is_unavailable}
        if costs and len(gone) > limits.unavailable_max.of(len(inside)):
            found.append(f"{name} unavailable")
        if inside & new and len(moving) > (limits.parallel_max or len(inside)):
            found.append(f"{name} parallel")
    return found


def test_for_which_attempt_is_asked_of_those_alone_who_are_let_in() -> None:
    asked: list[str] = []

    def wish(name: str) -> Admission:
        asked.append(name)
        return Admission(node=name, attempt=1)

    result = capacity.admit(("n1", "n2", "n3"), wish, (), a_budget(parallel_max=1))
    assert (result.ledger, asked) == (a_ledger("n1"), ["n1"])


@settings(max_examples=300)
@given(RANDOM_FLEETS, RANDOM_INTENTS)
def test_whoever_is_let_in_breaks_no_limit_of_any_scope_and_no_unit_is_torn(
    nodes: dict[str, NodeSeen], intent: Intent
) -> None:
    ledger = still_admitted((), nodes, intent)
    candidates = a_ledger(*(name for name in nodes if record_of(nodes[name]).phase is NodePhase.UPGRADE_REQUIRED))
    budget = budget_of(nodes, ledger, intent)
    result = admit(candidates, ledger, budget)
    new = {admission.node for admission in set(result.ledger) - set(ledger)}
    told = {held.subject for held in result.holds}
    assert overdrawn(nodes, result.ledger, new, intent) == []
    assert (new | told, new & told) == ({candidate.node for candidate in candidates}, set())
    torn = {budget.unit_of.get(name) for name in new} & {budget.unit_of.get(name) for name in told} - {None}
    assert torn == set()


@given(RANDOM_FLEETS, RANDOM_INTENTS)
def test_whoever_was_let_in_just_now_is_not_called_back(nodes: dict[str, NodeSeen], intent: Intent) -> None:
    waiting = {
        name: replace(node, record=a_node(phase=NodePhase.UPGRADE_REQUIRED).record) for name, node in nodes.items()
    }
    result = admit(a_ledger(*waiting), (), budget_of(waiting, (), intent))
    assert recalled(result.ledger, budget_of(waiting, result.ledger, intent)) == frozenset()
