"""Whatever the clock does: a world at rest gets no write, nobody is woken for the past, and every pass comes to rest.

Time goes forward and back by seconds, hours and years, as it does when a machine is restored, or its clock is set. The
controller is the real loop with its real memory, over the simulated world.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.adapters.journal.jsonl import NoJournal
from seatrial.core.model.campaign import Bake, Mode, Point, RolloutPhase, Waves
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.operators import MachinePool
from seatrial.core.model.seen.rollouts import RolloutRecord
from seatrial.ports import Ports
from seatrial.run.loop import Report, run_once
from seatrial.run.memory import Memory
from seatrial.sim.outside import Outside
from seatrial.sim.world import World
from tests import builders
from tests.builders import NEW, NOW, a_campaign, a_campaign_record, an_intent, an_operator, is_as_without_memory

PASSES_MAX = 40
"""So many passes it may take until all that is due at one moment was written."""
TICK_SECONDS = 0.01
"""From pass to pass."""

steps = st.lists(st.sampled_from([-1e8, -86_400.0, -3600.0, -20.0, -0.5, 0.0, 0.5, 20.0, 3600.0]), max_size=6)


@dataclass(slots=True)
class Hands:
    """A clock that somebody sets."""

    at: float = NOW

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        """Nobody waits here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """A world in which nothing is due but what time brings."""

    nodes: tuple[NodeSeen, ...]
    intent: Intent
    record: RolloutRecord
    outside: Outside


def resting(
    *nodes: NodeSeen, phase: RolloutPhase | None = None, asked: dict[str, Any] | None = None, **more: Any
) -> Rest:
    record = a_campaign_record(phase, **more.pop("record", {})) if phase is not None else None
    return Rest(
        nodes=nodes,
        intent=an_intent(campaign=a_campaign(**({"gates": ()} | (asked or {}))) if phase is not None else None, **more),
        record=RolloutRecord(name="spring", resource_version="40", campaign=record),
        outside=Outside(operator=an_operator(NEW.version)),
    )


DONE = builders.a_done_node
RESTS = {
    "done": resting(DONE("n1"), DONE("n2")),
    "failed": resting(builders.a_node(phase=NodePhase.UPGRADE_FAILED, record={"failed_revision": NEW.hash})),
    "a campaign is done": resting(DONE("n1"), DONE("n2"), phase=RolloutPhase.DONE),
    "it waits for a yes": resting(
        builders.an_old_node("n1"), phase=RolloutPhase.PROPOSED, asked={"manual": (Point.CANARY,)}
    ),
    "it is reverted": resting(builders.an_old_node("n1"), phase=RolloutPhase.REVERTED),
}
BETWEEN = {
    "a wave is watched": resting(
        DONE("n1", canary_of="spring"),
        DONE("n2"),
        builders.a_node("n3"),
        phase=RolloutPhase.WAVING,
        asked={"waves": Waves(pause_seconds=3600.0)},
    ),
    "a canary bakes": resting(
        DONE("n1", canary_of="spring"),
        builders.a_node("n2"),
        phase=RolloutPhase.BAKING,
        asked={"bake": Bake(seconds=172_800.0, every_seconds=3600.0)},
        record={"round": 1, "round_at": 950.0},
    ),
}
LATER = NOW + 500
BETWEEN |= {
    f"{name}, since a time that is to come": replace(
        rest,
        record=replace(rest.record, campaign=replace(rest.record.campaign, entered_at=LATER, round_at=LATER)),
    )
    for name, rest in BETWEEN.items()
    if rest.record.campaign is not None
}


def played(rest: Rest, at: list[float]) -> list[list[Report]]:
    """The passes at each moment, until one has nothing to do."""
    clock = Hands()
    world = World(rest.nodes, rest.intent, outside=rest.outside, started_at=NOW)
    world.rollout = rest.record
    ports, memory = Ports(observer=world, executor=world, journal=NoJournal(), clock=clock), Memory(NOW)
    told: list[list[Report]] = []
    for step in [0.0, *at]:
        clock.at = max(clock.at + step, 1.0)
        told.append([])
        while len(told[-1]) < PASSES_MAX and not (told[-1] and is_quiet(told[-1][-1])):
            clock.at += TICK_SECONDS
            told[-1].append(run_once(ports, memory))
            assert is_as_without_memory(told[-1][-1])
    return told


def is_quiet(report: Report) -> bool:
    return report.decision is not None and not report.decision.actions and not report.outcomes


@given(steps, st.sampled_from(sorted(RESTS)))
@settings(max_examples=150, deadline=None)
def test_a_world_at_rest_gets_no_write_whatever_the_clock_does(steps: list[float], name: str) -> None:
    first, *later = played(RESTS[name], steps)
    assert is_quiet(first[-1])
    for passes in later:
        assert [act.id for report in passes if report.decision for act in report.decision.actions] == []


@given(steps, st.sampled_from(sorted(RESTS | BETWEEN)))
@settings(max_examples=150, deadline=None)
def test_every_moment_comes_to_rest_and_nobody_is_woken_for_the_past(steps: list[float], name: str) -> None:
    for passes in played((RESTS | BETWEEN)[name], steps):
        assert is_quiet(passes[-1]), f"{name}: a write in every pass"
        assert all(report.wake_at is None or report.wake_at >= report.at for report in passes)


def test_a_certificate_that_has_ended_wakes_nobody() -> None:
    """The clock of a paused pool is in the hold, and was looked at again and again once it had run out."""
    still = MachinePool(name="worker", is_paused=True, paused_by="spring", certificate_at=NOW - 60)
    rest = resting(builders.an_old_node("n1"), phase=RolloutPhase.PAUSED, asked={"still": ("worker",)}, is_paused=True)
    rest = replace(rest, outside=replace(rest.outside, machine_pools=(still,)))
    (passes,) = played(rest, [])
    assert passes[-1].wake_at is None
    assert rest.record.campaign is not None
    assert rest.record.campaign.mode is Mode.DIRECT
