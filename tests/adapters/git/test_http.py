"""A remote over HTTP with a login: the same answers, and no word of the secret anywhere."""

from __future__ import annotations

import shutil
import socket
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from seatrial.adapters.git.clone import Remote
from seatrial.adapters.git.errors import GitRefused, GitUnavailable, SetupInvalid, Stale
from seatrial.adapters.git.repository import NewTag, Repository
from seatrial_lab.testbed.neighbours.git_server import GitServer
from tests.adapters.git.remotes import MATRIX, ROBOT, Bare
from tests.adapters.git.test_repository import promote

PASSWORD = "tr0ub4dor-and-three"


@pytest.fixture
def server(remote: Bare) -> Iterator[GitServer]:
    with GitServer(root=remote.folder, password=PASSWORD) as served:
        yield served


def secret(folder: Path, username: str = "seatrial", password: str = PASSWORD) -> Path:
    made = folder / "secret"
    made.mkdir()
    (made / "username").write_text(f"{username}\n")
    (made / "password").write_text(f"{password}\n")
    return made


def over_http(server: GitServer, tmp_path: Path, credentials: Path | None) -> Repository:
    remote = Remote(url=f"{server.url}/fleet.git", credentials=credentials)
    return Repository(remote, tmp_path / "http", author=ROBOT)


def everything_said(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)) + repr(error)


def test_reading_and_writing_with_a_mounted_secret(server: GitServer, remote: Bare, tmp_path: Path) -> None:
    ours = over_http(server, tmp_path, secret(tmp_path))
    assert ours.text_at(ours.look(rollout="r").head, "matrix.yaml") == MATRIX
    sha = promote(ours, tag=NewTag(base="v2026-11-stable", message="Stable"))
    assert (remote.head(), remote.git("rev-parse", "v2026-11-stable^{commit}")) == (sha, sha)
    assert promote(ours) == sha
    assert remote.count() == 2


def test_a_secret_that_is_replaced_is_used_at_once(server: GitServer, tmp_path: Path) -> None:
    mounted = secret(tmp_path, password="yesterday")
    ours = over_http(server, tmp_path, mounted)
    with pytest.raises(GitRefused):
        ours.look(rollout="r")
    (mounted / "password").write_text(PASSWORD)
    assert ours.look(rollout="r").head


def test_a_wrong_password_is_refused_and_not_repeated(server: GitServer, tmp_path: Path) -> None:
    wrong = "hunter2-is-wrong"
    with pytest.raises(GitRefused, match="does not let us in") as caught:
        over_http(server, tmp_path, secret(tmp_path, password=wrong)).look(rollout="r")
    assert wrong not in everything_said(caught.value)
    kept = [file.read_bytes() for file in (tmp_path / "http").rglob("*") if file.is_file()]
    assert not [raw for raw in kept if wrong.encode() in raw]


