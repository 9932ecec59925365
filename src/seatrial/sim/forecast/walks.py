"""The ways of one node through its attempts, drawn from a chance of its own: seed and name.

Law of this file: a node meets the same under every setting, so settings can be compared. Tests:
tests/sim/test_forecast.py
"""

from __future__ import annotations

import random
from typing import NamedTuple

from seatrial.sim.forecast.durations import Behaviours
from seatrial.sim.forecast.paths import BUDGET_FREES, IN_TIME, JOB_FINISHES, TIMER, Luck, Standing, Station


class Attempt(NamedTuple):
    """What happens from an admission on, until the node rests or asks again."""

    changes: tuple[tuple[float, Standing], ...]
    """Seconds after the admission, and how the node stands from then on."""
    evicted: int
    gpu_pods: int
    """How many pods hold a GPU at the end."""


class Walk:
    """The way of one node under one seed, as far as anybody has asked for it."""

    __slots__ = ("_behaviours", "_chance", "_clock", "_jobs", "_pending", "_seed", "_station", "_times", "attempts")

    def __init__(self, station: Station, behaviours: Behaviours, seed: str) -> None:
        self._station, self._behaviours, self._seed = station, behaviours, seed
        self._chance: random.Random | None = None
        self._clock = 0.0
        self._times = [0.0] * (station.depth + 1)
        self._pending: dict[str, float] = {}
        self._jobs: list[float] = []
        self.attempts: list[Attempt] = []

    def attempt(self, number: int) -> Attempt:
        """What the node does after its n-th admission."""
        while len(self.attempts) <= number:
            self.attempts.append(self._walk(self._luck()))
        return self.attempts[number]

    def rest(self) -> Attempt:
        """What a node does that was found failed, without an admission."""
        return self._go_on(self._station, 0.0)

    @property
    def reason(self) -> str:
        """Why its last attempt failed; empty where it did not."""
        record = self._station.node.record
        return record.reason if record is not None else ""

    def _luck(self) -> Luck:
        chance, behaviours = self._own_chance, self._behaviours
        fails, blocks = chance.random(), chance.random()
        return Luck(fails < behaviours.failure_rate, blocks < behaviours.budget_rate)

    def _walk(self, luck: Luck) -> Attempt:
        return self._go_on(self._station.after(luck), self._clock)

    def _go_on(self, station: Station, began_at: float) -> Attempt:
        times, pending, clock = self._times, self._pending, self._clock
        changes: list[tuple[float, Standing]] = []
        last: Standing | None = None
        evicted = 0
        while True:
            del times[station.depth :]
            times.append(clock)
            evicted += station.evicted
            for what in station.stops:
                del pending[what]
            for what, count in station.starts:
                pending[what] = clock + self._draw(what, count)
            if station.standing != last:
                last = station.standing
                changes.append((clock - began_at, last))
            event, due = self._next(station)
            if last.is_wishing or event is None:
                break
            clock = due
            pending.pop(event.removesuffix(IN_TIME), None)
            station = station.after(event)
        self._station, self._clock = station, clock
        return Attempt(tuple(changes), evicted, len(station.node.facts.gpu_pods))

    def _next(self, station: Station) -> tuple[str | None, float]:
        """What happens next, and when."""
        event, due = None, float("inf")
        for what, at in self._pending.items():
            if at < due:
                event, due = what, at
        if station.timer is not None:
            counted_from, offset = station.timer
            up_at = self._times[counted_from] + offset
            if up_at < due:
                return TIMER, up_at
            if up_at == due and event is not None:
                return event + IN_TIME, due
        return event, due

    def _draw(self, what: str, count: int) -> float:
        chance = self._own_chance
        if what == BUDGET_FREES:
            return self._behaviours.budget_wait.draw(chance)
        duration = self._behaviours.durations[what]
        if what != JOB_FINISHES:
            return duration.draw(chance)
        # Jobs run side by side, and the reaction ends them one after the other: so each has what is left of its own.
        if len(self._jobs) != count:
            ends = sorted(duration.draw(chance) for _ in range(count))
            self._jobs = [after - before for before, after in zip([0.0, *ends], ends, strict=False)]
        return self._jobs.pop(0)

    @property
    def _own_chance(self) -> random.Random:
        if self._chance is None:
            self._chance = random.Random(self._seed)  # noqa: S311  a simulation, not a secret
        return self._chance
