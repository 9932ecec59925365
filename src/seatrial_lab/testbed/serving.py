"""A small HTTP server on a free loopback port while a context lasts, over TLS where it has a certificate.

What it answers is said by whoever builds on it: the Git server (neighbours/git_server.py) and the exporter
(monitoring/exporter.py). Tests: tests/adapters/git/test_https.py, tests/adapters/prometheus/test_watcher.py
"""

import ssl
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from seatrial_lab.testbed.plane.certificates import Pair


class Quiet(BaseHTTPRequestHandler):
    """Keeps connections open, and writes no log: a test reads what its server noted."""

    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        """Answer one request, by `send`."""
        raise NotImplementedError

    def do_GET(self) -> None:
        self.answer()

    def do_POST(self) -> None:
        self.answer()

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def send(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        """Answer with all of it."""
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@dataclass(slots=True, kw_only=True)
class Served(ABC):
    """Answers while its context lasts."""

    pair: Pair | None = None
    """Its certificate; without one it speaks plain HTTP."""
    _server: ThreadingHTTPServer = field(init=False)

    @abstractmethod
    def handler(self) -> type[BaseHTTPRequestHandler]:
        """What answers one connection."""

    def __enter__(self) -> Self:
        self._server = _Server(("127.0.0.1", 0), self.handler())
        if self.pair is not None:
            self._server.socket = _over_tls(self._server, self.pair)
        threading.Thread(target=self._server.serve_forever, name=type(self).__name__, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def port(self) -> int:
        """Where it listens, on this machine's loopback."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """Its address on this machine."""
        return f"{'http' if self.pair is None else 'https'}://127.0.0.1:{self.port}"


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Say nothing: whoever asks hangs up when its time is over, when it is ended, or when it does not trust us."""


def _over_tls(server: ThreadingHTTPServer, pair: Pair) -> ssl.SSLSocket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    # Not at once: a client that says nothing would keep everybody else waiting at the door.
    return context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
