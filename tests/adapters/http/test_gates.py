"""Gates that a webhook answers: by its status alone, and only where an administrator allows it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aiohttp import web

from seatrial.adapters.http.gates import WebhookMeasurer
from seatrial.adapters.http.webhook import OriginInvalid, Webhooks, allowed, origin_of
from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.model.gates.gate import Gate, GateVerdict, Measurement
from tests.adapters.http.test_webhook import serving


async def asked(url: str, *origins: str) -> Measurement:
    measurer = WebhookMeasurer(uid_of=lambda _name: "uid-1", webhooks=Webhooks(allowed(origins)))
    gate = Gate(name="ci", webhook=url)
    await measurer.measure(StartProbe(rollout="spring", gate=gate, node="n1", round=2, attempt=1))
    (found,) = measurer.measurements("uid-1")
    return found


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (200, GateVerdict.PASSED),
        (204, GateVerdict.PASSED),
        (202, GateVerdict.UNKNOWN),
        (409, GateVerdict.FAILED),
        (422, GateVerdict.FAILED),
        (401, GateVerdict.UNKNOWN),
        (404, GateVerdict.UNKNOWN),
        (500, GateVerdict.UNKNOWN),
    ],
)
async def test_the_status_is_the_verdict_and_the_words_beside_it_are_not_read(
    status: int, verdict: GateVerdict
) -> None:
    heard: list[Any] = []

    async def handler(request: web.Request) -> web.Response:
        heard.append(json.loads(await request.read()))
        return web.Response(status=status, text=None if status == 204 else "the secret of somebody")

    async with serving(handler) as url:
        found = await asked(url, url.removesuffix("/save"))
    assert found.verdict is verdict
    assert f"the webhook says {status}" in found.detail
    assert "secret" not in repr(found)
    assert heard == [{"rollout": "spring", "gate": "ci", "node": "n1", "round": 2, "attempt": 1}]


async def test_a_redirect_is_not_followed_and_is_no_verdict() -> None:
    paths: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        paths.append(request.path)
        return web.Response(status=307, headers={"Location": "/elsewhere"})

    async with serving(handler) as url:
        found = await asked(url, url.removesuffix("/save"))
    assert (found.verdict, paths) == (GateVerdict.UNKNOWN, ["/save"])


async def test_nobody_is_asked_whom_no_administrator_allows() -> None:
    heard: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        heard.append(request.path)
        return web.Response()

    async with serving(handler) as url:
        port = url.removesuffix("/save").rpartition(":")[2]
        for origins in ((), ("https://ci.example.com",), (f"https://127.0.0.1:{port}",), ("http://127.0.0.1:1",)):
            found = await asked(url, *origins)
            assert found.verdict is GateVerdict.UNKNOWN
            assert "an administrator allows it (--webhook-allow)" in found.detail
    assert heard == []


async def test_a_server_that_is_not_there_is_unknown() -> None:
    found = await asked("http://127.0.0.1:1/ask", "http://127.0.0.1:1")
    assert found.verdict is GateVerdict.UNKNOWN
    assert "was not reached" in found.detail


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://CI.example.com/a?b=c#d", ("https", "ci.example.com", 443)),
        ("http://ci.example.com:8080", ("http", "ci.example.com", 8080)),
        ("http://[::1]:8080/x", ("http", "::1", 8080)),
        ("https://allowed.example@evil.example/", None),
        ("https://allowed.example:x@evil.example/", None),
        ("ftp://ci.example.com/", None),
        ("https:///path", None),
        ("https://ci.example.com:99999999/", None),
        ("ci.example.com", None),
        ("", None),
    ],
)
def test_an_address_has_an_origin_or_is_not_asked(url: str, origin: tuple[str, str, int] | None) -> None:
    assert origin_of(url) == origin


@pytest.mark.parametrize(
    "url",
    [
        "https://allowed.example\\@evil.example/",
        "https://evil.example#@allowed.example",
        "https://evil.example\\.allowed.example",
    ],
)
def test_an_address_that_is_read_in_two_ways_is_not_taken_for_the_allowed_one(url: str) -> None:
    assert origin_of(url) != ("https", "allowed.example", 443)


@pytest.mark.parametrize(
    "url", ["https://ci.example.com/path", "https://ci.example.com?a", "ci.example.com", "https://a@b"]
)
def test_what_is_allowed_is_an_origin(url: str) -> None:
    assert allowed(["https://ci.example.com/", "http://ci.example.com:80"]) == {
        ("https", "ci.example.com", 443),
        ("http", "ci.example.com", 80),
    }
    with pytest.raises(OriginInvalid, match="Write it as https://HOST:PORT"):
        allowed([url])
