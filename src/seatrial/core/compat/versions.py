"""Versions of everything in the stack, as values that compare by meaning: the text that was read, and an order.

What goes with what is a rule, not a version; which release exists is a fact, not a form: `v24.12.0` parses although
it was never released. Neither lives here. First what every version promises, then the schemes: a scheme is a
subclass with a `form`, a parser (`_read`) and a `rank`, NVIDIA's own from the operators down to the firmware, then the
platform below them.

The laws, which every scheme inherits:

- A value keeps its text (an image tag needs `560.35.03`, not `560.35.3`) and never compares by it.
- `==` answers everywhere, and across schemes, NIC families or kernel streams it answers "not equal": sets, mappings and
  `diff` need that. `hash` agrees with it.
- `<` answers only where an order exists, and raises `NotComparable` elsewhere: a wrong order would be believed.
- Text that does not fit the form raises `VersionInvalid`; nothing is skipped, repaired or guessed.

    SeatrialError
    ├── VersionInvalid (ValueError)   the text is no version of this scheme
    └── NotComparable (TypeError)     both are versions, but nobody can say which is newer

Tests: tests/core/compat/test_versions.py
"""

from __future__ import annotations

import abc
import re
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, ClassVar, Final, Self, TypeAlias

from seatrial.core.base.values import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Line(LinedVersion):
    """A release line such as `24.9`, `4.16` or `1.30`; whose line it is, the caller knows."""

    scheme: ClassVar = Scheme.LINE
    form: ClassVar = Form(
        pattern=re.compile(r"v?(?P<first>[0-9]+)\.(?P<second>[0-9]+)"),
        shape="two numbers",
        example="24.9 or 4.16",
        advice="Leave the patch off, or read the text by the scheme of its component.",
    )

    first: int
    second: int

    @classmethod
    def _read(cls, match: re.Match[str]) -> Self:
        return cls(text=match[0], first=int(match["first"]), second=int(match["second"]))

    @classmethod
    def of(cls, version: LinedVersion) -> Line:
        """Give the line of a version as a value that has an order."""
        return _line(version.line)

    @property
    def rank(self) -> Rank:
        return (self.first, self.second)

    @property
    def line(self) -> str:
        return f"{self.first}.{self.second}"


@lru_cache(maxsize=1024)
def _line(text: str) -> Line:
    """There are some dozens of lines, and a plan asks for them tens of thousands of times."""
    return Line.parse(text)


OS_SUFFIX: Final = rf"(?:-{NO_PRE_RELEASE}[a-z][a-z0-9.]*)?"
"""`-ubi9`, `-ubuntu22.04`, `-distroless`: says what the image is built on, nothing about the software in it."""

DEVELOPER_BUILDS: Final = frozenset({(535, 43), (550, 40), (570, 123), (580, 94), (595, 44)})
"""Branch and second field of the developer builds; they sort below releases that are older than they are."""

NIC_FAMILIES: Final[Mapping[int, str]] = {
    12: "ConnectX-4",
    14: "ConnectX-4 Lx",
    16: "ConnectX-5",
    18: "BlueField",
    20: "ConnectX-6",
    22: "ConnectX-6 Dx",
    24: "BlueField-2",
    26: "ConnectX-6 Lx",
    28: "ConnectX-7",
    32: "BlueField-3",
    40: "ConnectX-8",
    82: "ConnectX-9",
}
"""The device a firmware is for, by the leading number of its version."""

# ── GPU and Network Operator ──────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OperatorVersion(LinedVersion):
    """A calendar version; `line` (year and month) is what NVIDIA calls the major version."""

    scheme: ClassVar = Scheme.OPERATOR
    form: ClassVar = Form(
        pattern=re.compile(r"v?(?P<year>[0-9]{2})\.(?P<month>[0-9]{1,2})\.(?P<patch>[0-9]+)" + PRE_RELEASE),
        shape="[v]YY.M.P",
        example="v24.9.0",
        advice="Copy the version of the Helm chart, the Git tag or the CSV.",
    )

    year: int
    month: int
    patch: int
    pre_release: str | None

    @classmethod
    def _read(cls, match: re.Match[str]) -> Self:
        return cls(
            text=match[0],
            year=int(match["year"]),
            month=int(match["month"]),
            patch=int(match["patch"]),
            pre_release=match["pre_release"],
        )

    @property
    def rank(self) -> Rank:
        return (self.year, self.month, self.patch, pre_release_rank(self.pre_release))

    @property
    def line(self) -> str:
        return f"{self.year}.{self.month}"


