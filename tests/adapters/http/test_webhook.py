"""Asking a URL that people named: what is sent, what is heard, and how little is granted."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from seatrial.adapters.http import webhook
from seatrial.adapters.http.webhook import Reply, Webhooks, allowed

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def post(url: str, body: bytes = b"{}", *, timeout_seconds: float = webhook.TIMEOUT_SECONDS) -> Reply:
    """Ask as a controller does that may ask there."""
    origin = webhook.origin_of(url)
    return await Webhooks([origin] if origin else [], timeout_seconds=timeout_seconds).post(url, body)


@asynccontextmanager
async def serving(handler: Handler, trust: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """A webhook on loopback, over TLS where it has a certificate; gives its address."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=trust).start()
    try:
        yield f"{'https' if trust else 'http'}://127.0.0.1:{runner.addresses[0][1]}/save"
    finally:
        await runner.cleanup()


async def test_the_question_is_one_post_of_json_without_any_credential() -> None:
    seen: list[tuple[str, str, str, bytes, bool]] = []

    async def handler(request: web.Request) -> web.Response:
        body = await request.read()
        has_secrets = "Authorization" in request.headers or "Cookie" in request.headers
        seen.append((request.method, request.path_qs, request.headers["Content-Type"], body, has_secrets))
        return web.Response(text="saved\n in time", headers={"Set-Cookie": "a=b"})

    async with serving(handler) as url:
        assert await post(f"{url}?team=a", b'{"node":"n1"}') == Reply(200)
        assert await post(f"{url}?team=a", b'{"node":"n1"}') == Reply(200)
    assert seen == [("POST", "/save?team=a", "application/json", b'{"node":"n1"}', False)] * 2


@pytest.mark.parametrize("status", [202, 204, 404, 500])
async def test_every_status_is_an_answer(status: int) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(status=status)

    async with serving(handler) as url:
        assert await post(url) == Reply(status)


async def test_a_redirect_is_not_followed() -> None:
    paths: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        paths.append(request.path)
        return web.Response(status=307, headers={"Location": "/elsewhere"})

    async with serving(handler) as url:
        assert (await post(url)).status == 307
    assert paths == ["/save"]


async def test_nothing_but_the_status_of_an_answer_is_heard_however_long_it_is() -> None:
    """Who may write a rollout could otherwise read by us what only the controller reaches."""

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=409, reason="the-secret")
        await response.prepare(request)
        while request.transport is not None and not request.transport.is_closing():
            await response.write(b"the-secret" * 6553)
        return response

    async with serving(handler) as url:
        assert await asyncio.wait_for(post(url), 5) == Reply(409)


async def test_nobody_is_asked_whom_no_administrator_allows() -> None:
    heard: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        heard.append(request.path)
        return web.Response()

    async with serving(handler) as url:
        port = url.removesuffix("/save").rpartition(":")[2]
        for origins in ((), ("https://ci.example.com",), (f"https://127.0.0.1:{port}",), ("http://127.0.0.1:1",)):
            reply = await Webhooks(allowed(origins)).post(url, b"{}")
            assert reply.status == 0
            assert "is none of those that this controller may ask; an administrator allows it" in reply.text
    assert heard == []


async def test_who_does_not_answer_in_time_is_not_waited_for() -> None:
    over = asyncio.Event()

    async def handler(_: web.Request) -> web.Response:
        await over.wait()
        return web.Response()

    async with serving(handler) as url:
        reply = await post(url, b"{}", timeout_seconds=0.1)
        over.set()
    assert reply == Reply(0, "the webhook at 127.0.0.1 did not answer within 0.1 s")


async def test_a_cut_connection_is_no_answer_and_the_question_is_not_repeated() -> None:
    count = 0

    async def handler(request: web.Request) -> web.Response:
        nonlocal count
        count += 1
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    async with serving(handler) as url:
        reply = await post(url)
    assert (reply.status, count) == (0, 1)
    assert reply.text.startswith("the webhook at 127.0.0.1 was not reached: ")


async def test_nobody_there_is_no_answer() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    reply = await post(f"http://127.0.0.1:{port}/", b"{}")
    assert reply.status == 0
    assert reply.text.startswith("the webhook at 127.0.0.1 was not reached: ")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("file:///etc/passwd", "its address begins with file, and only http and https are asked"),
        ("unix:///run/docker.sock", "its address begins with unix, and only http and https are asked"),
        ("saver.example/save", "its address begins with nothing, and only http and https are asked"),
        ("http://", "its address names no host"),
        ("http://saver.example:many/", "its address cannot be read: "),
        ("http://[::1/", "its address cannot be read: "),
    ],
)
async def test_nobody_is_asked_at_an_address_that_is_none(url: str, why: str) -> None:
    reply = await post(url)
    assert reply.status == 0
    assert reply.text.startswith(f"the webhook was not asked: {why}")


async def test_a_question_without_end_is_not_sent() -> None:
    reply = await post("http://127.0.0.1:1/", b"x" * (webhook.SENT_BYTES_MAX + 1))
    assert reply == Reply(0, f"the webhook was not asked: the question is longer than {webhook.SENT_BYTES_MAX} bytes")
