"""A way to the API server on which writes can be met: before they arrive there, and before their answer arrives here.

    client ── write ──▶ before(write) ── passed on ──▶ API server
           ◀─ answer ── after(write)  ◀── answer ─────

Reads and watches pass through. So do Leases, Events, questions about rights and dry runs, unless somebody asks to meet
them: none of them changes what is rolled out. A write that has left us is out of our hands: whoever sent it may die or
be frozen meanwhile, and it is answered all the same. Both callbacks may block, each in a thread of its own.

Tests: tests/testbed/test_write_proxy.py, tests/e2e/crashes.py, tests/e2e/test_failover.py
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import aiohttp
import yaml
from aiohttp import web

START_SECONDS: Final = 10.0
HELD_MAX: Final = 64
"""How many writes can be held up at once."""

_WRITES: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
LEASES: Final = "leases"
COURTESIES: Final = frozenset({LEASES, "events", "selfsubjectaccessreviews"})
"""Kinds whose writes are passed on unmet."""
# Of one connection, and not of the request.
_HOP: Final = frozenset({"connection", "keep-alive", "transfer-encoding", "upgrade", "host", "content-length"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One write on its way."""

    verb: str
    path: str
    body: bytes
    code: int = 0
    """What the API server answered; 0 while it was not asked."""

    @property
    def kind(self) -> str:
        """What it is about, without names: `PATCH nodes`, `POST pods/eviction`."""
        parts = parts_of(self.path)
        return f"{self.verb} {'/'.join(parts[:1] + parts[2:])}"

    @property
    def name(self) -> str:
        """The object's name; empty where the server has yet to learn it."""
        parts = parts_of(self.path)
        return parts[1] if len(parts) > 1 else ""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".rstrip()


Before = Callable[[Write], bool]
"""Whether the write goes on; where not, its connection breaks."""
After = Callable[[Write], object]


class WriteProxy:
    """Passes on what one account asks of the API server, until its context ends."""

    def __init__(
        self,
        kubeconfig: Path,
        *,
        authority: Path,
        before: Before = lambda _: True,
        after: After = lambda _: None,
        unmet: frozenset[str] = COURTESIES,
    ) -> None:
        """`kubeconfig` is the account's own; `self.kubeconfig` is the same account on this way."""
        self.before = before
        self.after = after
        self.kubeconfig = kubeconfig.with_suffix(".proxied.kubeconfig")
        self._direct = kubeconfig
        self._unmet = unmet
        self._authority = authority
        self._server = ""
        self._threads = ThreadPoolExecutor(max_workers=HELD_MAX, thread_name_prefix="held-write")
        self._is_up = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_over: asyncio.Event | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._work()), name="write-proxy", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._is_up.wait(START_SECONDS):
            raise TimeoutError(f"The write proxy did not listen within {START_SECONDS:g} s.")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop is not None and self._is_over is not None:
            self._loop.call_soon_threadsafe(self._is_over.set)
        self._thread.join(START_SECONDS)
        self._threads.shutdown(wait=False, cancel_futures=True)

    # ── serving ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _work(self) -> None:
        self._loop, self._is_over = asyncio.get_running_loop(), asyncio.Event()
        connector = aiohttp.TCPConnector(limit=0, ssl=ssl.create_default_context(cafile=str(self._authority)))
        async with aiohttp.ClientSession(connector=connector, auto_decompress=False) as session:
            # Its handlers end with the connection, or the watches of the dead would stay open for minutes.
            runner = web.ServerRunner(
                web.Server(partial(self._answer, session), handler_cancellation=True), shutdown_timeout=1.0
            )
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            self._write_kubeconfig(runner.addresses[0][1])
            self._is_up.set()
            await self._is_over.wait()
            await runner.cleanup()

    def _write_kubeconfig(self, port: int) -> None:
        document = yaml.safe_load(self._direct.read_text(encoding="utf-8"))
        cluster = document["clusters"][0]["cluster"]
        self._server = cluster["server"]
        document["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{port}"}
        self.kubeconfig.touch(mode=0o600)
        self.kubeconfig.write_text(yaml.safe_dump(document), encoding="utf-8")

    async def _answer(self, session: aiohttp.ClientSession, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        if not is_write(request) or self._unmet.intersection(parts_of(request.path)[:1]):
            return await self._pass_on(session, request, body)
        # A write that has begun is finished, whatever becomes of its sender.
        return await asyncio.shield(asyncio.create_task(self._meet(session, request, body)))

    async def _meet(self, session: aiohttp.ClientSession, request: web.BaseRequest, body: bytes) -> web.StreamResponse:
        loop = asyncio.get_running_loop()
        write = Write(verb=request.method, path=request.path, body=body)
        if not await loop.run_in_executor(self._threads, self.before, write):
            return broken(request)
        async with self._sent(session, request, body) as answer:
            said, code = await answer.read(), answer.status
            headers = end_to_end(answer.headers.items())
        await loop.run_in_executor(self._threads, self.after, replace(write, code=code))
        return web.Response(status=code, headers=headers, body=said)

    async def _pass_on(
        self, session: aiohttp.ClientSession, request: web.BaseRequest, body: bytes
    ) -> web.StreamResponse:
        async with self._sent(session, request, body) as answer:
            passed = web.StreamResponse(status=answer.status, headers=end_to_end(answer.headers.items()))
            with suppress(ConnectionResetError):  # whoever asked is gone
                await passed.prepare(request)
                async for part in answer.content.iter_any():
                    await passed.write(part)
                await passed.write_eof()
            return passed

    def _sent(
        self, session: aiohttp.ClientSession, request: web.BaseRequest, body: bytes
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        return session.request(
            request.method,
            self._server + request.raw_path,
            headers=end_to_end(request.headers.items()),
            data=body or None,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=START_SECONDS),
            skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
        )


def is_write(request: web.BaseRequest) -> bool:
    """Whether a request changes something."""
    return request.method in _WRITES and "dryRun" not in request.query


def parts_of(path: str) -> list[str]:
    """The kind, the name and the subresource that a path of the API is about."""
    parts = path.strip("/").split("/")
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    return rest[2:] if rest[:1] == ["namespaces"] and len(rest) > 2 else rest


def end_to_end(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The headers that are not of one connection alone."""
    return {name: value for name, value in headers if name.lower() not in _HOP}


def broken(request: web.BaseRequest) -> web.StreamResponse:
    """Break the connection of a request; what is returned reaches nobody."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=503)