# ── GPU driver ────────────────────────────────────────────────────────────────────────────────────────────────────────

# Fields are short on purpose: RHCOS `415.92.202402130021-0` and toolkit `12.6.3` must not pass for a driver.
DRIVER: Final = r"(?P<branch>[0-9]{3})\.(?P<minor>[0-9]{1,3})(?:\.(?P<patch>[0-9]{1,3}))?"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DriverVersion(Version):
    """A driver of two or three fields; a missing third field counts as 0."""

    scheme: ClassVar = Scheme.DRIVER
    form: ClassVar = Form(
        pattern=re.compile(DRIVER),
        shape="branch.minor or branch.minor.patch",
        example="560.35.03 or 565.77",
        advice="Copy the driver's version from its release notes or from the image tag, without the operating system.",
    )

    branch: int
    minor: int
    patch: int

    @classmethod
    def _read(cls, match: re.Match[str]) -> Self:
        return cls(
            text=match[0], branch=int(match["branch"]), minor=int(match["minor"]), patch=int(match["patch"] or 0)
        )

    @property
    def rank(self) -> Rank:
        return (self.branch, self.minor, self.patch)

    @property
    def is_developer_build(self) -> bool:
        """Whether this build is not for clusters, and its place in the order says nothing about its age."""
        return (self.branch, self.minor) in DEVELOPER_BUILDS


# A digest is left out: it may contradict the tag before it, and then the digest is what runs.
_DRIVER_IMAGE: Final = re.compile(rf"(?:[^@]*:)?(?P<driver>{DRIVER})(?:-[0-9A-Za-z_.-]+)?")


def driver_version_of_image(image: str) -> DriverVersion | None:
    """Read the driver off an image reference or tag; None where the tag does not name it (a digest, a branch only)."""
    match = _DRIVER_IMAGE.fullmatch(image)
    return None if match is None else DriverVersion.parse(match["driver"])


# ── CUDA ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CudaVersion(LinedVersion):
    """A CUDA level; two fields mean the first (GA) release of that minor, so `12.6` equals `12.6.0`."""

    scheme: ClassVar = Scheme.CUDA
    form: ClassVar = Form(
        pattern=re.compile(r"(?P<major>[0-9]+)\.(?P<minor>[0-9]+)(?:\.(?P<update>[0-9]+))?"),
        shape="major.minor or major.minor.update",
        example="12.6 or 12.6.3",
        advice="Write the newest toolkit that workload images use.",
    )

    major: int
    minor: int
    update: int

    @classmethod
    def _read(cls, match: re.Match[str]) -> Self:
        return cls(
            text=match[0], major=int(match["major"]), minor=int(match["minor"]), update=int(match["update"] or 0)
        )

    @property
    def rank(self) -> Rank:
        return (self.major, self.minor, self.update)

    @property
    def line(self) -> str:
        return f"{self.major}.{self.minor}"


# ── MOFED and DOCA-OFED ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OfedVersion(Version):
    """A network driver, compared by year, month and three digits of the release.

    The fourth digit differs between host and DPU packages of one release, and node labels drop it. The build counts
    rebuilds of the container. Neither says anything about the driver.
    """

    scheme: ClassVar = Scheme.OFED
    form: ClassVar = Form(
        pattern=re.compile(
            r"(?:doca[0-9]+(?:\.[0-9]+)+-)?"
            r"(?P<year>[0-9]{1,2})\.(?P<month>[0-9]{1,2})"
            r"-(?P<release>[0-9]+\.[0-9]+\.[0-9]+)(?:\.[0-9]+)?"
            # In an image tag the build is followed by kernel, system and architecture.
            r"(?:-[0-9]+(?:-[0-9A-Za-z][0-9A-Za-z_.+-]*)?)?"
        ),
        shape="[docaX.Y.Z-]YY.MM-a.b.c[.d][-build]",
        example="24.07-0.6.1.0 or doca3.1.0-25.07-0.9.7.0-0",
        advice="Copy the version from NicClusterPolicy spec.ofedDriver or from the release's component table.",
    )

    year: int
    month: int
    release: tuple[int, ...]

    @classmethod
    def _read(cls, match: re.Match[str]) -> Self:
        return cls(
            text=match[0],
            year=int(match["year"]),
            month=int(match["month"]),
            release=_numbers(match["release"]),
        )

    @property
    def rank(self) -> Rank:
        return (self.year, self.month, *self.release)

    @property
    def train(self) -> str:
        """Year and month as firmware tables print them, zero-padded: `24.07`."""
        return f"{self.year:02}.{self.month:02}"


