"""Git repositories over HTTP: git's own `http-backend` behind a login, on a free loopback port; over TLS if asked.

Everything about Git is git's; here is only what a web server does for it: ask for the password, start the program, pass
the body on. Tests: tests/adapters/git/test_http.py, tests/adapters/git/test_https.py
"""

import base64
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final
from urllib.parse import urlsplit

from seatrial_lab.testbed import serving

BACKEND_TIMEOUT_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request as it arrived, for tests that ask what was sent."""

    method: str
    path: str
    authorization: str


@dataclass(slots=True, kw_only=True)
class GitServer(serving.Served):
    """Serves the bare repositories of one folder while the context lasts."""

    root: Path
    username: str = "seatrial"
    password: str = "open-sesame"  # noqa: S105  of this server alone
    requests: list[Request] = field(default_factory=list)
    redirects: dict[str, str] = field(default_factory=dict)
    """Beginnings of paths that are answered with a redirect, and what takes their place."""

    def handler(self) -> type[serving.Quiet]:
        return type("Handler", (_Handler,), {"git": self})

    def is_login(self, header: str) -> bool:
        """Tell whether a header has the right name and password."""
        words = base64.b64encode(f"{self.username}:{self.password}".encode()).decode()
        return header == f"Basic {words}"


class _Handler(serving.Quiet):
    git: ClassVar[GitServer]

    def answer(self) -> None:
        body = self._body()
        login = self.headers.get("Authorization", "")
        self.git.requests.append(Request(method=self.command, path=self.path, authorization=login))
        moved = next((old for old in self.git.redirects if self.path.startswith(old)), None)
        if moved is not None:
            to = f"{self.git.url}{self.path.replace(moved, self.git.redirects[moved], 1)}"
            self.send(302, [("Location", to)], b"")
            return
        if not self.git.is_login(login):
            self.send(401, [("WWW-Authenticate", 'Basic realm="git"')], b"Who are you?\n")
            return
        done = subprocess.run(
            ["git", "http-backend"],
            input=body,
            env=self._environment(body),
            capture_output=True,
            timeout=BACKEND_TIMEOUT_SECONDS,
            check=False,
        )
        head, _, rest = done.stdout.partition(b"\r\n\r\n")
        lines = [line.partition(": ") for line in head.decode().split("\r\n") if ": " in line]
        status = next((value for name, _, value in lines if name == "Status"), "200")
        self.send(int(status.split()[0]), [(name, value) for name, _, value in lines if name != "Status"], rest)

    def _environment(self, body: bytes) -> dict[str, str]:
        parts = urlsplit(self.path)
        return {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.git.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": parts.path,
            "QUERY_STRING": parts.query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_USER": self.git.username,  # who is logged in may push
            "REMOTE_ADDR": self.client_address[0],
        }

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        chunks = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)
