"""Together: one rate of false alarms, who spoke, and that unknown is never a pass."""

from __future__ import annotations

import math
from dataclasses import replace

from seatrial.core.judging import evidence as evidences
from seatrial.core.judging.asked import Asked
from seatrial.core.judging.evidence import Evidence
from seatrial.core.judging.together import judged
from seatrial.core.model.gates.compared import Comparison
from seatrial.core.model.gates.exposed import Rare
from seatrial.core.model.gates.gate import GateVerdict
from tests.core.judging.upgrades import a_figure, an_upgrade


def of_many(count: int, loss: float, rounds: int) -> Evidence:
    """One figure that loses, among some that do not."""
    lost = an_upgrade(losses={"c": loss}, rounds=rounds).comparisons[0]
    others = an_upgrade(rounds=rounds, seed=2).comparisons[0]
    tracks = [
        replace(track, figure=f"{track.figure}-{number}") for number in range(count - 1) for track in others.tracks
    ]
    return Evidence(comparisons=(replace(lost, tracks=(*lost.tracks, *tracks)),))


def test_the_verdict_names_who_spoke() -> None:
    (spoke,) = judged(of_many(5, 0.03, 6), Asked()).spoke
    assert (spoke.figure, spoke.node) == ("matrix-fp32", "c")


def test_who_is_one_of_many_needs_more_evidence() -> None:
    """The rate is divided: what fails alone does not among ten thousand."""
    asked = Asked()
    alone, many = judged(of_many(1, 0.03, 2), asked), judged(of_many(400, 0.03, 2), asked)
    assert alone.verdict is GateVerdict.FAILED
    assert many.verdict is not GateVerdict.FAILED
    assert alone.spoke[0].log_evidence(asked) == many.figures[0].log_evidence(asked) < math.log(400 / 0.01)


def test_events_have_half_of_the_rate_where_they_are_counted() -> None:
    figures = of_many(1, 0.03, 2)
    needed = math.exp(judged(figures, Asked()).figures[0].log_evidence(Asked()))
    asked = replace(Asked(), false_alarms=1.5 / needed)
    assert judged(figures, asked).verdict is GateVerdict.FAILED
    exposed = replace(figures.exposed, rare=(Rare(name="xid", watched_hours=1.0),))
    counted = replace(figures, exposed=exposed)
    assert judged(counted, asked).verdict is not GateVerdict.FAILED


def test_one_of_two_canaries_is_enough_to_fail_and_both_are_needed_to_pass() -> None:
    sound, lost = an_upgrade().comparisons[0], an_upgrade(losses={"c": 0.03}).comparisons[0]
    few = an_upgrade(rounds=0).comparisons[0]
    assert judged(Evidence(comparisons=(sound, sound)), Asked()).verdict is GateVerdict.PASSED
    assert judged(Evidence(comparisons=(sound, lost)), Asked()).verdict is GateVerdict.FAILED
    assert judged(Evidence(comparisons=(sound, few)), Asked()).verdict is GateVerdict.PENDING


def test_nothing_measured_is_unknown_and_never_a_pass() -> None:
    assert judged(Evidence(), Asked()).verdict is GateVerdict.UNKNOWN
    assert judged(evidences.begun({"c": ()}), Asked()).verdict is GateVerdict.UNKNOWN
    only_latency = an_upgrade(name="launch", unit="µs")
    assert judged(only_latency, Asked()).verdict is GateVerdict.UNKNOWN


def test_one_figure_without_a_baseline_keeps_the_others_from_passing() -> None:
    found = an_upgrade().comparisons[0]
    late = an_upgrade(baseline=0, name="hbm-copy", unit="GB/s").comparisons[0]
    both = replace(found, tracks=(*found.tracks, *late.tracks))
    assert judged(Evidence(comparisons=(both,)), Asked()).verdict is GateVerdict.UNKNOWN


def test_a_rise_of_uncorrected_errors_fails_a_canary_whose_figures_are_sound() -> None:
    found = an_upgrade(events=("ecc-uncorrected-volatile",))
    counted = found.exposed.rare[0].counted(events=3, hours=16.0, loaded_hours=16.0)
    bad = replace(found, exposed=replace(found.exposed, rare=(counted,)))
    assert judged(bad, Asked()).verdict is GateVerdict.FAILED
    assert judged(bad, Asked()).spoke == ()
    assert judged(found, Asked()).verdict is GateVerdict.PENDING, "nobody watched"


def test_a_canary_without_a_comparison_of_its_own_has_no_say() -> None:
    assert judged(Evidence(comparisons=(Comparison(canary="c"),)), Asked()).figures == ()
    assert a_figure("c").node == "c"
