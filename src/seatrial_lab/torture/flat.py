"""Whether something stays flat while it is used: the least-squares line through its samples, and how far that climbs.

What is asked is the climb of the line over the time that was watched, once everything has been used once: a share of
the mean, or a little where the mean itself is little. A saw's teeth climb nothing, a leak does. Tests:
tests/torture/test_flat.py
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

WARM_SHARE: Final = 0.25
"""The share of the time that counts for nothing: caches fill, the first of everything is made."""
CLIMB_SHARE: Final = 0.1
SAMPLES_MIN: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What was measured of one quantity."""

    first: float
    last: float
    mean: float
    highest: float
    slope_per_hour: float
    climb: float
    """How much the line climbs over the time that counts."""
    climb_max: float
    sample_count: int

    @property
    def is_flat(self) -> bool:
        """Whether the line climbs no more than it may; of too few samples nothing is said."""
        return self.sample_count >= SAMPLES_MIN and self.climb <= self.climb_max


def line_through(samples: Sequence[tuple[float, float]], *, climb_least: float) -> Line:
    """The line through samples of (seconds, value); it may climb by `climb_least` whatever the mean is."""
    kept = _warm(samples)
    times, values = [at for at, _ in kept], [value for _, value in kept]
    mean, middle = sum(values) / len(values), sum(times) / len(times)
    spread = sum((at - middle) ** 2 for at in times)
    slope = sum((at - middle) * (value - mean) for at, value in kept) / spread if spread else 0.0
    return Line(
        first=values[0],
        last=values[-1],
        mean=mean,
        highest=max(values),
        slope_per_hour=slope * 3600,
        climb=slope * (times[-1] - times[0]),
        climb_max=max(climb_least, CLIMB_SHARE * mean),
        sample_count=len(kept),
    )


def _warm(samples: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    if not samples:
        raise ValueError("nothing was sampled")
    began, ended = samples[0][0], samples[-1][0]
    return [each for each in samples if each[0] >= began + WARM_SHARE * (ended - began)]
