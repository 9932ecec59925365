"""Git's sentences, as git and its servers write them, and what they mean."""

from __future__ import annotations

import pytest

from seatrial.adapters.git import answers
from seatrial.adapters.git.errors import GitRefused, GitUnavailable, SetupInvalid

ACCESS = "fatal: unable to access 'https://git.example/'"


@pytest.mark.parametrize(
    ("err", "kind"),
    [
        ("remote: Invalid username or token.\nfatal: Authentication failed for 'https://git.example/x/'", GitRefused),
        ("fatal: could not read Username for 'https://git.example': terminal prompts disabled", GitRefused),
        ("git@git.example: Permission denied (publickey).\nfatal: Could not read from remote repository.", GitRefused),
        ("Host key verification failed.\nfatal: Could not read from remote repository.", GitRefused),
        ("fatal: unable to access 'https://git.example/': The requested URL returned error: 403", GitRefused),
        ("fatal: couldn't find remote ref refs/heads/main", SetupInvalid),
        (f"{ACCESS}: server certificate verification failed. CAfile: /x CRLfile: none", SetupInvalid),
        (f"{ACCESS}: SSL certificate problem: unable to get local issuer certificate", SetupInvalid),
        (f"{ACCESS}: SSL: certificate subject name (git) does not match target host name 'git.example'", SetupInvalid),
        (f"{ACCESS}: SSL: no alternative certificate subject name matches target host name 'x'", SetupInvalid),
        (f"{ACCESS}: Problem with the SSL CA cert (path? access rights?)", SetupInvalid),
        ("fatal: unable to access 'https://certificate.example/': Failed to connect to port 443", GitUnavailable),
        (f"{ACCESS}: gnutls_handshake() failed: The TLS connection was non-properly terminated.", GitUnavailable),
        ("fatal: unable to access 'https://git.example/': Could not resolve host: git.example", GitUnavailable),
        ("fatal: unable to access 'https://git.example/': The requested URL returned error: 502", GitUnavailable),
        ("ssh: connect to host git.example port 22: Connection refused\r\nfatal: Could not read from", GitUnavailable),
        ("remote: Repository not found.\nfatal: repository 'https://git.example/x/' not found", GitUnavailable),
        ("error: RPC failed; curl 56 Recv failure: Connection reset by peer\nfatal: early EOF", GitUnavailable),
        ("fatal: bad object refs/remotes/origin/main", type(None)),
    ],
)
def test_who_is_at_fault(err: str, kind: type) -> None:
    assert type(answers.remote_error(err, url="https://git.example/x", branch="main")) is kind


def test_the_reason_is_what_a_person_needs_and_no_more() -> None:
    err = "warning: x\nremote: Invalid token.\nremote:\nfatal: Authentication failed for 'u'\nhint: try\nfatal: more\n"
    assert answers.reason(err) == "Invalid token. Authentication failed for 'u'"
    assert answers.reason("") == "no reason given"
    assert len(answers.reason("fatal: " + "x" * 5000)) < 1000


@pytest.mark.parametrize(
    ("word", "is_moved", "is_unclear"),
    [
        ("[rejected] (stale info)", True, False),
        ("[rejected] (fetch first)", True, False),
        ("[rejected] (non-fast-forward)", True, False),
        ("[rejected] (already exists)", True, False),
        ("[remote rejected] (incorrect old value provided)", True, False),
        ("[remote rejected] (cannot lock ref 'refs/heads/main': is at 1 but expected 2)", True, False),
        ("[remote rejected] (failed to update ref)", False, True),
        ("[remote rejected] (pre-receive hook declined)", False, False),
        ("[remote rejected] (protected branch hook declined)", False, False),
        ("[remote rejected] (deny updating a hidden ref)", False, False),
    ],
)
def test_why_a_push_was_rejected(word: str, is_moved: bool, is_unclear: bool) -> None:
    out = f"To https://git.example/x\n!\tHEAD:refs/heads/main\t{word}\nDone"
    found = answers.rejection(out, "remote: error: GH006: Protected branch.\nremote: \nerror: failed to push\n")
    assert found == answers.Rejection(why=f"{word}: GH006: Protected branch.", is_moved=is_moved, is_unclear=is_unclear)


def test_a_push_that_never_arrived_was_not_rejected() -> None:
    assert answers.rejection("", "fatal: unable to access") is None


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("Receiving objects:  43% (4301/10001), 1.20 GiB | 9.00 MiB/s", "receiving objects, 40 %"),
        ("Receiving objects: 100% (10001/10001), 2.80 GiB | 9.00 MiB/s, done.", "receiving objects, 100 %"),
        ("remote: Compressing objects:   7% (70/1001)", "compressing objects, 0 %"),
        ("remote: Enumerating objects: 51234", "enumerating objects"),
        ("Resolving deltas:  19% (190/1000)", "resolving deltas, 10 %"),
        (" * [new branch]      main       -> origin/main", ""),
        ("remote: Welcome to our forge: 7 rules", ""),
        ("fatal: early EOF", ""),
    ],
)
def test_how_far_git_says_that_it_is(line: str, told: str) -> None:
    assert answers.progress(line) == told
