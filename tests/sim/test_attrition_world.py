"""By attrition in the simulated world: jobs end by themselves, and the same loop as live takes their nodes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from seatrial.core.actions.on_nodes import EvictPods
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import Bake, Campaign, CampaignRecord, Canary, Growth, RolloutPhase, Waves
from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.policy import Attrition, Share
from seatrial.core.model.seen.jobs import PodJob
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.pods import Pod
from seatrial.core.words import accounts
from seatrial.run.loop import Report, run_forever
from seatrial.run.memory import Memory
from seatrial.sim import outside as outer
from seatrial.sim.nodes import new_node
from seatrial.sim.outside import Outside
from seatrial.sim.world import World
from tests.builders import OLD, an_intent
from tests.core.words.explained import sentence

HOUR = 3600.0
START = 1_000_000.0
ALL = Waves(growth=Growth.FIXED, first=Share(amount=100, is_percent=True))


def a_job(name: str, node: str, gpus: int = 8, since: float = -10 * HOUR) -> Pod:
    """A pod of a job that has run for so long."""
    return Pod(
        namespace="jobs",
        name=f"{name}-{node}",
        uid=f"{name}-{node}-0",
        gpu=GpuUse.RESOURCE,
        gpu_count=gpus,
        is_running=True,
        job=PodJob(gang=f"jobs/job/{name}", line=f"jobs/{name}", started_at=START + since),
    )


def _left_with(node: NodeSeen, pods: tuple[Pod, ...]) -> NodeSeen:
    return replace(node, facts=replace(node.facts, pods=pods))


def _paused(world: World, is_paused: bool) -> None:
    world.intent = replace(world.intent, is_paused=is_paused)


class Busy:
    """A fleet of eight GPUs a node, n0 the canary and empty, the others with these jobs on them."""

    def __init__(
        self,
        jobs: Mapping[str, Iterable[Pod]],
        *,
        way: Attrition | None = None,
        campaign: Campaign | None = None,
        **limits: Any,
    ) -> None:
        names = ["n0", *jobs]
        nodes = [
            new_node(name, running=OLD, wanted=OLD, gpu_count=8, pods=tuple(jobs.get(name, ())), at=START - 99 * HOUR)
            for name in names
        ]
        outside = Outside(operator=outer.cluster_policy(OLD.version, is_auto_upgrading=False))
        planned = campaign or Campaign(canary=Canary(nodes=("n0",)), bake=Bake(seconds=60.0), waves=ALL)
        bounds: dict[str, Any] = {"parallel_max": 0, "unavailable_max": "100%", "idle_gpus_max": 16} | limits
        intent = an_intent(campaign=planned, attrition=way or Attrition(deadline_seconds=24 * HOUR), **bounds)
        self.world = World(nodes, intent, outside=outside, started_at=START)
        self.evicted: list[str] = []
        self.pass_count = 0
        self.holds: dict[str, list[Any]] = {}
        self.memory = Memory(self.world.time)

    @property
    def record(self) -> CampaignRecord:
        return self.world.rollout.campaign or CampaignRecord()

    def ends(self, hours: float, *jobs: str) -> None:
        """Jobs that end by themselves, so many hours after the start."""

        def end(world: World) -> None:
            for name, node in list(world.nodes.items()):
                left = tuple(pod for pod in node.facts.pods if not any(pod.name.startswith(f"{job}-") for job in jobs))
                if left != node.facts.pods:
                    world.change(name, partial(_left_with, pods=left))

        self.world.at(START + hours * HOUR, end)

    def play(self, hours: float) -> None:
        """Play until so many hours after the start; no promise is broken meanwhile."""
        until = START + hours * HOUR
        self.world.at(until, lambda _world: None)

        def is_over(report: Report) -> bool:
            assert not report.breaches, report.breaches
            self.holds = {}
            self.pass_count += 1
            assert report.decision is not None
            for held in report.decision.holds:
                self.holds.setdefault(held.subject, []).append(held)
            for action in report.decision.actions:
                if isinstance(action, EvictPods):
                    self.evicted += [pod.name for pod in action.pods]
            return self.world.time >= until or self.record.phase is RolloutPhase.DONE

        asyncio.run(run_forever(self.world.ports(self), self.memory, on_report=lambda _report: None, is_over=is_over))

    def append(self, _at: float, _kind: str, _fields: Mapping[str, object]) -> None:
        """Nobody reads this journal."""

    def phase(self, name: str) -> NodePhase | None:
        record = self.world.nodes[name].record
        return record.phase if record is not None else None

    def node(self, name: str) -> NodeSeen:
        return self.world.nodes[name]

    def why(self, name: str) -> str:
        return "; ".join(sentence(held, self.world.time) for held in self.holds.get(name, ()))


def test_full_nodes_are_closed_at_once_and_taken_when_their_jobs_end_without_an_eviction() -> None:
    busy = Busy({f"n{each}": [a_job(f"j{each}", f"n{each}")] for each in range(1, 5)})
    for each in range(1, 5):
        busy.ends(2.0 * each, f"j{each}")
    busy.play(1.5)
    assert {busy.phase(f"n{each}") for each in range(1, 5)} == {NodePhase.WAIT_FOR_JOBS_REQUIRED}
    assert all(busy.node(f"n{each}").facts.is_cordoned for each in range(1, 5))
    busy.play(10)
    assert busy.record.phase is RolloutPhase.DONE
    assert busy.evicted == []


def test_why_of_a_closed_node_says_what_it_costs_waits_for_and_when_it_ends() -> None:
    busy = Busy({"n1": [a_job("j1", "n1")]})
    busy.play(1.5)
    (held,) = busy.holds["n1"]
    assert held.code is HoldCode.CLOSED_AHEAD
    assert "full, costs nothing; waits for 1 job to end" in busy.why("n1")
    assert "given back when more than 16 GPUs stand idle" in busy.why("n1")
    assert "UTC at the latest" in busy.why("n1")


def test_who_is_still_at_work_at_the_deadline_is_evicted_and_the_deadline_is_kept() -> None:
    busy = Busy({"n1": [a_job("j1", "n1")], "n2": [a_job("j2", "n2")]}, way=Attrition(deadline_seconds=6 * HOUR))
    busy.play(5)
    assert busy.evicted == []
    busy.play(6.5)
    assert sorted(busy.evicted) == ["j1-n1", "j2-n2"]
    assert busy.record.phase is RolloutPhase.DONE
    taken = [node for node in busy.world.nodes.values() if node.record is not None and node.record.taken is not None]
    assert taken == [], "what is over is not on record any more"


def test_nodes_whose_other_jobs_end_first_are_given_back_when_too_many_gpus_stand_idle() -> None:
    jobs = {f"n{each}": [a_job(f"s{each}", f"n{each}", 4), a_job(f"l{each}", f"n{each}", 4)] for each in range(1, 4)}
    busy = Busy(jobs, way=Attrition(deadline_seconds=2 * HOUR, evicts_early=False), idle_gpus_max=8)
    busy.ends(1.55, "s1", "s2", "s3")
    busy.play(1.5)
    closed = [name for name in jobs if busy.node(name).facts.is_cordoned]
    busy.play(1.6)
    after = [name for name in jobs if busy.node(name).facts.is_cordoned]
    assert 4 * len(after) <= 8
    assert len(after) <= len(closed)


def test_a_gang_is_closed_and_leaves_as_one() -> None:
    gang = {name: [a_job("gang", name)] for name in ("n1", "n2")}
    busy = Busy(gang, way=Attrition(deadline_seconds=4 * HOUR), idle_gpus_max=16)
    busy.play(1)
    assert {busy.phase("n1"), busy.phase("n2")} == {NodePhase.WAIT_FOR_JOBS_REQUIRED}
    busy.play(5)
    assert sorted(busy.evicted) == ["gang-n1", "gang-n2"]
    assert busy.record.phase is RolloutPhase.DONE


def test_what_it_cost_is_told_by_cause_and_beside_what_evictions_would_have_cost() -> None:
    gang = {name: [a_job("gang", name)] for name in ("n1", "n2")}
    busy = Busy({**gang, "n3": [a_job("j3", "n3")]}, way=Attrition(deadline_seconds=4 * HOUR))
    busy.ends(1, "j3")
    busy.play(5)
    cost = busy.world.rollout.cost
    assert cost is not None
    assert cost.evictions == 1, "a gang counts once"
    assert cost.thrown_gpu_seconds == 16 * (1800 + 600), "half an hour of work and ten minutes until it goes on"
    assert cost.evicting_gpu_seconds == 24 * (1800 + 600), "what nobody threw away of n3 is spared"
    assert 3 * 8 * 200 < cost.reload_gpu_seconds < 3 * 8 * 600
    assert "1 job evicted; to evict all would have cost 16.0" in accounts.by_cause(cost)


def test_an_abort_gives_closed_nodes_back() -> None:
    busy = Busy({"n1": [a_job("j1", "n1")]})
    busy.play(1)
    assert busy.node("n1").facts.is_cordoned

    def abort(world: World) -> None:
        assert world.intent.campaign is not None
        world.intent = replace(world.intent, campaign=replace(world.intent.campaign, abort="no"))

    busy.world.at(START + 1.1 * HOUR, abort)
    busy.play(3)
    assert not busy.node("n1").facts.is_cordoned
    assert busy.record.phase is RolloutPhase.REVERTED
    assert busy.evicted == []


def test_a_pause_freezes_says_what_it_costs_and_stops_the_deadline() -> None:
    whole = a_job("j1", "n1", 6)
    way = Attrition(deadline_seconds=4 * HOUR, evicts_early=False)
    busy = Busy({"n1": [whole, replace(a_job("j2", "n1", 2), job=whole.job)]}, way=way)
    busy.ends(1.2, "j2")
    busy.play(1)
    assert busy.node("n1").facts.is_cordoned, "one job fills it"

    busy.world.at(START + 1.1 * HOUR, partial(_paused, is_paused=True))
    busy.play(9)
    assert busy.evicted == []
    assert busy.node("n1").facts.is_cordoned
    assert "2 GPUs idle: that costs 2 GPU-hours an hour" in busy.why("spring")
    busy.world.at(START + 9.1 * HOUR, partial(_paused, is_paused=False))
    busy.play(10)
    assert busy.record.waved_seconds < 1.2 * HOUR
    assert busy.evicted == []
    busy.play(13.5)
    assert busy.record.phase is RolloutPhase.DONE


def test_the_next_leader_goes_on_with_closed_nodes() -> None:
    busy = Busy({"n1": [a_job("j1", "n1")]})
    busy.ends(3, "j1")
    busy.play(1)
    busy.memory = Memory(busy.world.time)
    busy.play(4)
    assert busy.record.phase is RolloutPhase.DONE
    assert busy.evicted == []


# ── many stories ─────────────────────────────────────────────────────────────────────────────────────────────────────


def idle_behind(world: World) -> int:
    """GPUs that truly stand idle behind a cordon."""
    closed = (node.facts for node in world.nodes.values() if node.facts.is_cordoned)
    return sum(8 - sum(pod.gpu_count for pod in facts.pods) for facts in closed)


@pytest.mark.parametrize("seed", range(12))
def test_whatever_jobs_leaders_and_people_do_the_idle_budget_and_the_deadline_are_kept(seed: int) -> None:
    drawn = random.Random(seed)  # noqa: S311  a story, not a secret
    jobs: dict[str, list[Pod]] = {f"n{each}": [] for each in range(1, 9)}
    free = dict.fromkeys(jobs, 8)
    for number in range(drawn.randint(4, 14)):
        size = drawn.choice((1, 2, 4, 8))
        fits = [name for name in jobs if free[name] >= size]
        for name in drawn.sample(fits, min(len(fits), drawn.choice((1, 1, 1, 2)))):
            jobs[name].append(a_job(f"j{number}x", name, size, since=-drawn.random() * 20 * HOUR))
            free[name] -= size
    way = Attrition(deadline_seconds=8 * HOUR, evicts_early=drawn.random() < 0.5, close_ahead=drawn.choice((0.5, 1.0)))
    busy = Busy(jobs, way=way, idle_gpus_max=24, parallel_max=drawn.choice((0, 2, 3)))
    for number in range(14):
        if drawn.random() < 0.6:
            busy.ends(drawn.random() * 10, f"j{number}x")
    paused = 0.0
    if drawn.random() < 0.5:
        begins, paused = 1 + drawn.random() * 4, drawn.random() * 2
        for at, is_paused in ((begins, True), (begins + paused, False)):
            busy.world.at(START + at * HOUR, partial(_paused, is_paused=is_paused))
    for hour in range(1, 14):
        busy.play(hour + drawn.random() * 0.5)
        busy.memory = Memory(busy.world.time)  # another leader
        if busy.record.phase is RolloutPhase.DONE:
            break
        if busy.record.phase is not RolloutPhase.PAUSED:
            assert idle_behind(busy.world) <= 24
    assert busy.record.phase is RolloutPhase.DONE, f"seed {seed}"
    assert busy.world.time - START <= (8 + paused + 0.5) * HOUR
    assert not any(node.facts.is_cordoned for node in busy.world.nodes.values())
