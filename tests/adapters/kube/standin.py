"""A stand-in API server for what the real one cannot be made to do on demand: lie, stall, cut, refuse.

It answers from a script: each request takes the next reply, and the last reply repeats. It counts every request.
It knows nothing about Kubernetes; what a reply says is up to the test.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from seatrial.adapters.kube.api import config as configs

Reply = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One request as it arrived."""

    verb: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_watch(self) -> bool:
        return self.query.get("watch") == "true"


@dataclass(slots=True)
class StandIn:
    """The script, and what came in."""

    url: str = ""
    replies: list[Reply] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    # Set at the end, so that a reply which waits for ever can go.
    over: asyncio.Event = field(default_factory=asyncio.Event)
    came: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def until(self, count: int) -> None:
        """Wait until so many requests have come."""
        async with asyncio.timeout(20), self.came:
            await self.came.wait_for(lambda: len(self.seen) >= count)

    def will(self, *replies: Reply) -> None:
        self.replies = list(replies)

    def config(self, identity: configs.Identity | None = None) -> configs.Config:
        return configs.Config(
            server=self.url, context="stand-in", source="a test", identity=identity or configs.Anonymous()
        )

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(
            Seen(
                verb=request.method,
                path=request.path,
                query=dict(request.query),
                headers=dict(request.headers),
                body=await request.read(),
            )
        )
        async with self.came:
            self.came.notify_all()
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return await reply(request)


@asynccontextmanager
async def running(context: ssl.SSLContext | None = None) -> AsyncIterator[StandIn]:
    """Serve on loopback until the block ends."""
    server = StandIn()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    host, port = runner.addresses[0][:2]
    server.url = f"{'https' if context else 'http'}://{host}:{port}"
    try:
        yield server
    finally:
        server.over.set()
        await runner.cleanup()


def gives(content: Any, *, code: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """Answer with JSON."""

    async def reply(_: web.Request) -> web.StreamResponse:
        return web.Response(
            status=code, body=json.dumps(content).encode(), content_type="application/json", headers=headers
        )

    return reply


def says(text: str, *, code: int) -> Reply:
    """Answer with plain text, as proxies do."""

    async def reply(_: web.Request) -> web.StreamResponse:
        return web.Response(status=code, text=text)

    return reply


def refuses(
    code: int, reason: str = "", message: str = "", headers: Mapping[str, str] | None = None, **details: Any
) -> Reply:
    """Answer with a Status."""
    status = {"kind": "Status", "code": code, "reason": reason, "message": message, "details": details}
    return gives(status, code=code, headers=headers)


def lists(*names: str, version: str, more: str = "") -> Reply:
    """Answer with one page of a list; the objects are as old as the list."""
    metadata = {"resourceVersion": version, "continue": more}
    return gives({"metadata": metadata, "items": [an_object(name, version) for name in names]})


def streams(*chunks: bytes, then: Reply | None = None) -> Reply:
    """Answer a watch with these bytes, and then end cleanly or do something else."""

    async def reply(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
        if then is not None:
            await then(request)
        return response

    return reply


async def cuts(request: web.Request) -> web.StreamResponse:
    """Close the connection without a word."""
    assert request.transport is not None
    request.transport.close()
    return web.Response()


def waits(server: StandIn) -> Reply:
    """Say nothing until the test is over."""

    async def reply(_: web.Request) -> web.StreamResponse:
        await server.over.wait()
        return web.Response(status=503)

    return reply


def an_object(name: str, version: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": version}}


def event(kind: str, name: str, version: str) -> bytes:
    return json.dumps({"type": kind, "object": an_object(name, version)}).encode() + b"\n"


def bookmark(version: str) -> bytes:
    return json.dumps({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": version}}}).encode() + b"\n"


def error_event(code: int, reason: str, message: str) -> bytes:
    status = {"kind": "Status", "code": code, "reason": reason, "message": message}
    return json.dumps({"type": "ERROR", "object": status}).encode() + b"\n"
