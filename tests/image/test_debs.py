"""Reading Debian packages: what is wanted of them, and nothing that gives rights."""

from __future__ import annotations

import io
import tarfile

import pytest

from seatrial_lab.image import debs
from seatrial_lab.image.errors import ImageFailure
from seatrial_lab.image.files import File, Folder, Link
from seatrial_lab.image.lock import Package

CONTROL = b"Package: thing\nVersion: 1:2.3-4\n"
THING = Package(
    name="thing",
    version="1:2.3-4",
    architecture="amd64",
    source="things",
    archive="debian",
    path="pool/main/t/things/thing_2.3-4_amd64.deb",
    size=1,
    sha256="0" * 64,
)


def a_tar(*members: tuple[str, int, bytes, int, str]) -> bytes:
    """Name, type, content, mode and link of each."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as tar:
        for name, kind, content, mode, link in members:
            header = tarfile.TarInfo(name)
            header.type, header.mode, header.linkname, header.size = bytes([kind]), mode, link, len(content)
            tar.addfile(header, io.BytesIO(content))
    return packed.getvalue()


def an_archive(**members: bytes) -> bytes:
    """An ar archive; dots are written as two underscores."""
    parts = [b"!<arch>\n"]
    for name, content in members.items():
        head = f"{name.replace('__', '.'):<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n"
        parts += [head.encode(), content, b"\n" * (len(content) % 2)]
    return b"".join(parts)


def a_deb(*members: tuple[str, int, bytes, int, str]) -> bytes:
    control = a_tar(("./control", ord("0"), CONTROL, 0o644, ""), ("./postinst", ord("0"), b"rm -rf /", 0o755, ""))
    return an_archive(debian_binary=b"2.0\n", control__tar__xz=control, data__tar__xz=a_tar(*members))


def test_a_package_is_its_files_and_a_note_for_scanners() -> None:
    deb = a_deb(
        ("./", ord("5"), b"", 0o755, ""),
        ("./bin/thing", ord("0"), b"program", 0o4755, ""),
        ("./var/lib/thing", ord("5"), b"", 0o2775, ""),
        ("./usr/bin/thing-too", ord("2"), b"", 0o777, "thing"),
        ("./usr/bin/again", ord("1"), b"", 0o755, "./bin/thing"),
        ("./usr/share/man/man1/thing.1.gz", ord("0"), b"manual", 0o644, ""),
        ("./usr/share/doc/thing/copyright", ord("0"), b"free", 0o644, ""),
    )
    part = debs.unpack(THING, deb, "http://mirror/thing.deb")
    assert part.tree == {
        "usr/bin/thing": File(content=b"program", mode=0o755),
        "var/lib/thing": Folder(mode=0o775),
        "usr/bin/thing-too": Link(target="thing"),
        "usr/bin/again": Link(target="/usr/bin/thing"),
        "usr/share/doc/thing/copyright": File(content=b"free"),
        "var/lib/dpkg/status.d/thing": File(content=CONTROL),
    }
    assert (part.component.kind, part.component.name, part.component.version) == ("deb", "thing", "1:2.3-4")
    assert part.component.url == "http://mirror/thing.deb"


def test_a_second_name_of_something_unwanted_is_a_file_of_its_own() -> None:
    deb = a_deb(
        ("./usr/share/man/x", ord("0"), b"program", 0o755, ""),
        ("./usr/bin/x", ord("1"), b"", 0o755, "./usr/share/man/x"),
    )
    assert debs.unpack(THING, deb, "").tree["usr/bin/x"] == File(content=b"program", mode=0o755)


def test_something_else_is_refused() -> None:
    with pytest.raises(ImageFailure, match="no ar archive"):
        debs.unpack(THING, b"<html>", "")
    with pytest.raises(ImageFailure, match=r"no data\.tar\.xz"):
        debs.unpack(THING, an_archive(debian_binary=b"2.0\n"), "")


def test_a_device_has_no_place_in_an_image() -> None:
    with pytest.raises(ImageFailure, match="/dev/null is neither"):
        debs.unpack(THING, a_deb(("./dev/null", ord("3"), b"", 0o666, "")), "")
