"""Calls of a forge's API: one try each, as short and as narrow as they can be.

The token is read for every call, from the file of a mounted secret, and goes to the API it was bound to and nowhere
else: no redirect is followed, no proxy of the environment is asked, no cookie is kept. It is in no address, log or
error, not even where a forge repeats it.

Tests: tests/adapters/forge/test_calling.py
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlencode, urlsplit

import aiohttp
import msgspec
from yarl import URL

from seatrial.adapters import trust
from seatrial.adapters.forge.errors import ForgeError, ForgeRefused, ForgeUnavailable
from seatrial.adapters.forge.places import Place
from seatrial.adapters.forge.shape import Call, Shape
from seatrial.core.base.values import dataclass
from seatrial.core.text import foreign

TIMEOUT_SECONDS: Final = 20.0
READ_BYTES_MAX: Final = 8 * 1024 * 1024
SAID_LENGTH_MAX: Final = 300
TOO_MANY: Final = 429
_NEXT: Final = {
    401: "Its token counts no more, or is another forge's: put a new one into the file token of the secret.",
    403: "Give the token's account the right to it.",
    404: "Look at the address, and whether the token's account may see the repository.",
}
"""What a person does about a refusal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back."""

    status: int
    body: bytes
    is_limited: bool = False
    """Whether we are told that we have asked too often."""


class Caller:
    """Asks one API, with one token."""

    def __init__(self, place: Place, shape: Shape, *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self._place = place
        self._shape = shape
        self._timeout_seconds = timeout_seconds

    @property
    def host(self) -> str:
        """Whom we ask, for people."""
        return urlsplit(self._place.api).netloc

    async def ask(self, call: Call) -> Answer:
        """Ask once, and take whatever is answered; ForgeUnavailable where nothing is."""
        token = _token(self._place.token)
        query = f"?{urlencode(call.query)}" if call.query else ""
        url = URL(f"{self._place.api}{call.path}{query}", encoded=True)  # a name with a slash in it stays one word
        headers = {"User-Agent": "seatrial", **self._shape.headers(token)}
        data = msgspec.json.encode(call.body) if call.body is not None else None
        if data is not None:
            headers["Content-Type"] = "application/json"
        limit = aiohttp.ClientTimeout(total=self._timeout_seconds)
        trusted = aiohttp.TCPConnector(ssl=self._trusted())
        try:
            async with (
                aiohttp.ClientSession(timeout=limit, cookie_jar=aiohttp.DummyCookieJar(), connector=trusted) as session,
                session.request(call.method, url, data=data, headers=headers, allow_redirects=False) as response,
            ):
                is_limited = _is_limited(response.status, response.headers)
                return Answer(status=response.status, body=await _all(response), is_limited=is_limited)
        except TimeoutError:
            raise ForgeUnavailable(
                f"The forge at {self.host} did not answer within {self._timeout_seconds:g} s."
            ) from None
        except aiohttp.ClientConnectorCertificateError as err:
            found = err.certificate_error
            why = getattr(found, "verify_message", "") or str(found)
            raise ForgeRefused(trust.distrust(f"The forge at {self.host}", why.rstrip("."))) from None
        except (aiohttp.ClientError, OSError, ValueError) as err:
            # Not as the cause: what aiohttp says of a request may have its headers in it.
            why = _without(str(err) or type(err).__name__, token)
            raise ForgeUnavailable(f"The forge at {self.host} was not reached: {why}") from None

    async def do(self, call: Call) -> bytes:
        """Ask once, and take nothing but a yes."""
        return self.good(call, await self.ask(call))

    def good(self, call: Call, answer: Answer) -> bytes:
        """The body of a yes; a ForgeError for everything else."""
        if 200 <= answer.status < 300:
            return answer.body
        raise self._error(call, answer)

    def _trusted(self) -> ssl.SSLContext | bool:
        if self._place.authority is None:
            return True
        try:
            return trust.context_of(self._place.authority)
        except trust.AuthorityInvalid as err:
            raise ForgeRefused(str(err)) from None

    def _error(self, call: Call, answer: Answer) -> ForgeError:
        asked = f"{call.method} {call.path}"
        if answer.is_limited or answer.status >= 500:
            why = "asks us to wait" if answer.is_limited else f"answers {answer.status}"
            return ForgeUnavailable(f"The forge at {self.host} {why} to {asked}.")
        if 300 <= answer.status < 400:
            return ForgeRefused(
                f"The forge at {self.host} answers {asked} with a redirect, which is not followed: "
                "the token would go along. Name the address that it leads to."
            )
        said = _without(
            foreign.line(answer.body.decode("utf-8", "replace"), SAID_LENGTH_MAX), _token(self._place.token)
        )
        then = _NEXT.get(answer.status, "")
        return ForgeRefused(f"The forge at {self.host} refuses {asked} with {answer.status}: {said}. {then}".strip())


async def _all(response: aiohttp.ClientResponse) -> bytes:
    """The whole answer; one that does not end is not listened to."""
    read = b""
    async for chunk in response.content.iter_any():
        read += chunk
        if len(read) > READ_BYTES_MAX:
            raise ValueError(f"its answer is longer than {READ_BYTES_MAX} bytes")
    return read


def _is_limited(status: int, headers: Mapping[str, str]) -> bool:
    """Whether a refusal is about how often we ask: GitHub says so with 403, too."""
    return status == TOO_MANY or (
        status == 403 and (headers.get("X-RateLimit-Remaining") == "0" or "Retry-After" in headers)
    )


def _token(folder: Path) -> str:
    try:
        text = (folder / "token").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise ForgeRefused(f"The secret at {folder} has no readable file token, which the forge asks for.") from None
    if not text or not text.isprintable() or " " in text:
        raise ForgeRefused(f"The file token in {folder} holds no token.")
    return text


def _without(text: str, token: str) -> str:
    return text.replace(token, "***")
