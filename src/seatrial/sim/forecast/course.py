"""Where a campaign stands in one future: which stage is open, when the next one opens, and where the time went.

Law of this file: it knows stages and time, and of nodes nothing but their stage; who is through, the engine says.
Tests: tests/sim/test_forecast_schedule.py
"""

from __future__ import annotations

from seatrial.core.budget.capacity import Why
from seatrial.core.holds import HoldCode
from seatrial.core.model import windows
from seatrial.core.model.instants import Instant
from seatrial.sim.forecast.model import Model
from seatrial.sim.forecast.schedule import Pace, Part


class Course:
    """The state of one campaign."""

    def __init__(self, model: Model, pace: Pace) -> None:
        if model.schedule is None:
            raise ValueError("a rollout without a campaign has no stages")
        self._schedule, self._pace = model.schedule, pace
        numbers = {name: number for number, stage in enumerate(model.schedule.stages) for name in stage.names}
        never = len(model.schedule.stages)
        self.stage_of = [numbers.get(member.name, never) for member in model.members]
        self.canaries = frozenset(
            who for who, member in enumerate(model.members) if member.name in model.schedule.canaries
        )
        self.closed = frozenset(who for who, member in enumerate(model.members) if member.name in model.schedule.closed)
        """Canaries that are not opened before their gates have passed."""
        self.frees_at: Instant | None = None
        """When they have; None before that is known."""
        self.stage = -1
        """The one that is open; one before the first, and as many as there are when all are through."""
        self.is_undone = False
        """A canary failed for good, so everything is taken back."""
        self.fleet_at: Instant = 0.0
        self.ended_at: Instant = 0.0
        self._entered_at: Instant = 0.0
        self._next_at: Instant | None = 0.0
        """When the next stage opens; None while the open one is not over."""
        self._spent: dict[Part, float] = dict.fromkeys(Part, 0.0)
        self._spent_until: Instant = 0.0
        self._alarms: set[Instant] = set()
        self._leave({Part.GATES: pace.before}, 0.0)

    @property
    def is_first(self) -> bool:
        """Whether the canary is at work."""
        return 0 <= self.stage < len(self._schedule.stages) and self._schedule.stages[self.stage].part is Part.CANARY

    @property
    def is_ended(self) -> bool:
        return self.stage >= len(self._schedule.stages)

    def is_open(self, now: Instant) -> bool:
        """Whether nodes may start."""
        return windows.is_open(self._schedule.openings, now, self._schedule.margin_seconds)

    def opens_at(self, now: Instant, *, is_over: bool) -> Instant | None:
        """When the next stage opens, where nobody of this one is at work; None where it is not over."""
        if self.is_ended or self._schedule.is_lacking or self.is_undone:
            return None
        if self._next_at is None and is_over and now >= self._least_until:
            stage = self._schedule.stages[self.stage]
            is_last = self.stage + 1 == len(self._schedule.stages)
            if stage.part is Part.CANARY:
                self.frees_at = now + self._pace.gates
                self._leave({Part.GATES: self._pace.gates, Part.BAKE: self._pace.bake}, now)
            else:
                pause = self._schedule.campaign.waves.pause_seconds
                self._leave({} if is_last else {Part.PAUSES: pause}, now)
        return self._next_at

    def open(self, now: Instant) -> None:
        """Open the next stage; after the last one it is over."""
        self.stage += 1
        self._entered_at, self._next_at = now, None
        if self.is_ended:
            self.ended_at = now
        elif not self.fleet_at and self._schedule.stages[self.stage].part is Part.WAVES:
            self.fleet_at = now

    def alarm_at(self, now: Instant, *, is_waiting: bool) -> Instant | None:
        """When something is due that no node brings about, if nobody was told yet."""
        due = [self._next_at, self.frees_at, None if self.is_ended or self.stage < 0 else self._least_until]
        if is_waiting and not self.is_open(now):
            due.append(windows.next_opening(self._schedule.openings, now))
        found = min((at for at in due if at is not None and at > now), default=None)
        if found is None or found in self._alarms:
            return None
        self._alarms.add(found)
        return found

    @property
    def _least_until(self) -> Instant:
        return self._entered_at + self._schedule.stages[self.stage].least_seconds

    # ── where the time went ──────────────────────────────────────────────────────────────────────────────────────────

    def spend(self, now: Instant, *, is_idle: bool) -> None:
        """The time since we were here last went by; idle is who waits while nobody is under way."""
        since, self._spent_until = self._spent_until, max(now, self._spent_until)
        if now <= since or self.is_ended or self._next_at is not None or self.stage < 0:
            return
        is_shut = is_idle and not self.is_open(since)
        self._spent[Part.WINDOWS if is_shut else self._schedule.stages[self.stage].part] += now - since

    def _leave(self, waits: dict[Part, float], now: Instant) -> None:
        """A stage is over; what is waited for before the next is told by its kind."""
        for part, seconds in waits.items():
            self._spent[part] += seconds
        self._next_at = now + sum(waits.values())
        self._spent_until = self._next_at

    def told(self) -> tuple[tuple[Part, float], ...]:
        """What the time was spent with, as far as any was."""
        return tuple((part, self._spent[part]) for part in Part if self._spent[part])

    def why_stopped(self) -> Why | None:
        """What keeps the campaign as a whole from going on."""
        if self._schedule.is_lacking:
            return Why(HoldCode.NO_CANARY)
        return Why(HoldCode.FAILED) if self.is_undone else None
