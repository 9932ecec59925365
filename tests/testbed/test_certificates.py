"""The testbed's own authority: what it signs counts for the hosts that were named, and its keys are nobody else's."""

from __future__ import annotations

import ssl
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from seatrial_lab.testbed.neighbours.git_server import GitServer
from seatrial_lab.testbed.plane.certificates import Authority, Pair


def asked(server: GitServer, host: str, trusted: bytes) -> int:
    """What a server answers to somebody who trusts this authority."""
    context = ssl.create_default_context(cadata=trusted.decode())
    try:
        with urllib.request.urlopen(f"https://{host}:{server.port}/", timeout=10, context=context) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as err:
        return err.code


def test_a_server_is_trusted_by_the_names_and_by_the_authority_that_it_was_given(tmp_path: Path) -> None:
    ours = Authority.make("ours")
    pair = Pair(certificate=tmp_path / "tls" / "a.crt", key=tmp_path / "tls" / "a.key")
    ours.issue(pair, name="git", hosts=("127.0.0.1", "git.example.com"))
    assert pair.key.stat().st_mode & 0o077 == 0
    with GitServer(root=tmp_path, pair=pair) as server:
        assert asked(server, "127.0.0.1", ours.pem) == 401, "trusted, and asked who we are"
        with pytest.raises(urllib.error.URLError, match="not valid for 'localhost'"):
            asked(server, "localhost", ours.pem)
        with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
            asked(server, "127.0.0.1", Authority.make("ours").pem)
