"""The Measurer of gates that a webhook answers: a question for each try, and nothing but the status of the answer.

    {"rollout": …, "gate": …, "node": …, "round": …, "attempt": …}
    200, 204    it is as it should be
    409, 422    it is not
    else        nobody knows: 202 for "not yet", a redirect, a server that fails, no answer at all

Law of this file: a status and nothing else is a verdict; who may be asked is in webhook.py.

Tests: tests/adapters/http/test_gates.py, tests/adapters/test_measurers.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from seatrial.adapters.answered import Answered
from seatrial.adapters.http.webhook import Webhooks
from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.model.gates.gate import GateVerdict, Measurement
from seatrial.ports import Outcome

GOOD: Final = (200, 204)
BAD: Final = (409, 422)
NOT_YET: Final = 202


class WebhookMeasurer:
    """Asks webhooks."""

    def __init__(self, *, uid_of: Callable[[str], str], webhooks: Webhooks) -> None:
        self._answered = Answered(uid_of=uid_of)
        self._webhooks = webhooks

    async def measure(self, act: StartProbe, /) -> Outcome:
        return await self._answered.measure(act, self._answer)

    def measurements(self, uid: str) -> tuple[Measurement, ...]:
        """What was answered for a rollout."""
        return self._answered.measurements(uid)

    async def _answer(self, act: StartProbe) -> Measurement:
        verdict, detail = await self._asked(act)
        return Measurement(
            gate=act.gate.name, node=act.node, round=act.round, attempt=act.attempt, verdict=verdict, detail=detail
        )

    async def _asked(self, act: StartProbe) -> tuple[GateVerdict, str]:
        question = {"rollout": act.rollout, "gate": act.gate.name, "node": act.node}
        body = msgspec.json.encode(question | {"round": act.round, "attempt": act.attempt})
        status, said = await self._webhooks.post(act.gate.webhook, body)
        if status in GOOD:
            return GateVerdict.PASSED, f"the webhook says {status}"
        if status in BAD:
            return GateVerdict.FAILED, f"the webhook says {status}"
        if status == NOT_YET:
            return GateVerdict.UNKNOWN, f"the webhook says {status}: not yet"
        return GateVerdict.UNKNOWN, f"the webhook says {status}, which is neither yes nor no" if status else said
