"""The controller: reads settings, introduces the adapters to the loop, and starts it. No rules here.

One process leads (a Lease); the others stand by. On losing the lease the process ends, and whoever restarts it begins
as a standby: nothing of what it believed survives. Tests: tests/controller/test_main.py, tests/e2e/
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Final, Generic, TypeVar

from seatrial import __version__
from seatrial.adapters.expressions.measurer import ExpressionMeasurer
from seatrial.adapters.files.facts.knowledge import load_knowledge
from seatrial.adapters.http.checkpoints import HttpCheckpoints
from seatrial.adapters.http.gates import WebhookMeasurer
from seatrial.adapters.http.webhook import Webhooks
from seatrial.adapters.journal.jsonl import JsonlJournal, NoJournal
from seatrial.adapters.kube.api import served
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.api.config import Config
from seatrial.adapters.kube.api.lease import Election
from seatrial.adapters.kube.reading.access import Access
from seatrial.adapters.kube.reading.gates.probes import LIMITS, Level
from seatrial.adapters.kube.reading.observe import KubeObserver
from seatrial.adapters.kube.shapes import keys
from seatrial.adapters.kube.writing.events import EventRecorder
from seatrial.adapters.kube.writing.execute import KubeCluster
from seatrial.adapters.kube.writing.measure import JobMeasurer
from seatrial.adapters.prometheus.measurer import PrometheusMeasurer
from seatrial.adapters.prometheus.places import Place
from seatrial.bugs import Bug, Guard, TellBug
from seatrial.controller import health, leading
from seatrial.controller.auditor import Auditor
from seatrial.controller.health import Health
from seatrial.controller.keeper import GitSettings, Keeper
from seatrial.controller.leading import LEASE, LeaseHeld, LeaseLost
from seatrial.controller.log import Log
from seatrial.controller.measurers import Askers, Measurers
from seatrial.controller.metrics import Metrics
from seatrial.controller.notices import Notifier
from seatrial.controller.pacer import Pacer
from seatrial.controller.reroller import Reroller
from seatrial.controller.resumer import Resumer
from seatrial.controller.teller import Teller
from seatrial.controller.watchman import LOOK_SECONDS, Watchman
from seatrial.core.base.values import dataclass
from seatrial.core.campaign.leaving import has_left
from seatrial.core.node.hearing import waited_for
from seatrial.ports import Ports, Result, Watcher
from seatrial.run.loop import Report, collect, run_forever, run_once
from seatrial.run.memory import Memory
from seatrial.run.recording import Recorder
from seatrial.run.routing import Router, Routes
from seatrial.supervision import Ending

__all__ = ["LEASE", "LeaseHeld", "LeaseLost", "Settings", "SystemClock", "control"]

NewsT = TypeVar("NewsT")
SYNC_SECONDS: Final = 60.0
BEAT_SECONDS: Final = 60.0
"""How often an open rollout is told that we still look at it."""
LOOKS_DEFERRED: Final = 1_000_000
"""So many smaller collections come before the next whole one: none, until everything was listed."""
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
    gates_namespace: str = ""
    """Where gates run; empty for where the lease is."""
    gates_level: Level = Level.BASELINE
    gate_limits: tuple[tuple[str, str], ...] = ()
    """What each gate may take of its node besides GPUs, where that is not as usual."""
    gate_images: tuple[str, ...] = ()
    """How the names of images begin that gates may run; none lets them run any."""
    lease_seconds: int
    journal: Path | None
    once: bool
    is_uninstalling: bool = False
    """Seatrial itself goes: the rollout is left, and then we end."""
    suite_image: str = ""
    """What runs the gates that come with seatrial, where a rollout says no word about gates; empty asks none."""
    report_url: str = ""
    """The pattern of the address under which people find the report of a rollout; empty where there is none."""
    audit_seconds: float | None = None
    """How often the cluster is audited, for the metrics; None for never."""
    dra_namespaces: tuple[str, ...] = ()
    """Where DRA plugins run, beside the operator's namespace; none for where their charts put them."""
    reroll_namespaces: tuple[str, ...] = ()
    """Where DRA plugins are restarted that outlived a driver, whoever brought it; nowhere unless told."""
    has_kueue: bool = False
    """Whether Workloads of Kueue are watched, and those that we switched off are switched on again."""
    git: GitSettings
    watcher: Watcher | None = None
    """Who tells what a monitoring system has seen; None where we were told of none."""
    watch_seconds: float = LOOK_SECONDS
    prometheus: Place | None = None
    """Whom gates with a query ask; None where we were told of none."""
    webhooks: frozenset[tuple[str, str, int]] = frozenset()
    """Origins of webhooks that may be asked, by gates, for checkpoints and with notices."""
    patience_seconds: float | None = None
    """How long we stand by before we give up; None for ever."""
    pages: str
    """HOST:PORT where health and metrics are served; empty serves them nowhere. A single pass serves none."""

    @property
    def gates_home(self) -> str:
        """Where gates run."""
        return self.gates_namespace or self.lease_namespace


