"""Whether a registry has an image, asked as anybody may ask: one HEAD of its manifest, with no login of anybody's.

    200              it exists
    404              it does not
    401, Bearer      where registries give a pass to everybody (nvcr.io, ghcr.io), it is fetched, and asked once more
    else             not known: a login is needed, a redirect, no answer

Law of this file: nobody's credentials are used, so an image that only a login sees is not known, and not missing. The
pass is for pulling this one repository, and goes to the registry that asked for it; no redirect is followed. Plain
http is for this machine alone. Tests: tests/adapters/http/test_registry.py
"""

from __future__ import annotations

import enum
import re
from typing import Final, Self
from urllib.parse import urlsplit

import aiohttp
import msgspec

from seatrial.core.base.values import dataclass
from seatrial.core.text import foreign

TIMEOUT_SECONDS: Final = 5.0
PASS_BYTES_MAX: Final = 64 * 1024
HUB: Final = "registry-1.docker.io"
KINDS: Final = ", ".join(
    (
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    )
)
LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")

_PART: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_IMAGE: Final = re.compile(
    r"(?:(?P<host>localhost|[A-Za-z0-9-]*[.:][A-Za-z0-9.:-]*|\[[0-9a-f:]+\](?::[0-9]+)?)/)?"
    rf"(?P<path>{_PART}(?:/{_PART})*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)
_FIELD: Final = re.compile(r'\b(\w+)="([^"]*)"')


class Presence(enum.Enum):
    """Whether an image is there."""

    EXISTS = "exists"
    MISSING = "missing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a registry answered, and in which words."""

    presence: Presence
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Image:
    host: str
    path: str
    reference: str

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Take a name apart as a container runtime does; None for what is no name, such as one with a wildcard."""
        found = _IMAGE.fullmatch(text)
        if found is None:
            return None
        host, path = found["host"] or "docker.io", found["path"]
        if host == "docker.io":
            host, path = HUB, path if "/" in path else f"library/{path}"
        return cls(host=host, path=path, reference=found["digest"] or found["tag"] or "latest")

    @property
    def is_here(self) -> bool:
        """Whether its registry is on this machine."""
        return re.sub(r":[0-9]+$", "", self.host) in LOOPBACK

    @property
    def url(self) -> str:
        return f"{'http' if self.is_here else 'https'}://{self.host}/v2/{self.path}/manifests/{self.reference}"


async def look_up(text: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> Found:
    """Whether this image is in its registry, as far as anybody may know."""
    image = _Image.parse(text)
    if image is None:
        return _unknown("that is not the name of an image")
    limit = aiohttp.ClientTimeout(total=timeout_seconds)
    try:
        async with aiohttp.ClientSession(timeout=limit, cookie_jar=aiohttp.DummyCookieJar()) as session:
            return await _asked(session, image)
    except TimeoutError:
        return _unknown(f"{image.host} did not answer within {timeout_seconds:g} s")
    except (aiohttp.ClientError, OSError, ValueError) as err:  # a host that cannot even be a name is a ValueError
        cause = err.os_error.strerror if isinstance(err, aiohttp.ClientConnectorError) else None
        return _unknown(f"{image.host} was not reached: {cause or err or type(err).__name__}")


async def _asked(session: aiohttp.ClientSession, image: _Image) -> Found:
    status, challenge = await _head(session, image, "")
    if status == 401:
        given = await _pass(session, image, challenge)
        if given:
            status, _ = await _head(session, image, given)
    match status:
        case 200:
            return Found(presence=Presence.EXISTS, why=f"{image.host} has it")
        case 404:
            return Found(presence=Presence.MISSING, why=f"{image.host} says 404, it has no such image")
        case 401 | 403:
            return _unknown(f"{image.host} wants a login ({status}), and none is used here")
        case _ if 300 <= status < 400:
            return _unknown(f"{image.host} answers with a redirect ({status}), and none is followed")
        case _:
            return _unknown(f"{image.host} says {status}")


async def _head(session: aiohttp.ClientSession, image: _Image, given: str) -> tuple[int, str]:
    headers = {"Accept": KINDS} | ({"Authorization": f"Bearer {given}"} if given else {})
    async with session.head(image.url, headers=headers, allow_redirects=False) as answer:
        return answer.status, answer.headers.get("WWW-Authenticate", "")


async def _pass(session: aiohttp.ClientSession, image: _Image, challenge: str) -> str:
    """What the registry gives to everybody who wants to pull; empty where it gives nothing."""
    kind, _, rest = challenge.partition(" ")
    fields = dict(_FIELD.findall(rest))
    realm = fields.get("realm", "")
    where = urlsplit(realm)
    is_safe = where.scheme == "https" or (where.scheme == "http" and image.is_here and where.hostname in LOOPBACK)
    if kind.lower() != "bearer" or not is_safe or not where.hostname:
        return ""
    # The scope is ours: what a registry asks for may be wider than one image.
    asked = {"service": fields.get("service", ""), "scope": f"repository:{image.path}:pull"}
    async with session.get(realm, params=asked, allow_redirects=False) as answer:
        if answer.status != 200:
            return ""
        body = await answer.content.read(PASS_BYTES_MAX)
    try:
        told = msgspec.json.decode(body)
    except msgspec.MsgspecError:
        return ""
    given = (told.get("token") or told.get("access_token")) if isinstance(told, dict) else ""
    return given if isinstance(given, str) and given.isascii() and given.isprintable() else ""


def _unknown(why: str) -> Found:
    return Found(presence=Presence.UNKNOWN, why=foreign.line(why, 300))
