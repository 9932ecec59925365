"""Which repositories we may speak to, and as whom: only those that were named when we were started.

    --git-credentials https://git.example.com/gpu=/secrets/gpu    Permit: everything behind it, with this secret
    --git-allow https://git.example.com/public                    Permit: everything behind it, with no secret of ours
    spec.matrix.git.url ──▶ Address ──▶ the longest prefix that it is behind ──▶ its Permit, or Barred

An address is behind another when scheme, host and port are the same and its path begins with the other's, segment by
segment: https://h/org is no prefix of https://h/organs. A port that goes without saying is said.

Law of this file: whoever writes a rollout chooses the address, so it is compared after it is taken apart, and a text
that two programs could take apart in two ways is none. Nothing is asked of the network here.

Tests: tests/adapters/git/test_addresses.py
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Self
from urllib.parse import unquote

from seatrial.adapters.git import credentials
from seatrial.adapters.git.errors import Barred, SetupInvalid
from seatrial.core.base.values import dataclass
from seatrial.core.text.names import a_few

PORTS: Final = {"https": 443, "http": 80, "ssh": 22, "file": 0}
"""The schemes we know, and the port of each that goes without saying."""
NAMED_MAX: Final = 3

_URL: Final = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?:(?P<user>[^@/]*)@)?"
    r"(?P<host>\[[0-9A-Fa-f:.]*\]|[^:/@]*)(?::(?P<port>[0-9]{1,5}))?(?P<path>/.*)?"
)
_LIKE_SCP: Final = re.compile(r"(?:(?P<user>[^@/:]*)@)?(?P<host>[^@/:]+):(?P<path>[^%]*)")
_HOST: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*")
_USER: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_ODD: Final = re.compile(r"[\\?#]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a repository is, or where several are."""

    scheme: str
    user: str = ""
    host: str = ""
    port: int = 0
    path: tuple[str, ...] = ()

    @classmethod
    def parse(cls, url: str) -> Self:
        """Take an address apart; SetupInvalid where that could be done in two ways, or leads where we do not go."""
        credentials.check_url(url)
        if url.startswith("/"):
            return cls(scheme="file", path=_segments(url, url))
        found = _URL.fullmatch(url)
        if found is not None:
            parts = found.groupdict(default="")
            path = tuple(_decoded(each, url) for each in _segments(parts["path"], url))
            return cls._made(url, path=path, **{key: parts[key] for key in ("scheme", "user", "host", "port")})
        found = _LIKE_SCP.fullmatch(url)
        if found is not None:
            parts = found.groupdict(default="")
            path = _segments(parts["path"], url)
            return cls._made(url, scheme="ssh", user=parts["user"], host=parts["host"], port="", path=path)
        raise _unclear(url, "it is neither an https, ssh or file address nor a whole path")

    @classmethod
    def _made(cls, url: str, *, scheme: str, user: str, host: str, port: str, path: tuple[str, ...]) -> Self:
        scheme = scheme.lower()
        if scheme not in PORTS:
            raise _unclear(url, f"{scheme} is not spoken here, only https, ssh and file")
        if _ODD.search(url):
            raise _unclear(url, "it has one of the characters \\ ? # in it")
        if scheme == "file" and (user or host or port):
            raise _unclear(url, "a file address names no host")
        if scheme in ("http", "https") and user:
            raise _unclear(url, "the name to log in with belongs into the secret")
        if user and not _USER.fullmatch(user):
            raise _unclear(url, "its user is not a plain name")
        if scheme != "file":
            host = _host(host, url)
        return cls(scheme=scheme, user=user, host=host, port=int(port) if port else PORTS[scheme], path=path)

    @property
    def is_loopback(self) -> bool:
        """Whether it is on this machine."""
        return credentials.is_loopback(self.host)

    def is_behind(self, prefix: Address) -> bool:
        """Whether the other is a prefix of this one."""
        return (
            (self.scheme, self.host, self.port) == (prefix.scheme, prefix.host, prefix.port)
            and prefix.user in ("", self.user)
            and self.path[: len(prefix.path)] == prefix.path
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit:
    """That we may speak to everything behind an address, and the mounted secret to do it with."""

    prefix: str
    """As somebody wrote it."""
    address: Address
    secret: Path | None = None

    @classmethod
    def read(cls, prefix: str, secret: Path | None = None, *, is_loopback_http: bool = False) -> Self:
        """Read what the administrator says; SetupInvalid where it would send a secret in the open."""
        address = Address.parse(prefix)
        if address.scheme == "http" and not (address.is_loopback and is_loopback_http):
            raise SetupInvalid(
                f"{prefix} is plain http, where everybody on the way reads the password and may change the answer. "
                "Name it by https; for a server on this machine there is --git-loopback-http."
            )
        if address.scheme == "file" and secret is not None:
            raise SetupInvalid(f"{prefix} is a folder, which asks for no login. Name it with --git-allow.")
        return cls(prefix=prefix, address=address, secret=secret)


@dataclass(frozen=True, slots=True, kw_only=True)
class Permits:
    """Every address that we may speak to."""

    all: tuple[Permit, ...] = ()

    @classmethod
    def read(cls, permits: Iterable[Permit]) -> Self:
        """All of them; SetupInvalid where two are for the same address, since nobody could say which one counts."""
        found: dict[Address, Permit] = {}
        for permit in permits:
            other = found.setdefault(permit.address, permit)
            if other is not permit:
                raise SetupInvalid(f"{permit.prefix} is named twice, also as {other.prefix}. Keep one of the two.")
        return cls(all=tuple(found.values()))

    def of(self, url: str) -> Permit:
        """The permit of the longest prefix that an address is behind; Barred where it is behind none."""
        address = Address.parse(url)
        behind = [permit for permit in self.all if address.is_behind(permit.address)]
        if not behind:
            raise Barred(f"{credentials.Cleaner().clean(url)} is not behind {self._named()}")
        return max(behind, key=lambda permit: (len(permit.address.path), bool(permit.address.user)))

    def _named(self) -> str:
        if not self.all:
            return "any address, since none was named when the controller was started"
        names = sorted(permit.prefix for permit in self.all)
        return f"any address that was named when the controller was started ({a_few(names, NAMED_MAX)})"


NOBODY: Final = Permits()


def _segments(path: str, url: str) -> tuple[str, ...]:
    """The parts of a path; a slash at its end says nothing."""
    parts = tuple(path.removeprefix("/").removesuffix("/").split("/")) if path.strip("/") else ()
    if any(part in ("", ".", "..") for part in parts):
        raise _unclear(url, "its path goes up, or has an empty part")
    return parts


def _decoded(segment: str, url: str) -> str:
    try:
        plain = unquote(segment, errors="strict")
    except UnicodeDecodeError:
        plain = "%"
    if plain in (".", "..") or not plain.isprintable() or set(plain) & set("/\\%"):
        raise _unclear(url, "it has an escaped character that two servers may read in two ways")
    return plain


def _host(text: str, url: str) -> str:
    host = text.lower()
    if host.startswith("["):
        try:
            return str(ipaddress.IPv6Address(host[1:-1]))
        except ValueError:
            raise _unclear(url, "its host is not an address") from None
    if not _HOST.fullmatch(host):
        raise _unclear(url, "its host is not a plain name; one with other letters is written as xn--…")
    return host


def _unclear(url: str, why: str) -> SetupInvalid:
    shown = credentials.Cleaner().clean(url)
    return SetupInvalid(f"{shown!r} is not an address that we can compare: {why}. Write it as https://HOST/PATH.")
