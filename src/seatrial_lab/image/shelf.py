"""What was downloaded, and what was compressed, kept under its checksum: $XDG_CACHE_HOME/seatrial/image.

A file on the shelf is one that had the checksum of a lock when it came, and has it still. Nothing else is ever used, so
it does not matter who sent it. Tests: tests/image/test_shelf.py
"""

from __future__ import annotations

import hashlib
import http.client
import os
import tempfile
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from seatrial.cli.run import progress
from seatrial_lab.image import oci
from seatrial_lab.image.errors import ImageFailure, Unreachable

Say = Callable[[str], None]

ANSWER_SECONDS: Final = 60.0
DIGEST_SIZE: Final = hashlib.sha256().digest_size
"""What stands before compressed bytes, to know them whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One file by its checksum, and who may have it, the nearest first."""

    name: str
    sha256: str
    urls: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """A folder of downloads."""

    folder: Path
    say: Say

    def get(self, wanted: Wanted) -> bytes:
        """The bytes, from the folder or else from the first who has them."""
        at = self.folder / f"{wanted.sha256[:16]}-{wanted.name}"
        try:
            content = at.read_bytes()
        except FileNotFoundError:
            return self._bring(wanted, at)
        return content if _is(wanted, content) else self._bring(wanted, at)  # cut short, or damaged

    def press(self, packed: bytes) -> bytes:
        """Bytes compressed, which takes most of a build where they were not met before."""
        name = hashlib.sha256(packed).hexdigest()[:16]
        at = self.folder / f"{name}-{oci.COMPRESSION}-zlib-{zlib.ZLIB_RUNTIME_VERSION}.pressed"
        kept = at.read_bytes() if at.is_file() else b""
        digest, pressed = kept[:DIGEST_SIZE], kept[DIGEST_SIZE:]
        if not kept or hashlib.sha256(pressed).digest() != digest:  # not there, or damaged: made anew
            pressed = oci.press(packed)
            self._put(at, hashlib.sha256(pressed).digest() + pressed)
        return pressed

    def _bring(self, wanted: Wanted, at: Path) -> bytes:
        self.say(f"  downloading {wanted.name}")
        with progress.doing(f"downloading {wanted.name}"):
            return self._put(at, _download(wanted))

    def _put(self, at: Path, content: bytes) -> bytes:
        self.folder.mkdir(parents=True, exist_ok=True)
        # Under another name first: a killed run leaves nothing that looks finished, and two runs do no harm.
        handle, fresh = tempfile.mkstemp(prefix=".coming-", dir=self.folder)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(fresh).replace(at)
        return content


def cache_folder() -> Path:
    """Return the folder outside the checkout that keeps downloads."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "seatrial" / "image"


def _is(wanted: Wanted, content: bytes) -> bool:
    return hashlib.sha256(content).hexdigest() == wanted.sha256


def _download(wanted: Wanted) -> bytes:
    refused: list[str] = []
    for url in wanted.urls:
        try:
            with urllib.request.urlopen(url, timeout=ANSWER_SECONDS) as answer:  # noqa: S310  urls of our locks
                content: bytes = answer.read()
        except (urllib.error.URLError, http.client.HTTPException, OSError) as err:
            refused.append(f"{url}: {err}")
            continue
        if not _is(wanted, content):
            raise ImageFailure(
                f"{url} sent {len(content)} bytes with another checksum than the lock's {wanted.sha256}. Something on "
                "the way changed them; nothing was kept. Try again, or ask another mirror (SEATRIAL_DEBIAN_MIRROR)."
            )
        return content
    raise Unreachable(_nobody(wanted, refused))


def _nobody(wanted: Wanted, refused: Sequence[str]) -> str:
    return (
        f"{wanted.name} is not in the cache, and could not be downloaded ({'; '.join(refused)}). The first build needs "
        "the network, or a mirror (SEATRIAL_DEBIAN_MIRROR). Where a mirror answers and no longer has a version, "
        "`python -m seatrial_lab.image.locking` takes the one it has."
    )
