"""The version schemes of what carries the NVIDIA stack: kernel, OpenShift, SR-IOV operator, Kubernetes.

One value per scheme, its form above the value, its parser inside it (`_read`). NVIDIA's own schemes are in nvidia.py.

Tests: tests/core/test_versions.py
"""

from __future__ import annotations

import re
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
)

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
