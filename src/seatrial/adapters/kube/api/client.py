"""A thin asynchronous client of the Kubernetes API: typed answers, typed refusals, nothing decided.

A request is tried once and its outcome reported. Two exceptions, both invisible to the server's state: after a 401 the
credential is renewed and the request sent again; a read that met a closed keep-alive connection is sent again. Retries,
back-off and giving up are decisions, and live elsewhere. Objects are decoded into the caller's own msgspec types, which
name only the fields we use; the rest of an answer is dropped while it is parsed.
Watching for ever is watch.py. Tests: tests/adapters/kube/test_client*.py.
"""

from __future__ import annotations

import asyncio
import builtins
import enum
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, Final, Self, TypedDict, TypeVar, Unpack, overload

import msgspec

from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.connection import Answer, Connection, Limit, Request
from seatrial.adapters.kube.api.decoding import (
    BOOKMARK,
    ENVELOPE,
    RAW_PAGE,
    TROUBLE,
    Bookmark,
    EventKind,
    Listing,
    Metadata,
    Object,
    ObjectT,
    OnUndecodable,
    Page,
    Undecodable,
    WatchEvent,
    decoded,
    decoder_of,
    page_of,
)

__all__ = ["Bookmark", "EventKind", "Listing", "Metadata", "Object", "ObjectT", "WatchEvent"]

FIELD_MANAGER: Final = "seatrial"

# etcd takes 1.5 MB; a line far beyond that is not an API server.
_LINE_MAX_BYTES: Final = 32 * 1024 * 1024
_STRICT: Final = {"fieldValidation": "Strict"}
_KEPT_AT_ONCE: Final = 25
_TRIAL: Final = {"dryRun": "All"}


