"""Shares of Student's and of the gamma distribution, in logarithms where they become small.

Law of this file: mathematics, and nothing of GPUs. Both are continued fractions of bounded length, exact to about ten
digits where they are used. Tests: tests/core/judging/test_judging_sequences.py, tests/core/judging/test_judging_rare.py
"""

from __future__ import annotations

import math
from typing import Final

STEPS_MAX: Final = 400
CLOSE: Final = 1e-13
TINY: Final = 1e-300


def student_below(t: float, freedom: float) -> float:
    """The share of Student's distribution below t."""
    if math.isinf(t):
        return 1.0 if t > 0 else 0.0
    half = 0.5 * _beta_share(freedom / 2, 0.5, freedom / (freedom + t * t))
    return 1.0 - half if t > 0 else half


def log_gamma_below(shape: float, x: float) -> float:
    """The logarithm of the share of a gamma distribution of scale 1 below x."""
    if x <= 0:
        return -math.inf
    return _log_series(shape, x) if x < shape + 1 else _log_rest(_log_fraction(shape, x))


def log_gamma_above(shape: float, x: float) -> float:
    """The logarithm of the share of a gamma distribution of scale 1 above x."""
    if x <= 0:
        return 0.0
    return _log_rest(_log_series(shape, x)) if x < shape + 1 else _log_fraction(shape, x)


def _log_rest(log_share: float) -> float:
    return math.log(-math.expm1(min(log_share, -TINY)))


def _log_series(shape: float, x: float) -> float:
    total = part = 1.0 / shape
    for step in range(1, STEPS_MAX):
        part *= x / (shape + step)
        total += part
        if part < total * CLOSE:
            break
    return math.log(total) - x + shape * math.log(x) - math.lgamma(shape)


def _log_fraction(shape: float, x: float) -> float:
    low = x + 1 - shape
    upper, lower = 1 / TINY, 1 / low
    found = lower
    for step in range(1, STEPS_MAX):
        factor = -step * (step - shape)
        low += 2
        lower = 1 / _kept(factor * lower + low)
        upper = _kept(low + factor / upper)
        found *= lower * upper
        if abs(lower * upper - 1) < CLOSE:
            break
    return math.log(found) - x + shape * math.log(x) - math.lgamma(shape)


def _beta_share(a: float, b: float, x: float) -> float:
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x),
    )
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(a, b, x) / a
    return 1 - front * _beta_fraction(b, a, 1 - x) / b


def _beta_fraction(a: float, b: float, x: float) -> float:
    upper, lower = 1.0, 1 / _kept(1 - (a + b) * x / (a + 1))
    found = lower
    for step in range(1, STEPS_MAX):
        even = step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step))
        odd = -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1))
        for factor in (even, odd):
            lower = 1 / _kept(1 + factor * lower)
            upper = _kept(1 + factor / upper)
            found *= lower * upper
        if abs(lower * upper - 1) < CLOSE:
            break
    return found


def _kept(value: float) -> float:
    """Away from nothing, so that it may divide."""
    return value if abs(value) > TINY else TINY
