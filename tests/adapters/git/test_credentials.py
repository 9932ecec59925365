"""A mounted secret: read by the program that needs it, and shown to nobody."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from seatrial.adapters.git import credentials
from seatrial.adapters.git.clone import Remote
from seatrial.adapters.git.errors import GitError, GitRefused, SetupInvalid
from seatrial.adapters.git.repository import Repository
from tests.adapters.git.remotes import ROBOT, Bare


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("fatal: https://user:pw@git.example/x failed", "fatal: https://git.example/x failed"),
        ("https://t0ken@git.example", "https://git.example"),
        ("https://a:b@c@git.example/x@y", "https://git.example/x@y"),
        ("'ssh://git@git.example/x'", "'ssh://git.example/x'"),
        ("git@git.example:fleet.git", "git@git.example:fleet.git"),
        ("https://git.example/a b@c", "https://git.example/a b@c"),
    ],
)
def test_users_and_passwords_are_taken_out_of_addresses(text: str, shown: str) -> None:
    assert credentials.Cleaner().clean(text) == shown


def test_the_password_itself_is_taken_out_of_any_text(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("s3cret\n")
    assert credentials.Cleaner(folder=tmp_path).clean("remote: s3cret is wrong") == "remote: *** is wrong"


@pytest.mark.parametrize(
    ("files", "url", "says"),
    [
        ((), "https://git.example/x", "no username and no password"),
        (("password",), "https://git.example/x", "no username"),
        (("ssh-privatekey", "known_hosts"), "https://git.example/x", "no username and no password"),
        (("username", "password"), "git@git.example:x", "no ssh-privatekey"),
        (("username", "password"), "http://git.example/x", "is plain http"),
        (("username", "password"), "/srv/git/x", "is not an https or ssh address"),
    ],
)
def test_a_secret_that_cannot_be_used_is_said(tmp_path: Path, files: tuple[str, ...], url: str, says: str) -> None:
    for name in files:
        (tmp_path / name).write_text("word")
    with pytest.raises(SetupInvalid, match=says):
        credentials.login(url, tmp_path, tmp_path)


def test_with_a_secret_git_speaks_nothing_but_the_scheme_of_the_address(tmp_path: Path) -> None:
    for name in ("username", "password", "ssh-privatekey"):
        (tmp_path / name).write_text("word")
    for url, scheme in (("https://git.example/x", "https"), ("git@git.example:x", "ssh"), ("SSH://h/x", "ssh")):
        assert credentials.login(url, tmp_path, tmp_path).environment["GIT_ALLOW_PROTOCOL"] == scheme


def test_an_address_that_starts_a_program_does_so_on_no_machine(tmp_path: Path, bare_machine: Path) -> None:
    """Not even where its configuration allows it, and sends an innocent address there."""
    bare_machine.write_text(
        f'[protocol]\n\tallow = always\n[url "ext::touch {tmp_path}/ran %S "]\n\tinsteadOf = https://git.example/\n'
    )
    with pytest.raises(GitError, match="not allowed"):
        Repository(Remote(url="https://git.example/x"), tmp_path / "x", author=ROBOT).look(rollout="r")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("site", "prompt", "answer"),
    [
        ("https://git.example/x", "Username for 'https://git.example': ", "robot"),
        ("https://git.example/x", "Password for 'https://robot@git.example': ", "s3cret"),
        ("https://git.example:8443/x", "Password for 'https://robot@git.example:8443': ", "s3cret"),
        ("https://ada@git.example/x", "Password for 'https://ada@git.example': ", "s3cret"),
        ("https://git.example/x", "Username for 'https://other.example': ", ""),
        ("https://git.example/x", "Password for 'https://robot@other.example': ", ""),
        ("https://git.example/x", "Username for 'https://git.example.evil': ", ""),
        ("https://git.example/x", "Username for 'https://evil-git.example': ", ""),
        ("https://git.example/x", "Password for 'https://robot@evil-git.example': ", ""),
        ("https://git.example/x", "Password for 'https://robot@git.example.evil': ", ""),
        ("https://git.example/x", "Password for 'https://robot@git.example:8443': ", ""),
        ("https://git.example/x", "Username for 'http://git.example': ", ""),
        ("https://git.example/x", "Password for 'http://robot@git.example': ", ""),
        ("https://git.example/x", "Enter passphrase for key '/home/robot/.ssh/id': ", ""),
        ("https://git.example/x", "", ""),
    ],
)
def test_the_script_that_git_asks_answers_for_the_site_of_the_remote_alone(
    tmp_path: Path, site: str, prompt: str, answer: str
) -> None:
    (tmp_path / "username").write_text("robot")
    (tmp_path / "password").write_text("s3cret")
    environment = credentials.environment(credentials.login(site, tmp_path, tmp_path))
    script = [environment["GIT_ASKPASS"], prompt]
    asked = subprocess.run(script, env=environment, capture_output=True, text=True, check=False)
    assert (asked.stdout, asked.stderr, asked.returncode == 0) == (answer, "", bool(answer))


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program called ssh that notes how it was called, and runs the command here; gives the note."""
    folder = tmp_path / "bin"
    folder.mkdir()
    note = tmp_path / "called"
    program = folder / "ssh"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {note}\nfor last; do :; done\nexec sh -c "$last"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    return note


def test_an_ssh_key_is_named_and_the_host_must_be_known(remote: Bare, tmp_path: Path, ssh: Path) -> None:
    secret = tmp_path / "a secret"
    secret.mkdir()
    for name in ("ssh-privatekey", "known_hosts"):
        (secret / name).write_text("words")
    ours = Repository(
        Remote(url=f"ssh://git@git.example{remote.path}", credentials=secret), tmp_path / "x", author=ROBOT
    )
    assert ours.look(rollout="r").head == remote.head()
    called = ssh.read_text().splitlines()
    assert called[called.index("-i") + 1] == str(secret / "ssh-privatekey")
    options = {called[place + 1] for place, word in enumerate(called) if word == "-o"}
    assert options >= {
        "BatchMode=yes",
        "IdentitiesOnly=yes",
        "StrictHostKeyChecking=yes",
        f'UserKnownHostsFile="{secret}/known_hosts"',
    }


def test_a_host_that_is_not_known_is_refused(tmp_path: Path, ssh: Path) -> None:
    program = tmp_path / "bin" / "ssh"
    program.write_text("#!/bin/sh\necho 'Host key verification failed.' >&2\nexit 255\n")
    (tmp_path / "ssh-privatekey").write_text("words")
    ours = Repository(Remote(url="git@git.example:fleet.git", credentials=tmp_path), tmp_path / "x", author=ROBOT)
    with pytest.raises(GitRefused, match="Host key verification failed"):
        ours.look(rollout="r")
