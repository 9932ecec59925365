"""What the controller tells its log: one line per thing that happened, key=value, and a hold only when it is new."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TextIO

from seatrial.core import explain
from seatrial.core.actions import WriteRolloutRecord
from seatrial.core.holds import HoldCode
from seatrial.ports import Result
from seatrial.run.loop import Report

PASSING = frozenset({HoldCode.WRITE_IN_FLIGHT, HoldCode.LEDGER_PENDING, HoldCode.PASS_FULL})
"""Holds that end by themselves within a moment; in the log they would be noise."""


class Log:
    """Writes lines such as `2026-01-02T03:04:05Z act id=gpu-01/cordon-required/1`."""

    def __init__(self, out: TextIO = sys.stderr) -> None:
        self._out = out
        self._held: dict[str, HoldCode] = {}

    def say(self, message: str, **fields: object) -> None:
        """One line."""
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
        pairs = " ".join(f"{key}={_quoted(str(value))}" for key, value in fields.items())
        print(f"{at} {message} {pairs}".rstrip(), file=self._out, flush=True)

    def report(self, report: Report) -> None:
        """What one pass did and learned."""
        for breach in report.breaches:
            self.say("promise about to be broken, nothing executed", promise=breach.promise, why=str(breach))
        for outcome in report.outcomes:
            if outcome.result is not Result.DONE:
                self.say("act turned down", id=outcome.action.id, result=outcome.result, why=outcome.detail)
        if report.decision is None or report.breaches:
            return
        for action in report.decision.actions:
            if not isinstance(action, WriteRolloutRecord):
                self.say("act", id=action.id, kind=type(action).__name__)
        held = {held.subject: held for held in report.decision.holds if held.code not in PASSING}
        for subject, hold in held.items():
            if self._held.get(subject) is not hold.code:
                self.say("held", subject=subject, code=hold.code, why=explain.why(hold))
        self._held = {subject: hold.code for subject, hold in held.items()}


def _quoted(text: str) -> str:
    return f'"{text}"' if " " in text or not text else text
