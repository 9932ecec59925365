"""Jobs as they come: seeded traces of several kinds, every parameter written down here.

`published` is the trace that the figures of the product are for: about 1,300 jobs a day, 1 to 64 GPUs each, durations
with a long tail, the queue about fourfold oversubscribed. `busy` is the same mix at 85 % load. The kinds `training` and
`mixed` move the weights, `inference` adds services that run for good and may be started anew elsewhere.

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
    service_gpus: int = 0
    """Held by replicas of services (1 GPU each, some of 2, 4 or 8) when the upgrade begins, for as long as it takes."""

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


def loaded(kind: Kind, gpus: int, share: float, name: str) -> Kind:
    """The same kind at a share of the fleet."""
    wanted = gpus * share - kind.service_gpus
    return replace(kind, name=name, gap_seconds=kind.gap_seconds * (kind.demand_gpus() - kind.service_gpus) / wanted)


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
        size = min(left, chance.choices((1, 2, 4, 8), (50, 20, 20, 10))[0])
        left -= size
        yield size


PUBLISHED: Final = Kind(name="published")
BUSY: Final = loaded(PUBLISHED, 1024, 0.85, "busy")
TRAINING: Final = loaded(Kind(name="training", weights=(10, 6, 10, 34, 20, 14, 6)), 1024, 0.95, "training")
INFERENCE: Final = loaded(Kind(name="inference", service_gpus=600), 1024, 0.9, "inference")
MIXED: Final = loaded(Kind(name="mixed", service_gpus=250), 1024, 0.95, "mixed")
KINDS: Final = {kind.name: kind for kind in (PUBLISHED, BUSY, TRAINING, INFERENCE, MIXED)}
