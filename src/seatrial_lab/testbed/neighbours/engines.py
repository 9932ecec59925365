"""Whoever brings a repository into the cluster: what the laboratory asks of the stand-in and of the real ones alike.

Law of this file: it knows no engine. Each is a module beside this one, and does what tests/gitops/contract.py says;
what a test claims of GitOps it claims of all that pass there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Protocol, Self
from urllib.parse import urlsplit, urlunsplit

from seatrial_lab.testbed import waiting

TIMEOUT_SECONDS: Final = 90.0
PAUSE_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What is brought into the cluster: the manifests of one folder of a branch."""

    url: str
    path: str
    branch: str = "main"
    username: str = ""
    password: str = ""

    @property
    def url_with_login(self) -> str:
        """The address as git alone takes it."""
        parts = urlsplit(self.url)
        if not self.username:
            return self.url
        return urlunsplit(parts._replace(netloc=f"{self.username}:{self.password}@{parts.netloc}"))


class Engine(Protocol):
    """One that follows a place while its context lasts. Its first commit is in the cluster when the context opens."""

    @property
    def is_healing(self) -> bool:
        """Whether it undoes what others write, without a new commit."""
        ...

    @property
    def applied(self) -> Sequence[str]:
        """The commits that it brought into the cluster whole, in order, as far as it was looked at."""
        ...

    @property
    def trouble(self) -> str:
        """What it says about a commit that it could not bring in; empty when all is well."""
        ...

    def suspend(self) -> None:
        """Have it apply nothing until it is resumed, by the means that its users have; returns when it obeys."""
        ...

    def resume(self) -> None:
        """Have it follow again."""
        ...

    def poke(self) -> None:
        """Tell it that the repository has changed, as a webhook does."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def wait_applied(engine: Engine, commit: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
    """Return when the engine has brought this commit into the cluster."""
    waiting.wait_for(
        lambda: commit in engine.applied,
        what=f"commit {commit[:10]} to be applied",
        timeout_seconds=timeout_seconds,
        pause_seconds=PAUSE_SECONDS,
        describe=lambda: f"{[each[:10] for each in engine.applied]} {engine.trouble}",
    )


def wait_trouble(engine: Engine, *, timeout_seconds: float = TIMEOUT_SECONDS) -> str:
    """Return what the engine says when it could not bring a commit in."""
    return waiting.wait_for(
        lambda: engine.trouble or None,
        what="the engine to say that it failed",
        timeout_seconds=timeout_seconds,
        pause_seconds=PAUSE_SECONDS,
    )
