"""Fault schedules: the first hundred, and every seed that once found something. All 10,000: `make faults`.

Also the parts by themselves: what a bad day does to an act, and what a view shows of a world that moves on.
"""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from bench.faults import begin

from seatrial.core.actions.on_nodes import Cordon, EvictPods, WriteNodeRecord
from seatrial.core.budget.attrition import returning
from seatrial.core.decision.decide import Decision
from seatrial.core.model.campaign import Campaign, CampaignRecord, RolloutPhase
from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.policy import Attrition, Limits, Policy, Share
from seatrial.core.model.seen.jobs import PodJob
from seatrial.core.model.seen.nodes import NodePhase, NodeRecord
from seatrial.core.model.seen.pods import Pod
from seatrial.core.model.seen.rollouts import Admission
from seatrial.core.movers import letting_in
from seatrial.core.node import operating
from seatrial.core.node.visiting import Takes
from seatrial.core.promises import invariants
from seatrial.ports import Outcome, Result
from seatrial.sim.nodes import HEALTHY, new_node
from seatrial.sim.outside import TELLING
from seatrial.sim.reactions import REACTIONS
from seatrial.sim.world import OUTSIDE_DELAYS, World
from seatrial_lab.schedules.attrition import AttritionJudge, run_attrition
from seatrial_lab.schedules.behaviours import BEHAVIOURS, Kind, fate_of, gate_fate_of, named, table
from seatrial_lab.schedules.delegated import run_delegated
from seatrial_lab.schedules.faults import FAULTS, Listing, Seat, Stream, WatchCache, Weather
from seatrial_lab.schedules.judging import Judge, why_unsettled
from seatrial_lab.schedules.network import run_network
from seatrial_lab.schedules.operands import run_operands
from seatrial_lab.schedules.schedules import run_schedule
from tests.builders import NEW, OLD, a_gpu_pod, an_intent

pytestmark = pytest.mark.slow

SEEDS = Path(__file__).parents[1] / "scenarios" / "seeds.txt"
KEPT = [int(line.split()[0]) for line in SEEDS.read_text().splitlines() if line and not line.startswith("#")]


@pytest.mark.parametrize("seed", [*range(40), *(seed for seed in KEPT if seed >= 40)])
def test_no_promise_is_broken_and_every_node_ends_done_or_held_with_a_reason(seed: int) -> None:
    is_delegated = seed >= 100 and seed % 4 == 3  # as `make faults` plays them
    ending = run_delegated(seed, begin) if is_delegated else run_schedule(seed, begin)
    assert ending.broken is None, f"\n{ending}"
    assert ending.how in ("done", "reverted", "held")


def test_the_same_seed_is_the_same_schedule() -> None:
    first, second = run_schedule(7, begin, node_count=6), run_schedule(7, begin, node_count=6)
    assert first == second
    assert first != run_schedule(8, begin, node_count=6)


@pytest.mark.parametrize("seed", range(30))
def test_nvidias_controller_is_bound_by_windows_pauses_aborts_and_failures(seed: int) -> None:
    ending = run_delegated(seed, begin)
    assert ending.broken is None, f"\n{ending}"
    assert ending.how in ("done", "reverted", "held")


