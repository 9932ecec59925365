"""Writes down every pass that decides something new, so that it can be replayed. Only for those who asked for it.

A pass is recorded when it has acts, or when its decision is not the one recorded last; what it looked at is told as the
difference from then, so nothing is lost with the passes in between. The first pass of a run and of a file is told
whole: a journal loses its oldest files, and a restarted controller does not know what the one before it saw.

Tests: tests/run/test_recording.py, tests/sim/test_replay.py
"""

from __future__ import annotations

from typing import Protocol

from seatrial import passes
from seatrial.core.decision.decide import Decision
from seatrial.core.model.instants import Instant
from seatrial.passes import Pass
from seatrial.ports import Journal, Sight


class Chronicle(Journal, Protocol):
    """A journal in files."""

    def turn(self, at: Instant) -> bool:
        """Go on in a new file where this one is full; whether it did."""
        ...


class Recorder:
    """Remembers what it wrote last."""

    def __init__(self, journal: Chronicle) -> None:
        self._journal = journal
        self._last: Pass | None = None
        self._decision: Decision | None = None

    def note(self, at: Instant, sight: Sight, decision: Decision) -> None:
        """Record a pass, before any of its acts is begun."""
        if self._journal.turn(at):
            self._last = None
        elif not decision.actions and decision == self._decision:
            return
        made = passes.pass_of(sight, decision, at)
        self._journal.append(at, passes.KIND, passes.fields_of(self._last, made))
        self._last, self._decision = made, decision
