"""Limits: every figure that is asked for is there, and is what it has to be."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.core.judging import limits
from seatrial.core.judging.tries import judge
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.gates.figures import Figure, Unmeasured
from seatrial.core.model.gates.gate import Gate, GateVerdict, Limit, Measurement, Metric
from seatrial.sim.outside import GateFate
from tests.builders import NEW, SMOKE, a_measurement
from tests.core.judging.played import HOUR, Played


def rates(*values: float, name: str = "matrix-bf16") -> tuple[Figure, ...]:
    """A figure for each of these GPUs."""
    return tuple(
        Figure(name=name, value=value, unit="TFLOP/s", gpu=f"GPU-{number}", node="n1", at=0.0)
        for number, value in enumerate(values)
    )


def held(*asked: Limit, verdict: GateVerdict = GateVerdict.PASSED, **changes: object) -> Measurement:
    return limits.held_to(replace(SMOKE, figures=asked), replace(a_measurement(verdict), **changes))  # type: ignore[arg-type]


FAST = Limit(name="matrix-bf16", at_least=600.0)
COOL = Limit(name="temperature", at_most=85.0)


def test_a_gate_that_asks_for_no_figures_is_what_its_job_said() -> None:
    assert held(figures=rates(1.0)) == a_measurement(figures=rates(1.0))


def test_every_gpu_has_to_keep_the_limit_and_the_worst_is_named() -> None:
    found = held(FAST, figures=rates(670.0, 588.25, 660.0))
    assert (found.verdict, found.detail) == (
        GateVerdict.FAILED,
        "matrix-bf16 of GPU-1 is 588.25 TFLOP/s, and must be at least 600",
    )


def test_a_figure_may_be_too_high_as_well() -> None:
    found = held(COOL, figures=rates(60.0, 91.0, name="temperature"))
    assert found.verdict is GateVerdict.FAILED
    assert found.detail.endswith("is 91 TFLOP/s, and may be at most 85")


def test_one_that_keeps_its_limit_says_by_what() -> None:
    found = held(FAST, figures=rates(670.0, 661.0))
    assert (found.verdict, found.detail) == (
        GateVerdict.PASSED,
        "matrix-bf16 of GPU-1 is 661 TFLOP/s, at least 600 asked",
    )


def test_a_figure_without_limits_has_to_be_there_at_least() -> None:
    assert held(Limit(name="matrix-bf16"), figures=rates(1.0)).verdict is GateVerdict.PASSED
    assert held(Limit(name="matrix-bf16")).verdict is GateVerdict.UNKNOWN


@pytest.mark.parametrize(
    ("figures", "unmeasured", "why"),
    [
        ((), (), "matrix-bf16 was not measured; there are no figures at all"),
        (rates(9.0, name="hbm-copy"), (), "matrix-bf16 was not measured; there are hbm-copy"),
        (
            rates(670.0),
            (Unmeasured(name="matrix-bf16", node="n1", gpu="GPU-1", why="out of memory"),),
            "matrix-bf16 of GPU-1 was not measured: out of memory",
        ),
        (rates(670.0, math.nan), (), "matrix-bf16 of GPU-1 is not a number"),
    ],
    ids=["nothing", "something else", "not on every GPU", "not a number"],
)
def test_what_was_not_measured_is_unknown(
    figures: tuple[Figure, ...], unmeasured: tuple[Unmeasured, ...], why: str
) -> None:
    found = held(FAST, figures=figures, unmeasured=unmeasured)
    assert (found.verdict, found.detail) == (GateVerdict.UNKNOWN, why)


def test_the_worst_of_several_limits_counts() -> None:
    found = held(FAST, COOL, figures=(*rates(588.0), *rates(60.0, name="temperature")))
    assert found.verdict is GateVerdict.FAILED
    assert "temperature" not in found.detail


@pytest.mark.parametrize("verdict", [GateVerdict.FAILED, GateVerdict.UNKNOWN, GateVerdict.PENDING])
def test_a_limit_that_is_kept_makes_nothing_better(verdict: GateVerdict) -> None:
    assert held(FAST, figures=rates(670.0), verdict=verdict).verdict is verdict


def test_a_figure_that_is_missing_is_asked_for_again() -> None:
    gate = replace(SMOKE, figures=(FAST,))
    assert judge(gate, "n1", 1, (a_measurement(),)).due == 2
    assert judge(gate, "n1", 1, (a_measurement(figures=rates(670.0)),)).verdict is GateVerdict.PASSED


def test_another_limit_is_another_gate() -> None:
    assert replace(SMOKE, figures=(FAST,)).mark != SMOKE.mark
    assert replace(SMOKE, figures=(FAST,)).mark != replace(SMOKE, figures=(replace(FAST, at_least=601.0),)).mark


@given(st.lists(st.floats(), max_size=6), st.none() | st.floats(-1e6, 1e6), st.none() | st.floats(-1e6, 1e6))
def test_nothing_passes_that_is_missing_or_beyond_a_limit(
    values: list[float], low: float | None, high: float | None
) -> None:
    found = held(Limit(name="matrix-bf16", at_least=low, at_most=high), figures=rates(*values))
    is_kept = all(
        math.isfinite(each) and (low is None or each >= low) and (high is None or each <= high) for each in values
    )
    assert (found.verdict is GateVerdict.PASSED) == (bool(values) and is_kept)


def test_a_query_is_held_to_the_limits_that_stand_beside_it() -> None:
    asked = Gate(name="rate", prometheus=Metric(query="x", unit="1/s", at_most=1.0))
    found = replace(
        a_measurement(), gate="rate", figures=(Figure(name="rate", value=2.0, unit="1/s", node="n1", at=0),)
    )
    judged = limits.held_to(asked, found)
    assert (judged.verdict, judged.detail) == (GateVerdict.FAILED, "rate is 2 1/s, and may be at most 1")
    assert limits.held_to(asked, a_measurement()).verdict is GateVerdict.UNKNOWN


@pytest.mark.parametrize(
    ("value", "phase"), [(0.5, RolloutPhase.DONE), (2.0, RolloutPhase.REVERTED)], ids=["kept", "missed"]
)
def test_a_campaign_goes_the_way_that_its_query_says(value: float, phase: RolloutPhase) -> None:
    rate = Gate(name="rate", prometheus=Metric(query="x", at_most=1.0))
    played = Played(rate, fates={"rate": GateFate(figures={NEW.version: {"rate": value}})})
    assert played.play(12 * HOUR) is phase


def test_a_campaign_with_a_query_that_nobody_answers_waits() -> None:
    played = Played(Gate(name="rate", prometheus=Metric(query="x", at_most=1.0)))
    assert played.play(12 * HOUR) is RolloutPhase.GATING
    assert {each.verdict for each in played.record.gates} == {GateVerdict.PASSED, GateVerdict.UNKNOWN}
