"""A few pages over HTTP: a path and a function that answers. What the pages say is not known here.

Only GET and HEAD of the paths given; any other path is a 404. There is no TLS and no login, so a page must hold nothing
that is not for everybody in the network.

Tests: tests/controller/test_health.py
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final, TypeAlias

from aiohttp import web

from seatrial.core.base.values import dataclass
from seatrial.core.errors import SeatrialError

TEXT: Final = "text/plain; charset=utf-8"
PORT_MAX: Final = 65535
GOODBYE_SECONDS: Final = 1.0
"""How long an answer under way may take once we are asked to stop."""


class AddressInvalid(SeatrialError):  # noqa: N818  a refusal about a text
    """The text is no address to listen on."""


class ListenFailed(SeatrialError):  # noqa: N818
    """The machine does not let us listen there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where to listen; no host means every address of the machine, port 0 any free one."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read `0.0.0.0:8480`, `[::1]:8480` or `:8480`."""
        host, colon, port = text.rpartition(":")
        if not colon:
            raise _invalid(text, "it has no port")
        if not (port.isascii() and port.isdigit() and int(port) <= PORT_MAX):
            raise _invalid(text, f"the port {port!r} is not a number from 0 to {PORT_MAX}")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        elif ":" in host:
            raise _invalid(text, "an IPv6 address stands in brackets, as in [::1]:8480")
        return cls(host=host, port=int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is sent back."""

    body: bytes
    status: int = 200
    content_type: str = TEXT


Page: TypeAlias = Callable[[], Answer]


@asynccontextmanager
async def serve(address: Address, pages: Mapping[str, Page]) -> AsyncIterator[Address]:
    """Serve the pages while the context lasts; gives the address really taken."""
    application = web.Application()
    for path, page in pages.items():
        application.router.add_get(path, _handler(page))
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=GOODBYE_SECONDS)
    await runner.setup()
    try:
        await _listen(runner, address)
        host, port = runner.addresses[0][:2]
        yield Address(host=host, port=port)
    finally:
        await runner.cleanup()


async def _listen(runner: web.AppRunner, address: Address) -> None:
    try:
        await web.TCPSite(runner, address.host or None, address.port).start()
    except (OSError, UnicodeError) as err:  # a host that cannot even be a name is a UnicodeError
        raise ListenFailed(f"Cannot listen on {address}: {_why(err)}.") from err


def _why(error: OSError | UnicodeError) -> str:
    # asyncio repeats the address in its text, and a failed lookup has numbers of its own.
    if isinstance(error, OSError) and error.errno and not isinstance(error, socket.gaierror):
        return os.strerror(error.errno)
    if "could not bind on any address" in str(error):  # from Python 3.13 on, without the number and with its own tuple
        return os.strerror(errno.EADDRNOTAVAIL)
    return getattr(error, "strerror", None) or str(error)


def _handler(page: Page) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(_request: web.Request) -> web.Response:
        answer = page()
        # As a header and not as `content_type`, which knows no parameter but the charset.
        return web.Response(body=answer.body, status=answer.status, headers={"Content-Type": answer.content_type})

    return handle


def _invalid(text: str, why: str) -> AddressInvalid:
    return AddressInvalid(f"{text!r} is not an address to listen on: {why}. Write HOST:PORT, such as 0.0.0.0:8480.")