# ── NIC firmware ──────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FirmwareVersion(Version):
    """The firmware of one NIC family; across families there is no order."""

    scheme: ClassVar = Scheme.FIRMWARE
    form: ClassVar = Form(
        pattern=re.compile(r"(?P<family>[0-9]{2})\.(?P<train>[0-9]+)\.(?P<build>[0-9]+)"),
        shape="family.train.build",
        example="28.40.1000",
        advice="Copy it from NicDevice status.firmwareVersion or from fw_ver of the device.",
    )

    family: int
    train: int
    build: int

    @classmethod
    def _read(cls, match: re.Match[str]) -> Self:
        return cls(text=match[0], family=int(match["family"]), train=int(match["train"]), build=int(match["build"]))

    @property
    def rank(self) -> Rank:
        return (self.train, self.build)

    @property
    def lineage(self) -> str:
        return self.family_name

    @property
    def family_name(self) -> str:
        """The device by its trade name, or by its number where we know no name."""
        return NIC_FAMILIES.get(self.family, f"NIC family {self.family}")


# ── DCGM ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DcgmExporterVersion(Version):
    """Two versions in one: the DCGM inside, then the exporter; ordered by the first, then by the second."""

    scheme: ClassVar = Scheme.DCGM_EXPORTER
    form: ClassVar = Form(
        pattern=re.compile(
            r"(?P<dcgm>[0-9]+\.[0-9]+\.[0-9]+)-(?P<exporter>[0-9]+\.[0-9]+\.[0-9]+)" + OS_SUFFIX,
        ),
        shape="dcgm-exporter[-os]",
        example="3.3.8-3.6.0",
        advice="Write both halves; the standalone DCGM image (3.3.8-1) is another component.",
    )

    dcgm: tuple[int, ...]
    exporter: tuple[int, ...]

    @classmethod
    def _read(cls, match: re.Match[str]) -> Self:
        return cls(
            text=match[0],
            dcgm=_numbers(match["dcgm"]),
            exporter=_numbers(match["exporter"]),
        )

    @property
    def rank(self) -> Rank:
        return (self.dcgm, self.exporter)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DcgmVersion(Version):
    """The standalone DCGM image: the DCGM inside, then the number of its packaging."""

    scheme: ClassVar = Scheme.DCGM
    form: ClassVar = Form(
        pattern=re.compile(r"(?P<dcgm>[0-9]+\.[0-9]+\.[0-9]+)-(?P<packaging>[0-9]+)" + OS_SUFFIX),
        shape="dcgm-packaging[-os]",
        example="3.3.8-1-ubuntu22.04",
        advice="Copy the tag of the dcgm image; the exporter (3.3.8-3.6.0) is another component.",
    )

    dcgm: tuple[int, ...]
    packaging: int

    @classmethod
    def _read(cls, match: re.Match[str]) -> Self:
        return cls(
            text=match[0],
            dcgm=_numbers(match["dcgm"]),
            packaging=int(match["packaging"]),
        )

    @property
    def rank(self) -> Rank:
        return (self.dcgm, self.packaging)


# ── device plugin and container toolkit ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OperandVersion(SemanticVersion):
    """A version whose OS suffix newer releases dropped, so that the suffix cannot take part in comparing."""

    scheme: ClassVar = Scheme.OPERAND
    form: ClassVar = Form(
        pattern=re.compile(f"v?{SEMANTIC}{PRE_RELEASE}{OS_SUFFIX}"),
        shape="[v]major.minor.patch[-os]",
        example="v0.17.0 or v1.17.0-ubuntu20.04",
        advice="Copy the tag of the image.",
    )


