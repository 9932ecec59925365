"""A real Prometheus that scrapes played exporters, each of a node of its own, and waiting for what it has seen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from seatrial.adapters.prometheus import dcgm
from seatrial.adapters.prometheus.places import Place
from seatrial.adapters.prometheus.queries import Query
from seatrial.adapters.prometheus.watcher import PrometheusWatcher
from seatrial.core.model.gates.signals import SIGNALS
from seatrial.core.model.gates.telemetry import Series, Telemetry
from seatrial_lab.testbed import errors
from seatrial_lab.testbed.monitoring.exporter import Exporter, Gpu
from seatrial_lab.testbed.monitoring.prometheus import Prometheus
from seatrial_lab.testbed.waiting import wait_for

PATIENCE_SECONDS: Final = 90.0
PAUSE_SECONDS: Final = 0.25
LOAD, ECC, XID = "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "DCGM_FI_DEV_XID_ERRORS"
ASKED: Final = tuple(each for each in dcgm.QUERIES if {LOAD, ECC, XID} & {*each.metrics})
"""Three signals are enough to show something."""


def an_exporter(node: str, *, gpu_count: int = 1) -> Exporter:
    gpus = [Gpu(uuid=f"GPU-{node}-{number}", values={LOAD: 90.0, ECC: 3.0, XID: 0.0}) for number in range(gpu_count)]
    return Exporter(hostname=node, gpus=gpus)


@dataclass(slots=True, kw_only=True)
class OurClock:
    """The machine's, or one that is off by so many seconds."""

    off_seconds: float = 0.0

    def now(self) -> float:
        return time.time() + self.off_seconds

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass(slots=True, kw_only=True)
class Scene:
    """One node of one test, from now on."""

    prometheus: Prometheus
    exporter: Exporter
    node: str
    queries: tuple[Query, ...] = ASKED
    clock: OurClock = field(default_factory=OurClock)
    node_label: str = ""
    matchers: str = ""
    interval_seconds: float | None = None
    since: float = field(default_factory=time.time)

    async def look(self) -> Telemetry:
        """What is told of this test's time."""
        watcher = PrometheusWatcher(
            place=Place.read(self.prometheus.url, matchers=self.matchers),
            clock=self.clock,
            queries=self.queries,
            node_label=self.node_label,
            interval_seconds=self.interval_seconds,
        )
        return await watcher.watch({self.node}, self.since, self.clock.now())

    async def look_until(self, is_so: Callable[[Telemetry], bool], what: str) -> Telemetry:
        """Look until something has been seen."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not is_so(told := await self.look()):
            if time.monotonic() > deadline:
                raise errors.WaitedTooLong(f"Waited {PATIENCE_SECONDS:g} s for {what}. Last seen: {told}")
            await asyncio.sleep(PAUSE_SECONDS)
        return told

    async def look_until_covered(self, seconds: float, name: str = "load") -> Telemetry:
        """Look until so much time has been watched, and nothing is missing."""
        return await self.look_until(
            lambda told: not told.unmeasured and told.covered_seconds(name, self.node) >= seconds,
            f"{seconds:g} s of {name}",
        )

    def wait_refused(self, count: int) -> None:
        """Return when it was scraped in vain so many times more."""
        from_now = self.exporter.refused_count
        wait_for(
            lambda: self.exporter.refused_count >= from_now + count,
            what=f"{count} scrapes in vain",
            timeout_seconds=PATIENCE_SECONDS,
        )

    def wait_told(self, count: int) -> None:
        """Return when it was scraped so many times more."""
        from_now = self.exporter.told_count
        wait_for(
            lambda: self.exporter.told_count >= from_now + count,
            what=f"{count} scrapes",
            timeout_seconds=PATIENCE_SECONDS,
        )


def one(told: Telemetry, name: str, *, gpu: str = "") -> Series:
    """The one series of a signal."""
    found = [each for each in told.series if each.name == name and gpu in ("", each.gpu)]
    assert len(found) == 1, found
    return found[0]


def a_query(metric: str, *, name: str = "load") -> Query:
    return Query(signal=SIGNALS[name], metrics=(metric,))


def reasons(told: Telemetry, name: str) -> set[str]:
    return {each.why for each in told.unmeasured if each.name == name}
