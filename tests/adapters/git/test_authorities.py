"""Which authority counts at which server: the one that was named for exactly it, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatrial.adapters.git.authorities import MACHINES_OWN, Authorities
from seatrial.adapters.git.errors import SetupInvalid

INSIDE, OTHER = Path("/secrets/inside.crt"), Path("/secrets/other.crt")
NAMED = Authorities.read([("https://git.example.com", INSIDE), ("https://[fd00::1]:3000/", OTHER)])


@pytest.mark.parametrize(
    ("url", "file"),
    [
        ("https://git.example.com/gpu/cluster.git", INSIDE),
        ("https://GIT.example.com:443/x", INSIDE),
        ("https://git.example.com/api/v1", INSIDE),
        ("https://[fd00::1]:3000/x", OTHER),
        ("https://git.example.com:8443/x", None),
        ("https://example.com/x", None),
        ("https://git.example.com.evil.example/x", None),
        ("git@git.example.com:x", None),
        ("/srv/git.example.com", None),
    ],
)
def test_an_authority_counts_at_its_server_and_nowhere_else(url: str, file: Path | None) -> None:
    assert NAMED.of(url) == file
    assert MACHINES_OWN.of(url) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("https://git.example.com/gpu", "with no path"),
        ("http://git.example.com", "not a server with a certificate"),
        ("git@git.example.com:gpu", "not a server with a certificate"),
        ("/srv/git", "not a server with a certificate"),
        ("git.example.com", "neither an https"),
    ],
)
def test_what_names_no_server_is_refused(text: str, why: str) -> None:
    with pytest.raises(SetupInvalid, match=why):
        Authorities.read([(text, INSIDE)])


def test_two_authorities_for_one_server_are_put_into_one_file() -> None:
    with pytest.raises(SetupInvalid, match="Put both authorities into one file"):
        Authorities.read([("https://git.example.com", INSIDE), ("https://git.example.com:443", OTHER)])
