"""The Measurer of gates that a webhook answers: a question for each try, and nothing but the status of the answer.

    {"rollout": …, "gate": …, "node": …, "round": …, "attempt": …}
    200, 204    it is as it should be
    409, 422    it is not
    else        nobody knows: 202 for "not yet", a redirect, a server that fails, no answer at all

Law of this file: the address is a rollout's, and whom we ask is the administrator's: only origins (scheme, host and
port) that the controller was started with, and no redirect away from them. What is answered beside the status is not
read, so nobody reads by us what they could not reach themselves.

Tests: tests/adapters/http/test_gates.py, tests/adapters/test_measurers.py
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

import msgspec
from yarl import URL

from seatrial.adapters.answered import Answered
from seatrial.adapters.http import webhook
from seatrial.adapters.http.webhook import SCHEMES
from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.errors import SeatrialError
from seatrial.core.model.gates.gate import GateVerdict, Measurement
from seatrial.ports import Outcome

GOOD: Final = (200, 204)
BAD: Final = (409, 422)
NOT_YET: Final = 202


class OriginInvalid(SeatrialError):  # noqa: N818  the message says what to do
    """What is allowed is no origin."""


def origin_of(url: str) -> tuple[str, str, int] | None:
    """Scheme, host and port of an address; None where it has none, or carries a login.

    Read by the parser that the request is made with: two that differ in one letter would let somebody else be asked.
    """
    try:
        read = URL(url)
        scheme, host, port = read.scheme, read.host, read.port
    except ValueError:
        return None
    if scheme not in SCHEMES or not host or port is None or read.user is not None or read.password is not None:
        return None
    return scheme, host.lower(), port


def allowed(urls: Collection[str]) -> frozenset[tuple[str, str, int]]:
    """The origins that may be asked, as the administrator wrote them."""
    found = set()
    for url in urls:
        origin = origin_of(url)
        if origin is None or URL(url) != URL(url).origin():
            raise OriginInvalid(f"{url!r} is not an origin that gates may ask. Write it as https://HOST:PORT.")
        found.add(origin)
    return frozenset(found)


class WebhookMeasurer:
    """Asks webhooks of these origins, and no others."""

    def __init__(self, *, uid_of: Callable[[str], str], origins: Collection[tuple[str, str, int]]) -> None:
        self._answered = Answered(uid_of=uid_of)
        self._origins = frozenset(origins)

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
        url = act.gate.webhook
        origin = origin_of(url)
        if origin not in self._origins:
            host = f"{origin[0]}://{origin[1]}:{origin[2]}" if origin is not None else "its address"
            why = f"{host} is none of those that this controller may ask; an administrator allows it (--gate-webhook)"
            return GateVerdict.UNKNOWN, why
        question = {"rollout": act.rollout, "gate": act.gate.name, "node": act.node}
        body = msgspec.json.encode(question | {"round": act.round, "attempt": act.attempt})
        status, said = await webhook.post(url, body, reads=False)
        if status in GOOD:
            return GateVerdict.PASSED, f"the webhook says {status}"
        if status in BAD:
            return GateVerdict.FAILED, f"the webhook says {status}"
        if status == NOT_YET:
            return GateVerdict.UNKNOWN, f"the webhook says {status}: not yet"
        return GateVerdict.UNKNOWN, f"the webhook says {status}, which is neither yes nor no" if status else said
