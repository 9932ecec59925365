"""Tells people what happens to an object, as core/v1 Events beside it: `kubectl describe node` shows them.

Recording never waits, never raises and never retries: an Event is a courtesy, and the truth is written elsewhere. The
same words about the same object within ten minutes become one Event with a count. Everything is bounded: the queue,
the memory of what was sent, the length of a message. What could not be sent is counted and reported.
Use it from one event loop, in `async with`. Tests: tests/adapters/kube/test_events.py.
"""

from __future__ import annotations

import asyncio
import enum
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from seatrial import supervision
from seatrial.adapters.kube.api import client as clients
from seatrial.adapters.kube.api import errors

PENDING_MAX: Final = 1000
REMEMBERED_MAX: Final = 4096
_MESSAGE_MAX: Final = 1024


class EventType(enum.Enum):
    """How loud an Event is; Kubernetes knows these two."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The object an Event is about; an empty namespace means a cluster-wide kind such as Node."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    subject: Subject
    reason: str
    message: str
    type: EventType


@dataclass(slots=True, kw_only=True)
class _Pending:
    count: int
    first_at: float
    last_at: float


@dataclass(slots=True, kw_only=True)
class _Sent:
    path: str
    count: int
    sent_at: float  # monotonic


class _Metadata(msgspec.Struct, frozen=True):
    name: str = ""


class _Event(msgspec.Struct, frozen=True):
    metadata: _Metadata


class EventRecorder:
    """Sends Events in the background, one at a time."""

    def __init__(
        self,
        client: clients.Client,
        *,
        component: str,
        instance: str = "",
        on_failure: Callable[[str], None] | None = None,
        tell: supervision.Tell = lambda _: None,
        same_seconds: float = 600.0,
        pending_max: int = PENDING_MAX,
        remembered_max: int = REMEMBERED_MAX,
        monotonic: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self.failure_count = 0
        self._client = client
        self._component = component
        self._instance = instance
        self._on_failure = on_failure
        self._tell = tell
        self._same_seconds = same_seconds
        self._pending_max = pending_max
        self._remembered_max = remembered_max
        self._monotonic = monotonic
        self._wall_clock = wall_clock
        self._pending: dict[_Words, _Pending] = {}
        self._sent: dict[_Words, _Sent] = {}  # oldest first
        self._has_work = asyncio.Event()
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(supervision.keep("events", self._work, tell=self._tell), name="events")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def record(self, subject: Subject, *, reason: str, message: str, type: EventType = EventType.NORMAL) -> None:  # noqa: A002
        """Queue one Event; the same words that still wait there are counted instead."""
        if len(message) > _MESSAGE_MAX:
            message = message[: _MESSAGE_MAX - 1] + "…"
        words = _Words(subject=subject, reason=reason, message=message, type=type)
        now = self._wall_clock()
        waiting = self._pending.get(words)
        if waiting is not None:
            waiting.count += 1
            waiting.last_at = now
            return
        if len(self._pending) >= self._pending_max:
            self._fail(f"event {reason} on {subject.kind} {subject.name} was dropped: {self._pending_max} wait already")
            return
        self._pending[words] = _Pending(count=1, first_at=now, last_at=now)
        self._is_idle.clear()
        self._has_work.set()

    async def drain(self, timeout_seconds: float) -> bool:
        """Wait until everything queued was sent or failed; False when the time is over."""
        try:
            await asyncio.wait_for(self._is_idle.wait(), timeout_seconds)
        except TimeoutError:
            return False
        return True

    async def _work(self) -> None:
        while True:
            await self._has_work.wait()
            while self._pending:
                words = next(iter(self._pending))
                await self._send(words, self._pending.pop(words))
            self._has_work.clear()
            self._is_idle.set()

    async def _send(self, words: _Words, pending: _Pending) -> None:
        try:
            known = self._known(words)
            if known is None or not await self._count_up(known, pending):
                await self._create(words, pending)
        except errors.ClusterError as err:
            self._fail(f"event {words.reason} on {words.subject.kind} {words.subject.name} was not sent: {err}")

    def _known(self, words: _Words) -> _Sent | None:
        known = self._sent.get(words)
        if known is not None and self._monotonic() - known.sent_at >= self._same_seconds:
            del self._sent[words]
            return None
        return known

    async def _count_up(self, known: _Sent, pending: _Pending) -> bool:
        count = known.count + pending.count
        body = {"count": count, "lastTimestamp": _timestamp(pending.last_at)}
        try:
            await self._client.patch(known.path, body, kind=clients.PatchKind.MERGE)
        except errors.NotFound:
            return False  # API servers forget Events after an hour
        known.count, known.sent_at = count, self._monotonic()
        return True

    async def _create(self, words: _Words, pending: _Pending) -> None:
        # An Event lives beside its object; those of cluster-wide objects live in `default`, where kubectl looks.
        path = clients.api_path("v1", "events", namespace=words.subject.namespace or "default")
        created = await self._client.create(path, self._body(words, pending), _Event)
        self._sent.pop(words, None)
        if len(self._sent) >= self._remembered_max:
            del self._sent[next(iter(self._sent))]
        self._sent[words] = _Sent(
            path=f"{path}/{created.metadata.name}", count=pending.count, sent_at=self._monotonic()
        )

    def _body(self, words: _Words, pending: _Pending) -> dict[str, Any]:
        subject = words.subject
        involved = {
            "apiVersion": subject.api_version,
            "kind": subject.kind,
            "name": subject.name,
            "namespace": subject.namespace,
            "uid": subject.uid,
        }
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": f"{subject.name}.", "namespace": subject.namespace or "default"},
            "involvedObject": {key: value for key, value in involved.items() if value},
            "reason": words.reason,
            "message": words.message,
            "type": words.type.value,
            "count": pending.count,
            "firstTimestamp": _timestamp(pending.first_at),
            "lastTimestamp": _timestamp(pending.last_at),
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
        }

    def _fail(self, sentence: str) -> None:
        self.failure_count += 1
        if self._on_failure is not None:
            self._on_failure(sentence)


def _timestamp(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}"
