"""Many futures under many settings: maxUnavailable × maxParallelUpgrades, each with the same seeds.

A sample is one seed: what every node meets under it is drawn once and shared by all settings, so that two settings
differ by themselves and not by luck. Samples are spread over the cores of the machine; where no second process can be
had, one does it all.

Tests: tests/sim/test_forecast_sweep.py
"""

from __future__ import annotations

import math
import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Final, NamedTuple, TypeAlias

from seatrial.core.base.values import dataclass
from seatrial.core.budget.capacity import Why
from seatrial.core.model.intent import Intent
from seatrial.core.model.policy import Limits, Share
from seatrial.sim.forecast.durations import Behaviours
from seatrial.sim.forecast.engine import Run, forecast
from seatrial.sim.forecast.inventory import Inventory
from seatrial.sim.forecast.model import Model
from seatrial.sim.forecast.schedule import Part

WORK_MIN: Final = 50_000
"""Nodes times samples times settings below which a second process costs more than it saves."""
CURVE_POINTS: Final = 160
SURE: Final = 0.9
"""The share of the runs that have to come to their end before a setting is recommended: the one that is told."""


class Setting(NamedTuple):
    """One point of the sweep."""

    parallel_max: int
    unavailable_max: Share

    @property
    def limits(self) -> Limits:
        return Limits(parallel_max=self.parallel_max, unavailable_max=self.unavailable_max)

    def __str__(self) -> str:
        return f"{self.parallel_max or 'any number'} at a time with {self.unavailable_max} unavailable"


AT_ONCE: Final = Setting(0, Share(amount=100, is_percent=True))
"""Everybody at once: what a maintenance window is for."""


class Sample(NamedTuple):
    """What is kept of one run."""

    seconds: float
    """Infinite for a rollout that came to a stand with nodes left."""
    gpu_hours_lost: float
    least_share: float
    evicted: int
    stop: Why | None = None
    """What it came to a stand by."""
    failure: str = ""
    """Why most of those failed that did."""
    parts: tuple[tuple[Part, float], ...] = ()
    """What its time was spent with, where it is a campaign."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """All runs under one setting."""

    setting: Setting
    samples: tuple[Sample, ...]

    def seconds(self, share: float) -> float:
        """How long it takes, at most, in this share of the runs; infinite when fewer than that come to an end."""
        return quantile([sample.seconds for sample in self.samples], share)

    def parts(self, share: float) -> tuple[tuple[Part, float], ...]:
        """What the time was spent with in the run of that duration: the parts of a total, not totals of parts."""
        seconds = self.seconds(share)
        return next(sample.parts for sample in self.samples if sample.seconds == seconds)

    def gpu_hours_lost(self, share: float) -> float:
        return quantile([sample.gpu_hours_lost for sample in self.samples], share)

    @property
    def least_share(self) -> float:
        """The least capacity of all runs, as a share of the GPUs that took work at the start."""
        return min(sample.least_share for sample in self.samples)

    @property
    def evicted(self) -> float:
        return quantile([float(sample.evicted) for sample in self.samples], 0.5)

    @property
    def stop_chance(self) -> float:
        """How often it comes to a stand with nodes left, or with more of them failed than may."""
        return sum(sample.stop is not None for sample in self.samples) / len(self.samples)

    @property
    def is_ending(self) -> bool:
        """Whether it comes to its end in nine runs of ten: only then may anybody be told to take it."""
        return math.isfinite(self.seconds(SURE))

    def stops(self) -> list[tuple[Why, float]]:
        """What stops it, each with its share of the runs, the most frequent first."""
        found = Counter(sample.stop for sample in self.samples if sample.stop is not None)
        return [(why, count / len(self.samples)) for why, count in sorted(found.items(), key=lambda each: -each[1])]

    @property
    def failure(self) -> str:
        """Why most nodes fail; empty where none does."""
        found = Counter(sample.failure for sample in self.samples if sample.failure)
        return max(found, key=lambda reason: found[reason], default="")


def quantile(values: Iterable[float], share: float) -> float:
    """The value that this share of the values does not exceed: one of them, never something in between."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, math.ceil(share * len(ordered)) - 1))]


Progress: TypeAlias = Callable[[int, int], None]
"""Told how many samples are done, of how many."""


def sweep(
    inventory: Inventory,
    intent: Intent,
    behaviours: Behaviours,
    settings: Sequence[Setting],
    *,
    seeds: Sequence[int],
    progress: Progress = lambda _done, _of: None,
    processes: int | None = None,
) -> list[Result]:
    """Every setting under every seed."""
    rows: dict[int, list[Sample]] = {}
    for seed, samples in _all(inventory, intent, behaviours, tuple(settings), seeds, processes):
        rows[seed] = samples
        progress(len(rows), len(seeds))
    return [
        Result(setting=setting, samples=tuple(rows[seed][place] for seed in seeds))
        for place, setting in enumerate(settings)
    ]


def sample_of(run: Run) -> Sample:
    """What is kept of a run."""
    return Sample(
        seconds=run.makespan_seconds if run.is_finished else math.inf,
        gpu_hours_lost=run.gpu_hours_lost,
        # Where nobody takes work from the start, nothing is taken from anybody.
        least_share=run.gpus_least / run.gpus_at_start if run.gpus_at_start else 1.0,
        evicted=run.evicted,
        stop=run.stop,
        failure=run.failure,
        parts=run.parts,
    )


