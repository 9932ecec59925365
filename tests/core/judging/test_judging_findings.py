"""Findings: what a figure may say of an upgrade, and what it must not."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.judging.asked import Asked
from seatrial.core.judging.comparing import HELD_SLACK
from seatrial.core.judging.evidence import Evidence
from seatrial.core.judging.findings import Against, Finding, Why, finding
from seatrial.core.model.gates.compared import Lens
from seatrial.core.model.gates.gate import GateVerdict
from tests.core.judging.upgrades import an_upgrade

NEEDED = math.log(1000)
LIMITED: dict[str, Any] = {"under": {"sm_mhz": 1455.0}, "held_back": "power-limit"}


def found(evidence: Evidence, lens: Lens = Lens.PLAIN, asked: Asked | None = None) -> Finding:
    (comparison,) = evidence.comparisons
    (track,) = (each for each in comparison.of("c") if each.lens is lens)
    return finding(comparison, track, asked or Asked(), NEEDED)


def test_a_loss_of_three_percent_fails_with_its_size_and_interval() -> None:
    one = found(an_upgrade(losses={"c": 0.03}))
    assert (one.verdict, one.against, one.round_count) == (GateVerdict.FAILED, Against.CONTROLS, 6)
    low, high = one.interval(Asked())
    assert one.loss == pytest.approx(0.03, abs=0.002)
    assert one.loss is not None
    assert low is not None
    assert high is not None
    assert 0.01 < low < one.loss < high


def test_a_sound_upgrade_excludes_the_asked_loss() -> None:
    one = found(an_upgrade())
    assert (one.verdict, one.why) == (GateVerdict.PASSED, Why.NONE)
    excluded = one.excludes(Asked())
    assert excluded is not None
    assert Asked().wander < excluded < 0.03


def test_too_few_rounds_are_pending() -> None:
    assert found(an_upgrade(rounds=1, spread=0.01)).verdict is GateVerdict.PENDING
    assert found(an_upgrade(rounds=0)).why is Why.NO_ROUNDS


@pytest.mark.parametrize(("rounds", "why"), [(0, Why.NO_BASELINE), (1, Why.FEW_BASELINE), (2, Why.FEW_BASELINE)])
@pytest.mark.parametrize("loss", [0.0, 0.5])
def test_without_a_baseline_it_is_unknown_whatever_was_lost(rounds: int, why: Why, loss: float) -> None:
    one = found(an_upgrade(baseline=rounds, losses={"c": loss}))
    assert (one.verdict, one.why) == (GateVerdict.UNKNOWN, why)


def test_without_controls_the_past_has_to_do_and_it_is_said() -> None:
    one = found(an_upgrade(controls=(), losses={"c": 0.03}))
    assert (one.verdict, one.against) == (GateVerdict.FAILED, Against.BEFORE)


def test_what_all_nodes_lose_is_not_the_upgrades_where_there_are_controls() -> None:
    def bad_hour(number: int) -> float:
        return 0.05 if number > 3 else 0.0

    assert found(an_upgrade(common=bad_hour)).verdict is GateVerdict.PASSED
    assert found(an_upgrade(common=bad_hour, controls=())).verdict is GateVerdict.FAILED


def test_a_loss_that_is_tolerated_is_no_evidence_however_long_one_looks() -> None:
    one = found(an_upgrade(losses={"c": 0.009}, rounds=200, baseline=20))
    assert one.verdict is not GateVerdict.FAILED
    assert one.log_evidence(Asked()) < 0


def test_a_loss_beside_controls_that_wander_as_far_is_unknown() -> None:
    """Two of four nodes lost something: that is the room's, not the upgrade's. It does not pass either."""
    one = found(an_upgrade(losses={"c": 0.03, "k1": 0.03}, rounds=20))
    assert (one.verdict, one.why) == (GateVerdict.UNKNOWN, Why.CONTROLS_WANDER)


def test_a_figure_held_back_before_is_judged_per_clock() -> None:
    evidence = an_upgrade(losses={"c": 0.03}, **LIMITED)
    plain, per_clock = found(evidence), found(evidence, Lens.PER_CLOCK)
    assert (per_clock.verdict, per_clock.is_asked) == (GateVerdict.FAILED, True)
    assert (plain.verdict, plain.why, plain.is_asked) == (GateVerdict.UNKNOWN, Why.HELD_BACK, False)
    assert found(an_upgrade(losses={"c": 0.10}, **LIMITED)).verdict is GateVerdict.FAILED


def test_a_figure_held_back_of_which_no_clock_is_known_says_neither_loss_nor_none() -> None:
    held: dict[str, Any] = {"held_back": "power-limit"}
    for loss in (0.0, 0.03):
        one = found(an_upgrade(losses={"c": loss}, **held))
        assert (one.verdict, one.why, one.is_asked) == (GateVerdict.UNKNOWN, Why.HELD_BACK, True)
    assert one.slack == HELD_SLACK


def test_a_latency_is_held_to_more_and_not_waited_for() -> None:
    slow: dict[str, Any] = {"name": "launch", "unit": "µs"}
    small = found(an_upgrade(losses={"c": -0.05}, **slow))  # a gain of a rate is a loss of a latency
    large = found(an_upgrade(losses={"c": -0.5}, **slow))
    assert (small.is_asked, small.verdict) == (False, GateVerdict.PASSED)
    assert large.verdict is GateVerdict.FAILED


def test_less_is_excluded_where_nodes_are_thought_to_wander_more() -> None:
    one = found(an_upgrade())
    calm, wild = one.excludes(Asked()), one.excludes(replace(Asked(), wander=0.01))
    assert calm is not None
    assert wild == pytest.approx(calm + 0.005)
    assert found(an_upgrade(), asked=replace(Asked(), wander=0.029)).verdict is GateVerdict.PENDING
