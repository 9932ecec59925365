"""Has somebody watch the canaries of the rollout at work, and who follows them, and keeps what was told since.

    record's watched_until ─▶ look at canaries and controls ─▶ summed up ─▶ seen by the next pass, which writes it down

Looks once a minute, at an hour at most. What it keeps is lost without harm: the next look begins where the record ends.
A monitoring system that cannot be asked tells nothing, and why; that is no fault of ours, and no evidence either.

Tests: tests/controller/test_watchman.py, tests/e2e/test_bake_watched.py
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from seatrial import supervision
from seatrial.adapters.kube.shapes import models, rollout_records
from seatrial.controller.keeper import Rollouts
from seatrial.core.campaign.proving import exposing
from seatrial.core.judging.stretches import LONGEST_SECONDS, stretch_of
from seatrial.core.model.gates.exposed import Exposed, TelemetryFacts
from seatrial.core.model.instants import Instant
from seatrial.ports import Watcher

LOOK_SECONDS: Final = 60.0


class Watchman:
    """Looks at one bake at a time: that of the rollout at work."""

    def __init__(
        self,
        watcher: Watcher,
        *,
        now: Callable[[], Instant],
        look_seconds: float = LOOK_SECONDS,
        tell: supervision.Tell,
    ) -> None:
        self._watcher = watcher
        self._now = now
        self._look_seconds = look_seconds
        self._tell = tell
        self._rollouts: Rollouts | None = None
        self._facts = TelemetryFacts()

    @asynccontextmanager
    async def watching(self, rollouts: Rollouts) -> AsyncIterator[None]:
        """Look after whatever rollout is at work there."""
        self._rollouts = rollouts
        task = asyncio.create_task(supervision.keep("telemetry", self._run, tell=self._tell), name="telemetry")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def facts(self) -> TelemetryFacts:
        """What was told since the record ends, at the last look."""
        return self._facts

    async def _run(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(self._look_seconds)

    async def look(self) -> None:
        """Look once; whoever decides is woken where there is something to add."""
        rollouts = self._rollouts
        exposed = watched(rollouts.current_rollout()) if rollouts is not None else None
        if rollouts is None or exposed is None:
            self._facts = TelemetryFacts()
            return
        until = min(self._now(), exposed.watched_until + LONGEST_SECONDS)
        told = await self._watcher.watch(exposed.nodes, exposed.watched_until, until)
        self._facts = TelemetryFacts(stretch=stretch_of(told, exposed.nodes))
        rollouts.poke()


def watched(rollout: models.Rollout | None) -> Exposed | None:
    """What telemetry has shown of a rollout that bakes, or waves; None where it does not, or cannot be read."""
    if rollout is None:
        return None
    try:
        record = rollout_records.read_rollout(rollout).campaign
    except ValueError:  # a pass says so
        return None
    return record.exposed if record is not None and record.phase in exposing.WATCHED else None
