"""What the controller tells its log: one line per thing that happened, key=value, and a hold only when it is new.

Tests: tests/controller/test_log.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final, TextIO

from seatrial.bugs import Bug
from seatrial.core.actions.on_rollouts import ReleaseRollout, WriteRolloutRecord
from seatrial.core.holds import Hold, HoldCode, Trait, having
from seatrial.core.text import foreign
from seatrial.core.words import explain
from seatrial.ports import Outcome, Result
from seatrial.run.loop import Report
from seatrial.supervision import Ending

PASSING: Final = having(Trait.MOMENT)
"""In the log they would be noise."""
NAMED_MAX: Final = 4
"""How many nodes that begin to wait for the same reason get a line each; ten thousand paused nodes get one."""


class Log:
    """Writes lines such as `2026-01-02T03:04:05.678Z act id=gpu-01/cordon-required/1 kind=Cordon`."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stderr
        self._held: frozenset[tuple[str, HoldCode]] = frozenset()
        self.fault_text = ""

    def say(self, message: str, **fields: object) -> None:
        """One line."""
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
        pairs = " ".join(f"{key}={_quoted(str(value))}" for key, value in fields.items())
        print(f"{at} {message} {pairs}".rstrip(), file=self._out, flush=True)

    def fault(self, text: str) -> None:
        """Something keeps us from looking at a rollout; said once, not on every look."""
        if text != self.fault_text:
            self.fault_text = text
            self.say("fault", why=text)

    def bug(self, bug: Bug) -> None:
        """A bug of ours that was contained, with its traceback where it is the first of its kind."""
        self.say("bug contained", guard=bug.guard, subject=bug.subject, why=bug.why)
        for line in bug.traceback.splitlines():
            print(f"    {foreign.line(line)}", file=self._out, flush=True)

    def ended(self, ending: Ending) -> None:
        """Something that works in the background ended, and begins anew."""
        self.say("background work ended", task=ending.task, why=ending.why, again_in_seconds=ending.pause_seconds)

    def report(self, report: Report) -> None:
        """What one pass did and learned."""
        for breach in report.breaches:
            self.say("promise about to be broken, nothing executed", promise=breach.promise, why=str(breach))
        self.outcomes(report.outcomes)
        if report.sight is not None:
            self.fault_text = ""
        if report.decision is None or report.breaches:
            return
        for action in report.decision.actions:
            if not isinstance(action, WriteRolloutRecord):
                self.say("act", id=action.id, kind=type(action).__name__)
            for left in action.left if isinstance(action, ReleaseRollout) else ():
                self.say("left behind", rollout=action.subject, what=left)
        self._holds(report.decision.waits)

    def outcomes(self, outcomes: Iterable[Outcome]) -> None:
        """What came back of our acts, unless it was a plain yes."""
        for outcome in outcomes:
            if outcome.result is not Result.DONE:
                self.say("act refused", id=outcome.action.id, result=outcome.result, why=outcome.detail)

    def _holds(self, holds: Iterable[Hold]) -> None:
        held = {(hold.subject, hold.code): hold for hold in holds if hold.code not in PASSING}
        news: dict[HoldCode, list[Hold]] = {}
        for key, hold in held.items():
            if key not in self._held:
                news.setdefault(hold.code, []).append(hold)
        for code, some in news.items():
            if len(some) > NAMED_MAX:
                self.say("held", count=len(some), first=some[0].subject, code=code, why=explain.why(some[0]))
                continue
            for hold in some:
                self.say("held", subject=hold.subject, code=code, why=explain.why(hold))
        self._held = frozenset(held)


def _quoted(text: str) -> str:
    """A value as it is, or as a JSON string where a reader could mistake where it ends."""
    is_plain = text.isprintable() and text and not any(char.isspace() or char in '"=' for char in text)
    # A line is one line, whatever it quotes: what a terminal or a reader could take for more is spelled out.
    return text if is_plain else json.dumps(text, ensure_ascii=not text.replace("\n", " ").isprintable())
