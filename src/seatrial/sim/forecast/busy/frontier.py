"""The frontier: for each deadline what an upgrade by attrition costs its users, over many futures, and which to take.

Beside it stands what evicting now costs, and what nobody can stay below: the reloads alone, and with every end known
beforehand the restart of who outlasts the deadline. A restart is counted as core counts it when it weighs waiting
against evicting (costs.EVICTION_GPU_SECONDS). Law of this file: futures in, figures out; every way is played on the
same futures. Tests: tests/sim/test_frontier.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from statistics import fmean
from typing import Final, Protocol

from seatrial.core.base.values import dataclass, replace
from seatrial.core.budget.attrition import costs
from seatrial.core.model.policy import Attrition
from seatrial.core.text.names import number_of
from seatrial.sim.forecast.busy.others import Batches
from seatrial.sim.forecast.busy.ours import ByAttrition
from seatrial.sim.forecast.busy.playing import Outcome, Warm, bound_of, through
from seatrial.sim.forecast.busy.traces import DAY, HOUR

DEADLINES: Final = tuple(hours * HOUR for hours in (6, 12, 24, 48, 120))
"""What is compared where nobody names any, in seconds."""
WORTH: Final = 0.05
"""A further day is worth it where it spares so much of what can be spared at all."""
SPARE: Final = 2 * DAY
"""So long after a deadline a future is broken off."""


class Workload(Protocol):
    """Where futures come from."""

    def begin(self, seed: int, until: float) -> Warm:
        """The cluster at the beginning of one future, and who comes; `until` counts from then."""
        ...

    def past(self, seed: int, owner: str) -> tuple[float, ...]:
        """How long finished jobs of an owner ran, the shortest first."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """By which limits nodes are taken."""

    way: Attrition
    idle_max: int
    """GPUs that may stand idle because of us."""
    at_once_max: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A figure over all futures: its mean, and what a tenth of them stay below and above."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One way, over all futures."""

    deadline_seconds: float | None
    """None evicts now."""
    gpu_hours: Spread
    evictions: Spread
    idle: float
    thrown: float
    reload: float
    moves: float
    seconds: float
    """How long it takes, the mean."""
    late: int
    """Futures in which it was not over in time."""
    least_gpu_hours: float
    """What nobody can stay below by this deadline, with every end known."""
    least_evictions: float

    @property
    def weighed(self) -> float:
        """GPU-hours with what a restart is to people."""
        return self.gpu_hours.mean + self.evictions.mean * costs.EVICTION_GPU_SECONDS / HOUR


@dataclass(frozen=True, slots=True, kw_only=True)
class Frontier:
    """Evicting now, each deadline, and which to take."""

    evict: Point
    points: tuple[Point, ...]
    floor_gpu_hours: float
    """The reloads alone."""
    recommended_seconds: float | None
    """None where no deadline is kept."""
    why: str


def frontier(
    workload: Workload,
    terms: Terms,
    deadlines: Sequence[float],
    seeds: Sequence[int],
    progress: Callable[[int, int], None],
) -> Frontier:
    """Play every way on every future."""
    total, done = len(seeds) * (len(deadlines) + 1), 0
    ways: tuple[float | None, ...] = (None, *sorted(deadlines))
    outcomes: dict[float | None, list[Outcome]] = {way: [] for way in ways}
    for seed in seeds:
        for way in ways:
            outcomes[way].append(_played(workload, terms, way, seed))
            done += 1
            progress(done, total)
    evict, *points = (_point(workload, way, outcomes[way], seeds) for way in ways)
    floor = _floor(workload, seeds[0])
    chosen, why = recommended(evict, points, floor)
    return Frontier(evict=evict, points=tuple(points), floor_gpu_hours=floor, recommended_seconds=chosen, why=why)


def _played(workload: Workload, terms: Terms, deadline: float | None, seed: int) -> Outcome:
    until = (deadline or 0.0) + SPARE
    begun = workload.begin(seed, until)
    cluster = begun[0]
    if deadline is None:
        share = terms.idle_max / max(1, sum(cluster.sizes))
        way: Batches | ByAttrition = Batches(0.0, share=share, places_max=terms.at_once_max)
    else:
        attrition = replace(terms.way, deadline_seconds=deadline)
        way = ByAttrition(attrition, terms.idle_max, partial(workload.past, seed), terms.at_once_max)
    return through(begun, way, cluster.now + until, idle_max=terms.idle_max)