def _all(
    inventory: Inventory,
    intent: Intent,
    behaviours: Behaviours,
    settings: tuple[Setting, ...],
    seeds: Sequence[int],
    processes: int | None,
) -> Iterator[tuple[int, list[Sample]]]:
    count = processes if processes is not None else _process_count(len(inventory.nodes) * len(settings) * len(seeds))
    left = list(seeds)
    if count > 1:
        try:
            for found in _spread(inventory, intent, behaviours, settings, seeds, count):
                left.remove(found[0])
                yield found
        except (OSError, BrokenProcessPool):
            pass  # no second process is to be had here (a locked-down container): what is left is done below
    if left:
        model = Model(inventory, intent, behaviours)
        for seed in left:
            yield seed, _under_all(model, settings, seed)


def _process_count(work: int) -> int:
    if work < WORK_MIN:
        return 1
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return allowed or 1


def _under_all(model: Model, settings: Sequence[Setting], seed: int) -> list[Sample]:
    """One seed under every setting. A limit that kept nobody waiting gives the same run when it is raised."""
    walks, total = model.walks(seed), len(model.members)
    made: dict[tuple[int, int], _Made] = {}
    for parallel, unavailable in sorted({_counts(setting, total) for setting in settings}):
        known = _known(made, parallel, unavailable)
        if known is None:
            limits = Limits(parallel_max=parallel, unavailable_max=Share(amount=unavailable))
            run = forecast(model, seed, limits=limits, walks=walks, in_detail=False)
            known = _Made(sample_of(run), run.is_parallel_bound, run.is_unavailable_bound)
        made[parallel, unavailable] = known
    return [made[_counts(setting, total)].sample for setting in settings]


class _Made(NamedTuple):
    """A sample, and which limits alone kept somebody waiting in it."""

    sample: Sample
    is_parallel_bound: bool
    is_unavailable_bound: bool


def _counts(setting: Setting, total: int) -> tuple[int, int]:
    return setting.parallel_max or total, setting.unavailable_max.of(total)


def _known(made: Mapping[tuple[int, int], _Made], parallel: int, unavailable: int) -> _Made | None:
    """A run that this setting would only repeat. Once one limit is raised, the other may be what binds."""
    for (other_parallel, other_unavailable), run in made.items():
        if other_parallel == parallel and other_unavailable <= unavailable and not run.is_unavailable_bound:
            return run._replace(is_parallel_bound=True)
        if other_unavailable == unavailable and other_parallel <= parallel and not run.is_parallel_bound:
            return run._replace(is_unavailable_bound=True)
    return None


# ── in other processes ───────────────────────────────────────────────────────────────────────────────────────────────

_worker: tuple[Model, tuple[Setting, ...]] | None = None
"""What a process of ours works on; set once when it starts, so that an inventory is not sent with every seed."""


def _spread(
    inventory: Inventory,
    intent: Intent,
    behaviours: Behaviours,
    settings: tuple[Setting, ...],
    seeds: Sequence[int],
    count: int,
) -> Iterator[tuple[int, list[Sample]]]:
    with ProcessPoolExecutor(
        count,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_prepare,
        initargs=(inventory, intent, behaviours, settings),
    ) as pool:
        try:
            yield from pool.map(_work, seeds)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _prepare(inventory: Inventory, intent: Intent, behaviours: Behaviours, settings: tuple[Setting, ...]) -> None:
    global _worker
    _worker = (Model(inventory, intent, behaviours), settings)


def _work(seed: int) -> tuple[int, list[Sample]]:
    if _worker is None:
        raise RuntimeError("a process was given work before it was prepared")
    model, settings = _worker
    return seed, _under_all(model, settings, seed)


# ── the capacity over time ───────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """GPUs that take work, over time: what nine runs of ten have at least, the middle, and one of ten at most."""

    seconds: tuple[float, ...]
    low: tuple[int, ...]
    middle: tuple[int, ...]
    high: tuple[int, ...]
    total: int


def band(model: Model, setting: Setting, seeds: Iterable[int], *, points: int = CURVE_POINTS) -> Band:
    """The capacity under one setting."""
    runs = [forecast(model, seed, limits=setting.limits) for seed in seeds]
    # A bake of two days would leave the waves a few points: it begins with the fleet, in every run.
    end = max((run.makespan_seconds - run.fleet_at for run in runs), default=0.0) or 1.0
    instants = tuple(end * place / (points - 1) for place in range(points))
    columns = list(zip(*(_sampled(run, instants) for run in runs), strict=True))
    return Band(
        seconds=instants,
        low=tuple(int(quantile(column, 0.1)) for column in columns),
        middle=tuple(int(quantile(column, 0.5)) for column in columns),
        high=tuple(int(quantile(column, 0.9)) for column in columns),
        total=runs[0].gpus_at_start if runs else 0,
    )


def _sampled(run: Run, instants: Sequence[float]) -> list[int]:
    """The curve of a run at these instants."""
    found, place = [], 0
    for instant in instants:
        while place + 1 < len(run.curve) and run.curve[place + 1][0] - run.fleet_at <= instant:
            place += 1
        found.append(run.curve[place][1] if run.curve else run.gpus_at_start)
    return found
