"""Where a Prometheus is asked, as whoever starts us said it: its address, a login bound to it, whom to trust.

    http://prometheus-operated.monitoring.svc:9090                    inside the cluster, no login
    https://thanos-querier.openshift-monitoring.svc:9091              a token, and the cluster's own authority
    https://metrics.example.com/prometheus                            below a path

The folder of a mounted secret has the file `token`, or the files `username` and `password`. A login never goes over
plain HTTP: whoever listens on the way could ask in our name. Nothing of this comes from a rollout.

Tests: tests/adapters/prometheus/test_calling.py
"""

from __future__ import annotations

import base64
import re
import ssl
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlsplit

from seatrial.adapters import trust
from seatrial.adapters.prometheus.errors import PrometheusRefused
from seatrial.core.base.values import dataclass

_MATCHER: Final = r"""[a-zA-Z_][a-zA-Z0-9_]*\s*(?:=~|!~|!=|=)\s*"(?:[^"\\\n]|\\.)*"\s*"""
_MATCHERS: Final = re.compile(rf"{_MATCHER}(?:,\s*{_MATCHER})*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """Who we are, and what of it must not be repeated."""

    header: str = ""
    words: tuple[str, ...] = ()

    def without(self, text: str) -> str:
        """A text that somebody else wrote, without what is secret in it."""
        for word in self.words:
            text = text.replace(word, "***")
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One Prometheus, or whatever speaks its API."""

    url: str
    secret: Path | None = None
    """The folder of a mounted secret; read anew for every look, since tokens are exchanged."""
    authority: Path | None = None
    """A file with the certificates that its own must be signed by, in the place of the system's."""
    matchers: str = ""
    """Which series count, in PromQL as between braces; tenants are scraped too, and can name any node in theirs."""

    @classmethod
    def read(cls, url: str, *, secret: Path | None = None, authority: Path | None = None, matchers: str = "") -> Self:
        """Read an address; PrometheusRefused where it is none, or where a login would go astray."""
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname, parts.port  # a port that is no number is a ValueError
        except ValueError as err:
            raise PrometheusRefused(f"{url!r} is not an address of a Prometheus: {err}.") from None
        if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
            raise PrometheusRefused(f"{url!r} is not an address of a Prometheus. Write it as https://HOST:PORT/PATH.")
        if parts.username is not None:
            raise PrometheusRefused("A login in the address ends up in logs. Put it into a secret's folder instead.")
        if secret is not None and parts.scheme != "https":
            raise PrometheusRefused(
                f"A login for {url} would be readable on the way. Name it by https, or ask it without a login."
            )
        if matchers and not _MATCHERS.fullmatch(matchers):
            raise PrometheusRefused(
                f"{matchers!r} does not say which series count. Write label matchers of PromQL without the braces, "
                'such as namespace="gpu-operator",job="nvidia-dcgm-exporter".'
            )
        return cls(url=url.rstrip("/"), secret=secret, authority=authority, matchers=matchers)

    @property
    def host(self) -> str:
        """Whom we ask, for people."""
        return urlsplit(self.url).netloc

    def login(self) -> Login:
        """What is in the secret now; nothing where nobody asks."""
        if self.secret is None:
            return Login()
        if (self.secret / "token").exists():
            token = _word(self.secret, "token")
            return Login(header=f"Bearer {token}", words=(token,))
        name, password = _word(self.secret, "username"), _word(self.secret, "password")
        both = base64.b64encode(f"{name}:{password}".encode()).decode()
        return Login(header=f"Basic {both}", words=(both, password))

    def trust(self) -> ssl.SSLContext | bool:
        """Whose signature its certificate has to have."""
        if self.authority is None:
            return True
        try:
            return trust.context_of(self.authority)
        except trust.AuthorityInvalid as err:
            raise PrometheusRefused(str(err)) from None


def _word(folder: Path, name: str) -> str:
    try:
        text = (folder / name).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise PrometheusRefused(
            f"The secret at {folder} has no readable file {name}. It needs token, or username and password."
        ) from None
    if not text or not text.isprintable() or " " in text:
        raise PrometheusRefused(f"The file {name} in {folder} holds none.")
    return text
