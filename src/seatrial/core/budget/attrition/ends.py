"""How long a job may still run. Guessed from what can be seen, and never trusted.

A job with a limit of its own is over by then. Finished jobs of the same owner tell how many of those that ran as long
as this one ran longer; and what has run long runs on: of two jobs the older is expected to stay longer.

Tests: tests/core/budget/test_attrition.py
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from seatrial.core.budget.attrition.values import Job
from seatrial.core.model.instants import Instant

YOUNG_SECONDS: Final = 1800.0
"""A job that has just begun is taken to be so old: nobody asks for a GPU for a second."""
PRIOR_COUNT: Final = 4.0
"""So many finished jobs are worth as much as the age alone."""


def outlasts(job: Job, now: Instant, seconds: float) -> float:
    """How probable it is that a job runs longer than so many seconds from now."""
    return outlasts_each(job, now, (seconds,))[0]


def outlasts_each(job: Job, now: Instant, spans: Sequence[float]) -> list[float]:
    """The same for each of several spans; in none everybody is still there."""
    age = max(0.0, now - job.started_at)
    old = age + YOUNG_SECONDS
    chances = [old / (old + span) for span in spans]
    finished = job.finished
    if finished:
        count = len(finished)
        as_long = count - bisect_right(finished, age) + PRIOR_COUNT
        chances = [
            (count - bisect_right(finished, age + span) + PRIOR_COUNT * chance) / as_long
            for span, chance in zip(spans, chances, strict=True)
        ]
    if job.ends_by is not None:
        left = job.ends_by - now
        return [chance if span < left or not span else 0.0 for span, chance in zip(spans, chances, strict=True)]
    return chances
