"""A bad way to the API server: requests are refused, broken off, answered late or never, watches are cut and confused.

    controller ──▶ is something in store for this request? ──▶ API server
               ◀── for its answer, or for the next event?  ◀──

A write whose answer is lost has happened. A refusal is one in the API's own words, and nothing has happened. Everything
that is asked is counted, whatever becomes of it. Tests: tests/torture/test_way.py
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
from aiohttp import web

from seatrial_lab.testbed.plane import write_proxy
from seatrial_lab.testbed.plane.write_proxy import LEASES, WriteProxy
from seatrial_lab.torture.drawing import Blow
from seatrial_lab.torture.table import Where

RETRY_AFTER_SECONDS: Final = 1
HELD_SECONDS: Final = 2.0
"""How long an event waits for the next one before it goes on alone: none is lost for good."""
REASONS: Final = {
    409: "Conflict",
    410: "Expired",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
}
HALF: Final = b'{"type":"MODIFIED","object":{"apiVersion":"v1","ki'
"""An event that ends in its middle."""


@dataclass(slots=True, kw_only=True)
class _Trouble:
    blow: Blow
    left: int


@dataclass(eq=False, slots=True, kw_only=True)
class _Watch:
    """A watch that is open."""

    request: web.BaseRequest
    answer: web.StreamResponse
    held: bytes = b""


class BadWay(WriteProxy):
    """Passes on what one account asks of the API server, and does to it what it is told to."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.asked: Counter[str] = Counter()
        """How often each kind of request was made, such as `PATCH nodes` and `WATCH pods`."""
        self.struck: Counter[str] = Counter()
        """How many requests, events and watches each fault has met."""
        self._turn = threading.Lock()
        self._troubles: list[_Trouble] = []
        self._watches: set[_Watch] = set()
        self._away_until = 0.0
        self._tasks: set[asyncio.Future[None]] = set()

    # ── being told ───────────────────────────────────────────────────────────────────────────────────────────────────

    def strike(self, blow: Blow) -> None:
        """Let this happen from now on; any thread may ask."""
        if self._loop is None:
            raise RuntimeError("the way is used outside of `with`")
        match blow.fault.where:
            case Where.REQUESTS | Where.EVENTS:
                with self._turn:
                    self._troubles.append(_Trouble(blow=blow, left=blow.count))
            case Where.WATCHES:
                line = _expired() if blow.fault.code else HALF
                self._loop.call_soon_threadsafe(self._end_watches, line, blow.fault.name)
            case Where.WAY:
                self._away_until = time.monotonic() + blow.seconds
                self._loop.call_soon_threadsafe(self._end_watches, b"", blow.fault.name)
            case _:
                raise ValueError(f"{blow.fault.name} is nothing that happens on the way")

    def calm(self) -> None:
        """Let nothing more happen."""
        with self._turn:
            self._troubles.clear()
        self._away_until = 0.0

    @property
    def write_count(self) -> int:
        """How many writes were asked for that change what is rolled out."""
        with self._turn:
            return sum(count for kind, count in self.asked.items() if _is_of_the_rollout(kind))

    @property
    def request_count(self) -> int:
        """How many requests were made; those for the Lease go by the time, and are left out."""
        with self._turn:
            return sum(count for kind, count in self.asked.items() if not kind.endswith(f" {LEASES}"))

    # ── passing on ───────────────────────────────────────────────────────────────────────────────────────────────────

    async def _answer(self, session: aiohttp.ClientSession, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        trouble = self._met(request)
        if time.monotonic() < self._away_until:
            return write_proxy.broken(request)
        try:
            if trouble is not None:
                return await self._troubled(session, request, body, trouble)
            return await self._through(session, request, body)
        except (aiohttp.ClientError, OSError):  # the API server itself is away
            return write_proxy.broken(request)

    def _met(self, request: web.BaseRequest) -> Blow | None:
        """Count a request, and say what is in store for it."""
        is_write = write_proxy.is_write(request)
        with self._turn:
            self.asked[_kind(request)] += 1
            for trouble in self._troubles:
                fault = trouble.blow.fault
                if fault.where is Where.REQUESTS and trouble.left and (is_write or not fault.is_for_writes):
                    trouble.left -= 1
                    self.struck[fault.name] += 1
                    return trouble.blow
        return None

    async def _troubled(
        self, session: aiohttp.ClientSession, request: web.BaseRequest, body: bytes, blow: Blow
    ) -> web.StreamResponse:
        if blow.fault.code:
            return _refused(blow.fault.code)
        if blow.fault.name == "slow":
            await asyncio.sleep(blow.seconds)
            return await self._through(session, request, body)
        if blow.fault.name == "lost":
            await asyncio.shield(asyncio.create_task(self._whole(session, request, body)))
        return write_proxy.broken(request)

    async def _through(
        self, session: aiohttp.ClientSession, request: web.BaseRequest, body: bytes
    ) -> web.StreamResponse:
        if _is_watch(request):
            return await self._watch(session, request)
        # A write that has begun is finished, whatever becomes of its sender.
        code, headers, said = await asyncio.shield(asyncio.create_task(self._whole(session, request, body)))
        return web.Response(status=code, headers=headers, body=said)

    async def _whole(
        self, session: aiohttp.ClientSession, request: web.BaseRequest, body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        async with self._sent(session, request, body) as answer:
            said = await answer.read()
            return answer.status, write_proxy.end_to_end(answer.headers.items()), said

    # ── watches ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _watch(self, session: aiohttp.ClientSession, request: web.BaseRequest) -> web.StreamResponse:
        async with self._sent(session, request, b"") as answer:
            headers = write_proxy.end_to_end(answer.headers.items())
            watch = _Watch(request=request, answer=web.StreamResponse(status=answer.status, headers=headers))
            await watch.answer.prepare(request)
            self._watches.add(watch)
            try:
                async for line in _lines(answer.content):
                    await self._tell(watch, line)
                await self._go_on(watch, watch.held)
                await watch.answer.write_eof()
            except (aiohttp.ClientError, OSError):  # either side is gone: the other learns of it the same way
                _abort(watch)
            finally:
                self._watches.discard(watch)
            return watch.answer

    async def _tell(self, watch: _Watch, line: bytes) -> None:
        fault = self._event_fault()
        if fault == "reordered" and not watch.held:
            watch.held = line
            asyncio.get_running_loop().call_later(HELD_SECONDS, self._let_go, watch, line)
            return
        for each in (line, line) if fault == "doubled" else (line,):
            await watch.answer.write(each)
        await self._go_on(watch, watch.held)

    def _event_fault(self) -> str:
        with self._turn:
            for trouble in self._troubles:
                if trouble.blow.fault.where is Where.EVENTS and trouble.left:
                    trouble.left -= 1
                    self.struck[trouble.blow.fault.name] += 1
                    return trouble.blow.fault.name
        return ""

    def _let_go(self, watch: _Watch, line: bytes) -> None:
        if watch.held is line and watch in self._watches:
            self._kept(asyncio.ensure_future(self._go_on(watch, line)))

    async def _go_on(self, watch: _Watch, line: bytes) -> None:
        watch.held = b""
        if line:
            with suppress(OSError):
                await watch.answer.write(line)

    def _end_watches(self, line: bytes, name: str) -> None:
        for watch in list(self._watches):
            self.struck[name] += 1
            self._kept(asyncio.ensure_future(self._end(watch, line)))

    async def _end(self, watch: _Watch, line: bytes) -> None:
        if line:
            with suppress(OSError):
                await watch.answer.write(line)
            if watch.request.transport is not None:
                watch.request.transport.close()  # what was written goes out first
        else:
            _abort(watch)

    def _kept(self, task: asyncio.Future[None]) -> None:
        """Asyncio forgets tasks that nobody holds."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _lines(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Whole lines; the reader's own would refuse long ones."""
    rest = b""
    async for part in content.iter_any():
        *whole, rest = (rest + part).split(b"\n")
        for line in whole:
            yield line + b"\n"


def _kind(request: web.BaseRequest) -> str:
    verb = "WATCH" if _is_watch(request) else request.method
    parts = write_proxy.parts_of(request.path)
    return f"{verb} {'/'.join(parts[:1] + parts[2:])}"


def _is_watch(request: web.BaseRequest) -> bool:
    return request.method == "GET" and request.query.get("watch") in ("1", "true")


def _is_of_the_rollout(kind: str) -> bool:
    verb, _, resource = kind.partition(" ")
    return verb not in ("GET", "WATCH") and resource not in write_proxy.COURTESIES


def _status(code: int) -> dict[str, Any]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"torture: {REASONS[code]}",
        "reason": REASONS[code],
        "code": code,
    }


def _refused(code: int) -> web.Response:
    headers = {"Retry-After": str(RETRY_AFTER_SECONDS)} if code == 429 else {}
    return web.json_response(_status(code), status=code, headers=headers)


def _expired() -> bytes:
    return json.dumps({"type": "ERROR", "object": _status(410)}).encode() + b"\n"


def _abort(watch: _Watch) -> None:
    if watch.request.transport is not None:
        watch.request.transport.abort()
