"""Whose certificates count at which server, where the machine's own authorities are not to decide it.

    --git-authority https://git.example.com=/secrets/ca.crt    for every repository there, and for a forge's API there
    spec.matrix.git.url ──▶ Address ──▶ its scheme, host and port ──▶ the file, or none

Law of this file: an authority is bound to a server as a login is to an address (addresses.py), so that one which is
named for a server inside cannot vouch for one outside. A certificate is a whole server's, so no path is named.

Tests: tests/adapters/git/test_authorities.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, Self, TypeAlias

from seatrial.adapters.git.addresses import Address
from seatrial.adapters.git.errors import SetupInvalid
from seatrial.core.base.values import dataclass, field

Server: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorities:
    """Every server that an authority was named for."""

    files: Mapping[Server, Path] = field(default_factory=dict)
    """By host and port."""

    @classmethod
    def read(cls, named: Iterable[tuple[str, Path]]) -> Self:
        """Read servers and files; SetupInvalid where a text names no server, or one is named twice."""
        files: dict[Server, Path] = {}
        for text, file in named:
            at = Address.parse(text)
            if at.scheme != "https" or at.path:
                raise SetupInvalid(
                    f"{text} is not a server with a certificate. Write it as https://HOST, with no path."
                )
            if files.setdefault((at.host, at.port), file) is not file:
                raise SetupInvalid(f"{text} is named twice. Put both authorities into one file.")
        return cls(files=files)

    def of(self, url: str) -> Path | None:
        """The authority for an address; None where none was named, and the machine's own decide."""
        at = Address.parse(url)
        return self.files.get((at.host, at.port)) if at.scheme == "https" else None


MACHINES_OWN: Final = Authorities()
