"""A bundle: files of facts that somebody publishes, with one digest and, if they like, an SSH signature.

    acme-facts/
      drivers.yaml, operators.yaml   facts, in the form of docs/reference/facts.schema.json
      SHA256SUMS                     what `sha256sum *.yaml` prints; needed only to be signed
      SHA256SUMS.sig                 what `ssh-keygen -Y sign -n facts@seatrial.dev` makes of it

    drivers.yaml + drivers.yaml.sig  a bundle that is one file, with the signature of that file

    digest                           what `sha256sum *.yaml | sha256sum` prints, in the order of the names' bytes

    SeatrialError
    └── BundleError             nothing was taken over
        ├── BundleUnreadable    it is not there, or it is no bundle
        ├── BundleTampered      it is not what its checksums, its signature, the pin or the lock say
        ├── BundleUnsigned      nobody vouches for it: no signature, no pin
        ├── SignerNotAllowed    it is signed, by somebody whom this repository does not name
        └── NoSshKeygen         it is signed, and nothing here can tell by whom

Law of this file: bytes in, values out. Where they come from is in adapters.
Tests: tests/core/compat/test_facts_bundles.py
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Final, Self

from seatrial.core.base.values import dataclass
from seatrial.core.errors import SeatrialError

SUMS: Final = "SHA256SUMS"
SIGNATURE: Final = ".sig"
NAMESPACE: Final = "facts@seatrial.dev"
"""What a signature has to be made for: one made for a commit or a letter says nothing about facts."""
BYTES_MAX: Final = 10 * 1024 * 1024
FILES_MAX: Final = 200

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.yaml")
_SUM: Final = re.compile(r"(?P<sum>[0-9a-f]{64}) [ *](?P<name>.+)")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")


class BundleError(SeatrialError):
    """A bundle that was not taken over, or must not be used."""

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(message)
        self.place = place
        """The file to look at."""


class BundleUnreadable(BundleError):  # noqa: N818  they say what is
    """It is not there, or it is no bundle."""


class BundleTampered(BundleError):  # noqa: N818
    """It is not what somebody vouched for."""


class BundleUnsigned(BundleError):  # noqa: N818
    """Nobody vouches for it."""


class SignerNotAllowed(BundleError):  # noqa: N818
    """It is signed by somebody whom this repository does not name."""


class NoSshKeygen(BundleError):  # noqa: N818
    """It is signed, and nothing here can tell by whom."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """Files of facts, as they were published."""

    files: Mapping[str, bytes]
    """The facts, in the order of their names."""
    signed: bytes = b""
    """What the signature is about."""
    signature: bytes = b""
    beside: Mapping[str, bytes]
    """What is kept with them, so that anybody can verify them again: the checksums and the signature."""

    @classmethod
    def of(cls, raw: Mapping[str, bytes], place: str) -> Self:
        """The bundle of a folder's files; `place` is how it is called in errors."""
        files = {name: raw[name] for name in sorted(raw) if name.endswith(".yaml")}
        _check(files, place)
        beside = {name: raw[name] for name in (SUMS, SUMS + SIGNATURE) if name in raw}
        if SUMS in raw:
            _compare(sums_of(files), _listed(raw[SUMS], place), place)
        elif SUMS + SIGNATURE in raw:
            raise BundleUnreadable(f"{place} has {SUMS}{SIGNATURE} and no {SUMS}, which it would be about.", place)
        elif len(files) == 1:
            (name,) = files
            if name + SIGNATURE in raw:
                signature = raw[name + SIGNATURE]
                return cls(files=files, signed=files[name], signature=signature, beside={name + SIGNATURE: signature})
        return cls(files=files, signed=raw.get(SUMS, b""), signature=raw.get(SUMS + SIGNATURE, b""), beside=beside)

    @property
    def digest(self) -> str:
        return digest_of(sums_of(self.files))


def belongs(name: str) -> bool:
    """Whether a file of a folder is part of a bundle; the rest (a README, a licence) is left where it is."""
    return name.endswith((".yaml", f".yaml{SIGNATURE}")) or name in (SUMS, SUMS + SIGNATURE)


def sums_of(files: Mapping[str, bytes]) -> dict[str, str]:
    """The checksum of each file."""
    return {name: sha256(files[name]).hexdigest() for name in sorted(files)}


def digest_of(sums: Mapping[str, str]) -> str:
    """The one digest of files with these checksums."""
    text = "".join(f"{sums[name]}  {name}\n" for name in sorted(sums))
    return f"sha256:{sha256(text.encode()).hexdigest()}"


def is_digest(text: str) -> bool:
    """Whether it is written as a digest is."""
    return _DIGEST.fullmatch(text) is not None


def _check(files: Mapping[str, bytes], place: str) -> None:
    if not files:
        raise BundleUnreadable(
            f"{place} has no facts: there is no *.yaml in it. Name the folder with the files.", place
        )
    for name in files:
        if not _NAME.fullmatch(name):
            raise BundleUnreadable(f"{place} has a file {name!r}. Names are letters, digits, . _ and -.", place)
    size = sum(map(len, files.values()))
    if len(files) > FILES_MAX or size > BYTES_MAX:
        raise BundleUnreadable(
            f"{place} has {len(files)} files of {size} bytes; at most {FILES_MAX} of {BYTES_MAX} are read.",
            place,
        )


def _listed(text: bytes, place: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in text.decode("utf-8", errors="replace").splitlines():
        match = _SUM.fullmatch(line)
        if match is None:
            raise BundleUnreadable(f"{place}: {SUMS} has a line {line!r}. Write it with `sha256sum *.yaml`.", place)
        found[match["name"]] = match["sum"]
    return found


def _compare(found: Mapping[str, str], listed: Mapping[str, str], place: str) -> None:
    for name in sorted({*found, *listed}):
        if found.get(name) == listed.get(name):
            continue
        why = "is missing" if name not in found else f"is not in {SUMS}" if name not in listed else "was changed"
        raise BundleTampered(
            f"{place}: {name} {why}: {SUMS} says {listed.get(name, 'nothing')}, it has {found.get(name, 'no bytes')}. "
            "Nothing was taken over. Ask its publisher.",
            place,
        )
