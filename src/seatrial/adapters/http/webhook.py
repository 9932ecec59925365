"""Asks a URL that people named, once: JSON out, a status and a few words back. What they mean is not known here.

The address comes from a resource that others write, so little is granted to it: http and https only, no redirects, no
proxy of the environment, ten seconds, and of the answer only its beginning. Nothing of the cluster's credentials goes
along. Whatever goes wrong is an answer too, with the status 0: the caller decides when to ask again.

Tests: tests/adapters/http/test_webhook.py
"""

from __future__ import annotations

from typing import Final, NamedTuple
from urllib.parse import urlsplit

import aiohttp

from seatrial.core.text import foreign

TIMEOUT_SECONDS: Final = 10.0
SENT_BYTES_MAX: Final = 1024 * 1024
READ_BYTES_MAX: Final = 4096
SAID_LENGTH_MAX: Final = 200
SCHEMES: Final = ("http", "https")


class Reply(NamedTuple):
    """What came back; a status of 0 is no answer, and the text says why."""

    status: int
    text: str


async def post(url: str, body: bytes, *, timeout_seconds: float = TIMEOUT_SECONDS, reads: bool = True) -> Reply:
    """Send JSON to a URL; without `reads` nothing but the status of the answer is looked at."""
    fault = _fault(url) or (f"the question is longer than {SENT_BYTES_MAX} bytes" if len(body) > SENT_BYTES_MAX else "")
    if fault:
        return Reply(0, foreign.line(f"the webhook was not asked: {fault}"))
    where = urlsplit(url).hostname
    limit = aiohttp.ClientTimeout(total=timeout_seconds)
    try:
        async with (
            aiohttp.ClientSession(timeout=limit, cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.post(
                url, data=body, headers={"Content-Type": "application/json"}, allow_redirects=False
            ) as response,
        ):
            return Reply(response.status, _said(await _beginning(response)) if reads else "")
    except TimeoutError:
        return Reply(0, f"the webhook at {where} did not answer within {timeout_seconds:g} s")
    except (aiohttp.ClientError, OSError, ValueError) as err:  # a host that cannot even be a name is a ValueError
        return Reply(0, foreign.line(f"the webhook at {where} was not reached: {err or type(err).__name__}"))


async def _beginning(response: aiohttp.ClientResponse) -> bytes:
    """The first bytes of the answer; whoever sends more is not listened to."""
    read = b""
    async for chunk in response.content.iter_any():
        read += chunk
        if len(read) >= READ_BYTES_MAX:
            break
    return read[:READ_BYTES_MAX]


def _said(body: bytes) -> str:
    """The answer as one short line."""
    return foreign.line(" ".join(body.decode("utf-8", "replace").split()), SAID_LENGTH_MAX)


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
