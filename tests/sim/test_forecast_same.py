"""The quick forecast and the real loop with the real `decide` agree on everything: who, when, how many, how much."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seatrial.core.model.intent import Domain, Intent, Order, Requestor, Retries
from seatrial.core.model.policy import Drain, Eviction, JobWait, Limits, Policy, Share
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.selectors import Selector
from seatrial.run.loop import run_forever
from seatrial.run.memory import Memory
from seatrial.sim.forecast.durations import Behaviours, Constant, Duration, LogNormal, Uniform
from seatrial.sim.forecast.engine import forecast
from seatrial.sim.forecast.inventory import Inventory
from seatrial.sim.forecast.model import Model
from seatrial.sim.nodes import JOB_LABEL, new_node
from seatrial.sim.reactions import REACTIONS
from seatrial.sim.world import Delay, World
from tests import builders
from tests.sim.forecast_reference import SlowRollout

OLD, NEW = builders.OLD, builders.NEW
RACK = "rack"
SAME = 1e-4
"""Seconds. The quick forecast counts in microseconds, the slow one adds up as it goes."""

whole_seconds = st.integers(1, 400).map(float)
durations: st.SearchStrategy[Duration] = st.one_of(
    whole_seconds.map(Constant),
    st.tuples(whole_seconds, whole_seconds).map(lambda ends: Uniform(min(ends), max(ends))),
    st.builds(LogNormal, st.floats(1, 300), st.floats(0.05, 0.8)),
)


@st.composite
def behaviours(draw: st.DrawFn) -> Behaviours:
    return Behaviours(
        durations={what: draw(durations) for what in REACTIONS},
        failure_rate=draw(st.sampled_from([0.0, 0.3, 1.0])),
        budget_rate=draw(st.sampled_from([0.0, 0.5])),
        budget_wait=draw(durations),
    )


@st.composite
def nodes(draw: st.DrawFn, number: int) -> NodeSeen:
    name = f"n{number}"
    is_job = draw(st.booleans())
    pods = tuple(
        builders.a_gpu_pod(
            0, uid=f"{name}-{each}", name=f"{name}-{each}", labels=((JOB_LABEL, name),) if is_job else ()
        )
        for each in range(draw(st.integers(0, 2)))
    )
    before = draw(st.sampled_from([OLD, OLD, OLD, OLD, NEW, replace(OLD, digest="same")]))
    node = new_node(
        name,
        running=before,
        wanted=replace(NEW, digest=before.digest),
        is_cordoned=draw(st.integers(0, 5)) == 0,
        pods=pods,
        clients=("dcgm",) if draw(st.booleans()) else (),
        gpu_count=draw(st.sampled_from([0, 8])),
        has_features=draw(st.booleans()),
        has_dra=draw(st.booleans()),
        labels={RACK: draw(st.sampled_from(["a", "b"]))} if draw(st.booleans()) else {},
        at=-10.0,
    )
    facts = replace(
        node.facts,
        is_skipped=draw(st.integers(0, 9)) == 0,
        is_ready=draw(st.integers(0, 9)) != 0,
        owner=draw(st.sampled_from(["", "pool"])),
    )
    return replace(node, facts=facts)


@st.composite
def intents(draw: st.DrawFn) -> Intent:
    policy = Policy(
        jobs=JobWait(
            selector=Selector.parse(JOB_LABEL) if draw(st.booleans()) else None,
            timeout_seconds=draw(st.sampled_from([0.0, 100.0])),
        ),
        eviction=Eviction(timeout_seconds=draw(st.sampled_from([60.0, 300.0]))),
        drain=Drain(is_enabled=draw(st.booleans())),
    )
    domains: Mapping[str, tuple[Domain, ...]] = {
        "none": (),
        "floor": (Domain(label=RACK, unavailable_max=Share(amount=1)),),
        "unit": (Domain(label=RACK, is_unit=True),),
    }
    pool = Policy(limits=Limits(parallel_max=1, unavailable_max=Share(amount=2)))
    return builders.an_intent(
        policy=policy,
        pools={"pool": pool} if draw(st.booleans()) else {},
        failed_max=draw(st.integers(0, 2)),
        domains=domains[draw(st.sampled_from(["none", "floor", "unit"]))],
        order=draw(st.sampled_from(Order)),
        retries=Retries(count_max=draw(st.integers(0, 2)), pause_seconds=draw(st.sampled_from([60.0, 300.0]))),
        requestor=Requestor(id="seatrial.dev", timeout_seconds=500.0) if draw(st.integers(0, 4)) == 0 else None,
        restart_timeout_seconds=draw(st.sampled_from([200.0, 1800.0])),
        validation_timeout_seconds=draw(st.sampled_from([100.0, 600.0])),
    )


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_whole_runs_are_those_of_decide(data: st.DataObject) -> None:
    fleet = [data.draw(nodes(number)) for number in range(data.draw(st.integers(1, 7)))]
    limits = Limits(
        parallel_max=data.draw(st.integers(0, 4)),
        unavailable_max=Share.parse(data.draw(st.sampled_from(["1", "2", "50%", "100%"]))),
    )
    assert_same(fleet, data.draw(intents()), data.draw(behaviours()), limits, data.draw(st.integers(0, 99)))


def assert_same(fleet: list[NodeSeen], intent: Intent, behaviours: Behaviours, limits: Limits, seed: int) -> None:
    inventory = Inventory(nodes={node.name: node for node in fleet}, gpus={node.name: 8 for node in fleet})
    quick = forecast(Model(inventory, intent, behaviours), seed, limits=limits)
    slow = SlowRollout(inventory, intent, behaviours, seed, limits)
    slow.run()
    assert {each.name: each.started_at for each in quick.times} == pytest.approx(slow.started, abs=SAME)
    assert {each.name: each.ended_at for each in quick.times} == pytest.approx(slow.ended, abs=SAME)
    assert quick.makespan_seconds == pytest.approx(slow.makespan, abs=SAME)
    assert quick.evicted == slow.evicted
    quick_steps, slow_steps = _steps(quick.curve), _steps(slow.curve)
    assert [gpus for _, gpus in quick_steps] == [gpus for _, gpus in slow_steps]
    assert [at for at, _ in quick_steps] == pytest.approx([at for at, _ in slow_steps], abs=SAME)
    assert quick.failed == tuple(
        sorted(name for name, node in slow.nodes.items() if node.record and node.record.phase == "upgrade-failed")
    )


def _steps(curve: Iterable[tuple[float, int]]) -> list[tuple[float, int]]:
    """A curve without steps that rounding made: two things at one instant may be told apart by a billionth."""
    kept: list[tuple[float, int]] = []
    for at, gpus in curve:
        if kept and at - kept[-1][0] < SAME:
            kept[-1] = (kept[-1][0], gpus)
        else:
            kept.append((at, gpus))
    return [step for number, step in enumerate(kept) if number == 0 or kept[number - 1][1] != step[1]]


async def test_the_makespan_is_that_of_the_simulated_world() -> None:
    intent = builders.an_intent(parallel_max=3, unavailable_max="50%")
    fleet = [new_node(f"n{number:02}", running=OLD, wanted=NEW, gpu_pod_count=number % 3) for number in range(11)]
    seconds = {what: 8.0 + number for number, what in enumerate(REACTIONS)}
    delays = {what: Delay(seconds=each) for what, each in seconds.items()}
    world = World(fleet, intent, delays=delays)
    await run_forever(world.ports(_NoJournal()), Memory(0.0), on_report=lambda _: None, is_over=lambda _: False)
    inventory = Inventory(nodes={node.name: node for node in fleet}, gpus={node.name: 8 for node in fleet})
    durations = {what: Constant(each) for what, each in seconds.items()}
    run = forecast(Model(inventory, intent, Behaviours(durations=durations)))
    ended = {name: node.record.entered_at for name, node in world.nodes.items() if node.record}
    assert {each.name: each.ended_at for each in run.times} == ended
    assert run.makespan_seconds == max(ended.values())


class _NoJournal:
    def append(self, at: float, kind: str, fields: Mapping[str, object]) -> None:
        """Forget it."""
