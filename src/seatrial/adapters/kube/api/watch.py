"""Keeps one kind in view for ever: list it, then watch it, and always say how sure we are.

              ┌────── cut, refused, 410, 404, an unreadable event, silence, asked for ─────┐
              ▼                                                                            │
    LIST (consistent, paged) ──► on_sync ──► WATCH from that version ──► on_event ... ─────┤
                                                     ▲                                     │
                                                     └───────── ended by the server ───────┘

Every list but the one after silence, and one that was asked for, waits first, longer each time, with jitter; only a
watch that lived a while and then ended cleanly is resumed, and at once. A server that always answers 410, or closes
each watch at once, is asked twice a minute in the end. A kind that is missing or forbidden is asked every ten seconds
or slower, because a CRD or a right may come later.

Silence is listed, not resumed. A kind in which nothing happens gets no bookmarks at all, unless etcd is set to announce
its progress; a watch from a version that a restored etcd has not reached yet is accepted and stays silent. Both look
like a dead connection, and a list is the only answer that is right for all three. It also proves freshness, and whoever
cannot wait for the silence to be noticed may ask for it (`Again`).

After anything but a clean end the view is in doubt: the cluster may have been restored from a backup meanwhile. To ask
which version it is at would not settle it: a restored etcd counts from an older number and soon reaches ours again, by
other changes than we saw. So it is listed.

Nothing is decided here: `on_state` reports, and whoever decides judges the freshness.
The resulting objects are held by store.py. Tests: tests/adapters/kube/test_watch*.py.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any, Final, Generic, NoReturn

from seatrial.adapters.kube.api import client as clients
from seatrial.adapters.kube.api import errors, served
from seatrial.adapters.kube.api.client import KeptT
from seatrial.adapters.kube.api.decoding import ObjectT, OnUndecodable
from seatrial.core.base.values import dataclass, replace

# API servers that send bookmarks do so about every minute; one and a half of that.
SILENT_SECONDS: Final = 90.0

_DELAY_FIRST_SECONDS: Final = 1.0
_DELAY_MAX_SECONDS: Final = 30.0
_DELAY_SLOW_SECONDS: Final = 10.0
# A watch that lived shorter than this did not work, however it ended.
_HEALTHY_SECONDS: Final = 5.0
_TIMEOUT_SECONDS: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceState:
    """What is known about one watched kind."""

    # A whole list has been delivered at least once.
    is_synced: bool = False
    # A watch is open now.
    is_connected: bool = False
    # The connection was lost, and there was no list since: what was delivered may never have been.
    is_in_doubt: bool = False
    # When the objects delivered so far were last known to be current: a list was begun, an event or a bookmark came.
    # By a clock that nobody sets; it stands still with the machine.
    last_heard: float | None = None
    # The same moment by the clock on the wall, which somebody may set, and which goes on while that one stands still.
    heard_at: float = 0.0
    # Why it does not work at the moment; None while it does.
    last_error: errors.ClusterError | None = None
    # Attempts that failed since it last worked.
    failure_count: int = 0


class Again:
    """Lets somebody ask for a list while a watch is open; otherwise one is under way, or about to be."""

    def __init__(self) -> None:
        self._limit: asyncio.Timeout | None = None

    def ask(self) -> None:
        """Have everything listed anew, now."""
        if self._limit is not None:
            self._limit.reschedule(asyncio.get_running_loop().time())

    @asynccontextmanager
    async def during(self) -> AsyncIterator[None]:
        """Where it may be asked for; TimeoutError when it was."""
        try:
            async with asyncio.timeout(None) as self._limit:
                yield
        finally:
            self._limit = None


def _whole(item: Any) -> Any:
    return item


async def reflect(
    client: clients.Client,
    path: str,
    model: type[ObjectT],
    *,
    on_sync: Callable[[clients.Listing[KeptT]], object],
    on_event: Callable[[clients.WatchEvent[ObjectT]], None],
    on_state: Callable[[SourceState], None],
    on_list: Callable[[], None] = lambda: None,
    keep: Callable[[ObjectT], KeptT | None] = _whole,
    on_undecodable: OnUndecodable | None = None,
    jitter: Callable[[], float],
    again: Again | None = None,
    older_paths: tuple[str, ...] = (),
    label_selector: str = "",
    field_selector: str = "",
    page_size: int = 500,
    silent_seconds: float = SILENT_SECONDS,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> NoReturn:
    """List and watch until cancelled; `jitter` gives numbers in [0, 1). Only errors of the callbacks get out.

    `on_list` is called when a list is asked for, `on_sync` when it is there, with what `keep` makes of each object: a
    page at a time, so that no more than one page is ever held whole. What `on_sync` waits for is waited for. An object
    that cannot be decoded is given to `on_undecodable`, and costs no other; without that it fails the list.

    `older_paths` are where an older server has the kind: each list asks along them, so that it is missing only where
    all of them are, and a server that is upgraded is asked under its new version soon.
    """
    selectors = clients.Selectors(label_selector=label_selector, field_selector=field_selector)
    again = again or Again()
    paths = (path, *older_paths)
    source = _Source(
        client,
        paths,
        model,
        selectors,
        page_size,
        silent_seconds,
        jitter,
        clock,
        on_state,
        on_list,
        keep,
        again,
        on_undecodable,
    )
    while True:
        await sleep(await source.round(on_sync, on_event))


class _Source(Generic[ObjectT, KeptT]):
    def __init__(
        self,
        client: clients.Client,
        paths: tuple[str, ...],
        model: type[ObjectT],
        selectors: clients.Selectors,
        page_size: int,
        silent_seconds: float,
        jitter: Callable[[], float],
        clock: Callable[[], float],
        on_state: Callable[[SourceState], None],
        on_list: Callable[[], None],
        keep: Callable[[ObjectT], KeptT | None],
        again: Again,
        on_undecodable: OnUndecodable | None,
    ) -> None:
        self._client = client
        self._paths = paths
        self._path = paths[0]  # where it was last found
        self._model = model
        self._selectors = selectors
        self._page_size = page_size
        self._silent_seconds = silent_seconds
        self._jitter = jitter
        self._clock = clock
        self._on_state = on_state
        self._on_list = on_list
        self._keep = keep
        self._again = again
        self._on_undecodable = on_undecodable
        self._state = SourceState()
        self._version: str | None = None  # None: list first

    async def round(
        self,
        on_sync: Callable[[clients.Listing[KeptT]], object],
        on_event: Callable[[clients.WatchEvent[ObjectT]], None],
    ) -> float:
        """List if need be, watch until it ends, and say how long to wait before the next round."""
        try:
            version = self._version if self._version is not None else await self._list(on_sync)
            began = self._clock()
            async with self._again.during():
                await self._watch(version, on_event)
        except (errors.WatchSilent, TimeoutError):
            # Not a failure yet, and no reason to wait: silence cannot happen more often than every `silent_seconds`,
            # and who asks for a list knows why.
            self._version = None
            self._report(is_connected=False)
            return 0.0
        except errors.ClusterError as err:
            return self._failed(err)
        if self._clock() - began >= _HEALTHY_SECONDS:
            self._report(is_connected=False, failure_count=0)
            return 0.0
        return self._failed(
            errors.ClusterUnavailable(
                f"WATCH {self._path} was ended by {self._client.config.where()} as soon as it began",
                "check what lies between here and the API server",
            )
        )

    async def _list(self, on_sync: Callable[[clients.Listing[KeptT]], object]) -> str:
        began = self._moment()  # the list is as of some moment after this one
        self._on_list()
        asked: dict[str, Any] = {"page_size": self._page_size, **self._selectors}
        if self._on_undecodable is not None:
            asked["on_undecodable"] = self._on_undecodable
        self._path, listing = await served.at_first(
            self._paths,
            lambda path: self._client.kept(path, self._model, self._keep, **asked),
        )
        taken = on_sync(listing)
        if isinstance(taken, Awaitable):
            await taken
        self._version = listing.resource_version
        # The error stays until a watch opens, so that "lists, but cannot watch" remains visible.
        self._report(is_synced=True, is_in_doubt=False, **began)
        return listing.resource_version

    async def _watch(self, version: str, on_event: Callable[[clients.WatchEvent[ObjectT]], None]) -> None:
        events = self._client.watch(
            self._path,
            self._model,
            resource_version=version,
            # spread, so that the watches of many kinds and copies do not all end together
            timeout_seconds=round(_TIMEOUT_SECONDS * (1 + self._jitter())),
            silent_seconds=self._silent_seconds,
            # The count stays: a 410 may still follow as the first event, and must not find the delay short again.
            on_open=lambda: self._report(is_connected=True, last_error=None),
            on_undecodable=self._on_undecodable,
            **self._selectors,
        )
        async with aclosing(events):
            async for event in events:
                match event:
                    case clients.Bookmark(resource_version=seen):
                        self._version = seen
                    case clients.WatchEvent(object=item):
                        on_event(event)
                        self._version = item.metadata.resource_version
                self._report(failure_count=0, **self._moment())

    def _moment(self) -> dict[str, float]:
        return {"last_heard": self._clock(), "heard_at": self._client.now()}

    def _failed(self, err: errors.ClusterError) -> float:
        self._version = None
        count = self._state.failure_count
        self._report(is_connected=False, is_in_doubt=True, last_error=err, failure_count=count + 1)
        delay = min(_DELAY_MAX_SECONDS, _DELAY_FIRST_SECONDS * 2.0 ** min(count, 10)) * (0.5 + self._jitter())
        if isinstance(err, errors.Forbidden | errors.NotFound):
            delay += _DELAY_SLOW_SECONDS
        if isinstance(err, errors.TooManyRequests):
            delay = max(delay, err.retry_after_seconds or 0)
        return delay

    def _report(self, **changes: Any) -> None:
        self._state = replace(self._state, **changes)
        self._on_state(self._state)
