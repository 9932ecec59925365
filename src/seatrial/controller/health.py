"""Whether the controller lives and whether it is of use: /healthz, /readyz and /metrics for those who ask from outside.

    /healthz   is it worth restarting?   no pass for SILENT_SECONDS although there was one: the loop is stuck
    /readyz    does it see the cluster?  every stream was listed once; who stands by is ready too
    /metrics   controller/metrics.py's page

Who has not passed yet waits for the lists or for the lease, and both may take as long as they take: restarting would
not help. The answer comes from the event loop that runs the passes, so a loop that does not turn gives none.

Tests: tests/controller/test_health.py
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from seatrial.adapters.http import server
from seatrial.adapters.http.server import Address, Answer
from seatrial.controller.metrics import CONTENT_TYPE, Metrics
from seatrial.core.base.values import dataclass
from seatrial.core.errors import SeatrialError
from seatrial.core.text import spans

SILENT_SECONDS: Final = 120.0
"""A loop with nothing to do passes every 30 s; after four times that something is wrong."""
OK: Final = 200
UNAVAILABLE: Final = 503


class PagesFailed(SeatrialError):  # noqa: N818
    """The pages cannot be served where they were asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeAnswer:
    """Yes or no, and a sentence about it."""

    is_well: bool
    text: str


class Health:
    """Is told what happened and says how it looks; `now` is a clock that only goes forward."""

    def __init__(self, *, now: Callable[[], float], silent_seconds_max: float = SILENT_SECONDS) -> None:
        self._now = now
        self._silent_seconds_max = silent_seconds_max
        self._is_synced = False
        self._passed_at: float | None = None

    def synced(self) -> None:
        """Every stream was listed once."""
        self._is_synced = True

    def passed(self) -> None:
        """A pass ended just now."""
        self._is_synced = True
        self._passed_at = self._now()

    def live(self) -> ProbeAnswer:
        """Whether the loop turns."""
        if self._passed_at is None:
            return ProbeAnswer(is_well=True, text="no pass yet: waiting for the cluster, or for the lease")
        silent_seconds = self._now() - self._passed_at
        return ProbeAnswer(
            is_well=silent_seconds <= self._silent_seconds_max,
            text=f"the last pass was {spans.span(silent_seconds)} ago (limit: {spans.span(self._silent_seconds_max)})",
        )

    def ready(self) -> ProbeAnswer:
        """Whether the cluster is seen."""
        if not self._is_synced:
            return ProbeAnswer(is_well=False, text="not everything to watch has been listed yet")
        text = "everything is watched; this process stands by" if self._passed_at is None else "passes are made"
        return ProbeAnswer(is_well=True, text=text)


@asynccontextmanager
async def serve(bind: str, health: Health, metrics: Metrics) -> AsyncIterator[Address]:
    """Serve the three pages on HOST:PORT while the context lasts; gives the address really taken."""
    async with AsyncExitStack() as stack:
        try:
            address = Address.parse(bind)
            taken = await stack.enter_async_context(server.serve(address, pages(health, metrics)))
        except (server.AddressInvalid, server.ListenFailed) as err:
            raise PagesFailed(
                f"{err} Health and metrics are served where --metrics-bind-address says: name another address there, "
                "or an empty one to serve neither."
            ) from err
        yield taken


def pages(health: Health, metrics: Metrics) -> Mapping[str, server.Page]:
    """What is served under which path."""
    return {
        "/healthz": lambda: _answer(health.live()),
        "/readyz": lambda: _answer(health.ready()),
        "/metrics": lambda: Answer(body=metrics.page(), content_type=CONTENT_TYPE),
    }


def _answer(verdict: ProbeAnswer) -> Answer:
    return Answer(body=f"{verdict.text}\n".encode(), status=OK if verdict.is_well else UNAVAILABLE)
