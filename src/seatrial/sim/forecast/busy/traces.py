"""Jobs as they come: seeded traces of several kinds, every parameter written down here.

    kind        what it is                                                        where its parameters are from
    published   the trace that the figures of the product are for: about 1,300    the product's own: 1 to 64 GPUs, long
                jobs a day, the queue about fourfold oversubscribed               tails, cut off at 5 days
    best-effort the same where nobody keeps a place for the oldest                the same
    busy        the same mix at 85 % load                                         the same
    training    many small jobs, few large ones that have most of the GPU time,   Helios, Philly, and the spread of
                for up to two weeks, 95 % load                                    Alibaba's (below)
    inference   services hold 81 % of the GPU time, small jobs beside, 90 % load  Alibaba's GPU trace of 2023
    mixed       services of one to eight GPUs hold 40 % of the fleet, the         our own, between the two above
                published mix the rest, 95 % load

    Helios      Hu et al., SC '21, table 2: 3.72 GPUs a job; median 206 s, mean 6,652 s. As the paper says it.
    Philly      Jeon et al., ATC '19, as Hu et al. give it in the same table: 1.75 GPUs a job, mean 28,329 s.
    Alibaba     Weng et al., ATC '23, cluster-trace-gpu-v2023, counted in openb_pod_list_default.csv: of 6,203 tasks
                with GPUs 98.8 % ask for one or a part of one, 0.7 % for eight; the latency-sensitive ones have 81 % of
                the GPU-hours. The logarithm of durations has a standard deviation of 1.8 (latency-sensitive) and 1.9
                (others); others that succeeded ran for a median of 61 min on one GPU, 374 min on eight.

The mean of `training` is Philly's, its sizes come to Helios' mean, its spread is between Alibaba's 1.9 and the 2.6 that
Helios' median and mean come to. No published trace says how often jobs save, or who saves when asked.

Law of this file: a trace is a function of its kind and a seed. Tests: tests/bench/test_gpu_hours.py
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

MINUTE: Final = 60.0
HOUR: Final = 3600.0
DAY: Final = 86400.0

SIZES: Final = (1, 2, 4, 8, 16, 32, 64)


class Saves(StrEnum):
    """What is known of the hourly saves of jobs."""

    SILENT = "silent"
    TOLD = "told"
    """Each says when it saved last."""
    ASKED = "asked"
    """Each saves when it is asked to, within a minute."""


class Order(StrEnum):
    """Who starts before whom (scheduling.py)."""

    BEST_EFFORT = "best-effort"
    """Whoever fits."""
    BACKFILL = "backfill"
    """Whoever fits and is not in the way of the oldest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What is drawn from."""

    name: str
    gap_seconds: float = 1.1 * MINUTE
    """Mean time between two arrivals."""
    weights: tuple[float, ...] = (30, 12, 12, 24, 12, 7, 3)
    small_median: float = 70 * MINUTE
    """Of the jobs below 8 GPUs."""
    large_median: float = 200 * MINUTE
    sigma: float = 1.5
    alike: float = 0.0
    """How much of the logarithm's variance lies between owners: 0 where an owner's jobs tell nothing of the next."""
    owners: int = 40
    """Who submit jobs, of each kind, small and large."""
    longest: float = 5 * DAY
    saves: Saves = Saves.ASKED
    order: Order = Order.BACKFILL
    service_gpus: int = 0
    """Held by replicas of services when the upgrade begins, for as long as it takes."""
    service_weights: tuple[float, ...] = (50, 20, 20, 10)
    """How many replicas have 1, 2, 4 and 8 GPUs."""

    def mean_seconds(self, size: int) -> float:
        """The mean duration of jobs of a size, the longest cut off as they are."""
        median = self.small_median if size < 8 else self.large_median
        cut = (math.log(self.longest / median)) / self.sigma
        body = median * math.exp(self.sigma**2 / 2) * _phi(cut - self.sigma)
        return body + self.longest * (1 - _phi(cut))

    def demand_gpus(self) -> float:
        """How many GPUs would be busy on average, were there enough."""
        total = sum(self.weights)
        work = sum(
            weight / total * size * self.mean_seconds(size) for size, weight in zip(SIZES, self.weights, strict=True)
        )
        return work / self.gap_seconds + self.service_gpus


def _phi(x: float) -> float:
    return 0.5 * (1 + math.erf(x / math.sqrt(2)))


@dataclass(slots=True, kw_only=True)
class Work:
    """One job: what it asks for, and how much of it is done."""

    name: str
    gpus: int
    arrives: float
    seconds: float
    """What it still has to do when it starts (again)."""
    owner: str
    saves: Saves = Saves.SILENT
    is_service: bool = False
    pieces: tuple[int, ...] = ()
    """GPUs on each of its nodes, the most first; empty where the size of the nodes says it."""
    limit_seconds: float | None = None
    """How long it may run, as it says itself."""
    is_telling: bool = True
    """Whether it says when it saved, where it saves for others to see."""


def loaded(kind: Kind, gpus: int, share: float, name: str) -> Kind:
    """The same kind at a share of the fleet."""
    wanted = gpus * share - kind.service_gpus
    return replace(kind, name=name, gap_seconds=kind.gap_seconds * (kind.demand_gpus() - kind.service_gpus) / wanted)


def scaled(kind: Kind, share: float) -> Kind:
    """The same kind for a fleet of so many times the GPUs."""
    return replace(kind, gap_seconds=kind.gap_seconds / share, service_gpus=round(kind.service_gpus * share))


def arrivals(kind: Kind, seed: int, until: float) -> Iterator[Work]:
    """The jobs in the order of their arrival."""
    chance = _chance(f"{kind.name}/{seed}")
    at, number = 0.0, 0
    for size in _services(kind, chance):
        number += 1
        yield Work(
            name=f"s{number}", gpus=size, arrives=0.0, seconds=1e9, owner=f"service{number % 12}", is_service=True
        )
    while True:
        at += chance.expovariate(1 / kind.gap_seconds)
        if at > until:
            return
        number += 1
        size = chance.choices(SIZES, kind.weights)[0]
        owner = f"{'small' if size < 8 else 'large'}{chance.randrange(kind.owners)}"
        seconds = duration(kind, seed, owner, chance)
        yield Work(
            name=f"j{number}",
            gpus=size,
            arrives=at,
            seconds=max(seconds, 1.0),
            owner=owner,
            saves=kind.saves,
        )


def duration(kind: Kind, seed: int, owner: str, chance: random.Random) -> float:
    """How long one of an owner's jobs runs; over all owners it is the kind's own distribution."""
    median = kind.small_median if owner.startswith("small") else kind.large_median
    between = kind.sigma * math.sqrt(kind.alike)
    within = kind.sigma * math.sqrt(1 - kind.alike)
    its_own = _chance(f"{kind.name}/{seed}/{owner}").gauss(0.0, between) if between else 0.0
    return min(kind.longest, chance.lognormvariate(math.log(median) + its_own, within))


def past(kind: Kind, seed: int, owner: str, count: int = 30) -> tuple[float, ...]:
    """How long an owner's jobs ran that finished before the trace begins, the shortest first."""
    chance = _chance(f"{kind.name}/{seed}/{owner}/past")
    return tuple(sorted(duration(kind, seed, owner, chance) for _ in range(count)))


