"""The watchman looks where the record ends, at canaries and controls, and only while a canary bakes."""

from __future__ import annotations

import msgspec
import pytest

from seatrial.adapters.kube.shapes import models, rollout_records
from seatrial.controller.watchman import Watchman
from seatrial.core.campaign.proving import exposing
from seatrial.core.judging.evidence import exposed_of
from seatrial.core.judging.stretches import LONGEST_SECONDS
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.gates.exposed import TelemetryFacts
from seatrial.core.model.seen.rollouts import RolloutRecord
from seatrial.sim.monitoring import Monitoring, Silence
from tests.adapters.kube import objects
from tests.builders import a_campaign_record

AT = 1_800_000_000.0


class Board:
    """A rollout at work, and whether anybody was woken."""

    def __init__(self, phase: RolloutPhase = RolloutPhase.BAKING) -> None:
        campaign = a_campaign_record(phase, exposed=exposed_of(["n1"], ["n2"], at=AT))
        patch = rollout_records.rollout_patch(RolloutRecord(name="spring", resource_version="1", campaign=campaign))
        self.rollout = msgspec.convert(objects.a_rollout(status=patch["status"]), models.Rollout)
        self.poked = 0

    def current_rollout(self) -> models.Rollout | None:
        return self.rollout

    def poke(self) -> None:
        self.poked += 1


async def looked(board: Board, monitoring: Monitoring, now: float) -> TelemetryFacts:
    watchman = Watchman(monitoring, now=lambda: now, tell=print)
    async with watchman.watching(board):
        await watchman.look()
        return watchman.facts()


async def test_what_was_told_since_the_record_ends_is_summed_up_and_whoever_decides_is_woken() -> None:
    board = Board()
    found = (await looked(board, Monitoring(), AT + 300.0)).stretch
    assert found is not None
    assert (found.since, found.until, [each.node for each in found.nodes]) == (AT, AT + 300.0, ["n1", "n2"])
    assert found.of("n1").seconds == 300.0
    assert board.poked


@pytest.mark.parametrize("phase", sorted(set(RolloutPhase) - exposing.WATCHED))
async def test_before_the_bake_and_after_the_waves_there_is_nothing_to_see(phase: RolloutPhase) -> None:
    assert await looked(Board(phase), Monitoring(), AT + 300.0) == TelemetryFacts()


async def test_after_a_long_time_an_hour_is_looked_at_at_once() -> None:
    found = (await looked(Board(), Monitoring(), AT + 10 * LONGEST_SECONDS)).stretch
    assert found is not None
    assert found.until == AT + LONGEST_SECONDS


async def test_a_silence_is_told_with_its_reason() -> None:
    found = (await looked(Board(), Monitoring(silences=(Silence(since=0, until=AT * 2),)), AT + 300.0)).stretch
    assert found is not None
    assert (found.until, found.of("n1").lacks) == (AT, ("load: its exporter is silent",))
