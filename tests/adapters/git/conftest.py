"""A machine whose Git is not set up, and a remote with one file."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.adapters.git.remotes import Bare, bare


@pytest.fixture(autouse=True)
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No identity, key or helper of whoever runs the tests; gives the configuration file to write some into."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    config = tmp_path / "gitconfig"
    config.write_text("")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("EMAIL", raising=False)
    return config


@pytest.fixture
def remote(tmp_path: Path) -> Bare:
    """A bare repository whose branch main has matrix.yaml."""
    return bare(tmp_path)


@pytest.fixture
def signing(tmp_path: Path, bare_machine: Path) -> Path:
    """A machine set up to sign with an SSH key; gives the file of signers to believe."""
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "seatrial", "-f", str(key)], check=True)
    signers = tmp_path / "signers"
    signers.write_text(f"seatrial@example.com {key.with_suffix('.pub').read_text()}")
    bare_machine.write_text(
        f'[gpg]\n\tformat = ssh\n[gpg "ssh"]\n\tallowedSignersFile = {signers}\n[user]\n\tsigningKey = {key}\n'
        "[commit]\n\tgpgSign = true\n[tag]\n\tgpgSign = true\n"
    )
    return signers
