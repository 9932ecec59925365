"""The controller: reads settings, introduces the adapters to the loop, and starts it. No rules here.

One process leads (a Lease); the others stand by. On losing the lease the process ends, and whoever restarts it begins
as a standby: nothing of what it believed survives. Tests: tests/e2e/
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
from seatrial.adapters.kube import errors
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
from seatrial.run.loop import Report, collect, run_forever, run_once
from seatrial.run.memory import Memory

LEASE: Final = "seatrial"
"""One controller per cluster: two rollouts must not spend the same nodes twice."""
SYNC_SECONDS: Final = 60.0
DRAIN_SECONDS: Final = 20.0
EVENTS_SECONDS: Final = 10.0
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
    """The machine's time, to the millisecond: that is what records keep, and what we wrote must equal what we read."""

    def now(self) -> float:
        return round(time.time(), 3)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def control(settings: Settings, log: Log) -> Report | None:
    """Run until told to stop, or for one pass; None when told to stop before we led."""
    identity = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    stopping = asyncio.Event()
    async with AsyncExitStack() as stack:
        journal = stack.enter_context(JsonlJournal(settings.journal)) if settings.journal else NoJournal()
        client = await stack.enter_async_context(Client(settings.config, user_agent=settings.user_agent))
        observer = await stack.enter_async_context(
            KubeObserver(client, namespace=settings.namespace, rollout=settings.rollout, on_fault=log.fault)
        )
        recorder = await stack.enter_async_context(
            EventRecorder(
                client, component="seatrial", instance=identity, on_failure=lambda why: log.say("event lost", why=why)
            )
        )
        await observer.wait_synced(SYNC_SECONDS)
        _on_signals(stopping.set, observer.poke)
        election = _election(settings, identity)
        stack.callback(election.release)
        if not await _lead(election, settings, log, is_stopping=stopping.is_set):
            return None
        executor = KubeExecutor(client, observer, is_leader=election.is_leader, on_phase=_teller(recorder))
        # Whatever ends us: the acts under way are waited for before the lease is given up.
        stack.push_async_callback(executor.drain, DRAIN_SECONDS)
        ports = Ports(observer=observer, executor=executor, journal=journal, clock=SystemClock())
        memory = Memory(ports.clock.now())
        if settings.once:
            report = run_once(ports, memory)
            log.report(report)
        else:
            report = await run_forever(
                ports, memory, on_report=log.report, is_over=lambda _: stopping.is_set() or not election.is_leader()
            )
        await executor.drain(DRAIN_SECONDS)
        log.outcomes(collect(ports, ports.clock.now()))  # no further pass does it
        await recorder.drain(EVENTS_SECONDS)
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
        name=LEASE,
        identity=identity,
        user_agent=settings.user_agent,
        timing=timing,
    )


async def _lead(election: Election, settings: Settings, log: Log, *, is_stopping: Callable[[], bool]) -> bool:
    """Stand by until we lead; False when told to stop before that."""
    election.start()
    last_said: tuple[str, str] | None = None
    deadline = time.monotonic() + settings.lease_seconds + 15
    while not await asyncio.to_thread(election.wait_until_leader, 1.0):
        if is_stopping():
            return False
        standing = election.standing()
        error = standing.last_error
        if error is not None and (settings.once or _is_ours_to_mend(error)) and not isinstance(error, errors.Conflict):
            raise error
        if last_said != (standing.holder, str(error or "")):
            last_said = (standing.holder, str(error or ""))
            trouble = {"why": error} if error is not None else {}
            log.say("standing by", holder=standing.holder, seconds_left=round(standing.seconds_left), **trouble)
        if settings.once and time.monotonic() > deadline:
            raise LeaseHeld(f"Another controller leads ({standing.holder}); stop it first, or leave the work to it.")
    log.say("leading", lease=f"{settings.lease_namespace}/{LEASE}")
    return True


def _is_ours_to_mend(error: errors.ClusterError) -> bool:
    """Whether waiting is in vain. A standby outlives a restart of the API server, and a race with another standby."""
    is_namespace_missing = isinstance(error, errors.NotFound) and error.status.kind == "namespaces"
    kinds = (errors.ConfigInvalid, errors.Unauthorized, errors.Forbidden, errors.Invalid)
    return is_namespace_missing or isinstance(error, kinds)


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