def test_no_word_of_the_secret_is_in_an_argument_in_the_environment_or_on_disk(
    server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note, folder = tmp_path / "called", tmp_path / "bin"
    folder.mkdir()
    program = folder / "git"
    program.write_text(f'#!/bin/sh\n(printf "%s\\n" "$@"; env) >> {note}\nexec {shutil.which("git")} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    ours = over_http(server, tmp_path, secret(tmp_path))
    promote(ours)
    assert "push" in note.read_text().splitlines()
    assert PASSWORD not in note.read_text()
    kept = [file.read_bytes() for file in (tmp_path / "http").rglob("*") if file.is_file()]
    assert not [raw for raw in kept if PASSWORD.encode() in raw]


def test_without_a_secret_nobody_is_asked_at_a_terminal(server: GitServer, tmp_path: Path) -> None:
    with pytest.raises(GitRefused, match="does not let us in"):
        over_http(server, tmp_path, None).look(rollout="r")


def test_a_helper_of_the_machine_is_used_where_there_is_no_secret(
    server: GitServer, tmp_path: Path, bare_machine: Path
) -> None:
    bare_machine.write_text(
        f'[credential]\n\thelper = "!f() {{ echo username=seatrial; echo password={PASSWORD}; }}; f"\n'
    )
    assert over_http(server, tmp_path, None).look(rollout="r").head


def test_the_secret_comes_before_the_helpers_of_the_machine(
    server: GitServer, tmp_path: Path, bare_machine: Path
) -> None:
    bare_machine.write_text('[credential]\n\thelper = "!f() { echo username=x; echo password=y; }; f"\n')
    assert over_http(server, tmp_path, secret(tmp_path)).look(rollout="r").head


def test_a_password_in_the_address_is_refused_without_repeating_it(server: GitServer, tmp_path: Path) -> None:
    url = server.url.replace("http://", f"http://seatrial:{PASSWORD}@")
    with pytest.raises(SetupInvalid, match="has a password in it") as caught:
        Repository(Remote(url=f"{url}/fleet.git"), tmp_path / "x", author=ROBOT)
    assert PASSWORD not in everything_said(caught.value)


def test_a_name_in_the_address_goes_with_the_password_of_the_secret(server: GitServer, tmp_path: Path) -> None:
    url = server.url.replace("http://", "http://seatrial@")
    remote = Remote(url=f"{url}/fleet.git", credentials=secret(tmp_path, username="somebody-else"))
    assert Repository(remote, tmp_path / "x", author=ROBOT).look(rollout="r").head


@contextmanager
def redirecting(to: str, *, needs_login: bool = False) -> Iterator[str]:
    """A server that sends everybody who asks for one repository to somewhere else; gives its address."""

    class Redirect(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if needs_login and not self.headers.get("Authorization"):
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="git"')
            else:
                self.send_response(302)
                self.send_header("Location", f"{to}{self.path}")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    moved = HTTPServer(("127.0.0.1", 0), Redirect)
    threading.Thread(target=moved.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{moved.server_port}"
    finally:
        moved.shutdown()
        moved.server_close()


@pytest.mark.parametrize("needs_login", [False, True])
def test_a_redirect_is_not_followed_so_nothing_of_the_secret_goes_along(
    server: GitServer, tmp_path: Path, needs_login: bool
) -> None:
    with redirecting(server.url, needs_login=needs_login) as url:
        remote = Remote(url=f"{url}/fleet.git", credentials=secret(tmp_path))
        with pytest.raises(SetupInvalid, match="answers with a redirect, and none is followed"):
            Repository(remote, tmp_path / "x", author=ROBOT).look(rollout="r")
    assert not server.requests


def test_a_redirect_within_the_host_does_not_reach_what_was_not_named(server: GitServer, tmp_path: Path) -> None:
    """The login is asked for by host: whoever may put a redirect behind one path would reach every other with it."""
    server.redirects["/named/fleet.git"] = "/fleet.git"
    remote = Remote(url=f"{server.url}/named/fleet.git", credentials=secret(tmp_path))
    with pytest.raises(SetupInvalid, match="answers with a redirect"):
        Repository(remote, tmp_path / "x", author=ROBOT).look(rollout="r")
    assert {request.path.partition("?")[0] for request in server.requests} == {"/named/fleet.git/info/refs"}


def test_another_host_that_the_machine_sends_us_to_asks_in_vain(
    server: GitServer, tmp_path: Path, bare_machine: Path
) -> None:
    """A line in the configuration of the machine is enough; what is said there must not be said to us."""
    with GitServer(root=tmp_path, password="another") as other:
        bare_machine.write_text(f'[url "{other.url}/"]\n\tinsteadOf = {server.url}/\n')
        with pytest.raises(GitRefused, match="does not let us in"):
            over_http(server, tmp_path, secret(tmp_path)).look(rollout="r")
        assert other.requests
        assert {request.authorization for request in other.requests} == {""}


def test_a_push_that_is_too_late_is_stale_over_http_too(server: GitServer, remote: Bare, tmp_path: Path) -> None:
    ada = remote.person()

    def edit_while_ada_pushes(text: str | None) -> str:
        ada.write("readme.md", "words")
        return "ours\n"

    ours = over_http(server, tmp_path, secret(tmp_path))
    with pytest.raises(Stale):
        promote(ours, edits={"matrix.yaml": edit_while_ada_pushes})
    promote(ours)


def test_a_protected_branch_says_so_over_http_too(server: GitServer, remote: Bare, tmp_path: Path) -> None:
    remote.hook("pre-receive", 'echo "main is protected" >&2; exit 1')
    with pytest.raises(GitRefused, match="main is protected"):
        promote(over_http(server, tmp_path, secret(tmp_path)))


def test_a_repository_that_is_not_there_is_unavailable(server: GitServer, tmp_path: Path) -> None:
    remote = Remote(url=f"{server.url}/other.git", credentials=secret(tmp_path))
    with pytest.raises(GitUnavailable, match="not found"):
        Repository(remote, tmp_path / "x", author=ROBOT).look(rollout="r")


def test_a_server_that_is_down_is_unavailable(server: GitServer, tmp_path: Path) -> None:
    ours = over_http(server, tmp_path, secret(tmp_path))
    ours.look(rollout="r")
    server.__exit__(None, None, None)
    try:
        with pytest.raises(GitUnavailable, match="cannot be reached"):
            ours.look(rollout="r")
    finally:
        server.__enter__()


def test_a_server_that_never_answers_is_unavailable_in_time(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        remote = Remote(url=f"http://127.0.0.1:{silent.getsockname()[1]}/fleet.git")
        with pytest.raises(GitUnavailable, match="said nothing for 1 s"):
            Repository(remote, tmp_path / "x", author=ROBOT, remote_seconds=1).look(rollout="r")
