"""The Measurer of gates that a Prometheus answers: one question for each try, and what came of it, kept in memory.

    StartProbe ─▶ query, at this moment ─▶ Measurement ─▶ seen by the next pass

Whatever goes wrong is unknown, with the reason. So is what a Prometheus tells that has just
started: it carries on what it had before, also of an exporter that died meanwhile.

Tests: tests/adapters/prometheus/test_measurer.py, tests/adapters/test_measurers.py
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from seatrial.adapters.answered import Answered
from seatrial.adapters.prometheus import answers, asking
from seatrial.adapters.prometheus.calling import QUERY, RUNTIME, TIMEOUT_SECONDS, Caller, calling
from seatrial.adapters.prometheus.errors import PrometheusError, PrometheusRefused, PrometheusUnclear
from seatrial.adapters.prometheus.places import Place
from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.model.gates.figures import Figure, Unmeasured
from seatrial.core.model.gates.gate import GateVerdict, Measurement
from seatrial.ports import Clock, Outcome

SETTLED_SECONDS: Final = 300.0
"""So long a Prometheus carries a value on by itself. What an exporter tells no more it forgets at once, but not across
a start of its own."""
NOBODY: Final = "this controller was started without --prometheus, so there is nothing to ask"


@dataclass(slots=True, kw_only=True)
class PrometheusMeasurer:
    """Asks the controller's Prometheus for gates."""

    place: Place | None
    """Where it is; None where the controller was told of none."""
    clock: Clock
    uid_of: Callable[[str], str]
    """Which rollout bears a name; empty where none does."""
    settled_seconds: float = SETTLED_SECONDS
    """How long it has to have run before it is believed."""
    timeout_seconds: float = TIMEOUT_SECONDS
    _answered: Answered = field(init=False)

    def __post_init__(self) -> None:
        self._answered = Answered(uid_of=self.uid_of)

    async def measure(self, act: StartProbe, /) -> Outcome:
        return await self._answered.measure(act, self._answer)

    def measurements(self, uid: str) -> tuple[Measurement, ...]:
        """What was answered for a rollout."""
        return self._answered.measurements(uid)

    async def _answer(self, act: StartProbe) -> Measurement:
        verdict, detail = GateVerdict.PASSED, ""  # the limits are core's to hold it to
        told: tuple[Figure | Unmeasured, ...] = ()
        try:
            told = await self._ask(act)
        except PrometheusError as err:
            verdict, detail = GateVerdict.UNKNOWN, str(err)
        return Measurement(
            gate=act.gate.name,
            node=act.node,
            round=act.round,
            attempt=act.attempt,
            verdict=verdict,
            detail=detail,
            figures=tuple(each for each in told if isinstance(each, Figure)),
            unmeasured=tuple(each for each in told if isinstance(each, Unmeasured)),
        )

    async def _ask(self, act: StartProbe) -> tuple[Figure | Unmeasured, ...]:
        asked = act.gate.prometheus
        if self.place is None or asked is None:
            raise PrometheusRefused(NOBODY)
        query = asking.put_in(asked.query, act.node)
        async with calling(self.place, timeout_seconds=self.timeout_seconds) as caller:
            await self._refuse_young(caller)
            samples = answers.samples(await caller.ask(QUERY, [("query", query)]))
        return asking.figures_of(act.gate, act.node, samples, self.clock.now())

    async def _refuse_young(self, caller: Caller) -> None:
        """Nobody knows of a Prometheus that has just started whether what it tells is of now."""
        try:
            started_at = answers.started(await caller.ask(RUNTIME, [], method="GET"))
        except (PrometheusRefused, PrometheusUnclear):  # what stands before several does not start with them
            return
        age_seconds = answers.clock(await caller.ask(QUERY, [("query", "time()")])) - started_at
        if age_seconds < self.settled_seconds:
            raise PrometheusUnclear(
                f"it was started {max(age_seconds, 0.0):.0f} s ago, and tells for {self.settled_seconds:g} s "
                "what it had before of whoever is silent now"
            )