# ── DRA driver ────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DraDriverVersion(Version):
    """The DRA driver for GPUs: managed by the GPU Operator's GPUCluster, or a chart of its own with its version."""

    scheme: ClassVar = Scheme.DRA_DRIVER
    form: ClassVar = Form(
        pattern=re.compile(r"managed|v?(?P<numbers>[0-9]+\.[0-9]+\.[0-9]+)(?:-[0-9A-Za-z.-]+)?"),
        shape="managed, or the chart's major.minor.patch",
        example="managed or 25.8.0",
        advice="Write managed where a GPUCluster of the GPU Operator deploys it, else the version of its chart.",
    )

    numbers: tuple[int, ...]

    @classmethod
    def _read(cls, match: re.Match[str]) -> Self:
        return cls(text=match[0], numbers=_numbers(match["numbers"]) if match["numbers"] else ())

    @property
    def rank(self) -> Rank:
        return self.numbers

    @property
    def lineage(self) -> str:
        return "chart" if self.numbers else "managed"

    @property
    def is_managed(self) -> bool:
        return not self.numbers


# ── NCCL ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NcclVersion(SemanticVersion):
    """A release of the collective library; the packaging number and the CUDA suffix of its packages do not count."""

    scheme: ClassVar = Scheme.NCCL
    form: ClassVar = Form(
        pattern=re.compile(rf"v?{SEMANTIC}{PRE_RELEASE}(?:-[0-9]+)?(?:\+cuda[0-9]+\.[0-9]+)?"),
        shape="major.minor.patch[-packaging]",
        example="2.22.3",
        advice="Copy NCCL_VERSION of the reference image.",
    )


def _numbers(dotted: str) -> tuple[int, ...]:
    return tuple(map(int, dotted.split(".")))


_NUMBER: Final = re.compile(r"[0-9]+")
SYSTEMS: Final = {
    re.compile(r"[0-9]\+$"): "Container-Optimized OS",
    re.compile(r"-default$"): "SUSE Linux Enterprise",
    re.compile(r"-talos$"): "Talos",
    re.compile(r"-flatcar$"): "Flatcar",
    re.compile(r"\.(azl|cm)[0-9]+"): "Azure Linux",
    re.compile(r"\.amzn[0-9]+"): "Amazon Linux",
}
"""Systems that no table of kernels names, by how their kernels call themselves."""

