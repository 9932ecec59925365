"""Who we are to the remote: git's own helpers, or a mounted secret. A secret is read by the program that needs it.

    secret folder                              handed to git as
    username + password                        GIT_ASKPASS, a script that reads the two files
    ssh-privatekey (+ known_hosts)             GIT_SSH_COMMAND, which names the two files
    an authority (authorities.py)              GIT_SSL_CAINFO, which names its file

No secret is ever in an argument, in the environment, in a URL or in an error. The script answers only for the site of
the remote, no redirect is followed (clone.py), and nothing but the scheme of the address is spoken. Which secret is for
which address is in addresses.py. Every text that may have seen a secret passes through `Cleaner`.

Tests: tests/adapters/git/test_credentials.py
"""

from __future__ import annotations

import ipaddress
import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from seatrial.adapters import trust
from seatrial.adapters.git.errors import SetupInvalid
from seatrial.core.base.values import dataclass

CONNECT_SECONDS: Final = 15
SPOKEN: Final = "file:git:http:https:ssh"
"""What git may speak where no secret is at stake. Other ways start programs, also where a machine allows them."""

_ASKPASS: Final = """#!/bin/sh
# Answers git for one site, from the files of a mounted secret.
case "$1" in
"Username for '$SEATRIAL_GIT_SCHEME://$SEATRIAL_GIT_HOST': ") exec cat "$SEATRIAL_GIT_SECRET/username" ;;
"Password for '$SEATRIAL_GIT_SCHEME://"*"@$SEATRIAL_GIT_HOST': ") exec cat "$SEATRIAL_GIT_SECRET/password" ;;
esac
exit 1
"""

_USERINFO: Final = re.compile(r"(?<=://)[^/\s'\"]*@")


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """What git gets along: variables of the environment, and settings."""

    environment: Mapping[str, str]
    settings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaner:
    """Takes out of a text what must not be shown."""

    folder: Path | None = None

    def clean(self, text: str) -> str:
        """The text without the user part of URLs, and without the words of the secret."""
        shown = _USERINFO.sub("", text)
        for word in self._words():
            shown = shown.replace(word, "***")
        return shown

    def _words(self) -> tuple[str, ...]:
        if self.folder is None:
            return ()
        try:
            password = (self.folder / "password").read_text(encoding="utf-8", errors="replace").strip()
        except OSError:  # an SSH secret has no password, and a secret that is gone cannot be quoted
            return ()
        return (password,) if password else ()


def check_url(url: str) -> None:
    """Refuse an address that git would read as something else, or that has a secret in it."""
    shown = Cleaner().clean(url)
    if not url or url.startswith("-") or re.search(r"[\x00-\x20\x7f]", url):
        raise SetupInvalid(f"{shown!r} is not an address of a Git repository. Write it as `git clone` takes it.")
    if re.match(r"[A-Za-z0-9]+::", url):
        raise SetupInvalid(f"{shown!r} would start a program. Write an https, ssh or file address.")
    if "://" in url and urlsplit(url).password is not None:
        raise SetupInvalid(
            f"The address of {shown} has a password in it, where everybody reads it. "
            "Put it into a secret with the files username and password, and take it out of the address."
        )


def scheme_of(url: str) -> str:
    """What git will speak to reach an address."""
    before, found, _ = url.partition("://")
    if found:
        return before.lower()
    host, colon, _ = url.partition(":")
    return "ssh" if colon and "/" not in host else "file"


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def login(url: str, secret: Path | None, folder: Path, *, authority: Path | None = None) -> Login:
    """How git logs in there, and whom it trusts; writes its script, which holds no secret, into our folder."""
    known = _login(url, secret, folder)
    if authority is None:
        return known
    try:
        trust.context_of(authority)  # git would say of a file that is none what it says of a wrong one
    except trust.AuthorityInvalid as err:
        raise SetupInvalid(str(err)) from None
    return Login(
        environment={**known.environment, _AUTHORITY: str(authority.absolute())},
        settings=(*known.settings, "http.sslVerify=true"),
    )


