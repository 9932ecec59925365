"""The model of a busy cluster counts what it says, and a small upgrade by attrition keeps its promises in it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from bench.gpu_hours import settings

from seatrial.core.budget.attrition.values import Attrition
from seatrial.sim.forecast.busy import traces
from seatrial.sim.forecast.busy.cluster import RELOAD, Cluster
from seatrial.sim.forecast.busy.others import WAYS, Batches
from seatrial.sim.forecast.busy.ours import ByAttrition
from seatrial.sim.forecast.busy.playing import bound, play
from seatrial.sim.forecast.busy.scheduling import schedule
from seatrial.sim.forecast.busy.traces import HOUR, Order, Saves, Work

SMALL = traces.loaded(traces.PUBLISHED, 64, 2.0, "small")
"""Eight nodes, twice as many jobs as fit."""


def work(name: str, gpus: int, hours: float, at: float = 0.0) -> Work:
    return Work(name=name, gpus=gpus, arrives=at, seconds=hours * HOUR, owner="o")


def test_the_trace_is_about_fourfold_oversubscribed_and_the_other_at_85_percent() -> None:
    assert traces.PUBLISHED.demand_gpus() / 1024 == pytest.approx(4.0, abs=0.5)
    assert traces.BUSY.demand_gpus() / 1024 == pytest.approx(0.85)


def test_a_trace_is_the_same_for_the_same_seed() -> None:
    first, again = (list(traces.arrivals(SMALL, 3, HOUR * 10)) for _ in range(2))
    assert first == again != list(traces.arrivals(SMALL, 4, HOUR * 10))


def test_by_best_effort_who_fits_starts_although_somebody_older_does_not() -> None:
    cluster = Cluster(count=2)
    for each in (work("a", 8, 1), work("gang", 16, 1), work("b", 4, 9, at=2.0)):
        cluster.submit(each)
    schedule(cluster)
    assert sorted(cluster.runs) == ["a", "b"]


@pytest.mark.parametrize(("hours", "starts"), [(0.9, True), (1.1, False)])
def test_with_backfill_who_fits_starts_where_it_is_through_before_the_oldest_has_room(
    hours: float, *, starts: bool
) -> None:
    cluster = Cluster(count=2, order=Order.BACKFILL)
    for each in (work("a", 8, 1), work("gang", 16, 1, at=1.0), work("b", 4, hours, at=2.0)):
        cluster.submit(each)
    schedule(cluster)
    assert ("b" in cluster.runs) is starts


def test_with_backfill_who_is_nobodys_way_starts_however_long_it_runs() -> None:
    cluster = Cluster(count=3, order=Order.BACKFILL)
    for each in (work("a", 8, 1), work("b", 4, 9), work("gang", 16, 1, at=1.0), work("c", 4, 9, at=2.0)):
        cluster.submit(each)
    schedule(cluster)
    assert cluster.runs["c"].nodes == cluster.runs["b"].nodes
    cluster.advance(HOUR)
    schedule(cluster)
    assert "gang" in cluster.runs


def test_with_backfill_nobody_waits_for_the_oldest_while_it_has_too_few_nodes_that_take_work() -> None:
    cluster = Cluster(count=2, order=Order.BACKFILL)
    cluster.close(1)
    for each in (work("gang", 16, 1), work("b", 8, 9, at=1.0)):
        cluster.submit(each)
    schedule(cluster)
    assert list(cluster.runs) == ["b"]


def test_an_evicted_job_loses_what_it_has_not_saved_and_starts_again_later() -> None:
    cluster = Cluster(count=1)
    cluster.submit(work("a", 8, 5))
    schedule(cluster)
    cluster.advance(1.5 * HOUR)
    cluster.evict("a")
    assert cluster.losses.thrown == pytest.approx(8 * (0.5 * HOUR + 600))
    schedule(cluster)
    assert cluster.runs["a"].ends == pytest.approx(1.5 * HOUR + 600 + 4 * HOUR)


def test_idle_gpus_behind_a_cordon_are_lost_only_while_somebody_waits_who_fits() -> None:
    cluster = Cluster(count=1)
    cluster.counts = True
    cluster.submit(work("a", 4, 9))
    schedule(cluster)
    cluster.close(0)
    cluster.advance(HOUR)
    cluster.submit(work("large", 8, 1))
    cluster.advance(2 * HOUR)
    assert cluster.losses.idle == 0
    cluster.submit(work("small", 2, 1))
    cluster.advance(3 * HOUR)
    assert cluster.losses.idle == 4 * HOUR


@pytest.mark.parametrize("way", sorted(WAYS))
def test_each_of_nvidias_ways_reloads_every_node_once(way: str) -> None:
    outcome = play(SMALL, 1, Batches(WAYS[way]), warm_hours=3, days_max=30, count=8)
    assert outcome.is_over
    assert outcome.losses.reload == pytest.approx(8 * 8 * RELOAD)
    assert (outcome.losses.evictions == 0) == (way == "wait")


@pytest.mark.parametrize("seed", range(5))
def test_by_attrition_the_deadline_and_the_idle_budget_are_kept_and_less_is_lost(seed: int) -> None:
    ours = ByAttrition(Attrition(deadline_seconds=24 * HOUR), 16, partial(traces.past, SMALL, seed))
    outcome = play(SMALL, seed, ours, warm_hours=6, count=8, idle_max=16)
    evict = play(SMALL, seed, Batches(0.0), warm_hours=6, count=8)
    assert outcome.is_over
    assert outcome.hours <= 24
    assert (outcome.losses.acts_over, outcome.losses.seconds_over) == (0, 0)
    assert outcome.losses.gpu_hours < evict.losses.gpu_hours
    least = bound(SMALL, seed, 24, warm_hours=6, count=8)
    assert outcome.losses.gpu_hours >= least.gpu_hours
    assert outcome.losses.evictions >= least.evictions


def test_a_replica_of_a_service_is_moved_and_not_evicted() -> None:
    cluster = Cluster(count=1)
    cluster.submit(Work(name="s", gpus=2, arrives=0.0, seconds=1e9, owner="o", is_service=True))
    schedule(cluster)
    cluster.advance(HOUR)
    cluster.evict("s")
    assert (cluster.losses.evictions, cluster.losses.moves) == (0, 1)
    assert cluster.losses.thrown == 2 * 60


def test_services_hold_as_many_gpus_as_their_kind_says() -> None:
    for kind in (traces.INFERENCE, traces.MIXED):
        services = [each for each in traces.arrivals(kind, 5, 1.0) if each.is_service]
        assert sum(each.gpus for each in services) == kind.service_gpus


def test_the_sizes_of_training_jobs_come_to_the_mean_that_is_published() -> None:
    pairs = list(zip(traces.SIZES, traces.TRAINING.weights, strict=True))
    mean = sum(size * weight for size, weight in pairs) / sum(weight for _, weight in pairs)
    assert mean == pytest.approx(3.72, abs=0.1)
    total = sum(weight for _, weight in pairs)
    seconds = sum(weight / total * traces.TRAINING.mean_seconds(size) for size, weight in pairs)
    assert seconds == pytest.approx(28_329, rel=0.15)


def test_every_trace_that_is_scored_exists_and_has_been_at_work() -> None:
    assert {name for name, _ in settings.PLAYED} == set(traces.KINDS) == set(settings.WARM_HOURS)
    assert set(settings.JUDGED) <= set(settings.PLAYED)


def test_what_can_be_asked_to_save_costs_less_than_what_says_nothing() -> None:
    lost = {}
    for saves in Saves:
        kind = replace(SMALL, saves=saves)
        ours = ByAttrition(Attrition(deadline_seconds=12 * HOUR), 16)
        lost[saves] = play(kind, 2, ours, warm_hours=6, count=8, idle_max=16).losses.thrown
    assert lost[Saves.ASKED] < lost[Saves.SILENT]
