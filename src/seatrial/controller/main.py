"""The controller: reads settings, introduces the adapters to the loop, and starts it. No rules here.

One process leads (a Lease); the others stand by. On losing the lease the process ends, and whoever restarts it begins as a
standby: nothing of what it believed survives.
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

from seatrial.adapters.journal.jsonl import JsonlJournal, NoJournal
from seatrial.adapters.kube.client import Client
from seatrial.adapters.kube.config import Config
from seatrial.adapters.kube.events import EventRecorder, EventType, Subject
from seatrial.adapters.kube.execute import KubeExecutor
from seatrial.adapters.kube.lease import Election, Timing
from seatrial.adapters.kube.models import Node
from seatrial.adapters.kube.observe import KubeObserver
from seatrial.controller.log import Log
from seatrial.core.actions import WriteNodeRecord
from seatrial.core.errors import SeatrialError
from seatrial.core.snapshot import NodePhase
from seatrial.ports import Ports
from seatrial.run.loop import Report, run_forever, run_once
from seatrial.run.memory import Memory

SYNC_SECONDS: Final = 60.0
EVENT_REASON: Final = "GPUDriverUpgrade"
"""The reason NVIDIA's controller uses, so that dashboards and habits keep working."""


class LeaseHeld(SeatrialError):  # noqa: N818
    """Another controller leads."""


class LeaseLost(SeatrialError):  # noqa: N818
    """We led, and do not any more."""


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


class SystemClock:
    """The machine's time."""

    def now(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def control(settings: Settings, log: Log) -> Report:
    """Run until told to stop, or for one pass."""
    identity = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    stopping = asyncio.Event()
    async with AsyncExitStack() as stack:
        journal = stack.enter_context(JsonlJournal(settings.journal)) if settings.journal else NoJournal()
        client = await stack.enter_async_context(Client(settings.config, user_agent=settings.user_agent))
        observer = await stack.enter_async_context(
            KubeObserver(
                client,
                namespace=settings.namespace,
                rollout=settings.rollout,
                on_fault=lambda text: log.say("fault", why=text),
            )
        )
        recorder = await stack.enter_async_context(
            EventRecorder(
                client, component="seatrial", instance=identity, on_failure=lambda why: log.say("event lost", why=why)
            )
        )
        await observer.wait_synced(SYNC_SECONDS)
        election = _election(settings, identity)
        stack.callback(election.release)
        await _lead(election, settings, log)
        executor = KubeExecutor(client, observer, is_leader=election.is_leader, on_phase=_teller(recorder))
        ports = Ports(observer=observer, executor=executor, journal=journal, clock=SystemClock())
        _on_signals(stopping.set, observer.poke)
        memory = Memory(time.time())
        if settings.once:
            report = run_once(ports, memory)
            log.report(report)
        else:
            report = await run_forever(
                ports, memory, on_report=log.report, is_over=lambda _: stopping.is_set() or not election.is_leader()
            )
        await executor.drain(20.0)
        await recorder.drain(10.0)
        if not settings.once and not stopping.is_set():
            raise LeaseLost("The lease was lost, so this controller stops; start it again to stand by.")
        return report


def _election(settings: Settings, identity: str) -> Election:
    seconds = settings.lease_seconds
    timing = Timing(
        lease_seconds=seconds,
        deadline_seconds=seconds * 2 / 3,
        renew_seconds=seconds / 3,
        retry_seconds=seconds / 8,
        request_seconds=seconds / 4,
    )
    return Election(
        settings.config,
        namespace=settings.lease_namespace,
        name="seatrial",  # one controller per cluster: two rollouts must not spend the same nodes twice
        identity=identity,
        user_agent=settings.user_agent,
        timing=timing,
    )


async def _lead(election: Election, settings: Settings, log: Log) -> None:
    election.start()
    last_said = ""
    deadline = time.monotonic() + settings.lease_seconds + 15
    while not await asyncio.to_thread(election.wait_until_leader, 1.0):
        standing = election.standing()
        if standing.last_error is not None:
            raise standing.last_error
        if standing.holder != last_said:
            last_said = standing.holder
            log.say("standing by", holder=standing.holder, seconds_left=round(standing.seconds_left))
        if settings.once and time.monotonic() > deadline:
            raise LeaseHeld(f"Another controller leads ({standing.holder}); stop it first, or leave the work to it.")
    log.say("leading", lease=f"{settings.lease_namespace}/seatrial")


def _teller(recorder: EventRecorder) -> Callable[[WriteNodeRecord, Node], None]:
    def tell(action: WriteNodeRecord, written: Node) -> None:
        phase = action.record.phase
        kind = EventType.WARNING if phase is NodePhase.UPGRADE_FAILED else EventType.NORMAL
        node = Subject(api_version="v1", kind="Node", name=action.node, uid=written.metadata.uid)
        recorder.record(
            node, reason=EVENT_REASON, message=f"Successfully updated node state label to {phase}", type=kind
        )

    return tell


def _on_signals(*calls: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, lambda: [call() for call in calls])
