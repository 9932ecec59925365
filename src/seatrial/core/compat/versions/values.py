"""What every version promises: the text it was read from, an order where one exists, and errors that help.

No scheme lives here: a scheme is a subclass with a `form`, a parser (`_read`) and a `rank`.

The laws, which every scheme inherits:

- A value keeps its text (an image tag needs `560.35.03`, not `560.35.3`) and never compares by it.
- `==` answers everywhere, and across schemes, NIC families or kernel streams it answers "not equal": sets, mappings and
  `diff` need that. `hash` agrees with it.
- `<` answers only where an order exists, and raises `NotComparable` elsewhere: a wrong order would be believed.
- Text that does not fit the form raises `VersionInvalid`; nothing is skipped, repaired or guessed.

    SeatrialError
    ├── VersionInvalid (ValueError)   the text is no version of this scheme
    └── NotComparable (TypeError)     both are versions, but nobody can say which is newer

Tests: tests/core/test_versions.py
"""

from __future__ import annotations

import abc
import re
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, Final, Self, TypeAlias

from seatrial.core.errors import SeatrialError

TEXT_LENGTH_MAX: Final = 128
"""The longest image tag a registry accepts; the limit keeps a pasted log out of the messages, and out of `int`."""

Rank: TypeAlias = tuple[Any, ...]
"""What orders a version inside its lineage; all ranks of one scheme have the same shape, so tuples compare."""


class Scheme(Enum):
    """Every form of version we read; the value is the name used in messages."""

    OPERATOR = "GPU or Network Operator"
    DRIVER = "GPU driver"
    CUDA = "CUDA"
    OFED = "MOFED or DOCA-OFED"
    FIRMWARE = "NIC firmware"
    KERNEL = "kernel"
    DCGM_EXPORTER = "DCGM exporter"
    DCGM = "DCGM"
    OPERAND = "device plugin or container toolkit"
    OPENSHIFT = "OpenShift"
    SRIOV_OPERATOR = "SR-IOV operator"
    KUBERNETES = "Kubernetes"
    NCCL = "NCCL"
    SYSTEM = "operating system"
    DRA_DRIVER = "DRA driver"
    PART = "component"
    LINE = "release line"


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How the versions of one scheme are written, for the parser as well as for the reader of its message."""

    pattern: re.Pattern[str]
    shape: str
    example: str
    advice: str


class VersionInvalid(SeatrialError, ValueError):  # noqa: N818 — the tree above says it is an error
    """A text that is no version of the scheme it was read by."""

    def __init__(self, scheme: Scheme, text: str, form: Form) -> None:
        shown = repr(text if len(text) <= TEXT_LENGTH_MAX else f"{text[:TEXT_LENGTH_MAX]}…")
        super().__init__(
            f"{scheme.value} {shown} is unreadable: expected {form.shape}, e.g. {form.example}. {form.advice}"
        )
        self.scheme = scheme
        self.text = text


class NotComparable(SeatrialError, TypeError):  # noqa: N818
    """Two values of which nobody can say which is newer."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Version(abc.ABC):
    """One version of one scheme; make it with `parse`, so that text and numbers agree."""

    scheme: ClassVar[Scheme]
    form: ClassVar[Form]

    text: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a text of this scheme, or raise `VersionInvalid`."""
        match = cls.form.pattern.fullmatch(text) if len(text) <= TEXT_LENGTH_MAX else None
        if match is None:
            raise VersionInvalid(cls.scheme, text, cls.form)
        return cls._read(match)

    @classmethod
    @abc.abstractmethod
    def _read(cls, match: re.Match[str]) -> Self:
        """Build the value from a match of the form."""

    @property
    @abc.abstractmethod
    def rank(self) -> Rank:
        """What is compared with another version of the same lineage."""

    @property
    def lineage(self) -> str:
        """Name the part of the scheme inside which order exists; empty where the whole scheme is ordered."""
        return ""

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Version):
            return NotImplemented
        return type(self) is type(other) and self.rank == other.rank and self.lineage == other.lineage

    def __hash__(self) -> int:
        return hash((self.scheme, self.lineage, self.rank))

    def __lt__(self, other: Self) -> bool:
        return self.rank < self._rank_beside(other)

    def __le__(self, other: Self) -> bool:
        return self.rank <= self._rank_beside(other)

    def __gt__(self, other: Self) -> bool:
        return self.rank > self._rank_beside(other)

    def __ge__(self, other: Self) -> bool:
        return self.rank >= self._rank_beside(other)

    def _rank_beside(self, other: object) -> Rank:
        if not isinstance(other, Version):
            raise NotComparable(
                f"{self._name()} and {other!r} have no order: the second is {type(other).__name__}, not a version. "
                "Parse it first."
            )
        if type(self) is not type(other):
            raise NotComparable(
                f"{self._name()} and {other._name()} have no order: their schemes differ. "
                "Compare each with versions of its own scheme."
            )
        if self.lineage != other.lineage:
            raise NotComparable(
                f"{self._name()} and {other._name()} have no order: one is {self.lineage}, the other {other.lineage}. "
                "Compare only inside one of them."
            )
        return other.rank

    def _name(self) -> str:
        return f"{self.scheme.value} {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinedVersion(Version):
    """A version that belongs to a release line, the unit in which vendors state what they support."""

    @property
    @abc.abstractmethod
    def line(self) -> str:
        """The line as vendors print it (`24.9`, `4.16`): for looking up; as text it has no order, `Line` has."""


SEMANTIC: Final = r"(?P<major>[0-9]+)\.(?P<minor>[0-9]+)\.(?P<patch>[0-9]+)"

PRE_RELEASE: Final = r"(?:-(?P<pre_release>(?:alpha|beta|rc)(?:\.[0-9]+)+))?"
"""Only these words announce a release to come; any other suffix names an operating system or a vendor."""

NO_PRE_RELEASE: Final = r"(?!alpha|beta|rc)"
"""Keeps `-rc1`, a pre-release misspelt, from being read as such a suffix and so as the release itself."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SemanticVersion(LinedVersion):
    """Three numbers and perhaps a pre-release, ordered as semantic versioning says; a suffix stays in the text only."""

    major: int
    minor: int
    patch: int
    pre_release: str | None

    @classmethod
    def _read(cls, match: re.Match[str]) -> Self:
        return cls(
            text=match[0],
            major=int(match["major"]),
            minor=int(match["minor"]),
            patch=int(match["patch"]),
            pre_release=match["pre_release"],
        )

    @property
    def rank(self) -> Rank:
        return (self.major, self.minor, self.patch, pre_release_rank(self.pre_release))

    @property
    def line(self) -> str:
        return f"{self.major}.{self.minor}"


def pre_release_rank(pre_release: str | None) -> Rank:
    """Order pre-releases as semantic versioning does: below their release, numbers below words."""
    if pre_release is None:
        return (1,)
    return (0, tuple((0, int(word), "") if word.isdigit() else (1, 0, word) for word in pre_release.split(".")))
