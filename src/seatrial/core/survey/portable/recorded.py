"""What a file tells of a cluster: what its API server answered when it was asked, less what may not leave it.

Law of this file: answers, and nothing that was concluded from them. A list that was refused is a refusal here, too.
Tests: tests/adapters/files/test_snapshot_file.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from seatrial.core.base.values import dataclass, field
from seatrial.core.model.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """An answer that was no list, or no log."""

    code: int
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class LogOf:
    """Whose log it is."""

    namespace: str
    pod: str
    container: str
    is_previous: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One cluster at one time."""

    taken_at: Instant
    """By the API server's clock."""
    namespace: str
    """The operator's."""
    version: str = ""
    """The seatrial that took it."""
    is_anonymous: bool = False
    lists: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    """The objects, by the path that lists them."""
    refused: Mapping[str, Refused] = field(default_factory=dict)
    logs: Mapping[LogOf, str | Refused] = field(default_factory=dict)
