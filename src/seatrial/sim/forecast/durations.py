"""How long things take and how often they fail, as data: distributions, their defaults, and how people write them.

    180           always 180 s                          120..300      anything between, all alike
    180±60        180 s give or take 60, all alike      180~0.3       lognormal: median 180 s, spread 0.3
    3m, 1.5h      minutes, hours; without a unit seconds

Law of this file: a distribution draws from the chance it is given and from nothing else, and always the same number of
times, so that a seed repeats a forecast. Tests: tests/sim/test_forecast_durations.py
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping
from typing import Final, TypeAlias

from seatrial.core.base.values import dataclass, field, replace
from seatrial.core.errors import SeatrialError
from seatrial.sim.world import DELAYS

Seconds: TypeAlias = float


class DurationInvalid(SeatrialError, ValueError):  # noqa: N818
    """A text that is no duration."""


@dataclass(frozen=True, slots=True)
class Constant:
    """Always the same."""

    seconds: Seconds

    def draw(self, _chance: random.Random) -> Seconds:
        return self.seconds

    def __str__(self) -> str:
        return f"{self.seconds:g} s"


@dataclass(frozen=True, slots=True)
class Uniform:
    """Anything between two ends, all alike."""

    least: Seconds
    most: Seconds

    def draw(self, chance: random.Random) -> Seconds:
        return self.least + chance.random() * (self.most - self.least)

    def __str__(self) -> str:
        return f"{self.least:g} to {self.most:g} s"


@dataclass(frozen=True, slots=True)
class LogNormal:
    """Mostly near the median, now and then much longer: how build and download times are spread."""

    median: Seconds
    spread: float
    """Of the logarithm: with 0.3 two thirds lie between 0.74 and 1.35 times the median."""

    def draw(self, chance: random.Random) -> Seconds:
        return self.median * math.exp(self.spread * chance.gauss(0.0, 1.0))

    def __str__(self) -> str:
        return f"about {self.median:g} s (lognormal, spread {self.spread:g})"


@dataclass(frozen=True, slots=True)
class Empirical:
    """One of those that were measured."""

    samples: tuple[Seconds, ...]

    def draw(self, chance: random.Random) -> Seconds:
        return self.samples[int(chance.random() * len(self.samples))]

    def __str__(self) -> str:
        ordered = sorted(self.samples)
        return f"{ordered[0]:g} to {ordered[-1]:g} s, median {ordered[len(ordered) // 2]:g} s"


Duration: TypeAlias = Constant | Uniform | LogNormal | Empirical

NOTHING: Final = Constant(0.0)

_NUMBER: Final = r"(\d+(?:\.\d+)?)(?:\s*(s|m|min|h))?"
_UNITS: Final = {"s": 1.0, "": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_ALONE: Final = re.compile(_NUMBER)
_SPREAD: Final = re.compile(rf"{_NUMBER}\s*(±|\+-|\+/-|\.\.|~)\s*{_NUMBER}")


def parse(text: str) -> Duration:
    """Read a duration as people write it; DurationInvalid says how."""
    stripped = text.strip()
    alone = _ALONE.fullmatch(stripped)
    if alone:
        return Constant(_seconds(alone[1], alone[2]))
    found = _SPREAD.fullmatch(stripped)
    if not found:
        raise DurationInvalid(
            f"{text!r} is not a duration. Write 180, 3m, 180±60, 120..300, or 180~0.3 (median and spread of a "
            "lognormal)."
        )
    number, unit, sign, other, other_unit = found.groups()
    if sign == "~":
        return LogNormal(_seconds(number, unit), float(other))
    # "2..4m" are minutes on both sides.
    first, second = _seconds(number, unit or other_unit), _seconds(other, other_unit or unit)
    least, most = (first, second) if sign == ".." else (first - second, first + second)
    if least < 0 or most < least:
        raise DurationInvalid(f"{text!r} goes from {least:g} s to {most:g} s. Write the smaller end first, 0 or more.")
    return Uniform(least, most)


def _seconds(number: str, unit: str | None) -> Seconds:
    return float(number) * _UNITS[unit or ""]


# ── what a cluster does ──────────────────────────────────────────────────────────────────────────────────────────────


def _defaults() -> dict[str, Duration]:
    return {
        what: Uniform(delay.seconds, delay.seconds + delay.jitter_seconds)
        if delay.jitter_seconds
        else Constant(delay.seconds)
        for what, delay in DELAYS.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviours:
    """How a cluster behaves: every reaction of the simulator with its duration, and what goes wrong."""

    durations: Mapping[str, Duration] = field(default_factory=_defaults)
    """By the reaction's name; those of the simulator where nothing better is known."""
    failure_rate: float = 0.0
    """The chance that the new driver does not load, for each attempt on each node."""
    budget_rate: float = 0.0
    """The chance that a PodDisruptionBudget keeps the pods of a node for a while."""
    budget_wait: Duration = Uniform(0.0, 120.0)
    """How long it does."""
    gates: Duration | None = None
    """How long a round of gates takes on the canary; None takes what is assumed for each of its gates."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Where a duration or rate comes from, where it is not the simulator's default."""

    def with_durations(self, source: str, durations: Mapping[str, Duration]) -> Behaviours:
        """The same with other durations, and who says so."""
        return replace(
            self,
            durations={**self.durations, **durations},
            sources={**self.sources, **dict.fromkeys(durations, source)},
        )

    def source_of(self, what: str) -> str:
        """Where one of them comes from."""
        return self.sources.get(what, VENDORS_EXAMPLE if what == "driver gets ready" else ASSUMED)


ASSUMED: Final = "assumed, as in the simulator"
VENDORS_EXAMPLE: Final = "assumed: 3 to 4 minutes, as the vendor's own example of one node shows"

FROM_RELOAD: Final = ("driver pod replaced", "driver gets ready")
FROM_VALIDATION: Final = ("validator restarts", "validator passes", "GPUs offered", "features discovered")


def lumped(names: tuple[str, ...], into: str, duration: Duration) -> dict[str, Duration]:
    """One duration for reactions that follow each other, where only their sum is known."""
    return {name: duration if name == into else NOTHING for name in names}
