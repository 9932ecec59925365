"""A small upgrade in World, moved by the loop and by `decide`, loses what the quick model says it does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from bench.gpu_hours.in_world import InWorld

from seatrial.core.budget.attrition.values import Attrition
from seatrial.sim.forecast.busy import traces
from seatrial.sim.forecast.busy.cluster import RELOAD
from seatrial.sim.forecast.busy.ours import ByAttrition
from seatrial.sim.forecast.busy.playing import play, warm
from seatrial.sim.forecast.busy.traces import DAY, HOUR, Saves

COUNT, IDLE_MAX, BEGINS = 12, 64, 12 * HOUR
SMALL = replace(traces.scaled(traces.PUBLISHED, COUNT / 128), name="small", saves=Saves.TOLD)
WAY = Attrition(deadline_seconds=12 * HOUR)


@pytest.mark.parametrize("seed", [1, 3])
def test_world_and_model_agree_on_what_an_upgrade_by_attrition_costs(seed: int) -> None:
    stop = BEGINS + 2 * DAY
    begun = warm(SMALL, seed, BEGINS / HOUR, stop, COUNT)
    there = InWorld(begun, WAY, IDLE_MAX).run(stop)
    model = play(SMALL, seed, ByAttrition(WAY, IDLE_MAX), warm_hours=BEGINS / HOUR, count=COUNT, idle_max=IDLE_MAX)
    assert there.is_over
    assert there.hours <= WAY.deadline_seconds / HOUR
    assert there.losses.reload == pytest.approx(COUNT * 8 * RELOAD, rel=0.1)
    assert there.losses.evictions == pytest.approx(model.losses.evictions, abs=2)
    lost, expected = (each.losses.idle + each.losses.thrown for each in (there, model))
    assert lost == pytest.approx(expected, rel=0.3)
