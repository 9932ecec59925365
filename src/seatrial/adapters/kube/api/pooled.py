"""Requests over a pool of kept connections, for commands that stay, watch or write.

Tests: tests/adapters/kube/test_client*.py, test_tls.py.
"""

from __future__ import annotations

import aiohttp

from seatrial.adapters.kube.api import auth
from seatrial.adapters.kube.api.connection import Answer, Connection, Limit, Point, Request, plain


class Pooled(Connection):
    """A connection pool."""

    TROUBLE = (aiohttp.ClientError, OSError)
    _session: aiohttp.ClientSession | None = None

    def open(self) -> None:
        connector = aiohttp.TCPConnector(limit=self._connections_max)
        self._session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        # aiohttp sends PUT and DELETE a second time when the answer to the first was lost, and offers no switch
        # (aiohttp#10790). A delete by name would then hit the successor of the pod it has just deleted.
        self._session._retry_connection = False

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _send(self, request: Request, credential: auth.Credential) -> Answer:
        try:
            return await self._once(request, credential)
        except aiohttp.ClientConnectorError:
            raise
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            if request.verb != "GET":
                raise  # it may have taken effect
            return await self._once(request, credential)  # most likely an idle connection the server closed meanwhile

    async def _once(self, request: Request, credential: auth.Credential) -> Answer:
        if self._session is None:
            raise RuntimeError("the client is used outside of `async with`")
        return await self._session.request(
            request.verb,
            self.config.server + request.path,
            params=request.params,
            data=request.body,
            headers=self._headers_of(request, credential),
            timeout=_limit(request.limit),
            allow_redirects=False,
            ssl=await self._tls_context(credential.certificate) or True,  # True is never used: it is http
            server_hostname=self.config.tls_server_name or None,
            proxy=self.config.proxy_url or None,
        )

    def _point(self, err: Exception) -> tuple[Point, object]:
        match err:
            case aiohttp.ClientConnectorCertificateError():
                return Point.CERTIFICATE, err.certificate_error
            case aiohttp.ClientSSLError():
                return Point.TLS, plain(err.os_error)
            case aiohttp.ClientConnectorError():
                return Point.UNREACHED, plain(err.os_error)
            case TimeoutError():
                return Point.SILENT, err
            case _:
                return Point.CUT, str(err) or type(err).__name__


def _limit(limit: Limit) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(
        total=limit.total_seconds,
        connect=limit.connect_seconds,
        sock_connect=limit.connect_seconds,
        sock_read=limit.silent_seconds,
    )