class PatchKind(enum.Enum):
    """How a patch body is meant; the value is its content type."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"
    APPLY = "application/apply-patch+yaml"  # JSON is YAML


T = TypeVar("T")
KeptT = TypeVar("KeptT")


class Selectors(TypedDict, total=False):
    """Which objects of a kind are meant."""

    label_selector: str
    field_selector: str


class Asked(Selectors, total=False):
    """What a list is asked for beside its kind."""

    page_size: int
    resource_version: str | None
    on_undecodable: OnUndecodable


class _PagesExpired(Exception):  # noqa: N818 — never leaves this module
    """The second or a later page of a list was answered with 410."""

    def __init__(self, gone: errors.Gone) -> None:
        super().__init__()
        self.gone = gone


def api_path(group_version: str, plural: str, *, namespace: str = "", name: str = "", subresource: str = "") -> str:
    """Write the path of a kind or of one object: `api_path("apps/v1", "daemonsets", namespace="gpu")`."""
    root = f"/apis/{group_version}" if "/" in group_version else f"/api/{group_version}"
    parts = [root]
    if namespace:
        parts += ["namespaces", namespace]
    return "/".join([*parts, plural, *filter(None, (name, subresource))])


def _time() -> float:
    return time.time()


def _brief() -> type[Connection]:
    from seatrial.adapters.kube.api.brief import Brief

    return Brief


def _pooled() -> type[Connection]:
    from seatrial.adapters.kube.api.pooled import Pooled  # imports aiohttp, which a single look does not need

    return Pooled


class Client:
    """A connection pool to one cluster as one identity; use it in `async with`."""

    def __init__(
        self,
        config: configs.Config,
        *,
        user_agent: str,
        request_timeout_seconds: float = 15.0,
        connections_max: int = 100,
        field_manager: str = FIELD_MANAGER,
        wall_clock: Callable[[], float] | None = None,
        connection: Connection | None = None,
        is_brief: bool = False,
    ) -> None:
        """`connection` leads elsewhere than to the cluster's own address; a brief client lists once, and goes."""
        self.config = config
        self.now = wall_clock or _time
        """The time by which whoever reads the cluster judges what it reads: it stands still where the cluster does."""
        if connection is None:
            kind = _brief() if is_brief and not config.proxy_url else _pooled()
            connection = kind(config, user_agent=user_agent, connections_max=connections_max, wall_clock=self.now)
        self._connection = connection
        self._request_timeout_seconds = request_timeout_seconds
        self._field_manager = field_manager
        self._date = ""

    @property
    def served_at(self) -> float | None:
        """The API server's own time, by its last answer; whoever compares its times needs its clock."""
        try:
            return parsedate_to_datetime(self._date).timestamp() if self._date else None
        except ValueError:
            return None

    async def __aenter__(self) -> Self:
        self._connection.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._connection.close()

    # --- reading -------------------------------------------------------------------------------------------------

    async def list(self, path: str, model: type[T], **asked: Unpack[Asked]) -> Listing[T]:
        """List a kind page by page; without a resource version this is a consistent read."""
        return await self.kept(path, model, _whole, **asked)

    async def kept(
        self, path: str, model: type[T], keep: Callable[[T], KeptT | None], **asked: Unpack[Asked]
    ) -> Listing[KeptT]:
        """List a kind as `list` does, and hold of each page only what `keep` makes of it; None for nothing.

        An object that cannot be decoded is given to `on_undecodable`; without that it fails the list.
        """
        selectors = {"labelSelector": asked.get("label_selector"), "fieldSelector": asked.get("field_selector")}
        start = {key: value for key, value in selectors.items() if value} | {"limit": str(asked.get("page_size", 500))}
        at = asked.get("resource_version")
        first, note = start if at is None else start | {"resourceVersion": at}, asked.get("on_undecodable")
        try:
            return await self._pages(path, model, keep, first, start, note)
        except _PagesExpired:
            try:  # the list took longer than the server keeps versions: once more from the beginning
                return await self._pages(path, model, keep, first, start, note)
            except _PagesExpired as expired:
                raise expired.gone from None

    async def each(
        self, path: str, model: type[T], *, label_selector: str = "", page_size: int = 500
    ) -> AsyncGenerator[T, None]:
        """List a kind, each page handed on before the next is asked for; Gone where that took too long."""
        params = {"limit": str(page_size)} | ({"labelSelector": label_selector} if label_selector else {})
        async for page in self._paged(path, model, params, params):
            for item in page.items or ():
                yield item

    async def get(self, path: str, model: type[T]) -> T:
        """Read one object."""
        return self._decode("GET", path, await self._send("GET", path), decoder_of(model))

    async def text(self, path: str, params: Mapping[str, str]) -> str:
        """Read what is no object, such as a log; what is not UTF-8 in it is replaced."""
        return (await self._send("GET", path, params=params)).decode("utf-8", errors="replace")

    async def watch(
        self,
        path: str,
        model: type[ObjectT],
        *,
        resource_version: str,
        label_selector: str = "",
        field_selector: str = "",
        timeout_seconds: int = 300,
        silent_seconds: float = 90.0,
        on_open: Callable[[], None] | None = None,
        on_undecodable: OnUndecodable | None = None,
    ) -> AsyncGenerator[WatchEvent[ObjectT] | Bookmark, None]:
        """Follow one watch until the server ends it, something breaks, or nothing is heard for too long.

        An object that cannot be decoded is given to `on_undecodable`; without that it breaks the watch.
        """
        selectors = {"labelSelector": label_selector, "fieldSelector": field_selector}
        params = {key: value for key, value in selectors.items() if value} | {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(timeout_seconds),
            "resourceVersion": resource_version,
        }
        limit = Limit(
            total_seconds=timeout_seconds + silent_seconds,
            connect_seconds=self._request_timeout_seconds,
            silent_seconds=silent_seconds,
        )
        decoder = decoder_of(model)
        async with self._connection.answer(Request(verb="GET", path=path, params=params, limit=limit)) as answer:
            if on_open is not None:
                on_open()
            try:
                async for line in self._lines(path, answer):
                    yield self._event(path, line, decoder, on_undecodable)
            except TimeoutError as err:
                raise errors.WatchSilent(
                    f"WATCH {path} heard nothing from {self.config.where()} for {silent_seconds:g} s",
                    "list again: the connection may be dead, or nothing may have happened",
                ) from err

    # --- writing -------------------------------------------------------------------------------------------------

    @overload
    async def create(self, path: str, body: object, model: None = None, *, is_trial: bool = False) -> None: ...
    @overload
    async def create(self, path: str, body: object, model: type[T], *, is_trial: bool = False) -> T: ...
    async def create(
        self, path: str, body: object, model: type[T] | None = None, *, is_trial: bool = False
    ) -> T | None:
        """Create an object; the path is that of its kind. On trial the server judges it, and keeps nothing."""
        return await self._write("POST", path, body, model, extra=_TRIAL if is_trial else {})

    @overload
    async def replace(self, path: str, body: object, model: None = None, *, subresource: str = "") -> None: ...
    @overload
    async def replace(self, path: str, body: object, model: type[T], *, subresource: str = "") -> T: ...
    async def replace(
        self, path: str, body: object, model: type[T] | None = None, *, subresource: str = ""
    ) -> T | None:
        """Put a whole object; with a resourceVersion in the body this is a compare-and-set."""
        return await self._write("PUT", _with(path, subresource), body, model)

    @overload
    async def patch(
        self,
        path: str,
        body: object,
        model: None = None,
        *,
        kind: PatchKind,
        subresource: str = "",
        field_manager: str | None = None,
        force: bool = False,
        is_trial: bool = False,
    ) -> None: ...
    @overload
    async def patch(
        self,
        path: str,
        body: object,
        model: type[T],
        *,
        kind: PatchKind,
        subresource: str = "",
        field_manager: str | None = None,
        force: bool = False,
        is_trial: bool = False,
    ) -> T: ...
    async def patch(
        self,
        path: str,
        body: object,
        model: type[T] | None = None,
        *,
        kind: PatchKind,
        subresource: str = "",
        field_manager: str | None = None,
        force: bool = False,
        is_trial: bool = False,
    ) -> T | None:
        """Change parts of an object; `force` takes fields over from other managers and is for APPLY only."""
        extra = ({"force": "true"} if force else {}) | (_TRIAL if is_trial else {})
        return await self._write(
            "PATCH",
            _with(path, subresource),
            body,
            model,
            content_type=kind.value,
            field_manager=field_manager,
            extra=extra,
        )

    async def delete(
        self,
        path: str,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        grace_seconds: int | None = None,
        with_dependents: bool = False,
    ) -> None:
        """Delete one object, if it is still the one meant; the pods of a Job stay behind unless they are meant, too."""
        options = _delete_options(uid, resource_version, grace_seconds)
        if with_dependents:
            options["propagationPolicy"] = "Background"
        await self._send("DELETE", path, body=msgspec.json.encode(options), content_type="application/json")

    async def evict(self, namespace: str, name: str, *, uid: str | None = None) -> None:
        """Ask for a pod's eviction; a PodDisruptionBudget's no arrives as TooManyRequests.

        With the uid of another pod the server tries for ten seconds before it answers with Conflict.
        """
        body: dict[str, Any] = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": _delete_options(uid, None, None),
        }
        path = api_path("v1", "pods", namespace=namespace, name=name, subresource="eviction")
        await self._send("POST", path, body=msgspec.json.encode(body), content_type="application/json")

    # --- underneath ----------------------------------------------------------------------------------------------

    async def _pages(
        self,
        path: str,
        model: type[T],
        keep: Callable[[T], KeptT | None],
        first: Mapping[str, str],
        following: Mapping[str, str],
        note: OnUndecodable | None,
    ) -> Listing[KeptT]:
        def take(item: Any) -> KeptT | None:
            return note(item) if note is not None and isinstance(item, Undecodable) else keep(item)

        items: builtins.list[KeptT] = []  # plain `list` is the method here
        version: str | None = None
        try:
            async for page in self._paged(path, model, first, following, note):
                items += await _kept(page.items or (), take)
                # All pages belong to the version of the first, so that version is where a watch goes on.
                version = page.metadata.resource_version if version is None else version
                del page  # nothing of it is held while the next one is on its way
        except errors.Gone as gone:
            if version is None:
                raise
            raise _PagesExpired(gone) from gone
        return Listing(items=tuple(items), resource_version=version or "")

    async def _paged(
        self,
        path: str,
        model: type[T],
        first: Mapping[str, str],
        following: Mapping[str, str],
        note: OnUndecodable | None = None,
    ) -> AsyncIterator[Page[Any]]:
        page_type: Any = Page
        decoder: msgspec.json.Decoder[Page[Any]] = decoder_of(page_type[model])
        params = first
        while True:
            body = await self._send("GET", path, params=params)
            try:
                page = self._decode("GET", path, body, decoder)
            except errors.ClusterError:
                if note is None:
                    raise
                page = page_of(self._decode("GET", path, body, RAW_PAGE), model)
            del body
            token = page.metadata.continue_
            yield page
            del page
            if not token:
                return
            params = {**following, "continue": token}

    async def _write(
        self,
        verb: str,
        path: str,
        body: object,
        model: type[T] | None,
        *,
        content_type: str = "application/json",
        field_manager: str | None = None,
        extra: Mapping[str, str] | None = None,
    ) -> T | None:
        params = {**_STRICT, "fieldManager": field_manager or self._field_manager, **(extra or {})}
        answer = await self._send(verb, path, params=params, body=msgspec.json.encode(body), content_type=content_type)
        return None if model is None else self._decode(verb, path, answer, decoder_of(model))

    async def _send(
        self,
        verb: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "",
    ) -> bytes:
        limit = Limit(total_seconds=self._request_timeout_seconds)
        request = Request(verb=verb, path=path, params=params or {}, body=body, content_type=content_type, limit=limit)
        async with self._connection.answer(request) as answer:
            self._date = answer.headers.get("Date", "")
            return await answer.read()

    def _decode(self, verb: str, path: str, body: bytes, decoder: msgspec.json.Decoder[T]) -> T:
        # Not in a thread: msgspec holds the interpreter lock while it decodes, so the loop would wait all the same. A
        # page of 500 pods (2.4 MB) takes 4 ms here and was seen to take four times as long beside a busy loop.
        try:
            return decoder.decode(body)
        except TROUBLE as err:
            raise self._connection.unreadable(f"{verb} {path}", err) from err

    async def _lines(self, path: str, answer: Answer) -> AsyncIterator[bytes]:
        rest = b""
        # iter_any with our own splitting: aiohttp's readline refuses lines beyond its buffer, and objects are longer.
        async for chunk in answer.content.iter_any():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if line:
                    yield line
            if len(rest) > _LINE_MAX_BYTES:
                raise self._connection.unreadable(f"WATCH {path}", ValueError("a line without end"))
        # A last line without its newline was cut in the middle; the resumed watch brings it again.

    def _event(
        self,
        path: str,
        line: bytes,
        decoder: msgspec.json.Decoder[ObjectT],
        on_undecodable: OnUndecodable | None,
    ) -> WatchEvent[ObjectT] | Bookmark:
        try:
            envelope = ENVELOPE.decode(line)
            if envelope.type == "BOOKMARK":
                return Bookmark(resource_version=BOOKMARK.decode(envelope.object).metadata.resource_version)
            if envelope.type != "ERROR":
                kind = EventKind(envelope.type)
                if on_undecodable is None:
                    return WatchEvent(kind=kind, object=decoder.decode(envelope.object))
                found = decoded(envelope.object, decoder, is_deleted=kind is EventKind.DELETED)
                if isinstance(found, Undecodable):
                    on_undecodable(found)
                    return Bookmark(resource_version=found.object.metadata.resource_version)
                return WatchEvent(kind=kind, object=found)
        except TROUBLE as err:
            raise self._connection.unreadable(f"WATCH {path}", err) from err
        raise self._connection.refusal(f"WATCH {path}", errors.status_of_event(bytes(envelope.object)))


async def _kept(found: tuple[T, ...], keep: Callable[[T], KeptT | None]) -> list[KeptT]:
    """What is kept of a page, some objects at a time: however large they are, others get their turn in between."""
    items: list[KeptT] = []
    for at in range(0, len(found), _KEPT_AT_ONCE):
        items += [kept for item in found[at : at + _KEPT_AT_ONCE] if (kept := keep(item)) is not None]
        await asyncio.sleep(0)
    return items


def _whole(item: T) -> T:
    return item


def _with(path: str, subresource: str) -> str:
    return f"{path}/{subresource}" if subresource else path


def _delete_options(uid: str | None, resource_version: str | None, grace_seconds: int | None) -> dict[str, Any]:
    options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
    preconditions = {"uid": uid, "resourceVersion": resource_version}
    if any(preconditions.values()):
        options["preconditions"] = {key: value for key, value in preconditions.items() if value}
    if grace_seconds is not None:
        options["gracePeriodSeconds"] = grace_seconds
    return options
