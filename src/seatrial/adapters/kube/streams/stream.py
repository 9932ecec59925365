"""One row, watched: raw objects in, slim items kept, found by their keys, and how sure we are of them.

Tests: tests/adapters/kube/test_streams.py, test_observe.py
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Collection, Coroutine, Iterable
from typing import Any, Final, Generic

from seatrial.adapters.kube.api import errors, watch
from seatrial.adapters.kube.api.client import Client, EventKind, Listing, WatchEvent
from seatrial.adapters.kube.api.decoding import Object, Undecodable
from seatrial.adapters.kube.api.store import Store
from seatrial.adapters.kube.streams.index import By, Index, ItemT, KeyT
from seatrial.adapters.kube.streams.projection import Faults, projected
from seatrial.adapters.kube.streams.row import Need, RawT, Row, Where
from seatrial.bugs import TellBug, why_of
from seatrial.core.errors import SeatrialError
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.snapshot import Freshness

QUIET_SECONDS: Final = 1.0
"""A kind of which nothing was heard for this long is quiet: the next word of it is news, whatever it says."""


class Stream(Generic[RawT, ItemT]):
    """The items of one row; empty until it is run."""

    def __init__(
        self,
        row: Row[RawT, ItemT],
        where: Where,
        *,
        on_change: Callable[[ItemT | None, ItemT | None], None],
        on_state: Callable[[], None],
        on_back: Callable[[str, str], None],
        on_fault: Callable[[Iterable[str]], None] = lambda _nodes: None,
        on_bug: TellBug = lambda _bug: None,
    ) -> None:
        self.row = row
        self.path = row.path(where)
        self.faults = Faults(self.path.rsplit("/", 1)[-1], on_bug)
        self.store: Store[ItemT] = Store(key=row.key, on_change=self._change)
        self.state = watch.SourceState()
        self._slim = row.slim(where)
        self._indices: dict[By[ItemT, Any], Index[ItemT, Any]] = {by: Index(by) for by in row.indices}
        self._by_node = _by_node(row)
        self._on_change = on_change
        self._on_state = on_state
        self._on_back = on_back
        self._on_fault = on_fault
        self._where = where
        self._again = watch.Again()
        self._is_awaited = False
        """Whether somebody has asked for word and waits for it."""

    def run(self, client: Client) -> Coroutine[Any, Any, Any]:
        """List and watch for ever."""
        return watch.reflect(
            client,
            self.path,
            self.row.model,
            on_list=self._begin,
            on_sync=self._sync,
            keep=self._keep,
            on_undecodable=self._undecodable,
            on_event=self._event,
            on_state=self.take_state,
            jitter=random.random,
            again=self._again,
            older_paths=self.row.older_paths,
            field_selector=self.row.field_selector,
            label_selector=self.row.label_selector,
        )

    def list_anew(self) -> None:
        """Ask for a list: somebody waits for word that a quiet kind, or a dead connection, does not give."""
        self._is_awaited = True
        self._again.ask()

    def wrote(self, raw: RawT) -> None:
        """Take over what the server returned for a write of ours."""
        item = self._read(raw)
        if item is not None:
            self.store.wrote(item)

    # ── finding ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def under(self, by: By[ItemT, KeyT], key: KeyT) -> Collection[ItemT]:
        """The items under the key of an index."""
        return self._indices[by].under(key)

    def on_node(self, name: str) -> Collection[ItemT]:
        """The items about a node."""
        return self._nodes_of().under(name)

    def nodes(self) -> Collection[str]:
        """The nodes that items are about."""
        return self._nodes_of().keys()

    def _nodes_of(self) -> Index[ItemT, str]:
        if self._by_node is None:
            raise TypeError(f"the row {self.row.name} does not say which node an item is about")
        return self._by_node

    # ── how sure we are ──────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def is_absent(self) -> bool:
        """The kind is not installed in this cluster, and that is fine; one whose objects we saw cannot be so."""
        is_unknown = isinstance(self.state.last_error, errors.NotFound)
        return self.row.need is not Need.REQUIRED and is_unknown and len(self.store) == 0

    @property
    def is_current(self) -> bool:
        return self.state.is_synced or self.is_absent

    @property
    def fault(self) -> SeatrialError | None:
        """What keeps it from being seen."""
        if self.row.missing is not None and isinstance(self.state.last_error, errors.NotFound):
            return self.row.missing()
        return self.state.last_error

    def freshness(self, now: Instant) -> Freshness:
        """When it was last heard of, on the clock that decisions rest on; two clocks measure that, the older counts.

        One nobody sets: the wall's put back would make a dead stream fresh. By the wall's as it was then, no word is
        younger than what was recorded after it, though that clock is put forward, or a machine stands still.
        """
        state = self.state
        age_seconds = None if state.last_heard is None else time.monotonic() - state.last_heard
        told_at = 0.0 if age_seconds is None else min(now - age_seconds, state.heard_at)
        heard_at = now if self.is_absent else told_at
        # After a cut connection the cluster may be another than it was: nobody is disrupted until that was asked.
        is_sure = self.is_absent or not (self.state.is_in_doubt or self.store.is_torn)
        return Freshness(source=self.row.name, is_synced=self.is_current and is_sure, heard_at=heard_at)

    # ── what the watch tells ─────────────────────────────────────────────────────────────────────────────────────────

    def _read(self, raw: RawT) -> ItemT | None:
        """What is kept of an object; of one that cannot be read, what we have of it otherwise."""

        def read() -> tuple[ItemT | None, bool]:
            item = self._slim(raw)
            if item is not None:
                self._try(item)
            return item, True

        def failed(err: Exception) -> tuple[ItemT | None, bool]:
            return self._unreadable(raw, err), False

        item, is_read = projected(read, failed)
        if is_read:
            self._tell_fault(self.faults.clear(raw.metadata))
        return item

    def _try(self, item: ItemT) -> None:
        """Ask an item everything that it is asked later, so that nothing of it raises half way through a change."""
        self.row.key(item)
        if self.row.tells is not None:
            self.row.tells(item)
        if self.row.node is not None:
            self.row.node(item)
        for index in self._indices:
            tuple(index.keys(item))

    def _unreadable(self, raw: Object, why: Exception | str) -> ItemT | None:
        """Note that an object cannot be read, and give what is kept of it all the same."""
        row, meta = self.row, raw.metadata
        named = row.node_named(raw) if row.node_named is not None else ""
        is_tenants = row.is_tenants(self._where, meta.namespace)
        self._tell_fault(self.faults.note(meta, why, (named,) if named else (), is_tenants=is_tenants))
        if row.bare is not None:
            return row.bare(raw, why if isinstance(why, str) else why_of(why))
        held = self.store.get((meta.namespace, meta.name))
        # Of one that lives on, the last that could be read; its successor of the same name is another.
        return held if held is not None and held.metadata.uid == meta.uid else None

    def _undecodable(self, found: Undecodable) -> ItemT | None:
        """Take note of an object of which nothing but the metadata can be decoded; what is kept of it all the same."""
        if found.is_deleted:
            self._forget(found.object)
            return None
        item = self._unreadable(found.object, found.why)
        if item is not None and not self.faults.is_listing:
            self.store.apply(WatchEvent(kind=EventKind.MODIFIED, object=item))
        return item

    def _forget(self, gone: Object) -> None:
        """An object is gone, or of no interest any more, such as a finished pod."""
        meta = gone.metadata
        self._tell_fault(self.faults.clear(meta))
        held = self.store.get((meta.namespace, meta.name))
        if held is not None and held.metadata.uid == meta.uid:
            self.store.apply(WatchEvent(kind=EventKind.DELETED, object=held))

    def _begin(self) -> None:
        self.faults.begin()
        self.store.begin()

    def _tell_fault(self, nodes: Iterable[str] | None) -> None:
        if nodes is not None:
            self._on_fault(nodes)

    def _change(self, before: ItemT | None, after: ItemT | None) -> None:
        for index in self._indices.values():
            index.change(before, after)
        if self._by_node is not None:
            self._by_node.change(before, after)
        if self.row.is_news(before, after):
            about = after if after is not None else before
            projected(
                lambda: self._on_change(before, after),
                lambda err: None if about is None else self._tell_fault(self.faults.note(about.metadata, err)),
            )

    def _keep(self, raw: RawT) -> ItemT | None:
        """What is kept of an object in a list: what is held already, where it says the same, so nothing is twice."""
        item = self._read(raw)
        held = self.store.get(self.row.key(item)) if item is not None else None
        return held if held == item else item

    async def _sync(self, listing: Listing[ItemT]) -> None:
        taking = self.store.syncing(listing)
        while (is_back := next(taking)) is None:
            await asyncio.sleep(0)  # a long list keeps nobody else from running
        self._tell_fault(self.faults.end())
        if is_back:
            self._on_back(self.row.name, listing.resource_version)

    def _event(self, event: WatchEvent[RawT]) -> None:
        item, meta = self._read(event.object), event.object.metadata
        is_over = event.kind is EventKind.DELETED or (item is None and not self.faults.has(meta))
        if item is not None:
            self.store.apply(WatchEvent(kind=event.kind, object=item))
        if is_over:
            self._forget(event.object)

    def take_state(self, state: watch.SourceState) -> None:
        """How sure the watch is of what it delivered."""
        was, heard = self._standing, self.state.last_heard
        self.state = state
        # Somebody may wait to hear from a quiet kind; a busy one is looked at often enough. Who has asked is always
        # told: the answer may come within a second of the last word, and be the last one for long.
        is_quiet_over = heard is not None and state.last_heard is not None and state.last_heard - heard >= QUIET_SECONDS
        is_answered = self._is_awaited and state.last_heard != heard
        if is_answered:
            self._is_awaited = False
        if was != self._standing or is_quiet_over or is_answered:
            self._on_state()

    @property
    def _standing(self) -> tuple[bool, bool, bool]:
        return self.is_current, self.state.last_error is None, self.state.is_in_doubt


def _by_node(row: Row[Any, ItemT]) -> Index[ItemT, str] | None:
    node = row.node
    return Index(By(keys=lambda item: (node(item),))) if node is not None else None
