"""The connection to one cluster as one identity: one request in, one open answer out, and every failure one of ours.

Paths and bodies are text here; what they mean is client.py. Tests: tests/adapters/kube/test_client*.py, test_tls.py.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp

from seatrial.adapters.kube.api import auth, errors, tls
from seatrial.adapters.kube.api import config as configs


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request, as it is sent."""

    verb: str
    path: str
    params: Mapping[str, str]
    limit: aiohttp.ClientTimeout
    body: bytes | None = None
    content_type: str = ""

    @property
    def name(self) -> str:
        return f"{self.verb} {self.path}"


class Connection:
    """A connection pool, and what it takes to be let in."""

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
        self._session: aiohttp.ClientSession | None = None
        self._tls: tuple[configs.Certificate | None, ssl.SSLContext] | None = None

    def open(self) -> None:
        """Make ready to send."""
        connector = aiohttp.TCPConnector(limit=self._connections_max)
        self._session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        # aiohttp sends PUT and DELETE a second time when the answer to the first was lost, and offers no switch
        # (aiohttp#10790). A delete by name would then hit the successor of the pod it has just deleted.
        self._session._retry_connection = False

    async def close(self) -> None:
        """Let go of all connections."""
        if self._session is not None:
            await self._session.close()

    @asynccontextmanager
    async def answer(self, request: Request) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send one request and hold its successful answer open; everything else leaves as one of our errors."""
        response: aiohttp.ClientResponse | None = None
        try:
            response = await self._authorized(request)
            if response.status >= 300:
                body, retry_after = await response.read(), response.headers.get("Retry-After", "")
                raise self.refusal(request.name, errors.read_status(response.status, body, retry_after))
            yield response
        except (aiohttp.ClientError, OSError) as err:  # TimeoutError is an OSError
            raise self._unavailable(request, err) from err
        finally:
            if response is not None:
                response.release()

    async def _authorized(self, request: Request) -> aiohttp.ClientResponse:
        credential = await self._credentials.current()
        response = await self._once_or_twice(request, credential)
        if response.status != 401:
            return response
        try:
            if not await self._credentials.renew(credential):
                return response
        except BaseException:  # a failing plugin, or a cancellation while it runs
            response.release()
            raise
        response.release()
        return await self._once_or_twice(request, await self._credentials.current())

    async def _once_or_twice(self, request: Request, credential: auth.Credential) -> aiohttp.ClientResponse:
        try:
            return await self._once(request, credential)
        except aiohttp.ClientConnectorError:
            raise
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            if request.verb != "GET":
                raise  # it may have taken effect
            return await self._once(request, credential)  # most likely an idle connection the server closed meanwhile

    async def _once(self, request: Request, credential: auth.Credential) -> aiohttp.ClientResponse:
        if self._session is None:
            raise RuntimeError("the client is used outside of `async with`")
        headers = [*self._headers]
        if credential.token:
            headers.append(("Authorization", f"Bearer {credential.token}"))
        if request.content_type:
            headers.append(("Content-Type", request.content_type))
        return await self._session.request(
            request.verb,
            self.config.server + request.path,
            params=request.params,
            data=request.body,
            headers=headers,
            timeout=request.limit,
            allow_redirects=False,
            ssl=await self._tls_context(credential.certificate),
            server_hostname=self.config.tls_server_name or None,
            proxy=self.config.proxy_url or None,
        )

    async def _tls_context(self, certificate: configs.Certificate | None) -> ssl.SSLContext | bool:
        if self.config.server.startswith("http:"):
            return True  # never used
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

    def _unavailable(self, request: Request, err: BaseException) -> errors.ClusterUnavailable:
        where = self.config.where()
        match err:
            case aiohttp.ClientConnectorCertificateError():
                what = (
                    f"{request.name} was not sent: {where} shows a certificate we do not trust: {err.certificate_error}"
                )
                return errors.ClusterUnavailable(what, "check certificate-authority-data and server in the kubeconfig")
            case aiohttp.ClientSSLError():
                what = f"{request.name} was not sent: TLS with {where} failed: {_plain(err.os_error)}"
                return errors.ClusterUnavailable(what, "check that the address is the API server's https address")
            case aiohttp.ClientConnectorError():
                what = f"{request.name} did not reach {where}: {_plain(err.os_error)}"
                return errors.ClusterUnavailable(what, "check that the cluster runs and that this machine may reach it")
            case TimeoutError():
                waited = request.limit.sock_read or request.limit.total
                what = f"{request.name} heard nothing from {where} within {waited:g} s"
                next_step = "check the network and the load of the API server"
            case _:
                what = f"{request.name} lost its connection to {where}: {err or type(err).__name__}"
                next_step = "check what lies between here and the API server"
        if request.verb != "GET":
            next_step = "look whether it took effect before trying again"
        return errors.ClusterUnavailable(what, next_step)


def _plain(err: OSError) -> str:
    """Say what the system calls it; asyncio's own words name the call that failed, not the reason."""
    return os.strerror(err.errno) if err.errno and err.errno > 0 and not isinstance(err, ssl.SSLError) else str(err)
