"""Turns an identity from the configuration into a credential for the next request, and renews it in time.

    current()            the credential to send now; renewed beforehand when it is about to expire
    renew(refused)       the server said 401 to `refused`: True when a different credential is now there

Nothing here blocks the event loop: files are read in a thread, plugins are awaited as processes.
Several requests may meet a 401 together; a lock lets the first renew, and the others find the fresh one.
Tests: tests/adapters/kube/test_auth.py.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import time
from collections.abc import Callable
from datetime import datetime
from typing import Final, Protocol, assert_never

import msgspec

from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api import errors
from seatrial.core.base.values import dataclass, field
from seatrial.core.text.moments import dated

_FILE_AGE_MAX_SECONDS: Final = 60.0
_PLUGIN_TIMEOUT_SECONDS: Final = 30.0
_EARLY_SECONDS: Final = 60.0
_STDERR_MAX: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """What one request shows to the server."""

    token: str = field(default="", repr=False)
    certificate: configs.Certificate | None = None


class Credentials(Protocol):
    """A source of credentials that knows how to renew itself."""

    async def current(self) -> Credential:
        """Give the credential to send now."""

    async def renew(self, refused: Credential) -> bool:
        """Fetch another credential after a 401; False when there is none."""

    def renewal(self) -> str:
        """Say what a person must do when the server refuses the credential for good."""


def credentials(config: configs.Config, *, clock: Callable[[], float] = time.time) -> Credentials:
    """Choose how to authenticate; `clock` gives seconds since 1970, since tokens expire by the calendar."""
    match config.identity:
        case configs.Anonymous():
            return _Fixed(Credential(certificate=config.certificate), clock)
        case configs.StaticToken(token=token):
            return _Fixed(Credential(token=token, certificate=config.certificate), clock)
        case configs.TokenFile():
            return _FromFile(config.identity, config.certificate, clock)
        case configs.ExecPlugin():
            return _FromPlugin(config.identity, config.certificate, clock)
        case _:
            assert_never(config.identity)


class _Fixed:
    """A token or certificate out of the kubeconfig: it cannot be renewed by us."""

    def __init__(self, credential: Credential, clock: Callable[[], float]) -> None:
        self._credential = credential
        self._clock = clock

    async def current(self) -> Credential:
        return self._credential

    async def renew(self, refused: Credential) -> bool:
        return refused != self._credential

    def renewal(self) -> str:
        if self._credential.token:
            return f"{_expiry_sentence(self._credential.token, self._clock())}log in again to get a new one"
        if self._credential.certificate is not None:
            return "renew the client certificate of this kubeconfig, it may have expired"
        return "give this kubeconfig user a token, a client certificate or an exec plugin, it has none"


class _FromFile:
    """A token file that a kubelet, or somebody else, replaces now and then."""

    def __init__(
        self, identity: configs.TokenFile, certificate: configs.Certificate | None, clock: Callable[[], float]
    ) -> None:
        self._path = identity.path
        self._certificate = certificate
        self._clock = clock
        self._lock = asyncio.Lock()
        self._credential: Credential | None = None
        self._read_at = 0.0

    async def current(self) -> Credential:
        async with self._lock:
            # abs: a wall clock that was set back must not keep an old token for hours
            if self._credential is None or abs(self._clock() - self._read_at) >= _FILE_AGE_MAX_SECONDS:
                self._credential = await self._read()
            return self._credential

    async def renew(self, refused: Credential) -> bool:
        async with self._lock:
            if self._credential == refused or self._credential is None:
                self._credential = await self._read()
            return self._credential != refused

    def renewal(self) -> str:
        token = self._credential.token if self._credential else ""
        return f"{_expiry_sentence(token, self._clock())}check that {self._path} is being renewed"

    async def _read(self) -> Credential:
        try:
            token = (await asyncio.to_thread(self._path.read_text)).strip()
        except OSError as err:
            if self._credential is not None:
                return self._credential  # a file caught in the middle of its replacement: the old token still works
            raise errors.ConfigInvalid(
                f"{self._path}: the token cannot be read: {err.strerror}", "restore the file or correct its path"
            ) from err
        self._read_at = self._clock()
        return Credential(token=token, certificate=self._certificate)


class _Answer(msgspec.Struct, frozen=True, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _ExecCredential(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str = ""
    status: _Answer | None = None


class _FromPlugin:
    """A program that prints a token or a certificate, with or without an end date."""

    def __init__(
        self, plugin: configs.ExecPlugin, certificate: configs.Certificate | None, clock: Callable[[], float]
    ) -> None:
        self._plugin = plugin
        self._certificate = certificate
        self._clock = clock
        self._lock = asyncio.Lock()
        self._credential: Credential | None = None
        self._renew_at: float | None  # said with each credential
        self._expires_at: float | None

    async def current(self) -> Credential:
        async with self._lock:
            if self._credential is None:
                return await self._run()
            if self._renew_at is None or self._clock() < self._renew_at:
                return self._credential
            try:
                return await self._run()
            except errors.ConfigInvalid:
                if self._expires_at is not None and self._clock() < self._expires_at:
                    return self._credential  # renewing early failed; the one we hold is good until it expires
                raise

    async def renew(self, refused: Credential) -> bool:
        async with self._lock:
            if self._credential == refused or self._credential is None:
                await self._run()
            return self._credential != refused

    def renewal(self) -> str:
        return f"run {self._plugin.command} yourself and log in again if it asks for it"

    async def _run(self) -> Credential:
        answer = self._read(await self._output())
        certificate = self._certificate
        if answer.client_certificate_data:
            certificate = configs.Certificate(
                certificate=answer.client_certificate_data.encode(), key=answer.client_key_data.encode()
            )
        self._credential = Credential(token=answer.token, certificate=certificate)
        self._remember_expiry(answer.expiration_timestamp)
        return self._credential

    def _remember_expiry(self, expires: datetime | None) -> None:
        if expires is None:
            self._expires_at = self._renew_at = None
            return
        now = self._clock()
        self._expires_at = expires.timestamp()
        # A plugin with a cache of its own gives the same token until it ends, so a fixed margin would start it before
        # every request of the last minute. A fifth of what is left gives a handful of starts at most.
        self._renew_at = self._expires_at - min(_EARLY_SECONDS, max(0.0, self._expires_at - now) / 5)

    def _read(self, output: bytes) -> _Answer:
        try:
            content = msgspec.json.decode(output, type=_ExecCredential)
        except msgspec.MsgspecError as err:
            raise self._failed(f"printed something else than an ExecCredential: {err}") from err
        if content.api_version != self._plugin.api_version:
            raise self._failed(f"answered in {content.api_version or 'no apiVersion'}, not {self._plugin.api_version}")
        answer = content.status
        if answer is None or not (answer.token or (answer.client_certificate_data and answer.client_key_data)):
            raise self._failed("printed neither a token nor a certificate with its key")
        return answer

    async def _output(self) -> bytes:
        spec: dict[str, object] = {"interactive": False}
        if self._plugin.cluster is not None:
            spec["cluster"] = self._plugin.cluster
        request = {"apiVersion": self._plugin.api_version, "kind": "ExecCredential", "spec": spec}
        environment = {**dict(self._plugin.environment), "KUBERNETES_EXEC_INFO": json.dumps(request)}
        try:
            process = await asyncio.create_subprocess_exec(
                self._plugin.command,
                *self._plugin.arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=environment,
            )
        except OSError as err:
            raise self._failed(f"cannot be started: {err.strerror}", self._plugin.install_hint) from err
        try:
            output, complaint = await asyncio.wait_for(process.communicate(), _PLUGIN_TIMEOUT_SECONDS)
        except TimeoutError as err:
            raise self._failed(f"did not answer within {_PLUGIN_TIMEOUT_SECONDS:.0f} s") from err
        finally:
            await _end(process)
        if process.returncode != 0:
            said = " ".join(complaint.decode("utf-8", "replace").split())[-_STDERR_MAX:]
            raise self._failed(f"ended with {process.returncode}" + (f": {said}" if said else ""))
        return output

    def _failed(self, how: str, hint: str = "") -> errors.ConfigInvalid:
        hint = " ".join(hint.split())
        return errors.ConfigInvalid(f"exec plugin {self._plugin.command} {how}", hint or self.renewal())


async def _end(process: asyncio.subprocess.Process) -> None:
    """Leave no plugin behind: neither after a timeout nor when the caller was cancelled."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):  # it ended between the look and the kill
            process.kill()
        await process.wait()


def _expiry_sentence(token: str, now: float) -> str:
    """Say when the token expired, where it is a JWT that says so itself; the server never tells."""
    parts = token.split(".")
    if len(parts) != 3:
        return ""
    try:
        expires = json.loads(base64.urlsafe_b64decode(parts[1] + "=="))["exp"]
    except (ValueError, KeyError, TypeError):
        return ""
    if not isinstance(expires, int) or expires > now:
        return ""
    return f"the token expired at {dated(expires):%Y-%m-%d %H:%M:%S} UTC: "
