"""What gates were answered with that leave nothing in a cluster, kept until a pass has judged it.

Law of this file: what is kept may be lost. A gate without a measurement is asked again, and a verdict that was written
down stays. Only the last round of the rollout at work is kept, so it does not grow.
Tests: tests/adapters/test_measurers.py, tests/adapters/prometheus/test_measurer.py
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.model.gates.gate import Measurement
from seatrial.ports import Outcome, Result


@dataclass(slots=True, kw_only=True)
class Answered:
    """The answers of one kind of gate."""

    uid_of: Callable[[str], str]
    """Which rollout bears a name; empty where none does. Another one of the same name begins anew."""
    _kept: dict[tuple[str, str, int, int], Measurement] = field(default_factory=dict)
    _uid: str = ""

    async def measure(self, act: StartProbe, answer: Callable[[StartProbe], Awaitable[Measurement]]) -> Outcome:
        """Have it answered, and keep the answer; what was answered is not asked again."""
        uid = self.uid_of(act.rollout)
        if not uid:
            return Outcome(action=act, result=Result.STALE, detail=f"GPURollout {act.rollout} is gone")
        key = (act.gate.name, act.node, act.round, act.attempt)
        if uid != self._uid or key not in self._kept:
            found = await answer(act)
            self._forget(uid, act)
            self._kept[key] = found
        return Outcome(action=act, result=Result.DONE)

    def measurements(self, uid: str) -> tuple[Measurement, ...]:
        """What was answered for a rollout, in a fixed order."""
        return tuple(self._kept[key] for key in sorted(self._kept)) if uid == self._uid else ()

    def _forget(self, uid: str, act: StartProbe) -> None:
        if uid != self._uid:
            self._uid, self._kept = uid, {}
        name, node = act.gate.name, act.node
        for key in [each for each in self._kept if each[:2] == (name, node) and each[2] != act.round]:
            del self._kept[key]