def _chance(text: str) -> random.Random:
    return random.Random(text)  # noqa: S311 - a trace is drawn, nothing is kept secret


def _services(kind: Kind, chance: random.Random) -> Iterator[int]:
    left = kind.service_gpus
    while left > 0:
        drawn = chance.choices((1, 2, 4, 8), kind.service_weights)[0]
        size = max(each for each in (1, 2, 4, 8) if each <= min(left, drawn))
        left -= size
        yield size


PUBLISHED: Final = Kind(name="published")
BUSY: Final = loaded(PUBLISHED, 1024, 0.85, "busy")
TRAINING: Final = loaded(
    Kind(
        name="training",
        weights=(60, 12, 10, 12, 4, 1.5, 0.5),
        small_median=50 * MINUTE,
        large_median=150 * MINUTE,
        sigma=2.0,
        longest=14 * DAY,
    ),
    1024,
    0.95,
    "training",
)
INFERENCE: Final = loaded(
    Kind(
        name="inference",
        weights=(98.8, 0.3, 0.2, 0.7, 0, 0, 0),
        small_median=61 * MINUTE,
        large_median=374 * MINUTE,
        sigma=1.9,
        service_gpus=746,
        service_weights=(98.6, 0.4, 0.4, 0.6),
    ),
    1024,
    0.9,
    "inference",
)
MIXED: Final = loaded(Kind(name="mixed", service_gpus=410), 1024, 0.95, "mixed")
BEST_EFFORT: Final = replace(PUBLISHED, name="best-effort", order=Order.BEST_EFFORT)
KINDS: Final = {kind.name: kind for kind in (PUBLISHED, BUSY, TRAINING, INFERENCE, MIXED, BEST_EFFORT)}
