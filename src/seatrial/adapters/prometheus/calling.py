"""Calls of a Prometheus' API: one try each, as short and as narrow as they can be.

A login is read for every look and goes to the address it was named with and nowhere else: no redirect is followed, no
proxy of the environment is asked, no cookie is kept. It is in no log or error, not even where it comes back to us.
Questions are posted, since a query for many nodes is longer than an address may be.

Tests: tests/adapters/prometheus/test_calling.py
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from seatrial.adapters.prometheus import answers
from seatrial.adapters.prometheus.errors import (
    PrometheusError,
    PrometheusRefused,
    PrometheusTooMuch,
    PrometheusUnavailable,
)
from seatrial.adapters.prometheus.places import Login, Place

TIMEOUT_SECONDS: Final = 30.0
THEIR_TIMEOUT_SHARE: Final = 0.8
"""It is told to give up earlier than we do, so that it says so itself and stops working."""
READ_BYTES_MAX: Final = 32 * 1024 * 1024
QUERY, SERIES, TARGETS = "/api/v1/query", "/api/v1/series", "/api/v1/targets"
RUNTIME: Final = "/api/v1/status/runtimeinfo"
_NEXT: Final = {
    401: "Its login counts no more, or is another's: put a new one into the secret.",
    403: "Give the login the right to read metrics of every namespace.",
    404: "Look at the address: what is there is no Prometheus, or it lives below another path.",
}
"""What a person does about a refusal."""
_LATER: Final = (429, 500, 502, 503, 504)

Fields = Sequence[tuple[str, str]]


class Caller:
    """Asks one Prometheus, while its context lasts."""

    def __init__(self, place: Place, session: aiohttp.ClientSession, login: Login, *, timeout_seconds: float) -> None:
        self._place = place
        self._session = session
        self._login = login
        self._timeout_seconds = timeout_seconds

    async def ask(self, path: str, fields: Fields, *, method: str = "POST") -> bytes:
        """Ask once, and take nothing but a yes; a PrometheusError for everything else."""
        timeout = f"{max(self._timeout_seconds * THEIR_TIMEOUT_SHARE, 1):.0f}s"
        asked = urlencode([*fields, *([("timeout", timeout)] if path == QUERY else [])])
        url = URL(f"{self._place.url}{path}" + (f"?{asked}" if method == "GET" else ""))
        data = None if method == "GET" else asked.encode()
        headers = {"User-Agent": "seatrial", "Accept": "application/json"}
        headers |= {"Authorization": self._login.header} if self._login.header else {}
        headers |= {"Content-Type": "application/x-www-form-urlencoded"} if data is not None else {}
        try:
            async with (
                asyncio.timeout(self._timeout_seconds),
                self._session.request(method, url, data=data, headers=headers, allow_redirects=False) as response,
            ):
                body = await self._all(response)
        except TimeoutError:
            raise PrometheusUnavailable(
                f"{self._place.host} did not answer within {self._timeout_seconds:g} s"
            ) from None
        except (aiohttp.ClientError, OSError, ValueError) as err:
            # Not as the cause: what aiohttp says of a request may have its headers in it.
            why = self._login.without(str(err) or type(err).__name__)
            raise PrometheusUnavailable(f"{self._place.host} was not reached: {why}") from None
        if 200 <= response.status < 300:
            return body
        raise self._error(response.status, body)

    async def _all(self, response: aiohttp.ClientResponse) -> bytes:
        """The whole answer; one that does not end is not listened to."""
        read = bytearray()
        async for chunk in response.content.iter_any():
            read += chunk
            if len(read) > READ_BYTES_MAX:
                raise PrometheusTooMuch(
                    f"{self._place.host} answers with more than {READ_BYTES_MAX} bytes. "
                    "Watch fewer nodes, or a shorter stretch at once."
                )
        return bytes(read)

    def _error(self, status: int, body: bytes) -> PrometheusError:
        host, said = self._place.host, self._login.without(answers.trouble(body))
        if status in _LATER:
            return PrometheusUnavailable(f"{host} answers {status}: {said or 'it does not say why'}")
        if 300 <= status < 400:
            return PrometheusRefused(
                f"{host} answers with a redirect, which is not followed: a login would go along. "
                "Name the address that it leads to."
            )
        if status in (400, 422):
            return PrometheusRefused(f"{host} does not take the query: {said}")
        return PrometheusRefused(f"{host} refuses with {status}: {said}. {_NEXT.get(status, '')}".strip())


@asynccontextmanager
async def calling(place: Place, *, timeout_seconds: float = TIMEOUT_SECONDS) -> AsyncIterator[Caller]:
    """A caller for a few questions in a row."""
    login, trust = place.login(), place.trust()
    async with aiohttp.ClientSession(
        cookie_jar=aiohttp.DummyCookieJar(), connector=aiohttp.TCPConnector(ssl=trust)
    ) as session:
        yield Caller(place, session, login, timeout_seconds=timeout_seconds)