class SystemClock:
    """The machine's time, to the millisecond: that is what records keep, and what we wrote must equal what we read."""

    def now(self) -> float:
        return round(time.time(), 3)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@contextmanager
def settled() -> Iterator[None]:
    """What comes to be in here stays: the collector does not look through it now, nor ever again.

    Each look through all that is kept of 100,000 pods stops everything else for a tenth of a second.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(*thresholds[:2], LOOKS_DEFERRED)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.freeze()


class Listeners(Generic[NewsT]):
    """Everybody who is to hear of one kind of news, such as background work that ended."""

    def __init__(self, *listeners: Callable[[NewsT], None]) -> None:
        self._listeners = list(listeners)

    def listen(self, listener: Callable[[NewsT], None]) -> None:
        self._listeners.append(listener)

    def tell(self, news: NewsT) -> None:
        for listener in self._listeners:
            listener(news)


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """What there is from the first moment of a process to its last."""

    settings: Settings
    log: Log
    identity: str
    clock: SystemClock
    health: Health
    endings: Listeners[Ending]
    bugs: Listeners[Bug]
    election: Election
    metrics: Metrics
    stopping: asyncio.Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Sights:
    """What looks at the cluster and tells of it, whether we lead or not."""

    client: Client
    observer: KubeObserver
    keeper: Keeper
    recorder: EventRecorder
    askers: Askers


async def control(settings: Settings, log: Log) -> Report | None:
    """Run until told to stop, or for one pass; None when told to stop before we led."""
    life = _begun(settings, log)
    async with AsyncExitStack() as stack:
        if settings.pages and not settings.once:
            taken = await stack.enter_async_context(health.serve(settings.pages, life.health, life.metrics))
            log.say("serving health and metrics", address=taken)
        written = stack.enter_context(JsonlJournal(settings.journal)) if settings.journal else None
        sights = await _looking(life, stack)
        life.health.synced()
        _on_signals(life.stopping.set, sights.observer.poke)
        stack.callback(life.election.release)
        patience_seconds = settings.lease_seconds + 15.0 if settings.once else settings.patience_seconds
        is_stopping = life.stopping.is_set
        if not await leading.lead(life.election, log, patience_seconds=patience_seconds, is_stopping=is_stopping):
            return None
        log.say("leading", lease=f"{settings.lease_namespace}/{LEASE}")
        return await _lead(life, sights, stack, written)


def _begun(settings: Settings, log: Log) -> Life:
    identity = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    clock, endings = SystemClock(), Listeners[Ending](log.ended)
    election = leading.candidate(
        settings.config,
        namespace=settings.lease_namespace,
        seconds=settings.lease_seconds,
        identity=identity,
        user_agent=settings.user_agent,
        tell=endings.tell,
        notes={
            keys.DRA_ANNOTATION: ",".join(settings.dra_namespaces),
            keys.REROLLS_ANNOTATION: ",".join(settings.reroll_namespaces),
            keys.SUITE_ANNOTATION: settings.suite_image,
        },
    )
    metrics = Metrics(version=__version__, now=clock.now, is_leader=election.is_leader)
    endings.listen(metrics.ended)
    bugs = Listeners[Bug](log.bug, metrics.bug)
    return Life(
        settings=settings,
        log=log,
        identity=identity,
        clock=clock,
        health=Health(now=time.monotonic),
        endings=endings,
        bugs=bugs,
        election=election,
        metrics=metrics,
        stopping=asyncio.Event(),
    )


async def _looking(life: Life, stack: AsyncExitStack) -> Sights:
    """Everything that looks, once it has seen the whole cluster."""
    settings, log, tell = life.settings, life.log, life.endings.tell
    client = await stack.enter_async_context(Client(settings.config, user_agent=settings.user_agent))
    await served.new_enough(client)
    keeper = Keeper(client, settings.git, now=life.clock.now, is_leader=life.election.is_leader, tell=tell)

    watchman = _watchman(life)

    def uid_of(name: str) -> str:
        found = observer.stored_rollout(name)
        return found.metadata.uid if found is not None else ""

    askers = Askers(
        prometheus=PrometheusMeasurer(place=settings.prometheus, clock=life.clock, uid_of=uid_of),
        expressions=ExpressionMeasurer(uid_of=uid_of),
        webhooks=WebhookMeasurer(uid_of=uid_of, webhooks=Webhooks(settings.webhooks)),
    )

    def went_back(stream: str, version: str) -> None:
        why = "a list is older than what was seen before it, as after a restore of etcd; everything is taken from it"
        log.say("the cluster went back in time", stream=stream, version=version, why=why)
        keeper.look_anew()

    observer = await stack.enter_async_context(
        KubeObserver(
            client,
            namespace=settings.namespace,
            rollout=settings.rollout,
            on_fault=log.fault,
            home=settings.gates_home,
            dra_namespaces=settings.dra_namespaces,
            source=keeper.facts,
            telemetry=watchman.facts if watchman is not None else lambda: None,
            measured=askers.measurements,
            rights=Access(client, home=settings.gates_home, namespace=settings.namespace),
            on_back=went_back,
            is_uninstalling=settings.is_uninstalling,
            suite_image=settings.suite_image,
            report_url=settings.report_url,
            has_kueue=settings.has_kueue,
            on_bug=life.bugs.tell,
        )
    )
    recorder = await stack.enter_async_context(
        EventRecorder(
            client,
            component="seatrial",
            instance=life.identity,
            on_failure=lambda why: log.say("event lost", why=why),
            tell=tell,
        )
    )
    with settled():
        await observer.wait_synced(SYNC_SECONDS)
    await stack.enter_async_context(keeper.watching(observer))
    if watchman is not None:
        await stack.enter_async_context(watchman.watching(observer))
    return Sights(client=client, observer=observer, keeper=keeper, recorder=recorder, askers=askers)


def _watchman(life: Life) -> Watchman | None:
    settings = life.settings
    if settings.watcher is None:
        return None
    return Watchman(settings.watcher, now=life.clock.now, look_seconds=settings.watch_seconds, tell=life.endings.tell)


async def _lead(life: Life, sights: Sights, stack: AsyncExitStack, written: JsonlJournal | None) -> Report:
    """Pass after pass while we lead, or one; whatever ends it, what is under way is waited for."""
    log, observer, is_leader = life.log, sights.observer, life.election.is_leader
    notifier = Notifier(Webhooks(life.settings.webhooks).post, log, tell=life.endings.tell)
    teller = Teller(
        sights.recorder,
        rollout=observer.current_rollout,
        notify=notifier.send,
        is_uninstalling=life.settings.is_uninstalling,
    )
    settings = life.settings
    life.bugs.listen(_setting_aside(observer, teller))
    # The suite is the administrator's own.
    images = (*settings.gate_images, settings.suite_image) if settings.gate_images else ()
    jobs = JobMeasurer(
        sights.client,
        observer,
        home=settings.gates_home,
        level=settings.gates_level,
        images=tuple(filter(None, images)),
        limits={**LIMITS, **dict(settings.gate_limits)},
    )
    routes = Routes(
        cluster=KubeCluster(sights.client, observer, is_leader=is_leader, farewell=teller.farewell),
        home=sights.keeper,
        measurer=Measurers(jobs=jobs, askers=sights.askers),
        webhook=HttpCheckpoints(Webhooks(life.settings.webhooks)),
    )
    router = Router(routes, is_leader=is_leader, on_outcome=teller.tell, on_end=observer.poke, on_bug=life.bugs.tell)
    # Whatever ends us: the acts under way are waited for before the lease is given up.
    stack.push_async_callback(router.drain, DRAIN_SECONDS)
    pacer = Pacer(sights.client, observer, log, is_leader=is_leader, tell=life.endings.tell)
    await stack.enter_async_context(pacer)
    if life.settings.has_kueue:
        resumer = Resumer(sights.client, observer, log, is_leader=is_leader, tell=life.endings.tell)
        await stack.enter_async_context(resumer)
    if life.settings.reroll_namespaces and not life.settings.once:
        await stack.enter_async_context(_reroller(life, sights))
    if life.settings.audit_seconds is not None and not life.settings.once:
        await stack.enter_async_context(_auditor(life, sights.client, life.settings.audit_seconds))
    ports = Ports(observer=observer, executor=router, journal=written or NoJournal(), clock=life.clock)

    def note(report: Report) -> None:
        for take in (pacer.take, teller.take, life.metrics.take, log.report):
            take(report)
        if report.sight is not None and report.decision is not None:
            observer.list_anew(waited_for(report.decision.holds, report.sight.seen, report.at))
        if any(outcome.result is Result.UNKNOWN for outcome in report.outcomes):
            observer.list_anew([stream.row.name for stream in observer.streams.decisive])
        life.health.passed()

    report = await _passes(life, ports, Recorder(written) if written else None, note)
    await router.drain(DRAIN_SECONDS)
    log.outcomes(collect(ports, life.clock.now()))  # no further pass does it
    await sights.recorder.drain(EVENTS_SECONDS)
    await notifier.drain(EVENTS_SECONDS)
    if not life.settings.once and not life.stopping.is_set() and not _has_left(life, report):
        raise leading.lost(life.election.standing(), leading.timing_of(life.settings.lease_seconds))
    return report


def _setting_aside(observer: KubeObserver, teller: Teller) -> TellBug:
    """Sets the rollout aside that a decision fell over, and tells of every bug on the rollout at work."""

    def listen(bug: Bug) -> None:
        name = observer.set_aside(bug.why) if bug.guard is Guard.DECISION else observer.at_work
        if name:
            teller.bug(name, bug)

    return listen


def _reroller(life: Life, sights: Sights) -> Reroller:
    settings = life.settings
    return Reroller(
        sights.client,
        life.log,
        namespace=settings.namespace,
        namespaces=settings.reroll_namespaces,
        is_leader=life.election.is_leader,
        tell=life.endings.tell,
    )


def _auditor(life: Life, client: Client, every_seconds: float) -> Auditor:
    return Auditor(
        client,
        namespace=life.settings.namespace,
        facts=load_knowledge(),
        every_seconds=every_seconds,
        is_leader=life.election.is_leader,
        take=life.metrics.take_audit,
        tell=life.endings.tell,
    )


async def _passes(life: Life, ports: Ports, recorder: Recorder | None, note: Callable[[Report], None]) -> Report:
    memory = Memory(life.clock.now(), beat_seconds=BEAT_SECONDS)
    if life.settings.once:
        report = run_once(ports, memory, recorder, life.bugs.tell)
        note(report)
        return report
    return await run_forever(
        ports,
        memory,
        on_report=note,
        is_over=lambda report: life.stopping.is_set() or not life.election.is_leader() or _has_left(life, report),
        recorder=recorder,
        on_bug=life.bugs.tell,
    )


def _has_left(life: Life, report: Report) -> bool:
    """Whether we were to leave a rollout, and have; one that is not there is left already."""
    if not life.settings.is_uninstalling:
        return False
    if report.sight is None or report.decision is None:
        return not life.log.fault_text
    decision = report.decision
    return not report.breaches and has_left(report.sight.seen, decision.actions, decision.holds, decision.stop)


def _on_signals(*calls: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, lambda: [call() for call in calls])