def _login(url: str, secret: Path | None, folder: Path) -> Login:
    quiet = {"GIT_TERMINAL_PROMPT": "0", "SSH_ASKPASS_REQUIRE": "never", "GIT_ALLOW_PROTOCOL": SPOKEN}
    if secret is None:
        return Login(environment=quiet)
    secret, scheme = secret.absolute(), scheme_of(url)
    quiet["GIT_ALLOW_PROTOCOL"] = scheme  # what is not meant for it must not reach for another way
    if scheme == "ssh":
        return _by_key(url, secret, quiet)
    return _by_password(url, secret, folder, quiet)


def _by_key(url: str, secret: Path, quiet: Mapping[str, str]) -> Login:
    if not (secret / "ssh-privatekey").is_file():
        raise SetupInvalid(
            f"The secret at {secret} has no ssh-privatekey, and {Cleaner().clean(url)} is an ssh address. "
            "Give it the files ssh-privatekey and known_hosts, or name the repository by https."
        )
    return Login(environment={**quiet, "GIT_SSH_COMMAND": _ssh_command(secret)})


def _by_password(url: str, secret: Path, folder: Path, quiet: Mapping[str, str]) -> Login:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        raise SetupInvalid(
            f"The secret at {secret} is for a login, and {Cleaner().clean(url)} is not an https or ssh address. "
            "Name the repository by one of them, or leave the secret out."
        )
    missing = [name for name in ("username", "password") if not (secret / name).is_file()]
    if missing:
        raise SetupInvalid(
            f"The secret at {secret} has no {' and no '.join(missing)}, and {Cleaner().clean(url)} is asked by both. "
            "Give it the files username and password; an ssh-privatekey is for ssh addresses."
        )
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        raise SetupInvalid(
            f"{Cleaner().clean(url)} is plain http, where everybody on the way reads the password. Name it by https."
        )
    script = folder / "askpass"
    if not script.is_file() or script.read_text(encoding="ascii", errors="replace") != _ASKPASS:
        script.write_text(_ASKPASS, encoding="ascii")
    script.chmod(0o700)
    return Login(
        environment={
            **quiet,
            "GIT_ASKPASS": str(script.absolute()),
            "SEATRIAL_GIT_SECRET": str(secret),
            "SEATRIAL_GIT_SCHEME": parts.scheme,
            "SEATRIAL_GIT_HOST": parts.netloc.rpartition("@")[2],
        },
        # The secret was given on purpose: helpers of the machine would be asked before it, and would remember it.
        settings=("credential.helper=", "credential.useHttpPath=false"),
    )


def _ssh_command(secret: Path) -> str:
    options = ["IdentitiesOnly=yes", "BatchMode=yes", "StrictHostKeyChecking=yes", f"ConnectTimeout={CONNECT_SECONDS}"]
    if (secret / "known_hosts").is_file():
        # In quotes of ssh's own: it would take a space for the start of another file.
        options.append(f'UserKnownHostsFile="{secret / "known_hosts"}"')
    words = ["ssh", "-i", str(secret / "ssh-privatekey")]
    for option in options:
        words += ["-o", option]
    return shlex.join(words)


_NOT_INHERITED: Final = re.compile(
    "GIT_(DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR|NAMESPACE|PREFIX"
    "|QUARANTINE_PATH|EXTERNAL_DIFF|CURL_VERBOSE|TRACE.*)"
)
"""Variables that would send git to another repository, or make it talk about what it sends."""
_AUTHORITY, _ANYBODY = "GIT_SSL_CAINFO", "GIT_SSL_NO_VERIFY"


def environment(login: Login) -> dict[str, str]:
    """The environment for git: the machine's, less what would lead it elsewhere, in plain English."""
    kept = {name: value for name, value in os.environ.items() if not _NOT_INHERITED.fullmatch(name)}
    if _AUTHORITY in login.environment:
        kept.pop(_ANYBODY, None)  # whoever names an authority wants it asked
    return {
        **kept,
        "LC_ALL": "C.UTF-8",
        "LANGUAGE": "",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_EDITOR": ":",
        **login.environment,
    }
