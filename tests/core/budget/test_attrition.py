"""By attrition: whom to close, to give back and to evict, on small fleets that can be counted on one hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seatrial.core.budget.attrition import costs, ends, urgency
from seatrial.core.budget.attrition.groups import grouped
from seatrial.core.budget.attrition.turn import turn
from seatrial.core.budget.attrition.values import Act, Attrition, Job, Load, Verb, View

HOUR = 3600.0
NOW = 100 * HOUR


def job(name: str, *nodes: str, gpus: int = 8, hours: float = 5.0, **more: object) -> Job:
    """A job that holds so many GPUs on each of its nodes and has run for so many hours."""
    fresh = Job(name=name, parts=tuple((node, gpus) for node in nodes), started_at=NOW - hours * HOUR)
    return replace(fresh, **more)  # type: ignore[arg-type]


def view(*jobs: Job, empty: tuple[str, ...] = (), closed: tuple[str, ...] = (), **more: object) -> View:
    """Nodes of 8 GPUs with these jobs on them, a day before the deadline."""
    names = sorted({node for each in jobs for node, _ in each.parts} | set(empty))
    nodes = {
        name: Load(
            name=name,
            gpus=8,
            jobs=tuple(each.name for each in jobs if name in dict(each.parts)),
            busy=sum(costs.on(each, name) for each in jobs),
            closed_at=NOW - HOUR if name in closed else None,
        )
        for name in names
    }
    plain = View(
        now=NOW,
        nodes=nodes,
        jobs={each.name: each for each in jobs},
        way=Attrition(),
        deadline_at=NOW + 24 * HOUR,
        idle_max=16,
        member_count=len(names),
    )
    return replace(plain, **more)  # type: ignore[arg-type]


def did(acts: list[Act]) -> list[tuple[Verb, tuple[str, ...]]]:
    return [(act.verb, act.nodes) for act in acts]


# ── whom to close ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_node_that_one_job_fills_is_closed_at_once_for_it_costs_nothing() -> None:
    assert did(turn(view(job("a", "n1")))) == [(Verb.CLOSE, ("n1",))]


def test_the_nodes_of_a_gang_are_closed_together() -> None:
    assert did(turn(view(job("a", "n1", "n2")))) == [(Verb.CLOSE, ("n1", "n2"))]


def test_a_gang_that_does_not_fit_into_what_may_be_closed_is_left_open_as_a_whole() -> None:
    seen = view(job("a", "n1", "n2"), job("b", "n3"), way=Attrition(close_ahead=1 / 3))
    assert did(turn(seen)) == [(Verb.CLOSE, ("n3",))]


def test_at_the_last_call_such_a_gang_has_its_turn_once_nobody_else_is_closed_at_work() -> None:
    way, late = Attrition(close_ahead=1 / 3), NOW + HOUR / 4
    beside = view(job("a", "n1", "n2"), job("b", "n3"), closed=("n3",), way=way, deadline_at=late)
    assert [act.nodes for act in turn(beside) if act.verb is Verb.CLOSE] == []
    assert did(turn(view(job("a", "n1", "n2"), empty=("n3",), closed=("n3",), way=way, deadline_at=late)))[1:] == [
        (Verb.CLOSE, ("n1", "n2"))
    ]


def test_a_node_with_many_jobs_is_closed_at_once_for_it_would_gather_more_of_them() -> None:
    shared = view(*(job(f"j{each}", "n1", gpus=1) for each in range(8)))
    assert did(turn(shared)) == [(Verb.CLOSE, ("n1",))]


def test_where_nobody_is_hurried_the_same_node_is_left_open_until_the_time_is_nearly_up() -> None:
    early = view(*(job(f"j{each}", "n1", gpus=1) for each in range(8)), way=Attrition(evicts_early=False))
    assert turn(early) == []
    assert did(turn(replace(early, deadline_at=NOW + HOUR))) == [(Verb.CLOSE, ("n1",))]


def test_an_empty_node_is_closed_and_then_reloaded() -> None:
    assert did(turn(view(empty=("n1",)))) == [(Verb.CLOSE, ("n1",))]
    assert did(turn(view(empty=("n1",), closed=("n1",)))) == [(Verb.RELOAD, ("n1",))]


def test_no_more_empty_nodes_are_closed_than_gpus_may_stand_idle() -> None:
    assert [act.nodes for act in turn(view(empty=("n1", "n2", "n3")))] == [("n1",), ("n2",)]


def test_a_node_of_replicas_is_cheap_and_goes_before_one_of_jobs() -> None:
    services = [job(f"s{each}", "n1", gpus=4, has_replicas=True) for each in range(2)]
    jobs = [job(f"j{each}", "n2", gpus=4) for each in range(2)]
    assert [act.nodes for act in turn(view(*services, *jobs))] == [("n1",), ("n2",)]
    assert [act.nodes for act in turn(view(*services, *jobs, way=Attrition(close_ahead=0.5)))] == [("n1",)]


def test_who_was_given_back_a_moment_ago_is_left_alone() -> None:
    assert turn(view(job("a", "n1"), keeps=frozenset({"n1"}))) == []


# ── whom to give back ────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_jobs_ends_put_above_the_budget_is_given_back_the_dearest_first() -> None:
    halves = [job("old", "n1", gpus=4, hours=40), job("young", "n2", gpus=4, hours=0.1)]
    seen = view(*halves, closed=("n1", "n2"), idle_max=4)
    assert did(turn(seen)) == [(Verb.GIVE_BACK, ("n1",))]


def test_an_empty_node_is_not_given_back_while_one_that_waits_is_enough() -> None:
    seen = view(job("a", "n1", gpus=4), empty=("n2",), closed=("n1", "n2"), idle_max=8)
    assert did(turn(seen)) == [(Verb.GIVE_BACK, ("n1",))]


def test_a_node_that_reloads_is_not_given_back() -> None:
    seen = view(empty=("n1",), closed=("n1",), idle_max=4)
    busy = replace(seen, nodes={"n1": replace(seen.nodes["n1"], is_reloading=True)})
    assert turn(busy) == []


# ── whom to evict, and when ──────────────────────────────────────────────────────────────────────────────────────────


def test_a_closed_node_that_one_job_fills_waits_for_it() -> None:
    assert turn(view(job("a", "n1"), closed=("n1",))) == []


def test_a_job_that_keeps_seven_gpus_idle_is_evicted_where_that_is_cheaper() -> None:
    [act] = turn(view(job("a", "n1", gpus=1, hours=40), closed=("n1",)))
    assert (act.verb, act.jobs) == (Verb.EVICT, ("a",))


def test_nobody_is_evicted_early_where_that_is_not_wanted() -> None:
    seen = view(job("a", "n1", gpus=1, hours=40), closed=("n1",), way=Attrition(evicts_early=False))
    assert turn(seen) == []


def test_at_the_last_call_everybody_is_evicted_also_where_early_eviction_is_not_wanted() -> None:
    seen = view(job("a", "n1", "n2"), closed=("n1", "n2"), deadline_at=NOW, way=Attrition(evicts_early=False))
    assert did(turn(seen)) == [(Verb.EVICT, ("n1", "n2"))]


def test_no_more_are_evicted_than_gpus_may_stand_idle_and_a_gang_counts_whole() -> None:
    gang = job("gang", "n1", "n2", "n3")
    seen = view(gang, job("a", "n4"), closed=("n1", "n2", "n3", "n4"), deadline_at=NOW)
    assert did(turn(seen)) == [(Verb.EVICT, ("n4",))]


def test_a_gang_is_evicted_right_after_the_save_before_the_last_call() -> None:
    closed = ("n1", "n2")
    soon = NOW + urgency.SPARE_SECONDS + 3 * 360.0 + HOUR / 2
    saved = job("a", *closed, saved_at=NOW - 30.0)
    assert did(turn(view(saved, closed=closed, deadline_at=soon))) == [(Verb.EVICT, closed)]
    assert turn(view(replace(saved, saved_at=NOW - 600.0), closed=closed, deadline_at=soon)) == []
    assert turn(view(saved, closed=closed)) == []


# ── what it costs, and how long it takes ─────────────────────────────────────────────────────────────────────────────


def test_an_eviction_costs_what_is_not_saved_and_the_restart() -> None:
    silent = job("a", "n1")
    assert costs.evicting(silent, NOW) == 8 * (HOUR / 2 + 600)
    assert costs.evicting(replace(silent, saved_at=NOW - 120.0), NOW) == 8 * (120 + 600)
    assert costs.evicting(replace(silent, can_be_asked=True), NOW) == 8 * (60 + 600)
    assert costs.evicting(replace(silent, has_replicas=True), NOW) == 8 * 60


def test_waiting_costs_nothing_on_a_node_that_one_job_fills() -> None:
    seen = view(job("a", "n1"))
    assert costs.price(tuple(seen.nodes.values()), seen, 24 * HOUR).waiting == pytest.approx(0.0, abs=1e-6)


def test_waiting_costs_less_where_nobody_waits_who_would_fit() -> None:
    seen = view(job("a", "n1", gpus=4), closed=("n1",))
    alone = replace(seen, waiting_gpus=0)
    nodes = tuple(seen.nodes.values())
    assert costs.price(nodes, alone, 24 * HOUR).waiting < costs.price(nodes, seen, 24 * HOUR).waiting


def test_what_has_run_long_is_expected_to_run_on() -> None:
    assert ends.outlasts(job("a", "n1", hours=10), NOW, HOUR) > ends.outlasts(job("b", "n1", hours=1), NOW, HOUR)


def test_finished_jobs_of_the_same_owner_tell_more_than_the_age() -> None:
    known = job("a", "n1", hours=1, finished=(1.2 * HOUR,) * 50)
    assert ends.outlasts(known, NOW, HOUR) < 0.1 < ends.outlasts(replace(known, finished=()), NOW, HOUR)


def test_a_job_is_over_by_its_own_limit() -> None:
    limited = job("a", "n1", ends_by=NOW + HOUR)
    assert ends.outlasts(limited, NOW, HOUR) == 0.0
    assert ends.outlasts(replace(limited, ends_by=None), NOW, HOUR) > 0.0


def test_what_a_node_may_cost_grows_without_end_towards_the_last_call() -> None:
    seen = view(job("a", "n1"))
    later = [urgency.willing(replace(seen, now=NOW + hours * HOUR)) for hours in (0, 12, 20, 23, 24)]
    assert later == sorted(later)
    assert later[-1] == float("inf")


def test_nodes_that_share_a_gang_with_a_third_belong_together() -> None:
    seen = view(job("a", "n1", "n2", gpus=4), job("b", "n2", "n3", gpus=4))
    [group] = grouped(seen.nodes.values(), seen.nodes, seen.jobs)
    assert (sorted(group.names), group.jobs, group.is_free_to_close) == (["n1", "n2", "n3"], ("a", "b"), False)
