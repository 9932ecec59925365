"""The Measurer of gates that a Prometheus answers: one question for each try, and what came of it, kept in memory.

    StartProbe ─▶ query, at this moment ─▶ Measurement ─▶ seen by the next pass

Whatever goes wrong is unknown, with the reason. A value that was scraped too long ago is none: the server is
told to look no further back than a scrape may be late.

Tests: tests/adapters/prometheus/test_measurer.py, tests/adapters/test_measurers.py
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from seatrial.adapters.answered import Answered
from seatrial.adapters.prometheus import answers, asking
from seatrial.adapters.prometheus.calling import QUERY, TARGETS, TIMEOUT_SECONDS, Caller, calling
from seatrial.adapters.prometheus.errors import PrometheusError, PrometheusRefused, PrometheusUnclear
from seatrial.adapters.prometheus.places import Place
from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.model.gates.figures import Figure, Unmeasured
from seatrial.core.model.gates.gate import GateVerdict, Measurement
from seatrial.ports import Clock, Outcome

LOOK_BACK_SECONDS_MAX: Final = 300.0
"""So far a Prometheus looks back by itself."""
LATE_INTERVALS: Final = 1.5
"""A sample that is older than so many intervals has a scrape missing behind it."""
NOBODY: Final = "this controller was started without --prometheus, so nobody can be asked"


@dataclass(slots=True, kw_only=True)
class PrometheusMeasurer:
    """Asks the controller's Prometheus for gates."""

    place: Place | None
    """Where it is; None where the controller was told of none."""
    clock: Clock
    uid_of: Callable[[str], str]
    """Which rollout bears a name; empty where none does."""
    interval_seconds: float | None = None
    """How often exporters are scraped, where it cannot say itself."""
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
            fields = [("query", query), ("lookback_delta", f"{await self._look_back(caller):.3f}")]
            samples = answers.samples(await caller.ask(QUERY, fields))
        return asking.figures_of(act.gate, act.node, samples, self.clock.now())

    async def _look_back(self, caller: Caller) -> float:
        """How old a sample may be. Where nobody knows how often it is scraped, nobody knows what is old."""
        longest = self.interval_seconds or 0.0
        if not longest:
            known, why = dict[str, float](), "it has no targets"
            try:
                known = answers.intervals(await caller.ask(TARGETS, [("state", "active")], method="GET"))
            except (PrometheusRefused, PrometheusUnclear) as err:  # what stands before several has no targets
                why = str(err)
            longest = max(known.values(), default=0.0)
            if not longest:
                raise PrometheusUnclear(
                    f"how often it is scraped is not known: {why}. Say so with --prometheus-scrape-seconds."
                )
        return min(longest * LATE_INTERVALS, LOOK_BACK_SECONDS_MAX)
