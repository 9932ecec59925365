"""A loss curve against the recorded one. The training itself ran on a real GPU; bench/results keeps what it gave."""

from __future__ import annotations

from seatrial.probes.payloads import reference, smoke_train
from seatrial.probes.payloads.report import Notes


def curve(off: float = 0.0) -> list[float]:
    return [loss + off for loss in reference.LOSSES for _ in range(smoke_train.WINDOW)]


def compared(losses: list[float], weights: float = reference.WEIGHTS_NORM) -> Notes:
    notes = Notes()
    smoke_train.compare(losses, weights, "GPU-1", notes)
    return notes


def test_the_recorded_curve_has_every_window_of_its_steps_and_falls() -> None:
    assert len(reference.LOSSES) == reference.STEPS // smoke_train.WINDOW
    assert list(reference.LOSSES) == sorted(reference.LOSSES, reverse=True)


def test_the_recorded_curve_agrees_with_itself() -> None:
    assert not compared(curve()).broken


def test_a_curve_a_little_beside_it_is_the_rounding_of_another_gpu() -> None:
    assert not compared(curve(0.05)).broken


def test_a_curve_beyond_the_tolerance_is_broken() -> None:
    assert [each.name for each in compared(curve(0.2)).broken] == ["loss-deviation"]


def test_weights_beyond_the_tolerance_are_broken() -> None:
    assert [each.name for each in compared(curve(), reference.WEIGHTS_NORM * 1.05).broken] == ["weights-deviation"]


def test_fewer_steps_are_compared_as_far_as_they_go() -> None:
    notes = compared(curve()[: 2 * smoke_train.WINDOW], 1.0)
    assert not notes.broken
    assert [each.name for each in notes.measured] == ["loss-deviation"]


def test_too_few_steps_compare_nothing() -> None:
    assert [each.name for each in compared(curve()[:10]).unknown] == ["loss-deviation"]
