"""The frontier of a busy cluster: it begins with what was seen, and decides as the controller does."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from seatrial.core.actions.on_nodes import Uncordon, WriteNodeRecord
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.budget.attrition.turn import turn
from seatrial.core.budget.attrition.values import Verb
from seatrial.core.budget.capacity import budget_of
from seatrial.core.decision.decide import decide
from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.policy import Attrition
from seatrial.core.model.seen.jobs import PodJob
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.pods import Pod
from seatrial.core.model.seen.rollouts import Admission
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.model.seen.work import WorkSeen
from seatrial.sim.forecast.busy import frontier, traces
from seatrial.sim.forecast.busy.frontier import Frontier, Point, Spread, Terms
from seatrial.sim.forecast.busy.imagined import Imagined
from seatrial.sim.forecast.busy.ours import ByAttrition
from seatrial.sim.forecast.busy.seen import Seen
from seatrial.sim.forecast.busy.traces import HOUR, Saves
from tests.builders import NOW
from tests.core.budget.test_attrition_books import a_job, ahead, closed, node, seen, wish

FULL = [node(f"n{each}", a_job(f"j{each}", f"n{each}")) for each in range(1, 5)]
SHARED = node("n5", *(a_job(f"s{each}", "n5", 1, hours=0.1 * each) for each in range(8)))


def service(name: str, on: str) -> Pod:
    told = PodJob(gang=f"web/replica/{name}", line="web/api", replica_of="web/ReplicaSet/api", started_at=NOW - HOUR)
    return Pod(namespace="web", name=name, uid=name, gpu=GpuUse.RESOURCE, gpu_count=4, job=told)


def model_of(snapshot: Snapshot) -> Seen:
    return Seen(snapshot.nodes, snapshot.work, NOW, admitted=snapshot.rollout.admitted)


# ── the same decisions ───────────────────────────────────────────────────────────────────────────────────────────────

OLD_SAVE = {"saved_at": NOW - 3 * HOUR}
SITUATIONS: dict[str, tuple[list[NodeSeen], tuple[Admission, ...], WorkSeen, int]] = {
    "full nodes, and one that eight jobs share": ([*FULL, SHARED], (), WorkSeen(waiting=((1, 3),)), 16),
    "a gang on two nodes": ([node("n1", a_job("g", "n1")), node("n2", a_job("g", "n2"))], (), WorkSeen(), 16),
    "empty nodes, more than may stand idle": ([node(f"n{each}") for each in range(1, 6)], (), WorkSeen(), 16),
    "a closed node that is empty": ([closed("n1"), *FULL[1:]], ahead("n1"), WorkSeen(), 16),
    "more idle than may": (
        [closed(f"n{each}", a_job(f"j{each}", f"n{each}", 1)) for each in range(1, 4)],
        ahead("n1", "n2", "n3"),
        WorkSeen(waiting=((1, 9),)),
        16,
    ),
    "a closed node on which waiting costs more": (
        [closed("n1", a_job("old", "n1", 1, hours=90.0, saved_at=NOW - 30.0)), *FULL[1:]],
        ahead("n1"),
        WorkSeen(waiting=((1, 40),)),
        16,
    ),
    "jobs that are known to end soon": (
        [node("n1", *(a_job(f"j{each}", "n1", 4, hours=0.9) for each in range(2)))],
        (),
        WorkSeen(finished={f"jobs/j{each}": (3300.0,) * 30 for each in range(2)}),
        16,
    ),
    "a job with a limit, and one that saved long ago": (
        [node("n1", a_job("l", "n1", 4, limit_seconds=10 * HOUR), a_job("o", "n1", 4, **OLD_SAVE))],
        (),
        WorkSeen(),
        16,
    ),
    "replicas of a service": (
        [node("n1", service("a", "n1"), service("b", "n1")), node("n2", service("c", "n2"))],
        (),
        WorkSeen(),
        16,
    ),
}


def done_live(snapshot: Snapshot, idle: int) -> dict[Verb, set[str]]:
    """Whom the controller closes, takes and gives back."""
    decision = decide(snapshot, wish(idle), NOW)
    before = {each.node for each in snapshot.rollout.admitted}
    ledgers = [act.record.admitted for act in decision.actions if isinstance(act, WriteRolloutRecord)]
    (ledger,) = ledgers or [snapshot.rollout.admitted]
    opened = {act.node for act in decision.actions if isinstance(act, Uncordon)}
    returned = {
        act.node
        for act in decision.actions
        if isinstance(act, WriteNodeRecord) and act.record.phase is NodePhase.UPGRADE_REQUIRED and act.node in before
    }
    return {
        Verb.CLOSE: {each.node for each in ledger if each.is_ahead} - before,
        Verb.EVICT: {each.node for each in ledger if not each.is_ahead} & before,
        Verb.GIVE_BACK: opened | returned,
    }


def done_in_the_model(snapshot: Snapshot, idle: int) -> dict[Verb, set[str]]:
    """Whom the forecast closes, takes and gives back."""
    model = model_of(snapshot)
    intent = wish(idle)
    at_once = budget_of(snapshot.nodes, snapshot.rollout.admitted, intent).whole.parallel_max
    ours = ByAttrition(Attrition(), idle, partial(model.past, 0), at_once)
    ours.deadline_at = NOW + 23 * HOUR
    cluster = model.begin(0, 0.0)[0]
    acts = turn(ours.view(cluster))
    found = {verb: {name for act in acts if act.verb is verb for name in act.nodes} for verb in Verb}
    return {
        Verb.CLOSE: found[Verb.CLOSE],
        Verb.EVICT: found[Verb.EVICT] | found[Verb.RELOAD],
        Verb.GIVE_BACK: found[Verb.GIVE_BACK],
    }


@pytest.mark.parametrize("situation", SITUATIONS)
def test_the_forecast_closes_takes_and_gives_back_whom_the_controller_does(situation: str) -> None:
    nodes, admitted, work, idle = SITUATIONS[situation]
    snapshot = replace(seen(*nodes, admitted=admitted), work=work)
    assert done_in_the_model(snapshot, idle) == done_live(snapshot, idle)


def test_the_situations_show_every_kind_of_act() -> None:
    shown: dict[Verb, set[str]] = {}
    for nodes, admitted, work, idle in SITUATIONS.values():
        for verb, names in done_live(replace(seen(*nodes, admitted=admitted), work=work), idle).items():
            shown[verb] = shown.get(verb, set()) | names
    assert all(shown[verb] for verb in (Verb.CLOSE, Verb.EVICT, Verb.GIVE_BACK))


# ── what was seen ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_future_begins_with_the_jobs_that_run_their_ages_and_their_saves() -> None:
    pods = a_job("a", "n1", 4, saved_at=NOW - 600.0), a_job("b", "n1", 2)
    model = model_of(seen(node("n1", *pods), node("n2", a_job("g", "n2")), node("n3", a_job("g", "n3"))))
    cluster = model.begin(1, 0.0)[0]
    run = cluster.runs["jobs/job/a"]
    assert (run.started, run.saved_at(NOW), run.thrown(NOW)) == (NOW - 9 * HOUR, NOW - 600.0, 600.0)
    assert run.ends > NOW
    assert cluster.free == [2, 0, 0]
    assert [cluster.names[each] for each in cluster.runs["jobs/job/g"].nodes] == ["n2", "n3"]
    told = model.told()
    assert (told.jobs, told.gangs, told.busy_gpus, told.tell_saves, told.assumed) == (3, 1, 22, 1, 3)


def test_the_same_seed_gives_the_same_future_and_another_seed_another() -> None:
    model = model_of(seen(*FULL, SHARED))
    ends = [sorted(run.ends for run in model.begin(each, 0.0)[0].runs.values()) for each in (1, 1, 2)]
    assert ends[0] == ends[1] != ends[2]
    coming = [model.begin(each, 0.0)[2] for each in (1, 1, 2)]
    assert coming[0] == coming[1] != coming[2]


def test_a_job_runs_on_as_finished_jobs_of_its_owner_did_that_ran_as_long() -> None:
    work = WorkSeen(finished={"jobs/j": (HOUR, 2 * HOUR, 10 * HOUR, 10 * HOUR, 11 * HOUR)})
    model = model_of(replace(seen(node("n1", a_job("j", "n1", hours=9.0))), work=work))
    ends = {model.begin(each, 0.0)[0].runs["jobs/job/j"].ends - NOW for each in range(30)}
    assert ends == {HOUR, 2 * HOUR}
    assert (model.told().by_line, model.told().assumed) == (1, 0)


def test_a_limit_of_its_own_ends_a_job() -> None:
    model = model_of(seen(node("n1", a_job("j", "n1", hours=9.0, limit_seconds=10 * HOUR))))
    assert all(model.begin(each, 0.0)[0].runs["jobs/job/j"].ends <= NOW + HOUR for each in range(20))


def test_a_service_runs_for_as_long_as_anybody_looks_also_the_only_one_of_it() -> None:
    model = model_of(seen(node("n1", service("a", "n1"))))
    (run,) = model.begin(1, 0.0)[0].runs.values()
    assert run.ends > NOW + 1e8
    assert not run.work.is_service, "nobody answers for it while it starts elsewhere"


def test_as_many_gpus_are_asked_for_as_today_with_those_that_wait() -> None:
    work = WorkSeen(finished={"jobs/j1": (HOUR,) * 30, "jobs/": (HOUR,) * 30}, waiting=((8, 4),))
    nodes = [node(f"n{each}", a_job("j1-" + str(each), f"n{each}", hours=0.5)) for each in range(4)]
    model = model_of(replace(seen(*nodes), work=work))
    cluster, coming, _ = model.begin(3, 0.0)
    assert sum(len(row) for row in cluster.queues.values()) == 4
    day = [each for each, _ in zip(coming, range(400), strict=False) if each.arrives < NOW + 24 * HOUR]
    assert len(day) * 8 / 24 == pytest.approx(4 * 8 + 4 * 8, rel=0.15), "GPU-hours that come in an hour"


def test_who_cannot_be_upgraded_now_takes_no_part_and_is_named() -> None:
    away = node("n9", a_job("x", "n9"), is_cordoned=True)
    told = model_of(seen(*FULL, away)).told()
    assert (told.nodes, told.left_out) == (4, ("n9",))


# ── the figures, and which to take ───────────────────────────────────────────────────────────────────────────────────


def played(**changes: Any) -> Frontier:
    small = Imagined(kind=replace(traces.PUBLISHED, saves=Saves.SILENT), count=8)
    terms = Terms(way=Attrition(), idle_max=16, **changes)
    return frontier.frontier(small, terms, (24 * HOUR, 6 * HOUR), (1, 2), lambda _done, _of: None)


def test_a_longer_deadline_costs_less_evicting_now_most_and_nobody_goes_below_the_bound() -> None:
    found = played()
    short, long = found.points
    assert (short.deadline_seconds, long.deadline_seconds) == (6 * HOUR, 24 * HOUR)
    assert found.evict.weighed > short.weighed > long.weighed
    for point in found.points:
        assert point.late == 0
        assert point.gpu_hours.mean >= point.least_gpu_hours >= found.floor_gpu_hours == pytest.approx(6.4)
        assert point.evictions.mean >= point.least_evictions
        assert point.gpu_hours.low <= point.gpu_hours.mean <= point.gpu_hours.high


def test_it_is_the_same_for_the_same_seeds() -> None:
    assert played() == played()


def test_with_fewer_nodes_at_once_it_takes_longer() -> None:
    assert played(at_once_max=1).evict.seconds == pytest.approx(8 * 360)
    assert played(at_once_max=1).evict.seconds > played().evict.seconds


def a_point(hours: float | None, gpu_hours: float, evictions: float = 0.0, *, late: int = 0) -> Point:
    cost, jobs = (Spread(mean=each, low=each, high=each) for each in (gpu_hours, evictions))
    return Point(
        deadline_seconds=hours * HOUR if hours is not None else None,
        gpu_hours=cost,
        evictions=jobs,
        idle=0.0,
        thrown=gpu_hours,
        reload=0.0,
        moves=0.0,
        seconds=HOUR,
        late=late,
        least_gpu_hours=0.0,
        least_evictions=0.0,
    )


EVICT = a_point(None, 1000.0)


def test_the_deadline_is_taken_beyond_which_no_further_day_is_worth_it() -> None:
    points = [a_point(12, 600.0), a_point(24, 300.0), a_point(48, 270.0), a_point(120, 200.0)]
    chosen, why = frontier.recommended(EVICT, points, 100.0)
    assert chosen == 24 * HOUR
    assert why == (
        "it costs 700 GPU-hours and 0 evictions less than evicting now, and beyond it each further day spares at most "
        "30 GPU-hours and 0 evictions."
    )


def test_evictions_count_for_what_a_restart_is_to_people() -> None:
    points = [a_point(24, 300.0, 40.0), a_point(48, 300.0, 10.0)]
    assert frontier.recommended(EVICT, points, 100.0)[0] == 48 * HOUR


def test_a_deadline_that_is_not_kept_is_not_taken() -> None:
    assert frontier.recommended(EVICT, [a_point(6, 200.0, late=1), a_point(24, 200.0)], 100.0)[0] == 24 * HOUR
    chosen, why = frontier.recommended(EVICT, [a_point(6, 200.0, late=1)], 100.0)
    assert chosen is None
    assert "none of these deadlines is kept" in why


def test_where_evicting_costs_no_more_it_is_said() -> None:
    chosen, why = frontier.recommended(EVICT, [a_point(24, 1000.0)], 100.0)
    assert (chosen, "nothing is gained" in why) == (None, True)
