"""Sequences of intervals for a change of a mean, which hold at every look at once.

    before   n₀ values, after   n values, of one unknown mean and spread each time, and a change between them
    t        the change beyond what is tolerated, in units of its own error
    e        how much better a change explains t than none does, averaged over sizes of change (SCALES, in spreads)

Law of this file: the evidence e is an e-process. Under "the change is at most so much" the chance that it ever reaches
1/α, at whatever look, is at most α, from the first value on: the spread is not taken for known, it is integrated out
(right Haar prior), and no limit theorem is used. That is exact for independent normal values. For those that are not,
an error has a floor, below which a figure's digits say nothing; what was measured before counts with its own spread
where that is larger, so that one outlier among few does not become a change once many quiet rounds have followed; and a
hiccup of one round is left out (Stream), or it would widen the interval for days. The first two only ever lower e.

Tests: tests/core/judging/test_judging_sequences.py
"""

from __future__ import annotations

import math
from typing import Final

from seatrial.core.base.values import dataclass, replace
from seatrial.core.judging.shares import student_below
from seatrial.core.model.gates.compared import Moments

SCALES: Final = (1.0, 4.0, 16.0, 64.0)
"""How large a change is thought to be, in spreads of one round: half-normal each, all four with the same weight."""
SPREAD_FLOOR: Final = 0.0005
"""The least spread of one round, relative: copies on an H200 vary by 0.03 %, and equal digits are no certainty."""
T_MAX: Final = 1e9
ROUNDS_MAX: Final = 10_000
"""How far ahead is looked: at a round an hour, a year."""
SHARE_MIN: Final = 1e-280
LOG_NOTHING: Final = -600.0
"""What stands for e where a change is so much to the other side that its share cannot be written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of the mean, and what its error is made of."""

    size: float
    before_count: int
    after_count: int
    spread: float
    """Of one round."""
    before_spread: float
    """Of one round before the change: its own, where that is larger."""

    @property
    def error(self) -> float:
        """The standard error of the size."""
        return math.sqrt(self.before_spread**2 / self.before_count + self.spread**2 / self.after_count)

    @property
    def weight(self) -> float:
        """How many rounds the error is worth."""
        return 1 / (1 / self.before_count + 1 / self.after_count)

    @property
    def freedom(self) -> int:
        """From how many distances the spread is known."""
        return self.before_count + self.after_count - 2


def change(before: Moments, after: Moments) -> Change | None:
    """How much the mean changed; none where there are too few values to know a spread at all."""
    freedom = before.count + after.count - 2
    if not before.count or not after.count or freedom < 1:
        return None
    pooled = max(math.sqrt((before.squares + after.squares) / freedom), SPREAD_FLOOR)
    own = math.sqrt(before.squares / (before.count - 1)) if before.count > 1 else 0.0
    return Change(
        size=after.mean - before.mean,
        before_count=before.count,
        after_count=after.count,
        spread=pooled,
        before_spread=max(pooled, own),
    )


def log_evidence_above(seen: Change, limit: float) -> float:
    """The logarithm of e against "the change is at most so much"."""
    return _log_evidence((seen.size - limit) / seen.error, seen.weight, seen.freedom)


def log_evidence_below(seen: Change, limit: float) -> float:
    """The logarithm of e against "the change is at least so much"."""
    return _log_evidence((limit - seen.size) / seen.error, seen.weight, seen.freedom)


def interval(seen: Change, error_rate: float) -> tuple[float, float]:
    """Between what the change is: each end errs at some look in at most this share of cases; infinite at first."""
    reach = _reach(seen, -math.log(error_rate))
    return seen.size - reach, seen.size + reach


def rounds_until(seen: Change, limit: float, error_rate: float) -> int | None:
    """How many further rounds exclude a change of so much, if they are like those so far; none where no number does."""
    wanted = -math.log(error_rate)

    def is_enough(further: int) -> bool:
        later = replace(seen, after_count=seen.after_count + further)
        return log_evidence_below(later, limit) >= wanted

    if is_enough(0):
        return 0
    if not is_enough(ROUNDS_MAX):
        return None
    low, high = 0, ROUNDS_MAX
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _reach(seen: Change, wanted: float) -> float:
    """How far from its size e becomes so large: it grows with the distance, so that is halved down to."""
    if _log_evidence(T_MAX, seen.weight, seen.freedom) < wanted:
        return math.inf
    low, high = 0.0, 4.0
    while _log_evidence(high, seen.weight, seen.freedom) < wanted:
        low, high = high, 2 * high
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        is_short = _log_evidence(middle, seen.weight, seen.freedom) < wanted
        low, high = (middle, high) if is_short else (low, middle)
    return high * seen.error


def _log_evidence(t: float, weight: float, freedom: int) -> float:
    parts = [_log_of_scale(t, weight, freedom, scale) for scale in SCALES]
    top = max(parts)
    return top + math.log(sum(math.exp(part - top) for part in parts) / len(parts))


def _log_of_scale(t: float, weight: float, freedom: int, scale: float) -> float:
    """Of changes above zero alone: the two-sided factor times twice the share that lies above it afterwards."""
    widened = 1 + weight * scale * scale
    square = t * t / freedom
    both = (freedom + 1) / 2 * (math.log1p(square) - math.log1p(square / widened)) - math.log(widened) / 2
    centre = t * math.sqrt((1 - 1 / widened) * (freedom + 1) / (freedom + t * t / widened))
    share = 2 * student_below(centre, freedom + 1)
    return both + math.log(share) if share > SHARE_MIN else LOG_NOTHING
