"""What differs between forges: how each is asked, and how each answers. No I/O; one file per family answers.

    pulls.py     Gitea, Forgejo and GitHub: pull requests
    gitlab.py    GitLab: merge requests

Tests: tests/adapters/forge/test_contract.py
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from seatrial.adapters.forge.places import Place
from seatrial.core.base.values import dataclass, field
from seatrial.core.model.seen.requests import Checks, CommitStatus, Request, Review
from seatrial.core.text.moments import readable_instant

PAGE: Final = 50
DESCRIPTION_MAX: Final = 140
"""What GitHub takes; the others take more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One question to an API."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    pages_max: int = 1
    """How many pages of the answer are read, where it is a list."""


class Shape(ABC):
    """How one forge is spoken to."""

    @abstractmethod
    def headers(self, token: str) -> dict[str, str]:
        """What goes along with every call."""

    @abstractmethod
    def find(self, place: Place, *, base: str, branches: Collection[str]) -> tuple[Call, ...]:
        """What is asked to find the requests of these branches; each answer is a list."""

    @abstractmethod
    def requests(self, body: bytes) -> list[Request]:
        """The requests of a list, as far as they come from the repository itself."""

    @abstractmethod
    def request(self, body: bytes) -> Request:
        """The one request that was opened."""

    @abstractmethod
    def open(self, place: Place, *, base: str, branch: str, title: str, text: str) -> Call: ...

    @abstractmethod
    def edit(self, place: Place, number: int, *, title: str, text: str, closes: bool) -> Call:
        """Write title and text anew, and close it in the same call where it is to be closed."""

    @abstractmethod
    def is_open_already(self, status: int, body: bytes, /) -> bool:
        """Whether a refusal to open one says that there is one."""

    @abstractmethod
    def reviews(self, place: Place, number: int) -> Call: ...

    @abstractmethod
    def review(self, body: bytes) -> Review: ...

    @abstractmethod
    def checks(self, place: Place, commit: str) -> tuple[Call, ...]: ...

    @abstractmethod
    def checked(self, bodies: Sequence[bytes]) -> Checks: ...

    @abstractmethod
    def status(self, place: Place, commit: str, status: CommitStatus) -> Call: ...


def instant(text: str | None) -> float:
    """A moment as an API writes it; 0 where it wrote none that can be read."""
    return readable_instant(text) or 0.0


def worst(found: Iterable[Checks]) -> Checks:
    """What several checks come to."""
    states = set(found)
    return next((each for each in (Checks.FAILED, Checks.PENDING, Checks.PASSED) if each in states), Checks.NONE)