# ── kernel ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KernelVersion(LinedVersion):
    """A kernel as `uname -r` prints it, ordered only among builds of the same stream.

        5.14.0-427.40.1.el9_4.x86_64+rt          5.15.0-105-generic
        ────── ─── ──── ───── ────── ──          ────── ─── ───────
        base   │   z    dist  arch   flavour     base   z   flavour
               release
        └─ stream ┘                              stream

    Every minor of RHEL 9 has base 5.14.0, so its stream needs the first number of the release. Ubuntu counts that
    number up with each build and keeps no other, so there it is z. Each flavour and architecture is a build of its own
    and needs its own driver build: they are not compared with each other.

        6.6.113+    6.4.0-150600.23.47-default    6.12.40-talos    6.6.92.2-2.azl3

    Others print what we cannot take apart. Such a kernel is real and has an upstream line, but no order: each is a
    stream of its own, and `is_foreign`.
    """

    scheme: ClassVar = Scheme.KERNEL
    form: ClassVar = Form(
        pattern=re.compile(
            r"(?P<base>[0-9]+\.[0-9]+\.[0-9]+)-(?:"
            # Older RHEL marks a real-time kernel in the release (`.rt14.321`) instead of the flavour (`+rt`).
            r"(?P<release>[0-9]+)(?P<z>(?:\.[0-9]+)*)(?P<rt>\.rt[0-9]+(?:\.[0-9]+)*)?"
            r"\.(?P<dist>[a-z]+[0-9]+(?:_[0-9]+)?)\.(?P<arch>x86_64|aarch64|ppc64le|s390x)"
            r"(?:\+(?P<flavour>[0-9a-z]+(?:-[0-9a-z]+)*))?"
            r"|(?P<abi>[0-9]+)-(?P<variant>[a-z][0-9a-z]*(?:-[0-9a-z]+)*))"
            # Whatever else a kernel of Linux calls itself; it begins with one digit, unlike a driver or an operator.
            # One of RHEL that lacks its architecture is a copy cut short.
            r"|(?!.*\.el[0-9])(?P<other>[2-9]\.[0-9]+(?:\.[0-9]+)*)(?:[+-][0-9A-Za-z._+~-]*)?"
        ),
        shape="base-release[.z].dist.arch[+flavour] or base-build-flavour, as `uname -r` prints it",
        example="5.14.0-427.40.1.el9_4.x86_64 or 5.15.0-105-generic",
        advice="Copy Node status.nodeInfo.kernelVersion; leave the kernel out until it is known exactly.",
    )

    base: tuple[int, ...]
    release: int | None
    z: tuple[int, ...]
    dist: str | None
    arch: str | None
    flavour: str | None
    is_foreign: bool = False

    @classmethod
    def _read(cls, match: re.Match[str]) -> Self:
        if match["other"] is not None:
            base = tuple(map(int, match["other"].split(".")))
            return cls(
                text=match[0], base=base, release=None, z=(), dist=None, arch=None, flavour=None, is_foreign=True
            )
        rt = match["rt"] or ""
        return cls(
            text=match[0],
            base=tuple(map(int, match["base"].split("."))),
            release=None if match["release"] is None else int(match["release"]),
            z=tuple(map(int, _NUMBER.findall(match["abi"] or match["z"] + rt))),
            dist=match["dist"],
            arch=match["arch"],
            flavour=match["variant"] or match["flavour"] or ("rt" if rt else None),
        )

    @property
    def rank(self) -> Rank:
        return self.z

    @property
    def lineage(self) -> str:
        return " ".join(part for part in (self.stream, self.dist, self.arch, self.flavour) if part is not None)

    @property
    def stream(self) -> str:
        """`5.14.0-427`, which together with `dist` names a stream of RHEL; `5.15.0` on Ubuntu; else all of it."""
        if self.is_foreign:
            return self.text
        base = ".".join(map(str, self.base))
        return base if self.release is None else f"{base}-{self.release}"

    @property
    def system(self) -> str:
        """The system that calls its kernels so, where we know it."""
        return next((name for mark, name in SYSTEMS.items() if mark.search(self.text)), "")

    @property
    def line(self) -> str:
        """The upstream line, good for a driver's lower bound (4.15) and for nothing else: RHEL 9 is always 5.14."""
        return f"{self.base[0]}.{self.base[1]}"


# ── operating system ──────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SystemVersion(LinedVersion):
    """An operating system by its name, and by its version where it has one; ordered only among those of one name."""

    scheme: ClassVar = Scheme.SYSTEM
    form: ClassVar = Form(
        pattern=re.compile(
            r"(?P<name>[A-Za-z][A-Za-z_-]*?)[ -]?(?P<numbers>[0-9]+(?:\.[0-9]+)*)"
            r"|(?P<alone>rhcos|cos|talos|flatcar|bottlerocket)"
        ),
        shape="name and version, or rhcos, cos, talos, flatcar or bottlerocket alone",
        example="ubuntu24.04 or rhel9.6",
        advice="Copy ID and VERSION_ID of /etc/os-release, or Node status.nodeInfo.osImage's name and number.",
    )

    name: str
    numbers: tuple[int, ...]

    @classmethod
    def _read(cls, match: re.Match[str]) -> Self:
        numbers = tuple(map(int, (match["numbers"] or "").split("."))) if match["numbers"] else ()
        return cls(text=match[0], name=(match["name"] or match["alone"]).casefold(), numbers=numbers)

    @property
    def rank(self) -> Rank:
        return self.numbers

    @property
    def lineage(self) -> str:
        return self.name

    @property
    def line(self) -> str:
        return ".".join(map(str, self.numbers[:2]))


