"""Services by attrition: nodes whose replicas others answer for go first, as their PodDisruptionBudgets allow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seatrial.core.actions.on_nodes import WriteNodeRecord
from seatrial.core.budget.attrition import costs, replicas
from seatrial.core.budget.attrition.replicas import Keeper
from seatrial.core.budget.attrition.turn import turn
from seatrial.core.budget.attrition.values import Attrition, Job, Verb
from seatrial.core.holds import HoldCode, hold
from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.seen.jobs import PodJob
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.model.seen.pods import Pod
from seatrial.core.model.seen.rollouts import Admission
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.model.seen.work import PodBudget, WorkSeen
from seatrial.core.model.selectors import Selector
from seatrial.core.words import explain
from tests.builders import NOW
from tests.core.budget.test_attrition import NOW as LATER
from tests.core.budget.test_attrition import did, job, view
from tests.core.budget.test_attrition_books import (
    WAVING,
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

BUDGET = "ml/chat"


def replica(name: str, node_name: str, *, gpus: int = 8, budget: str = BUDGET) -> Job:
    """One of several that serve, with ready ones elsewhere."""
    under = ((budget, 1),) if budget else ()
    return job(name, node_name, gpus=gpus, hours=900.0, is_service=True, has_replicas=True, budgets=under)


# ── the rules ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_node_of_replicas_is_closed_before_one_that_costs_nothing() -> None:
    acts = turn(view(job("a", "n1"), replica("r", "n2"), allowed={BUDGET: 1}, way=Attrition(close_ahead=0.5)))
    assert did(acts) == [(Verb.CLOSE, ("n2",))]


def test_it_is_emptied_at_once_though_one_replica_fills_it_and_costs_its_restart_alone() -> None:
    [act] = turn(view(replica("r", "n1"), closed=("n1",), allowed={BUDGET: 1}))
    assert (act.verb, act.nodes) == (Verb.EVICT, ("n1",))
    assert costs.evicting(replica("r", "n1"), LATER) == 8 * costs.MOVE_SECONDS


def test_no_more_nodes_are_emptied_than_the_budget_allows() -> None:
    both = (replica("r1", "n1"), replica("r2", "n2"))
    open_still = turn(view(*both, allowed={BUDGET: 1}))
    assert did(open_still) == [(Verb.CLOSE, ("n1",))]
    one_closed = turn(view(*both, closed=("n1",), allowed={BUDGET: 1}))
    assert did(one_closed) == [(Verb.EVICT, ("n1",))], "what is spent on n1 is not there for n2"
    both_closed = turn(view(*both, closed=("n1", "n2"), allowed={BUDGET: 1}))
    assert did(both_closed) == [(Verb.EVICT, ("n1",))]
    roomy = turn(view(*both, closed=("n1", "n2"), allowed={BUDGET: 2}))
    assert [act.nodes for act in roomy] == [("n1",), ("n2",)]


def test_two_replicas_on_one_node_stay_while_their_budget_allows_one_disruption() -> None:
    both = (replica("r1", "n1", gpus=4), replica("r2", "n1", gpus=4))
    early = LATER + 86_400.0
    assert turn(view(*both, allowed={BUDGET: 1}, deadline_at=early)) == []
    assert turn(view(*both, closed=("n1",), allowed={BUDGET: 1}, deadline_at=early)) == []
    assert len(turn(view(*both, closed=("n1",), allowed={BUDGET: 2}, deadline_at=early))) == 1


def test_at_the_last_call_replicas_of_one_node_leave_one_by_one_where_the_budget_allows_any() -> None:
    both = (replica("r1", "n1", gpus=4), replica("r2", "n1", gpus=4))
    seen_open, shut = (view(*both, closed=each, allowed={BUDGET: 1}, deadline_at=LATER) for each in ((), ("n1",)))
    assert [act.verb for act in turn(seen_open)] == [Verb.CLOSE]
    assert [act.verb for act in turn(shut)] == [Verb.EVICT]
    assert replicas.to_open(shut) == frozenset()
    assert turn(replace(shut, allowed={BUDGET: 0})) == []


def test_a_gang_with_more_pods_than_its_budget_allows_is_waited_for_until_the_last_call() -> None:
    training = job("a", "n1", "n2", budgets=((BUDGET, 2),))
    early = view(training, closed=("n1", "n2"), allowed={BUDGET: 1}, deadline_at=LATER + 86_400.0)
    assert turn(early) == []
    assert [act.verb for act in turn(replace(early, deadline_at=LATER))] == [Verb.EVICT]


@pytest.mark.parametrize("deadline_at", [LATER + 86_400.0, LATER], ids=["early", "at-the-deadline"])
def test_where_the_budget_allows_none_a_service_is_neither_closed_nor_evicted(deadline_at: float) -> None:
    seen_open = view(replica("r", "n1"), allowed={BUDGET: 0}, deadline_at=deadline_at)
    seen_closed = view(replica("r", "n1"), closed=("n1",), allowed={BUDGET: 0}, deadline_at=deadline_at)
    assert turn(seen_open) == []
    assert turn(seen_closed) == []


def test_a_job_under_a_budget_that_allows_none_is_closed_and_waited_for_beyond_the_deadline() -> None:
    training = job("a", "n1", budgets=((BUDGET, 1),))
    assert did(turn(view(training, allowed={BUDGET: 0}))) == [(Verb.CLOSE, ("n1",))]
    late = view(training, closed=("n1",), allowed={BUDGET: 0}, deadline_at=LATER)
    assert turn(late) == []
    assert replicas.waiting(late, frozenset(), frozenset(), is_last=True) == {"n1": Keeper(BUDGET, 0, 1)}
    assert replicas.waiting(late, frozenset(), frozenset(), is_last=False) == {}, "until then it waits for its end"


def test_a_service_without_a_budget_goes_as_any_job_does() -> None:
    assert turn(view(replica("r", "n1", budget=""), closed=("n1",))) == []
    assert did(turn(view(replica("r", "n1", budget="")))) == [(Verb.CLOSE, ("n1",))]


def test_a_service_that_nobody_else_answers_for_does_not_go_first() -> None:
    alone = replace(replica("r", "n1"), has_replicas=False)
    assert did(turn(view(alone, allowed={BUDGET: 1}))) == [(Verb.CLOSE, ("n1",))]
    assert turn(view(alone, closed=("n1",), allowed={BUDGET: 1})) == []


def test_a_node_that_a_job_shares_with_a_replica_does_not_go_first() -> None:
    mixed = (replica("r", "n1", gpus=4), job("a", "n1", gpus=4))
    acts = turn(view(*mixed, job("b", "n2"), allowed={BUDGET: 1}, way=Attrition(close_ahead=0.5)))
    assert did(acts) == [(Verb.CLOSE, ("n2",))]


def test_nobody_moves_early_where_early_eviction_is_not_wanted() -> None:
    calm = Attrition(evicts_early=False)
    assert turn(view(replica("r", "n1"), closed=("n1",), allowed={BUDGET: 1}, way=calm)) == []


def test_replicas_of_two_services_each_need_their_own_budget() -> None:
    both = (replica("r", "n1", gpus=4), replica("q", "n1", gpus=4, budget="ml/search"))
    assert turn(view(*both, closed=("n1",), allowed={BUDGET: 1, "ml/search": 0})) == []
    assert len(turn(view(*both, closed=("n1",), allowed={BUDGET: 1, "ml/search": 1}))) == 1


# ── what is seen, and what is told ───────────────────────────────────────────────────────────────────────────────────


def a_replica(name: str, gpus: int = 8, **fields: object) -> Pod:
    told = PodJob(gang=f"ml/replica/{name}", line="ml/chat", replica_of="ml/ReplicaSet/chat", started_at=0.0)
    pod = Pod(
        namespace="ml",
        name=name,
        uid=name,
        labels=(("app", "chat"),),
        gpu=GpuUse.RESOURCE,
        gpu_count=gpus,
        is_running=True,
        job=told,
    )
    return replace(pod, **fields)  # type: ignore[arg-type]


def allowing(snapshot: Snapshot, allowed: int) -> Snapshot:
    budget = PodBudget(namespace="ml", name="chat", selector=Selector.parse("app=chat"), allowed=allowed)
    return replace(snapshot, work=WorkSeen(budgets=(budget,)))


def test_a_replica_on_a_node_that_is_through_answers_as_well() -> None:
    nodes = (closed("n1", a_replica("a")), node("n2", a_replica("b"), phase=NodePhase.UPGRADE_DONE))
    snapshot = seen(*nodes, admitted=ahead("n1"))
    assert ledger(decided(allowing(snapshot, 1), wish())) == {"n1": False}
    assert HoldCode.DISRUPTION_LIMIT in codes(decided(allowing(snapshot, 0), wish()), "n1")


def test_a_closed_service_is_given_back_when_its_budget_allows_no_more_for_its_next_replica_may_need_the_room() -> None:
    nodes = (closed("n1", a_replica("a", gpus=4)), node("n2", a_replica("b")))
    snapshot = seen(*nodes, admitted=ahead("n1"))
    assert given_back(decided(allowing(snapshot, 0), wish())) == {"n1"}
    assert given_back(decided(allowing(snapshot, 1), wish())) == set()


def test_an_open_node_says_which_budget_keeps_its_pods() -> None:
    decision = decided(allowing(seen(node("n1", a_replica("a")), node("n2", a_replica("b"))), 0), wish())
    assert codes(decision, "n1") == {HoldCode.DISRUPTION_LIMIT}
    (held,) = (held for held in decision.holds if held.subject == "n2")
    assert explain.why(held) == (
        "PodDisruptionBudget ml/chat allows 0 more disruptions and emptying the node takes 1, so its pods stay"
    )


def test_a_node_with_more_replicas_than_the_budget_allows_says_so_with_both_numbers() -> None:
    both = node("n1", a_replica("a", gpus=4), a_replica("b", gpus=4))
    done = node("n2", a_replica("c"), phase=NodePhase.UPGRADE_DONE)
    decision = decided(allowing(seen(both, done), 1), wish())
    (held,) = (held for held in decision.holds if held.subject == "n1")
    assert held.code is HoldCode.DISRUPTION_LIMIT
    assert explain.why(held) == (
        "PodDisruptionBudget ml/chat allows 1 more disruption and emptying the node takes 2, so its pods stay"
    )
    shut = closed("n1", a_replica("a", gpus=4), a_replica("b", gpus=4))
    assert given_back(decided(allowing(seen(shut, node("n2"), admitted=ahead("n1")), 1), wish())) == {"n1"}


def test_who_was_asked_to_leave_and_is_still_there_has_spent_what_the_budget_allows() -> None:
    nodes = (closed("n1", a_replica("a")), closed("n2", a_replica("b")), node("n3", a_replica("c")))
    admitted = (Admission(node="n1", attempt=1), *ahead("n2"))
    decision = decided(allowing(seen(*nodes, admitted=admitted), 1), wish(idle=24))
    assert HoldCode.DISRUPTION_LIMIT in codes(decision, "n2")


def test_a_pod_that_is_not_ready_is_left_to_the_api_server() -> None:
    nodes = (closed("n1", a_replica("a", is_running=False)), node("n2", a_replica("b")))
    late = replace(WAVING, waving_since=NOW - 86_400.0)
    snapshot = seen(*nodes, admitted=ahead("n1"), record=late)
    assert ledger(decided(allowing(snapshot, 0), wish()))["n1"] is False


def test_a_group_of_a_leader_worker_set_moves_whole_where_another_group_is_ready() -> None:
    def worker(name: str, group: str) -> Pod:
        told = PodJob(gang=f"ml/group/{group}", line="ml/vllm", replica_of="ml/LeaderWorkerSet/vllm", started_at=0.0)
        return a_replica(name, job=told)

    nodes = [closed("n1", worker("a0", "a")), closed("n2", worker("a1", "a")), node("n3", worker("b0", "b"))]
    snapshot = seen(*nodes, admitted=ahead("n1", "n2"))
    assert given_back(decided(allowing(snapshot, 1), wish())) == {"n1", "n2"}, "its two pods need two disruptions"
    assert ledger(decided(allowing(snapshot, 2), wish())) == {"n1": False, "n2": False}


def test_the_record_and_the_words_say_that_replicas_answer_and_what_either_way_costs() -> None:
    nodes = (closed("n1", a_replica("a")), node("n2", a_replica("b"), phase=NodePhase.UPGRADE_DONE))
    taken = (Admission(node="n1", attempt=1),)
    decision = decided(allowing(seen(*nodes, admitted=taken), 1), wish())
    (act,) = (act for act in decision.actions if isinstance(act, WriteNodeRecord) and act.node == "n1")
    assert act.record.taken is not None
    assert act.record.taken.why == "replicas"
    told = {"taken": "replicas", "waiting": "0.0", "evicting": "0.1", "pod": "ml/a", "count": 1}
    words = explain.why(hold("n1", HoldCode.EVICTING, told))
    assert "ready replicas elsewhere answer meanwhile: to wait costs 0.0 GPU-hours, to evict costs 0.1" in words
