"""Which Debian packages are in the image, to the byte: debian.lock.json, one line each, for every architecture.

Tests: tests/image/test_lock.py
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).with_name("debian.lock.json")
MIRROR: Final = "http://deb.debian.org"
"""Plain http is enough: what comes has to have the checksum of the lock, and apt checked Debian's signature on that."""
SNAPSHOT: Final = "https://snapshot.debian.org/archive"
"""Keeps what a mirror drops when a newer version is out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One Debian package, and where it lies in an archive."""

    name: str
    version: str
    architecture: str
    source: str
    archive: str  # debian | debian-security
    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """The packages of every architecture, as the archives stood at one moment."""

    as_of: datetime
    packages: Mapping[str, tuple[Package, ...]]

    def urls(self, package: Package, mirror: str) -> tuple[str, ...]:
        """Where a package may be had, the nearest first."""
        stamp = self.as_of.strftime("%Y%m%dT%H%M%SZ")
        return (
            f"{mirror}/{package.archive}/{package.path}",
            f"{SNAPSHOT}/{package.archive}/{stamp}/{package.path}",
        )


def read(text: str) -> Lock:
    """The lock as it was written."""
    raw = json.loads(text)
    return Lock(
        as_of=datetime.fromisoformat(raw["as_of"]),
        packages={name: tuple(Package(**each) for each in listed) for name, listed in raw["packages"].items()},
    )


def write(lock: Lock) -> str:
    """One line for each package, so that a difference can be read."""
    shelves = []
    for architecture, packages in sorted(lock.packages.items()):
        lines = ",\n".join(f"   {json.dumps(dataclasses.asdict(package))}" for package in packages)
        shelves.append(f'  "{architecture}": [\n{lines}\n  ]')
    return f'{{\n "as_of": "{lock.as_of.isoformat()}",\n "packages": {{\n' + ",\n".join(shelves) + "\n }\n}\n"


def load() -> Lock:
    """The lock of this checkout."""
    return read(FILE.read_text(encoding="utf-8"))
