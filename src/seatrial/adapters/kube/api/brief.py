"""Requests of a command that looks once and goes: HTTP/1.1 on the standard library alone, a few connections at most.

Importing aiohttp takes a third of the CPU of a whole look. A single look needs none of its strengths (watches,
proxies, a hundred connections); commands that stay, and those behind a proxy, use pooled.py.
A watch here yields nothing: a look is over once everything is listed.
Tests: tests/adapters/kube/test_client.py, test_tls.py run over both.
"""

from __future__ import annotations

import asyncio
import gzip
import ssl
import zlib
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from seatrial.adapters.kube.api import auth
from seatrial.adapters.kube.api.connection import Answer, Connection, Point, Request, plain

CONNECTIONS_MAX: Final = 4
"""A TLS handshake costs more than waiting for the answer before."""

_NO_HTTP: Final = (EOFError, ValueError, asyncio.LimitOverrunError, zlib.error)
Wire = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _Unreached(OSError):  # noqa: N818 — never leaves this module
    """There is no connection, and why."""

    def __init__(self, why: OSError) -> None:
        super().__init__()
        self.why = why


class _Cut(OSError):  # noqa: N818 — never leaves this module
    """The connection ended in the middle of an answer, or brought something else than HTTP."""


class Brief(Connection):
    """A few connections, kept until the end of the look."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._idle: list[Wire] = []
        self._free = asyncio.Semaphore(min(CONNECTIONS_MAX, self._connections_max))

    async def close(self) -> None:
        for _, writer in self._idle:
            writer.transport.abort()
        self._idle.clear()

    async def _send(self, request: Request, credential: auth.Credential) -> Answer:
        if request.params.get("watch") == "true":
            return Received(status=200, headers={})
        try:
            return await self._once(request, credential)
        except (_Unreached, TimeoutError):
            raise
        except OSError:
            if request.verb != "GET":
                raise  # it may have taken effect
            return await self._once(request, credential)  # most likely an idle connection the server closed meanwhile

    async def _once(self, request: Request, credential: auth.Credential) -> Answer:
        async with asyncio.timeout(request.limit.total_seconds), self._free:
            wire = self._idle.pop() if self._idle else await self._connected(credential)
            is_kept = False
            try:
                answer, is_kept = await _exchanged(wire, self._written(request, credential))
            except _NO_HTTP as err:
                raise _Cut(str(err) or type(err).__name__) from err
            else:
                return answer
            finally:
                if is_kept:
                    self._idle.append(wire)
                else:
                    wire[1].transport.abort()

    async def _connected(self, credential: auth.Credential) -> Wire:
        server, context = urlsplit(self.config.server), await self._tls_context(credential.certificate)
        name = (self.config.tls_server_name or server.hostname) if context is not None else None
        port = server.port or (80 if context is None else 443)
        try:
            return await asyncio.open_connection(server.hostname, port, ssl=context, server_hostname=name)
        except OSError as err:
            raise _Unreached(err) from err

    def _written(self, request: Request, credential: auth.Credential) -> bytes:
        server = urlsplit(self.config.server)
        asked = f"?{urlencode(request.params)}" if request.params else ""
        headers = [("Host", server.netloc.rpartition("@")[2]), *self._headers_of(request, credential)]
        if request.body is not None:
            headers.append(("Content-Length", str(len(request.body))))
        lines = [f"{request.verb} {server.path.rstrip('/')}{quote(request.path)}{asked} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers]
        if any("\r" in line or "\n" in line for line in lines):
            raise RuntimeError("a line of a request has a line break in it")  # else it would be two lines
        return "\r\n".join([*lines, "", ""]).encode() + (request.body or b"")

    def _point(self, err: Exception) -> tuple[Point, object]:
        match err:
            case _Unreached(why=ssl.SSLCertVerificationError() as why):
                return Point.CERTIFICATE, why
            case _Unreached(why=ssl.SSLError() as why):
                return Point.TLS, plain(why)
            case _Unreached(why=why):
                return Point.UNREACHED, plain(why)
            case TimeoutError():
                return Point.SILENT, err
            case _:
                return Point.CUT, str(err) or type(err).__name__


class Received:
    """An answer that is here as a whole; of a watch nothing is heard."""

    def __init__(self, *, status: int, headers: Mapping[str, str], body: bytes = b"") -> None:
        self.status, self.headers, self.content = status, headers, self
        self._body = body

    async def read(self) -> bytes:
        """All of it."""
        return self._body

    async def iter_any(self) -> AsyncIterator[bytes]:
        """The events of a watch: none, until the caller stops listening."""
        await asyncio.Event().wait()
        yield b""

    def release(self) -> None:
        """There is nothing left to read."""


async def _exchanged(wire: Wire, sent: bytes) -> tuple[Received, bool]:
    """Send, and read the whole answer; whether the connection may be used again."""
    reader, writer = wire
    writer.write(sent)
    await writer.drain()
    version, code, *_ = (await _line(reader)).split(" ", 2)
    headers: dict[str, str] = {}
    while line := await _line(reader):
        name, _, value = line.partition(":")
        headers[name.title()] = value.strip()
    body, is_whole = await _body(reader, headers)
    if headers.get("Content-Encoding") == "gzip":
        body = gzip.decompress(body)
    is_kept = is_whole and version == "HTTP/1.1" and headers.get("Connection", "").lower() != "close"
    return Received(status=int(code), headers=headers, body=body), is_kept


async def _line(reader: asyncio.StreamReader) -> str:
    return (await reader.readuntil(b"\n")).decode("latin-1").rstrip("\r\n")


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> tuple[bytes, bool]:
    """The body, and whether it ended before the connection did."""
    if headers.get("Transfer-Encoding", "").lower() == "chunked":
        parts = []
        while size := int((await _line(reader)).partition(";")[0], 16):
            parts.append(await reader.readexactly(size))
            await _line(reader)
        while await _line(reader):
            pass  # trailers
        return b"".join(parts), True
    if "Content-Length" in headers:
        return await reader.readexactly(int(headers["Content-Length"])), True
    return await reader.read(), False
