"""What is scored, fixed before it is played: seeds that nobody has looked at, and how long each cluster was at work.

    tuning      seeds 0 to 19: rules are changed by what they show
    scoring     each seed is played once, and then has been looked at:
                100 to 119   an eviction at seven GPU-hours                   gpu-hours-2026-11-18T0633.json
                120 to 139   the same at ten                                  gpu-hours-ten-2026-11-18T0730.json
                140 to 159   at ten, and nearly everybody closed at once      gpu-hours-2026-11-18T1035.json
                160 to 179   at seven, and a queue with backfill              gpu-hours-2026-11-18T1417.json
                160 to 259   the same on 32 nodes, for the deadline alone     in the same; 160 to 179 in World, too

The trace says "first fit with backfill". Until seed 159 whoever fitted started, and nothing was kept for the oldest:
that is Kueue's default, and in it gangs starve. After a day hardly anybody with 64 GPUs runs, a hundred small jobs do,
on nodes that are never empty. Backfill is what batch schedulers do, and by it large jobs have their turn.
"Evict" then costs 920 GPU-hours, and 820 without; who published the trace found 941. `best-effort` is the trace as it
was read before: played and shown, not judged. There a fifth and a quarter in two days were not to be had, not even with
every end known (share of "evict", seeds 0 to 5, saves told; by a variant of the guesses that was not kept):

    everybody closed at once, an eviction at ten GPU-hours      0.27 0.25    every end known: 0.27 0.20
    the same at four                                                                          0.22 0.24
    closed where it is cheap, an eviction at six                                              0.21 0.27

With backfill, seeds 0 to 19, two days: 0.184 and 0.264 at five GPU-hours an eviction, 0.190 and 0.250 at six, 0.195 and
0.242 at seven. To close nodes later, or to guess ends more or less steeply, moves along the same curve.

Silent jobs are played and shown, and not judged: at 85 % load nobody who does not know when they save can stay below
0.204 of the GPU-hours in two days, every end known (seeds 0 to 9).

Who was at work for too short a time has only young jobs, and a cluster below full load is not yet full: a day is enough
for the published trace, whose queue is never empty; the others are given a week, `training` with jobs of up to two
weeks two. Law of this file: it is committed before the run, and what was missed stays written down.
Tests: tests/bench/test_gpu_hours.py
"""

from __future__ import annotations

from typing import Final

from seatrial.sim.forecast.busy.traces import Saves

WARM_HOURS: Final = {
    "published": 24.0,
    "best-effort": 24.0,
    "busy": 168.0,
    "training": 336.0,
    "inference": 168.0,
    "mixed": 168.0,
}
"""At work before the upgrade begins."""
IDLE_MAX: Final = 102
"""GPUs that may stand idle because of us: a tenth."""
DEADLINES: Final = (24, 48)
"""In hours."""
FRONTIER: Final = (6, 12, 24, 48, 120)
"""The same where the whole frontier is drawn."""
FIRST_SEED: Final = 160
SEED_COUNT: Final = 20

PLAYED: Final = (
    *(("published", saves) for saves in Saves),
    *(("busy", saves) for saves in Saves),
    ("training", Saves.TOLD),
    ("inference", Saves.TOLD),
    ("mixed", Saves.TOLD),
    ("best-effort", Saves.TOLD),
)
"""Every trace that is scored, with what is known of its saves."""

SHARES: Final = {24: (1 / 3, 1 / 3), 48: (1 / 5, 1 / 4)}
"""GPU-hours and evictions at each deadline, at most, against "evict" on the same seeds, where it is judged."""
JUDGED: Final = tuple((name, saves) for name in ("published", "busy") for saves in (Saves.TOLD, Saves.ASKED))
LATE_MAX: Final = 0.01
"""The share of all runs that may be late."""
OVER_SECONDS: Final = 10.0
"""How long the ends of jobs may leave more idle than the budget."""


def deadlines(name: str, saves: Saves) -> tuple[int, ...]:
    """The deadlines that are played of a trace."""
    return FRONTIER if (name, saves) == ("published", Saves.TOLD) else DEADLINES
