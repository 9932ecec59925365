"""Who may be touched at once: budgets as sets, the ledger, and what happens when the fleet changes under it."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.core.capacity import Admitted, Budget, admit, budget_of, recalled, still_admitted, under_way
from seatrial.core.holds import HoldCode, hold
from seatrial.core.intent import Limits, Share
from seatrial.core.snapshot import Admission, NodePhase, NodeSeen
from tests.builders import a_fleet, a_ledger, a_node

ROOMY = Budget(
    parallel_max=9,
    unavailable_max=9,
    failed_max=9,
    unavailable=frozenset(),
    under_way=frozenset(),
    failed=(),
)


def a_budget(**changes: Any) -> Budget:
    """A budget with room in every respect but those given."""
    fields = {name: getattr(ROOMY, name) for name in ROOMY.__slots__}
    return Budget(**(fields | changes))


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
    limits = Limits(parallel_max=2, unavailable_max=Share(amount=50, is_percent=True), failed_max=0)
    assert budget_of(nodes, a_ledger("n2", "n3"), limits) == Budget(
        parallel_max=2,
        unavailable_max=2,
        failed_max=0,
        unavailable=frozenset({"n1", "n2", "n3"}),
        under_way=frozenset({"n3"}),
        failed=("n2",),
    )


def test_no_parallel_limit_means_the_whole_fleet() -> None:
    assert budget_of(by_name(*a_fleet(5)), (), Limits(parallel_max=0)).parallel_max == 5


# ── letting in ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_candidates_are_let_in_by_name_while_there_is_room() -> None:
    budget = a_budget(parallel_max=2)
    assert admit(a_ledger("n3", "n1", "n2"), (), budget) == Admitted(
        ledger=a_ledger("n1", "n2"),
        holds=(hold("n3", HoldCode.PARALLEL_LIMIT, limit=2, nodes="n1, n2"),),
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


# ── the ledger ───────────────────────────────────────────────────────────────────────────────────────────────────────

LATER = 2


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
    assert (under_way(ledger, nodes), still_admitted(ledger, nodes)) == (
        frozenset({"n1"} if is_under_way else ()),
        ledger if is_kept else (),
    )


def test_a_node_gone_from_the_cluster_leaves_the_ledger() -> None:
    assert still_admitted(a_ledger("n1", "n2"), by_name(a_node("n2", NodePhase.CORDON_REQUIRED))) == a_ledger("n2")


def test_a_ledger_that_was_lost_names_everybody_under_way_again() -> None:
    nodes = by_name(
        a_node("n1", NodePhase.VALIDATION_REQUIRED, attempt=3, is_cordon_ours=True),
        a_node("n2", NodePhase.UPGRADE_REQUIRED),
        a_node("n3", NodePhase.UPGRADE_FAILED, is_cordon_ours=True),
    )
    assert still_admitted((), nodes) == (Admission(node="n1", attempt=3),)
