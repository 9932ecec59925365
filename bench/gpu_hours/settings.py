"""What is scored, fixed before it is played: seeds that nobody has looked at, and how long each cluster was at work.

    tuning      seeds 0 to 19: rules are changed by what they show
    scoring     seeds 100 to 119 for the rules as they were, 120 to 139 for the rules after that; each is played once

Who was at work for too short a time has only young jobs, and a cluster below full load is not yet full: a day is enough
for the published trace, whose queue is never empty; the others are given a week, `training` with jobs of up to two
weeks two. Law of this file: it is committed before the run, and what was missed stays written down.
Tests: tests/bench/test_gpu_hours.py
"""

from __future__ import annotations

from typing import Final

from bench.gpu_hours.traces import Saves

WARM_HOURS: Final = {"published": 24.0, "busy": 168.0, "training": 336.0, "inference": 168.0, "mixed": 168.0}
"""At work before the upgrade begins."""
IDLE_MAX: Final = 102
"""GPUs that may stand idle because of us: a tenth."""
DEADLINES: Final = (24, 48)
"""In hours."""
FIRST_SEED: Final = 100
SEED_COUNT: Final = 20

PLAYED: Final = (
    *(("published", saves) for saves in Saves),
    *(("busy", saves) for saves in Saves),
    ("training", Saves.TOLD),
    ("inference", Saves.TOLD),
    ("mixed", Saves.TOLD),
)
"""Every trace that is scored, with what is known of its saves."""

SHARES: Final = {24: (1 / 3, 1 / 3), 48: (1 / 5, 1 / 4)}
"""GPU-hours and evictions at each deadline, at most, against "evict" on the same seeds; on `published` and `busy`."""
JUDGED: Final = ("published", "busy")
LATE_MAX: Final = 0.01
"""The share of all runs that may be late."""