def test_what_lets_nvidias_controller_in_too_freely_is_found_by_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it was: whose wave is open is let in, whatever the ledger, a window or a pause says."""
    monkeypatch.setattr(letting_in, "let_in", lambda view, turn: frozenset(turn) & letting_in.startable(view))
    monkeypatch.setattr(invariants, "PROMISES", ())
    found = [run_delegated(seed, begin).broken or "" for seed in range(6)]
    assert any("the ledger does not name it" in why for why in found)


@pytest.mark.parametrize("seed", [*range(6), 33])
def test_by_attrition_idle_budget_and_deadline_hold_and_whoever_was_closed_is_opened(seed: int) -> None:
    ending = run_attrition(seed, begin)
    assert ending.broken is None, f"\n{ending}"
    assert ending.how in ("done", "reverted", "held")


@pytest.mark.parametrize("seed", [3, 4])
def test_by_attrition_lost_leaders_and_old_views_change_nothing_about_the_end(seed: int) -> None:
    assert run_attrition(seed, begin).how == run_attrition(seed, begin, is_fair=True).how != ""


def test_a_controller_that_gives_nothing_back_is_found_by_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(returning, "give_back", lambda _view: [])
    assert "more GPUs stand idle than may" in (run_attrition(5, begin, is_fair=True).broken or "")


def a_busy_judge(gpus: int) -> AttritionJudge:
    """The judge of a rollout by attrition whose one node of eight GPUs is closed while a job holds so many of them."""
    job = PodJob(gang="jobs/job/j", line="jobs/j")
    pod = Pod(namespace="jobs", name="j", uid="j", gpu=GpuUse.RESOURCE, gpu_count=gpus, job=job)
    way = Attrition(deadline_seconds=3600.0)
    intent = an_intent(idle_gpus_max=8, campaign=Campaign(), attrition=way)
    world = World([new_node("n1", running=OLD, wanted=NEW, gpu_count=8, pods=(pod,))], intent, started_at=1000.0)
    record = CampaignRecord(phase=RolloutPhase.WAVING, waving_since=1000.0)
    admitted = (Admission(node="n1", attempt=1, is_ahead=True),)
    world.rollout = replace(world.rollout, campaign=record, admitted=admitted)
    return AttritionJudge(world, is_calm=True)


def looked_at(judge: AttritionJudge, *instants: float) -> str | None:
    for instant in instants:
        judge.world.time = instant
        judge.look()
    return judge.broken


def test_the_judge_of_attrition_finds_gpus_that_stay_idle_above_the_budget() -> None:
    judge = a_busy_judge(gpus=2)
    judge.change(replace(judge.world.intent, policy=Policy(limits=Limits(idle_gpus_max=Share(amount=4)))))
    assert looked_at(judge, 1000.0, 1300.0) is None, "it may not have been seen yet"
    assert looked_at(judge, 1500.0) == "more GPUs stand idle than may for 500 s"


def test_the_judge_of_attrition_finds_a_node_that_waits_beyond_the_deadline() -> None:
    assert looked_at(a_busy_judge(gpus=8), 4000.0, 5000.0, 11_000.0) is None
    assert looked_at(a_busy_judge(gpus=8), 5000.0, 13_000.0) == "the deadline was 2.3 h ago, and waves are not through"


@pytest.mark.parametrize(("old_pod", "is_found"), [("driver-before", False), ("", True)], ids=["gone", "there"])
def test_the_judge_of_attrition_lets_only_a_node_that_lost_its_driver_be_closed_in_a_pause(
    old_pod: str, is_found: bool
) -> None:
    judge = a_busy_judge(gpus=8)
    judge.stopped_at = 1000.0
    record = NodeRecord(phase=NodePhase.POD_RESTART_REQUIRED, attempt=1, entered_at=1000.0, old_pod=old_pod)
    before = replace(judge.world.nodes["n1"], record=record)
    act = Cordon(node="n1", record=record, expect=before.facts.resource_version)
    judge.world.time = 2000.0
    judge.on_landing(act, before, Outcome(action=act, result=Result.DONE))
    assert judge.broken == ("Cordon on n1, 1000 s after a pause" if is_found else None)


@pytest.mark.parametrize(
    ("before", "after", "idle"), [("Drain_Required", "Draining", 0), ("Drain_Required", "Drain_Required", 6)]
)
def test_the_judge_of_attrition_leaves_out_a_node_that_the_sriov_operator_cordoned(
    before: str, after: str, idle: int
) -> None:
    judge = a_busy_judge(gpus=2)
    world = judge.world
    world.watchers.append(judge.on_change)
    for sriov, is_cordoned, found in ((before, False, 6), (after, True, idle), ("", False, 6)):
        facts = replace(world.nodes["n1"].facts, sriov=sriov, is_cordoned=is_cordoned)
        world.change("n1", partial(replace, facts=facts))
        assert judge.idle(world.rollout.admitted) == found


# ── the table ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_reaction_is_in_the_table_and_the_table_is_printed_with_its_seed() -> None:
    assert set(named(Kind.REACTION)) == {*REACTIONS, *OUTSIDE_DELAYS}
    lines = table(7).splitlines()
    assert lines[0] == "seed 7"
    assert len(lines) == len(BEHAVIOURS) + 1
    assert all(behaviour.does for behaviour in BEHAVIOURS.values())


@pytest.mark.parametrize("seed", range(40))
def test_operands_move_in_visits_and_every_node_ends_done_or_held_with_a_reason(seed: int) -> None:
    ending = run_operands(seed, begin)
    assert ending.broken is None, f"\n{ending}"
    assert ending.how in ("done", "reverted", "held")


@pytest.mark.parametrize("seed", range(40))
def test_network_drivers_move_in_visits_beside_an_sriov_operator(seed: int) -> None:
    ending = run_network(seed, begin)
    assert ending.broken is None, f"\n{ending}"
    assert ending.how in ("done", "reverted", "held")


def test_a_toolkit_that_goes_without_a_cordon_is_found_by_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operating, "takes_now", lambda _facts, _orders: Takes.NOTHING)
    monkeypatch.setattr(invariants, "PROMISES", ())
    found = [run_operands(seed, begin).broken or "" for seed in range(6)]
    assert any("is stopped while the node takes work" in why for why in found)


@pytest.mark.parametrize("name", [*named(Kind.FATE), "operand does not start", "operand starts in the end"])
def test_every_fate_by_name_is_a_fate(name: str) -> None:
    assert fate_of(name, NEW.version) != HEALTHY


@pytest.mark.parametrize("name", named(Kind.VERDICT))
def test_every_verdict_by_name_is_in_store_for_a_gate(name: str) -> None:
    assert gate_fate_of(name, NEW.version) != TELLING


# ── an act on a bad day ──────────────────────────────────────────────────────────────────────────────────────────────


def a_seat(**faults: float) -> tuple[World, Seat]:
    nodes = [new_node(f"n{number}", running=OLD, wanted=NEW, gpu_pod_count=1) for number in (1, 2)]
    world = World(nodes, an_intent())
    chosen = {name.replace("_", " ").replace("timeout ", "timeout, "): chance for name, chance in faults.items()}
    weather = Weather(chance=random.Random(1), faults=chosen)  # noqa: S311  a simulation, not a secret
    return world, Seat(world, weather, WatchCache(Listing.of(world)), name="life 1", on_landing=lambda *_: None)


def a_write(version: str = "1") -> WriteNodeRecord:
    record = NodeRecord(phase=NodePhase.UPGRADE_REQUIRED, attempt=1, entered_at=0.0)
    return WriteNodeRecord(node="n1", record=record, expect=version)


@pytest.mark.parametrize(
    ("fault", "result", "is_done"),
    [
        ("slow", Result.DONE, True),
        ("conflict", Result.STALE, False),
        ("throttled", Result.FAILED, False),
        ("server_error", Result.FAILED, False),
        ("timeout_not_done", Result.FAILED, False),
        ("timeout_done", Result.FAILED, True),
        ("timeout_done_late", Result.FAILED, True),
    ],
)
def test_what_a_fault_does_to_an_act_and_to_its_answer(fault: str, result: Result, is_done: bool) -> None:
    world, seat = a_seat(**{fault: 1.0})
    seat.submit(a_write())
    assert seat.in_flight() == frozenset({"n1"})
    world.tick_to(120.0)
    assert seat.in_flight() == frozenset()
    assert [outcome.result for outcome in seat.collect()] == [result]
    assert (world.nodes["n1"].record is not None) is is_done


def test_every_fault_of_the_table_is_played() -> None:
    played = {"slow", "conflict", "throttled", "server error"}
    assert set(FAULTS) == played | {f"timeout, {how}" for how in ("not done", "done", "done late")}


def test_an_act_done_late_is_answered_before_it_is_done() -> None:
    world, seat = a_seat(timeout_done_late=1.0)
    seat.submit(a_write())
    while not seat.has_answers:
        assert world.next_at is not None
        world.tick_to(world.next_at)
    assert world.nodes["n1"].record is None
    world.tick_to(120.0)
    assert world.nodes["n1"].record is not None


def test_a_throttled_eviction_looks_like_a_budget_that_allows_nothing() -> None:
    world, seat = a_seat(throttled=1.0)
    seat.submit(EvictPods(node="n1", attempt=1, pods=(a_gpu_pod(),)))
    world.tick_to(1.0)
    (outcome,) = seat.collect()
    assert (outcome.result, outcome.blocked) == (Result.BLOCKED, (("pod-0", "429: too many requests"),))


def test_an_act_that_is_forbidden_for_a_while_is_done_afterwards() -> None:
    world, seat = a_seat()
    seat._weather.forbidden["WriteNodeRecord"] = 60.0
    results = []
    for _ in range(2):
        seat.submit(a_write())
        world.tick_to(world.time + 60.0)
        results += [outcome.result for outcome in seat.collect()]
    assert results == [Result.FAILED, Result.DONE]


# ── a view ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def looked(seat: Seat) -> Any:
    sight = seat.observe()
    assert sight is not None
    return sight.seen


def test_a_stream_that_is_silent_shows_what_was_and_says_since_when() -> None:
    world, seat = a_seat()
    world.tick_to(10.0)
    seat.view.fall_silent(Stream.NODES, until=100.0, heard_at=seat.now())
    world.change("n1", lambda node: replace(node, is_label_lost=True))
    world.tick_to(50.0)
    seen = looked(seat)
    heard = {stream.source: stream.heard_at for stream in seen.freshness}
    assert (seen.nodes["n1"].is_label_lost, heard["nodes"], heard["pods"]) == (False, 10.0, 50.0)
    world.tick_to(100.0)
    assert looked(seat).nodes["n1"].is_label_lost


def test_a_list_read_anew_shows_what_has_been_read_and_says_that_it_is_not_whole() -> None:
    world, seat = a_seat()
    seat.view.list_anew(Stream.NODES, until=5.0, missing=["n2"])
    seen = looked(seat)
    assert set(seen.nodes) == {"n1"}
    assert [stream.source for stream in seen.freshness if not stream.is_synced] == ["nodes"]
    world.tick_to(5.0)
    seen = looked(seat)
    assert set(seen.nodes) == {"n1", "n2"}
    assert all(stream.is_synced for stream in seen.freshness)


def test_nothing_is_seen_before_the_rollout_is_listed() -> None:
    _, seat = a_seat()
    seat.view.list_anew(Stream.ROLLOUTS, until=5.0, missing=[])
    assert seat.observe() is None


def test_streams_lag_each_by_itself_and_no_object_goes_back() -> None:
    world, seat = a_seat()
    seat._weather.lag_seconds = 30.0
    mixed, versions = set(), []
    for second in range(1, 120):
        world.tick_to(float(second))
        if second < 60:
            world.change("n1", lambda node: replace(node, facts=replace(node.facts, pods=node.facts.pods[:0])))
        facts = looked(seat).nodes["n1"].facts
        mixed.add((facts.resource_version != "1", facts.pods == ()))
        versions.append(int(facts.resource_version))
    assert versions == sorted(versions)
    assert versions[-1] == 60
    assert {(True, False), (False, True)} & mixed, "one stream was seen before the other"


def test_a_node_that_is_deleted_is_seen_as_it_was_until_its_stream_says_so() -> None:
    world, seat = a_seat()
    seat.view.fall_silent(Stream.NODES, until=100.0, heard_at=seat.now())
    world.remove("n1")
    seat.view.list_anew(Stream.PODS, until=50.0, missing=[])
    world.tick_to(60.0)
    assert set(looked(seat).nodes) == {"n1", "n2"}
    world.tick_to(100.0)
    assert set(looked(seat).nodes) == {"n2"}


def test_what_daemon_sets_want_is_seen_for_each_owner_by_itself() -> None:
    world, seat = a_seat()
    world.change("n1", lambda node: replace(node, facts=replace(node.facts, owner="a100", wanted=OLD)))
    wanted = {name: node.facts.wanted for name, node in looked(seat).nodes.items()}
    assert wanted == {"n1": OLD, "n2": NEW}


def test_a_clock_that_jumps_is_ours_alone() -> None:
    world, seat = a_seat()
    seat.step_clock(100.0)
    assert (seat.now(), world.time, seat.world_time(150.0)) == (100.0, 0.0, 50.0)


# ── the judge ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_judge_finds_a_start_without_an_admission() -> None:
    world, _ = a_seat()
    judge = Judge(world)
    start = replace(a_write(), record=replace(a_write().record, phase=NodePhase.CORDON_REQUIRED))
    before = world.nodes["n1"]
    judge.on_landing(start, before, world.execute(start))
    assert judge.broken == "n1 starts attempt 1 without an admission"


@pytest.mark.parametrize(
    ("is_cordoned", "why"), [(False, "n1 was cordoned by an admin, and the cordon is gone"), (True, None)]
)
def test_the_judge_finds_a_cordon_of_an_admin_that_is_gone(is_cordoned: bool, why: str | None) -> None:
    world, _ = a_seat()
    judge = Judge(world, theirs={"n1"})
    world.watchers.append(judge.on_change)
    world.change("n1", lambda node: replace(node, facts=replace(node.facts, is_cordoned=is_cordoned)))
    assert judge.broken == why


def test_a_world_at_rest_in_which_nobody_says_why_a_node_waits_is_not_settled() -> None:
    world, _ = a_seat()
    assert why_unsettled(world, Decision(), set()) == "n1 is None, and nobody says why"