def _point(workload: Workload, deadline: float | None, outcomes: Sequence[Outcome], seeds: Sequence[int]) -> Point:
    losses = [each.losses for each in outcomes]
    bounds = [bound_of(workload.begin(seed, 0.0)[0], (deadline or 0.0) / HOUR) for seed in seeds]
    late = [not each.is_over or (deadline is not None and each.hours * HOUR > deadline) for each in outcomes]
    return Point(
        deadline_seconds=deadline,
        gpu_hours=spread(each.gpu_hours for each in losses),
        evictions=spread(each.evictions for each in losses),
        idle=fmean(each.idle for each in losses) / HOUR,
        thrown=fmean(each.thrown for each in losses) / HOUR,
        reload=fmean(each.reload for each in losses) / HOUR,
        moves=fmean(each.moves for each in losses),
        seconds=fmean(each.hours for each in outcomes) * HOUR,
        late=sum(late),
        least_gpu_hours=fmean(each.gpu_hours for each in bounds),
        least_evictions=fmean(each.evictions for each in bounds),
    )


def _floor(workload: Workload, seed: int) -> float:
    cluster = workload.begin(seed, 0.0)[0]
    return cluster.reload_seconds * sum(cluster.sizes[node] for node in cluster.old()) / HOUR


def spread(figures: Iterable[float]) -> Spread:
    """The mean, and the figures that a tenth of the futures stay below and above."""
    found = sorted(figures)
    last = len(found) - 1
    return Spread(mean=fmean(found), low=found[round(0.1 * last)], high=found[round(0.9 * last)])


# ── which to take ────────────────────────────────────────────────────────────────────────────────────────────────────


def recommended(evict: Point, points: Sequence[Point], floor: float) -> tuple[float | None, str]:
    """The shortest deadline beyond which no further day is worth it, with the reason in one sentence."""
    kept = [point for point in points if not point.late]
    if not kept:
        return None, (
            "none of these deadlines is kept in every future. A gang with more GPUs than may stand idle waits for its "
            "own end: allow more, or more time."
        )
    if evict.weighed <= min(point.weighed for point in kept):
        return None, "evicting now costs no more than waiting does: by attrition nothing is gained here."
    worth = WORTH * max(0.0, evict.weighed - floor)
    for number, point in enumerate(kept[:-1]):
        longer = kept[number + 1 :]
        if all((point.weighed - other.weighed) / _days(point, other) < worth for other in longer):
            return point.deadline_seconds, _why(point, longer, evict)
    return kept[-1].deadline_seconds, _why(kept[-1], (), evict)


def _why(point: Point, longer: Sequence[Point], evict: Point) -> str:
    spares = f"{_times(evict, point)} than evicting now"
    if not longer:
        return f"it costs {spares}, and it is the longest deadline that was compared; a longer one may spare more."
    hours, evictions = zip(*(_per_day(point, other) for other in longer), strict=True)
    most_hours, most_evictions = max(0, round(max(hours))), max(0, round(max(evictions)))
    return (
        f"it costs {spares}, and beyond it each further day spares at most {number_of(most_hours, 'GPU-hour')} and "
        f"{number_of(most_evictions, 'eviction')}."
    )


def _per_day(point: Point, other: Point) -> tuple[float, float]:
    days = _days(point, other)
    return (
        (point.gpu_hours.mean - other.gpu_hours.mean) / days,
        (point.evictions.mean - other.evictions.mean) / days,
    )


def _days(point: Point, other: Point) -> float:
    """How many days more there are until another deadline."""
    return ((other.deadline_seconds or 0.0) - (point.deadline_seconds or 0.0)) / DAY


def _times(evict: Point, point: Point) -> str:
    gpu_hours = number_of(round(evict.gpu_hours.mean - point.gpu_hours.mean), "GPU-hour")
    evictions = number_of(round(evict.evictions.mean - point.evictions.mean), "eviction")
    return f"{gpu_hours} and {evictions} less"