# ── container runtimes and other parts ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartVersion(LinedVersion):
    """Numbers with dots between them; `2.6` and `v2.6.0` are the same, and a suffix stays in the text only."""

    scheme: ClassVar = Scheme.PART
    form: ClassVar = Form(
        pattern=re.compile(r"v?(?P<numbers>[0-9]+(?:\.[0-9]+){1,3})(?:[-+~][0-9A-Za-z][0-9A-Za-z.+~-]*)?"),
        shape="[v]major.minor[.patch]",
        example="2.1.4 or v2.6",
        advice="Copy the version that the program or its image tag reports.",
    )

    numbers: tuple[int, ...]

    @classmethod
    def _read(cls, match: re.Match[str]) -> Self:
        return cls(text=match[0], numbers=tuple(map(int, match["numbers"].split("."))))

    @property
    def rank(self) -> Rank:
        return (*self.numbers, *(0 for _ in range(4 - len(self.numbers))))

    @property
    def line(self) -> str:
        return f"{self.numbers[0]}.{self.numbers[1]}"


# ── OpenShift ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OpenShiftVersion(SemanticVersion):
    """A version whose pre-releases are candidates (`-rc.1`, `-ec.2`) or nightly builds (`-0.nightly-…`)."""

    scheme: ClassVar = Scheme.OPENSHIFT
    form: ClassVar = Form(
        pattern=re.compile(rf"{SEMANTIC}(?:-(?P<pre_release>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"),
        shape="major.minor.patch[-prerelease]",
        example="4.16.23 or 4.20.0-rc.2",
        advice="Copy the newest completed entry of ClusterVersion status.history.",
    )


# ── SR-IOV operator ───────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SriovOperatorVersion(LinedVersion):
    """Red Hat's operator, cut once per OpenShift minor; only the minor is compared, later builds are rebuilds."""

    scheme: ClassVar = Scheme.SRIOV_OPERATOR
    form: ClassVar = Form(
        pattern=re.compile(r"v?(?P<major>[0-9]+)\.(?P<minor>[0-9]+)\.[0-9]+(?:-[0-9]+)?"),
        shape="major.minor.patch[-date]",
        example="4.18.0-202502260503",
        advice="Copy the CSV's version; network-operator-24.7.0 is NVIDIA's own build, another product.",
    )

    major: int
    minor: int

    @classmethod
    def _read(cls, match: re.Match[str]) -> Self:
        return cls(text=match[0], major=int(match["major"]), minor=int(match["minor"]))

    @property
    def rank(self) -> Rank:
        return (self.major, self.minor)

    @property
    def line(self) -> str:
        return f"{self.major}.{self.minor}"


# ── Kubernetes ────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KubernetesVersion(SemanticVersion):
    """A release of Kubernetes; the vendor's suffix (`-gke.1000`, `+k3s1`) is not compared.

    By semantic versioning `-gke.1000` would sort below the release it is built from, which is false.
    """

    scheme: ClassVar = Scheme.KUBERNETES
    form: ClassVar = Form(
        pattern=re.compile(
            rf"v?{SEMANTIC}{PRE_RELEASE}(?:[-+]{NO_PRE_RELEASE}[0-9A-Za-z][0-9A-Za-z.+-]*)?",
        ),
        shape="[v]major.minor.patch[-vendor]",
        example="v1.35.8 or v1.30.4-gke.1000",
        advice="Copy gitVersion of the API server or Node status.nodeInfo.kubeletVersion.",
    )


VALUES: Final[Mapping[Scheme, type[Version]]] = {
    Scheme.OPERATOR: OperatorVersion,
    Scheme.DRIVER: DriverVersion,
    Scheme.CUDA: CudaVersion,
    Scheme.OFED: OfedVersion,
    Scheme.FIRMWARE: FirmwareVersion,
    Scheme.KERNEL: KernelVersion,
    Scheme.DCGM_EXPORTER: DcgmExporterVersion,
    Scheme.DCGM: DcgmVersion,
    Scheme.OPERAND: OperandVersion,
    Scheme.OPENSHIFT: OpenShiftVersion,
    Scheme.SRIOV_OPERATOR: SriovOperatorVersion,
    Scheme.KUBERNETES: KubernetesVersion,
    Scheme.NCCL: NcclVersion,
    Scheme.SYSTEM: SystemVersion,
    Scheme.DRA_DRIVER: DraDriverVersion,
    Scheme.PART: PartVersion,
    Scheme.LINE: Line,
}


def parse(scheme: Scheme, text: str) -> Version:
    """Read a text by its scheme; where the scheme is fixed, `DriverVersion.parse(text)` keeps the type."""
    return VALUES[scheme].parse(text)
