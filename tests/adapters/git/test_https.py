"""A remote over TLS: trusted where its authority was named, and a clear no, before any login is sent, where not."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.git.clone import Remote
from seatrial.adapters.git.errors import SetupInvalid
from seatrial.adapters.git.repository import NewTag, Repository
from seatrial_lab.testbed.neighbours.git_server import GitServer
from seatrial_lab.testbed.plane.certificates import Authority, Pair
from tests.adapters.git.remotes import ROBOT, Bare
from tests.adapters.git.test_http import PASSWORD, secret
from tests.adapters.git.test_repository import promote

OURS, OTHER = Authority.make("ours"), Authority.make("another")
Served = Callable[..., AbstractContextManager[GitServer]]


@pytest.fixture
def served(remote: Bare, tmp_path: Path) -> Served:
    """Serve the remote, with a certificate of ours as these settings say."""

    def serve(**settings: Any) -> GitServer:
        pair = Pair(certificate=tmp_path / "tls" / "server.crt", key=tmp_path / "tls" / "server.key")
        OURS.issue(pair, **{"name": "git", "hosts": ("127.0.0.1",), **settings})
        return GitServer(root=remote.folder, password=PASSWORD, pair=pair)

    return serve


@pytest.fixture
def authority(tmp_path: Path) -> Path:
    file = tmp_path / "ca.crt"
    file.write_bytes(OURS.pem)
    return file


def over_tls(server: GitServer, tmp_path: Path, authority: Path | None) -> Repository:
    login = tmp_path / "secret"
    remote = Remote(
        url=f"{server.url}/fleet.git",
        credentials=login if login.is_dir() else secret(tmp_path),
        authority=authority,
    )
    return Repository(remote, tmp_path / "https", author=ROBOT)


def refusal_of(repository: Repository) -> str:
    with pytest.raises(SetupInvalid) as caught:
        repository.look(rollout="r")
    return str(caught.value)


def test_reading_writing_and_tagging_where_the_authority_is_named(
    served: Served, remote: Bare, tmp_path: Path, authority: Path
) -> None:
    with served() as server:
        ours = over_tls(server, tmp_path, authority)
        sha = promote(ours, tag=NewTag(base="v2026-11-stable", message="Stable"))
    assert (remote.head(), remote.git("rev-parse", "v2026-11-stable^{commit}")) == (sha, sha)


@pytest.mark.parametrize("pem", [None, OTHER.pem], ids=["nobody", "another"])
def test_a_certificate_by_somebody_else_is_told_with_the_address_and_the_next_step(
    served: Served, tmp_path: Path, authority: Path, pem: bytes | None
) -> None:
    authority.write_bytes(pem or b"")
    with served() as server:
        told = refusal_of(over_tls(server, tmp_path, authority if pem else None))
        assert f"The Git remote {server.url}/fleet.git shows a certificate that is not trusted here" in told
    assert "--git-authority" in told
    assert "git.authorities of the chart" in told
    assert server.requests == [], "no login goes to a server that nobody vouches for"


@pytest.mark.parametrize("settings", [{"hosts": ("git.example.com",)}, {"valid_days": -1}], ids=["name", "ended"])
def test_a_certificate_that_has_ended_or_is_for_another_name_is_told(
    served: Served, tmp_path: Path, authority: Path, settings: dict[str, Any]
) -> None:
    with served(**settings) as server:
        told = refusal_of(over_tls(server, tmp_path, authority))
    assert "not trusted here" in told
    assert "If it has ended, or is for another name, renew it on the server." in told
    assert server.requests == []


@pytest.mark.parametrize("text", [None, "", "not a certificate"])
def test_a_file_that_is_no_authority_is_told_by_its_name(
    served: Served, tmp_path: Path, authority: Path, text: str | None
) -> None:
    authority.unlink()
    if text is not None:
        authority.write_text(text)
    with served() as server:
        assert f"{authority} holds no certificates that can be read" in refusal_of(
            over_tls(server, tmp_path, authority)
        )


def test_an_authority_that_is_replaced_is_used_at_once(served: Served, tmp_path: Path, authority: Path) -> None:
    authority.write_bytes(OTHER.pem)
    with served() as server:
        ours = over_tls(server, tmp_path, authority)
        refusal_of(ours)
        authority.write_bytes(OURS.pem)
        assert ours.look(rollout="r").head


def test_the_machine_cannot_have_an_authority_that_was_named_go_unasked(
    served: Served, tmp_path: Path, authority: Path, bare_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = tmp_path / "right.crt"
    right.write_bytes(OURS.pem)
    bare_machine.write_text(f"[http]\n\tsslVerify = false\n\tsslCAInfo = {right}\n")
    monkeypatch.setenv("GIT_SSL_NO_VERIFY", "1")
    monkeypatch.setenv("GIT_SSL_CAINFO", str(right))
    authority.write_bytes(OTHER.pem)
    with served() as server:
        assert "not trusted here" in refusal_of(over_tls(server, tmp_path, authority))


def test_where_no_authority_is_named_git_is_set_up_as_the_machine_says(
    served: Served, tmp_path: Path, authority: Path, bare_machine: Path
) -> None:
    bare_machine.write_text(f"[http]\n\tsslCAInfo = {authority}\n")
    with served() as server:
        assert over_tls(server, tmp_path, None).look(rollout="r").head
