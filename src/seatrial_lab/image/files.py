"""What a file of an image is, and trees of them by path.

A path has no slash in front and none behind. Owners and times are not kept: everything belongs to root and has the time
of its layer. Whatever came in with the setuid or setgid bit has lost it here.
Tests: tests/image/test_files.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from seatrial_lab.image import recipe
from seatrial_lab.image.errors import ImageFailure

MODE_BITS: Final = 0o1777
"""Permissions and the sticky bit of /tmp."""
MERGED: Final = ("bin", "lib", "lib64", "sbin")
"""Folders that are links into /usr, as Debian installs itself. Packages of bookworm still bring files below them."""

_TRIMMED: Final = re.compile("|".join(f"(?:{pattern})" for pattern in recipe.TRIMMED))


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """Bytes with permissions."""

    content: bytes
    mode: int = 0o644


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A symbolic link."""

    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder of which somebody said how open it is; others are made on the way, with 0755."""

    mode: int = 0o755


Entry = File | Link | Folder
Tree = Mapping[str, Entry]


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One package, as an SBOM tells of it."""

    kind: str  # deb | pypi
    name: str
    version: str
    architecture: str
    url: str
    sha256: str
    license: str = "NOASSERTION"
    source: str = ""  # the name and version of the source package, where it is another


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One package with what it brings."""

    component: Component
    tree: Tree


def place(path: str) -> str:
    """Where a path of a package ends up: below /usr where Debian has merged it, and without dots or slashes around."""
    clean = str(PurePosixPath("/", path)).lstrip("/")
    if ".." in clean.split("/"):
        raise ImageFailure(f"A package brings the path {path!r}, which leads out of the image.")
    return f"usr/{clean}" if clean.split("/", 1)[0] in MERGED else clean


def is_wanted(path: str) -> bool:
    """Whether a path is of use to a running controller."""
    return path != "" and _TRIMMED.fullmatch(path) is None


def merge(trees: Iterable[Tree]) -> dict[str, Entry]:
    """All of them in one; two that disagree about a file are refused."""
    merged: dict[str, Entry] = {}
    for tree in trees:
        for path, entry in tree.items():
            other = merged.setdefault(path, entry)
            if other != entry and not (isinstance(other, Folder) and isinstance(entry, Folder)):
                raise ImageFailure(f"Two packages bring /{path}, and not the same. Leave one of them out in recipe.py.")
    return merged


def with_folders(tree: Tree) -> dict[str, Entry]:
    """The tree with every folder above its files, sorted by path."""
    above: set[str] = set()
    for path in tree:
        while (path := path.rpartition("/")[0]) and path not in above:
            above.add(path)
    return dict(sorted({**dict.fromkeys(above, Folder()), **tree}.items()))


def write(tree: Tree, root: Path) -> None:
    """Put a tree below a folder of this machine."""
    for path, entry in with_folders(tree).items():
        at = root / path
        match entry:
            case Folder(mode=mode):
                at.mkdir(exist_ok=True)
                at.chmod(mode | 0o700)  # or nothing could be put into it
            case Link(target=target):
                at.symlink_to(target)
            case File(content=content, mode=mode):
                at.write_bytes(content)
                at.chmod(mode)
