"""A bake in the simulated world, by the real loop: what befalls its canary is seen whenever it happens, between the
rounds as well, in either mode; and a quiet bake is written down by the round, not by the pass.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import pytest

from seatrial.core.model.campaign import Bake, Campaign, CampaignRecord, Growth, Point, RolloutPhase, Waves
from seatrial.core.model.edits import EDITS, Effect
from seatrial.core.model.gates.gate import Gate, GateVerdict
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.policy import Share
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.run.loop import Report, run_forever
from seatrial.run.memory import Memory
from seatrial.sim import outside as outer
from seatrial.sim.nodes import new_node, rebooted
from seatrial.sim.outside import Outside
from seatrial.sim.world import World
from tests.builders import OLD, an_intent
from tests.edit_cases import BASES, CASES, WAVES_BY_SHARE, Case, intent_of

HOUR = 3600.0
MODES = pytest.mark.parametrize("is_delegated", [False, True], ids=["direct", "delegated"])


class Story:
    """One campaign over three nodes with eight GPUs each; the first is the canary, and bakes for six hours."""

    def __init__(self, *, is_delegated: bool, seconds: float = 6 * HOUR, manual: tuple[Point, ...] = ()) -> None:
        campaign = Campaign(
            gates=(Gate(name="smoke", image="smoke:1"),),
            bake=Bake(seconds=seconds, every_seconds=HOUR),
            waves=Waves(growth=Growth.FIXED, first=Share(amount=1)),
            manual=manual,
        )
        nodes = [new_node(f"n{number}", running=OLD, wanted=OLD, gpu_count=8) for number in (1, 2, 3)]
        self.world = World(
            nodes,
            an_intent(unavailable_max=2, campaign=campaign),
            outside=Outside(operator=outer.cluster_policy(OLD.version, is_auto_upgrading=is_delegated)),
        )
        self.memory = Memory(self.world.time)
        self.writes: list[str] = []

    @property
    def record(self) -> CampaignRecord:
        return self.world.rollout.campaign or CampaignRecord()

    def append(self, _at: float, kind: str, fields: Mapping[str, object]) -> None:
        if kind == "act" and str(fields["act"]) == "WriteRolloutRecord":
            self.writes.append(str(fields["id"]))

    def play(self, is_over: Callable[[], bool]) -> None:
        def look(report: Report) -> bool:
            assert not report.breaches, report.breaches
            return is_over() or self.record.phase in (RolloutPhase.DONE, RolloutPhase.REVERTED)

        asyncio.run(run_forever(self.world.ports(self), self.memory, on_report=lambda _report: None, is_over=look))

    def play_until(self, instant: float) -> None:
        self.world.at(instant, lambda _world: None)
        self.play(lambda: self.world.time >= instant)

    def bake(self) -> float:
        """Play until the canary bakes, and say when."""
        self.play(lambda: self.record.phase is RolloutPhase.BAKING)
        return self.world.time

    def befall(self, at: float, change: Callable[[NodeSeen], NodeSeen]) -> None:
        self.world.at(at, lambda world: world.change("n1", change))


def changed(node: NodeSeen, **facts: object) -> NodeSeen:
    return replace(node, facts=replace(node.facts, **facts))  # type: ignore[arg-type]


def reboot(story: Story, at: float, seconds: float = 300.0) -> None:
    story.befall(at, lambda node: changed(node, is_ready=False, ready_at=at))
    story.befall(at + seconds, lambda node: replace(node, facts=rebooted(node.facts, at + seconds)))


@MODES
@pytest.mark.parametrize("every", [HOUR, 0.7 * HOUR])
def test_a_canary_that_reboots_every_hour_does_not_end_its_bake(is_delegated: bool, every: float) -> None:
    story = Story(is_delegated=is_delegated)
    begun = story.bake()
    for number in range(1, 60):
        reboot(story, begun + number * every)
    story.play_until(begun + 40 * HOUR)
    assert story.record.phase is RolloutPhase.BAKING
    assert story.record.baked_seconds < 2 * HOUR
    assert story.record.setback == "canary n1 rebooted"


@MODES
def test_a_canary_that_reboots_once_bakes_for_as_long_as_was_asked_after_it(is_delegated: bool) -> None:
    story = Story(is_delegated=is_delegated)
    begun = story.bake()
    reboot(story, begun + 3 * HOUR)
    story.play(lambda: story.record.phase is RolloutPhase.WAVING)
    assert story.record.phase is RolloutPhase.WAVING
    assert story.world.time >= begun + 9 * HOUR


@MODES
@pytest.mark.parametrize("manual", [(), (Point.ROLLBACK,)], ids=["undone", "a person decides"])
def test_a_canary_that_loses_a_gpu_in_the_bake_is_undone_or_waits_with_the_reason(
    is_delegated: bool, manual: tuple[Point, ...]
) -> None:
    story = Story(is_delegated=is_delegated, manual=manual)
    begun = story.bake()
    lost = GpuOffer(resources=(("nvidia.com/gpu", 7),))
    story.befall(begun + 600, lambda node: changed(node, offer=lost))
    story.play_until(begun + 5 * HOUR)
    evidence = "gate readiness failed on n1: the node offers less than before the upgrade: nvidia.com/gpu 7 of 8"
    if manual:
        assert story.record.phase is RolloutPhase.BAKING
        assert {each.verdict for each in story.record.gates} >= {GateVerdict.FAILED}
        waits = story.world.rollout.summary.told if story.world.rollout.summary is not None else ()
        assert [each.code for each in waits] == ["rollback-pending"]
        assert evidence in waits[0].why
    else:
        assert story.record.phase in (RolloutPhase.REVERTING, RolloutPhase.REVERTED)
        assert story.record.why == evidence


@MODES
def test_a_canary_that_is_silent_for_a_while_between_two_rounds_has_that_time_not_counted(is_delegated: bool) -> None:
    story = Story(is_delegated=is_delegated)
    begun = story.bake()
    away = begun + 600
    story.befall(away, lambda node: changed(node, is_ready=False, ready_at=away))
    story.befall(away + 1200, lambda node: changed(node, is_ready=True, ready_at=away + 1200))
    story.play(lambda: story.record.phase is RolloutPhase.WAVING)
    assert begun + 6 * HOUR + 1800 <= story.world.time < begun + 8 * HOUR


def test_a_quiet_bake_is_written_down_by_the_round_and_not_by_the_pass() -> None:
    story = Story(is_delegated=False)
    begun = story.bake()
    before = len(story.writes)
    for number in range(300):  # something else changes on the canary all the time, so that there are passes
        story.befall(begun + 10 + 60 * number, partial(changed, pods=()))
    story.play_until(begun + 5 * HOUR)
    rounds = story.record.round - 1
    assert rounds >= 4
    # Each round is begun, asked and counted; the summary tells of it with the next of them.
    assert len(story.writes) - before <= 6 * rounds


# ── edits on the way ─────────────────────────────────────────────────────────────────────────────────────────────────

EDITS_ALLOWED = [
    case
    for case in (*CASES, WAVES_BY_SHARE)
    if case.base in ("plain", "direct")
    and (case is WAVES_BY_SHARE or EDITS[case.field].effect not in (Effect.REFUSED, Effect.REFUSED_BEGUN))
]


@pytest.mark.slow
@pytest.mark.parametrize("phase", [RolloutPhase.CANARY, RolloutPhase.BAKING, RolloutPhase.WAVING])
@pytest.mark.parametrize("case", EDITS_ALLOWED, ids=str)
def test_a_rollout_that_is_edited_on_the_way_keeps_every_promise_to_its_end(case: Case, phase: RolloutPhase) -> None:
    story = Story(is_delegated=False)
    story.world.intent = intent_of(BASES["plain"], story.world.time)
    story.play(lambda: story.record.phase is phase)
    edited = {key: value for key, value in case.spec.items() if key != "matrix"}
    story.world.intent = intent_of(edited, story.world.time)
    story.play_until(story.world.time + 20 * HOUR)
    is_at_rest = story.record.phase in (RolloutPhase.DONE, RolloutPhase.REVERTED)
    summary = story.world.rollout.summary
    assert is_at_rest or (summary is not None and summary.told), f"{story.record.phase} without a reason"
