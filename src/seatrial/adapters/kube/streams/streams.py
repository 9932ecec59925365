"""The rows that somebody asked for, watched together: what changed, which nodes that costs, how long to wait.

    row ─▶ stream ─▶ news ──┬─▶ the nodes it concerns are touched, to be built anew on the next look
                            ├─▶ whoever hears this row
                            └─▶ whoever waits

One change costs the nodes it is about and no other: a row says which those are. What our own writes return goes into
the same stores, so the next pass sees it without waiting for the watch.
Tests: tests/adapters/kube/test_streams.py, test_observe.py
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Coroutine, Hashable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Final, Self

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.streams.index import By, ItemT, KeyT
from seatrial.adapters.kube.streams.row import RawT, Row, Where
from seatrial.adapters.kube.streams.stream import Stream
from seatrial.bugs import TellBug
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.problems import UnreadableObject

LOOK_SECONDS: Final = 30.0
"""Freshness is judged by time passing, so we look at least this often even when nothing changes."""
LISTED_SECONDS: Final = 1.0
"""The same while the first lists are waited for."""

AnyStream = Stream[Any, Any]


class Streams:
    """What is watched; use `async with`. A row that nobody asked for has no items."""

    def __init__(
        self,
        client: Client,
        rows: Iterable[Row[Any, Any]],
        where: Where,
        *,
        on_back: Callable[[str, str], None] = lambda _stream, _version: None,
        on_bug: TellBug = lambda _bug: None,
    ) -> None:
        """`on_back` is told which stream went back in time, and to which version: a restored etcd."""
        self.era = 0
        """How often the cluster went back in time."""
        self._client = client
        self.where = where
        self._tell_back = on_back
        self.tell_bug = on_bug
        self._streams: dict[Row[Any, Any], AnyStream] = {}
        self._open = list(dict.fromkeys(rows))
        self._listeners: dict[Row[Any, Any], list[Callable[[Any, Any], None]]] = defaultdict(list)
        self._changed = asyncio.Event()
        self._touched: set[str] = set()
        self._tasks: list[asyncio.Task[Any]] = []

    # ── opening ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def __aenter__(self) -> Self:
        for row in self._open:
            self.start(self[row].run(self._client), row.name)
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)  # what one died of was told by `wait`

    def open(self, rows: Iterable[Row[Any, Any]]) -> None:
        """Begin to watch rows beside those that are."""
        for row in rows:
            if row not in self._open:
                self._open.append(row)
                self.start(self[row].run(self._client), row.name)

    def start(self, work: Coroutine[Any, Any, Any], name: str) -> None:
        """Let something run as long as the streams do; its end is an error."""
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(lambda _: self.poke())
        self._tasks.append(task)

    # ── what there is ────────────────────────────────────────────────────────────────────────────────────────────────

    def __getitem__(self, row: Row[RawT, ItemT]) -> Stream[RawT, ItemT]:
        if row not in self._streams:
            self._streams[row] = Stream(
                row,
                self.where,
                on_change=lambda before, after: self._take(row, before, after),
                on_state=self.poke,
                on_back=self._on_back,
                on_fault=self._on_fault,
                on_bug=self.tell_bug,
            )
        return self._streams[row]

    @property
    def opened(self) -> tuple[AnyStream, ...]:
        """Those that are watched, in the order they were asked for."""
        return tuple(self[row] for row in self._open)

    @property
    def decisive(self) -> tuple[AnyStream, ...]:
        """Those without which nothing is decided."""
        return tuple(stream for stream in self.opened if stream.row.is_decisive)

    def get(self, row: Row[Any, ItemT], key: Hashable) -> ItemT | None:
        """The item of a row under the key of its store."""
        return self[row].store.get(key)

    def under(self, row: Row[Any, ItemT], by: By[ItemT, KeyT], key: KeyT) -> Collection[ItemT]:
        """The items of a row under the key of an index."""
        return self[row].under(by, key)

    def unreadable_about(self, node: str) -> tuple[UnreadableObject, ...]:
        """What is about a node and cannot be read."""
        streams = (stream for stream in self.decisive if len(stream.faults))
        return tuple(found for stream in streams for found in stream.faults.about(node))

    def unreadable(self) -> tuple[UnreadableObject, ...]:
        """What decisions rest on, is about no node, and cannot be read."""
        streams = (stream for stream in self.decisive if stream.row.bare is None and stream.row.node_named is None)
        return tuple(found for stream in streams for found in stream.faults.about_none())

    # ── what changes ─────────────────────────────────────────────────────────────────────────────────────────────────

    def hear(self, listener: Callable[[Any, Any], None], *rows: Row[Any, Any]) -> None:
        """Have all news of these rows told as `listener(before, after)`; None is "not there"."""
        for row in rows:
            self._listeners[row].append(listener)

    def touch(self, nodes: Iterable[str]) -> None:
        """Have nodes built anew on the next look."""
        self._touched.update(nodes)

    def take_touched(self) -> list[str]:
        """The nodes to build anew, each once: in order, since the same world is to give the same snapshot."""
        touched, self._touched = sorted(self._touched), set()
        return touched

    def list_anew(self, names: Collection[str]) -> None:
        """Have these rows listed again, whatever their watches say."""
        for stream in self.opened if names else ():
            if stream.row.name in names:
                stream.list_anew()

    def poke(self) -> None:
        """Something changed."""
        self._changed.set()

    def look(self) -> None:
        """What changed so far is being looked at: a wait is for what comes after it."""
        self._changed.clear()

    def _take(self, row: Row[Any, ItemT], before: ItemT | None, after: ItemT | None) -> None:
        for item in (before, after):
            nodes = row.nodes(item, self) if item is not None else ()
            if nodes is None:
                self.poke()
            elif names := tuple(nodes):
                self.touch(names)
                self.poke()
        for listener in self._listeners[row]:
            listener(before, after)

    def _on_fault(self, nodes: Iterable[str]) -> None:
        """An object became unreadable, or readable again."""
        self.touch(nodes)
        self.poke()

    def _on_back(self, stream: str, version: str) -> None:
        """A list is of an older history than what was seen: nothing that was remembered of it counts any more."""
        self.era += 1
        self._tell_back(stream, version)
        self.poke()

    # ── waiting ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def missing(self) -> Sequence[AnyStream]:
        """What has to be listed still before anything is decided."""
        return [stream for stream in self.decisive if not stream.is_current]

    async def wait_synced(
        self, timeout_seconds: float, missing: Callable[[], Sequence[AnyStream]] | None = None
    ) -> None:
        """Return when nothing is missing any more; raise the first thing that keeps it from being listed."""
        ask = missing or self.missing
        deadline = time.monotonic() + timeout_seconds
        self._check()
        while lacking := ask():
            for stream in lacking:
                if stream.fault is not None:
                    raise stream.fault
            left_seconds = deadline - time.monotonic()
            if left_seconds <= 0:
                raise errors.ClusterUnavailable(
                    f"{lacking[0].row.name} were not listed within {timeout_seconds:g} s",
                    "check the load of the API server",
                )
            self.look()
            await self._until_changed(min(left_seconds, LISTED_SECONDS))

    async def wait(self, until: Instant | None) -> None:
        """Return when something changed, at the latest when the time has come or freshness is to be judged again."""
        await self._until_changed(LOOK_SECONDS if until is None else min(max(0.0, until - time.time()), LOOK_SECONDS))

    async def _until_changed(self, seconds: float) -> None:
        await asyncio.sleep(0)  # what has changed already must not keep everybody else from running
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):  # not wait_for: Python 3.11's may lose a cancellation
                await self._changed.wait()
        self._check()

    def _check(self) -> None:
        for task in self._tasks:
            if task.done():
                task.result()  # a stream ends only by a bug of ours; that must not pass in silence
