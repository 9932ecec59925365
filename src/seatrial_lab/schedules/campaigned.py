"""What schedules of campaigns have in common, whoever moves the nodes: people who pause and undo, and how it ends.

Law of this file: it says what people do, never when; each schedule draws that for itself.
Tests: tests/sim/test_faults.py
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from seatrial.core.decision.decide import Decision
from seatrial.core.model.campaign import ENDED, CampaignRecord
from seatrial_lab.schedules.schedules import Play


class CampaignPlay(Play):
    """A schedule of a campaign."""

    def _pause_for(self, seconds: float) -> Callable[[], None]:
        def begins() -> None:
            self._note(lambda: f"somebody pauses for {seconds:.0f} s")
            self._set_paused(is_paused=True)
            self._at(self.world.time + seconds, lambda: self._set_paused(is_paused=False))

        return begins

    def _set_paused(self, *, is_paused: bool) -> None:
        self._pause(is_paused=is_paused)

    def _abort(self) -> None:
        campaign = self.world.intent.campaign
        if campaign is not None:
            self._note(lambda: "somebody wants it undone")
            self.judge.change(replace(self.world.intent, campaign=replace(campaign, abort="not today")))

    def _ended(self, _decision: Decision, /) -> str:
        phase = (self.world.rollout.campaign or CampaignRecord()).phase
        return phase.value.lower() if phase in ENDED else "held"
