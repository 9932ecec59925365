"""The connection to one cluster as one identity: one request in, one open answer out, and every failure one of ours.

Authentication and the names of failures are here. How bytes travel is in pooled.py for commands that stay, and in
brief.py for a command that looks once. Paths and bodies are text here; what they mean is client.py.
Tests: tests/adapters/kube/test_client*.py, test_tls.py.
"""

from __future__ import annotations

import asyncio
import enum
import os
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, ClassVar, Protocol

from seatrial.adapters.kube.api import auth, errors, tls
from seatrial.adapters.kube.api import config as configs
from seatrial.core.base.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """How long an answer may take: in all, until there is a connection, and from one byte to the next."""

    total_seconds: float
    connect_seconds: float | None = None
    silent_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request, as it is sent."""

    verb: str
    path: str
    params: Mapping[str, str]
    limit: Limit
    body: bytes | None = None
    content_type: str = ""

    @property
    def name(self) -> str:
        return f"{self.verb} {self.path}"


class Answer(Protocol):
    """An answer whose body is still to be read."""

    @property
    def status(self) -> int:
        """The code."""

    @property
    def headers(self) -> Mapping[str, str]:
        """What came with it."""

    @property
    def content(self) -> Any:
        """The body, piece by piece."""

    async def read(self) -> bytes:
        """The whole body."""

    def release(self) -> None:
        """Let go of it."""


class Point(enum.Enum):
    """How far a request came that got no answer."""

    CERTIFICATE = enum.auto()
    TLS = enum.auto()
    UNREACHED = enum.auto()
    SILENT = enum.auto()
    CUT = enum.auto()


class Connection:
    """What it takes to be let in."""

    TROUBLE: ClassVar[tuple[type[Exception], ...]] = (OSError,)
    """What sending fails with; TimeoutError is an OSError."""

    def __init__(
        self, config: configs.Config, *, user_agent: str, connections_max: int, wall_clock: Callable[[], float]
    ) -> None:
        self.config = config
        self._credentials = auth.credentials(config, clock=wall_clock)
        self._connections_max = connections_max
        self._headers = (
            ("User-Agent", user_agent),
            ("Accept", "application/json"),
            ("Accept-Encoding", "gzip" if config.is_compressed else "identity"),
            *config.impersonation,  # pairs, since a group may occur several times
        )
        self._tls: tuple[configs.Certificate | None, ssl.SSLContext] | None = None

    def open(self) -> None:
        """Make ready to send."""

    async def close(self) -> None:
        """Let go of all connections."""

    @asynccontextmanager
    async def answer(self, request: Request) -> AsyncIterator[Answer]:
        """Send one request and hold its successful answer open; everything else leaves as one of our errors."""
        response: Answer | None = None
        try:
            response = await self._authorized(request)
            if response.status >= 300:
                body, retry_after = await response.read(), response.headers.get("Retry-After", "")
                raise self.refusal(request.name, errors.read_status(response.status, body, retry_after))
            yield response
        except self.TROUBLE as err:
            raise self._unavailable(request, *self._point(err)) from err
        finally:
            if response is not None:
                response.release()

    async def _authorized(self, request: Request) -> Answer:
        credential = await self._credentials.current()
        response = await self._send(request, credential)
        if response.status != 401:
            return response
        try:
            if not await self._credentials.renew(credential):
                return response
        except BaseException:  # a failing plugin, or a cancellation while it runs
            response.release()
            raise
        response.release()
        return await self._send(request, await self._credentials.current())

    async def _send(self, request: Request, credential: auth.Credential) -> Answer:
        """Send a request; a read that met a closed keep-alive connection, once more."""
        raise NotImplementedError

    def _point(self, err: Exception) -> tuple[Point, object]:
        """How far a request came that failed so, and what to say of it."""
        raise NotImplementedError

    def _headers_of(self, request: Request, credential: auth.Credential) -> list[tuple[str, str]]:
        headers = [*self._headers]
        if credential.token:
            headers.append(("Authorization", f"Bearer {credential.token}"))
        if request.content_type:
            headers.append(("Content-Type", request.content_type))
        return headers

    async def _tls_context(self, certificate: configs.Certificate | None) -> ssl.SSLContext | None:
        if self.config.server.startswith("http:"):
            return None
        if self._tls is None or self._tls[0] != certificate:
            self._tls = (certificate, await asyncio.to_thread(tls.tls_context, self.config, certificate))
        return self._tls[1]

    def refusal(self, request: str, status: errors.Status) -> errors.ServerRefused:
        """What the server said no with."""
        return errors.refusal(status, request=request, where=self.config.where(), renewal=self._credentials.renewal())

    def unreadable(self, request: str, err: Exception) -> errors.AnswerUnreadable:
        """An answer that is none of an API server."""
        return errors.AnswerUnreadable(
            f"{request} was answered by {self.config.where()} with something else than expected: {err}",
            "check that the address is an API server and that this seatrial fits its version",
        )

    def _unavailable(self, request: Request, point: Point, said: object) -> errors.ClusterUnavailable:
        where = self.config.where()
        match point:
            case Point.CERTIFICATE:
                what = f"{request.name} was not sent: {where} shows a certificate we do not trust: {said}"
                return errors.ClusterUnavailable(what, "check certificate-authority-data and server in the kubeconfig")
            case Point.TLS:
                what = f"{request.name} was not sent: TLS with {where} failed: {said}"
                return errors.ClusterUnavailable(what, "check that the address is the API server's https address")
            case Point.UNREACHED:
                what = f"{request.name} did not reach {where}: {said}"
                return errors.ClusterUnavailable(what, "check that the cluster runs and that this machine may reach it")
            case Point.SILENT:
                waited = request.limit.silent_seconds or request.limit.total_seconds
                what = f"{request.name} heard nothing from {where} within {waited:g} s"
                next_step = "check the network and the load of the API server"
            case Point.CUT:
                what = f"{request.name} lost its connection to {where}: {said}"
                next_step = "check what lies between here and the API server"
        if request.verb != "GET":
            next_step = "look whether it took effect before trying again"
        return errors.ClusterUnavailable(what, next_step)


def plain(err: OSError) -> str:
    """Say what the system calls it; asyncio's own words name the call that failed, not the reason."""
    return os.strerror(err.errno) if err.errno and err.errno > 0 and not isinstance(err, ssl.SSLError) else str(err)
