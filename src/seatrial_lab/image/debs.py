"""Debian packages as files. They are read, never installed: no script of a package runs.

Tests: tests/image/test_debs.py
"""

from __future__ import annotations

import io
import lzma
import tarfile
from collections.abc import Iterator
from typing import Final

from seatrial_lab.image import files
from seatrial_lab.image.errors import ImageFailure
from seatrial_lab.image.files import Component, Entry, File, Folder, Link, Part
from seatrial_lab.image.lock import Package

_MAGIC: Final = b"!<arch>\n"
_HEADER_SIZE: Final = 60

STATUS: Final = "var/lib/dpkg/status.d"
"""Where images without dpkg tell scanners what is in them."""


def unpack(package: Package, content: bytes, url: str) -> Part:
    """What a package brings that is wanted, and the note that it is there."""
    members = dict(_members(content))
    tree = dict(_entries(_tar(members, "data.tar", package)))
    tree[f"{STATUS}/{package.name}"] = File(content=_control(_tar(members, "control.tar", package)))
    component = Component(
        kind="deb",
        name=package.name,
        version=package.version,
        architecture=package.architecture,
        url=url,
        sha256=package.sha256,
        source=package.source,
    )
    return Part(component=component, tree=tree)


def _members(content: bytes) -> Iterator[tuple[str, bytes]]:
    """The files of an ar archive, which a .deb is."""
    if not content.startswith(_MAGIC):
        raise ImageFailure("A file that should be a Debian package is none: it is no ar archive.")
    at = len(_MAGIC)
    while at + _HEADER_SIZE <= len(content):
        name, size = content[at : at + 16].decode("ascii").strip().rstrip("/"), int(content[at + 48 : at + 58])
        at += _HEADER_SIZE
        yield name, content[at : at + size]
        at += size + size % 2


def _tar(members: dict[str, bytes], name: str, package: Package) -> tarfile.TarFile:
    found = members.get(f"{name}.xz")
    if found is None:
        raise ImageFailure(f"{package.name} has no {name}.xz, so it is no package of bookworm.")
    return tarfile.open(fileobj=io.BytesIO(lzma.decompress(found)))  # all at once: reading it in pieces goes back


def _entries(tar: tarfile.TarFile) -> Iterator[tuple[str, Entry]]:
    for member in tar:
        path = files.place(member.name)
        if not files.is_wanted(path):
            continue
        mode = member.mode & files.MODE_BITS
        if member.isdir():
            yield path, Folder(mode=mode)
        elif member.issym():
            yield path, Link(target=member.linkname)
        elif member.islnk() and files.is_wanted(files.place(member.linkname)):
            yield path, Link(target=f"/{files.place(member.linkname)}")  # a second name; git has two of 4 MB
        else:
            content = tar.extractfile(member)
            if content is None:
                raise ImageFailure(f"/{path} is neither a file nor a folder nor a link, and has no place in an image.")
            yield path, File(content=content.read(), mode=mode)


def _control(tar: tarfile.TarFile) -> bytes:
    content = tar.extractfile("./control")
    if content is None:
        raise ImageFailure("A Debian package has no control file.")
    return content.read()
