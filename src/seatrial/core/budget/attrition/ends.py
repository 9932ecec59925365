"""How long a job may still run. Guessed from what can be seen, and never trusted.

A job with a limit of its own is over by then. Finished jobs of the same owner tell how many of those that ran as long
as this one ran longer; and what has run long runs on: of two jobs the older is expected to stay longer.

Tests: tests/core/test_attrition.py
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from seatrial.core.budget.attrition.values import Job, Source
from seatrial.core.model.instants import Instant

YOUNG_SECONDS: Final = 1800.0
"""A job that has just begun is taken to be so old: nobody asks for a GPU for a second."""
PRIOR_COUNT: Final = 4.0
"""So many finished jobs are worth as much as the age alone."""


def outlasts(job: Job, now: Instant, seconds: float) -> float:
    """How probable it is that a job runs longer than so many seconds from now."""
    if job.ends_by is not None and now + seconds >= job.ends_by:
        return 0.0
    age = max(0.0, now - job.started_at)
    by_age = (age + YOUNG_SECONDS) / (age + YOUNG_SECONDS + seconds)
    if not job.finished:
        return by_age
    count = len(job.finished)
    as_long = count - bisect_right(job.finished, age)
    longer = count - bisect_right(job.finished, age + seconds)
    return (longer + PRIOR_COUNT * by_age) / (as_long + PRIOR_COUNT)


def source(job: Job) -> Source:
    """Who says it."""
    if job.ends_by is not None:
        return Source.LIMIT
    return Source.HISTORY if job.finished else Source.AGE
