"""The version schemes of NVIDIA's own parts of the stack, from the operators down to the firmware.

One value per scheme, its form above the value, its parser inside it (`_read`). The platform below is in platform.py.

Tests: tests/core/test_versions.py
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Self

from seatrial.core.compat.versions.values import (
    NO_PRE_RELEASE,
    PRE_RELEASE,
    SEMANTIC,
    Form,
    LinedVersion,
    Rank,
    Scheme,
    SemanticVersion,
    Version,
    pre_release_rank,
)

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
