"""What the scripts of packages would have made at install time: users, the bundle of certificates, links.

Tests: tests/image/test_system.py
"""

from __future__ import annotations

from typing import Final

from seatrial_lab.image import files, recipe
from seatrial_lab.image.errors import ImageFailure
from seatrial_lab.image.files import Entry, File, Folder, Link, Tree

CERTIFICATES: Final = "usr/share/ca-certificates/mozilla/"
BUNDLE: Final = "etc/ssl/certs/ca-certificates.crt"
IDS: Final = f"{recipe.USER}:{recipe.USER}"
SHELL: Final = "/usr/sbin/nologin"
"""Of somebody who never logs in; it need not exist."""


def made_from(tree: Tree) -> dict[str, Entry]:
    """Everything of a system that is in no package."""
    return {
        **{
            name: Link(target=f"usr/{name}")
            for name in files.MERGED
            if any(path.startswith(f"usr/{name}/") for path in tree)
        },
        "etc/passwd": File(content=_lines(f"root:x:0:0::/root:{SHELL}", f"{recipe.USER_NAME}:x:{IDS}::/tmp:{SHELL}")),
        "etc/group": File(content=_lines("root:x:0:", f"{recipe.USER_NAME}:x:{recipe.USER}:")),
        "etc/nsswitch.conf": File(content=_lines("passwd: files", "group: files", "hosts: files dns")),
        BUNDLE: File(content=_bundle(tree)),
        "usr/lib/ssl/cert.pem": Link(target=f"/{BUNDLE}"),  # where Python's OpenSSL looks
        "tmp": Folder(mode=0o1777),
    }


def _lines(*lines: str) -> bytes:
    return ("\n".join(lines) + "\n").encode()


def _bundle(tree: Tree) -> bytes:
    """All certificates in one file, in the order of their names."""
    found = [
        entry.content
        for path, entry in sorted(tree.items())
        if path.startswith(CERTIFICATES) and path.endswith(".crt") and isinstance(entry, File)
    ]
    if not found:
        raise ImageFailure("ca-certificates brought no certificate, so the image would trust nobody.")
    return b"".join(each if each.endswith(b"\n") else each + b"\n" for each in found)
