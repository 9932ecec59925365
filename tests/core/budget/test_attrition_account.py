"""What a rollout by attrition has cost, by cause: counted from one write of the ledger to the next."""

from __future__ import annotations

from dataclasses import replace

from seatrial.core.budget.attrition import account
from seatrial.core.model.seen.rollouts import Admission, Cost
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.model.seen.work import WorkSeen
from tests.builders import NOW
from tests.core.budget.test_attrition_books import a_job, ahead, closed, seen

SOMEBODY = WorkSeen(waiting=((2, 1),))


def since(snapshot: Snapshot, seconds: float, cost: Cost | None = None) -> Snapshot:
    return replace(snapshot, rollout=replace(snapshot.rollout, summarised_at=NOW - seconds, cost=cost))


def test_gpus_that_nobody_holds_on_closed_nodes_are_lost_while_somebody_waits_who_fits() -> None:
    half = since(seen(closed("n1", a_job("j", "n1", 4)), admitted=ahead("n1")), 100)
    assert account.cost_of(replace(half, work=SOMEBODY), NOW) == Cost(idle_gpu_seconds=400)
    assert account.cost_of(half, NOW) == Cost(), "nobody waits"
    large = replace(half, work=WorkSeen(waiting=((8, 1),)))
    assert account.cost_of(large, NOW) == Cost(), "who waits would not fit"


def test_a_closed_node_that_is_full_costs_nothing() -> None:
    full = since(seen(closed("n1", a_job("j", "n1")), admitted=ahead("n1")), 100)
    assert account.cost_of(replace(full, work=SOMEBODY), NOW) == Cost()


def test_a_node_that_is_taken_costs_its_reload_on_top_of_what_was_counted() -> None:
    taken = since(seen(closed("n1"), admitted=(Admission(node="n1", attempt=1),)), 100, Cost(reload_gpu_seconds=5))
    assert account.cost_of(taken, NOW) == Cost(reload_gpu_seconds=805)


def test_where_it_is_not_known_when_the_ledger_was_written_nothing_is_added() -> None:
    taken = seen(closed("n1"), admitted=(Admission(node="n1", attempt=1),))
    assert account.cost_of(taken, NOW) == Cost()
