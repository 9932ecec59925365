"""Sequences: exact where it can be checked by hand, valid at every look, and not fooled by one outlier."""

from __future__ import annotations

import math
import random

import pytest

from seatrial.core.judging import sequences
from seatrial.core.judging.sequences import Change, change
from seatrial.core.judging.shares import student_below
from seatrial.core.model.gates.compared import NONE, Moments


def moments(*values: float) -> Moments:
    found = NONE
    for value in values:
        found = found.plus(value)
    return found


def seen(before: Moments, after: Moments) -> Change:
    found = change(before, after)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("t", "freedom", "share"),
    [(0.0, 3, 0.5), (-1.0, 1, 0.25), (2.0, 5, 0.949030), (2.228, 10, 0.975), (-40.0, 4, 1.2e-6)],
)
def test_students_shares_are_those_of_the_tables(t: float, freedom: int, share: float) -> None:
    assert student_below(t, freedom) == pytest.approx(share, rel=0.03 if share < 1e-3 else 1e-4)


def test_moments_do_not_depend_on_order() -> None:
    values = [0.1, -0.2, 0.35, 0.02, 0.5]
    together, turned = moments(*values), moments(*reversed(values))
    assert (turned.count, turned.mean, turned.squares) == pytest.approx(
        (together.count, together.mean, together.squares)
    )
    assert together.squares == pytest.approx(sum((each - together.mean) ** 2 for each in values))


def test_the_evidence_is_the_integral_that_it_claims_to_be() -> None:
    """For one scale and one t, against the definition: the mean likelihood of t over changes above zero.

    Given the spread, t² ~ noncentral; integrated numerically over the change and over the spread.
    """
    t, weight, freedom, scale = 3.0, 1.5, 3, 4.0
    total = none = 0.0
    for i in range(1, 2000):
        spread = i * 0.004  # the unknown spread, with the prior 1/spread; the seen one is 1
        of_spread = spread ** -(freedom + 1) * math.exp(-freedom / (2 * spread**2)) / spread
        d = t / math.sqrt(weight)  # the seen change
        none += of_spread * math.exp(-weight * d * d / (2 * spread**2))
        if i % 4:
            continue
        for j in range(400):
            size = (j + 0.5) * 0.05 * scale * spread / 4
            prior = 2 * math.exp(-((size / spread / scale) ** 2) / 2) / (scale * spread * math.sqrt(2 * math.pi))
            width = 0.05 * scale * spread / 4
            total += 4 * of_spread * prior * width * math.exp(-weight * (d - size) ** 2 / (2 * spread**2))
    assert sequences._log_of_scale(t, weight, freedom, scale) == pytest.approx(math.log(total / none), abs=0.02)


def test_evidence_grows_with_the_change_and_is_nothing_on_the_other_side() -> None:
    before, after = moments(0.0, 0.001, -0.001), (0.0, 0.001, -0.001, 0.0005)
    found = [
        sequences.log_evidence_above(seen(before, moments(*(each + size for each in after))), 0.01)
        for size in (-10.0, 0.0, 0.01, 0.02, 0.03, 0.05)
    ]
    assert found == sorted(found)
    assert found[2] < 0 < found[3]


def alarms(count: int, rounds: int, looks_every: int, *, tolerated: float = 0.0, needed: float = 10.0) -> int:
    """How many of so many null upgrades reach the needed evidence at one of the looks."""
    chance, found = random.Random(20_261_116), 0  # noqa: S311
    for _ in range(count):
        before = moments(*(chance.gauss(0, 1) for _ in range(3)))
        after = NONE
        for number in range(1, rounds + 1):
            after = after.plus(chance.gauss(0, 1))
            if number % looks_every == 0:
                evidence = sequences.log_evidence_above(seen(before, after), tolerated)
                if evidence >= math.log(needed):
                    found += 1
                    break
    return found


def test_looking_more_often_does_not_raise_false_alarms_above_the_rate() -> None:
    count = 600
    often, seldom = alarms(count, 60, 1), alarms(count, 60, 20)
    assert seldom <= often <= 0.10 * count


def test_a_test_for_one_look_would_raise_them() -> None:
    """The same upgrades under Student's test at every look: this is what the sequence is for."""
    chance, found, count = random.Random(20_261_116), 0, 600  # noqa: S311
    for _ in range(count):
        before, after = moments(*(chance.gauss(0, 1) for _ in range(3))), NONE
        for _ in range(60):
            after = after.plus(chance.gauss(0, 1))
            now = seen(before, after)
            if student_below(now.size / now.error, now.freedom) > 0.90:
                found += 1
                break
    assert found > 0.2 * count


def test_an_interval_is_infinite_until_something_is_known_and_narrows_with_every_round() -> None:
    before, after = moments(0.0, 0.001, -0.001), NONE
    widths = []
    for number in range(12):
        after = after.plus(0.001 * (-1) ** number)
        low, high = sequences.interval(seen(before, after), 0.01)
        widths.append(high - low)
    assert widths == sorted(widths, reverse=True)
    assert sequences.interval(seen(moments(0.0), moments(0.0, 0.1)), 1e-9) == (-math.inf, math.inf)


def test_an_outlier_in_the_baseline_does_not_become_a_loss_after_many_quiet_rounds() -> None:
    before = moments(0.0, 0.0, -0.10)  # one round was better by 10 %
    after = moments(*(0.001 * (-1) ** number for number in range(200)))
    assert sequences.log_evidence_above(seen(before, after), 0.01) < math.log(100)


def test_an_outlier_after_the_upgrade_is_no_loss_either() -> None:
    before = moments(0.0, 0.001, -0.001)
    after = moments(0.0, 0.001, -0.001, 0.5, 0.0)
    assert sequences.log_evidence_above(seen(before, after), 0.01) < math.log(10)


def test_equal_digits_are_no_certainty() -> None:
    found = seen(moments(0.0, 0.0, 0.0), moments(0.0001, 0.0001))
    assert found.spread == sequences.SPREAD_FLOOR
    assert sequences.log_evidence_above(found, 0.0) < math.log(10)


def test_the_rounds_still_needed_are_needed_and_enough() -> None:
    now = seen(moments(0.0, 0.004, -0.004), moments(0.001, -0.001))
    further = sequences.rounds_until(now, 0.02, 0.01)
    assert further is not None
    assert further > 1
    for count, is_enough in ((further, True), (further - 1, False)):
        later = Change(
            size=now.size,
            before_count=3,
            after_count=2 + count,
            spread=now.spread,
            before_spread=now.before_spread,
        )
        assert (sequences.interval(later, 0.01)[1] < 0.02) is is_enough
    assert sequences.rounds_until(now, now.size, 0.01) is None
