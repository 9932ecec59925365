"""The names of what a cluster holds, for somebody who waits at a prompt: one plain request, and no client.

The client proper is built on aiohttp, whose import alone takes longer than anybody waits for a completion. Where the
cluster is and who we are is found as for the client. The server is asked for a table as kubectl prints it: a line for
each object instead of the whole of it, from its cache. Tests: tests/cli/test_plugin_live.py
"""

from __future__ import annotations

import asyncio
import http.client
import json
import ssl
from typing import Any, Final
from urllib.parse import urlsplit

from seatrial.adapters.kube.api import auth, errors, tls
from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.shapes import keys
from seatrial.core.base.values import dataclass

PATIENCE_SECONDS: Final = 2.0
"""A prompt that hangs for longer is worse than one without names."""
_TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Where objects are listed, and which columns say something about one."""

    path: str
    columns: tuple[str, ...]


NODES: Final = Kind(path=keys.NODES, columns=("Status",))
ROLLOUTS: Final = Kind(path=keys.ROLLOUTS, columns=("Target", "Phase", "State"))
NAMESPACES: Final = Kind(path="/api/v1/namespaces", columns=())


def names(config: configs.Config, kind: Kind, *, user_agent: str) -> list[tuple[str, str]]:
    """Every object of a kind: its name, and a line about it."""
    try:
        return _rows(_asked(config, kind.path, user_agent), kind.columns)
    except (http.client.HTTPException, OSError) as err:
        raise errors.ClusterUnavailable(f"{config.where()} does not answer: {err}", "try again") from err
    except (ValueError, KeyError, TypeError) as err:
        raise errors.AnswerUnreadable(f"{config.where()} answers with no table: {err!r}", "try again") from err


def _asked(config: configs.Config, path: str, user_agent: str) -> Any:
    credential = asyncio.run(auth.credentials(config).current())
    headers = {"Accept": _TABLE, "User-Agent": user_agent, **dict(config.impersonation)}
    if credential.token:
        headers["Authorization"] = f"Bearer {credential.token}"
    context = tls.tls_context(config, credential.certificate) if config.server.startswith("https:") else None
    connection = _connection(config, context)
    try:
        # resourceVersion=0: what the server has at hand will do, and costs it nothing.
        connection.request("GET", f"{_below(config)}{path}?includeObject=None&resourceVersion=0", headers=headers)
        answer = connection.getresponse()
        if answer.status != http.client.OK:
            raise errors.ClusterUnavailable(f"{config.where()} answers with {answer.status}", "look with kubectl")
        return json.loads(answer.read())
    finally:
        connection.close()


def _below(config: configs.Config) -> str:
    return urlsplit(config.server).path.rstrip("/")


class _Connection(http.client.HTTPSConnection):
    """A connection that asks for a server by another name than its address, where the configuration says so."""

    def __init__(self, *args: Any, server_name: str, context: ssl.SSLContext, **more: Any) -> None:
        super().__init__(*args, context=context, **more)
        self._server_name, self._tls = server_name, context

    def connect(self) -> None:
        http.client.HTTPConnection.connect(self)
        self.sock = self._tls.wrap_socket(self.sock, server_hostname=self._server_name)


def _connection(config: configs.Config, context: ssl.SSLContext | None) -> http.client.HTTPConnection:
    server, proxy = urlsplit(config.server), urlsplit(config.proxy_url)
    first = proxy if config.proxy_url else server
    host, port = first.hostname or "", first.port or (443 if first.scheme == "https" else 80)
    if context is None:
        made = http.client.HTTPConnection(host, port, timeout=PATIENCE_SECONDS)
    else:
        name = config.tls_server_name or server.hostname or ""
        made = _Connection(host, port, timeout=PATIENCE_SECONDS, server_name=name, context=context)
    if config.proxy_url:
        made.set_tunnel(server.hostname or "", server.port or (443 if context is not None else 80))
    return made


def _rows(table: Any, told: tuple[str, ...]) -> list[tuple[str, str]]:
    columns = [column["name"] for column in table["columnDefinitions"]]
    places = [columns.index(name) for name in told if name in columns]
    rows = [row["cells"] for row in table["rows"] or ()]
    return [(str(cells[0]), " ".join(str(cells[place]) for place in places if cells[place])) for cells in rows]
