"""Expressions over what the other gates said: asked last, over what is whole."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.campaign.course import Course
from seatrial.core.campaign.gating import step_gating
from seatrial.core.judging.tries import TRIES_MAX
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.gates.figures import Figure, Given, Unmeasured
from seatrial.core.model.gates.gate import Gate, GateVerdict, Measurement
from seatrial.sim.outside import GateFate
from tests.builders import (
    NEW,
    SMOKE,
    a_campaign,
    a_campaign_record,
    a_done_node,
    a_measurement,
    a_snapshot,
    a_view,
    an_intent,
    an_operator,
)
from tests.core.judging.played import HOUR, Played

ALL = Gate(name="all", expression="figures.smoke.rate.all(each, each.value > 1.0)")
MORE = replace(ALL, name="more")


def rate(value: float, **changes: Any) -> Figure:
    return Figure(name="rate", value=value, node="n1", at=0.0, **changes)


def gating(*measured: Measurement, gates: tuple[Gate, ...] = (ALL, SMOKE)) -> Course:
    record = a_campaign_record(RolloutPhase.GATING, round=1, round_at=900.0)
    node = a_done_node(canary_of="spring", labels={"nvidia.com/gpu.product": "NVIDIA-H200"})
    seen = a_snapshot(node, campaign=record, operator=an_operator(NEW.version), measurements=measured)
    return step_gating(a_view(seen, an_intent(campaign=a_campaign(gates=gates))))


def asked(course: Course) -> dict[str, Given | None]:
    return {act.gate.name: act.given for act in course.acts if isinstance(act, StartProbe)}


def test_an_expression_is_asked_once_the_others_have_answered() -> None:
    assert asked(gating()) == {"smoke": None}
    assert asked(gating(a_measurement(GateVerdict.PENDING))) == {}
    assert list(asked(gating(a_measurement(), gates=(ALL, SMOKE, MORE)))) == ["all", "more"]


def test_it_is_about_the_last_try_of_this_round_on_this_node() -> None:
    course = gating(
        a_measurement(GateVerdict.UNKNOWN, figures=(rate(1.0),)),
        a_measurement(attempt=2, figures=(rate(2.0, gpu="GPU-1"), rate(3.0, gpu="GPU-2"))),
        a_measurement(round=0, attempt=3, figures=(rate(4.0),)),
        a_measurement(node="n2", attempt=3, figures=(rate(5.0),)),
    )
    given = asked(course)["all"]
    assert given is not None
    assert [(gate, each.value) for gate, each in given.figures] == [("smoke", 2.0), ("smoke", 3.0)]
    assert dict(given.verdicts) == {"readiness": "passed", "smoke": "passed"}
    assert dict(given.facts) == {"name": "n1", "driver": NEW.version, "product": "NVIDIA-H200"}


def test_a_figure_that_is_missing_on_one_gpu_is_missing() -> None:
    whole, unsound, lacking = (replace(rate(2.0), name=name) for name in ("whole", "unsound", "lacking"))
    course = gating(
        a_measurement(
            figures=(whole, unsound, replace(unsound, value=math.nan, gpu="GPU-2"), lacking),
            unmeasured=(Unmeasured(name="lacking", node="n1", gpu="GPU-2", why="busy"),),
        )
    )
    given = asked(course)["all"]
    assert given is not None
    assert [each.name for _, each in given.figures] == ["whole"]


def test_what_an_expression_said_is_judged_as_any_measurement() -> None:
    answer = a_measurement(gate="all")
    assert gating(a_measurement(), answer).record.phase is RolloutPhase.BAKING
    failed = gating(a_measurement(), replace(answer, verdict=GateVerdict.FAILED, detail="it is false"))
    assert (failed.record.phase, failed.record.why) == (
        RolloutPhase.REVERTING,
        "gate all failed on n1: it is false",
    )
    unknown = replace(answer, verdict=GateVerdict.UNKNOWN, attempt=TRIES_MAX, detail="there is no 'rate'")
    assert gating(a_measurement(), unknown).record.phase is RolloutPhase.GATING


@pytest.mark.parametrize(
    "gate", [ALL, Gate(name="ci", webhook="https://ci.example/ask")], ids=["expression", "webhook"]
)
def test_a_campaign_goes_the_way_that_its_expression_or_webhook_says(gate: Gate) -> None:
    assert Played(gate, SMOKE).play(12 * HOUR) is RolloutPhase.DONE
    failing = Played(gate, SMOKE, fates={gate.name: GateFate(fails_on=NEW.version)})
    assert failing.play(12 * HOUR) is RolloutPhase.REVERTED
    mute = Played(gate, SMOKE, fates={gate.name: GateFate(unknown_tries=TRIES_MAX)})
    assert mute.play(12 * HOUR) is RolloutPhase.GATING
