"""Asks a URL that people named, once: JSON out, a status back. What it means is not known here.

Law of this file: the address is a rollout's, and whom we ask is the administrator's: only origins (scheme, host and
port) that the controller was started with, no redirect away from them, no proxy of the environment, ten seconds. What
is answered beside the status is not read, so nobody reads by us what they could not reach themselves. Nothing of the
cluster's credentials goes along. Whatever goes wrong is an answer too, with the status 0: the caller decides when to
ask again.

Tests: tests/adapters/http/test_webhook.py
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from seatrial.core.errors import SeatrialError
from seatrial.core.text import foreign

TIMEOUT_SECONDS: Final = 10.0
SENT_BYTES_MAX: Final = 1024 * 1024
SCHEMES: Final = ("http", "https")


class Reply(NamedTuple):
    """The status that came back, and for 0, which is no answer, why."""

    status: int
    text: str = ""


class OriginInvalid(SeatrialError):  # noqa: N818  the message says what to do
    """What is allowed is no origin."""


def origin_of(url: str) -> tuple[str, str, int] | None:
    """Scheme, host and port of an address; None where it has none, or carries a login.

    Read by the parser that the request is made with: two that differ in one letter would let somebody else be asked.
    """
    try:
        read = URL(url)
        scheme, host, port = read.scheme, read.host, read.port
    except ValueError:
        return None
    if scheme not in SCHEMES or not host or port is None or read.user is not None or read.password is not None:
        return None
    return scheme, host.lower(), port


def allowed(urls: Collection[str]) -> frozenset[tuple[str, str, int]]:
    """The origins that may be asked, as the administrator wrote them."""
    found = set()
    for url in urls:
        origin = origin_of(url)
        if origin is None or URL(url) != URL(url).origin():
            raise OriginInvalid(f"{url!r} is not an origin that webhooks may be at. Write it as https://HOST:PORT.")
        found.add(origin)
    return frozenset(found)


class Webhooks:
    """Asks webhooks of these origins, and no others."""

    def __init__(self, origins: Collection[tuple[str, str, int]], *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self._origins = frozenset(origins)
        self._timeout_seconds = timeout_seconds

    async def post(self, url: str, body: bytes) -> Reply:
        """Send JSON to a URL."""
        fault = _fault(url) or self._barred(url)
        fault = fault or (f"the question is longer than {SENT_BYTES_MAX} bytes" if len(body) > SENT_BYTES_MAX else "")
        if fault:
            return Reply(0, foreign.line(f"the webhook was not asked: {fault}"))
        where, seconds = urlsplit(url).hostname, self._timeout_seconds
        limit = aiohttp.ClientTimeout(total=seconds)
        try:
            async with (
                aiohttp.ClientSession(timeout=limit, cookie_jar=aiohttp.DummyCookieJar()) as session,
                session.post(
                    url, data=body, headers={"Content-Type": "application/json"}, allow_redirects=False
                ) as response,
            ):
                return Reply(response.status)
        except TimeoutError:
            return Reply(0, f"the webhook at {where} did not answer within {seconds:g} s")
        except (aiohttp.ClientError, OSError, ValueError) as err:  # a host that cannot even be a name is a ValueError
            return Reply(0, foreign.line(f"the webhook at {where} was not reached: {err or type(err).__name__}"))

    def _barred(self, url: str) -> str:
        origin = origin_of(url)
        if origin in self._origins:
            return ""
        host = f"{origin[0]}://{origin[1]}:{origin[2]}" if origin is not None else "its address"
        return f"{host} is none of those that this controller may ask; an administrator allows it (--webhook-allow)"


def _fault(url: str) -> str:
    """Why nobody is asked at such an address; empty when it is a good one."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port  # a port that is no number is a ValueError
    except ValueError as err:
        return f"its address cannot be read: {err}"
    if parts.scheme not in SCHEMES:
        return f"its address begins with {parts.scheme or 'nothing'}, and only http and https are asked"
    return "" if host else "its address names no host"
