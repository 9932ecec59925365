"""Comparing: what cancels out, what counts once, and what is looked at per clock."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.judging.comparing import Round, added, slack_of
from seatrial.core.judging.matching import Peer, controls_for
from seatrial.core.judging.meanings import Better, meaning
from seatrial.core.model.gates.compared import Comparison, Lens, Track
from tests.core.judging.upgrades import a_figure, a_round, an_upgrade


def comparison(*rounds: Round, controls: tuple[str, ...] = ("k1", "k2")) -> Comparison:
    found = Comparison(canary="c", controls=controls)
    for each in rounds:
        found = added(found, each)
    return found


def twice(values: dict[str, float], **more: Any) -> tuple[Round, Round]:
    """Two rounds alike after a baseline: a leap is believed when it comes twice."""
    return a_round(2, values, **more), a_round(3, values, **more)


def only(found: Comparison, node: str = "c", lens: Lens = Lens.PLAIN) -> Track:
    (track,) = (each for each in found.of(node) if each.lens is lens)
    return track


BEFORE = {"c": 50.0, "k1": 48.0, "k2": 52.0}


def test_what_all_nodes_lose_in_a_round_cancels_out() -> None:
    after = {node: value * 0.9 for node, value in BEFORE.items()}
    track = only(comparison(a_round(1, BEFORE, is_baseline=True), *twice(after)))
    assert track.paired.moments.mean == pytest.approx(0.0, abs=1e-12)
    assert track.after.moments.mean == pytest.approx(-math.log(0.9))


def test_what_the_canary_loses_alone_stays() -> None:
    track = only(comparison(a_round(1, BEFORE, is_baseline=True), *twice({**BEFORE, "c": 48.5})))
    assert track.paired.moments.mean == pytest.approx(-math.log(0.97))


def test_a_control_is_held_against_the_others_only() -> None:
    """What the canary loses must not look like a wandering control."""
    found = comparison(a_round(1, BEFORE, is_baseline=True), *twice({**BEFORE, "c": 25.0}))
    assert only(found, "k1").paired.moments.mean == pytest.approx(0.0)


@pytest.mark.parametrize(("unit", "worse"), [("TFLOP/s", 40.0), ("GB/s", 40.0), ("µs", 60.0), ("ms", 60.0)])
def test_worse_is_less_of_a_rate_and_more_of_a_delay(unit: str, worse: float) -> None:
    first = a_round(1, BEFORE, is_baseline=True, name="any", unit=unit)
    found = comparison(first, *twice({**BEFORE, "c": worse}, name="any", unit=unit))
    assert only(found).paired.moments.mean > 0.1


def test_a_figure_of_which_nobody_said_what_is_better_is_not_judged() -> None:
    assert meaning("weights-norm", "") is None
    assert meaning("loss-last", "nats") is None
    assert meaning("steps-rate", "steps/s") is not None
    found = comparison(a_round(1, BEFORE, is_baseline=True, name="weights-norm", unit=""))
    assert found.tracks == ()


def test_the_name_goes_before_the_unit() -> None:
    named, by_unit = meaning("steps-rate", "steps/s"), meaning("other", "steps/s")
    assert named is not None
    assert by_unit is not None
    assert (named.better, named.slack, by_unit.slack) == (Better.HIGHER, 3, 1)


def test_a_round_counts_once() -> None:
    rounds = (a_round(1, BEFORE, is_baseline=True), a_round(2, BEFORE))
    once = comparison(*rounds)
    assert added(once, rounds[1]) == once
    assert added(once, rounds[0]) == once


def test_one_further_round_costs_the_same_after_ten_as_after_a_thousand() -> None:
    """Counted in what is kept, which is all that the next round reads."""
    first = comparison(a_round(1, BEFORE, is_baseline=True), *(a_round(number, BEFORE) for number in range(2, 12)))
    more = first
    for number in range(12, 1000):
        more = added(more, a_round(number, BEFORE))
    assert _numbers(more) == _numbers(first)
    assert only(more).paired.moments.count == only(first).paired.moments.count + 988


def _numbers(found: object) -> int:
    """How many plain values something consists of."""
    if found is None or isinstance(found, str | int | float):
        return 1
    fields = found if isinstance(found, tuple) else [getattr(found, name) for name in found.__slots__]  # type: ignore[attr-defined]
    return sum(_numbers(each) for each in fields)


def test_a_round_with_a_gpu_less_is_not_comparable() -> None:
    both = tuple(a_figure(node, 50.0, gpu=gpu) for node in ("c", "k1") for gpu in ("g0", "g1"))
    slow_is_gone = tuple(a_figure(node, 60.0, gpu="g0") for node in ("c", "k1"))
    found = comparison(
        Round(number=1, is_baseline=True, figures=both),
        Round(number=2, is_baseline=False, figures=slow_is_gone),
        controls=("k1",),
    )
    assert only(found).after.moments.count == 0


@pytest.mark.parametrize("value", [math.nan, math.inf, 0.0, -1.0])
def test_what_is_no_rate_is_no_measurement(value: float) -> None:
    found = comparison(a_round(1, BEFORE, is_baseline=True), a_round(2, {**BEFORE, "c": value}))
    assert only(found).after.moments.count == 0


def test_a_hiccup_of_one_round_is_left_out_and_counted() -> None:
    rounds = [a_round(number, {**BEFORE, "c": 45.0 if number == 5 else 50.0}) for number in range(2, 12)]
    paired = only(comparison(a_round(1, BEFORE, is_baseline=True), *rounds)).paired
    assert (paired.moments.count, paired.moments.mean, paired.left_out) == pytest.approx((9, 0.0, 1))


def test_what_fails_every_other_time_is_no_row_of_hiccups() -> None:
    rounds = [a_round(number, {**BEFORE, "c": 45.0 if number % 2 else 50.0}) for number in range(2, 42)]
    paired = only(comparison(a_round(1, BEFORE, is_baseline=True), *rounds)).paired
    assert paired.left_out <= 4
    assert paired.moments.mean > 0.04


def test_a_control_that_was_not_measured_before_is_none() -> None:
    found = comparison(
        a_round(1, {"c": 50.0, "k1": 48.0}, is_baseline=True), a_round(2, {"c": 50.0, "k1": 48.0, "k2": 1.0})
    )
    assert only(found).paired.moments.mean == pytest.approx(0.0)


def test_a_figure_held_back_before_is_also_looked_at_per_clock() -> None:
    """The loss saves power, and the clocks rise by what it costs: the rate stays, the rate per clock does not."""
    before: dict[str, Any] = {"under": {"sm_mhz": 1455.0}, "held_back": "power-limit"}
    after = {**before, "under": {"sm_mhz": 1500.0}}
    others = (a_figure("k1", 48.0, **before), a_figure("k2", 52.0, **before))
    figures = (a_figure("c", 50.0, **after), *others)
    found = comparison(
        a_round(1, BEFORE, is_baseline=True, **before),
        *(Round(number=number, is_baseline=False, figures=figures) for number in (2, 3)),
    )
    assert only(found).paired.moments.mean == pytest.approx(0.0)
    assert only(found, lens=Lens.PER_CLOCK).paired.moments.mean == pytest.approx(math.log(1500 / 1455))
    assert slack_of(only(found)) > slack_of(only(found, lens=Lens.PER_CLOCK))


def test_a_figure_held_back_only_since_the_upgrade_is_judged_as_it_is() -> None:
    found = comparison(
        a_round(1, BEFORE, is_baseline=True, under={"sm_mhz": 1980.0}, held_back=""),
        a_round(2, {**BEFORE, "c": 40.0}, under={"sm_mhz": 1400.0}, held_back="power-limit"),
    )
    assert {track.lens for track in found.tracks} == {Lens.PLAIN}
    assert slack_of(only(found)) == 1


def test_what_has_no_baseline_is_told_and_never_compared() -> None:
    found = comparison(a_round(1, {"k1": 1.0, "k2": 1.0}, is_baseline=True), a_round(2, BEFORE))
    assert (only(found).before.count, only(found).after.moments.count) == (0, 0)


def test_controls_are_of_the_same_product_pool_and_load() -> None:
    canary = Peer(node="c", product="H200", pool="a", load="training")
    peers = [
        replace(canary, node="like"),
        replace(canary, node="other-product", product="H100"),
        replace(canary, node="other-pool", pool="b"),
        replace(canary, node="idle", load=""),
        canary,
    ]
    assert controls_for(canary, peers) == ("like",)
    many = [replace(canary, node=f"n{number}") for number in range(9)]
    assert controls_for(canary, many, 2) == ("n0", "n1")


def test_an_upgrade_of_the_builders_has_what_it_says() -> None:
    (found,) = an_upgrade(rounds=4).comparisons
    assert (only(found).before.count, only(found).paired.moments.count) == (3, 4)
