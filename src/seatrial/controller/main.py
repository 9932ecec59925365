"""The controller: reads settings, introduces the adapters to the loop, and starts it. No rules here.

One process leads (a Lease); the others stand by. On losing the lease the process ends, and whoever restarts it begins
as a standby: nothing of what it believed survives. Tests: tests/controller/test_main.py, tests/e2e/
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
import uuid
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from seatrial import __version__
from seatrial.adapters.http import webhook
from seatrial.adapters.journal.jsonl import JsonlJournal, NoJournal
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.api.config import Config
from seatrial.adapters.kube.reading.access import Access
from seatrial.adapters.kube.reading.observe import KubeObserver
from seatrial.adapters.kube.writing.events import EventRecorder
from seatrial.adapters.kube.writing.execute import KubeExecutor
from seatrial.controller import health, leading
from seatrial.controller.health import Health
from seatrial.controller.homes import Standing
from seatrial.controller.keeper import GitSettings, Keeper
from seatrial.controller.leading import LEASE, LeaseHeld, LeaseLost
from seatrial.controller.log import Log
from seatrial.controller.metrics import Metrics
from seatrial.controller.notices import Notifier
from seatrial.controller.pacer import Pacer
from seatrial.controller.teller import Teller
from seatrial.ports import Ports
from seatrial.run.loop import Report, collect, run_forever, run_once
from seatrial.run.memory import Memory
from seatrial.run.recording import Recorder
from seatrial.supervision import Ending

__all__ = ["LEASE", "LeaseHeld", "LeaseLost", "Settings", "SystemClock", "control"]

SYNC_SECONDS: Final = 60.0
DRAIN_SECONDS: Final = 20.0
EVENTS_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the command line says."""

    config: Config
    user_agent: str
    namespace: str
    rollout: str
    lease_namespace: str
    lease_seconds: int
    journal: Path | None
    once: bool
    git: GitSettings
    pages: str
    """HOST:PORT where health and metrics are served; empty serves them nowhere. A single pass serves none."""


class SystemClock:
    """The machine's time, to the millisecond: that is what records keep, and what we wrote must equal what we read."""

    def now(self) -> float:
        return round(time.time(), 3)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class LastSight:
    """What the last pass looked at: a commit says why it is made, and that is written in the record."""

    def __init__(self) -> None:
        self._standing: Standing | None = None

    def take(self, report: Report) -> None:
        if report.sight is not None and report.sight.seen.rollout.campaign is not None:
            self._standing = Standing(intent=report.sight.intent, record=report.sight.seen.rollout.campaign)

    def standing(self) -> Standing | None:
        return self._standing


async def control(settings: Settings, log: Log) -> Report | None:
    """Run until told to stop, or for one pass; None when told to stop before we led."""
    identity = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    stopping, clock, life = asyncio.Event(), SystemClock(), Health(now=time.monotonic)
    election = leading.candidate(
        settings.config,
        namespace=settings.lease_namespace,
        seconds=settings.lease_seconds,
        identity=identity,
        user_agent=settings.user_agent,
        tell=lambda ending: tell(ending),
    )
    metrics = Metrics(version=__version__, now=clock.now, is_leader=election.is_leader)

    def tell(ending: Ending) -> None:
        """Whatever ends in the background is told; it begins anew by itself."""
        log.ended(ending)
        metrics.ended(ending)

    async with AsyncExitStack() as stack:
        if settings.pages and not settings.once:
            taken = await stack.enter_async_context(health.serve(settings.pages, life, metrics))
            log.say("serving health and metrics", address=taken)
        written = stack.enter_context(JsonlJournal(settings.journal)) if settings.journal else None
        client = await stack.enter_async_context(Client(settings.config, user_agent=settings.user_agent))
        rights = Access(client, home=settings.lease_namespace, namespace=settings.namespace)
        observer = await stack.enter_async_context(
            KubeObserver(
                client,
                namespace=settings.namespace,
                rollout=settings.rollout,
                on_fault=log.fault,
                home=settings.lease_namespace,
                source=lambda: keeper.facts(),
                rights=rights,
                on_back=lambda stream, version: went_back(stream, version),
            )
        )

        def went_back(stream: str, version: str) -> None:
            why = (
                "a list is older than what was seen before it, as after a restore of etcd; everything is taken from it"
            )
            log.say("the cluster went back in time", stream=stream, version=version, why=why)
            keeper.look_anew()

        last = LastSight()
        keeper = Keeper(
            client,
            settings.git,
            current=observer.current_rollout,
            standing=last.standing,
            on_change=observer.poke,
            now=clock.now,
            is_leader=election.is_leader,
            tell=tell,
        )
        recorder = await stack.enter_async_context(
            EventRecorder(
                client,
                component="seatrial",
                instance=identity,
                on_failure=lambda why: log.say("event lost", why=why),
                tell=tell,
            )
        )
        await observer.wait_synced(SYNC_SECONDS)
        await stack.enter_async_context(keeper)
        life.synced()
        _on_signals(stopping.set, observer.poke)
        stack.callback(election.release)
        patience_seconds = settings.lease_seconds + 15.0 if settings.once else None
        if not await leading.lead(election, log, patience_seconds=patience_seconds, is_stopping=stopping.is_set):
            return None
        log.say("leading", lease=f"{settings.lease_namespace}/{LEASE}")
        notifier = Notifier(webhook.post, log, tell=tell)
        teller = Teller(recorder, rollout=observer.current_rollout, notify=notifier.send)
        executor = KubeExecutor(
            client,
            observer,
            is_leader=election.is_leader,
            on_outcome=teller.tell,
            post=webhook.post,
            outer=keeper.do,
            farewell=teller.farewell,
            home=settings.lease_namespace,
        )
        # Whatever ends us: the acts under way are waited for before the lease is given up.
        stack.push_async_callback(executor.drain, DRAIN_SECONDS)
        pacer = await stack.enter_async_context(Pacer(client, observer, log, is_leader=election.is_leader, tell=tell))
        ports = Ports(observer=observer, executor=executor, journal=written or NoJournal(), clock=clock)
        memory = Memory(clock.now())
        passes = Recorder(written) if written else None

        def note(report: Report) -> None:
            for take in (last.take, pacer.take, teller.take, metrics.take, log.report):
                take(report)
            life.passed()

        if settings.once:
            report = run_once(ports, memory, passes)
            note(report)
        else:
            report = await run_forever(
                ports,
                memory,
                on_report=note,
                is_over=lambda _: stopping.is_set() or not election.is_leader(),
                recorder=passes,
            )
        await executor.drain(DRAIN_SECONDS)
        log.outcomes(collect(ports, clock.now()))  # no further pass does it
        await recorder.drain(EVENTS_SECONDS)
        await notifier.drain(EVENTS_SECONDS)
        if not settings.once and not stopping.is_set():
            raise LeaseLost("The lease was lost, so this controller stops; start it again to stand by.")
        return report


def _on_signals(*calls: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, lambda: [call() for call in calls])
