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
from seatrial.adapters.http.webhook import Reply

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


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
        assert await webhook.post(f"{url}?team=a", b'{"node":"n1"}') == Reply(200, "saved in time")
        assert await webhook.post(f"{url}?team=a", b'{"node":"n1"}') == Reply(200, "saved in time")
    assert seen == [("POST", "/save?team=a", "application/json", b'{"node":"n1"}', False)] * 2


@pytest.mark.parametrize("status", [202, 204, 404, 500])
async def test_every_status_is_an_answer(status: int) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(status=status)

    async with serving(handler) as url:
        assert await webhook.post(url, b"{}") == Reply(status, "")


async def test_a_redirect_is_not_followed() -> None:
    paths: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        paths.append(request.path)
        return web.Response(status=307, headers={"Location": "/elsewhere"})

    async with serving(handler) as url:
        assert (await webhook.post(url, b"{}")).status == 307
    assert paths == ["/save"]


async def test_of_a_long_answer_only_the_beginning_is_heard() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while request.transport is not None and not request.transport.is_closing():
            await response.write(b"x" * 65536)
        return response

    async with serving(handler) as url:
        reply = await asyncio.wait_for(webhook.post(url, b"{}"), 5)
    assert reply == Reply(200, "x" * (webhook.SAID_LENGTH_MAX - 1) + "…")


async def test_an_answer_cannot_move_the_cursor_of_whoever_reads_it() -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(text="no\x1b[2J\0 \u202eway\r\n", status=409)

    async with serving(handler) as url:
        assert await webhook.post(url, b"{}") == Reply(409, "no� �way")


async def test_bytes_that_are_no_text_are_an_answer_all_the_same() -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(status=500, body=b"\xff\xfe no")

    async with serving(handler) as url:
        assert await webhook.post(url, b"{}") == Reply(500, "\ufffd\ufffd no")


async def test_who_does_not_answer_in_time_is_not_waited_for() -> None:
    over = asyncio.Event()

    async def handler(_: web.Request) -> web.Response:
        await over.wait()
        return web.Response()

    async with serving(handler) as url:
        reply = await webhook.post(url, b"{}", timeout_seconds=0.1)
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
        reply = await webhook.post(url, b"{}")
    assert (reply.status, count) == (0, 1)
    assert reply.text.startswith("the webhook at 127.0.0.1 was not reached: ")


async def test_nobody_there_is_no_answer() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    reply = await webhook.post(f"http://127.0.0.1:{port}/", b"{}")
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
    reply = await webhook.post(url, b"{}")
    assert reply.status == 0
    assert reply.text.startswith(f"the webhook was not asked: {why}")


async def test_a_question_without_end_is_not_sent() -> None:
    reply = await webhook.post("http://127.0.0.1:1/", b"x" * (webhook.SENT_BYTES_MAX + 1))
    assert reply == Reply(0, f"the webhook was not asked: the question is longer than {webhook.SENT_BYTES_MAX} bytes")
